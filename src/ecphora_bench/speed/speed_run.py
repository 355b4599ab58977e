"""Run engines at several sizes, each in processes of its own with one thread; strategies share what was built."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

from ecphora.errors import EcphoraError

from ..recall.recall_run import share_memory
from ..strategy_variants import parse_strategies
from .measure import EngineSpeed, Task
from .peers import EXACT, PEERS
from .synthetic import Corpus, nearest_cosines

SAMPLE = 50
"""Questions whose nearest memories are compared with the exact ones, at most."""
THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "LANCE_CPU_THREADS",
)
"""The environment variables that set the number of threads of the libraries to 1.

LanceDB stands still with one thread in TOKIO_WORKER_THREADS or LANCE_IO_THREADS.
"""
ERROR_LENGTH = 300


class EngineFailed(EcphoraError):
    """An engine failed, or did not finish in time."""


@dataclass(frozen=True, slots=True)
class SpeedPlan:
    """What to run. ``seconds`` bounds the recalls and the writes of an engine, ``limit_s`` each of its processes."""

    sizes: Sequence[int]
    strategies: Sequence[str]
    peers: Sequence[str]
    recalls: int
    seconds: float
    limit_s: float

    @property
    def engines(self) -> tuple[str, ...]:
        """Strategies and peers that are installed, and the comparison of all vectors between them."""
        return (*self.strategies, EXACT, *(name for name in self.peers if PEERS[name].is_installed))

    @property
    def missing_peers(self) -> tuple[str, ...]:
        """The peers that are not installed."""
        return tuple(name for name in self.peers if not PEERS[name].is_installed)

    @property
    def versions(self) -> dict[str, str]:
        """The version of the package of each peer that is installed."""
        return {name: version(PEERS[name].package) for name in self.engines if name in PEERS}


@dataclass(frozen=True, slots=True)
class SpeedRow:
    """The figures of an engine with a number of memories; None with an ``error`` if it failed or took too long.

    ``build_s`` are the seconds in which all memories were written, the start of a process included.
    """

    engine: str
    memories: int
    build_s: float | None
    speed: EngineSpeed | None
    error: str | None = None

    def to_json_line(self) -> str:
        """The row as a line of JSON, its figures beside each other."""
        fields = asdict(self)
        return json.dumps(fields | (fields.pop("speed") or {}), ensure_ascii=False)


def count_steps(plan: SpeedPlan) -> int:
    """How many steps :func:`run` will report, one a row."""
    return len(plan.sizes) * len(plan.engines)


def run(plan: SpeedPlan, tick: Callable[[int], None] = lambda _steps: None) -> Iterator[SpeedRow]:
    """Measure every engine at every size, and yield its row as soon as it is there."""
    for memories in plan.sizes:
        corpus = Corpus(memories)
        least = nearest_cosines(corpus, corpus.questions(plan.recalls)[:SAMPLE]).tolist()
        with tempfile.TemporaryDirectory() as folder:
            built = _BuiltFolders(Path(folder), plan)
            for engine in plan.engines:
                own_folder, result = built.folder / "measured", built.folder / "result.json"
                task = Task(engine, memories, plan.recalls, plan.seconds, str(own_folder), str(result), least)
                build_s = None
                try:
                    build_s = built.build(task)
                    _run_step("ask", task, plan.limit_s)
                    yield SpeedRow(engine, memories, build_s, EngineSpeed(**json.loads(result.read_text("utf-8"))))
                except EngineFailed as error:
                    yield SpeedRow(engine, memories, build_s, None, str(error))
                shutil.rmtree(own_folder, ignore_errors=True)
                tick(1)


class _BuiltFolders:
    """Builds what an engine opens, in the folder of its task. Strategies that store the same get copies of one."""

    def __init__(self, folder: Path, plan: SpeedPlan) -> None:
        self.folder, self._plan = folder, plan
        self._strategies = parse_strategies(plan.strategies)
        self._seconds: dict[str, float] = {}

    def build(self, task: Task) -> float:
        """Fill the folder of a task, and return the seconds that building took; raises ``EngineFailed``."""
        strategy = next((one for one in self._strategies if one.name == task.engine), None)
        if strategy is None:
            Path(task.folder).mkdir()
            return _run_step("build", task, self._plan.limit_s)
        first = next(one.name for one in self._strategies if share_memory(one, strategy))
        shared = self.folder / f"built {first}"
        if first not in self._seconds:
            shared.mkdir(exist_ok=True)
            self._seconds[first] = _run_step(
                "build", replace(task, engine=first, folder=str(shared)), self._plan.limit_s
            )
        shutil.copytree(shared, task.folder)
        return self._seconds[first]


def _run_step(step: str, task: Task, limit_s: float) -> float:
    """Run a step of a task in a process, and return its seconds; raises ``EngineFailed``."""
    task_file = Path(task.result).with_name("task.json")
    task_file.write_text(json.dumps(asdict(task)), "utf-8")
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "MEM0_DIR": str(task_file.parent)}
    started = perf_counter()
    try:
        done = subprocess.run(  # noqa: S603  # fixed words
            [sys.executable, "-m", f"{__package__}.measure", step, str(task_file)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise EngineFailed(f"{step}: not done in {limit_s:g} s") from error
    if done.returncode:
        raise EngineFailed(f"{step}: {done.stderr.strip()[-ERROR_LENGTH:]}")
    return perf_counter() - started
