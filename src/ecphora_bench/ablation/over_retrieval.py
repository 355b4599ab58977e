"""Over-retrieval, an open question of SynapticRAG: what more hits cost, and what unrelated memories displace.

- Equal recall: how many documents a strategy must return for the recall@10 of the best baseline.
- Limits: the share of gold among the first k documents, and their tokens.
- Other memories: recall where the memories of other spaces of the set are in the same scope.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ecphora.language.terms import estimate_tokens
from ecphora.maintenance.learn.datasets import Case
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.maintenance.learn.regression import Numbers
from ecphora.maintenance.learn.temporary_memory import Tick
from ecphora.model.ports import Strategy
from ecphora.retrieval import filters, fusion

from ..recall.run_records import ANSWERABLE, Figure, Metric
from .ablation_run import QuestionResult
from .strategy_results import (
    BASELINES,
    CUTOFFS,
    SpacesByStrategy,
    StrategyResults,
    build_spaces,
    mean_figure,
    ranked_questions,
)

LIMITS = (5, 10, 20, 30)
"""Documents that are returned."""
OTHER_SPACES = (1, 2, 4)
"""Other spaces of the set in the same scope."""
DOCUMENTS, OTHERS = "documents for recall", "other spaces"
"""The conditions, as the categories begin."""
CURVE_LENGTH = 60
"""Documents of a ranking that are looked at for equal recall."""


def equal_recall_figures(dataset: str, results: StrategyResults) -> Iterator[Figure]:
    """How many documents each strategy must bring back for the recall that the best baseline has at ten.

    The value is the least such number; ``category`` says the recall. Without a baseline, the best of all is the goal.
    """
    curves = {
        name: np.array([_recall_curve(one) for one in found]).mean(axis=0)
        for name, found in results.results_by_strategy.items()
    }
    goal = max(float(curve[9]) for name, curve in curves.items() if name in BASELINES or not {*BASELINES} & {*curves})
    for name, curve in curves.items():
        count = float(np.searchsorted(curve, goal - 1e-9) + 1)
        n = len(results.results_by_strategy[name])
        yield Figure(dataset, name, f"{DOCUMENTS} {goal:.3f}", Metric.FIRED_COUNT, None, n, count, count, count)


def _recall_curve(result: QuestionResult) -> Numbers:
    """The fraction of the gold among the first 1, 2, … documents."""
    ranks = np.array(result.gold_ranks)
    return np.array([np.mean(ranks <= k) for k in range(1, CURVE_LENGTH + 1)])


def limit_figures(dataset: str, spaces: SpacesByStrategy, strategies: Sequence[Strategy]) -> Iterator[Figure]:
    """The share of gold among the first k documents that come back, and the tokens of these documents."""
    for strategy in strategies:
        pairs = [
            (_ranked_documents(space, number, strategy), space, number)
            for space, number in ranked_questions(spaces[strategy.name])
        ]
        for k in LIMITS:
            shares, costs = [], []
            for documents, space, number in pairs:
                first = documents[:k]
                shares.append(np.isin(first, space.gold_documents(number)).mean() if len(first) else 0.0)
                costs.append(_document_tokens(space)[first].sum())
            for metric, values in ((Metric.PRECISION, shares), (Metric.HIT_TOKENS, costs)):
                yield mean_figure(dataset, strategy.name, ANSWERABLE, (metric, k), np.array(values, np.float64))


def _ranked_documents(space: QuerySpace, number: int, strategy: Strategy) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The first documents that come back for a question."""
    query = space.queries[number]
    scores = strategy.activate(query, space.graph).scores
    rows = fusion.top_rows(scores, filters.eligible(space.graph, query), len(space.graph))
    documents, firsts = np.unique(space.document_numbers[rows], return_index=True)
    return documents[np.argsort(firsts)][: LIMITS[-1]]


def _document_tokens(space: QuerySpace) -> Numbers:
    """The tokens of each document of a space, by its number; what is no document has none."""
    tokens = np.zeros(len(space.number_by_document))
    for episode in space.case.episodes:
        number = space.number_by_document.get(episode.id or "")
        if number is not None:
            tokens[number] = estimate_tokens(episode.text)
    return tokens


def other_memory_figures(
    dataset: str,
    cases: Sequence[Case],
    strategies: Sequence[Strategy],
    embedder: CachingEmbedder,
    tick: Tick = lambda _steps: None,
    *,
    alone: StrategyResults,
) -> Iterator[Figure]:
    """Recall where a space shares its scope with others, and the difference to ``alone``, recall where it does not."""
    for k in CUTOFFS:
        yield from alone.recall_figures(dataset, f"{OTHERS} 0", k)
    for count in OTHER_SPACES:
        if count < len(cases):
            joined = [join_spaces(cases, number, count) for number in range(len(cases))]
            results = StrategyResults.collect(build_spaces(joined, strategies, embedder), strategies)
            for k in CUTOFFS:
                yield from results.recall_figures(dataset, f"{OTHERS} {count}", k, reference=alone)
        tick(1)


def join_spaces(cases: Sequence[Case], number: int, count: int) -> Case:
    """A space and the ``count`` spaces after it in one, with the questions of the first.

    The ids and sessions of the others begin with the names of their spaces.
    """
    own = cases[number]
    others = [cases[(number + place) % len(cases)] for place in range(1, count + 1)]
    added = (
        replace(
            episode,
            id=f"{other.space}/{episode.id}",
            session=None if episode.session is None else f"{other.space}/{episode.session}",
        )
        for other in others
        for episode in other.episodes
    )
    return replace(own, episodes=(*own.episodes, *added))
