"""How many recalls a second one server process answers: ``python benchmarks/server_load.py``.

The server is a process of its own, over a file with synthetic turns; this process sends the questions. All questions
differ, and each is embedded by the server. ``CPU`` is the server's own time for each recall, which other work on the
machine changes less than the rate; it is read from ``/proc``, so on Linux alone.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter

import httpx2
import numpy as np
from speed import synthetic_questions, synthetic_turns

from ecphora import Memory
from ecphora.models.embedders.from_setting import PACKAGED_EMBEDDERS
from ecphora.remote.server.tokens import Tokens

WARM_UP = 20
"""Recalls before those that are timed: the model and the graph are loaded."""


@contextmanager
def serve(db: Path, *options: str) -> Iterator[tuple[str, int]]:
    """The URL and the id of a server process."""
    command = [sys.executable, "-m", "ecphora.cli.main", "serve", "--db", str(db), "--port", "0", "--rate-limit", "0"]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:  # noqa: S603  # this package's own
        assert process.stderr is not None
        drain = threading.Thread(target=process.stderr.read)  # a full pipe would stop the server
        try:
            url = json.loads(process.stderr.readline())["listening"]
            drain.start()
            yield url, process.pid
        finally:
            process.terminate()
            if drain.ident is not None:
                drain.join()


def load(url: str, token: str, bodies: Sequence[object], clients: int) -> tuple[float, list[float]]:
    """Send each body once, from several clients at once; the seconds of all and of each."""
    turn, samples, lock = count(), list[float](), threading.Lock()

    def run() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        with httpx2.Client(base_url=url, headers=headers, timeout=120) as client:
            while (number := next(turn)) < len(bodies):
                start = perf_counter()
                answer = client.post("/v1/recall", json=bodies[number])
                seconds = perf_counter() - start
                answer.raise_for_status()
                with lock:
                    samples.append(seconds)

    workers = [threading.Thread(target=run) for _ in range(clients)]
    start = perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return perf_counter() - start, samples


def cpu_seconds(process_id: int) -> float:
    """The seconds of CPU that a process has used; not a number where there is no ``/proc``."""
    try:
        fields = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(name: str, clients: int, seconds: float, samples: Sequence[float], cpu: float) -> None:
    p50, p99 = np.percentile(samples, [50, 99]) * 1000
    rate, cpu_ms = len(samples) / seconds, 1000 * cpu / len(samples)
    print(
        f"{name:<24} {clients:2} clients  {rate:6.1f} recalls/s   p50 {p50:7.1f} ms   p99 {p99:7.1f} ms   "
        f"CPU {cpu_ms:5.1f} ms",
        flush=True,
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=10_000)
    options.add_argument("--recalls", type=int, default=200, help="for each row of the result")
    options.add_argument("--clients", type=int, action="append", help="clients at once; may be repeated")
    options.add_argument("--threads", type=int, default=8, help="of the server")
    options.add_argument("--embedder", choices=PACKAGED_EMBEDDERS, default="e5")
    options.add_argument("--db", type=Path, help="a file to keep for the next run")
    arguments = options.parse_args()
    turns = synthetic_turns(arguments.turns)
    clients = arguments.clients or [1, 8]
    modes: dict[str, dict[str, object]] = {
        "rerank never": {"rerank": "never"},
        "never, without reasons": {"rerank": "never", "options": {"explain": False}},
        "rerank auto (default)": {"rerank": "auto"},
    }
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"{len(turns)} synthetic turns; {machine}, Python {platform.python_version()}; {arguments.threads} threads")
    with tempfile.TemporaryDirectory() as folder:
        db = arguments.db or Path(folder) / "load.db"
        with Memory(db, embedder=PACKAGED_EMBEDDERS[arguments.embedder](), zone="UTC") as memory:
            memory.remember(turns)
        tokens = Tokens(db)
        if any(grant.name == "load" for grant in tokens.grants()):
            tokens.revoke("load")
        token = tokens.create("load", scopes=["default"])
        questions = iter(synthetic_questions(turns, WARM_UP + arguments.recalls * len(modes) * len(clients)))
        with serve(db, "--threads", str(arguments.threads)) as (url, process_id):
            load(url, token, [{"question": next(questions)} for _ in range(WARM_UP)], 1)
            for name, arguments_of_recall in modes.items():
                for number in clients:
                    bodies = [{"question": next(questions), **arguments_of_recall} for _ in range(arguments.recalls)]
                    before = cpu_seconds(process_id)
                    result = load(url, token, bodies, number)
                    report(name, number, *result, cpu_seconds(process_id) - before)


if __name__ == "__main__":
    main()
