"""Measure one engine, in a process of its own: ``python -m ecphora_bench.speed.measure STEP TASK``.

The step ``build`` writes the memories, ``ask`` measures. A task is the file of a :class:`Task`; ``ask`` writes an
:class:`EngineSpeed` to the task's ``result``, and both write the seconds of their work.
"""

import gc
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import TypeVar

import numpy as np

from .peers import make_engine
from .synthetic import SESSION_TURNS, Corpus, SyntheticEmbedder, vector_recall

Item = TypeVar("Item")

WARM_COUNT = 2 * SESSION_TURNS
"""Memories of the small memory that is used first, so that everything is imported before the measurement."""
WRITE_COUNT = 20
"""Writes that are timed, at most."""
PAGE_SIZE, MEGABYTE = 4096, 1e6


@dataclass(frozen=True, slots=True)
class Task:
    """What a process does. ``least_cosines`` has an entry for each of the first questions."""

    engine: str
    memories: int
    recalls: int
    seconds: float
    folder: str
    result: str
    least_cosines: Sequence[float]


@dataclass(frozen=True, slots=True)
class EngineSpeed:
    """The figures of an engine. ``cpu_p50`` is like ``ms_p50``, in milliseconds of the processor.

    ``bytes_per_memory`` is None without files; ``rebuild_s`` is None if nothing is derived that can be built alone.
    """

    ms_p50: float
    ms_p99: float
    cpu_p50: float
    bytes_per_memory: float | None
    hot_mb: float
    open_ms: float
    first_ms: float
    write_ms: float
    rebuild_s: float | None
    vector_recall: float
    recalls: int


def measure(task: Task) -> EngineSpeed:
    """Open what was built in the folder, ask, write, close and rebuild."""
    corpus, folder = Corpus(task.memories), Path(task.folder)
    questions = corpus.questions(max(task.recalls, len(task.least_cosines)))
    engine = make_engine(task.engine, SyntheticEmbedder(questions))
    _warm_up(task.engine)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    resident_before = resident_bytes()
    open_ms, _ = timed(lambda: engine.open(folder, corpus))
    first_ms, _ = timed(lambda: engine.recall(questions[0]))
    wall, cpu = _repeat(engine.recall, questions[: task.recalls], task.seconds)
    hot_mb = (resident_bytes() - resident_before) / MEGABYTE
    sample = questions[: len(task.least_cosines)]
    right = vector_recall(sample, [engine.nearest(one) for one in sample], np.array(task.least_cosines, np.float32))
    later = list(corpus.episodes(task.memories, task.memories + WRITE_COUNT))
    write_ms = percentile(_repeat(engine.write, later, task.seconds)[0], 50)
    engine.close()
    started = perf_counter()
    rebuild_s = perf_counter() - started if engine.rebuild() else None
    return EngineSpeed(
        ms_p50=percentile(wall, 50),
        ms_p99=percentile(wall, 99),
        cpu_p50=percentile(cpu, 50),
        bytes_per_memory=size / task.memories if size else None,
        hot_mb=hot_mb,
        open_ms=open_ms,
        first_ms=first_ms,
        write_ms=write_ms,
        rebuild_s=rebuild_s,
        vector_recall=right,
        recalls=len(wall),
    )


def _warm_up(name: str) -> None:
    """Use the engine once with a small memory."""
    corpus = Corpus(WARM_COUNT)
    questions = corpus.questions(2)
    engine = make_engine(name, SyntheticEmbedder(questions))
    with tempfile.TemporaryDirectory() as folder:
        engine.build(Path(folder), corpus)
        engine.open(Path(folder), corpus)
        for question in questions:
            engine.recall(question)
        for episode in corpus.episodes(WARM_COUNT, WARM_COUNT + 1):
            engine.write(episode)
        engine.close()


def _repeat(call: Callable[[Item], object], items: Sequence[Item], seconds: float) -> tuple[list[float], list[float]]:
    """The milliseconds of calls, and those of the processor; no call begins after ``seconds``, but the first does."""
    wall: list[float] = []
    cpu: list[float] = []
    ends = perf_counter() + seconds
    for item in items:
        if wall and perf_counter() > ends:
            break
        wall_ms, cpu_ms = timed(partial(call, item))
        wall.append(wall_ms)
        cpu.append(cpu_ms)
    return wall, cpu


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """The milliseconds of a call, and those that all threads of this process kept the processor busy."""
    started, started_cpu = perf_counter(), process_time()
    call()
    return 1000 * (perf_counter() - started), 1000 * (process_time() - started_cpu)


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that at least ``percent`` of 100 samples do not exceed."""
    return float(np.percentile(samples, percent, method="inverted_cdf"))


def resident_bytes() -> int:
    """The bytes of RAM that this process holds; 0 if the system does not say."""
    gc.collect()
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * PAGE_SIZE if status.exists() else 0


class NetworkForbidden(RuntimeError):
    """Something tried to reach another machine."""


def forbid_network() -> None:
    """Let no connection begin from Python code in this process, except to sockets of this machine."""

    def check(event: str, arguments: tuple[object, ...]) -> None:
        if event == "socket.getaddrinfo" or (event == "socket.connect" and isinstance(arguments[1], tuple)):
            raise NetworkForbidden(f"{event} {arguments[1:]}: a measurement sends nothing")

    sys.addaudithook(check)


def main(step: str, task_file: str) -> None:
    """Do a step of the task in a file."""
    forbid_network()
    task = Task(**json.loads(Path(task_file).read_text("utf-8")))
    if step == "build":
        make_engine(task.engine, SyntheticEmbedder()).build(Path(task.folder), Corpus(task.memories))
    else:
        Path(task.result).write_text(json.dumps(asdict(measure(task))), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
