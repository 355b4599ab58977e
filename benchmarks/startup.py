"""The time of a short command by part: Python, NumPy, the package, opening a memory, and a whole ``ecphora recall``.

``python benchmarks/startup.py [--runs N]`` makes a memory of three texts in a temporary folder, runs each case in fresh
processes, in turn, and prints the medians of CPU time (user and system) and of wall time in milliseconds, each beside
what it adds to the case above it.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from ecphora import Memory

OPEN = "from ecphora import Memory; memory = Memory('memory.db', zone='UTC')"
RECALL = (
    "from ecphora.cli.main import main; main(['recall', '--db', 'memory.db', "
    "'--no-log-access', 'Where does Ana live?'])"
)
CASES = {
    "python": "pass",
    "import numpy": "import numpy",
    "import Memory": "from ecphora import Memory",
    "open a memory": OPEN,
    "and embed": f"{OPEN}; memory.build_query('Where does Ana live?')",
    "ecphora recall": RECALL,
}


def time_process(code: str, folder: str) -> tuple[float, float]:
    """Milliseconds of CPU time and of wall time of a process that runs some code."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=folder, stdout=subprocess.DEVNULL, check=True)  # noqa: S603
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * cpu, 1000 * wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
    with tempfile.TemporaryDirectory() as folder:
        with Memory(Path(folder) / "memory.db", zone="UTC") as memory:
            memory.remember(["Ana moved to Porto in May.", "Ana likes cats.", "The ferry leaves at nine."])
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in CASES}
        for code in CASES.values():
            time_process(code, folder)  # the first run compiles modules
        for _ in range(runs):
            for name, code in CASES.items():
                found[name].append(time_process(code, folder))
    previous = 0.0
    print(f"median of {runs} runs        CPU ms    more   wall ms")
    for name, times in found.items():
        cpu, wall = (median(column) for column in zip(*times, strict=True))
        print(f"{name:<24}{cpu:>9.0f}{cpu - previous:>8.0f}{wall:>10.0f}")
        previous = cpu


if __name__ == "__main__":
    main()
