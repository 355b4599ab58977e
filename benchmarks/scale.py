"""What many scopes cost: bytes, CPU and commits measured on this machine, and worked out for a service.

    python benchmarks/scale.py [--scopes 10000000] [--memories 100] [--turns 20] [--recalls 20] [--peak 3]
                               [--core-dollars 30] [--gigabyte-dollars 0.1] [--url postgresql://…]

One scope gets the first ``--memories`` turns of the demo's conversation, with the default models, in a file and in
PostgreSQL. CPU times are those of this process; the time of the database is the wall time of a commit without
embedding. The prices, for a month, and the use of a scope, for a day, are yours to say.
"""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import psycopg

from ecphora import Memory
from ecphora.cli.demo.show import load_conversation
from ecphora.model.types import WriteBatch
from ecphora.stores.postgres.store import PostgresStore
from ecphora.testing.postgres import PostgresServer
from ecphora.testing.samples import sample_batch, sample_node

QUESTIONS = (
    "Where does she live now?",
    "What is the cat called?",
    "When is the appointment?",
    "Who has the spare key?",
)
REPEATS = 5
COMMITS = 100
COPIES = 100
"""Equal scopes in the database, so that its pages are as full as in a large one."""
DAY = 86_400
GIGABYTE = 1e9


@contextmanager
def database(url: str | None) -> Iterator[str]:
    """The URL of a database: the one given, or one of a server of our own."""
    if url is not None:
        yield url
        return
    with PostgresServer() as server:
        yield server.url


def cpu_ms(memory: Memory) -> float:
    """The CPU milliseconds of a recall, embedding and reranking included."""
    for question in QUESTIONS:
        memory.recall(question)
    started = time.process_time()
    for question in QUESTIONS * REPEATS:
        memory.recall(question)
    return 1000 * (time.process_time() - started) / (REPEATS * len(QUESTIONS))


def commit_ms(store: PostgresStore) -> float:
    """The median milliseconds of a commit of one memory, embedding apart."""
    found = []
    for number in range(COMMITS):
        batch: WriteBatch = replace(sample_batch(sample_node(f"n{number}")), expected_revision=None)
        started = time.perf_counter()
        store.commit("commits", batch)
        found.append(1000 * (time.perf_counter() - started))
    return float(np.median(found))


def main() -> None:
    """Measure, and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scopes", type=int, default=10_000_000)
    options.add_argument("--memories", type=int, default=100, help="of a scope")
    options.add_argument("--turns", type=float, default=20, help="remembered in a scope in a day")
    options.add_argument("--recalls", type=float, default=20, help="in a scope in a day")
    options.add_argument("--peak", type=float, default=3, help="the busiest hour against the mean")
    options.add_argument("--core-dollars", type=float, default=30, help="a core for a month")
    options.add_argument("--gigabyte-dollars", type=float, default=0.1, help="a gigabyte on disk for a month")
    options.add_argument("--copies", type=int, default=3, help="of the rows: primary, replica, backup")
    options.add_argument("--url", help="a PostgreSQL database [default: a server of its own, without fsync]")
    given = options.parse_args()
    turns = load_conversation()[: given.memories]
    with tempfile.TemporaryDirectory() as folder, database(given.url) as url:
        path = Path(folder) / "scope.db"
        with Memory(path, zone="UTC") as memory:
            memory.recall("warm up")
            memory.remember("Warm up.")
            started = time.process_time()
            for turn in turns:
                memory.remember(turn)
            turn_ms = 1000 * (time.process_time() - started) / len(turns)
            recall_ms = cpu_ms(memory)
        file_bytes = path.stat().st_size / len(turns)
        with closing(PostgresStore(url)) as store, Memory(store, scope="bytes", zone="UTC") as memory:
            memory.remember(turns)
            cpu_ms(memory)
            memory.close()
            for number in range(1, COPIES):
                store.clone_scope("bytes", f"bytes {number}")
        with psycopg.connect(url) as connection:
            query = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'ecphora'::regnamespace"
            row = connection.execute(f"{query} AND relkind = 'r'").fetchone()
        row_bytes = float(row[0]) / len(turns) / COPIES if row else 0.0
        with closing(PostgresStore(url)) as store:
            one_commit = commit_ms(store)
    print(f"{platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores; {len(turns)} turns")
    print(f"bytes a memory: file {file_bytes:,.0f}, PostgreSQL {row_bytes:,.0f}")
    print(
        f"CPU: a turn {turn_ms:.0f} ms, a recall {recall_ms:.0f} ms; a commit takes {one_commit:.1f} ms in PostgreSQL"
    )
    memories = given.scopes * given.memories
    writes, reads = (given.peak * given.scopes * per_day / DAY for per_day in (given.turns, given.recalls))
    cores = writes * turn_ms / 1000 + reads * recall_ms / 1000
    gigabytes = given.copies * memories * row_bytes / GIGABYTE
    print(f"\n{given.scopes:,} scopes of {given.memories} memories: {memories:,} memories")
    print(f"at the peak: {writes:,.0f} turns and {reads:,.0f} recalls a second")
    print(f"cores for both at the peak: {cores:,.0f}, {cores * given.core_dollars:,.0f} dollars a month")
    print(f"commits at once in the databases: {writes * one_commit / 1000:,.0f}")
    print(
        f"rows, {given.copies} copies: {gigabytes:,.0f} GB, {gigabytes * given.gigabyte_dollars:,.0f} dollars a month"
    )


if __name__ == "__main__":
    main()
