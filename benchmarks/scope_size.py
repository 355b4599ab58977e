"""What the size of a scope costs: ``python benchmarks/scope_size.py [--turns 10000 100000]``.

For each number of turns: to open the file, the first recall, a recall, and the first recall after a write, by this
process and by another connection. Times are CPU time of the process, which other work on the machine changes less than
the clock; the package is imported and the models are loaded before. The turns are synthetic. The vector of each is the
sum of two vectors of real texts, so that 100,000 are stored in a few minutes; questions are embedded by the model.
"""

import argparse
import gc
import platform
import tempfile
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import ParamSpec
from zlib import crc32

import numpy as np
from speed import synthetic_questions, synthetic_turns

from ecphora import E5Embedder, Memory, MiniLMEmbedder
from ecphora.cli.demo.show import load_conversation
from ecphora.model.ports import Embedder
from ecphora.model.types import Vectors

QUESTIONS = 40
WRITES = 20
HEADINGS = ("turns", "open", "first", "recall", "+ own", "+ other", "kB open", "kB used")
WARM_UP = 5
"""Recalls before those that are timed."""


P = ParamSpec("P")


class SumEmbedder:
    """Gives a text the sum of two vectors of the demo's turns, chosen by its hash."""

    def __init__(self, inner: Embedder) -> None:
        self.name, self.dim = inner.name, inner.dim
        self.similarity_floor = 0.0
        self.vectors = inner.embed([one.text for one in load_conversation()])
        self.english_embedder: Embedder | None = None

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        del is_query
        codes = np.array([crc32(text.encode()) for text in texts])
        sums = self.vectors[codes % len(self.vectors)] + self.vectors[codes // 65_536 % len(self.vectors)]
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def store(path: Path, turns: int) -> None:
    """Write a file with so many turns."""
    embedder = SumEmbedder(E5Embedder())
    embedder.english_embedder = SumEmbedder(MiniLMEmbedder(adapts_questions=True))
    with Memory(path, embedder=embedder, reranker=None, zone="UTC") as memory:
        memory.remember(synthetic_turns(turns))


def cpu(call: Callable[P, object], *arguments: P.args, **named: P.kwargs) -> float:
    """The CPU milliseconds of a call."""
    started = process_time()
    call(*arguments, **named)
    return 1000 * (process_time() - started)


def resident() -> int:
    """The bytes of memory that this process holds, 0 if the system does not say."""
    gc.collect()
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4096 if status.exists() else 0


def measure(path: Path, turns: int, rerank: str) -> None:
    """Print the figures of a file."""
    questions = synthetic_questions(synthetic_turns(turns), QUESTIONS)
    before, memories = resident(), list[Memory]()

    def recall(question: str) -> None:
        assert memory.recall(question, rerank=rerank)

    def write(target: Memory, number: int) -> None:
        target.remember(f"Number {number} is about the garden behind the lock.", speaker="Wil", session="n")

    opened_ms = cpu(lambda: memories.append(Memory(path, zone="UTC")))
    (memory,) = memories
    loaded_ms = cpu(lambda: len(memory))
    opened_bytes = resident() - before
    first_ms = cpu(recall, questions[0])
    recalled_bytes = resident() - before
    for question in questions[:WARM_UP]:
        recall(question)
    plain, own, foreign = [], [], []
    with Memory(path, zone="UTC") as other:
        write(other, -1)
        write(memory, -1)
        for number, question in enumerate(questions[WARM_UP:]):
            recall(question)
            plain.append(cpu(recall, question))
            if number < WRITES:
                write(memory, number)
                own.append(cpu(recall, question))
                write(other, number)
                foreign.append(cpu(recall, question))
    memory.close()
    middle = float(np.median(plain))
    print(f"{turns:>8,} {opened_ms + loaded_ms:>8.0f} {first_ms:>8.0f} {middle:>8.1f} "
          f"{np.median(own) - middle:>8.1f} {np.median(foreign) - middle:>8.1f} "
          f"{opened_bytes / turns / 1000:>8.1f} {recalled_bytes / turns / 1000:>8.1f}", flush=True)  # fmt: skip


def measure_apart(path: Path, turns: int, rerank: str) -> None:
    """Load the models, and print the figures of a file."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "warm.db", zone="UTC") as memory:
        memory.remember("Rosa feeds the cat at nine.")
        memory.recall("When is the cat fed?", rerank=rerank)
    measure(path, turns, rerank)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--turns", type=int, nargs="+", default=[10_000, 100_000])
    options.add_argument("--rerank", default="never", help="never, auto or always")
    options.add_argument("--folder", type=Path, help="where to keep the files for the next run")
    arguments = options.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}; rerank {arguments.rerank}; ms CPU, kB a turn")
    print("".join(f"{name:>9}" for name in HEADINGS)[1:], flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for turns in arguments.turns:
            path = folder / f"{turns}.db"
            if not path.exists():
                run_apart(store, path, turns)
            run_apart(measure_apart, path, turns, arguments.rerank)


def run_apart(function: Callable[..., None], *arguments: object) -> None:
    """Run a function in a process of its own, whose memory holds nothing else."""
    process = get_context("spawn").Process(target=function, args=arguments)
    process.start()
    process.join()


if __name__ == "__main__":
    main()
