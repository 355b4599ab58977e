"""Recalls a second of ``ecphora serve`` without Ray and with replicas on it: ``python benchmarks/ray_serve.py``.

The memories are in one file, in scopes of synthetic turns; the clients are threads of this process. ``memory`` is the
proportional set size (PSS) of the server, or the mean of the replicas, and ``CPU`` the time of all processes for each
recall. The last figures are of a killed replica: requests that failed, and the seconds until the last of them and
until a new replica runs. Linux alone; needs the extras ``[ray,client]``.
"""

import argparse
import os
import platform
import signal
import tempfile
import threading
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from time import perf_counter

import httpx2
import numpy as np
from server_load import cpu_seconds, serve
from speed import synthetic_questions, synthetic_turns

from ecphora import Memory
from ecphora.models.embedders.from_setting import PACKAGED_EMBEDDERS
from ecphora.remote.server.tokens import Tokens


def processes_below(process_id: int) -> dict[int, str]:
    """The command lines of a process and of all processes below it, by id."""
    parents, commands = dict[int, int](), dict[int, str]()
    for folder in Path("/proc").iterdir():
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(") ")[2].split()[1])
            commands[int(folder.name)] = (folder / "cmdline").read_text()
        except (OSError, ValueError):
            continue

    def is_below(one: int) -> bool:
        while one and one != process_id:
            one = parents.get(one, 0)
        return bool(one)

    return {one: command for one, command in commands.items() if is_below(one)}


def replicas_below(process_id: int) -> list[int]:
    """The processes of the replicas of a server."""
    return [one for one, command in processes_below(process_id).items() if command.startswith("ray::ServeReplica")]


def memory_mib(process_id: int) -> float:
    """The proportional set size of a process."""
    lines = Path(f"/proc/{process_id}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


class Load:
    """The requests of several clients; ``samples`` are seconds, ``failed_at`` the times of failures."""

    def __init__(self, url: str, token: str, requests: Sequence[tuple[str, object]]) -> None:
        self.samples: list[float] = []
        self.failed_at: list[float] = []
        self._turns, self._lock = count(), threading.Lock()
        self._url, self._token, self.requests = url, token, requests

    def run(self, clients: int) -> float:
        """Send every request until it is answered; the seconds of all."""
        workers = [threading.Thread(target=self._work) for _ in range(clients)]
        start = perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return perf_counter() - start

    def _work(self) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        with httpx2.Client(base_url=self._url, headers=headers, timeout=120) as client:
            while (turn := next(self._turns)) < len(self.requests):
                scope, body = self.requests[turn]
                start = perf_counter()
                while not client.post("/v1/recall", params={"scope": scope}, json=body).is_success:
                    self.failed_at.append(perf_counter())
                with self._lock:
                    self.samples.append(perf_counter() - start)


def measure(name: str, load: Load, clients: int, process_id: int) -> None:
    """Print a row of the table."""

    def cpu() -> float:
        return sum(cpu_seconds(one) for one in processes_below(process_id))

    before = cpu()
    seconds = load.run(clients)
    spent = cpu() - before
    p50, p99 = np.percentile(load.samples, [50, 99]) * 1000
    memory = np.mean([memory_mib(one) for one in replicas_below(process_id) or [process_id]])
    print(
        f"| {name} | {len(load.samples) / seconds:.1f} | {p50:.0f} | {p99:.0f} | "
        f"{1000 * spent / len(load.samples):.0f} | {memory:.0f} |",
        flush=True,
    )


def kill_one(load: Load, clients: int, process_id: int) -> None:
    """Kill a replica under load, and print what the clients see of it."""
    before, total = replicas_below(process_id), len(load.requests)
    worker = threading.Thread(target=load.run, args=(clients,))
    worker.start()
    while len(load.samples) < total // 4:
        worker.join(0.01)
    os.kill(before[0], signal.SIGKILL)
    killed, running = perf_counter(), float("nan")
    while worker.is_alive() or (np.isnan(running) and perf_counter() < killed + 60):
        worker.join(0.05)
        if np.isnan(running) and len(set(replicas_below(process_id)) - {before[0]}) == len(before):
            running = perf_counter()
    last = max((at - killed for at in load.failed_at), default=0.0)
    print(
        f"\none of {len(before)} replicas killed under {clients} clients: {len(load.failed_at)} of {total} requests "
        f"failed once, the last {last:.2f} s after; a new process after {running - killed:.1f} s; "
        f"the slowest answer took {max(load.samples):.2f} s"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scopes", type=int, default=200)
    options.add_argument("--turns", type=int, default=20, help="of each scope")
    options.add_argument("--recalls", type=int, default=400, help="for each row of the result")
    options.add_argument("--clients", type=int, default=8)
    options.add_argument("--replicas", type=int, nargs="*", default=[1, 2, 3], help="none for no Ray")
    options.add_argument("--open-scopes", type=int, default=100)
    options.add_argument("--embedder", choices=PACKAGED_EMBEDDERS, default="e5")
    arguments = options.parse_args()
    turns = synthetic_turns(arguments.scopes * arguments.turns)
    print(
        f"{arguments.scopes} scopes of {arguments.turns} turns, {arguments.embedder}, rerank never, "
        f"{arguments.clients} clients, {arguments.open_scopes} open scopes for each process; {platform.machine()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "load.db"
        embedder = PACKAGED_EMBEDDERS[arguments.embedder]()
        for number in range(arguments.scopes):
            with Memory(db, scope=f"s{number}", embedder=embedder, zone="UTC") as memory:
                memory.remember(turns[number * arguments.turns :][: arguments.turns])
        token = Tokens(db).create("load", scopes="*")
        questions = synthetic_questions(turns, len(turns) // 2)
        numbers = count()

        def take() -> list[tuple[str, object]]:
            chosen = [next(numbers) for _ in range(arguments.recalls)]
            bodies = [{"question": f"{questions[one % len(questions)]} {one}", "rerank": "never"} for one in chosen]
            return [(f"s{one % arguments.scopes}", body) for one, body in zip(chosen, bodies, strict=True)]

        print(
            "| server | recalls/s | p50 ms | p99 ms | CPU ms | memory MiB |\n| --- | ---: | ---: | ---: | ---: | ---: |"
        )
        common = ("--open-scopes", str(arguments.open_scopes))
        with serve(db, *common) as (url, process_id):
            Load(url, token, take()).run(arguments.clients)
            measure("ecphora serve", Load(url, token, take()), arguments.clients, process_id)
        for replicas in arguments.replicas:
            with serve(db, *common, "--ray", "local", "--replicas", str(replicas)) as (url, process_id):
                Load(url, token, take()).run(arguments.clients)
                name = f"{replicas} on Ray"
                measure(name, Load(url, token, take()), arguments.clients, process_id)
                if replicas == max(arguments.replicas):
                    kill_one(Load(url, token, take()), arguments.clients, process_id)


if __name__ == "__main__":
    main()
