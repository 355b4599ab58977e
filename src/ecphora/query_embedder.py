"""Embeds questions. The vectors of their terms, and of goals, are kept, since the questions to one memory repeat
them."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np

from .model import Vector, Vectors
from .query import QueryParts

MAX_TERMS = 2_048
"""The most terms whose vectors are kept: three megabytes of vectors with 384 numbers."""


class QueryEmbedder:
    """Embeds what is new in a question in one call, and keeps the vectors of the terms and goals that were used last.

    ``embed`` gives the vectors of texts as queries. Whole questions and topics are not kept. Safe to share between
    threads, which may embed the same new term twice.
    """

    def __init__(self, embed: Callable[[Sequence[str]], Vectors]) -> None:
        self._embed = embed
        self._term_vectors: OrderedDict[str, Vector] = OrderedDict()
        """The vectors of terms, the least recently used first."""
        self._lock = Lock()

    def __call__(self, parts: QueryParts) -> Vectors:
        """The vectors of ``parts.texts``."""
        texts = parts.texts
        vectors = self._find_terms(texts)
        if new_texts := [text for text in texts if text not in vectors]:
            vectors.update(zip(new_texts, self._embed(new_texts), strict=True))
        self._keep_terms({term: vectors[term] for term in parts.term_texts.values() if term in new_texts})
        return np.stack([vectors[text] for text in texts])

    def goal_vector(self, goal: str) -> Vector:
        """The vector of a goal, which is kept, since several questions serve one goal."""
        if (vector := self._find_terms([goal]).get(goal)) is None:
            vector = self._embed([goal])[0]
            self._keep_terms({goal: vector})
        return vector

    def _find_terms(self, texts: Sequence[str]) -> dict[str, Vector]:
        with self._lock:
            found = {text: vector for text in texts if (vector := self._term_vectors.get(text)) is not None}
            for text in found:
                self._term_vectors.move_to_end(text)
        return found

    def _keep_terms(self, vectors: dict[str, Vector]) -> None:
        with self._lock:
            for term, vector in vectors.items():
                self._term_vectors[term] = vector.copy()  # the row alone, not the array of its whole question
            while len(self._term_vectors) > MAX_TERMS:
                self._term_vectors.popitem(last=False)
