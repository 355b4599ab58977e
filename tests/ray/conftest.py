"""A server on Ray for the tests: a process of its own, whose replicas can be killed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

_spec = find_spec("ray")
needs_ray = pytest.mark.skipif(_spec is None or _spec.origin is None, reason="Ray is not installed")


def descendants(process_id: int) -> dict[int, str]:
    """The command lines of the processes below a process, by id."""
    parents, commands = dict[int, int](), dict[int, str]()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(") ")[2].split()[1])
                commands[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
            except OSError:  # it has just ended
                continue

    def is_below(one: int) -> bool:
        while (one := parents.get(one, 0)) > 0:
            if one == process_id:
                return True
        return False

    return {one: command for one, command in commands.items() if is_below(one)}


def replica_ids(process_id: int) -> list[int]:
    """The processes of the replicas of a server."""
    return [one for one, command in descendants(process_id).items() if command.startswith("ray::ServeReplica")]


def cpu_ticks(process_id: int) -> int:
    """How much a process has worked."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(") ")[2].split()
    return int(fields[11]) + int(fields[12])


@contextmanager
def serve_on_ray(
    db: str, *options: str, environ: Mapping[str, str] | None = None, folder: Path
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The URL and the process of a server on a Ray of its own."""
    command = [sys.executable, "-m", "ecphora.cli.main", "serve", "--db", db, "--port", "0", "--ray", "local", *options]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, cwd=folder, env={**os.environ, **(environ or {})}
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("{"), line + process.stderr.read()
            yield json.loads(line)["listening"], process
        finally:
            process.terminate()
            process.communicate(timeout=60)
