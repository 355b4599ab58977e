"""How long filters take over many memories: ``python benchmarks/filters.py [--memories 100000]``.

Prints for each filter how many memories pass it, and the milliseconds that selecting them takes:

- *by reading*: the condition is tried on the metadata of each memory, as a filter did before it had columns;
- *first*: with columns, the first filter on these keys since the memory was opened, which makes the columns;
- *again*: with columns that are there; *after a write*: when one memory more was stored since.

The graph is synthetic and has no vectors. Times are the best of five calls, *first* of three.
"""

import argparse
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from time import perf_counter
from typing import Any

import numpy as np

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Filter, Mask, Node, Query, WriteBatch
from ecphora.retrieval import filters
from ecphora.testing import NOON, sample_node

REPEATS = 5
"""Calls of each kind; the fastest counts."""
NEW_GRAPHS = 3
"""Copies of the graph without columns."""
FILTERS: dict[str, Filter] = {
    "speaker": Filter(speakers="speaker 3"),
    "50 sessions": Filter(sessions=tuple(f"session {number}" for number in range(50))),
    "not a source": Filter(not_sources="tool"),
    "trust": Filter(min_trust=0.5),
    "recorded time": Filter(recorded_after=NOON + timedelta(days=10), recorded_before=NOON + timedelta(days=20)),
    "city equals": Filter(metadata={"city": "city 7"}),
    "city in 3": Filter(metadata={"city": {"$in": ["city 7", "city 9", "city 100"]}}),
    "city not in 3": Filter(metadata={"city": {"$nin": ["city 7", "city 9", "city 100"]}}),
    "year from, to": Filter(metadata={"year": {"$gte": 2010, "$lt": 2020}}),
    "day from, to": Filter(metadata={"day": {"$gte": "2026-03", "$lt": "2026-06"}}),
    "price above (all differ)": Filter(metadata={"price": {"$gt": 900}}),
    "document equals (all differ)": Filter(metadata={"document": "document 77"}),
    "document contains (all differ)": Filter(metadata={"document": {"$contains": "77"}}),
    "a tag": Filter(metadata={"tags": "travel"}),
    "city or draft": Filter(metadata={"$or": [{"city": "city 1"}, {"draft": True}]}),
    "no draft": Filter(metadata={"draft": {"$exists": False}}),
}


def draw_nodes(count: int) -> Iterator[Node]:
    rng = random.Random(3)  # noqa: S311  # not for secrets
    for number in range(count):
        metadata: dict[str, Any] = {
            "year": 2000 + rng.randrange(27),
            "city": f"city {rng.randrange(200)}",
            "day": f"2026-{1 + rng.randrange(12):02}-{1 + rng.randrange(28):02}",
            "price": rng.random() * 1000,
            "document": f"document {number}",
            "tags": rng.sample(["travel", "price", "home", "work", "sea"], rng.randrange(4)),
        }
        if rng.random() < 0.3:
            metadata["draft"] = True
        yield sample_node(
            f"n{number}", seq=number + 1, minutes=number, recorded_at=NOON + timedelta(minutes=number),
            speaker=f"speaker {rng.randrange(20)}", session=f"session {number // 20}",
            source=rng.choice(["tool", "mail", None]), trust=rng.random(), metadata=metadata,
        )  # fmt: skip


def time_selection(graphs: Iterable[Graph], query: Query, select: Callable[[Graph, Query], Mask]) -> float:
    """The milliseconds of the fastest selection among some graphs."""
    times = []
    for graph in graphs:
        start = perf_counter()
        select(graph, query)
        times.append(1000 * (perf_counter() - start))
    return min(times)


def graphs_after_writes(graph: Graph, query: Query) -> Iterator[Graph]:
    """Graphs with one memory more than one whose columns are made."""
    for _ in range(REPEATS):
        filters.eligible(graph, query)
        node = sample_node(f"n{len(graph)}", seq=len(graph) + 1, metadata={"city": "city 7", "price": 1.5})
        graph = apply_batch(graph, WriteBatch(nodes=(node,), revision=graph.revision + 1))
        yield graph


def select_by_reading(graph: Graph, query: Query) -> Mask:
    """The rows that pass a filter, with the metadata of each row read."""
    mask = filters.eligible(graph, replace(query, where=replace(query.where, metadata={})))
    condition = query.where.condition
    return mask if condition is None else filters.match_by_reading(graph, condition, np.flatnonzero(mask))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000)
    nodes = tuple(draw_nodes(parser.parse_args().memories))
    graph = apply_batch(Graph(), WriteBatch(nodes=nodes, revision=1))
    print("| filter | pass | by reading | first | again | after a write | reading / again |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, where in FILTERS.items():
        query = Query("", NOON, where=where)
        expected = select_by_reading(graph, query)
        if not np.array_equal(filters.eligible(graph, query), expected):
            raise SystemExit(f"{name}: columns and reading disagree")
        reading = time_selection([graph] * REPEATS, query, select_by_reading)
        first = time_selection([replace(graph) for _ in range(NEW_GRAPHS)], query, filters.eligible)
        again = time_selection([graph] * REPEATS, query, filters.eligible)
        after_write = time_selection(graphs_after_writes(graph, query), query, filters.eligible)
        print(
            f"| {name} | {expected.sum():,} | {reading:.1f} | {first:.1f} | {again:.2f} | {after_write:.2f} | "
            f"{reading / again:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
