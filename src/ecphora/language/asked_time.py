"""What a question asks of time beside the times that it names: the latest or the first of several, and its other words.

Seven languages: English, German, Spanish, French, Portuguese, Chinese and Japanese. Phrases of time ("last week", "la
semaine dernière") are taken out first, so that their "last" does not count.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from ..lazy_pattern import lazy_pattern
from .dates import time_spans
from .dates_cjk import has_cjk
from .european_languages import ALL_COMMON_WORDS, European, likely_languages, word_set, words_of

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
_EMPTY_WORDS = word_set(
    # English, German, Spanish, French, Portuguese
    "happen happened happens go going went gone doing done make made take place on at any anything something there up "
    "gemacht gewesen passiert geschehen los getan tun mache machen tat haben was alles etwas denn habt hast du "
    "hice hicimos hizo hago hacer hicieron hecho pasó pasa pasar sucedió ocurrió qué he hemos hay algo "
    "fait faire fais faisais passé passe arrivé arrive avons ai est quoi t il qu qui quelque chose y eu "
    "fiz fez fizemos faço fazer feito aconteceu acontece houve foi algo"
)
_EMPTY_CJK = lazy_pattern(
    "[我你您他她们們俺私僕]|(?:做|干|幹|发生|發生|有|去|是)|[了过過]|什么|什麼|甚麼|哪里|哪裡|事情?|呢|吗|嗎|的|在|都|那|天|"
    "何|なに|どんな|ありました|あった|しました|した|します|する|していました|こと|起き|起こ|ました|ます|でした|です|か|が|を|は|に|の|と|も|で"
)
_EDGE = lazy_pattern(r"^[\s,;:.、，¿¡]+|[\s,;:.、，?？!。¿¡]+$")


def rest_of_question(text: str) -> str:
    """A question without the times that it names; empty if it has no other word with content.

    "What did I do yesterday?" has none: its only content is the time.
    """
    rest = _EDGE.sub("", " ".join(_without_times(text).split()))
    return rest if _has_content(rest) else ""


def asks_for_latest(text: str) -> bool:
    """Whether a question asks for the latest of several, or for how things are now."""
    return _asks(_without_times(text), _LATEST, _LATEST_CJK)


def asks_for_first(text: str) -> bool:
    """Whether a question asks for the first of several, or for how things were originally."""
    return _asks(_without_times(text), _FIRST, _FIRST_CJK)


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


def _has_content(text: str) -> bool:
    if has_cjk(text):
        text = _EMPTY_CJK.sub(" ", text)
    return bool(words_of(text) - _EMPTY_WORDS - ALL_COMMON_WORDS)
