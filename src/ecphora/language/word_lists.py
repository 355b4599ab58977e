"""Word lists of general language, from ``lexicon/words.ini``.

``SENTENCE_STARTERS`` never begin a name in running text; ``COMMON_WORDS`` are too ordinary to be names merely because a
sentence begins with them in a capital.
"""

from ..model.lazy import lazy_pattern
from .lexicon_file import lexicon_value, lexicon_words

SENTENCE_STARTERS = lexicon_words("words", "english", "sentence starters")
COMMON_WORDS = lexicon_words("words", "english", "common words")
WEEKDAYS = lexicon_words("words", "english", "weekdays")
MONTHS = lexicon_words("words", "english", "months")
TIME_WORDS = lexicon_words("words", "english", "time words")
DATE_WORDS = WEEKDAYS | MONTHS | TIME_WORDS
"""Words that are a date, or a part of a date, by themselves."""

COUNTABLE_NOUNS = lexicon_words("words", "english", "countable nouns")
FOREIGN_STARTERS = lexicon_words("words", "other languages", "foreign starters")
KATAKANA_LOANWORDS = lexicon_words("words", "chinese and japanese", "katakana loanwords")
COMMON_WORDS_CJK = lexicon_words("words", "chinese and japanese", "common words")
PREFIXES_CJK = lexicon_words("words", "chinese and japanese", "prefixes")
INTERJECTIONS = lexicon_words("words", "english", "interjections")
TITLE_SMALL_WORDS = lexicon_words("words", "english", "title small words")
DATE_PREPOSITIONS = lexicon_words("words", "english", "date prepositions")
HONORIFICS = lexicon_words("words", "english", "honorifics")
COMMON_SUFFIXES = tuple(sorted(lexicon_words("words", "english", "common suffixes")))
CHINESE_SURNAMES = "".join(lexicon_value("words", "chinese and japanese", "chinese surnames").split())
FUNCTION_CHARS = "".join(lexicon_value("words", "chinese and japanese", "function chars").split())
POSSESSIVE_SUFFIX = lazy_pattern(r"['’ʼ][sS]?\Z")
CONTRACTION_ENDINGS = ("n't", "n’t", "'ll", "’ll", "'ve", "’ve", "'re", "’re", "'m", "’m", "'d", "’d")


def is_ordinary_word(word: str) -> bool:
    """Whether a capitalized word may be an ordinary one, by the word lists or by its ending."""
    base = base_form(word)
    if (
        base in SENTENCE_STARTERS
        or base in COMMON_WORDS
        or base in FOREIGN_STARTERS
        or base in DATE_WORDS
        or base.endswith(CONTRACTION_ENDINGS)
    ):
        return True
    if "-" in base:
        return any(part.islower() for part in word.split("-"))
    if len(base) > 5 and base.endswith(COMMON_SUFFIXES):
        return True
    plain = _REPEATED_LETTER.sub(r"\1", base)
    if plain != base and (plain in SENTENCE_STARTERS or plain in COMMON_WORDS):
        return True
    ending = _INFLECTION.search(base)
    if ending is None:
        return False
    stem = base[: ending.start()]
    stems = (stem + "y",) if ending["y"] else (stem, stem + "e")
    return any(stem in COMMON_WORDS or stem in SENTENCE_STARTERS for stem in stems)


_INFLECTION = lazy_pattern(r"(?:(?P<y>ies|ied)|e?s|e?d|ly)\Z")
_REPEATED_LETTER = lazy_pattern(r"(.)\1{2,}")


def base_form(word: str) -> str:
    return word.lower() if word.isalpha() else POSSESSIVE_SUFFIX.sub("", word).rstrip(".,!?").lower()
