"""Texts as words for exact matching (BM25), in any script. Not for display: words are folded, stemmed and hashed.

NFKC, case folded, accents off; English words are stemmed (Snowball). Runs of scripts that use no spaces become
single characters and pairs. Words are kept as 32-bit hashes: 1 in 4 billion pairs collides, and nothing needs the
spelling back.
"""

import re
import threading
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import Stemmer
from numpy.typing import NDArray

from ..patterns import lazy_pattern
from .scripts import UNSPACED, stream_safe

_RUN = lazy_pattern(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
_ASCII_RUN = lazy_pattern(r"[^\W_]+", re.ASCII)
"""Finds in an ASCII text what ``_RUN`` finds, whose many scripts take long to compile."""
_LETTERS = rf"(?:[^\W_{UNSPACED}][\u0300-\u036f]*)+"
_WRITTEN = lazy_pattern(rf"[{UNSPACED}]+|{_LETTERS}(?:[’'`´]{_LETTERS})*")
_POSSESSIVE = lazy_pattern(r"[’'`´]s\Z", re.IGNORECASE)
_IDEOGRAPH = lazy_pattern("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_STRETCH, _ASKED = 40, 2000
"""Characters of the longest stretch that is compared, and those of the other text that it is compared with."""
_UNSPACED_RUN = lazy_pattern(f"[{UNSPACED}]")
_APOSTROPHE = lazy_pattern(r"[’'`´](?:s\b)?")
_ACCENT = lazy_pattern("[\u0300-\u036f]")
_stemmers = threading.local()

STOP = frozenset(
    """
    a an the of to in on at is are was were be been being am do does did done doing what when where who whom whose
    which how why and or but nor for with from by as it its itself this that these those there here i me my mine
    myself you your yours yourself he him his himself she her hers herself we us our ours ourselves they them their
    theirs themselves have has had having will would can could shall should may might must about into onto than then
    so if not no any some such very just also too im ive id ill youre hes shes theyre weve dont doesnt didnt isnt
    arent wasnt werent cant couldnt wont wouldnt
    """.split()  # noqa: SIM905  # a list of a hundred lines is no clearer
)
"""English words that say nothing about what a text is about. Other languages rely on rarity alone."""

_ENGLISH = frozenset(
    """
    the of and is are my with for this that i im ive id it have now at not to we our you your she he they her his was
    been from by doesnt dont isnt its be will
    """.split()  # noqa: SIM905
)
"""Words of nearly every English sentence, and of few in other languages."""
_STOP_UNSPACED = frozenset("的了是在吗呢吧啊我你他她它们这那和与及之也都就はがをにのとでもへかねよ")


def words(text: str) -> list[str]:
    """The words of a text in order, folded and stemmed, stop words left out."""
    found: list[str] = []
    for run in _runs(text):
        if _is_unspaced(run):
            found.extend(char for char in run if char not in _STOP_UNSPACED)
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
        elif run not in STOP:
            found.append(_stem(run))
    return found


def english(text: str) -> bool:
    """Whether a text of two sentences or more is likely English: a tenth of its words are its most frequent ones."""
    runs = _runs(text)
    return 10 * sum(run in _ENGLISH for run in runs) >= len(runs)


def spelled(text: str) -> dict[str, str]:
    """The words of a text that are written with spaces between them, in order, each with how it is first written."""
    written: dict[str, str] = {}
    for run in _runs(text):
        if run not in STOP and not _is_unspaced(run):
            written.setdefault(_stem(run), run)
    return written


@dataclass(frozen=True, slots=True)
class Quote:
    """A word of a text as it is first written there, and as ``asked`` writes it: the same word, or one of its kin.

    ``words`` are the words it is for exact matching: of a script without spaces, several for a stretch of characters.
    """

    text: str
    asked: str
    words: tuple[str, ...]

    @property
    def kin(self) -> bool:
        """Whether the two are different forms of a word."""
        return self.text.casefold() != self.asked.casefold()


def quotes(text: str, asked: str) -> list[Quote]:
    """The words of a text that a question has too, in order, each once: its longest stretches where no spaces are."""
    known, folded = _written(asked), _fold(asked)[:_ASKED]
    initials = {word[0] for word in known}
    found: dict[tuple[str, ...], Quote] = {}
    for run in _WRITTEN.findall(text):
        if _UNSPACED_RUN.match(run):
            shared = ((part, part) for part in _stretches(run, folded))
        elif run[0].isascii() and run[0].casefold() not in initials:  # nearly always, and a stem keeps its initial
            continue
        else:
            part = _POSSESSIVE.sub("", run)
            shared = ((part, known[word]) for word in _held(part)[:1] if word in known)
        for part, other in shared:
            held = _held(part)
            found.setdefault(held, Quote(part, other, held))
    said = [one.text for one in found.values() if len(one.text) > 1]
    return [one for one in found.values() if len(one.text) > 1 or not any(one.text in other for other in said)]


@lru_cache(maxsize=1 << 14)
def _held(part: str) -> tuple[str, ...]:
    return tuple(words(part))


@lru_cache(maxsize=16)
def _written(text: str) -> Mapping[str, str]:
    """The words of a text that have spaces between them, as they are first written."""
    found: dict[str, str] = {}
    for run in _WRITTEN.findall(text):
        if not _UNSPACED_RUN.match(run):
            part = _POSSESSIVE.sub("", run)
            for word in _held(part)[:1]:
                found.setdefault(word, part)
    return found


def _stretches(run: str, folded: str) -> Iterator[str]:
    """The stretches of a run that a folded text has too, each as long as can be from where the last one ends."""
    start, signs = 0, list(map(_fold_sign, run))
    while start < len(run):
        end = start
        while end < min(len(run), start + _STRETCH) and "".join(signs[start : end + 1]) in folded:
            end += 1
        part = run[start:end]
        if end - start > 1 or (_IDEOGRAPH.match(part) and part not in _STOP_UNSPACED):
            yield part
        start = max(end, start + 1)


def hashed(found: list[str]) -> NDArray[np.uint32]:
    """Words as hashes, in their order."""
    return np.array([_hash(word) for word in found], np.uint32)


def counted(found: list[str]) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Distinct words as ascending hashes, and how often each occurs (at most 255)."""
    counts = Counter(map(_hash, found))
    distinct = sorted(counts)
    return np.array(distinct, np.uint32), np.array([min(255, counts[word]) for word in distinct], np.uint8)


def _runs(text: str) -> list[str]:
    folded = _fold(text)
    return (_ASCII_RUN if folded.isascii() else _RUN).findall(folded)


def _is_unspaced(run: str) -> bool:
    return not run.isascii() and _UNSPACED_RUN.match(run) is not None


def _fold(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", stream_safe(text))
        text = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))
    return _APOSTROPHE.sub("", text.casefold())


@lru_cache(maxsize=1 << 14)
def _fold_sign(sign: str) -> str:
    return _fold(sign)


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    if not word.isascii():
        return word
    stemmer = getattr(_stemmers, "english", None)  # a stemmer must not be shared between threads
    if stemmer is None:
        stemmer = _stemmers.english = Stemmer.Stemmer("english", 0)
    return str(stemmer.stemWord(word))


@lru_cache(maxsize=1 << 16)
def _hash(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))
