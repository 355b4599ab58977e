"""A space as strategies see it: its graph, and its questions as cues."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..graph import Graph
from ..model import Cue
from ..ports import Strategy
from .cache import Cached
from .datasets import Case
from .run import Tick, remembered


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """A space as strategies see it: its graph, and its questions as cues, in their order.

    ``documents`` are the numbers of the documents that the rows belong to; ``names`` tells each document's number.
    """

    case: Case
    graph: Graph
    cues: tuple[Cue, ...]
    documents: NDArray[np.int64]
    names: Mapping[str, int]

    @staticmethod
    def of(case: Case, graph: Graph, cues: Sequence[Cue]) -> "Space":
        """A space whose documents are numbered in the order of their first rows."""
        names: dict[str, int] = {}
        whole = graph.documents.names
        rows = zip(graph.nodes["ids"].tolist(), graph.nodes["documents"].tolist(), strict=True)
        documents = [names.setdefault(whole[number] if number >= 0 else id_, len(names)) for id_, number in rows]
        return Space(case, graph, tuple(cues), np.array(documents, np.int64), names)

    def dealt(self, folds: int) -> Iterator["Space"]:
        """The same space once for each fold of its questions, in their order."""
        bounds = np.linspace(0, len(self.cues), folds + 1).astype(int).tolist()
        for start, end in pairwise(bounds):
            questions = self.case.questions[start:end]
            if questions:
                yield replace(self, case=replace(self.case, questions=questions), cues=self.cues[start:end])

    def gold(self, place: int) -> NDArray[np.int64]:
        """The numbers of the documents that hold the evidence of a question, ascending."""
        return np.array(sorted(self.names[id_] for id_ in self.case.questions[place].evidence), np.int64)


def space(case: Case, writer: Strategy, embedder: Cached, tick: Tick = lambda _steps: None) -> Space:
    """A space remembered with a strategy; its memory is closed again, for a graph never changes."""
    embedder.embed([question.text for question in case.questions], cue=True)  # at once, into the cache
    with remembered(case, writer, embedder, tick) as (memory, clock):
        standing = clock.now
        cues = []
        for question in case.questions:
            clock.now = question.asked_at or standing
            cues.append(memory.cue(question.text))
        return Space.of(case, memory.graph(), cues)
