"""An embedder without a model: words and their trigrams hashed into a vector. For tests, and as an example.

Kilian Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009, arXiv:0902.2206: every feature is
hashed to a position and a sign, so that collisions cancel out on average. It compares spelling, not meaning.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from ...model.lazy import lazy_pattern
from ...model.reprs import call_repr
from ...model.types import Vectors
from ...model.validation import check_count

MAX_CACHED_LENGTH = 32
"""The hashes of words up to this length are cached; texts repeat them."""
_WORDS = lazy_pattern(r"\w+")


HASHING = "hashing/"
"""What the name of a :class:`HashingEmbedder` begins with."""


class HashingEmbedder:
    """Deterministic vectors of ``dim`` numbers, the same on every machine; texts that share words are near."""

    def __init__(self, dim: int = 256) -> None:
        self.dim = check_count("dim", dim)
        self.name = f"{HASHING}{self.dim}"

    def __repr__(self) -> str:
        return call_repr("HashingEmbedder", self.dim)

    def coverage(self, _text: str, /) -> float:
        """Always 1.0: spelling is compared in any script."""
        return 1.0

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), dim)``, unit rows; ``is_query`` makes no difference."""
        del is_query
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for i, text in enumerate(texts):
            row = vectors[i]
            for word in _WORDS.findall(text.casefold()):
                for feature_hash in (
                    _cached_feature_hashes(word) if len(word) <= MAX_CACHED_LENGTH else _feature_hashes(word)
                ):
                    row[(feature_hash >> 1) % self.dim] += 1 if feature_hash & 1 else -1
            length = np.linalg.norm(row)
            if length:
                row /= length
            else:  # no words, or all canceled out
                row[0] = 1
        return vectors

    def embed_words(self, _question: str, words: Sequence[str], /) -> Vectors:
        """Embed words, shape ``(len(words), dim)``: the question makes no difference."""
        return self.embed(words)


def _feature_hashes(word: str) -> Iterator[int]:
    for feature in _features(word):
        yield int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest(), "little")


@lru_cache(maxsize=1 << 14)
def _cached_feature_hashes(word: str) -> tuple[int, ...]:
    return tuple(_feature_hashes(word))


def _features(word: str) -> Iterator[str]:
    """Yield a word and its character trigrams, with the word's bounds marked."""
    yield word
    bounded = f"<{word}>"
    for start in range(len(bounded) - 2):
        yield f"#{bounded[start : start + 3]}"
