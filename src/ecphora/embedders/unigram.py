"""Cuts text into the likeliest pieces of a given vocabulary.

Taku Kudo, "Subword Regularization", 2018, arXiv:1804.10959: every piece has a log-probability, a cutting of a word has
the sum of its pieces', and the best cutting is found from left to right (Viterbi). The library ``tokenizers`` does the
same, but needs two seconds to take up a vocabulary of 250,000 pieces; here it is a dictionary.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from ..patterns import lazy_pattern

SPACE = "▁"
"""Stands before every word, in place of the space."""
UNKNOWN = 10.0
"""By how much a letter without a piece is less likely than the least likely piece."""

_SPACES = lazy_pattern(" {2,}")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Pieces with their places, the log-probability at each place, and what letters are put for what letters."""

    pieces: Mapping[str, int]
    scores: list[float]
    letters: Mapping[int, str]
    unknown: int
    """The place of what has no piece."""


class Unigram:
    """Text to places of pieces; safe to share between threads."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._longest = max(map(len, vocabulary.pieces))
        self._unknown = min(vocabulary.scores) - UNKNOWN

    def __call__(self, text: str, most: int) -> list[int]:
        """The places of the text's pieces, the first ``most`` of them."""
        ids: list[int] = []
        for word in self._words(text):
            ids += self._cut(word)
            if len(ids) >= most:
                break
        return ids[:most]

    def _words(self, text: str) -> list[str]:
        plain = unicodedata.normalize("NFC", text).translate(self._vocabulary.letters)
        marked = _SPACES.sub(" ", plain).replace(" ", SPACE)
        return [SPACE + word for word in marked.removeprefix(SPACE).split(SPACE)]

    def _cut(self, word: str) -> list[int]:
        """The best cutting of a word; letters without a piece count as one where they are neighbours."""
        places, scores = self._vocabulary.pieces, self._vocabulary.scores
        best = [0.0] + [float("-inf")] * len(word)
        last = [(0, self._vocabulary.unknown)] * (len(word) + 1)  # of the best cutting of so many letters
        for start in range(len(word)):
            so_far = best[start]
            if word[start] not in places and so_far + self._unknown > best[start + 1]:
                best[start + 1], last[start + 1] = so_far + self._unknown, (start, self._vocabulary.unknown)
            for end in range(start + 1, min(start + self._longest, len(word)) + 1):
                place = places.get(word[start:end])
                if place is not None and so_far + scores[place] > best[end]:
                    best[end], last[end] = so_far + scores[place], (start, place)
        return self._back(last)

    def _back(self, last: list[tuple[int, int]]) -> list[int]:
        """The pieces from the first to the last, found by going back from the end of a word."""
        ids: list[int] = []
        end = len(last) - 1
        while end:
            end, place = last[end]
            if not (ids and ids[-1] == place == self._vocabulary.unknown):
                ids.append(place)
        return ids[::-1]
