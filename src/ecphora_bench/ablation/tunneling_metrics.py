"""Cognitive tunneling, an open question of SYNAPSE: the tunneling index, with inhibition and without (papers.md 2.10).

The index is the share of the five best anchors of both triggers that lose more than half to inhibition and are missing
from the first 30 hits. Without inhibition it is 0 by definition, so the share of anchors that are missing for whatever
reason is measured beside it, and recall.

``fused`` has no activation to inhibit. Its ``redundancy`` lowers a memory that resembles a better one, and is called
inhibition here: the index compares its scores without that contribution and with it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.maintenance.learn.regression import Numbers
from ecphora.model.graph.graph import Graph
from ecphora.model.ports import Activation, Strategy
from ecphora.model.types import Query, Rows
from ecphora.retrieval.filters import eligible
from ecphora.retrieval.fusion import top_rows
from ecphora.strategies.fused.strategy import Fused
from ecphora.strategies.synapse import dual_trigger, tunneling
from ecphora.strategies.synapse.spreading_activation import initial
from ecphora.strategies.synapse.strategy import DEFAULT_TOP_K, Synapse

from ..recall.run_records import Figure, Metric
from .ablation_run import question_result
from .strategy_results import CUTOFFS, SpacesByStrategy, mean_figure, ranked_questions

INHIBITION = "redundancy"
"""The contribution of ``fused`` that stands for inhibition."""
ON, NO_REMEDY, OFF = "inhibition on", "inhibition without remedy", "inhibition off"
"""The conditions."""
CONDITIONS = (ON, NO_REMEDY, OFF)
"""The conditions, in the order of a table."""


@dataclass(frozen=True, slots=True)
class InhibitionOff:
    """``fused`` without what its redundancy adds to the scores."""

    fused: Fused
    name: str = "fused"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """The activation of ``fused``, with the inhibition taken from its scores; the confidence stays."""
        found = self.fused.activate(query, graph)
        if INHIBITION not in found.contributions:
            return found
        scores = np.where(found.scores > 0, np.maximum(0, found.scores - found.contributions[INHIBITION]), 0)
        return replace(found, scores=scores.astype(np.float32))


def conditions(strategy: Strategy) -> list[tuple[str, Strategy]]:
    """The ways to run a strategy whose inhibition can be switched off; for the others there is one."""
    if isinstance(strategy, Synapse):
        off = replace(strategy, beta=0.0)
        remedy = [(NO_REMEDY, replace(strategy, protect_anchors=False))] if strategy.protect_anchors else []
        return [(ON, strategy), *remedy, (OFF, off)]
    if isinstance(strategy, Fused):
        return [(ON, strategy), (OFF, InhibitionOff(strategy))]
    return [(OFF, strategy)]


def tunneling_figures(dataset: str, spaces: SpacesByStrategy, strategies: Sequence[Strategy]) -> Iterator[Figure]:
    """Index, missing anchors and recall of every strategy, each under its conditions."""
    for strategy in strategies:
        base: dict[int, Numbers] = {}
        questions = list(ranked_questions(spaces[strategy.name]))
        for condition, one in conditions(strategy):
            values = [_measure(space, number, one) for space, number in questions]
            index, missing = (np.array(column, np.float64) for column in list(zip(*values, strict=True))[:2])
            if condition != OFF:
                yield mean_figure(dataset, strategy.name, condition, (Metric.TUNNELING, None), index)
            yield mean_figure(dataset, strategy.name, condition, (Metric.MISSING_ANCHORS, None), missing)
            for k in CUTOFFS:
                recalls = np.array([np.mean(np.array(ranks) <= k) for _, _, ranks in values])
                yield mean_figure(
                    *(dataset, strategy.name, condition, (Metric.RECALL, k), recalls), base=base.get(k), reference=ON
                )
                base.setdefault(k, recalls)


def _measure(space: QuerySpace, number: int, strategy: Strategy) -> tuple[float, float, tuple[float, ...]]:
    """The tunneling index, the share of missing anchors, and the ranks of the gold of a question."""
    query, graph = space.queries[number], space.graph
    activation = strategy.activate(query, graph)
    anchors = best_anchors(query, graph)
    results = top_rows(activation.scores, eligible(graph, query), DEFAULT_TOP_K)
    if isinstance(strategy, Synapse):
        index = strategy.tunneling_index(query, graph)
    else:
        index = contribution_index(anchors, results, activation)
    return index, missing_share(anchors, results), question_result(space, number, activation).gold_ranks


def best_anchors(query: Query, graph: Graph) -> Rows:
    """The anchors that the index looks at: the best five by words and the best five by vectors."""
    return tunneling.top_anchors(
        dual_trigger.find_anchors(
            graph,
            query,
            eligible(graph, query),
            tunneling.TOP_ANCHORS,
            use_lexical_trigger=True,
            use_previous_turn=False,
            use_lexical_similarity=True,
            use_similarity_floor=False,
        )
    )


def missing_share(anchors: Rows, results: Rows) -> float:
    """The share of anchors that are missing from the results, in 0..1; 0 without anchors."""
    return float((~np.isin(anchors, results)).mean()) if len(anchors) else 0.0


def contribution_index(anchors: Rows, results: Rows, activation: Activation) -> float:
    """The tunneling index where inhibition is a contribution to the scores; 0 if there is none."""
    if INHIBITION not in activation.contributions:
        return 0.0
    before = activation.scores - activation.contributions[INHIBITION]
    return tunneling.tunneling_index(anchors, results, replace(initial(before), u_hat=activation.scores))
