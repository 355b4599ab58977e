"""What brings far evidence nearer in SYNAPSE: ``python benchmarks/synapse_far.py --data DATA --set locomo``.

The stress test of ``ecphora bench open-questions --part stress``, with other constants, and with concepts beyond names:
every content word that two to ``MAX_MEMORIES`` memories share is a concept too. A line for each row: recall at 5, 10
and 30 of all questions, then for each reading of the filter recall@30 of the far questions, and the loss from the near
questions to the far ones as a share of dense's loss. The aim was .5 at most.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ecphora.maintenance.learn.datasets import read_cases
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.regression import Numbers
from ecphora.model.graph.columns import concatenate_ranges, rank_in_group
from ecphora.model.graph.graph import CachedDerivation, Graph
from ecphora.model.ports import Strategy
from ecphora.model.types import Mask, Query, Rows, Scores
from ecphora.models.embedders.from_setting import PACKAGED_EMBEDDERS
from ecphora.strategies import resolve_strategy
from ecphora.strategies.synapse import spreading_activation
from ecphora.strategies.synapse.dual_trigger import TriggerResult
from ecphora.strategies.synapse.layer_consolidation import consolidated_layer
from ecphora.strategies.synapse.layer_edges import EdgeList
from ecphora.strategies.synapse.spreading_activation import Iteration
from ecphora.strategies.synapse.strategy import LAYER_CONFIG, Synapse
from ecphora_bench.ablation.strategy_results import StrategyResults, build_spaces, ranked_questions
from ecphora_bench.ablation.stress import FILTERS

MAX_MEMORIES = 20
"""The most memories of a word that is a concept."""
MAX_SHARE = 0.02
"""The most that a word may be in, as a share of all memories, if that is less than ``MAX_MEMORIES`` and above 5."""


@dataclass(frozen=True, slots=True)
class WordConcepts:
    """Concepts that are words: rows from ``len(graph)`` to ``size``, with their edges both ways, by source."""

    size: int
    starts: Rows
    targets: Rows

    def edges_from(self, rows: Rows) -> EdgeList:
        """The edges that leave some rows, of weight 1."""
        counts = self.starts[rows + 1] - self.starts[rows]
        places = concatenate_ranges(self.starts[rows], counts)
        return EdgeList(np.repeat(rows, counts), self.targets[places], np.ones(len(places), np.float32))


def word_concepts(graph: Graph, _cached: CachedDerivation[WordConcepts] | None, words_per_memory: int) -> WordConcepts:
    """The rarest words of each memory that other memories share."""
    rows, hashes = graph.terms["rows"].astype(np.intp), graph.terms["hashes"]
    is_episode = graph.episodes[rows]
    rows = rows[is_episode]
    _, words, counts = np.unique(hashes[is_episode], return_inverse=True, return_counts=True)
    limit = min(MAX_MEMORIES, max(5, MAX_SHARE * graph.episode_count))
    is_concept = (counts[words] > 1) & (counts[words] <= limit)
    rows, words = rows[is_concept], words[is_concept]
    order = np.lexsort((words, counts[words], rows))
    order = order[rank_in_group(rows[order]) < words_per_memory]
    distinct, places = np.unique(words[order], return_inverse=True)
    concepts = places + len(graph)
    src, dst = np.concatenate([rows[order], concepts]), np.concatenate([concepts, rows[order]])
    by_source, size = np.argsort(src, kind="stable"), len(graph) + len(distinct)
    return WordConcepts(size, np.searchsorted(src[by_source], np.arange(size + 1)), dst[by_source])


@dataclass(frozen=True, slots=True, repr=False)
class WordSynapse(Synapse):
    """SYNAPSE whose activation spreads over the rarest words of each memory as well. No anchors are protected."""

    words_per_memory: int = 5
    protect_anchors: bool = False

    def _spread(self, query: Query, graph: Graph, eligible: Mask) -> tuple[TriggerResult, Iteration, dict[str, Scores]]:
        layer, count = consolidated_layer(graph, self.layer_config), len(graph)
        trigger = self._find_anchors(query, graph, eligible, layer)
        words = graph.derive(
            ("word concepts", self.words_per_memory),
            lambda grown, before: word_concepts(grown, before, self.words_per_memory),
        )
        initial = spreading_activation.initial_activation(trigger.anchors, trigger.initial_activation, self.alpha)
        iteration = spreading_activation.spread(
            np.pad(initial, (0, words.size - count)),
            lambda rows: layer.edges_from(graph, rows[rows < count]).concat(words.edges_from(rows)),
            np.pad(self._reachable(graph, eligible), (0, words.size - count), constant_values=True),
            self.dynamics,
            T=self.T,
            floor=np.zeros(words.size, np.float32),
        )
        iteration = Iteration(
            iteration.previous[:count],
            iteration.u[:count],
            iteration.u_hat[:count],
            iteration.activation[:count],
            graph.no_rows(),
        )
        return trigger, iteration, self._contributions(graph, trigger, iteration.activation, layer, eligible)


def rows_to_measure() -> list[Strategy]:
    """The baseline, the practical preset, and what is changed of it."""
    preset = Synapse()
    return [
        resolve_strategy("dense"),
        preset,
        replace(preset, protect_anchors=False, name="no anchor protection"),
        WordSynapse(name="5 words of each memory are concepts"),
        WordSynapse(name="10 words of each memory are concepts", words_per_memory=10),
        *(replace(preset, T=steps, name=f"T = {steps}") for steps in (0, 1, 2, 5)),
        replace(preset, layer_config=replace(LAYER_CONFIG, is_bidirectional=True), name="edges back in time"),
        replace(preset, lambda1=0.3, lambda2=0.5, name="lambda 2 = .5"),
        replace(preset, anchors_per_trigger=30, name="30 anchors of a trigger"),
        replace(preset, delta=0.8, name="delta = .8"),
        replace(preset, beta=0.05, name="beta = .05"),
        replace(preset, theta=0.3, name="theta = .3"),
        resolve_strategy("fused"),
    ]


def loss(recalls: Numbers, is_far: Mask) -> float:
    """By which share recall falls from the near questions to the far ones."""
    return 1 - float(recalls[is_far].mean() / recalls[~is_far].mean())


def print_rows(name: str, data: Path, embedder: CachingEmbedder, strategies: Sequence[Strategy]) -> None:
    spaces = build_spaces(list(read_cases(name, data)), strategies, embedder)
    results = StrategyResults.collect(spaces, strategies)
    questions = list(ranked_questions(spaces["dense"]))
    far = [np.array([filter_.is_far(*question) for question in questions], np.bool_) for filter_ in FILTERS]
    print(f"{name}, {embedder.name}, {len(questions)} questions, far: {', '.join(str(mask.sum()) for mask in far)}")
    dense = results.recalls("dense", 30)
    for one in strategies:
        found = results.recalls(one.name, 30)
        recalls = "  ".join(f"{results.recalls(one.name, k).mean():.3f}" for k in (5, 10, 30))
        shares = "  ".join(f"{found[mask].mean():.3f} {loss(found, mask) / loss(dense, mask):.2f}" for mask in far)
        print(f"{one.name:36} {recalls}   {shares}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--set", action="append", required=True)
    options.add_argument("--embedder", default="e5", choices=sorted(PACKAGED_EMBEDDERS))
    arguments = options.parse_args()
    embedder = CachingEmbedder(PACKAGED_EMBEDDERS[arguments.embedder]())
    for name in arguments.set:
        print_rows(name, arguments.data, embedder, rows_to_measure())


if __name__ == "__main__":
    main()
