"""What a question asks of time besides the times that it names: the latest or the first of several; its other words.

Seven languages: English, German, Spanish, French, Portuguese, Chinese and Japanese. Phrases of time ("last week", "la
semaine dernière") are taken out first, so that their "last" does not count.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from ...model.lazy import lazy_pattern
from ..european_languages import European, common_words, likely_languages, word_set, words_of
from .cjk import has_cjk
from .mentions import time_spans

_ANY_TIME = datetime(2000, 1, 15, tzinfo=UTC)
"""The places of time phrases in a text do not depend on it."""

_TIME_UNITS = (
    "second minute hour day night weekend week fortnight month quarter year decade century monday tuesday wednesday "
    "thursday friday saturday sunday spring summer autumn fall winter christmas easter january february march april "
    "may june july august september october november december days nights weekends weeks months years decades hours "
    "minutes morning evening afternoon few couple several two three four five six ten"
)
_STATES = "job employer boss name names apartment flat house home address boyfriend girlfriend partner husband wife car"
_STATES += " phone school company landlord roommate chance resort straw word words piece one"
_LATEST_ENGLISH = (
    r"latest|newest|most recent(?:ly)?|up[- ]to[- ]date|(?<!at )last "
    rf"(?!(?:{'|'.join((*_TIME_UNITS.split(), *_STATES.split()))})\b)\w+|last(?=\s*[?.!]|\s*$)|current(?:ly)?|nowadays|"
    r"these days|at (?:the moment|present)|right now|"
    r"(?<!by )(?<!just )(?<!until )(?<!till )(?<!from )(?<!every )(?<!up to )now(?! and then)"
)
_FIRST_ENGLISH = (
    r"earliest|originally|initially|at first|to begin with|original|first(?!-)(?! (?:names?|floor|class|aid|half|week|"
    r"day|month|year|language|thing|place|lady|person|edition|quarter|step|cousins?|prize|grade|world war|of|"
    r"responders?|rate|hand|draft pick)\b)"
)
_LATEST_GERMAN = (
    r"zuletzt|neu(?:e)?ste[mnrs]?|aktuell\w*|jüngste[mnrs]?|derzeit\w*|momentan|jetzt|heutzutage|gegenwärtig|"
    r"letzte[mnrs]? (?!woche|monat|jahr|nacht|tage?n?\b|wochenende|montag|dienstag|mittwoch|donnerstag|freitag|"
    r"samstag|sonntag|sommer|winter|herbst|frühling|namen?|job|arbeitgeber|chef|wohnung|freund|etage|stock|wort|"
    r"chance|\w+ (?:wochen|tage|monate|jahre)\b)\w+"
)
_FIRST_GERMAN = (
    r"zuerst|zuallererst|ursprünglich\w*|anfangs|anfänglich|frühe?ste[mnrs]?|erstmals|"
    r"erste[mnrs]? (?!stock|etage|klasse|hilfe|namen?|vornamen?|weltkrieg|liga|tag|woche|hälfte|"
    r"januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)\w+"
)
_LATEST_SPANISH = (
    r"(?<!por )últim[oa]s?(?! (?:semana|mes|año|noche|día|lunes|martes|piso|planta|nombre|trabajo|empleo|jefe|palabra|"
    r"dos|tres|cuatro|cinco|seis|\d)\w*)|actual(?:es|mente)?|ahora|más recientes?|hoy en día|la última vez"
)
_FIRST_SPANISH = (
    r"primer[oa]?s?(?! (?:piso|planta|nombre|apellido|clase|auxilios|ministr[oa]|de (?:enero|febrero|marzo|abril|mayo|"
    r"junio|julio|agosto|se[p]?tiembre|octubre|noviembre|diciembre)|grado|plano)\b)|al principio(?! de)|originalmente|"
    r"inicialmente|más antigu[oa]|inicial"
)
_LATEST_FRENCH = (
    r"derni(?:er|ère)s?(?! (?:semaine|mois|année|an|nuit|jour|étage|nom|emploi|travail|patron|mot|\d)\w*)|"
    r"plus récent(?:e?s?)|plus récemment|actuel(?:le)?s?|actuellement|maintenant|en ce moment|à présent|de nos jours"
)
_FIRST_FRENCH = (
    r"premi(?:er|ère)s?(?! (?:étage|nom|classe|ministre|secours|degré|janvier|février|mars|avril|mai|juin|juillet|août|"
    r"septembre|octobre|novembre|décembre)\b)|d['’]abord|au début(?! d)|à l['’]origine|initialement|originellement|"
    r"plus ancien(?:ne)?"
)
_LATEST_PORTUGUESE = (
    r"(?<!por )últim[oa]s?(?! (?:semana|mês|ano|noite|dia|segunda|terça|andar|piso|nome|emprego|trabalho|chefe|palavra|"
    r"dois|duas|três|quatro|cinco|seis|\d)\w*)|mais recentes?|atua(?:l|is|lmente)|agora|hoje em dia|no momento"
)
_FIRST_PORTUGUESE = (
    r"primeir[oa]s?(?! (?:andar|piso|nome|ministr[oa]|classe|socorros|de (?:janeiro|fevereiro|março|abril|maio|junho|"
    r"julho|agosto|setembro|outubro|novembro|dezembro))\b)|originalmente|inicialmente|a princípio|no começo(?! d)|"
    r"mais antig[oa]"
)
_LATEST_CJK = lazy_pattern(
    "最近(?![一二三四五六七八九十几幾两兩0-9]+[天日周週个個年月])|最新|上次|上一次|最后一次|最後一次|目前|现在|現在|当前|"
    "當前|如今|今の|直近|前回|最後に|最後の|今は|この前"
)
_FIRST_CJK = lazy_pattern(
    "最初|最早|第一次|首次|原本|起初|一开始|一開始|原来|原來|初めて|はじめて|当初|當初|もともと|元々|最も古|一番古|一番最初"
)


def _patterns(english: str, german: str, spanish: str, french: str, portuguese: str) -> dict[European, re.Pattern[str]]:
    return {
        language: lazy_pattern(rf"\b(?:{source})\b", re.IGNORECASE)
        for language, source in zip(European, (english, german, spanish, french, portuguese), strict=True)
    }


_LATEST = _patterns(_LATEST_ENGLISH, _LATEST_GERMAN, _LATEST_SPANISH, _LATEST_FRENCH, _LATEST_PORTUGUESE)
_FIRST = _patterns(_FIRST_ENGLISH, _FIRST_GERMAN, _FIRST_SPANISH, _FIRST_FRENCH, _FIRST_PORTUGUESE)
_EMPTY_WORDS = {
    European.ENGLISH: word_set(
        "happen happens happened happening occur occurred go goes going went gone do doing done make made take took "
        "place on any anything something everything thing things there up else each other us mine these those tell "
        "told telling say said says saying mention mentioned write wrote written note notes noted report reported "
        "talk talked talking speak spoke spoken discuss discussed share shared describe described record recorded log "
        "logged ask asked remember recall know about new news day days diary journal entry entries message messages "
        "memory memories conversation conversations chat chats thought thoughts think thinking mind feel felt feeling "
        "mood life spend spent time busy been like event events activity activities experience experienced plan plans "
        "planned calendar agenda schedule scheduled important interesting special show give list summarize summarise "
        "summary date dates please during over around"
    ),
    European.GERMAN: word_set(
        "passiert passierte geschehen geschah ereignet ereignete ereignisse vorgefallen los gemacht machte machten "
        "machen gewesen getan tat taten tun was alles etwas du ihr über mich denn da dir euch dich ihnen bei davon "
        "darüber wovon worüber womit welche welches welchen dinge sachen habt hast gab gibt erzählt erzählen erzähl "
        "erzählte gesagt sagen sag sagte berichtet berichten berichtete geschrieben schreiben schrieb aufgeschrieben "
        "notiert notieren notierte erwähnt erwähnen erwähnte mitgeteilt teilte mit gesprochen sprachen sprach "
        "sprechen geredet redeten reden besprochen festgehalten eingetragen vermerkt gefragt zugetragen trug neues "
        "neu neuigkeiten tag tage tages meiner meinem meinen meines tagebuch eintrag einträge nachricht nachrichten "
        "notiz notizen gespräch gespräche gedanken gedacht dachte gefühlt fühlte stimmung ging gegangen gelaufen lief "
        "verlaufen verlief beschäftigt verbracht verbrachte zeit leben erlebt erlebte unternommen unternahm getrieben "
        "trieb weißt wissen erfahren erinnerst erinnern stand steht geplant plan pläne kalender datum wichtiges "
        "besonderes zeig zeige fass fasse zusammen zusammenfassung bitte diesem diesen dieser jenem"
    ),
    European.SPANISH: word_set(
        "hice hicimos hizo hago hacer hicieron hecho haciendo hacía pasó pasa pasar pasaba sucedió suceder sucedido "
        "sucede ocurrió ocurrir ocurrido ocurre aconteció qué he hemos hubo había algo todo cosas cosa eso mi mis mí "
        "conmigo nuestra nuestras sobre acerca tal ese esa aquel aquella conté contó contaste contar contado cuéntame "
        "dije dijo dijiste decir dicho dime hablé habló hablamos hablar hablado escribí escribió escribir escrito "
        "anoté anotó anotar anotado apunté apuntado mencioné mencionó mencionar mencionado comenté comentó comentar "
        "comentado informé informar relaté registré registrado compartí pregunté nuevo nueva nuevos nuevas novedad "
        "novedades noticias tuve tuvo tener día días diario entrada entradas nota notas mensaje mensajes conversación "
        "recuerdos pensé pensaba pensamientos sentí sentía ánimo dediqué dedicado ocupé ocupado ocupada estuve estuvo "
        "estaba anduve iba fui tiempo vida viví eventos acontecimientos actividades sabes recuerdas recuerdo recordar "
        "plan planes planeado agenda calendario fecha importante especial muéstrame resume resumen favor"
    ),
    European.FRENCH: word_set(
        "comment fait faire fais faisais passé passe passait passée produit produite déroulé déroulée arrivé arrive "
        "avons ont quoi t s m d il qui quelque chose choses quelles quels eu lieu avait ça toi moi chez tout nos "
        "notre raconté raconter racontais raconte dit dire disais dis parlé parler parlais parlions écrit écrire "
        "écrivais noté noter mentionné mentionner évoqué rapporté rapporter signalé partagé confié discuté consigné "
        "enregistré demandé neuf nouveau nouvelle nouvelles nouveautés journée jour jours journal entrée entrées note "
        "notes message messages conversation souvenirs pensé pensais pensées pensée sentais sentie senti ressenti "
        "humeur occupé occupée temps vie vécu événement événements évènements activités allé allée sais rappelles "
        "souviens plan plans prévu prévue avais agenda calendrier date important spécial montre résume résumé étais "
        "es lors"
    ),
    European.PORTUGUESE: word_set(
        "como que alguma algum conta me rolou rola fiz fez fizemos fizeram faço fazer feito fazendo aconteceu "
        "acontecer acontecido acontece houve havia ocorreu passou sucedeu algo tudo coisas coisa isso te mim comigo "
        "nossa nossas esse essa nesse nessa naquele naquela contei contou contar contado conte disse dizer dito diga "
        "falei falou falamos falar falado escrevi escreveu escrever escrito anotei anotou anotar anotado anotações "
        "mencionei mencionou mencionar mencionado comentei comentar relatei relatar relatado registrei registrado "
        "informei compartilhei perguntei sobre novo nova novos novas novidade novidades notícias tive teve ter dia "
        "dias diário entrada entradas nota notas mensagem mensagens conversa conversas memórias pensei pensava "
        "pensamentos senti sentia humor ocupei ocupado ocupada dediquei estava estive andei fui tempo vida vivi "
        "eventos acontecimentos atividades sabe sabes lembra lembras lembrar plano planos planejado agenda calendário "
        "data importante especial mostre resuma resumo favor"
    ),
}
"""Words, besides the commonest, that say no more than that something happened, or was told, done, felt or planned."""
_EMPTY_CJK = lazy_pattern(
    # Chinese
    "新し[ぁ-ん]*|告[诉訴]|提[到过過及]|[说說讲講聊谈談写寫记記录錄]|[报報]告|分享|[发發]生|[经經][历歷]|[进進]行|[计計][划畫劃]|安排|日程|日期|"
    "[干幹][嘛吗嗎]|做|干|幹|忙|[过過]得|怎[么麼][样樣]?|怎[样樣]|如何|新[鲜鮮]|哪[里裡些]|[这這那][边邊]|情[况況]|[内內]容|想法|心情|"
    "感[觉覺]|[关關][于於]|知道|[总總][结結]|一[下切]|所有|全部|[当當]天|事情?|日[记記]|什[么麼]|甚[麼么]|啥|新|有|去|是|遇到|[对對跟给給向]|"
    "[我你您他她们們俺私僕]|[了过過呢吗嗎的在都那些天啊呀吧还還得到没沒件话話请請]|"
    # Japanese: a verb with its ending, then what stands around it
    "(?:話|言|伝|教|書|語|述|過|起|覚|知|感じ|考え|思い出|思|変わ|やっ|やり|や[っら])[ぁ-ん]*|"
    "(?:メモ|日記|報告|記録|予定|計画|会話|出来事|出来ごと|様子|気持ち?|気分|日付|一日|全部|全て|すべて|自分|俺|あなた|君|物事|事)|"
    "(?:して|した|しま|する|すべき|され|あった|あり|ある|いた|いま|いる|くれ|くだ|でし|だった|です)[ぁ-ん]*|"
    "何|なに|なん|どんな|どのよう|どう|よう|について|こと|もの|たち|ました|ます|っけ|か|が|を|は|に|の|と|も|で|へ|や|よ|ね|な|だ"
)
_DIGIT = lazy_pattern(r"\d")
_EDGE = lazy_pattern(r"^[\s,;:.、，¿¡]+|[\s,;:.、，?？!。¿¡]+$")


def rest_of_question(text: str) -> str:
    """A question without the times that it names; empty if it has no other word with content.

    "What did I do yesterday?" and "What did I tell you on 12 July?" have none: their only content is the time.
    """
    rest = _EDGE.sub("", " ".join(_without_times(text).split()))
    return rest if _has_content(rest, likely_languages(words_of(text)) or European) else ""


def asks_for_latest(text: str) -> bool:
    """Whether a question asks for the latest of several, or for how things are now."""
    return _asks(_without_times(text), _LATEST, _LATEST_CJK)


def asks_for_first(text: str) -> bool:
    """Whether a question asks for the first of several, or for how things were originally."""
    return _asks(_without_times(text), _FIRST, _FIRST_CJK)


def asked_end(question: str) -> int:
    """The end of a series that a question asks for: 1 for the latest, -1 for the first, 0 for neither or both."""
    return int(asks_for_latest(question)) - int(asks_for_first(question))


def _asks(text: str, patterns: Mapping[European, re.Pattern[str]], cjk: re.Pattern[str]) -> bool:
    """Whether the pattern of a text's likely languages, of any language if none is likely, or ``cjk`` matches."""
    languages = likely_languages(words_of(text)) or European
    return any(patterns[language].search(text) for language in languages) or cjk.search(text) is not None


def _without_times(text: str) -> str:
    pieces: list[str] = []
    at = 0
    for span in time_spans(text, _ANY_TIME):
        if span.start >= at:
            pieces.append(text[at : span.start])
            at = span.end
    return " ".join((*pieces, text[at:]))


def _has_content(text: str, languages: Iterable[European]) -> bool:
    """Whether a text in one of some languages has a digit, or a word that is neither common nor empty."""
    if has_cjk(text):
        text = _EMPTY_CJK.sub(" ", text)
    words = words_of(text).difference(*(common_words(language) | _EMPTY_WORDS[language] for language in languages))
    return bool(words) or _DIGIT.search(text) is not None
