"""Tells where somebody is for a while from where they live: "I am staying in Kiel for the weekend".

The phrases are in ``lexicon/stays.ini``.
"""

from ..dates.cjk import has_cjk
from ..european_languages import European, likely_languages, phrase_patterns, words_of
from ..lexicon_file import phrase_pattern, plain_pattern

MAX_CHARS = 200
"""In a longer text a stay is one thing among others."""
_STAY = phrase_patterns("stays", "stay")
_STAY_VERB = phrase_patterns("stays", "stay verb")
_WHILE = phrase_patterns("stays", "while")
_STAY_CJK = plain_pattern("stays", "chinese and japanese", "stay")
_ASKED = phrase_pattern("stays", "all european", "asked")
_ASKED_CJK = plain_pattern("stays", "chinese and japanese", "asked")


def is_stay(text: str) -> bool:
    """Whether a text tells where somebody is for a while, and will then no longer be."""
    if len(text) > MAX_CHARS:
        return False
    if has_cjk(text):
        return _STAY_CJK.search(text) is not None
    return any(
        _STAY[language].search(text) or (_STAY_VERB[language].search(text) and _WHILE[language].search(text))
        for language in likely_languages(words_of(text)) or list(European)
    )


def asks_for_stay(question: str) -> bool:
    """Whether a question may ask where somebody is for a while."""
    return (_ASKED_CJK if has_cjk(question) else _ASKED).search(question) is not None
