"""An embedder without a model: words and their trigrams hashed into a vector. For tests, and as the port's example.

Kilian Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009, arXiv:0902.2206: every feature is
hashed to a place and to a sign, so that collisions cancel out on average. It knows no meaning, only spelling.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from ..model import Vectors
from ..patterns import lazy_pattern
from ..reprs import call_repr
from ..validate import check_count

SHORT = 32
"""Words up to this length are hashed once and kept; texts repeat them."""
_WORDS = lazy_pattern(r"\w+")


class Hashing:
    """Deterministic vectors of ``dim`` numbers, the same on every machine; texts that share words are near."""

    def __init__(self, dim: int = 256) -> None:
        self.dim = check_count("dim", dim)
        self.name = f"hashing/{self.dim}"

    def __repr__(self) -> str:
        return call_repr("Hashing", self.dim)

    def reads(self, _text: str, /) -> float:
        """Always 1.0: spelling is compared in any script."""
        return 1.0

    def embed(self, texts: Sequence[str], /, *, cue: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), dim)``, unit rows; ``cue`` makes no difference."""
        del cue
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for place, text in enumerate(texts):
            row = vectors[place]
            for word in _WORDS.findall(text.casefold()):
                for number in _known(word) if len(word) <= SHORT else _hashed(word):
                    row[(number >> 1) % self.dim] += 1 if number & 1 else -1
            length = np.linalg.norm(row)
            if length:
                row /= length
            else:  # no words, or all cancelled out
                row[0] = 1
        return vectors


def _hashed(word: str) -> Iterator[int]:
    for feature in _features(word):
        yield int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest(), "little")


@lru_cache(maxsize=1 << 14)
def _known(word: str) -> tuple[int, ...]:
    return tuple(_hashed(word))


def _features(word: str) -> Iterator[str]:
    """A word, and its three-letter stretches with its bounds marked."""
    yield word
    bounded = f"<{word}>"
    for start in range(len(bounded) - 2):
        yield f"#{bounded[start : start + 3]}"
