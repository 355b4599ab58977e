"""The papers' own ablations: each model whole and with a part left out, over the same questions of the same memories.

Every space is indexed once for all that only read, and once for each strategy that writes; then strategies are asked
directly, without fetching texts. For sets without times, storing a document changes no earlier one: a library is not a
conversation, and activating the graph for each of ten thousand passages takes long. :mod:`.comparison` compares the
results.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise

import numpy as np

from ecphora.maintenance.learn.datasets import Case
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.maintenance.learn.temporary_memory import Tick
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation, Strategy
from ecphora.model.types import Access, AccessKind, WriteBatch
from ecphora.retrieval import filters, fusion
from ecphora.strategies.baselines import Dense

from ..recall.recall_run import IndexingTime, RunOutcome
from ..spaces import build_query_space
from ..strategy_variants import fills_same_memory
from .ablations import BASELINES, Model, TrainedPerFold, Variant, rival_variants
from .comparison import MULTI_HOP, compare
from .result_columns import QuestionColumns, ResultColumns
from .synapse_metrics import LOW_COSINE, max_gold_cosine

SPACE_FOLDS, QUESTION_FOLDS = 10, 5
"""The most folds of spaces, and the folds of questions if there are fewer than three spaces."""
LOGGED_HITS = 10
"""Hits of a logged recall."""
FIRST_LOGGED_SEQ = 1 << 40
"""The first number of a logged access: after all that were stored."""
FIRED_FEATURE = "fired"
"""The contribution that tells whether a row fired."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of a strategy for one question.

    ``gold_ranks`` are the ranks of the gold among the documents, from 1, infinite if it did not come back;
    ``fired_count`` counts the documents that fired, ``fired_gold_count`` the gold among them.
    """

    gold_ranks: tuple[float, ...]
    confidence: float
    fired_count: int
    fired_gold_count: int


def variants_to_run(models: Sequence[Model]) -> list[Variant]:
    """Every variant that the tables of some models need, each once."""
    variants = [variant for model in models for variant in (*model.all_variants, *rival_variants(model))]
    return list(dict.fromkeys([*variants, *BASELINES]))


def count_steps(cases: Sequence[Case], models: Sequence[Model]) -> int:
    """How many steps :func:`run` will report: one an episode of each memory, one an answer."""
    ways = _applicable(variants_to_run(models), cases)
    episodes, questions = (
        sum(map(len, column)) for column in ([c.episodes for c in cases], [c.questions for c in cases])
    )
    return episodes * len(_group_by_memory(ways, cases)) + questions * len(ways)


def run(
    name: str,
    cases: Sequence[Case],
    models: Sequence[Model],
    embedder: CachingEmbedder,
    tick: Tick = lambda _steps: None,
) -> RunOutcome:
    """Run a set: index every space, ask every question by every variant, and measure."""
    replies: dict[Variant, ResultColumns] = {}
    questions: QuestionColumns | None = None
    indexing: list[IndexingTime] = []
    recalling = 0.0
    for writer, variants in _group_by_memory(_applicable(variants_to_run(models), cases), cases):
        started = time.perf_counter()
        spaces = [build_query_space(case, writer, embedder, tick) for case in cases]
        indexed = time.perf_counter()
        questions = questions or _question_columns(spaces)
        replies.update((variant, _collect_results(spaces, variant, tick)) for variant in variants)
        recalling += time.perf_counter() - indexed
        indexing.append(IndexingTime(tuple(variant.label for variant in variants), indexed - started))
    figures = [figure for model in models for figure in compare(name, model, replies, questions)] if questions else []
    return RunOutcome(tuple(figures), len(cases), sum(len(case.episodes) for case in cases), tuple(indexing), recalling)


def _applicable(variants: Sequence[Variant], cases: Sequence[Case]) -> list[Variant]:
    """The variants that can run: some need other spaces to train on, some need episodes with times."""
    has_several_spaces, is_dated = len(cases) > 1, _is_dated(cases)
    return [
        variant
        for variant in variants
        if (has_several_spaces or not variant.requires_other_spaces) and (is_dated or not variant.requires_dates)
    ]


def _is_dated(cases: Sequence[Case]) -> bool:
    return any(case.is_dated for case in cases)


def _group_by_memory(variants: Sequence[Variant], cases: Sequence[Case]) -> list[tuple[Strategy, list[Variant]]]:
    """The strategies that fill a memory each, with the variants that recall from it."""
    is_dated = _is_dated(cases)
    groups: list[tuple[Strategy, list[Variant]]] = []
    shared = Dense()
    for variant in variants:
        writer = variant.writer(counts_write_on_store=is_dated) or shared
        for other, group in groups:
            if fills_same_memory(writer, other):
                group.append(variant)
                break
        else:
            groups.append((writer, [variant]))
    return groups


def _question_columns(spaces: Sequence[QuerySpace]) -> QuestionColumns:
    questions = [(space, place, one) for space in spaces for place, one in enumerate(space.case.questions)]
    return QuestionColumns(
        np.array([one.is_answerable for _, _, one in questions], np.bool_),
        np.array([len(one.gold) for _, _, one in questions], np.float64),
        np.array([max_gold_cosine(space, place) < LOW_COSINE for space, place, _ in questions], np.bool_),
        np.array([one.category == MULTI_HOP for _, _, one in questions], np.bool_),
    )


def _collect_results(spaces: Sequence[QuerySpace], variant: Variant, tick: Tick) -> ResultColumns:
    results: list[QuestionResult] = []
    for strategy, fold_spaces in _strategies_by_fold(spaces, variant):
        for space in fold_spaces:
            for place, query in enumerate(space.queries):
                results.append(question_result(space, place, strategy.activate(query, space.graph)))
                tick(1)
    return ResultColumns(
        tuple(result.gold_ranks for result in results),
        np.array([result.confidence for result in results], np.float64),
        np.array([result.fired_count for result in results], np.float64),
        np.array([result.fired_gold_count for result in results], np.float64),
    )


def _strategies_by_fold(
    spaces: Sequence[QuerySpace], variant: Variant
) -> Iterator[tuple[Strategy, Sequence[QuerySpace]]]:
    """Each strategy with its spaces, in order; a trained one is trained for each fold on the others."""
    if not isinstance(variant.strategy, TrainedPerFold):
        yield variant.strategy, _log_other_folds(spaces, variant.strategy) if variant.recalls_others else spaces
        return
    folds = split_folds(spaces, spaces_only=variant.requires_other_spaces)
    for fold in folds:
        yield (
            variant.strategy.train([space for other_fold in folds if other_fold is not fold for space in other_fold]),
            fold,
        )


def _log_other_folds(spaces: Sequence[QuerySpace], strategy: Strategy) -> list[QuerySpace]:
    """The folds of every space, in order, each with the recalls of the other folds' questions in its access log."""
    found: list[QuerySpace] = []
    for space in spaces:
        hits = [
            fusion.top_rows(
                strategy.activate(query, space.graph).scores, filters.eligible(space.graph, query), LOGGED_HITS
            )
            for query in space.queries
        ]
        start = 0
        for fold in space.split_questions(QUESTION_FOLDS):
            others = [number for number in range(len(hits)) if not start <= number < start + len(fold.queries)]
            accesses = tuple(
                Access(
                    space.graph.id(row),
                    space.queries[number].now - timedelta(seconds=number + 1),
                    AccessKind.RECALLED,
                    1.0,
                    seq=FIRST_LOGGED_SEQ + place,
                )
                for place, (number, row) in enumerate(
                    (number, row) for number in others for row in hits[number].tolist()
                )
            )
            batch = WriteBatch(accesses=accesses, revision=space.graph.revision + 1)
            found.append(replace(fold, graph=apply_batch(space.graph, batch)))
            start += len(fold.queries)
    return found


def split_folds(spaces: Sequence[QuerySpace], *, spaces_only: bool = False) -> list[list[QuerySpace]]:
    """Spaces in at most ten folds, in order; of fewer than three, the questions are split, unless ``spaces_only``."""
    if len(spaces) < 3 and not spaces_only:
        return [[part] for space in spaces for part in space.split_questions(QUESTION_FOLDS)]
    bounds = np.linspace(0, len(spaces), min(len(spaces), SPACE_FOLDS) + 1).astype(int).tolist()
    return [list(spaces[start:end]) for start, end in pairwise(bounds)]


def question_result(space: QuerySpace, index: int, activation: Activation) -> QuestionResult:
    """The result of an activation: active documents, in the order of their best chunks."""
    graph = space.graph
    rows = fusion.top_rows(activation.scores, filters.eligible(graph, space.queries[index]), len(graph))
    documents, firsts = np.unique(space.document_numbers[rows], return_index=True)
    order = np.sort(firsts)
    gold = space.gold_documents(index)
    rank_by_document = dict(zip(documents.tolist(), (np.searchsorted(order, firsts) + 1).tolist(), strict=True))
    fired = (
        np.unique(space.document_numbers[rows[activation.contributions[FIRED_FEATURE][rows] > 0]])
        if FIRED_FEATURE in activation.contributions
        else ()
    )
    return QuestionResult(
        gold_ranks=tuple(float(rank_by_document.get(document, np.inf)) for document in gold.tolist()),
        confidence=activation.confidence if len(rows) else 0.0,
        fired_count=len(fired),
        fired_gold_count=int(np.isin(gold, fired).sum()),
    )
