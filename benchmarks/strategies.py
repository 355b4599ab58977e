"""How long one recall takes by each built-in strategy, at 10,000 and 100,000 turns.

``python benchmarks/strategies.py [--turns N]… [--strategy NAME]… [--alike COSINE]``

The turns are those of ``speed.py`` with two invented names each, over two years. Their vectors are invented too, with
the geometry of all-MiniLM-L6-v2: random pairs have a cosine of .12 on average, with a deviation of .12, turns of one
topic one of .4 to .7; two people who talk of little else are more alike (LoCoMo: .40). The graph is put together
without a store and without an embedder, so a figure is what a strategy takes to activate and to choose the best ten.
Strategies that write find what they would have written, invented as well: some stimuli a turn, strands to earlier turns
of the topic, an insight for every 20 turns.
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
from speed import QUESTIONS, invented

from ecphora import Episode, strategies
from ecphora.bench.run import writes
from ecphora.encode import Draft, cue, draft, encode
from ecphora.extractors.rules import Rules
from ecphora.graph import Graph
from ecphora.model import Access, Change, Cue, Edge, Kind, Link, Node, NodeId, Touch, Vector, Vectors
from ecphora.ports import Strategy
from ecphora.stages import choose

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
SPAN = timedelta(days=730)
SESSION = 20
"""Turns of a session, as ``speed.py`` makes them; a minute lies between two."""
DIM = 384
ALIKE, TOPIC = 0.12, 0.5
"""The mean cosine of two turns unless told, and the part of the rest that turns of a topic share."""
SPREAD = 54
"""Dimensions in which vectors differ in effect: random unit vectors there deviate by .88 / sqrt(54) = .12."""
SAME_TOPIC = 0.6
"""How often a turn stays with the topic of the turn before."""
NAMES = 2_000
STIRRED, STRANDS, WOVEN = 20, 4, 20
"""Stimuli and strands a turn, and turns an insight, of what strategies would have written."""
RECALLS, AFTER = 200, 20
"""Recalls timed, and recalls timed right after one more turn."""


@dataclass(frozen=True)
class World:
    """Everything invented: turns with their topics and vectors, and questions; further turns to be added later."""

    drafts: list[Draft]
    topics: NDArray[np.int64]
    vectors: Vectors
    later: list[Draft]
    cues: list[Cue]


def world(turns: int, alike: float) -> World:
    dice = random.Random(11)  # noqa: S311  # not for secrets
    numbers = np.random.default_rng(11)  # noqa: TID251  # the same at every run
    texts = named(dice, invented(turns + AFTER))
    step = SPAN / max(1, turns // SESSION)
    told = [
        replace(one, happened_at=BEGIN + number // SESSION * step + number % SESSION * timedelta(minutes=1))
        for number, one in enumerate(texts)
    ]
    topics = list(topics_of(dice, turns + AFTER))
    asked = dice.sample(range(turns), min(turns, RECALLS))
    vectors = geometry(numbers, np.array([*topics, *(topics[place] for place in asked)]), alike)
    now = BEGIN + SPAN
    cues = [
        cue(f"{QUESTIONS[number % len(QUESTIONS)]} {name}", now, vector=vectors[turns + AFTER + number], meaning=1.0)
        for number, name in enumerate(picked(dice, len(asked)))
    ]
    cues = [replace(one, topic=one.vector, terms=vectors[: len(one.words)]) for one in cues]  # what they cost, not mean
    drafts = [draft(one, now) for one in told]
    return World(drafts[:turns], np.array(topics[:turns]), vectors[: turns + AFTER], drafts[turns:], cues)


def named(dice: random.Random, episodes: Sequence[Episode]) -> list[Episode]:
    pairs = zip(picked(dice, len(episodes)), picked(dice, len(episodes)), strict=True)
    return [
        replace(one, text=f"{one.text}, with {first} and {second}")
        for one, (first, second) in zip(episodes, pairs, strict=True)
    ]


def picked(dice: random.Random, count: int) -> list[str]:
    """Names by Zipf's law: the second is met half as often as the first."""
    syllables = [first + second for first in "BDFGKLMNPRSTVZ" for second in ("a", "e", "i", "o", "u")]
    endings = ("lin", "mar", "ros", "ven", "tuk", "bel", "dor", "nis", "gan", "sel", "wen", "jor", "hal", "pim", "quo")
    every = [f"{one}{two}" for one in syllables for two in (a + b for a in endings for b in endings)][::7][:NAMES]
    return dice.choices(every, cum_weights=list(accumulate(1 / rank for rank in range(1, len(every) + 1))), k=count)


def topics_of(dice: random.Random, turns: int) -> Iterator[int]:
    """The topic of each turn: often that of the turn before, else any, some more often than others."""
    count = max(1, turns // 25)
    weights = list(accumulate(1 / (rank + 10) for rank in range(count)))
    topic = 0
    for _ in range(turns):
        if dice.random() >= SAME_TOPIC:
            [topic] = dice.choices(range(count), cum_weights=weights)
        yield topic


def geometry(numbers: np.random.Generator, topics: NDArray[np.int64], alike: float) -> Vectors:
    """A unit vector a turn: something that all share, something of its topic, something of its own."""
    basis, _ = np.linalg.qr(numbers.standard_normal((DIM, SPREAD + 1)))

    def directions(count: int) -> Vectors:
        return unit(numbers.standard_normal((count, SPREAD), dtype=np.float32))

    shared = directions(int(topics.max()) + 1)[topics]
    apart = unit(np.sqrt(TOPIC) * shared + np.sqrt(1 - TOPIC) * directions(len(topics)))
    return unit(np.sqrt(alike) * basis[:, 0] + np.sqrt(1 - alike) * apart @ basis[:, 1:].T)


def unit(vectors: Vectors) -> Vectors:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def told(drafts: Sequence[Draft], graph: Graph, vectors: Vectors, *, since: int, stride: int = 1) -> Change:
    """What remembering some turns writes, numbered as a store numbers it; ``stride`` leaves numbers free between."""
    nodes = [one.pieces[0] for one in drafts]
    mentions = dict(zip((node.id for node in nodes), Rules().extract([node.text for node in nodes]), strict=True))
    held = {node.id: vector for node, vector in zip(nodes, vectors, strict=True)}
    change = encode(drafts, graph, vectors=held, mentions=mentions, embedder="invented", now=nodes[-1].recorded_at)
    numbered = tuple(replace(node, seq=since + 1 + place * stride) for place, node in enumerate(change.nodes))
    return replace(change, nodes=numbered, revision=graph.revision + 1)


def written(made: World) -> Change:
    """What remembering writes with strategies that write: stimuli, strands and insights too, among turns of a topic."""
    numbers = np.random.default_rng(13)  # noqa: TID251  # the same at every run
    change = told(made.drafts, Graph(), made.vectors[: len(made.drafts)], since=0, stride=STIRRED + 1)
    ids = [one.pieces[0].id for one in made.drafts]
    together: dict[int, list[int]] = {}
    accesses: list[Access] = []
    edges: list[Edge] = []
    insights: list[Node] = []
    vectors: dict[NodeId, Vector] = {}
    now, seq = BEGIN + SPAN, change.nodes[-1].seq
    for place, topic in enumerate(made.topics.tolist()):
        earlier = together.setdefault(topic, [])
        stirred = numbers.choice(earlier, min(STIRRED, len(earlier)), replace=False).tolist() if earlier else []
        accesses += [
            Access(
                ids[other], now, Touch.STIMULATED, 0.1 + 0.2 * numbers.random(), change.nodes[place].seq + 1 + number
            )
            for number, other in enumerate(stirred)
        ]
        sources = earlier[-STRANDS:]
        edges += [Edge(ids[place], ids[other], Link.ASSOCIATION, 0.5) for other in sources]
        if place % WOVEN == 0 and len(sources) == STRANDS:
            seq += 1
            insights.append(Node(f"insight:{place}", Kind.INSIGHT, "", now, now, seq=seq))
            vectors[f"insight:{place}"] = unit(made.vectors[sources].mean(axis=0))
            edges += [Edge(f"insight:{place}", ids[other], Link.DERIVED_FROM) for other in sources]
        earlier.append(place)
    return replace(
        change,
        nodes=(*change.nodes, *insights),
        vectors={**change.vectors, **vectors},
        edges=(*change.edges, *edges),
        accesses=tuple(accesses),
    )


def recalled(strategy: Strategy, asked: Cue, graph: Graph) -> float:
    """The milliseconds of one recall."""
    start = perf_counter()
    choose.best(strategy.activate(asked, graph).scores, choose.allowed(graph, asked), 10)
    return 1000 * (perf_counter() - start)


def timed(strategy: Strategy, made: World, graph: Graph) -> str:
    opened = replace(graph)  # nothing is derived from it yet
    first = recalled(strategy, made.cues[0], opened)
    spent = [recalled(strategy, asked, opened) for asked in made.cues]
    grown, after = opened, []
    for number, one in enumerate(made.later):
        since = int(grown.nodes["seq"].max())
        change = told([one], grown, made.vectors[len(made.drafts) + number :][:1], since=since)
        grown = grown.plus(change)
        after.append(recalled(strategy, made.cues[number % len(made.cues)], grown))
    p50, p95 = np.percentile(spent, [50, 95])
    return f"{strategy.name:18} {first:10.1f} {p50:10.1f} {p95:10.1f} {np.median(after):10.1f}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--turns", type=int, action="append", help="10,000 and 100,000 unless told")
    options.add_argument("--strategy", action="append", help="all unless told")
    options.add_argument("--alike", type=float, default=ALIKE, help="mean cosine of two turns; %(default)s unless told")
    chosen = options.parse_args()
    ways = [strategies.by_name(name) for name in chosen.strategy or strategies.known()]
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
          f"Python {platform.python_version()}, numpy {np.__version__}")  # fmt: skip
    for turns in chosen.turns or (10_000, 100_000):
        start = perf_counter()
        made = world(turns, chosen.alike)
        plain = Graph().plus(told(made.drafts, Graph(), made.vectors[:turns], since=0))
        woven = Graph().plus(written(made)) if any(map(writes, ways)) else plain
        print(f"\n{turns:,} turns, {int(plain.of_kind(Kind.ENTITY).sum()):,} names, {len(plain.edges):,} mentions; "
              f"put together in {perf_counter() - start:.0f} s")  # fmt: skip
        print(f"{'ms':18} {'first':>10} {'p50':>10} {'p95':>10} {'after one':>10}")
        for strategy in ways:
            print(timed(strategy, made, woven if writes(strategy) else plain), flush=True)


if __name__ == "__main__":
    main()
