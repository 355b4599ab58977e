"""Tells ordinary words that are capitalized from names, by word lists and endings."""

from ..lazy_pattern import lazy_pattern
from .word_lists import COMMON_SUFFIXES, COMMON_WORDS, DATE_WORDS, FOREIGN_STARTERS, SENTENCE_STARTERS

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
