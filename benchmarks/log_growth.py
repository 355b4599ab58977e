"""How the access log and the file grow with recalls: bounded, and whole, as a ``-faithful`` strategy keeps it.

``python benchmarks/log_growth.py [--recalls 100000] [--memories 200]``

A recall logs that ten memories came back; which, is drawn by Zipf's law. What recalls log is committed here as the
log's writer does it, without recalling. ``accesses`` is what is stored, ``MB`` the file with its write-ahead log moved
in, ``ms`` the median time of a commit since the row before and ``most`` the longest.
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
from ecphora.embedders.hashing import Hashing
from ecphora.model import Access, Change, Touch
from ecphora.stores.sqlite import SQLite

SCOPE, BACK = "default", 10
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def grow(path: Path, memories: int, recalls: int, *, whole: bool) -> None:
    dice = random.Random(7)  # noqa: S311  # not for secrets
    often = list(accumulate(1 / rank for rank in range(1, memories + 1)))
    with Memory(path, embedder=Hashing(16)) as memory:
        ids = memory.remember([f"Note {number} of a small memory." for number in range(memories)]).ids
    report(path, 0, [0.0])
    store, spent = SQLite(path), list[float]()
    store.commit(SCOPE, Change(whole_log=whole))
    for number in range(1, recalls + 1):
        at = BEGIN + timedelta(minutes=number)
        back = dict.fromkeys(dice.choices(ids, cum_weights=often, k=3 * BACK))
        accesses = tuple(Access(id_, at, Touch.RECALLED, 0.5) for id_ in list(back)[:BACK])
        started = perf_counter()
        store.commit(SCOPE, Change(accesses=accesses))
        spent.append(perf_counter() - started)
        if number in {recalls, *(10**power for power in range(2, 9))}:
            store.close()  # moves the write-ahead log in
            report(path, number, spent)
            store, spent = SQLite(path), []
    store.close()


def report(path: Path, recalls: int, spent: list[float]) -> None:
    with closing(SQLite(path)) as store:
        rows = len(store.changes(SCOPE, 0).accesses)
    times = f"{1000 * float(np.median(spent)):>7.2f} {1000 * max(spent):>7.1f}"
    print(f"{recalls:>9,} {rows:>10,} {path.stat().st_size / 1e6:>9.2f} {times}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--recalls", type=int, default=100_000)
    options.add_argument("--memories", type=int, default=200)
    chosen = options.parse_args()
    for whole in (False, True):
        print("whole" if whole else "bounded")
        print(f"{'recalls':>9} {'accesses':>10} {'MB':>9} {'ms':>7} {'most':>7}")
        with tempfile.TemporaryDirectory() as folder:
            grow(Path(folder) / "memory.db", chosen.memories, chosen.recalls, whole=whole)


if __name__ == "__main__":
    main()
