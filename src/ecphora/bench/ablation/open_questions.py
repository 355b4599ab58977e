"""Measures open questions of the papers: small memories, wrong entity mentions, and over-retrieval.

Each figure's category names its condition; the strategies are ``fused`` and the baselines.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...graph import Graph
from ...model import Link, Mask
from ...ports import Strategy
from ..datasets import Case, Question
from ..embedding_cache import CachingEmbedder
from ..learning.training_examples import space_parts
from ..query_spaces import QuerySpace, build_query_space
from ..recall import metrics
from ..recall.metrics import Numbers
from ..recall.recall_run import Tick
from ..recall.run_records import Figure, Metric
from .ablation_run import QuestionResult, question_result

MEMORY_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Memories of a part, for the growth of recall with a memory."""
QUESTIONS_PER_SIZE = 200
"""Questions of a set that are asked of parts of one size, about."""
NOISE_RATES = (0.1, 0.2, 0.3, 0.4, 0.5)
"""Which part of the mentions of names is lost, or leads to another name."""
CUTOFF = 5
"""Documents of a ranking that are used."""
MEMORIES, NAMES_LOST, NAMES_FALSE, DOCUMENTS = ("memories", "names lost", "names false", "documents")
"""The conditions, as the categories begin."""
STEP_COUNT = len(MEMORY_SIZES) + 1 + 2 * len(NOISE_RATES) + 1
"""How many steps :func:`run` reports."""


@dataclass(frozen=True, slots=True)
class StrategyResults:
    """The replies of each strategy, by its name, to the same questions."""

    results_by_strategy: Mapping[str, list[QuestionResult]]

    def recall_figures(self, dataset: str, category: str) -> Iterator[Figure]:
        """The fraction of the gold among the first five documents."""
        for name, found in self.results_by_strategy.items():
            values = np.array([np.mean(np.array(one.gold_ranks) <= CUTOFF) for one in found])
            if len(values):
                low, high = metrics.bootstrap_interval(values)
                yield Figure(
                    dataset, name, category, Metric.RECALL, CUTOFF, len(values), float(values.mean()), low, high
                )


def run(
    name: str,
    cases: Sequence[Case],
    strategies: Sequence[Strategy],
    embedder: CachingEmbedder,
    tick: Tick = lambda _steps: None,
) -> Iterator[Figure]:
    """Everything, for one set; the last strategy is the one to be compared with the others."""
    yield from growth_figures(name, cases, strategies, embedder, tick)
    spaces = [build_query_space(case, strategies[0], embedder) for case in cases]
    yield from name_noise_figures(name, spaces, strategies, tick)
    yield from equal_recall_figures(name, spaces, strategies)
    tick(1)


# ---- cold start


def growth_figures(
    name: str,
    cases: Sequence[Case],
    strategies: Sequence[Strategy],
    embedder: CachingEmbedder,
    tick: Tick = lambda _steps: None,
) -> Iterator[Figure]:
    """Recall from memories of 1 to 1,024 episodes, each of which holds the whole evidence of its questions."""
    longest = max(len(case.episodes) for case in cases)
    for size in MEMORY_SIZES:
        if size // 2 < longest:
            found = [replace(part, questions=_answerable(part)) for part in space_parts(cases, size)]
            whole = sum(len(part.questions) for part in found)
            some = found[:: max(1, round(whole / QUESTIONS_PER_SIZE))]
            asked = _collect_results([build_query_space(part, strategies[0], embedder) for part in some], strategies)
            yield from asked.recall_figures(name, f"{MEMORIES} {size}")
        tick(1)


def _answerable(part: Case) -> tuple[Question, ...]:
    return tuple(question for question in part.questions if question.is_answerable)


# ---- imperfect extraction


def name_noise_figures(
    name: str, spaces: Sequence[QuerySpace], strategies: Sequence[Strategy], tick: Tick = lambda _steps: None
) -> Iterator[Figure]:
    """Recall where a part of the mentions of names was lost, or leads to another name."""
    for category, rate, spoiled in (
        ("names as found", 0.0, drop_mentions),
        *((f"{NAMES_LOST} {rate:.0%}", rate, drop_mentions) for rate in NOISE_RATES),
        *((f"{NAMES_FALSE} {rate:.0%}", rate, misdirect_mentions) for rate in NOISE_RATES),
    ):
        worse = [replace(one, graph=spoiled(one.graph, rate)) for one in spaces]
        yield from _collect_results(worse, strategies).recall_figures(name, category)
        tick(1)


def drop_mentions(graph: Graph, rate: float) -> Graph:
    """The graph without a sample of its mentions."""
    return replace(graph, edges=graph.edges.keep(~_sample_mentions(graph, rate)), _parent=None)


def misdirect_mentions(graph: Graph, rate: float) -> Graph:
    """The graph with a part of its mentions leading to the names of others of these mentions."""
    drawn = np.flatnonzero(_sample_mentions(graph, rate))
    names = graph.edges["dst"][drawn]
    return replace(graph, edges=graph.edges.replace(drawn, dst=np.roll(names, max(1, len(names) // 2))), _parent=None)


def _sample_mentions(graph: Graph, rate: float) -> Mask:
    """A part of the mentions, the same at every run: by a hash of their rows."""
    edges = graph.edges
    mixed = (edges["src"].astype(np.uint64) * 2654435761 + edges["dst"].astype(np.uint64) * 40503) % 1000
    return graph.has_link(Link.MENTIONS) & (mixed < 1000 * rate)


# ---- over-retrieval


def equal_recall_figures(name: str, spaces: Sequence[QuerySpace], strategies: Sequence[Strategy]) -> Iterator[Figure]:
    """How many documents each strategy must bring back for the recall that the best baseline has at ten.

    The value is the least such number; ``category`` says the recall. The last strategy is the one to be compared.
    """
    asked = _collect_results(spaces, strategies).results_by_strategy
    curves = {way: np.array([_recall_curve(one) for one in found]).mean(axis=0) for way, found in asked.items()}
    goal = max(float(curve[9]) for way, curve in curves.items() if way != strategies[-1].name)
    for way, curve in curves.items():
        count = float(np.searchsorted(curve, goal - 1e-9) + 1)
        yield Figure(
            name, way, f"{DOCUMENTS} for {goal:.3f}", Metric.FIRED_COUNT, None, len(asked[way]), count, count, count
        )


def _recall_curve(result: QuestionResult) -> Numbers:
    """The fraction of the gold among the first 1, 2, … 60 documents."""
    places = np.array(result.gold_ranks)
    return np.array([np.mean(places <= k) for k in range(1, 61)])


def _collect_results(spaces: Sequence[QuerySpace], strategies: Sequence[Strategy]) -> StrategyResults:
    replies: dict[str, list[QuestionResult]] = {strategy.name: [] for strategy in strategies}
    for one in spaces:
        for place, question in enumerate(one.case.questions):
            if question.is_answerable and question.gold:
                for strategy in strategies:
                    replies[strategy.name].append(
                        question_result(one, place, strategy.activate(one.queries[place], one.graph))
                    )
    return StrategyResults(replies)
