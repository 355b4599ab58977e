"""The server on Ray: the same answers as without it, also while a replica is killed."""

import os
import signal
import threading
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from .conftest import cpu_ticks, descendants, needs_ray, replica_ids, serve_on_ray

httpx2 = pytest.importorskip("httpx2")

from ecphora.errors import EcphoraError  # noqa: E402
from ecphora.remote.server.tokens import Right, Tokens  # noqa: E402
from ecphora.settings import Settings  # noqa: E402
from ecphora.testing.postgres import PostgresServer  # noqa: E402

pytestmark = needs_ray
SCOPES = 200
REPLICAS = 3
OPERATIONS = 900
CLIENTS = 8
OPTIONS = ("--embedder", "hashing", "--rate-limit", "0", "--replicas", str(REPLICAS), "--open-scopes", "80")


@pytest.fixture(params=["file", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where the memories are."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # of the tokens
    monkeypatch.setenv("ECPHORA_RERANKER", "none")
    if request.param == "file":
        yield str(tmp_path / "memory.db")
        return
    try:
        server = PostgresServer()
    except EcphoraError as error:
        pytest.skip(str(error))
    with server:
        yield server.url


def make_token(db: str) -> str:
    """A token for everything."""
    settings = Settings(store=db) if db.startswith("postgresql") else Settings(db=Path(db))
    settings.token_base.parent.mkdir(parents=True, exist_ok=True)
    return Tokens(settings.token_base).create("test", scopes="*", rights=(Right.ADMIN,))


class Load:
    """Clients that write and ask at once, and check each answer.

    ``stored`` are the texts of each scope that the server said it has written.
    """

    def __init__(self, url: str, token: str) -> None:
        self.stored: dict[str, list[str]] = defaultdict(list)
        self.wrong: list[str] = []
        self.failures: list[tuple[float, str]] = []
        self.answered_at: list[float] = []
        self.is_kill_due = threading.Event()
        self._url, self._token = url, token
        self._lock, self._turns = threading.Lock(), count()

    def run(self) -> None:
        """Send all requests."""
        workers = [threading.Thread(target=self._work) for _ in range(CLIENTS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def _work(self) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        with httpx2.Client(base_url=self._url, headers=headers, timeout=60) as client:
            try:
                while (turn := next(self._turns)) < OPERATIONS:
                    if turn == OPERATIONS // 3:
                        self.is_kill_due.set()
                    self._take_turn(client, turn)
            finally:
                self.is_kill_due.set()

    def _take_turn(self, client: Any, turn: int) -> None:
        scope = f"scope-{turn % SCOPES}"
        with self._lock:
            known = self.stored[scope][:1]
        if not known or turn % 3 == 0:
            text = f"Locker {turn} of {scope} opens with the code {7919 * turn + 1}."
            self.send(client, "remember", scope, {"content": text})
            with self._lock:
                self.stored[scope].append(text)
            return
        answer = self.send(client, "recall", scope, {"question": f"Which code opens {known[0][:12]}?", "limit": 5})
        found = [hit["text"] for hit in answer["hits"]]
        if known[0] not in found or any(f" {scope} " not in text for text in found):
            self.wrong.append(f"{scope}: {known[0]!r} is not in {found}")

    def send(self, client: Any, route: str, scope: str, body: dict[str, Any]) -> Any:
        """Send a request until it is answered; a failure must be of the form that clients know."""
        for _ in range(200):
            answer = client.post(f"/v1/{route}", params={"scope": scope}, json=body)
            if answer.status_code == 200:
                self.answered_at.append(monotonic())
                return answer.json()
            assert answer.status_code == 503, answer.text
            assert answer.headers["Retry-After"] == "1"
            self.failures.append((monotonic(), answer.json()["error"]["type"]))
        raise AssertionError(f"no answer: {self.failures[-1]}")


def test_a_replica_is_killed_under_load(db: str, tmp_path: Path) -> None:
    token = make_token(db)
    with serve_on_ray(db, *OPTIONS, folder=tmp_path) as (url, process):
        load = Load(url, token)
        runner = threading.Thread(target=load.run)
        runner.start()
        assert load.is_kill_due.wait(240)
        before = replica_ids(process.pid)
        assert len(before) == REPLICAS
        killed = max(before, key=cpu_ticks)
        os.kill(killed, signal.SIGKILL)
        killed_at = monotonic()
        runner.join()
        assert not load.wrong
        assert sum(at > killed_at for at in load.answered_at) > OPERATIONS / 3
        assert {kind for _, kind in load.failures} <= {"ServerUnavailable", "StoreBusy"}
        headers = {"Authorization": f"Bearer {token}"}
        with httpx2.Client(base_url=url, headers=headers, timeout=60) as client:
            assert len(load.stored) == SCOPES
            for scope, texts in load.stored.items():
                found = load.send(client, "find", scope, {"limit": 100})["memories"]
                assert sorted(node["text"] for node in found) == sorted(texts), scope
            deadline = monotonic() + 60
            while len(now := replica_ids(process.pid)) < REPLICAS and monotonic() < deadline:
                client.get("/health")
        assert len(now) == REPLICAS
        assert killed not in now
    assert not descendants(process.pid)
