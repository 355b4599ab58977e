"""How much CPU each part of a recall takes: ``python benchmarks/recall_cpu.py``.

The parts are those of a recall over HTTP: to embed the question, to rank the memories, to build the reasons, and to
write the result as JSON. Other threads are those of the access log, and of the reader. A loop of Python and numpy that
is timed before each recall says how fast the machine is at that moment; ``loops`` is the median of a part in such
loops, which other work on the machine changes less than milliseconds.
"""

import argparse
import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time, thread_time

import numpy as np
from speed import synthetic_questions, synthetic_turns

from ecphora import E5Embedder, Memory
from ecphora.model import Vectors
from ecphora.serialize import to_json
from ecphora.server.service import encode_json

WARM_UP = 20
"""Recalls before those that are measured."""
PARTS = ("embed", "rank", "reasons", "JSON", "other threads")


class MeasuredEmbedder(E5Embedder):
    """An embedder that counts the CPU of its calls: of all threads, and of the calling one."""

    def __init__(self) -> None:
        super().__init__()
        self.process_seconds = self.thread_seconds = 0.0
        self.text_count = 0

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        process, thread = process_time(), thread_time()
        vectors = super().embed(texts, is_query=is_query)
        self.process_seconds += process_time() - process
        self.thread_seconds += thread_time() - thread
        self.text_count += len(texts)
        return vectors


def loop_seconds() -> float:
    """The CPU of a fixed loop of Python and numpy, about two milliseconds."""
    texts, numbers = {i: str(i) for i in range(1000)}, np.arange(2000.0)
    start = thread_time()
    for _ in range(6):
        sum(len(texts[i]) for i in range(1000))
        for _ in range(40):
            numbers[numbers * 2 > 5].sum()
    return thread_time() - start


def measure(memory: Memory, embedder: MeasuredEmbedder, question: str, reading: str) -> list[float]:
    """The CPU seconds of each of ``PARTS`` in one recall."""
    embedder.process_seconds = embedder.thread_seconds = 0.0
    started, times = process_time(), [thread_time()]
    found = memory.recall(question, reading=reading)
    times.append(thread_time())
    assert all(isinstance(hit.reason, str) for hit in found)
    times.append(thread_time())
    encode_json(to_json(found))
    times.append(thread_time())
    rank, reasons, json = np.diff(times).tolist()
    rank -= embedder.thread_seconds
    others = process_time() - started - embedder.process_seconds - rank - reasons - json
    return [embedder.process_seconds, rank, reasons, json, others]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=10_000)
    options.add_argument("--recalls", type=int, default=200)
    options.add_argument("--reading", default="never", help="never, auto or always")
    options.add_argument("--db", type=Path, help="a file to keep for the next run")
    arguments = options.parse_args()
    turns = synthetic_turns(arguments.turns)
    questions = synthetic_questions(turns, WARM_UP + arguments.recalls)
    with tempfile.TemporaryDirectory() as folder:
        embedder = MeasuredEmbedder()
        with Memory(arguments.db or Path(folder) / "cpu.db", embedder=embedder) as memory:
            memory.remember(turns)
            loops, rows = [], []
            for question in questions:
                loops.append(loop_seconds())
                rows.append(measure(memory, embedder, question, arguments.reading))
    seconds, loop = np.array(rows[WARM_UP:]), np.array(loops[WARM_UP:])
    print(f"{len(turns)} synthetic turns; {platform.machine()}, Python {platform.python_version()}; reading "
          f"{arguments.reading}; a loop takes {1000 * np.median(loop):.1f} ms")  # fmt: skip
    for name, values in [*zip(PARTS, seconds.T, strict=True), ("sum", seconds.sum(axis=1))]:
        print(f"{name:<14} {1000 * values.mean():6.1f} ms CPU   {np.median(values / loop):6.2f} loops")


if __name__ == "__main__":
    main()
