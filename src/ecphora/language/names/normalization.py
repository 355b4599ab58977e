"""The normal form of a name, and the id of its entity."""

import unicodedata

from ...model.ids import ENTITY_PREFIX
from ...model.lazy import lazy_pattern
from ..scripts import stream_safe
from ..word_lists import HONORIFICS


def normalize_name(name: str) -> str:
    """The normal form of a name, equal for its spellings; may be empty.

    Case, accents, punctuation, a leading "the", a possessive and a trailing parenthesis are removed; initials are
    joined. A rank is removed if two words follow it: "King Olaf II" is "Olaf II", but "King Olaf" stays.
    """
    form = name.lower() if name.isascii() else fold_name(name)
    words = form.split()
    if not all(map(str.isalnum, words)):
        words = _SEPARATORS.sub(" ", _POSSESSIVE.sub("", _strip_parenthetical(form))).split()
    if len(words) > 1 and min(map(len, words)) == 1:
        words = _INITIALS.sub("", " ".join(words)).split(" ")
    last, at = len(words) - 1, 0
    while at < last:
        rank = at + (words[at] == "grand")
        if words[at] == "the":
            at += 1
        elif rank < last - 1 and words[rank] in HONORIFICS and words[rank + 1] not in ("of", "and"):
            at = rank + 1
        else:
            break
    return " ".join(words[at:])


def entity_id(name: str) -> str:
    """The id of the entity node of a name."""
    return ENTITY_PREFIX + normalize_name(name)


_LETTER = lazy_pattern(r"[^\W_]")
_POSSESSIVE = lazy_pattern(r"(?<=\w)['’ʼ`]s(?!\w)")
_SEPARATORS = lazy_pattern(r"[\W_]+")
_INITIALS = lazy_pattern(r"(?<=\b[a-z]) (?=[a-z]\b)")
_ACCENT = lazy_pattern("[\u0300-\u036f]+")
_LETTER_FOLDING = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})


def _strip_parenthetical(form: str) -> str:
    """Remove parentheses at the end, unless nothing would be left."""
    end = len(form.rstrip())
    while form[end - 1 : end] == ")" and (start := form.rfind("(", 0, end)) > form.rfind(")", 0, end - 1):
        end = start
        while form[end - 1 : end].isspace():
            end -= 1
    return form[:end] if _LETTER.search(form, 0, end) else form


def fold_name(name: str) -> str:
    """The form in which spellings of a name compare: compatibility form, no case, no accents.

    Only the accents of Latin, Greek and Cyrillic are removed: other combining marks distinguish names.
    """
    form = stream_safe(name)
    for _ in range(2):  # removing an accent may enable another change
        plain = _ACCENT.sub("", unicodedata.normalize("NFKD", form).casefold()).translate(_LETTER_FOLDING)
        form = unicodedata.normalize("NFKC", plain)
    return form
