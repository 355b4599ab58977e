"""Embeds questions and goals. The vectors of goals are kept, since several questions serve one goal."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock

from .model import Vector, Vectors

MAX_GOALS = 64
"""The most goals whose vectors are kept."""


class QueryEmbedder:
    """Embeds each question in one run, and keeps the vectors of the goals that were used last.

    ``embed`` gives the vectors of texts as queries. Safe to share between threads, which may embed the same new goal
    twice.
    """

    def __init__(self, embed: Callable[[Sequence[str]], Vectors]) -> None:
        self._embed = embed
        self._goal_vectors: OrderedDict[str, Vector] = OrderedDict()
        """The vectors of goals, the least recently used first."""
        self._lock = Lock()

    def __call__(self, question: str) -> Vector:
        """The vector of a question."""
        return self._embed([question])[0]

    def goal_vector(self, goal: str) -> Vector:
        """The vector of a goal."""
        with self._lock:
            if (found := self._goal_vectors.get(goal)) is not None:
                self._goal_vectors.move_to_end(goal)
                return found
        vector = self._embed([goal])[0]
        with self._lock:
            self._goal_vectors[goal] = vector
            while len(self._goal_vectors) > MAX_GOALS:
                self._goal_vectors.popitem(last=False)
        return vector
