"""How long one recall takes by each built-in strategy, at 10,000 and 100,000 turns.

``python benchmarks/strategies.py [--turns N]… [--strategy NAME]… [--mean-cosine COSINE]``

The turns are those of ``speed.py`` with two synthetic names each, over two years. Their vectors are synthetic too, with
the geometry of all-MiniLM-L6-v2: the cosine of random pairs has a mean of .12 and a deviation of .12, turns of one
topic have .4 to .7. Two people who talk about little else have more similar turns (LoCoMo: .40). The graph is built
without a store and without an embedder, so a figure is the time of a strategy to activate and to select the best ten.
Strategies that write get synthetic rows as if they had written them: stimuli for each turn, strands to earlier turns of
the topic, an insight for every 20 turns.
"""

import argparse
import os
import platform
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from speed import synthetic_questions, synthetic_turns

from ecphora import Episode, strategies
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Strategy
from ecphora.model.types import Access, AccessKind, Edge, Kind, Link, Node, NodeId, Query, Vector, Vectors, WriteBatch
from ecphora.models.rule_extractor import RuleExtractor
from ecphora.remember.documents import CheckedEpisode, check_episode
from ecphora.remember.encode import encode, extract
from ecphora.retrieval import filters, fusion
from ecphora.retrieval.query import build_query
from ecphora_bench.recall.recall_run import needs_own_memory

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
SPAN = timedelta(days=730)
SESSION = 20
"""Turns of a session, as ``speed.py`` makes them; a minute lies between two."""
DIM = 384
MEAN_COSINE, TOPIC_FRACTION = 0.12, 0.5
"""The default mean cosine of two turns, and the part of the rest that turns of a topic share."""
EFFECTIVE_DIM = 54
"""Effective dimensions of the vectors: random unit vectors there deviate by .88 / sqrt(54) = .12."""
SAME_TOPIC_RATE = 0.6
"""How often a turn stays with the topic of the turn before."""
NAMES = 2_000
STIMULI_PER_TURN, STRANDS_PER_TURN, TURNS_PER_INSIGHT = 20, 4, 20
"""Synthetic rows of strategies that write: stimuli and strands per turn, and turns per insight."""
RECALLS, RECALLS_AFTER_WRITE = 200, 20
"""Recalls timed, and recalls timed right after one more turn is written."""


@dataclass(frozen=True)
class SyntheticMemory:
    """The synthetic data: turns with their topics and vectors, questions, and further turns to add later."""

    episodes: list[CheckedEpisode]
    topics: NDArray[np.int64]
    vectors: Vectors
    later_episodes: list[CheckedEpisode]
    queries: list[Query]


def make_memory(turns: int, mean_cosine: float) -> SyntheticMemory:
    rng = random.Random(11)  # noqa: S311  # not for secrets
    numbers = np.random.default_rng(11)  # noqa: TID251  # the same at every run
    texts = add_names(rng, synthetic_turns(turns + RECALLS_AFTER_WRITE))
    step = SPAN / max(1, turns // SESSION)
    turns_with_times = [
        replace(one, happened_at=BEGIN + number // SESSION * step + number % SESSION * timedelta(minutes=1))
        for number, one in enumerate(texts)
    ]
    topics = list(draw_topics(rng, turns + RECALLS_AFTER_WRITE))
    sampled = rng.sample(range(turns), min(turns, RECALLS))
    vectors = draw_vectors(numbers, np.array([*topics, *(topics[place] for place in sampled)]), mean_cosine)
    now = BEGIN + SPAN
    questions = synthetic_questions(texts, len(sampled))
    queries = [
        build_query(
            f"{question} {name}",
            now,
            vector=vectors[turns + RECALLS_AFTER_WRITE + number],
            embedder_coverage=1.0,
        )
        for number, (question, name) in enumerate(zip(questions, draw_names(rng, len(sampled)), strict=True))
    ]
    queries = [replace(one, word_vectors=vectors[: len(one.term_hashes)]) for one in queries]  # for timing only
    checked = [check_episode(one, now) for one in turns_with_times]
    return SyntheticMemory(
        checked[:turns], np.array(topics[:turns]), vectors[: turns + RECALLS_AFTER_WRITE], checked[turns:], queries
    )


def add_names(rng: random.Random, episodes: Sequence[Episode]) -> list[Episode]:
    pairs = zip(draw_names(rng, len(episodes)), draw_names(rng, len(episodes)), strict=True)
    return [
        replace(one, text=f"{one.text}, with {first} and {second}")
        for one, (first, second) in zip(episodes, pairs, strict=True)
    ]


def draw_names(rng: random.Random, count: int) -> list[str]:
    """Names by Zipf's law: the second occurs half as often as the first."""
    syllables = [first + second for first in "BDFGKLMNPRSTVZ" for second in ("a", "e", "i", "o", "u")]
    endings = ("lin", "mar", "ros", "ven", "tuk", "bel", "dor", "nis", "gan", "sel", "wen", "jor", "hal", "pim", "quo")
    names = [f"{one}{two}" for one in syllables for two in (a + b for a in endings for b in endings)][::7][:NAMES]
    return rng.choices(names, cum_weights=list(accumulate(1 / rank for rank in range(1, len(names) + 1))), k=count)


def draw_topics(rng: random.Random, turns: int) -> Iterator[int]:
    """The topic of each turn: often that of the turn before, else any, some more often than others."""
    count = max(1, turns // 25)
    weights = list(accumulate(1 / (rank + 10) for rank in range(count)))
    topic = 0
    for _ in range(turns):
        if rng.random() >= SAME_TOPIC_RATE:
            [topic] = rng.choices(range(count), cum_weights=weights)
        yield topic


def draw_vectors(numbers: np.random.Generator, topics: NDArray[np.int64], mean_cosine: float) -> Vectors:
    """A unit vector for each turn: the sum of a shared, a topic and a random part."""
    basis, _ = np.linalg.qr(numbers.standard_normal((DIM, EFFECTIVE_DIM + 1)))

    def directions(count: int) -> Vectors:
        return normalize(numbers.standard_normal((count, EFFECTIVE_DIM), dtype=np.float32))

    shared = directions(int(topics.max()) + 1)[topics]
    own = normalize(np.sqrt(TOPIC_FRACTION) * shared + np.sqrt(1 - TOPIC_FRACTION) * directions(len(topics)))
    return normalize(np.sqrt(mean_cosine) * basis[:, 0] + np.sqrt(1 - mean_cosine) * own @ basis[:, 1:].T)


def normalize(vectors: Vectors) -> Vectors:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def remember_batch(
    episodes: Sequence[CheckedEpisode], graph: Graph, vectors: Vectors, *, since: int, stride: int = 1
) -> WriteBatch:
    """The batch that remembers some turns, numbered as a store does it; ``stride`` leaves numbers free between
    nodes."""
    nodes = [one.chunks[0] for one in episodes]
    extractions = extract(RuleExtractor(), nodes)
    vector_by_id = {node.id: vector for node, vector in zip(nodes, vectors, strict=True)}
    batch = encode(
        episodes, graph, vectors=vector_by_id, extractions=extractions, embedder="synthetic", now=nodes[-1].recorded_at
    )
    numbered = tuple(replace(node, seq=since + 1 + place * stride) for place, node in enumerate(batch.nodes))
    return replace(batch, nodes=numbered, revision=graph.revision + 1)


def strategy_batch(memory: SyntheticMemory) -> WriteBatch:
    """The batch of strategies that write: also stimuli, strands and insights among the turns of a topic."""
    numbers = np.random.default_rng(13)  # noqa: TID251  # the same at every run
    batch = remember_batch(
        memory.episodes, Graph(), memory.vectors[: len(memory.episodes)], since=0, stride=STIMULI_PER_TURN + 1
    )
    ids = [one.chunks[0].id for one in memory.episodes]
    turns_by_topic: dict[int, list[int]] = {}
    accesses: list[Access] = []
    edges: list[Edge] = []
    insights: list[Node] = []
    vectors: dict[NodeId, Vector] = {}
    now, seq = BEGIN + SPAN, batch.nodes[-1].seq
    for place, topic in enumerate(memory.topics.tolist()):
        earlier = turns_by_topic.setdefault(topic, [])
        stimulated = (
            numbers.choice(earlier, min(STIMULI_PER_TURN, len(earlier)), replace=False).tolist() if earlier else []
        )
        accesses += [
            Access(
                ids[other],
                now,
                AccessKind.STIMULATED,
                0.1 + 0.2 * numbers.random(),
                batch.nodes[place].seq + 1 + number,
            )
            for number, other in enumerate(stimulated)
        ]
        sources = earlier[-STRANDS_PER_TURN:]
        edges += [Edge(ids[place], ids[other], Link.ASSOCIATION, 0.5) for other in sources]
        if place % TURNS_PER_INSIGHT == 0 and len(sources) == STRANDS_PER_TURN:
            seq += 1
            insights.append(Node(f"insight:{place}", Kind.INSIGHT, "", now, now, seq=seq))
            vectors[f"insight:{place}"] = normalize(memory.vectors[sources].mean(axis=0))
            edges += [Edge(f"insight:{place}", ids[other], Link.DERIVED_FROM) for other in sources]
        earlier.append(place)
    return replace(
        batch,
        nodes=(*batch.nodes, *insights),
        vectors={**batch.vectors, **vectors},
        edges=(*batch.edges, *edges),
        accesses=tuple(accesses),
    )


def time_recall(strategy: Strategy, query: Query, graph: Graph) -> float:
    """The milliseconds of one recall."""
    start = perf_counter()
    fusion.top_rows(strategy.activate(query, graph).scores, filters.eligible(graph, query), 10)
    return 1000 * (perf_counter() - start)


def report_strategy(strategy: Strategy, memory: SyntheticMemory, graph: Graph) -> str:
    fresh = replace(graph)  # has no cached derivations
    first = time_recall(strategy, memory.queries[0], fresh)
    times = [time_recall(strategy, query, fresh) for query in memory.queries]
    grown, times_after_write = fresh, []
    for number, one in enumerate(memory.later_episodes):
        since = int(grown.nodes["seq"].max())
        batch = remember_batch([one], grown, memory.vectors[len(memory.episodes) + number :][:1], since=since)
        grown = apply_batch(grown, batch)
        times_after_write.append(time_recall(strategy, memory.queries[number % len(memory.queries)], grown))
    p50, p95 = np.percentile(times, [50, 95])
    return f"{strategy.name:18} {first:10.1f} {p50:10.1f} {p95:10.1f} {np.median(times_after_write):11.1f}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--turns", type=int, action="append", help="may be repeated (default: 10,000 and 100,000)")
    options.add_argument("--strategy", action="append", help="may be repeated (default: all)")
    options.add_argument(
        "--mean-cosine", type=float, default=MEAN_COSINE, help="mean cosine of two turns (default: %(default)s)"
    )
    arguments = options.parse_args()
    chosen = [strategies.resolve_strategy(name) for name in arguments.strategy or strategies.strategy_names()]
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
          f"Python {platform.python_version()}, numpy {np.__version__}")  # fmt: skip
    for turns in arguments.turns or (10_000, 100_000):
        start = perf_counter()
        memory = make_memory(turns, arguments.mean_cosine)
        plain = apply_batch(Graph(), remember_batch(memory.episodes, Graph(), memory.vectors[:turns], since=0))
        with_writes = apply_batch(Graph(), strategy_batch(memory)) if any(map(needs_own_memory, chosen)) else plain
        print(f"\n{turns:,} turns, {int(plain.of_kind(Kind.ENTITY).sum()):,} names, {len(plain.edges):,} mentions; "
              f"built in {perf_counter() - start:.0f} s")  # fmt: skip
        print(f"{'ms':18} {'first':>10} {'p50':>10} {'p95':>10} {'after write':>11}")
        for strategy in chosen:
            print(report_strategy(strategy, memory, with_writes if needs_own_memory(strategy) else plain), flush=True)


if __name__ == "__main__":
    main()
