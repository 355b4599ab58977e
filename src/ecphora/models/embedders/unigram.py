"""A unigram tokenizer: splits text into the most probable pieces of a given vocabulary.

Taku Kudo, "Subword Regularization", 2018, arXiv:1804.10959: every piece has a log-probability, a segmentation of a word
has the sum of its pieces', and the best segmentation is found from left to right (Viterbi). The library ``tokenizers``
does the same, but needs two seconds to load a vocabulary of 250,000 pieces; here it is a dictionary.
"""

import io
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...model.lazy import lazy_pattern
from .onnx_runtime import read_arrays

WORD_BOUNDARY = "▁"
"""Replaces the space before every word."""
UNKNOWN_PENALTY = 10.0
"""By how much a character without a piece is less likely than the least likely piece, in log-probability."""
KEPT_WORDS, MAX_KEPT_LENGTH = 1 << 14, 24
"""Of how many words the pieces are kept, and of how many characters at most: most words of a text come again."""

_SPACES = lazy_pattern(" {2,}")


@dataclass(frozen=True, slots=True)
class UnigramVocabulary:
    """Pieces with their ids, the log-probability of each id, and the replacements of characters."""

    piece_ids: Mapping[str, int]
    scores: list[float]
    character_map: Mapping[int, str]
    unknown_id: int
    """The id of characters without a piece."""

    @classmethod
    def from_bytes(cls, content: bytes) -> "UnigramVocabulary":
        """Read the content of a file."""
        found = read_arrays(content)
        pieces, replacements = (bytes(found[name]).decode().split("\n") for name in ("pieces", "replacements"))
        scores, characters = found["scores"].tolist(), found["characters"].tolist()
        unknown_id = int(found["unknown_id"])
        piece_ids = dict(zip(pieces, range(len(pieces)), strict=True))
        piece_ids.pop("", None)  # ids without a piece
        return cls(piece_ids, scores, dict(zip(characters, replacements, strict=True)), unknown_id)

    def to_bytes(self) -> bytes:
        """Return the content of a file, the same for the same vocabulary: an ``.npz`` with pieces one to a line."""
        pieces = [""] * len(self.scores)
        for piece, piece_id in self.piece_ids.items():
            pieces[piece_id] = piece
        file = io.BytesIO()
        np.savez(
            file,
            allow_pickle=False,
            pieces=np.frombuffer("\n".join(pieces).encode(), np.uint8),
            scores=np.array(self.scores, np.float32),
            characters=np.array(list(self.character_map), np.uint32),
            replacements=np.frombuffer("\n".join(self.character_map.values()).encode(), np.uint8),
            unknown_id=np.array(self.unknown_id),
        )
        return file.getvalue()


class UnigramTokenizer:
    """Converts text to piece ids; safe to share between threads."""

    def __init__(self, vocabulary: UnigramVocabulary) -> None:
        self._vocabulary = vocabulary
        self._max_piece_length = max(map(len, vocabulary.piece_ids))
        self._unknown_score = min(vocabulary.scores) - UNKNOWN_PENALTY
        self._split = lru_cache(maxsize=KEPT_WORDS)(self._viterbi)

    def __call__(self, text: str, limit: int) -> list[int]:
        """Return the ids of the text's first ``limit`` pieces."""
        ids: list[int] = []
        for word in self._split_words(text):
            ids += self._split(word) if len(word) <= MAX_KEPT_LENGTH else self._viterbi(word)
            if len(ids) >= limit:
                break
        return ids[:limit]

    def _split_words(self, text: str) -> list[str]:
        plain = unicodedata.normalize("NFC", text).translate(self._vocabulary.character_map)
        marked = _SPACES.sub(" ", plain).replace(" ", WORD_BOUNDARY)
        return [WORD_BOUNDARY + word for word in marked.removeprefix(WORD_BOUNDARY).split(WORD_BOUNDARY)]

    def _viterbi(self, word: str) -> list[int]:
        """Return the best segmentation of a word; adjacent characters without a piece become one unknown piece."""
        piece_ids, scores = self._vocabulary.piece_ids, self._vocabulary.scores
        best = [0.0] + [float("-inf")] * len(word)
        back_pointers = [(0, self._vocabulary.unknown_id)] * (len(word) + 1)  # of the best segmentation of each prefix
        for start in range(len(word)):
            score = best[start]
            if word[start] not in piece_ids and score + self._unknown_score > best[start + 1]:
                best[start + 1], back_pointers[start + 1] = (
                    score + self._unknown_score,
                    (start, self._vocabulary.unknown_id),
                )
            for end in range(start + 1, min(start + self._max_piece_length, len(word)) + 1):
                piece_id = piece_ids.get(word[start:end])
                if piece_id is not None and score + scores[piece_id] > best[end]:
                    best[end], back_pointers[end] = score + scores[piece_id], (start, piece_id)
        return self._backtrace(back_pointers)

    def _backtrace(self, back_pointers: list[tuple[int, int]]) -> list[int]:
        """Follow the back-pointers from the end of a word; return the ids from first to last."""
        ids: list[int] = []
        end = len(back_pointers) - 1
        while end:
            end, piece_id = back_pointers[end]
            if not (ids and ids[-1] == piece_id == self._vocabulary.unknown_id):
                ids.append(piece_id)
        return ids[::-1]
