"""Questions with the candidates that ``fused`` finds for them, for ``train_reranker.py``."""
# ruff: noqa: INP001  # in the folder of the script that uses it

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from ecphora import Memory
from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.graph.graph import Graph
from ecphora.model.ports import Passage
from ecphora.model.types import Query, Rows
from ecphora.recall.candidate_reranking import CandidateReranking
from ecphora.retrieval import fusion
from ecphora.strategies.fused import weights
from ecphora.strategies.fused.candidate_pool import build_pool
from ecphora.strategies.fused.feature_matrix import build_feature_matrix
from ecphora.strategies.fused.strategy import Fused
from ecphora_bench.spaces import temporary_memory

CANDIDATES = 32
"""The candidates of a question: the best of its pool."""
MAX_MISSED_ANSWERS = 2
"""Answers outside the candidates that are kept, to train with."""


@dataclass(frozen=True, slots=True, eq=False)
class RerankExample:
    """A question with its candidates, best first.

    ``is_answer`` has an entry for each candidate. ``missed_answers`` are answers that are no candidates.
    """

    dataset: str
    space: str
    category: str
    question: str
    asked_on: date
    is_answerable: bool
    candidates: tuple[Passage, ...]
    is_answer: NDArray[np.bool_]
    missed_answers: tuple[Passage, ...]


class _Recorder:
    """A reranker that keeps what it is given."""

    name, batch_size = "recorder", 1_000

    def __init__(self) -> None:
        self.passages: tuple[Passage, ...] = ()

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        del question, asked_on
        self.passages = tuple(passages)
        return np.zeros(len(passages))


def read_examples(dataset: str, case: Case, embedder: CachingEmbedder) -> Iterator[RerankExample]:
    """The questions of a space that have candidates, each asked of the whole space."""
    embedder.embed([question.text for question in case.questions], is_query=True)  # one call fills the cache
    with temporary_memory(case, Fused(), embedder) as (memory, clock):
        space_end = clock.now
        for question in case.questions:
            clock.now = question.asked_at or space_end
            example = _example(dataset, case, question, memory)
            if example is not None:
                yield example


def _example(dataset: str, case: Case, question: Question, memory: Memory) -> RerankExample | None:
    graph, query = memory.graph(), memory.build_query(question.text)
    pool = build_pool(graph, query)
    if not len(pool.rows):
        return None
    ranker, _ = weights.load_fused_model(query.embedder)
    ranked_pool = ranker.score(build_feature_matrix(pool))
    best = fusion.top_rows(ranked_pool.scores, ranked_pool.scores > 0, CANDIDATES)
    rows = pool.rows[best]
    missed = np.array(sorted(set(_answer_rows(graph, question)) - set(rows.tolist()))[:MAX_MISSED_ANSWERS], np.int64)
    answers = set(_answer_rows(graph, question))
    return RerankExample(
        dataset,
        case.space,
        question.category,
        question.text,
        (query.as_of or query.now).date(),
        question.is_answerable,
        _passages(graph, query, memory, rows),
        np.array([row in answers for row in rows.tolist()], np.bool_),
        _passages(graph, query, memory, missed),
    )


def _answer_rows(graph: Graph, question: Question) -> list[int]:
    """The rows of the evidence; of a text in several chunks, all of them."""
    if not question.is_answerable:
        return []
    documents = graph.nodes["documents"].tolist()
    names = graph.documents.names
    return [
        row
        for row, (id_, document) in enumerate(zip(graph.nodes["ids"].tolist(), documents, strict=True))
        if (names[document] if document >= 0 else id_) in question.gold and graph.episodes[row]
    ]


def _passages(graph: Graph, query: Query, memory: Memory, rows: Rows) -> tuple[Passage, ...]:
    recorder = _Recorder()
    nodes = memory._scope_writer.node_source(graph)  # noqa: SLF001  # chunks too, which ``Memory.get`` does not give
    reading = CandidateReranking(recorder, graph, query, nodes, math.inf, is_mandatory=True)
    reading(rows, graph.episodes)
    return recorder.passages
