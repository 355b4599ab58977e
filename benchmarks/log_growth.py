"""How the access log and the file grow with recalls: with the bounded log, and with the full one of ``-faithful``.

``python benchmarks/log_growth.py [--recalls 100000] [--memories 200]``

A recall logs its ten hits, which are drawn by Zipf's law. The accesses are committed as the access log does it, without
running recalls. ``accesses`` is the number stored, ``MB`` the size of the file after a checkpoint, ``ms`` the median
time of a commit since the row before, and ``max`` the longest.
"""

import argparse
import random
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from time import perf_counter

import numpy as np

from ecphora import Memory
from ecphora.model.types import Access, AccessKind, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores.sqlite import SQLiteStore

SCOPE, HITS_PER_RECALL = "default", 10
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def grow(path: Path, memories: int, recalls: int, *, keeps_all: bool) -> None:
    rng = random.Random(7)  # noqa: S311  # not for secrets
    weights = list(accumulate(1 / rank for rank in range(1, memories + 1)))
    with Memory(path, embedder=HashingEmbedder(16), zone="UTC") as memory:
        ids = memory.remember([f"Note {number} of a small memory." for number in range(memories)]).ids
    report(path, 0, [0.0])
    store, seconds = SQLiteStore(path), list[float]()
    store.commit(SCOPE, WriteBatch(needs_full_log=keeps_all))
    for number in range(1, recalls + 1):
        at = BEGIN + timedelta(minutes=number)
        hits = dict.fromkeys(rng.choices(ids, cum_weights=weights, k=3 * HITS_PER_RECALL))
        accesses = tuple(Access(id_, at, AccessKind.RECALLED, 0.5) for id_ in list(hits)[:HITS_PER_RECALL])
        started = perf_counter()
        store.commit(SCOPE, WriteBatch(accesses=accesses))
        seconds.append(perf_counter() - started)
        if number in {recalls, *(10**power for power in range(2, 9))}:
            store.close()  # checkpoints the write-ahead log
            report(path, number, seconds)
            store, seconds = SQLiteStore(path), []
    store.close()


def report(path: Path, recalls: int, seconds: list[float]) -> None:
    with closing(SQLiteStore(path)) as store:
        rows = len(store.changes_since(SCOPE, 0).accesses)
    times = f"{1000 * float(np.median(seconds)):>7.2f} {1000 * max(seconds):>7.1f}"
    print(f"{recalls:>9,} {rows:>10,} {path.stat().st_size / 1e6:>9.2f} {times}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--recalls", type=int, default=100_000)
    options.add_argument("--memories", type=int, default=200)
    arguments = options.parse_args()
    for keeps_all in (False, True):
        print("full" if keeps_all else "bounded")
        print(f"{'recalls':>9} {'accesses':>10} {'MB':>9} {'ms':>7} {'max':>7}")
        with tempfile.TemporaryDirectory() as folder:
            grow(Path(folder) / "memory.db", arguments.memories, arguments.recalls, keeps_all=keeps_all)


if __name__ == "__main__":
    main()
