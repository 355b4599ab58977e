"""Tells the facts that a text states from questions, suppositions, advice, reports and former states.

By words and phrases, for English, German, Spanish, French, Portuguese, Chinese and Japanese; they are in
``lexicon/factuality.ini``, which says what each of them means. The distinction is known as event factuality: Roser
Saurí and James Pustejovsky, "FactBank: a corpus annotated with event factuality", 2009.

It also tells where somebody is for a while from where they live: "I am staying in Kiel for the weekend".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ...model.lazy import lazy_pattern
from ..dates.cjk import has_cjk
from ..language_identification import European, likely_languages, phrase_patterns, words_of
from ..lexicon_file import phrase_pattern, plain_pattern
from ..question import is_question
from ..terms import extract_terms

MAX_CHARS = 400
"""In a longer text a phrase says little about the whole, so nothing is said of it."""
MIN_SHARE = 0.5
"""The part of a text that must be supposed, say, for the text to be so: next to a supposition a fact may be told."""
MAX_GREETING_CHARS = 8
"""A sentence of so many characters, such as "Hello!", counts for nothing."""
_SUPPOSED = phrase_patterns("factuality", "supposed")
_ADVICE = phrase_patterns("factuality", "advice")
_REPORTED = phrase_patterns("factuality", "reported")
_FORMER = phrase_patterns("factuality", "former")
_PAST_PHASE = phrase_patterns("factuality", "past phase")
_PAST_STATE_VERB = phrase_patterns("factuality", "past state verb")
_PRESENT = phrase_patterns("factuality", "present")
_JOKE = phrase_pattern("factuality", "all european", "joke")
_SUPPOSED_CJK, _ADVICE_CJK, _REPORTED_CJK, _JOKE_CJK, _FORMER_CJK, _PRESENT_CJK = (
    plain_pattern("factuality", "chinese and japanese", key)
    for key in ("supposed", "advice", "reported", "joke", "former", "present")
)
_SENTENCE = lazy_pattern(r"[^.!?…\n。！？]+(?:\.(?=\w)[^.!?…\n。！？]*)*[.!?…。！？]*")
_QUOTATION = lazy_pattern(
    r"[:：,，]\s*(?P<quoted>\"[^\"]{8,}\"|“[^”“]{8,}[”“]|„[^“”]{8,}[“”]|«\s?[^»]{8,}»|‘[^’]{8,}’|[「『][^」』]{4,}[」』]|"
    r"[“\"][^”\"]{4,}[”\"]$)"
)
_SPEECH = lazy_pattern(
    r"[.!?…,。！？]\s?\W$|\b(?:I|I['’]m|my|you|we|ich|mein|wir|du|yo|mi|soy|je|j['’]|mon|nous|eu|meu|sou)\b|[我你您私僕俺]|"
    r"[ぁ-ん]{3}",
)
"""What tells quoted speech from a title or a name in quotation marks."""
_REQUEST, _MORE_THAN_FACTS = (
    plain_pattern("questions", "all languages", key, flags=re.IGNORECASE) for key in ("request", "more than facts")
)
_SELF_BEFORE = lazy_pattern(r"(?:\b(?:I|[Ww]e|[Ii]ch|[Ww]ir|[Jj]e|[Nn]ous|[Yy]o|[Ee]u)\b|[我私僕俺])[^:：,]{0,30}$")


@dataclass(frozen=True, slots=True)
class Factuality:
    """How a text is meant; all are False if it states what is so.

    ``is_asked`` if it asks more than it says; ``is_supposed`` if it supposes, wishes or says what nearly was;
    ``is_advice`` if it proposes something to somebody; ``is_reported`` if it quotes somebody or tells what people say;
    ``is_former`` if it tells of a state that is over.
    """

    is_asked: bool = False
    is_supposed: bool = False
    is_advice: bool = False
    is_reported: bool = False
    is_former: bool = False

    @property
    def is_fact(self) -> bool:
        """Whether it states that something is, or was, so."""
        return not (self.is_asked or self.is_supposed or self.is_advice or self.is_reported)


def factuality(text: str) -> Factuality:
    """How a text is meant."""
    if len(text) > MAX_CHARS:
        return Factuality()
    bare, quoted = without_quotations(text)
    sentences = _sentences(bare)
    if has_cjk(text):
        supposed, advice, reported, former = (
            _share(sentences, pattern.search) for pattern in (_SUPPOSED_CJK, _ADVICE_CJK, _REPORTED_CJK, _FORMER_CJK)
        )
        is_joke, is_over = _JOKE_CJK.search(bare) is not None, _PRESENT_CJK.search(bare) is None
    else:
        languages = likely_languages(words_of(text)) or list(European)
        supposed, advice, reported = (
            _share(sentences, *(table[language].search for language in languages))
            for table in (_SUPPOSED, _ADVICE, _REPORTED)
        )
        former = _share(sentences, *(partial(_is_former, language) for language in languages))
        is_joke, is_over = _JOKE.search(bare) is not None, True
    return Factuality(
        is_asked=_is_asked(text),
        is_supposed=is_joke or supposed >= MIN_SHARE,
        is_advice=advice >= MIN_SHARE,
        is_reported=quoted or reported >= MIN_SHARE,
        is_former=former >= MIN_SHARE and is_over,
    )


def _is_asked(text: str) -> bool:
    """Whether most sentences of a text are questions, and the others say little that is not in these."""
    parts = [one.strip() for one in _SENTENCE.findall(text)]
    questions = [one for one in parts if is_question(one)]
    if 2 * len(questions) <= len(parts):  # one question and its answer
        return False
    rest = extract_terms(" ".join(one for one in parts if one not in questions))
    return 2 * len(set(extract_terms(" ".join(questions))).intersection(rest)) >= len(set(rest))


def _sentences(text: str) -> list[str]:
    """The sentences of a text without mere greetings; of a text with statements, also without its questions."""
    parts = [one.strip() for one in _SENTENCE.findall(text)]
    found = [one for one in parts if len(one) > MAX_GREETING_CHARS] or [text]
    statements = [one for one in found if not one.endswith(("?", "？"))]
    return statements or found


def _share(sentences: list[str], *searches: Callable[[str], object]) -> float:
    """The part of some sentences in which a search finds something, by their length."""
    found = sum(len(one) for one in sentences if any(search(one) for search in searches))
    return found / max(1, sum(map(len, sentences)))


def _is_former(language: European, sentence: str) -> bool:
    """Whether a sentence tells of a state that is over, and of nothing that is so now."""
    if _PRESENT[language].search(sentence):
        return False
    if _FORMER[language].search(sentence):
        return True
    phase = _PAST_PHASE[language].search(sentence)
    rest = phase and f"{sentence[: phase.start()]} , {sentence[phase.end() :]}"
    return rest is not None and _PAST_STATE_VERB[language].search(rest) is not None


def asks_for_facts(question: str) -> bool:
    """Whether a question asks for what is so, and not for what somebody said, advised, thought or would do."""
    request = _REQUEST.match(question)
    return _MORE_THAN_FACTS.search(question, request.end() if request else 0) is None


def without_quotations(text: str) -> tuple[str, bool]:
    """A text without what somebody else is quoted with, and whether that is most of it."""
    found = _QUOTATION.search(text)
    if found is None or _SPEECH.search(found["quoted"]) is None or _SELF_BEFORE.search(text[: found.start()]):
        return text, False
    bare = f"{text[: found.start()]} {text[found.end() :]}"
    return bare, len(bare) < len(text) / 2 + 20


# Stays ----------------------------------------------------------------------------------------------------------------

MAX_STAY_CHARS = 200
"""In a longer text a stay is one thing among others."""
_STAY = phrase_patterns("factuality", "stay")
_STAY_VERB = phrase_patterns("factuality", "stay verb")
_WHILE = phrase_patterns("factuality", "while")
_STAY_CJK = plain_pattern("factuality", "chinese and japanese", "stay")
_STAY_ASKED = phrase_pattern("factuality", "all european", "asked")
_STAY_ASKED_CJK = plain_pattern("factuality", "chinese and japanese", "asked")


def is_stay(text: str) -> bool:
    """Whether a text tells where somebody is for a while, and will then no longer be."""
    if len(text) > MAX_STAY_CHARS:
        return False
    if has_cjk(text):
        return _STAY_CJK.search(text) is not None
    return any(
        _STAY[language].search(text) or (_STAY_VERB[language].search(text) and _WHILE[language].search(text))
        for language in likely_languages(words_of(text)) or list(European)
    )


def asks_for_stay(question: str) -> bool:
    """Whether a question may ask where somebody is for a while."""
    return (_STAY_ASKED_CJK if has_cjk(question) else _STAY_ASKED).search(question) is not None
