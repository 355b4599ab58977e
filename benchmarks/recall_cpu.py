"""How much CPU each part of a recall takes: ``python benchmarks/recall_cpu.py``.

The parts are those of a recall over HTTP: to embed the question, to read candidates with each of the reranker's two
models, to rank, to build the reasons, and to write the result as JSON. The English vector of the question counts to the
ranking, and what runs beside a part, such as the thread of the access log, to that part. Before each recall its
question is embedded alone, once, with the model of the scope: the last columns count in this unit, which changes less
than milliseconds with the machine and its load.
"""

import argparse
import math
import platform
import tempfile
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from time import process_time
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from speed import dataset_turns, synthetic_questions, synthetic_turns

from ecphora import E5Embedder, Memory
from ecphora.model.json_form import to_json
from ecphora.model.ports import Passage, PassageCodes
from ecphora.model.types import Vectors
from ecphora.models.rerankers.late_interaction import LateInteractionReranker
from ecphora.remote.server.service import encode_json

WARM_UP = 20
"""Recalls before those that are measured."""
EMBED, FIRST, AGAIN = "embed", "read", "read again"
PARTS = (EMBED, FIRST, AGAIN, "rank", "reasons", "JSON")

P = ParamSpec("P")
T = TypeVar("T")


class Stopwatch:
    """The CPU seconds of each part of one recall; what a part calls that is measured too does not count to it."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)

    def measure(self, part: str, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """What a call returns, with the CPU of all threads in the meantime."""
        started, known = process_time(), sum(self.seconds.values())
        found = call(*arguments, **named)
        self.seconds[part] += process_time() - started - (sum(self.seconds.values()) - known)
        return found


class MeasuredEmbedder(E5Embedder):
    """The default embedder, measured."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        super().__init__()
        self.stopwatch = stopwatch

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        return self.stopwatch.measure(EMBED, super().embed, texts, is_query=is_query)


class MeasuredReranker(LateInteractionReranker):
    """The default reranker, measured by its models."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        super().__init__()
        self.stopwatch = stopwatch

    def score_codes(self, question: str, passages: Sequence[PassageCodes], /) -> NDArray[np.float64]:
        return self.stopwatch.measure(FIRST, super().score_codes, question, passages)

    def rescore(
        self, question: str, passages: Sequence[Passage], log_odds: NDArray[np.float64], /, *, asked_on: date
    ) -> NDArray[np.float64]:
        return self.stopwatch.measure(AGAIN, super().rescore, question, passages, log_odds, asked_on=asked_on)


def measure(memory: Memory, stopwatch: Stopwatch, question: str, rerank: str) -> list[float]:
    """The CPU seconds of each of ``PARTS`` in one recall."""
    stopwatch.seconds = dict.fromkeys(PARTS, 0.0)
    found = stopwatch.measure("rank", memory.recall, question, rerank=rerank)
    assert all(stopwatch.measure("reasons", lambda: [isinstance(hit.reason, str) for hit in found]))
    stopwatch.measure("JSON", lambda: encode_json(to_json(found)))
    return list(stopwatch.seconds.values())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=10_000)
    options.add_argument("--recalls", type=int, default=200)
    options.add_argument("--rerank", default="never", help="never, auto or always")
    options.add_argument("--db", type=Path, help="a file to keep for the next run")
    options.add_argument("--data", type=Path, help="use the turns of a benchmark set in this folder, long ones too")
    options.add_argument("--set", default="beam_100k", help="the set to use with --data")
    arguments = options.parse_args()
    if arguments.data is None:
        turns = synthetic_turns(arguments.turns)
        questions = synthetic_questions(turns, WARM_UP + arguments.recalls)
    else:
        turns, questions = dataset_turns(arguments.turns, arguments.data, [arguments.set], math.inf)
        questions = questions[: WARM_UP + arguments.recalls]
    plain, stopwatch = E5Embedder(), Stopwatch()
    embedder, reranker = MeasuredEmbedder(stopwatch), MeasuredReranker(stopwatch)
    units, rows = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(arguments.db or Path(folder) / "cpu.db", embedder=embedder, reranker=reranker, zone="UTC") as memory,
    ):
        memory.remember(turns)
        for question in questions:
            started = process_time()
            plain.embed([question], is_query=True)
            units.append(process_time() - started)
            rows.append(measure(memory, stopwatch, question, arguments.rerank))
    seconds, unit = np.array(rows[WARM_UP:]), float(np.median(units[WARM_UP:]))
    kind = "synthetic turns" if arguments.data is None else f"turns of {arguments.set}"
    print(f"{len(turns)} {kind}; {platform.machine()}, Python {platform.python_version()}; reading "
          f"{arguments.rerank}; to embed a question alone takes {1000 * unit:.1f} ms")  # fmt: skip
    print(f"{'':<14} {'ms CPU':>8} {'p50':>8} {'p95':>8}  in questions embedded")
    for name, values in [*zip(PARTS, seconds.T, strict=True), ("sum", seconds.sum(axis=1))]:
        middle, high = np.percentile(values / unit, [50, 95])
        print(f"{name:<14} {1000 * values.mean():>8.1f} {middle:>8.2f} {high:>8.2f}")


if __name__ == "__main__":
    main()
