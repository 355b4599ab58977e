"""Terms of a text for exact matching (BM25), in any script. Not for display: terms are folded, stemmed and hashed.

NFKC, case folded, accents removed; English words are stemmed (Snowball). Runs of scripts without spaces become single
characters and pairs. Terms are stored as 32-bit hashes: 1 in 4 billion pairs collides, and nothing needs the spelling
back.

Counts the characters of scripts in a text, and estimates its tokens. No language detection, and no tokenizer.
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

from ..model.lazy import lazy_pattern

UNSPACED_CHARS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana, CJK ideographs and hangul: scripts in which spaces do not reliably separate words.
"""

_LATIN = lazy_pattern("[A-Za-zª-ɏḀ-ỿＡ-Ｚａ-ｚ]")
_UNSPACED = lazy_pattern(f"[{UNSPACED_CHARS}]")
_LONG_MARK_RUN = lazy_pattern(r"(?:[^\w\x00-\x7f]|[\uff9e\uff9f]){30}")
_JOINER = "\u034f"


def latin_fraction(text: str) -> float:
    """The fraction of a text's letters that are Latin, in 0..1; 1 for a text without letters."""
    if text.isascii():
        return 1.0
    letters = sum(map(str.isalpha, text))
    return min(1.0, len(_LATIN.findall(text)) / letters) if letters else 1.0


def stream_safe(text: str) -> str:
    """Insert a combining grapheme joiner after every 30 marks in a row (Unicode's UAX #15, section 13).

    Normalizing sorts a run of marks, in time quadratic in its length. The joiner is itself a mark without meaning;
    remove it together with the accents.
    """
    return _LONG_MARK_RUN.sub(rf"\g<0>{_JOINER}", text)


def count_unspaced(text: str) -> int:
    """The number of characters that belong to scripts written without spaces."""
    return 0 if text.isascii() else len(_UNSPACED.findall(text))


CHARS_PER_TOKEN = 4
"""Approximate characters a token in scripts with spaces, for common tokenizers."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, at least 1: one a character in scripts without spaces."""
    unspaced_count = count_unspaced(text)
    return max(1, unspaced_count + -(-(len(text) - unspaced_count) // CHARS_PER_TOKEN))


_RUN = lazy_pattern(rf"[{UNSPACED_CHARS}]+|[^\W_{UNSPACED_CHARS}]+")
_ASCII_RUN = lazy_pattern(r"[^\W_]+", re.ASCII)
"""Equals ``_RUN`` on ASCII text; ``_RUN`` has many scripts and is slow to compile."""
_LETTER_RUN = rf"(?:[^\W_{UNSPACED_CHARS}][\u0300-\u036f]*)+"
_SURFACE_WORD = lazy_pattern(rf"[{UNSPACED_CHARS}]+|{_LETTER_RUN}(?:[’'`´]{_LETTER_RUN})*")
_POSSESSIVE = lazy_pattern(r"[’'`´]s\Z", re.IGNORECASE)
_IDEOGRAPH = lazy_pattern("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_MAX_STRETCH_CHARS, _MAX_QUESTION_CHARS = 40, 2000
"""Maximum characters of a shared substring, and of the question that it is searched in."""
_UNSPACED_RUN = lazy_pattern(f"[{UNSPACED_CHARS}]")
_APOSTROPHE = lazy_pattern(r"[’'`´](?:s\b)?")
_ELISION = lazy_pattern(
    r"\b(?:[cdjlmnst]|qu|(?:jus|lors|puis)qu|un|(?:[dnsb]e|a|da|que)ll)[’'`´](?=[aeiouhœæà-ü])", re.IGNORECASE
)
"""Words that French, Italian, Catalan and Portuguese join to a vowel behind them: "l'école", "dell'acqua"."""
_BEFORE_VOWEL = lazy_pattern(r"[’'`´][aeiouhœæ]")
"""An apostrophe that may end an elided word; hardly any English text has one."""
_ACCENT = lazy_pattern("[\u0300-\u036f]")
_stemmers = threading.local()

STOP_WORDS = frozenset(
    """
    a an the of to in on at is are was were be been being am do does did done doing what when where who whom whose
    which how why and or but nor for with from by as it its itself this that these those there here i me my mine
    myself you your yours yourself he him his himself she her hers herself we us our ours ourselves they them their
    theirs themselves have has had having will would can could shall should may might must about into onto than then
    so if not no any some such very just also too im ive id ill youre hes shes theyre weve dont doesnt didnt isnt
    arent wasnt werent cant couldnt wont wouldnt
    """.split()  # noqa: SIM905  # a list of a hundred lines is no clearer
)
"""English words without topical content, which are not indexed. Questions lose such words of other languages."""

_STOP_CHARS_UNSPACED = frozenset("的了是在吗呢吧啊我你他她它们这那和与及之也都就はがをにのとでもへかねよ")


def extract_terms(text: str) -> list[str]:
    """The terms of a text in order, folded and stemmed, without stop words."""
    terms: list[str] = []
    for run in _runs(text):
        if is_unspaced(run):
            terms.extend(char for char in run if char not in _STOP_CHARS_UNSPACED)
            terms.extend(run[i : i + 2] for i in range(len(run) - 1))
        elif run not in STOP_WORDS:
            terms.append(_stem(run))
    return terms


def fold_words(text: str) -> list[str]:
    """All words of a text in order, folded and stemmed; a run of a script without spaces is one."""
    return [run if is_unspaced(run) else _stem(run) for run in _runs(text)]


def surface_forms(text: str) -> dict[str, str]:
    """The terms of a text in scripts with spaces, in order, each with its first surface form."""
    forms: dict[str, str] = {}
    for run in _runs(text):
        if run not in STOP_WORDS and not is_unspaced(run):
            forms.setdefault(_stem(run), run)
    return forms


@dataclass(frozen=True, slots=True)
class SharedTerm:
    """A term that a text shares with a question: its first surface form in the text, and the one in the question.

    ``terms`` are its terms for exact matching: several for a substring in a script without spaces.
    """

    surface: str
    question_surface: str
    terms: tuple[str, ...]

    @property
    def is_inflected(self) -> bool:
        """Whether the two surface forms differ."""
        return self.surface.casefold() != self.question_surface.casefold()


def shared_terms(text: str, question: str) -> list[SharedTerm]:
    """The terms of a text that a question has too, in order, each once.

    In scripts without spaces, these are the longest shared substrings.
    """
    words = _question_words(question)
    shared_by_terms: dict[tuple[str, ...], SharedTerm] = {}
    for run in map(_without_elision, _SURFACE_WORD.findall(text)):
        if run[0].isascii() and run[0].casefold() not in words.initials:  # the usual case; a stem keeps its initial
            continue
        if is_unspaced(run):
            pairs = ((part, part) for part in _shared_substrings(run, words.folded))
        else:
            part = _POSSESSIVE.sub("", run)
            pairs = ((part, words.surfaces[word]) for word in _cached_terms(part)[:1] if word in words.surfaces)
        for part, question_surface in pairs:
            terms = _cached_terms(part)
            if not words.terms.issuperset(terms):  # "¼" has two terms, and the question may have one
                continue
            shared_by_terms.setdefault(terms, SharedTerm(part, question_surface, terms))
    if not shared_by_terms:
        return []
    text_terms = frozenset(extract_terms(text))
    surfaces = [term.surface for term in shared_by_terms.values() if len(term.surface) > 1]
    return [
        term
        for term in shared_by_terms.values()
        if text_terms.issuperset(term.terms)
        if len(term.surface) > 1 or not any(term.surface in question_surface for question_surface in surfaces)
    ]


def _without_elision(run: str) -> str:
    return _ELISION.sub("", run, 1) if "'" in run or "’" in run else run


@lru_cache(maxsize=1 << 14)
def _cached_terms(part: str) -> tuple[str, ...]:
    return tuple(extract_terms(part))


@dataclass(frozen=True, slots=True)
class _QuestionWords:
    """A question: its terms, the first surface form of each in scripts with spaces, their initials, its folded text."""

    terms: frozenset[str]
    surfaces: Mapping[str, str]
    initials: frozenset[str]
    folded: str


@lru_cache(maxsize=16)
def _question_words(text: str) -> _QuestionWords:
    surfaces: dict[str, str] = {}
    terms = frozenset(extract_terms(text))  # the "S" of "’S" is none
    for run in map(_without_elision, _SURFACE_WORD.findall(text)):
        if not is_unspaced(run):
            part = _POSSESSIVE.sub("", run)
            for word in _cached_terms(part)[:1]:
                if word in terms:
                    surfaces.setdefault(word, part)
    return _QuestionWords(terms, surfaces, frozenset(word[0] for word in surfaces), fold(text)[:_MAX_QUESTION_CHARS])


def _shared_substrings(run: str, folded: str) -> Iterator[str]:
    """The substrings of a run that a folded text has too, each as long as possible, from left to right."""
    start, chars = 0, list(map(_fold_char, run))
    while start < len(run):
        end = start
        while end < min(len(run), start + _MAX_STRETCH_CHARS) and "".join(chars[start : end + 1]) in folded:
            end += 1
        part = run[start:end]
        if end - start > 1 or (_IDEOGRAPH.match(part) and part not in _STOP_CHARS_UNSPACED):
            yield part
        start = max(end, start + 1)


def hash_terms(terms: list[str]) -> NDArray[np.uint32]:
    """The hashes of terms, in their order."""
    return np.array([_hash(word) for word in terms], np.uint32)


def count_terms(terms: list[str]) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """The distinct term hashes, ascending, and how often each occurs (at most 255)."""
    counts = Counter(map(_hash, terms))
    distinct = sorted(counts)
    return np.array(distinct, np.uint32), np.array([min(255, counts[word]) for word in distinct], np.uint8)


def _runs(text: str) -> list[str]:
    folded = fold(text)
    return (_ASCII_RUN if folded.isascii() else _RUN).findall(folded)


def is_unspaced(run: str) -> bool:
    """Whether a word or character is of a script without spaces."""
    return not run.isascii() and _UNSPACED_RUN.match(run) is not None


def fold(text: str) -> str:
    """The form of a text in which terms are compared: NFKC, without case, accents, elided words and possessives."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", stream_safe(text))
        text = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))
    text = text.casefold()
    if _BEFORE_VOWEL.search(text):
        text = _ELISION.sub("", text)
    return _APOSTROPHE.sub("", text)


@lru_cache(maxsize=1 << 14)
def _fold_char(char: str) -> str:
    return fold(char)


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


class WordSequence:
    """The words of a text, to look other words up in."""

    def __init__(self, text: str) -> None:
        self._folded = fold(text)
        self._stems = _join(text)

    def contains(self, words: str) -> bool:
        """Whether some words stand in the text one after another; False for a text without words.

        English words are compared by their stems. In scripts without spaces, characters are compared.
        """
        stems = _join(words)
        if not stems.strip():
            return False
        if any(map(is_unspaced, words)):
            return "".join(fold(words).split()) in "".join(self._folded.split())
        return stems in self._stems


def _join(text: str) -> str:
    return f" {' '.join(fold_words(text))} "
