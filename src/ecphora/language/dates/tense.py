"""Tells whether the words around a date are in the past or the future, in the seven languages whose dates are read."""

import re
from collections.abc import Mapping

from ...model.lazy import lazy_pattern
from ..european_languages import European, likely_languages, word_set, words_of
from .cjk import has_cjk

_FUTURE_WORDS = {
    European.ENGLISH: "will won't shall should gonna wanna plan plans planning hope hopes hoping let's upcoming booked",
    European.GERMAN: "werde wirst wird werdet wollen will möchte möchten plane planen",
    European.SPANISH: "quiero queremos quiere pienso pensamos",
    European.FRENCH: "veux voulons voudrais veut prévoyons prévois",
    European.PORTUGUESE: "quero queremos quer pretendo pretendemos",
}
_PAST_WORDS = {
    European.ENGLISH: (
        "was were did didn't had went got came saw made took met said told bought gave found left felt began ran won "
        "lost ate held kept led wrote sent spent taught thought brought built caught chose drove flew grew heard knew "
        "paid rode sang slept spoke stood swam threw understood woke wore became been born"
    ),
    European.GERMAN: (
        "war waren warst hatte hatten hattest wurde wurden ging gingen kam kamen gab sah fand bekam musste mussten "
        "konnte konnten wollte traf rief kaufte sagte machte machten fuhr fuhren blieb schrieb aß lief wusste "
        "begann verlor gewann dachte brachte nahm hieß lag stand starb"
    ),
    European.SPANISH: (
        "fue fui fuimos fueron era eran estaba estaban estuve estuvo estuvimos estuvieron hice hizo hicimos hicieron "
        "tuve tuvo tuvimos tuvieron vi vio dije dijo puse puso vine vino di dio quise quiso pude pudo supe había "
        "habían conocí comí leí corrí dormí salí escribí recibí perdí vendí viví sentí pedí decidí subí aprendí"
    ),
    European.FRENCH: "étais était étaient étions avais avait avaient avions fut furent fit eut dit",
    European.PORTUGUESE: (
        "foi fui fomos foram era eram estava estavam estive esteve estivemos tive teve tivemos fiz fez fizemos "
        "fizeram vi viu vimos disse disseram vim veio pude quis conheci comi li corri dormi escrevi recebi perdi "
        "vendi bebi saí caí ouvi pedi senti decidi subi aprendi"
    ),
}
_FUTURE_PHRASES = {
    European.ENGLISH: lazy_pattern(r"going to |want(?:s|ing)? to |see you|looking forward|can't wait|'ll "),
    European.GERMAN: lazy_pattern(r"\bhabe[n]? vor\b|\bfreue mich\b|\bfreuen uns\b|\bhabt ihr vor\b"),
    European.SPANISH: lazy_pattern(
        r"\b(?:voy|vas|va|vamos|van) a\b|\b\w{2,}(?:aré|eré|iré|ará|erá|irá|remos|arán|erán|irán)\b"
    ),
    European.FRENCH: lazy_pattern(
        r"\b(?:vais|vas|va|allons|allez|vont) \w+(?:er|ir|re)\b|\b\w{2,}(?:erai|irai|erons|irons|eront|iront|drai|"
        r"drons)\b|\b(?:sera|seront|serai|aura|aurai|fera|ferai|ira)\b"
    ),
    European.PORTUGUESE: lazy_pattern(
        r"\b(?:vou|vais|vai|vamos|vão) \w+r\b|\b\w{2,}(?:arei|erei|irei|ará|erá|irá|aremos|eremos|iremos|arão|erão|"
        r"irão)\b"
    ),
}  # fmt: skip
_PAST_PHRASES = {
    European.GERMAN: lazy_pattern(
        r"\b(?:habe|hab|hat|haben|hast|habt|bin|bist|ist|sind|seid)\b(?=.*?\b(?:\w{0,8}ge(?!h|gen|nau|rade|rn|"
        r"st)\w{2,}(?:t|en)|\w{2,}iert|(?:be|ver|er|zer|ent|miss|über|unter)\w{3,}(?:t|en))\b)"
    ),
    European.SPANISH: lazy_pattern(
        r"\b(?!qué|porqué|café|bebé|josé|aquí|está|comité|vamos\b|estamos|damos|podríamos|únimos)\w{2,}(?:é|ó|amos|"
        r"imos|aste|iste|aron|ieron|aba|aban|ían|íamos)\b|\b(?:he|has|ha|hemos|han|había) \w+(?:ado|ido|to|cho)\b"
    ),
    European.FRENCH: lazy_pattern(
        r"\b(?:ai|as|a|avons|avez|ont|suis|es|est|sommes|êtes|sont)(?:[- ](?:pas|jamais|tous|bien|déjà|tout|beaucoup|"
        r"nous|vous|je|tu|t-il|t-elle|on|il|elle|ils|elles))*[- ]\w+(?:é|ée|és|ées|i|is|it|ie|u|us|ue|ert|int|ort|"
        r"ait)\b"
    ),
    European.PORTUGUESE: lazy_pattern(
        r"\b(?!meu|seu|teu|sou\b|vou|estou|dou\b|lei\b|rei\b|sei\b|museu|europeu|vamos\b|estamos|damos)\w{2,}(?:ei|ou|"
        r"amos|imos|mo-nos|aram|eram|iram|ava|avam|iu|eu)\b"
    ),
}
_NOT_PAST = word_set("need feed speed seed indeed exceed proceed bleed breed weed deed hundred sacred bed red shed")
_FUTURE = {language: frozenset(words.split()) for language, words in _FUTURE_WORDS.items()}
_PAST = {language: frozenset(words.split()) for language, words in _PAST_WORDS.items()}
_FUTURE_CJK = lazy_pattern(
    "[将將会會](?=[去来來再见見在有和跟到于要])|打算|计划|計畫|准备|つもり|予定|ましょう|でしょう"
)
_PAST_CJK = lazy_pattern(
    "[了过過刚剛](?![去来解])|ました|でした|だった|った|んだ|[いきしちりえけせてねべめれ]た(?=[。、！!\\s]|$)"
)
_WORD = lazy_pattern("[a-z']+")
_END = {"until": 1, "till": 1}
_SIDES = _END | {"since": -1}
_CONTEXT_CHARS = 120
_CLAUSE_END = lazy_pattern(r"[.!?\n。！？;:,、，；：()–—]")
_SENTENCE_END = lazy_pattern(r"[.!?\n。！？]")
_DATE_WORDS = word_set("on in last this next the to from of day week month year ago before after since until")
_PRESENT_WORDS = word_set(
    "is s re m are am isn't aren't do does don't have has can could would may must ist sind habe haben hat kann ist "
    "muss müssen es son está están tengo tenemos tiene hay puedo est sont ai avons a peux tenho temos tem há posso é "
    "são"
)


def tense_around(match: re.Match[str]) -> int:
    """The tense of the words around a date: past (-1), future (1) or unknown (0)."""
    before, after = _context(match)
    sentence = _sentence(before, after)
    if found := _tense(sentence) or _side(before, _SIDES):
        return found
    return -1 if _asks_for_past(sentence, after) else _tense(f"{before} {after}")


def tense_of_clause(match: re.Match[str]) -> int:
    """The tense of a date's clause, or of its sentence if the clause has no word besides the date.

    This decides on a date without a year, which seldom is a year ago because another clause is in the past.
    """
    before, after = _context(match)
    clause = f"{_CLAUSE_END.split(before)[-1]} {_CLAUSE_END.split(after, maxsplit=1)[0]}"
    sentence = _sentence(before, after)
    if found := _tense(clause) or _side(before, _END):
        return found
    if not words_of(clause) - _DATE_WORDS and (found := _tense(sentence)):
        return found
    return -_asks_for_past(sentence, after)


def _context(match: re.Match[str]) -> tuple[str, str]:
    text = match.string
    stop = "." if match[0].endswith(".") and text[match.end() : match.end() + 1].isspace() else ""
    return text[max(0, match.start() - _CONTEXT_CHARS) : match.start()], (
        stop + text[match.end() : match.end() + _CONTEXT_CHARS]
    )


def _side(before: str, sides: Mapping[str, int]) -> int:
    """The tense that a word of ``sides`` before a date tells; 0 without such a word, and in Chinese and Japanese."""
    return 0 if has_cjk(before) else next((sides[word] for word in before.lower().split()[-2:] if word in sides), 0)


def _sentence(before: str, after: str) -> str:
    return f"{_SENTENCE_END.split(before)[-1]} {_SENTENCE_END.split(after, maxsplit=1)[0]}"


def _asks_for_past(sentence: str, after: str) -> bool:
    """Whether a sentence is a question that is not in the present tense; False in Chinese and Japanese."""
    end = _SENTENCE_END.search(after)
    if has_cjk(sentence):
        return False
    return end is not None and end[0] in "?？" and _PRESENT_WORDS.isdisjoint(words_of(sentence))


def _tense(text: str) -> int:
    text = text.lower().replace("’", "'")
    if not text.isascii():
        if _FUTURE_CJK.search(text):
            return 1
        if _PAST_CJK.search(text):
            return -1
    words = words_of(text)
    languages = likely_languages(words - _DATE_WORDS) or tuple(European)
    return next((tense for language in languages if (tense := _tense_in(language, text, words))), 0)


def _tense_in(language: European, text: str, words: set[str]) -> int:
    if language is European.ENGLISH:
        words = set(_WORD.findall(text))
    if words & _FUTURE[language] or _FUTURE_PHRASES[language].search(text):
        return 1
    if words & _PAST[language]:
        return -1
    if language is European.ENGLISH:
        return -any(word.endswith("ed") and word not in _NOT_PAST for word in words)
    return -1 if _PAST_PHRASES[language].search(text) else 0
