"""Whether equal recalls give equal results: ``python benchmarks/repeat.py [--ms N] [--questions N] [--json]``.

One memory holds texts of many people, of spaces of ``training/data/memories/many``. Its questions are asked three
times, each time in another order, at the same time of the clock and without the access log: by a fresh process on the
machine as it is, and by another one beside two processes that keep two cores busy. Printed is for how many questions
any answer differs from the first one: in the hits, their scores, contributions and reasons, the confidence, or the
number of memories read; and for how many in the first hit. ``--ms`` gives each recall a deadline for reading.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from ecphora import Memory, RecallOptions, Recollection
from ecphora.maintenance.learn.datasets import read_cases
from ecphora.testing import FakeClock

DATA = Path(__file__).parents[1] / "training" / "data" / "memories"
SET = "many"
ORDERS: tuple[Callable[[Iterable[str]], Iterable[str]], ...] = (list, lambda texts: list(texts)[::-1], sorted)
"""The orders in which the questions are asked, one for each round."""
BUSY_PROCESSES = {"idle": 0, "busy": 2}
"""The processes beside the one that recalls, by the name of the condition."""

RecallResult = tuple[object, ...]
"""All of a recollection that must not change, the hits first."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """For how many of ``questions`` an answer differs from the first one; milliseconds are medians of a recall."""

    condition: str
    questions: int
    any_differs: int
    first_hit_differs: int
    milliseconds: float
    passages_reranked: float


@dataclass(frozen=True, slots=True)
class Round:
    """The results by question, the milliseconds of each recall, and the memories read for it."""

    results: Mapping[str, RecallResult]
    milliseconds: Sequence[float]
    passages_reranked: Sequence[int]


def recall_result(found: Recollection) -> RecallResult:
    hits = tuple((hit.id, hit.score, hit.reason, hit.why.contributions) for hit in found)
    return hits, found.confidence, found.evidence, found.groups, found.cost.passages_reranked


def run_rounds(path: Path, questions: Sequence[str], milliseconds: float | None) -> list[Round]:
    """Ask all questions in each of ``ORDERS``."""
    rounds: list[Round] = []
    with Memory(path, clock=FakeClock(), zone="UTC") as memory:
        for order in ORDERS:
            results: dict[str, RecallResult] = {}
            times: list[float] = []
            counts: list[int] = []
            for question in order(questions):
                started = perf_counter()
                found = memory.recall(question, options=RecallOptions(log_access=False, rerank_ms=milliseconds))
                times.append(1000 * (perf_counter() - started))
                counts.append(found.cost.passages_reranked)
                results[question] = recall_result(found)
            rounds.append(Round(results, times, counts))
    return rounds


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def compare(condition: str, first: Mapping[str, RecallResult], rounds: Sequence[Round]) -> Comparison:
    """Compare the results of rounds with the first results."""
    others = {question: [one.results[question] for one in rounds] for question in first}
    times = sorted(time for one in rounds for time in one.milliseconds)
    counts = [count for one in rounds for count in one.passages_reranked]
    return Comparison(
        condition,
        len(first),
        sum(any(other != first[question] for other in found) for question, found in others.items()),
        sum(
            any(_first_hit(other) != _first_hit(first[question]) for other in found)
            for question, found in others.items()
        ),
        round(times[len(times) // 2], 1),
        round(sum(counts) / len(counts), 2),
    )


def _first_hit(result: RecallResult) -> object:
    hits = result[0]
    return hits[0][0] if isinstance(hits, tuple) and hits else None


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--questions", type=int, default=200)
    options.add_argument("--ms", type=float, default=None, help="milliseconds for reading; by default no deadline")
    options.add_argument("--json", action="store_true", help="print a list of objects in JSON, one for each condition")
    arguments = options.parse_args()
    cases = list(read_cases(SET, DATA, limit=arguments.questions))
    questions = list(dict.fromkeys(question.text for case in cases for question in case.questions))
    found: list[Comparison] = []
    first: Mapping[str, RecallResult] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "repeat.db"
        with Memory(path, clock=FakeClock(), zone="UTC") as memory:
            for case in cases:
                memory.remember(replace(one, id=f"{case.space}-{one.id}") for one in case.episodes)
        for condition, count in BUSY_PROCESSES.items():
            with busy_processes(count), ProcessPoolExecutor(1, get_context("spawn")) as fresh_process:
                rounds = fresh_process.submit(run_rounds, path, questions, arguments.ms).result()
            first = first or rounds[0].results
            found.append(compare(condition, first, rounds))
    if arguments.json:
        print(json.dumps([asdict(one) for one in found], indent=2))
        return
    for one in found:
        print(f"{one.condition:<5} {one.questions} questions, {len(ORDERS)} times: {one.any_differs} differ, "
              f"{one.first_hit_differs} in the first hit; {one.milliseconds:.1f} ms p50, "
              f"{one.passages_reranked:.1f} memories read")  # fmt: skip


if __name__ == "__main__":
    main()
