"""How long an event loop waits while an AsyncMemory writes: the worst and the 99th percentile of its lag.

``python benchmarks/async_lag.py [--episodes 600] [--repeat 3] [--embedder hashing]``

A task sleeps for a millisecond again and again; its lag, in milliseconds, is how much later it wakes up. ``idle`` is
the lag while nothing else runs. Then the episodes are written with the default embedder: ``one call`` gives them to one
``remember``, ``many calls`` starts one call for each at the same time, and ``recall`` asks 30 questions one after
another. ``blocking`` is one call of ``Memory.remember`` in the loop itself, for comparison.

Other programs make lags too. ``own`` is the worst lag without the time in which the thread of the loop, or the
longest waiting of the other threads, was ready to run but had no CPU; Linux counts this.
"""

import argparse
import asyncio
import tempfile
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter

import numpy as np

from ecphora import AsyncMemory, Memory
from ecphora.model.ports import Embedder
from ecphora.models.embedders.e5 import E5Embedder
from ecphora.models.embedders.hashing import HashingEmbedder

PAUSE = 0.001
WARM_UP = "A first memory, so that the model is loaded."


def make_texts(count: int) -> list[str]:
    """Texts of about thirty words."""
    names, places = ("Ana", "Ben", "Cleo", "Dan", "Eva"), ("Porto", "Ghent", "Faro", "Oslo", "Turin", "Bergen", "Rome")
    return [
        f"{names[number % 5]} wrote on day {number} that the trip to {places[number % 7]} was better than the one "
        "before, because the weather held, the trains were on time, and "
        f"{names[number // 5 % 5]} had found a room for {number}."
        for number in range(count)
    ]


def cpu_waits() -> dict[str, float]:
    """For each thread of this process, the milliseconds that it has waited for a CPU; empty where nobody counts."""
    waits = dict[str, float]()
    for thread in Path("/proc/self/task").glob("*"):
        with suppress(OSError):
            waits[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e6
    return waits


def wait_between(before: dict[str, float], after: dict[str, float], loop_thread: str) -> float:
    """How long the loop's thread has waited for a CPU, and in addition the longest waiting of the others."""
    waited = {thread: wait - before.get(thread, 0.0) for thread, wait in after.items()}
    return waited.pop(loop_thread, 0.0) + max(waited.values(), default=0.0)


async def lags(work: Awaitable[object]) -> tuple[list[float], list[float], float]:
    """The lags of the loop in milliseconds while work runs, the same without waiting, and the seconds that it takes."""
    found, own, loop_thread = list[float](), list[float](), str(threading.get_native_id())

    async def watch() -> None:
        while True:
            waits, started = cpu_waits(), perf_counter()
            await asyncio.sleep(PAUSE)
            found.append(1000 * (perf_counter() - started - PAUSE))
            own.append(max(0.0, found[-1] - wait_between(waits, cpu_waits(), loop_thread)))

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(10 * PAUSE)
    started = perf_counter()
    await work
    seconds = perf_counter() - started
    await asyncio.sleep(10 * PAUSE)
    watcher.cancel()
    with suppress(asyncio.CancelledError):
        await watcher
    return found, own, seconds


async def measure(embedder: Callable[[], Embedder], episodes: int, folder: Path) -> None:
    """Print a row for each kind of work."""
    wanted = make_texts(episodes)

    async def one_call(memory: AsyncMemory) -> None:
        await memory.remember(wanted)

    async def many_calls(memory: AsyncMemory) -> None:
        await asyncio.gather(*(memory.remember(text) for text in wanted))

    async def recalls(memory: AsyncMemory) -> None:
        for number in range(30):
            await memory.recall(f"Who wrote about the trip to Porto on day {number}?")

    async def blocking(path: Path) -> None:
        with Memory(path, embedder=embedder(), zone="UTC") as memory:
            memory.remember(wanted)

    report("idle", *await lags(asyncio.sleep(1)))
    for name, write in (("one call", one_call), ("many calls", many_calls)):
        async with AsyncMemory(folder / f"{name}.db", embedder=embedder(), zone="UTC") as memory:
            await memory.remember(WARM_UP)
            await memory.recall(WARM_UP)
            report(name, *await lags(write(memory)))
    async with AsyncMemory(folder / "one call.db", embedder=embedder(), zone="UTC") as memory:
        await memory.recall(WARM_UP)
        report("recall", *await lags(recalls(memory)))
    report("blocking", *await lags(blocking(folder / "blocking.db")))


def report(name: str, found: list[float], own: list[float], seconds: float) -> None:
    """Print one row."""
    percentile = np.percentile(found, 99)
    print(f"{name:<12}{max(found):>8.1f}{max(own):>8.1f}{percentile:>8.1f}{np.median(found):>8.2f}{seconds:>9.1f}")


def main() -> None:
    """Print a table for each repetition."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--episodes", type=int, default=600)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--embedder", choices=("e5", "hashing"), default="e5")
    given = options.parse_args()
    embedder = E5Embedder if given.embedder == "e5" else HashingEmbedder
    print(f"{'lag in ms':<12}{'worst':>8}{'own':>8}{'p99':>8}{'median':>8}{'seconds':>9}")
    for _ in range(given.repeat):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(measure(embedder, given.episodes, Path(folder)))


if __name__ == "__main__":
    main()
