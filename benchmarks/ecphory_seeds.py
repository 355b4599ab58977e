"""What a hop of EcphoryRAG starts from: ``python benchmarks/ecphory_seeds.py --data DATA``.

The paper takes the engrams nearest to the centroid of the seeds, weighted by their similarity to the question. Measured
are this, the unweighted centroid, the best seed alone, and the engrams that are most similar to any seed (times the
seed's weight), for ``ecphory`` with one hop and for ``ecphory-faithful`` with one and with two. Printed is recall@5 and
recall@10 of each, and its difference to the weighted centroid; bold if its 95% bootstrap interval over questions
excludes 0; and the part of the engrams that a hop reaches and the hop by the weighted centroid does not.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
from rich.console import Console

from ecphora.cli.learn import open_embedder
from ecphora.maintenance.learn.datasets import read_cases
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.model.graph.graph import Graph
from ecphora.model.ports import Strategy
from ecphora.model.types import Rows, Vectors
from ecphora.retrieval.entity_links import unit_vectors
from ecphora.strategies.baselines import Dense
from ecphora.strategies.ecphory import engram_search
from ecphora.strategies.ecphory import strategy as ecphory
from ecphora.strategies.ecphory.engram_index import EngramSearch, Similarities, cosines
from ecphora.strategies.ecphory.engram_search import ActiveEngrams, CoOccurrences, normalize
from ecphora.strategies.ecphory.strategy import Ecphory
from ecphora_bench.ablation.open_question_tables import question_tables
from ecphora_bench.ablation.strategy_results import StrategyResults, mean_figure
from ecphora_bench.recall.run_records import Figure, Metric
from ecphora_bench.spaces import build_query_space

LIMITS = {"musique": 200, "2wikimultihopqa": 200, "realtalk": 400, "locomo": 400}
"""The sets, and the first questions of each that are asked."""
CUTOFFS = (5, 10)

Reach = Callable[[Graph, EngramSearch, Vectors, Similarities], Similarities]
"""How near each engram is to seeds with these vectors and weights, the best seed first."""


def weighted_centroid(graph: Graph, search: EngramSearch, vectors: Vectors, weights: Similarities) -> Similarities:
    """By the centroid weighted with the similarity to the question, the paper's way."""
    center = normalize(engram_search.centroid(vectors, weights))
    return search.similarities(cosines(graph, center[None, :])[0])


def plain_centroid(graph: Graph, search: EngramSearch, vectors: Vectors, weights: Similarities) -> Similarities:
    """By the centroid of seeds that all count the same."""
    return weighted_centroid(graph, search, vectors, np.ones_like(weights))


def best_seed(graph: Graph, search: EngramSearch, vectors: Vectors, weights: Similarities) -> Similarities:
    """By the seed that is most similar to the question."""
    return weighted_centroid(graph, search, vectors[:1], weights[:1])


def any_seed(graph: Graph, search: EngramSearch, vectors: Vectors, weights: Similarities) -> Similarities:
    """By the seed that is most similar to the engram, times its weight."""
    found: Similarities = np.max(
        [weight * search.similarities(cosine) for weight, cosine in zip(weights, cosines(graph, vectors), strict=True)],
        axis=0,
    )
    return found


REACHES: tuple[tuple[str, Reach], ...] = (
    ("weighted centroid", weighted_centroid),
    ("plain centroid", plain_centroid),
    ("best seed", best_seed),
    ("any seed", any_seed),
)


def hop_with(reach: Reach, reached: list[Rows]) -> Callable[..., ActiveEngrams]:
    """A hop as in :func:`engram_search.hop`, whose new engrams are found by ``reach`` and added to ``reached``."""

    def hop(
        graph: Graph,
        search: EngramSearch,
        active: ActiveEngrams,
        neighbors: CoOccurrences | None,
        *,
        k_seeds: int,
        k_initial: int,
    ) -> ActiveEngrams:
        rows, seeds = search.index.rows, active.top(k_seeds)
        if len(seeds):
            near = reach(graph, search, unit_vectors(graph, rows[seeds], search.sources), active.ranks[seeds])
            reached.append(active.nearest_inactive(near, k_initial))
            active = active.activate(reached[-1], parent=int(rows[seeds[0]]))
        if neighbors is not None:
            active = active.activate(neighbors.places, neighbors.episodes, neighbors.strengths)
        return active

    return hop


def collect(spaces: Sequence[QuerySpace], strategy: Strategy, reach: Reach) -> tuple[StrategyResults, list[Rows]]:
    """The results of a preset whose hops find new engrams by ``reach``, and what each hop reached."""
    reached: list[Rows] = []
    with patch.object(engram_search, "hop", hop_with(reach, reached)):
        return StrategyResults.collect({strategy.name: spaces}, [strategy]), reached


def figures(name: str, data: Path, embedder: CachingEmbedder) -> Iterator[Figure]:
    """Recall of dense, and of each preset without a hop and with each way to find what a hop reaches."""
    spaces = [build_query_space(case, Dense(), embedder) for case in read_cases(name, data, limit=LIMITS.get(name))]
    print(f"{name}: indexed", file=sys.stderr, flush=True)
    dense = StrategyResults.collect({"dense": spaces}, [Dense()])
    for k in CUTOFFS:
        yield mean_figure(name, "dense", name, (Metric.RECALL, k), dense.recalls("dense", k))
    for preset, depth in ((Ecphory(), 1), (ecphory.FAITHFUL, 1), (ecphory.FAITHFUL, 2)):
        strategy = replace(preset, L=depth, name=f"{preset.name}, depth {depth}")
        unchanged = StrategyResults.collect({strategy.name: spaces}, [strategy])
        by_centroid: list[Rows] = []
        for label, reach in REACHES:
            found, reached = collect(spaces, strategy, reach)
            by_centroid = by_centroid or reached
            others = [1 - np.isin(a, b).mean() for a, b in zip(reached, by_centroid, strict=True) if len(a)]
            if reach is weighted_centroid and found != unchanged:
                raise AssertionError("the hop of this benchmark is not that of the package")
            print(
                f"{name}, {strategy.name}, {label}: {np.mean(others):.3f} of the engrams reached are others", flush=True
            )
            for k in CUTOFFS:
                base = None if reach is weighted_centroid else unchanged.recalls(strategy.name, k)
                values = found.recalls(strategy.name, k)
                yield mean_figure(
                    name, f"{strategy.name}, {label}", name, (Metric.RECALL, k), values, base=base, reference="centroid"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", dest="names", action="append")
    parser.add_argument("--embedder", default="e5")
    arguments = parser.parse_args()
    with open_embedder(arguments.embedder) as embedder:
        for name in arguments.names or LIMITS:
            for table in question_tables(list(figures(name, arguments.data, embedder))):
                Console(width=140).print(table)


if __name__ == "__main__":
    main()
