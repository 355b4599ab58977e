"""The papers' own ablations: each model whole and with a part left out, over the same questions of the same memories.

Every space is indexed once for all that only read, and once for each strategy that writes; then strategies are asked
directly, without fetching texts. Where a set's documents were told at no time, new ones stir nothing: a library is not
a talk, and to ask of each of ten thousand passages what it stirs takes long. What is made of the answers stands in
:mod:`.comparison`.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...ports import Activation, Strategy
from ...stages.retrieval import filters, top_k
from ...strategies.baselines import Dense
from ..datasets import Case
from ..embedding_cache import CachingEmbedder
from ..query_spaces import QuerySpace, build_query_space
from ..recall.recall_run import IndexingTime, RunOutcome, Tick
from .comparison import LOW_COSINE, MULTI_HOP, QuestionColumns, ResultColumns, compare
from .registry import BASELINES, rival_variants
from .variants import Model, TrainedPerFold, Variant

SPACE_FOLDS, QUESTION_FOLDS = 10, 5
"""Into how many folds spaces are dealt at most, and questions where there are fewer than three spaces."""
FIRED_FEATURE = "fired"
"""The share that says whether a row fired."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What a strategy made of one question.

    ``places`` are those of the gold in the ranking of documents, from 1, infinite for what did not come back;
    ``fired`` counts the documents that fired and ``caught`` the gold among them.
    """

    gold_ranks: tuple[float, ...]
    confidence: float
    fired_count: int
    fired_gold_count: int


def variants_to_run(models: Sequence[Model]) -> list[Variant]:
    """Every strategy that must be asked for the tables of some models, each once."""
    ways = [way for model in models for way in (*model.all_variants, *rival_variants(model))]
    return list(dict.fromkeys([*ways, *BASELINES]))


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
    asked: QuestionColumns | None = None
    indexing: list[IndexingTime] = []
    recalling = 0.0
    for writer, ways in _group_by_memory(_applicable(variants_to_run(models), cases), cases):
        started = time.perf_counter()
        spaces = [build_query_space(case, writer, embedder, tick) for case in cases]
        indexed = time.perf_counter()
        asked = asked or _question_columns(spaces)
        replies.update((way, _collect_results(spaces, way, tick)) for way in ways)
        recalling += time.perf_counter() - indexed
        indexing.append(IndexingTime(tuple(way.label for way in ways), indexed - started))
    figures = [figure for model in models for figure in compare(name, model, replies, asked)] if asked else []
    return RunOutcome(tuple(figures), len(cases), sum(len(case.episodes) for case in cases), tuple(indexing), recalling)


def _applicable(variants: Sequence[Variant], cases: Sequence[Case]) -> list[Variant]:
    """Those that can be asked: what is trained needs other spaces to learn from, and what is for talk needs talk."""
    several, told = len(cases) > 1, _is_dated(cases)
    return [way for way in variants if (several or not way.requires_other_spaces) and (told or not way.requires_dates)]


def _is_dated(cases: Sequence[Case]) -> bool:
    return any(case.is_dated for case in cases)


def _group_by_memory(variants: Sequence[Variant], cases: Sequence[Case]) -> list[tuple[Strategy, list[Variant]]]:
    """The strategies that fill a memory each, with the variants that recall from it."""
    stirring = _is_dated(cases)
    found: dict[Variant | None, tuple[Strategy, list[Variant]]] = {}
    for way in variants:
        writer = way.writer(counts_write_on_store=stirring)
        home = None if writer is None else way.memory_owner or way
        found.setdefault(home, (writer or Dense(), []))[1].append(way)
    return list(found.values())


def _question_columns(spaces: Sequence[QuerySpace]) -> QuestionColumns:
    questions = [(space, place, one) for space in spaces for place, one in enumerate(space.case.questions)]
    return QuestionColumns(
        np.array([one.is_answerable for _, _, one in questions], np.bool_),
        np.array([len(one.gold) for _, _, one in questions], np.float64),
        np.array([max_gold_cosine(space, place) < LOW_COSINE for space, place, _ in questions], np.bool_),
        np.array([one.category == MULTI_HOP for _, _, one in questions], np.bool_),
    )


def max_gold_cosine(space: QuerySpace, index: int) -> float:
    """The highest cosine of a question with its gold evidence; 1 where nothing can be compared."""
    graph, vector = space.graph, space.queries[index].vector
    held = np.isin(space.document_numbers[graph.vector_rows["rows"]], space.gold_documents(index))
    if vector is None or not held.any():
        return 1.0
    return float((graph.vectors.view[held] @ vector).max())


def _collect_results(spaces: Sequence[QuerySpace], variant: Variant, tick: Tick) -> ResultColumns:
    found: list[QuestionResult] = []
    for strategy, some in _strategies_by_fold(spaces, variant):
        for one in some:
            for place, cue in enumerate(one.queries):
                found.append(question_result(one, place, strategy.activate(cue, one.graph)))
                tick(1)
    return ResultColumns(
        tuple(one.gold_ranks for one in found),
        np.array([one.confidence for one in found], np.float64),
        np.array([one.fired_count for one in found], np.float64),
        np.array([one.fired_gold_count for one in found], np.float64),
    )


def _strategies_by_fold(
    spaces: Sequence[QuerySpace], variant: Variant
) -> Iterator[tuple[Strategy, Sequence[QuerySpace]]]:
    """A strategy with the spaces it is asked of, in their order; one that is trained once for each fold, without it."""
    if not isinstance(variant.strategy, TrainedPerFold):
        yield variant.strategy, spaces
        return
    folds = split_folds(spaces, spaces_only=variant.requires_other_spaces)
    for fold in folds:
        yield variant.strategy.train([one for other in folds if other is not fold for one in other]), fold


def split_folds(spaces: Sequence[QuerySpace], *, spaces_only: bool = False) -> list[list[QuerySpace]]:
    """Spaces in at most ten folds, in their order; of fewer than three the questions are dealt, unless kept apart."""
    if len(spaces) < 3 and not spaces_only:
        return [[part] for one in spaces for part in one.split_questions(QUESTION_FOLDS)]
    bounds = np.linspace(0, len(spaces), min(len(spaces), SPACE_FOLDS) + 1).astype(int).tolist()
    return [list(spaces[start:end]) for start, end in pairwise(bounds)]


def question_result(space: QuerySpace, index: int, activation: Activation) -> QuestionResult:
    """What an activation makes of a question: active documents, in the order of their best pieces."""
    graph = space.graph
    rows = top_k.top_rows(activation.scores, filters.eligible(graph, space.queries[index]), len(graph))
    documents, firsts = np.unique(space.document_numbers[rows], return_index=True)
    order = np.sort(firsts)
    gold = space.gold_documents(index)
    placed = dict(zip(documents.tolist(), (np.searchsorted(order, firsts) + 1).tolist(), strict=True))
    fired = (
        np.unique(space.document_numbers[rows[activation.contributions[FIRED_FEATURE][rows] > 0]])
        if FIRED_FEATURE in activation.contributions
        else ()
    )
    return QuestionResult(
        gold_ranks=tuple(float(placed.get(one, np.inf)) for one in gold.tolist()),
        confidence=activation.confidence if len(rows) else 0.0,
        fired_count=len(fired),
        fired_gold_count=int(np.isin(gold, fired).sum()),
    )
