"""A space of a labeled set as strategies see it: its graph, and its questions as queries."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...model.graph.graph import Graph
from ...model.ports import Extractor, Strategy
from ...model.types import Query
from .datasets import Case
from .embedding_cache import CachingEmbedder
from .temporary_memory import LearningMemory, MemoryOpener, Tick, temporary_memory


@dataclass(frozen=True, slots=True, eq=False)
class QuerySpace:
    """A space as strategies see it: its graph, and its questions as queries, in order.

    ``document_numbers`` has the document of each row; ``number_by_document`` maps a document's id to its number.
    """

    case: Case
    graph: Graph
    queries: tuple[Query, ...]
    document_numbers: NDArray[np.int64]
    number_by_document: Mapping[str, int]

    @staticmethod
    def from_graph(case: Case, graph: Graph, queries: Sequence[Query]) -> "QuerySpace":
        """Make a space; documents are numbered in the order of their first rows."""
        names: dict[str, int] = {}
        document_names = graph.documents.names
        rows = zip(graph.nodes["ids"].tolist(), graph.nodes["documents"].tolist(), strict=True)
        documents = [
            names.setdefault(document_names[number] if number >= 0 else id_, len(names)) for id_, number in rows
        ]
        return QuerySpace(case, graph, tuple(queries), np.array(documents, np.int64), names)

    def split_questions(self, folds: int) -> Iterator["QuerySpace"]:
        """Split the questions into folds, in order; each fold is the same space with its questions only."""
        bounds = np.linspace(0, len(self.queries), folds + 1).astype(int).tolist()
        for start, end in pairwise(bounds):
            questions = self.case.questions[start:end]
            if questions:
                yield replace(self, case=replace(self.case, questions=questions), queries=self.queries[start:end])

    def gold_documents(self, index: int) -> NDArray[np.int64]:
        """The numbers of the documents that hold the evidence of a question, ascending."""
        return np.array(sorted(self.number_by_document[id_] for id_ in self.case.questions[index].gold), np.int64)


def build_query_space(
    open_memory: MemoryOpener[LearningMemory],
    case: Case,
    writer: Strategy,
    embedder: CachingEmbedder,
    *,
    tick: Tick = lambda _steps: None,
    extractor: Extractor | None = None,
) -> QuerySpace:
    """Remember a space with a strategy, and return its graph with its questions as queries.

    ``open_memory`` opens the memory, which is closed again, as a graph never changes.
    """
    embedder.embed([question.text for question in case.questions], is_query=True)  # one call fills the cache
    with temporary_memory(open_memory, case, writer, embedder, tick=tick, extractor=extractor) as (memory, clock):
        space_end = clock.now
        queries = []
        for question in case.questions:
            clock.now = question.asked_at or space_end
            queries.append(memory.build_query(question.text))
        return QuerySpace.from_graph(case, memory.graph(), queries)
