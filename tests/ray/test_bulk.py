"""Bulk work that is killed and started again: every scope is done, and none twice."""

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic

import pytest

from ecphora import HashingEmbedder, Memory
from ecphora.maintenance.bulk import Ledger
from ecphora.stores.sqlite import SQLiteStore

from .conftest import descendants, needs_ray

SCOPES = 40
HOLD_CLUSTER = """
import sys
from ecphora.remote.ray.session import ray_session
with ray_session("local") as ray:
    print(ray.get_runtime_context().gcs_address, flush=True)
    sys.stdin.read()
"""


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a Ray cluster that outlives the job."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.communicate(timeout=60)
        assert not descendants(process.pid)


def command(db: Path, *options: str) -> list[str]:
    return [
        sys.executable, "-m", "ecphora.cli.main", "bulk", "consolidate", "--db", str(db), "--workers", "2", "--json",
        *options,
    ]  # fmt: skip


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with many scopes that were never consolidated."""
    monkeypatch.setenv("ECPHORA_RERANKER", "none")
    path = tmp_path / "memory.db"
    for number in range(SCOPES):
        with Memory(path, scope=f"scope-{number}", embedder=HashingEmbedder(), reranker=None, zone="UTC") as memory:
            memory.remember([f"Ana {number} lives in Lisbon.", f"Ana {number} moved to Porto."])
    return path


def lines(ledger: Path) -> int:
    return ledger.read_bytes().count(b"\n") if ledger.exists() else 0


def kill_and_resume(db: Path, *options: str) -> None:
    """Kill the job once some scopes are done, run it again, and check that each scope was done once."""
    ledger = db.with_name("memory.db-bulk.jsonl")
    with subprocess.Popen(command(db, *options), stdout=subprocess.DEVNULL, cwd=db.parent) as process:
        deadline = monotonic() + 120
        while lines(ledger) < SCOPES // 4 and process.poll() is None and monotonic() < deadline:
            pass
        children = descendants(process.pid)
        os.kill(process.pid, signal.SIGKILL)
    done = lines(ledger)
    assert SCOPES // 4 <= done < SCOPES
    if not options:  # a pool's processes end with their parent
        while any(Path(f"/proc/{one}").exists() for one in children):
            assert monotonic() < deadline
    said = subprocess.run(command(db, *options), capture_output=True, text=True, cwd=db.parent, check=True).stdout
    result = json.loads(said)
    assert not result["failed"]
    assert result["skipped"] == done
    assert result["done"] == SCOPES - done
    with closing(SQLiteStore(db)) as store:
        states = {info.name: str(info.revision) for info in store.scopes()}
        assert Ledger(ledger).read("consolidate") == states
        for name in states:  # consolidated once, also where the first run was killed before it said so
            assert len(store.undo_batches(name)) == 1, name
    again = json.loads(subprocess.run(command(db), capture_output=True, text=True, cwd=db.parent, check=True).stdout)
    assert (again["done"], again["skipped"]) == (0, SCOPES)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_pool_is_killed_and_resumed(db: Path) -> None:
    kill_and_resume(db)


@needs_ray
def test_a_ray_data_job_is_killed_and_resumed(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    with cluster(db.parent) as address:
        kill_and_resume(db, "--ray", address)
