"""Words and phrases of what is supposed, advised, reported or over, in seven languages."""

from collections.abc import Mapping
from re import Pattern

from ..lazy_pattern import lazy_pattern
from .european_languages import European
from .word_patterns import any_of

SUPPOSED: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        (?:if|unless) (?:only )?(?:i|we|he|she|they|you|my \w+|there) (?:\w+ )?(?:were|was|had|could|would|
            lived|\w+ed|\w+t)
        (?:as|only|what|even) if ; if i ever ; if i (?:had|were|was|could) ; imagine ; suppos(?:e|ing)(?: that)?
        (?:i|we) wish ; would(?:n't)? (?:\w+ )?(?:rather|prefer|love to|like to|be|have|go|live|take|move|want)
        (?:i|we|he|she|they)'d (?:\w+ )?(?:rather|prefer|love|like|be|have|go|live|take|move)
        (?:almost|nearly|just about) (?:\w+ed|went|bought|took|had|got|became|left|quit|sold|chose|fell|gave|
            made)
        might(?: \w+)? \w+ ; dream(?:s|ed|t|ing)? (?:of|about) ; one day ; someday ; some day
        think(?:ing)? (?:of|about) \w+ing ; thought (?:of|about) \w+ing ; consider(?:ed|ing) \w+ing
        as a (?:child|kid|boy|girl) (?:i|he|she) wanted ; wanted to (?:be|become) ; no idea (?:whether|if)
        (?:in|for) (?:my|the|his|her|a) (?:\w+ )?(?:novel|story|book|game|dream|film|movie|play|screenplay|comic)
        (?:just |only )?(?:kidding|joking) ; as a joke ; pretend\w* ; not really ; haha
        (?:did|do|does|will|am|is|are|was|were|have|has)(?: not|n't) (?:[\w-]+ ){0,8}after all
        (?:fell|falls) through ; decided against ; called (?:it )?off ; changed my mind about
        """
    ),
    European.GERMAN: any_of(
        r"""
        wenn (?:ich|wir|er|sie|man|meine?|unsere?)\b.{0,60}\b(?:wäre|wären|hätte|hätten|würde|würden|könnte|
            könnten|dürfte|müsste)
        (?:wäre|hätte|würde|könnte) (?:ich|wir|er|sie|man)
        (?:ich|wir) (?:würde|würden|hätte|hätten|wäre|wären) (?:\w+ )?(?:gern|lieber|am liebsten)
        stell dir vor ; stellen sie sich vor ; angenommen ; (?:fast|beinahe) (?:wäre|hätte|ge\w+)
        (?:wäre|hätte) (?:\w+ )?(?:fast|beinahe) ; vielleicht (?:ziehe|kaufe|nehme|werde|gehe)
        (?:träume|träumte) (?:davon|von) ; eines tages ; überlege ; nur (?:ein )?(?:spaß|scherz) ; doch nicht
        (?:in|für) (?:mein|sein|ihr|d|ein)(?:em|er|en|e) (?:roman|geschichte|buch|spiel|traum|film)
        """
    ),
    European.SPANISH: any_of(
        r"""
        (?:ojalá|quizás?|tal vez) ; si (?:yo )?(?:\w+(?:ara|iera|era|ase|iese)|fuera|tuviera|pudiera|viviera)
        imagina(?:te)? ; imagínate ; supón(?:gamos)? ; casi (?:me |nos )?\w+
        (?:me|nos) (?:gustaría|encantaría) ; sueñ[oa] con ; algún día ; preferiría ; es broma ; al final no
        en (?:mi|la|el|su) (?:novela|cuento|historia|libro|juego|sueño|película)
        """
    ),
    European.FRENCH: any_of(
        r"""
        si (?:j'|je |on |nous |tu )\w+(?:ais|ait|ions|aient) ; imagine(?:z)? ; suppos(?:ons|e)
        (?:j'|on |nous )?a(?:i|vons)? failli ; presque \w+é
        (?:j'|je |on |nous )?(?:aimerais?|aimerions|préférerais?|voudrais) ; peut-être ; rêve de ; un jour
        je plaisante ; c'est une blague ; finalement pas
        dans (?:mon|le|la|son|ma) (?:roman|histoire|livre|jeu|rêve|film)
        """
    ),
    European.PORTUGUESE: any_of(
        r"""
        se (?:eu |nós |a gente )?(?:\w+sse|\w+ssemos|fosse|tivesse|pudesse|morasse) ; imagin[ae] ; suponha
        tomara ; talvez ; quase (?:me |nos )?\w+ ; (?:eu )?(?:gostaria|adoraria|preferiria) ; sonho (?:com|em)
        um dia
        """
    ),
}
"""What is supposed, wished, or nearly was."""
ADVICE: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        you (?:could|should|might|may|can|ought|would|want to|need to|must)(?: also| even| perhaps| always)?
        how about ; what about \w+ing ; have you (?:thought|considered|tried|ever)
        why (?:not|don't you|don't we)
        (?:i|we)(?:'d| would| can| could)? (?:suggest|recommend|advise|propose)\w*
        try(?: to)? (?:a|an|the|some|\w+ing|to|out|it) ; consider \w+ing ; if i were you ; let me know
        would you like ; feel free
        (?:could|would|might) be (?:suitable|a (?:good|nice|simple|great)|worth|helpful|ideal)
        is easy to begin with ; some people ; a (?:good|simple|nice|great) (?:idea|option|choice|way|tip)
        """
    ),
    European.GERMAN: any_of(
        r"""
        (?:du|ihr|sie) (?:könntest|könntet|könnten|solltest|solltet|sollten|kannst)
        (?:könntest|solltest|könnten|sollten) (?:du|sie|ihr) ; wie wäre es ; wie wär's ; hast du (?:schon|mal)
        haben sie (?:schon|mal) ; probier\w* ; versuch\w* (?:es|mal|doch) ; ich (?:empfehle|rate|schlage vor)
        warum nicht
        """
    ),
    European.SPANISH: any_of(
        r"""
        podrías? ; deberías? ; podría usted ; has (?:pensado|probado|considerado) ; qué tal ; por qué no
        (?:te )?(?:recomiendo|sugiero|aconsejo) ; prueba (?:a|con|el|la|un) ; intenta
        """
    ),
    European.FRENCH: any_of(
        r"""
        (?:tu|vous) (?:pourrais|pourriez|devrais|devriez|peux|pouvez)
        (?:as-tu|avez-vous) (?:pensé|essayé|envisagé) ; pourquoi pas
        (?:je )?(?:te |vous )?(?:recommande|suggère|conseille) ; essaie[sz]? ; essayez ; et si (?:tu|vous|on)
        """
    ),
    European.PORTUGUESE: any_of(
        r"""
        (?:você |tu )?(?:poderias?|deverias?|podes|pode|devias)
        (?:já )?(?:pensou|pensaste|experimentou|experimentaste|considerou) ; que tal ; por que não
        (?:recomendo|sugiro|aconselho) ; experimente? ; tente
        """
    ),
}
"""What is proposed to somebody."""
REPORTED: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        (?:people|they|some|everybody|everyone|experts) (?:say|claim|think|believe) ; it is said
        (?:i|we)(?:'ve| have)? (?:heard|read) (?:that|somewhere|about|on|in) ; i hear ; supposedly ; allegedly
        reportedly ; apparently ; rumou?rs? ; rumou?r has it ; according to ; is said to ; are said to
        in the (?:ad|advert|article|film|movie|novel|book|series|show|news|radio|magazine|play|song)
        (?:ad|advert|article|commercial|brochure)s? (?:says?|claims?|said|claimed)
        """
    ),
    European.GERMAN: any_of(
        r"""
        angeblich ; anscheinend ; (?:man|die leute|viele|alle) (?:sagt|sagen|behaupte[nt])
        (?:ich|wir) habe[n]? (?:gehört|gelesen) ; es heißt ; soll(?:en)? (?:\w+ ){1,6}sein ; laut (?:\w+ )?\w+
        gerüchte\w* ; nach angaben ; in der (?:werbung|zeitung) ; im (?:film|roman|radio|buch|artikel)
        """
    ),
    European.SPANISH: any_of(
        r"""
        dicen que ; se dice ; supuestamente ; al parecer ; por lo visto ; según ; he (?:oído|leído) ; oí que
        leí que ; la gente (?:dice|cree) ; en (?:el|la) (?:anuncio|película|novela|artículo|periódico)
        """
    ),
    European.FRENCH: any_of(
        r"""
        on dit ; les gens disent ; il paraît ; paraît-il ; apparemment ; soi-disant ; selon ; d'après
        j'ai (?:entendu|lu) ; dans (?:le film|la pub|l'article|le roman|le journal)
        """
    ),
    European.PORTUGUESE: any_of(
        r"""
        dizem que ; diz-se ; supostamente ; aparentemente ; pelos vistos ; parece que
        segundo (?:o|a|os|as|um|uma|meu|minha) ; ouvi (?:dizer|que|falar) ; li que
        n[oa] (?:filme|anúncio|novela|artigo|jornal)
        """
    ),
}
"""What people say, and what somebody has heard or read."""
FORMER: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        used to ; (?:until|till|up to) (?:\w+ )?(?:(?:19|20)\d\d|recently|last|then|\w+ years? ago|i|we|the)
        formerly ; previously ; once (?:lived|worked|had|was|owned|played) ; back (?:then|in|when|at)
        in (?:those days|the (?:\w+teen|twen|thir|for|fif|six|seven|eigh|nine)t?ies|the \d0s|the (?:19|20)\d0s|
            my (?:youth|childhood|teens|twenties|thirties|student))
        as an? (?:\w+ )?(?:child|kid|student|teenager|boy|girl|teen|pupil|apprentice|young (?:man|woman|person|
            adult)|undergraduate|intern)
        when i was (?:\w+ )?(?:young|younger|little|small|a|an|at|in|\d+) ; before (?:my|the|i|we)
        (?:at|in) (?:school|university|college) i ; during my (?:studies|childhood|school|youth|time)
        years ago ; my (?:old|former|previous|ex)\b ; from (?:19|20)\d\d (?:to|until|till) (?:19|20)\d\d
        in my (?:last|first|old|former|previous) (?:job|flat|life|place|apartment|house)
        """
    ),
    European.GERMAN: any_of(
        r"""
        früher ; damals ; ehemals ; einst ; bis (?:zum jahr |ende |anfang )?(?:19|20)\d\d
        als (?:kind|student|studentin|jugendlicher?|schüler|schülerin|azubi|junge|mädchen)
        in (?:den|meiner) (?:\w+ziger(?:n)?(?: jahren)?|jugend|kindheit|studienzeit|schulzeit)
        während (?:des studiums|meiner \w+) ; vor (?:meinem|meiner|dem studium)
        als ich (?:noch )?(?:klein|jung|kind|\d+) ; vor jahren
        mein(?:e|er|en|em)? (?:alte|früher|ehemalig|ex)\w*
        """
    ),
    European.SPANISH: any_of(
        r"""
        antes (?:\w+ )?(?:vivía|trabajaba|tenía|era|bebía|tomaba|jugaba|de|del) ; solía ; solíamos
        antiguamente ; en aquel(?:la)? (?:entonces|época) ; hasta (?:el año )?(?:19|20)\d\d
        de (?:niñ[oa]|joven|pequeñ[oa]|estudiante) ; cuando era ; en los (?:años )?(?:\w+enta|\d0) ; hace años
        mi (?:antigu[oa]|anterior|ex)
        """
    ),
    European.FRENCH: any_of(
        r"""
        autrefois ; avant,? (?:je|j'|nous|on) ; à l'époque ; jadis ; jusqu'en (?:19|20)\d\d
        (?:enfant|étudiante?|petite?|jeune), ; quand j'étais ; dans les années ; il y a des années
        mon ancien(?:ne)? ; ma(?:n)? ancienne
        """
    ),
    European.PORTUGUESE: any_of(
        r"""
        antigamente ; antes (?:eu )?(?:morava|trabalhava|tinha|era|bebia|vivia|de|do|da) ; costumava
        naquel[ae] (?:tempo|época|altura) ; até (?:ao ano de |o ano de )?(?:19|20)\d\d
        (?:em|quando) (?:criança|jovem|miúd[oa]|pequen[oa]|estudante) ; quando (?:eu )?era ; nos anos ; há anos
        (?:meu|minha) (?:antig[oa]|ex)
        """
    ),
}
"""A state that is over."""
SUPPOSED_CJK = lazy_pattern(
    r"如果|要是|假如|假设|假設|差点|差點|恨不得|希望能|もし|たら(?:なあ|いいのに)|ばよかった|かもしれない|"
    r"つもりで考え|危うく"
)
"""The same of Chinese and Japanese."""
ADVICE_CJK = lazy_pattern(
    r"你可以|您可以|你应该|你應該|建议你|建議你|不妨|要不要试|试试|試試|てみて|てみたら|てはどう|はいかが|"
    r"ほうがいい|おすすめ|お勧め"
)
"""The same of Chinese and Japanese."""
REPORTED_CJK = lazy_pattern(
    r"听说|聽說|据说|據說|据.{1,6}说|人们说|有人说|[说說][:：][“「『]|[:：][“「『]|らしい|"
    r"だそうです|そうだと|によると|によれば|と言って(?:い|た|まし)|って言って"
)
"""The same of Chinese and Japanese."""
FORMER_CJK = lazy_pattern(
    r"以前|曾经|曾經|过去(?:我|在)|小时候|小時候|当年|當年|那时候|直到\d|(?:19|"
    r"20)\d\d年(?:之)?前|昔|かつて|子供の頃|子どものころ|学生時代|学生の頃|若い頃|(?:19|"
    r"20)\d\d年まで|だった頃"
)
"""The same of Chinese and Japanese."""
