"""Synthetic memories, made as they are read: each follows from its number, so a million need no file and little RAM.

A text has about 28 words, of which 45% are stop words and 5% names; words and names follow Zipf's law. Twenty turns of
two speakers are a session. The last word spells the number of the memory, from which its vector follows.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ecphora.model.types import Episode, Vector, Vectors

DIM = 384
SESSION_TURNS = 20
QUESTION_WORDS = 8
WORD_COUNT, NAME_COUNT = 20_000, 2_000
MEAN_LENGTH, LENGTH_SPREAD = 28, 8
"""Words of a text: their mean, and how far a text is from it at most."""
STOP_SHARE, NAME_SHARE = 0.45, 0.05
BEGIN, SPAN = datetime(2024, 1, 1, tzinfo=UTC), timedelta(days=730)
TABLE_SIZES, TABLE_WEIGHTS = (256, 1_024, 4_096), (1.0, 0.7, 0.5)
"""A vector is a weighted sum of a row of each table, scaled to length 1. Memories that share a row are near."""
QUESTION_NOISE = 0.3
"""The length of the random vector that is added to the vector of the memory that a question asks about."""
CUTOFF = 10
"""Memories that a recall returns."""
COSINE_ERROR = 1e-5
"""How far a cosine in single precision may be off."""
BLOCK = 8_192
"""Vectors that are made at a time."""
STOP_WORDS = (
    *("the", "a", "of", "to", "and", "in", "that", "it", "is", "was", "for", "on", "with", "as", "he", "she", "they"),
    *("we", "you", "at", "by", "from", "this", "had", "have", "but", "not", "are", "were", "be", "or", "an", "which"),
    *("their", "our", "so", "if", "there", "been", "when", "all", "will", "would", "what", "about", "can", "then"),
)
SYLLABLES = tuple(first + second for first, second in product("bdfgklmnprstvz", "aeiou"))
NUMBER_SYLLABLES = 4
"""Syllables of the word that spells a number. Other words have three at most."""


@cache
def _word_tables() -> tuple[NDArray[np.object_], NDArray[np.object_], NDArray[np.object_]]:
    """The stop words, the names and the other words, the most frequent first."""
    generator = _generator(0)
    codes = generator.permutation(len(SYLLABLES) ** 3)[: WORD_COUNT + NAME_COUNT]
    words = [_spell(int(code), 3) for code in codes]
    names = [word.title() for word in words[:NAME_COUNT]]
    return (*(np.array(some, np.object_) for some in (STOP_WORDS, names, words[NAME_COUNT:])),)  # type: ignore[return-value]


@cache
def _zipf(count: int) -> NDArray[np.float64]:
    """The cumulative probabilities of so many words: the second is half as frequent as the first."""
    weights = 1 / np.arange(1, count + 1)
    return np.cumsum(weights) / weights.sum()


@cache
def _vector_tables() -> tuple[Vectors, ...]:
    """The tables of vectors, unit rows."""
    return tuple(_unit(_generator(1, size).standard_normal((size, DIM), np.float32)) for size in TABLE_SIZES)


def _generator(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)  # noqa: TID251  # synthetic data, the same at every run


def _unit(vectors: Vectors) -> Vectors:
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit


def _spell(number: int, length: int) -> str:
    """A number in base 70, a syllable for each digit."""
    digits = (number // len(SYLLABLES) ** place % len(SYLLABLES) for place in reversed(range(length)))
    return "".join(SYLLABLES[digit] for digit in digits)


def number_of(text: str) -> int | None:
    """The number that the last word of a text spells; None if it spells none."""
    word = text[-2 * NUMBER_SYLLABLES - 1 : -1]
    if not re.fullmatch("([bdfgklmnprstvz][aeiou]){4}", word) or not text.endswith(f" {word}."):
        return None
    number = 0
    for start in range(0, len(word), 2):
        number = number * len(SYLLABLES) + SYLLABLES.index(word[start : start + 2])
    return number


def vectors_of(numbers: NDArray[np.int64]) -> Vectors:
    """The vectors of memories, shape ``(len(numbers), DIM)``, unit rows."""
    codes = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    codes ^= codes >> np.uint64(29)
    vectors = np.zeros((len(numbers), DIM), np.float32)
    for table, weight in zip(_vector_tables(), TABLE_WEIGHTS, strict=True):
        vectors += np.float32(weight) * table[codes % np.uint64(len(table))]
        codes //= np.uint64(len(table))
    return _unit(vectors)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the memory with a number, and its vector."""

    number: int
    text: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Corpus:
    """``count`` synthetic memories. Those numbered ``count`` and above are written later, one by one."""

    count: int

    def episodes(self, start: int = 0, stop: int | None = None) -> Iterator[Episode]:
        """The memories of a range of numbers, by default all ``count``."""
        stop = self.count if stop is None else stop
        for session in range(start // SESSION_TURNS, -(-stop // SESSION_TURNS)):
            first = session * SESSION_TURNS
            yield from self._session(session)[max(0, start - first) : stop - first]

    def _session(self, session: int) -> list[Episode]:
        generator = _generator(2, session)
        lengths = generator.integers(MEAN_LENGTH - LENGTH_SPREAD, MEAN_LENGTH + LENGTH_SPREAD + 1, SESSION_TURNS) - 1
        total = int(lengths.sum())
        stop_words, names, other_words = _word_tables()
        kinds, draws = generator.random(total), generator.random(total)
        words = other_words[np.searchsorted(_zipf(WORD_COUNT), draws)]
        is_name = kinds < STOP_SHARE + NAME_SHARE
        words[is_name] = names[np.searchsorted(_zipf(NAME_COUNT), draws[is_name])]
        is_stop = kinds < STOP_SHARE
        words[is_stop] = stop_words[np.searchsorted(_zipf(len(STOP_WORDS)), draws[is_stop])]
        speakers = names[generator.choice(NAME_COUNT, 2, replace=False)]
        began = BEGIN + session * SPAN / max(1, -(-self.count // SESSION_TURNS))
        ends = np.cumsum(lengths).tolist()
        return [
            Episode(
                f"{' '.join(words[end - length : end])} {_spell(session * SESSION_TURNS + turn, NUMBER_SYLLABLES)}.",
                speaker=speakers[turn % 2],
                session=f"s{session}",
                happened_at=began + turn * timedelta(minutes=1),
            )
            for turn, (length, end) in enumerate(zip(lengths.tolist(), ends, strict=True))
        ]

    def vector_blocks(self) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        """The numbers and vectors of all memories, in blocks."""
        for start in range(0, self.count, BLOCK):
            numbers = np.arange(start, min(start + BLOCK, self.count))
            yield numbers, vectors_of(numbers)

    def questions(self, count: int) -> list[Question]:
        """Questions, each of ``QUESTION_WORDS`` words of a memory; several are of one if there are few memories."""
        generator = _generator(3, self.count)
        return [self._question(int(number), generator) for number in generator.integers(0, self.count, count)]

    def _question(self, number: int, generator: np.random.Generator) -> Question:
        (episode,) = self.episodes(number, number + 1)
        words = episode.text.split()[:-1]
        places = np.sort(generator.choice(len(words), QUESTION_WORDS, replace=False))
        text = " ".join(words[place] for place in places)
        noise = _unit(generator.standard_normal(DIM, np.float32))
        vector = _unit(vectors_of(np.array([number]))[0] + np.float32(QUESTION_NOISE) * noise)
        return Question(number, f"{text[0].upper()}{text[1:]}?", vector)


class SyntheticEmbedder:
    """Gives memories and questions the vectors that the corpus has for them; a vector costs almost nothing.

    Another text, such as a word of a question, gets the vector of a number that follows from its letters.
    """

    name, dim = "synthetic", DIM

    def __init__(self, questions: Iterable[Question] = ()) -> None:
        self._question_vectors: Mapping[str, Vector] = {question.text: question.vector for question in questions}

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """The vectors of texts, shape ``(len(texts), DIM)``, unit rows."""
        del is_query
        numbers = [number_of(text) for text in texts]
        codes = [
            crc32(text.encode()) if number is None else number for number, text in zip(numbers, texts, strict=True)
        ]
        vectors = vectors_of(np.array(codes, np.int64))
        for place, text in enumerate(texts):
            if (vector := self._question_vectors.get(text)) is not None:
                vectors[place] = vector
        return vectors


def nearest_cosines(corpus: Corpus, questions: Sequence[Question]) -> NDArray[np.float32]:
    """The cosine of each question with its ``CUTOFF``-th nearest memory, by comparing all: ``(len(questions),)``."""
    asked = np.array([question.vector for question in questions])
    best = np.empty((len(questions), 0), np.float32)
    for _, vectors in corpus.vector_blocks():
        best = -np.sort(-np.hstack([best, asked @ vectors.T]), axis=1)[:, :CUTOFF]
    return best[:, -1]


def vector_recall(questions: Sequence[Question], found: Sequence[Sequence[int]], least: NDArray[np.float32]) -> float:
    """The share of the ``CUTOFF`` nearest memories that were found, mean over questions.

    ``found`` are the numbers found for each question, ``least`` what :func:`nearest_cosines` returned. A memory that is
    as near as the last of the nearest is right.
    """
    shares = [
        float((vectors_of(np.array(numbers, np.int64)) @ question.vector >= limit - COSINE_ERROR).sum()) / CUTOFF
        for question, numbers, limit in zip(questions, found, least, strict=True)
    ]
    return float(np.mean(shares))
