"""Words of states that are over, in seven languages: phrases that say so, phases of life, and verbs of past states.

"As a student I worked in a bar" is over, "As a student I get a discount" is not, and "I was a cook before my studies,
now I teach" tells what is so now. This file has no logic.
"""

from collections.abc import Mapping
from re import Pattern

from ...model.lazy import lazy_pattern
from ..european_languages import European, any_of

FORMER: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        (?<!'[ms] )(?<!'re )(?<!am )(?<!is )(?<!are )(?<!was )(?<!be )(?<!been )(?<!get )(?<!got )(?<!ting )used to \w+
        formerly ; (?:was|were|had|lived|worked) once ; once (?:lived|worked|had|was|owned|played)
        from (?:19|20)\d\d (?:to|until|till) (?:19|20)\d\d ; in those days
        \w*\d<ON>(?:no longer (?:valid|in use|works|applies|exists)|not (?:valid|in use) any ?more|
            doesn't (?:work|apply) any ?more)
        """
    ),
    European.GERMAN: any_of(
        "ehemals ; einst ; seinerzeit ; von (?:19|20)\\d\\d bis (?:19|20)\\d\\d ; "
        r"\w*\d<ON>(?:(?:gilt|gelten|existiert|funktioniert) nicht mehr|nicht mehr gültig)"
    ),
    European.SPANISH: any_of(
        "sol(?:ía|ías|íamos|ían) ; antiguamente ; "
        "en aquel(?:la)? (?:entonces|época) ; de (?:19|20)\\d\\d a (?:19|20)\\d\\d ; "
        r"\w*\d<ON>ya no (?:vale|sirve|funciona|existe|es válid[oa])"
    ),
    European.FRENCH: any_of(
        "autrefois ; jadis ; à l'époque,? ; de (?:19|20)\\d\\d à (?:19|20)\\d\\d ; "
        r"\w*\d<ON>(?:n'est plus (?:valable|valide)|ne (?:marche|fonctionne) plus)"
    ),
    European.PORTUGUESE: any_of(
        "antigamente ; costumava(?:m|mos)? ; naquel[ae] (?:tempo|época|altura) ; de (?:19|20)\\d\\d a (?:19|20)\\d\\d"
        r" ; \w*\d<ON>já não (?:é válid[oa]|serve|funciona|existe|vale)"
    ),
}
"""What says by itself that a state is over."""
PAST_PHASE: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        (?:until|till|up to) (?:\w+ )?(?:(?:19|20)\d\d|recently|last|then|\w+ years? ago|i|we|the|my)
        previously ; back (?:then|in|when) ; back at (?:school|college|university)
        in (?:the \w+teen\w+|the (?:early |late |mid-?)?(?:twen|thir|for|fif|six|seven|eigh|nine)t?ies|the \d0s|
            the (?:early |late )?(?:19|20)\d0s|my (?:youth|childhood|teens|twenties|thirties|student))
        as an? (?:\w+ )?(?:child|kid|student|teenager|boy|girl|teen|pupil|apprentice|young \w+|undergraduate|intern)
        when (?:i|we) (?:was|were) (?:\w+ )?(?:young|younger|little|small|an?|at|in|\d+|kids|children|students)
        before (?:i|we) (?:moved|came|got|had|met|started|became|switched|changed|joined|went|left|retired|married)
        before (?:my|the|our) (?:\w+ )?(?:move|wedding|accident|divorce|studies|degree|surgery|operation|promotion|
            pandemic|
            war|baby|kids|birth|retirement|marriage|reorg|migration|merger|renovation|switch)
        (?:at|in) (?:school|university|college),? (?:i|we)
        during my (?:studies|childhood|school|youth|time|apprenticeship)
        years ago ; (?:my|our) (?:old|former|ex)\b ; (?:his|her|their|the) former\b
        the old (?:[\w-]+ ){0,2}(?:number|code|address|password|pin|contract|plan|name|price|rate|rent|landlord|boss|
            tenant|owner|version|limit|deadline|schedule|route|account|link|policy|insurer|supplier)
        (?:my|our) (?:last|first|previous) (?:job|flat|house|apartment|home|place|car|boss|school|phone|laptop|landlord|
            employer|company|team)
        """
    ),
    European.GERMAN: any_of(
        r"""
        früher ; damals ; bis (?:zum jahr |ende |anfang )?(?:19|20)\d\d ; bis (?:vor|letzte\w|zum) \w+
        als (?:kind|student|studentin|jugendlicher?|schüler|schülerin|azubi|junge|mädchen)
        in (?:den|meiner) (?:\w+zigern?(?: jahren)?|jugend|kindheit|studienzeit|schulzeit)
        während (?:des studiums|meine[sr] \w+)
        vor (?:dem|meinem|meiner|der) (?:studium|umzug|hochzeit|ausbildung|unfall|kündigung|geburt|scheidung|rente|
            operation|
            beförderung|lehre|wechsel|pandemie)
        bevor (?:ich|wir) ; als (?:ich|wir) (?:noch )?(?:klein|jung|kind|kinder|\w+ jahre|\d+) ; vor (?:\w+ )?jahren
        (?:mein|unser)(?:e|er|en|em)? (?:alte|frühere|ehemalige|vorige|letzte|erste|ex-?)\w*
        (?:der|die|das) (?:alte|frühere|ehemalige|vorige) (?:\w*nummer|\w*code|\w*adresse|\w*passwort|\w*vertrag|
            \w*tarif|\w*preis|\w*miete|vermieter\w*|chef\w*|\w*name|\w*version|\w*konto)
        """
    ),
    European.SPANISH: any_of(
        r"""
        antes ; hasta (?:el año |el |hace )?(?:(?:19|20)\d\d|\w+ años?) ; hasta que
        de (?:niñ[oa]|joven|pequeñ[oa]|estudiante)
        cuando (?:yo )?era ; en (?:mi|nuestra) (?:juventud|infancia) ; cuando éramos
        en los (?:años )?(?:\w+enta|\d0) ; hace (?:\w+ )?años
        (?:mi|nuestr[oa]) (?:antigu[oa]|anterior|ex|viej[oa]|primer|primera|últim[oa])
        (?:el|la) (?:antigu[oa]|anterior) \w+ ; (?:número|código|contraseña|dirección) (?:antigu[oa]|anterior)
        """
    ),
    European.FRENCH: any_of(
        r"""
        avant ; jusqu'(?:en|à) (?:19|20)?\w+ ; (?:enfant|étudiante?|petite?|jeune), ; quand (?:j'étais|nous étions)
        dans les années ; il y a (?:\w+ )?(?:des )?ans ; il y a des années ; dans (?:ma jeunesse|mon enfance)
        (?:m(?:on|a|es)|notre|nos) (?:ancien\w*|ex|vieux|vieille|premier|première) ; l'ancien(?:ne)? \w+
        """
    ),
    European.PORTUGUESE: any_of(
        r"""
        antes ; até (?:ao ano de |o ano de |a )?(?:19|20)\d\d
        (?:em|quando) (?:criança|jovem|miúd[oa]|pequen[oa]|estudante)
        quando (?:eu )?era ; nos anos ; (?:quando|nós) éramos ; na (?:minha|nossa) (?:juventude|infância)
        há (?:\w+ )?anos ; (?:meu|minha|nosso|nossa) (?:antig[oa]|ex|velh[oa]|primeir[oa]|últim[oa])
        [oa] antig[oa] \w+ ; (?:número|código|endereço|senha) antig[oa]
        """
    ),
}
"""A phase that is over, if the rest of the text is about the past."""
PAST_STATE_VERB: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        (?:was|were)(?! born| built| made| bought| sold| found| \w+ed\b) ; wasn't ; weren't ; had ; hadn't ; lived
        worked ; studied ; owned
        played ; drank ; ate ; smoked ; drove ; rode ; stayed ; spoke ; kept ; slept ; rented ; wore ; liked
        loved ; hated
        preferred ; shared ; believed ; commuted ; taught ; ran ; sang ; swam ; danced ; earned ; collected
        trained ; didn't
        couldn't ; practi[cs]ed ; belonged ; served ; walked to ; went to (?:an?|the|school|church|work)
        took the (?:bus|train)
        cycled ; needed ; used ; cooked ; believed ; attended ; paid ; managed ; led
        """
    ),
    European.GERMAN: any_of(
        r"""
        war ; waren ; hatte ; hatten ; (?!(?:bitte|heute|möchte|\w*arbeite|warte|\w*leite|\w*biete|rate|halte|miete|
            hätte|könnte|sollte)n?\b)\w+ten? (?:ich|wir|er|sie)
        (?:ich|wir|er|sie) (?!(?:bitte|heute|möchte|\w*arbeite|warte|\w*leite|\w*biete|rate|halte|miete|hätte|könnte|
            sollte)n?\b)\w+ten?
        trank ; tranken ; aß ; aßen ; fuhr ; fuhren ; ging ; gingen ; besaß ; schlief ; trug ; kam ; sprach ; sang
        lief
        (?:habe|bin|haben|sind|hat|ist) <ON>(?:gewohnt|gelebt|gearbeitet|gehabt|gewesen|gespielt|getrunken|gegessen|
            geraucht|gefahren|
            gekellnert|gejobbt|studiert|besessen|gemocht|geliebt|gehasst|gesungen|getanzt|geschlafen|geteilt|
            gependelt|gemietet|getragen|
            gesprochen|gegangen|verdient|besucht)
        """
    ),
    European.SPANISH: any_of(
        r"""
        \w{2,}aba(?:s|n)? ; \w{2,}ábamos ; (?:viv|ten|com|beb|sal|conduc|pod|quer|hac|dorm|prefer|pertenec|hab|
            ve)ía(?:s|n|mos)?
        era ; eran ; éramos ; iba ; íbamos ; fui ; fuimos ; viví ; trabajé ; estudié ; tuve ; estuve
        """
    ),
    European.FRENCH: any_of(
        r"""
        (?:j'|je |nous |on |il |elle |ils |elles |tu )(?:n'|ne |y |en |me |l')?(?!fais|fait|vais|sais|connai|reconnai|
            plai|parai|tais|
            hais|dis|lis|suis)\w+(?:ais|ait|ions|aient)
        (?:était|étaient|avait|avaient) ; (?:ai|avons) (?:vécu|habité|travaillé|étudié|été|eu|joué)
        """
    ),
    European.PORTUGUESE: any_of(
        r"""
        \w{2,}ava(?:s|m)? ; \w{2,}ávamos ; (?:viv|beb|com|faz|dorm|conduz|pod|quer|prefer|sa|hav)ia(?:s|m|mos)?
        era ; eram ; éramos ; tinha ; tinham ; tínhamos ; ia ; fui ; fomos ; vivi ; morei ; trabalhei ; estudei
        tive ; estive
        """
    ),
}
"""Verbs of a state in the past."""
PRESENT: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        "now ; nowadays ; today ; these days ; currently ; still ; since ; at present ; these \\w+ days"
    ),
    European.GERMAN: any_of(
        "jetzt ; nun ; heute ; heutzutage ; inzwischen ; mittlerweile ; seit ; seitdem ; derzeit ; noch immer"
    ),
    European.SPANISH: any_of("ahora ; hoy ; hoy en día ; actualmente ; desde ; todavía ; aún"),
    European.FRENCH: any_of("maintenant ; aujourd'hui ; désormais ; depuis ; actuellement ; toujours"),
    European.PORTUGUESE: any_of("agora ; hoje ; atualmente ; desde ; ainda"),
}
"""Words of what is so now; a text that has one says more than what was."""
FORMER_CJK = lazy_pattern(
    r"曾经|曾經|(?:^|[，,。；;我他她们們妈爸])以前(?!的|より)|[我他她]过去[在住]|[我他她]過去[在住]|(?<!从)(?<!從)小时候|(?<!從)小時候|"
    r"\d\w{0,6}已(?:经|經)?(?:失效|作废|作廢|停用|不用了)|"
    r"(?:旧|舊|原来|原來|之前)的?\w{0,3}(?:号码|號碼|密码|密碼|地址|号|號)(?:是|为|為)|"
    r"当年|當年|那时候|那時候|直到(?:19|20)?\d\d|(?:19|20)\d\d年(?:之)?前|年轻(?:的)?(?:时|時)|年輕(?:的)?時"
    r"|\d\w{0,6}もう(?:使え|有効では)(?:ない|ません|ありません)|旧.{0,8}(?:番号|コード|住所|パスワード)は"
    r"|(?:昔|以前|かつて|子供の頃|子どものころ|子供のころ|子どもの頃|学生時代|学生の頃|若い頃|(?:19|20)\d\d年まで|だった頃)"
    r"(?!から|より).*?(?:た|です?した)(?:$|[。、.!！]|が|け|の|ん)"
)
"""A state that is over, in Chinese and Japanese."""
PRESENT_CJK = lazy_pattern(r"现在|現在|如今|目前|今天|今は|今も|いまは|今では|最近は")
"""Words of what is so now, in Chinese and Japanese."""
