"""Words that label a number as an identifier: "port 8080", "Rechnung 4471", "端口8080", ``"order_id": 88123``.

The words are in ``lexicon/identifiers.ini``. Numbers with five digits or more need no label. Short ones do, since
most short numbers in a text are counts.
"""

import re
from enum import Enum, auto

from ...model.lazy import lazy_pattern
from ..lexicon_file import lexicon_value


def _words(key: str) -> tuple[str, ...]:
    return tuple(lexicon_value("identifiers", "labels", key).split())


LABELS = frozenset(_words("labels"))
LABEL_STEMS, LABEL_ENDINGS = _words("label stems"), _words("label endings")
UNSPACED_LABELS = _words("unspaced labels")
UNSPACED_LABELS_AFTER = tuple(label.replace("_", " ") for label in _words("unspaced labels after"))
PHONE_LABELS = frozenset(_words("phone labels"))
UNSPACED_PHONE_LABELS = _words("unspaced phone labels")
AMOUNT_KEYS = frozenset(_words("amount keys"))
GENERIC_MARKS = frozenset(_words("generic marks"))
_CONNECTORS = frozenset(_words("connectors"))
_WINDOW = 64
"""How many characters before a number are searched for its label."""
_LAST_WORD = lazy_pattern(r"([^\W\d_][^\W\d]*(?:[-_][^\W\d]+)*|n[°º]|№|#)(\.?)[\s\"'`=:(\[{<*~]*\Z")
_UNSPACED_CONNECTORS = lazy_pattern(r"(?:[\s:=\"'`「『（(#]|是|为|為|は|が|の|는|은|이|가)+\Z")
_HUMP = lazy_pattern(r"(?<=[a-z0-9]{2})(?=[A-Z])")


class Label(Enum):
    """What stands before a number: a word for a thing with numbers, or for a telephone; a mark; a key of an amount."""

    THING = auto()
    PHONE = auto()
    MARK = auto()
    AMOUNT = auto()


def is_label(word: str) -> bool:
    """Whether a word names a thing that has numbers, in the singular or plural."""
    folded = word.casefold()
    if folded in LABELS or folded.startswith(LABEL_STEMS):
        return True
    if folded.endswith(LABEL_ENDINGS) and folded not in GENERIC_MARKS:
        return True
    return any(folded.endswith(end) and folded[: -len(end)] in LABELS for end in ("s", "n", "en", "es"))


def label_before(text: str, start: int) -> Label | None:
    """The label of a number that starts at a place of a text; None for none."""
    before = text[max(0, start - _WINDOW) : start]
    found = None
    for _ in range(4):
        match = _LAST_WORD.search(before)
        if match is None:
            break
        word = match[1].casefold()
        if word in GENERIC_MARKS and (match[2] or word not in {"no", "num"} or before[match.end(1) :].strip()):
            found = Label.MARK
        elif word not in _CONNECTORS:
            return _label_of_word(match[1]) or _unspaced_label(before) or found
        before = before[: match.start()]
    return _unspaced_label(text[max(0, start - _WINDOW) : start]) or found


def has_label_after(text: str, end: int) -> bool:
    """Whether a label in a script without spaces follows a number."""
    return text.startswith(UNSPACED_LABELS_AFTER, end + (text[end : end + 1] == " "))


def _label_of_word(word: str) -> Label | None:
    if word.casefold() in PHONE_LABELS:
        return Label.PHONE
    if is_label(word):
        return Label.THING
    parts = [part.casefold() for part in re.split(r"[-_]", _HUMP.sub("_", word))]
    if len(parts) > 1 and not AMOUNT_KEYS.isdisjoint(parts):
        return Label.AMOUNT
    if len(parts) == 1:
        return Label.AMOUNT if parts[0] in AMOUNT_KEYS else None
    return Label.THING if any(map(is_label, parts)) else None


def _unspaced_label(before: str) -> Label | None:
    if before.isascii():
        return None
    stripped = _UNSPACED_CONNECTORS.sub("", before)
    if stripped.endswith(UNSPACED_PHONE_LABELS):
        return Label.PHONE
    return Label.THING if stripped.endswith(UNSPACED_LABELS) or before.rstrip().endswith(UNSPACED_LABELS) else None
