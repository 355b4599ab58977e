"""Does consolidation keep its time limit while others write? Ten calls of ``seconds`` beside four writers.

``python benchmarks/consolidation_budget.py [--turns 3000] [--seconds 2] [--calls 10] [--writers 4] [--processes]``

The turns are those of ``speed.py``. The writers, threads or else processes, each with a memory of its own on the same
file, remember turns without a pause. ``wall`` is the time of a call, ``done`` the memories it processed, ``pending``
the memories left for the next call. A call must take at most ``seconds`` + 1.
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from time import perf_counter
from typing import Any

from speed import synthetic_turns

from ecphora import Memory


def write_turns(path: Path, writer: int, stop: Any, report: Callable[[int], None]) -> None:
    """Remember turns until ``stop`` is set; report 0 after the first, and at the end how many there were."""
    turns, count = synthetic_turns(1_000), 0
    with Memory(path, zone="UTC") as memory:
        while not stop.is_set():
            turn = turns[count % len(turns)]
            session = f"w{writer}/{turn.session}"
            memory.remember(replace(turn, text=f"{turn.text} by {writer}, {count}", session=session))
            count += 1
            if count == 1:
                report(0)
    report(count)


def write_in_process(path: Path, writer: int, stop: Any, reports: Any) -> None:
    write_turns(path, writer, stop, reports.put)


@contextmanager
def concurrent_writers(path: Path, writers: int, *, processes: bool) -> Iterator[None]:
    """Run writers during the block, once all have started; then print how many turns they remembered."""
    context = get_context("spawn")
    reports: Any = context.Queue() if processes else Queue()
    stop: Any = context.Event() if processes else Event()
    workers: list[Any] = [
        context.Process(target=write_in_process, args=(path, writer, stop, reports))
        if processes
        else Thread(target=write_turns, args=(path, writer, stop, reports.put))
        for writer in range(writers)
    ]
    for worker in workers:
        worker.start()
    for _ in workers:
        reports.get()
    started = perf_counter()
    try:
        yield
    finally:
        elapsed = perf_counter() - started
        stop.set()
        counts = [reports.get() for _ in workers]
        for worker in workers:
            worker.join()
        print(f"meanwhile {writers} writers remembered {sum(counts):,} turns in {elapsed:.1f} s")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=3_000)
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--calls", type=int, default=10)
    options.add_argument("--writers", type=int, default=4)
    options.add_argument("--processes", action="store_true", help="writers as processes instead of threads")
    given = options.parse_args()
    kind = "processes" if given.processes else "threads"
    print(f"{given.turns:,} turns, {given.writers} {kind} beside, {os.cpu_count()} cores, seconds={given.seconds:g}")
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "m.db", zone="UTC") as memory:
        memory.remember(synthetic_turns(given.turns))
        for question in ("Where does Ines live now?", "Which instruments does Wil play?"):
            recollection = memory.recall(question)
            memory.feedback(recollection, [recollection[0].id])
        longest = 0.0
        with concurrent_writers(Path(folder) / "m.db", given.writers, processes=given.processes):
            print(f"{'call':>4} {'wall':>7} {'done':>10} {'pending':>7}  wrote")
            for call in range(1, given.calls + 1):
                started = perf_counter()
                run = memory.consolidate(seconds=given.seconds)
                wall = perf_counter() - started
                longest = max(longest, wall)
                wrote = ", ".join(f"{n} {name}" for name, n in run.counts.items() if n and name != "memories")
                print(
                    f"{call:>4} {wall:>6.2f}s {run.counts.get('memories', 0):>10,} {run.pending_count:>7,}  {wrote}",
                    flush=True,
                )
        print(f"longest {longest:.2f} s")


if __name__ == "__main__":
    main()
