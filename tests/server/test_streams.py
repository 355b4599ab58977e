"""Streams and jobs: exports, imports, backups, and consolidation in the background."""

import sqlite3
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.types import Message

from ecphora import HashingEmbedder, Memory
from ecphora.errors import StoreClosed
from ecphora.remote.server import service as streams
from ecphora.remote.server.jobs import Job, JobProgress, Jobs, JobState
from ecphora.remote.server.open_scopes import OpenScopes
from ecphora.remote.server.service import Service, StreamResponse

from .conftest import ALL_RIGHTS, Server

NOW = datetime(2026, 5, 3, tzinfo=UTC)


@pytest.mark.medium
def test_export_can_be_imported_elsewhere(server: Server, scope: str, token: str, remembered: list[str]) -> None:
    exported = server.post("/v1/export", {"vectors": True}, token=token, scope=scope)
    assert exported.headers["content-type"] == "application/x-ndjson"
    with Memory(server.db, scope=scope, embedder=HashingEmbedder()) as memory, Path("/dev/null").open("w") as out:
        counts = memory.export(out)
    assert exported.text.count('{"node":{') == counts.nodes
    other = server.token(scope + " copy")
    parts = iter([exported.content[:100], exported.content[100:101], exported.content[101:]])
    answer = server.post("/v1/import", token=other, scope=scope + " copy", content=parts)
    assert answer.json()["nodes"] == counts.nodes
    assert answer.json()["vectors"] == len(remembered)
    again = server.post("/v1/import", token=other, scope=scope + " copy", content=exported.content)
    assert again.json()["existing"] == counts.nodes
    found = server.post("/v1/get", {"id": remembered[0]}, token=other, scope=scope + " copy").json()
    assert found["text"] == "Ana moved to Porto."


@pytest.mark.medium
def test_import_restores_what_was_forgotten_if_asked_to(
    server: Server, scope: str, token: str, remembered: list[str]
) -> None:
    exported = server.post("/v1/export", token=token, scope=scope).content
    server.post("/v1/forget", {"ids": remembered[0]}, token=token, scope=scope)
    for restore, count in (("false", 2), ("true", 3)):
        params = {"scope": scope, "restore": restore}
        headers = {"Authorization": f"Bearer {token}"}
        assert server.client.post("/v1/import", params=params, headers=headers, content=exported).status_code == 200
        assert server.post("/v1/count", token=token, scope=scope).json() == count


@pytest.mark.medium
@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "empty"), (b"nonsense\n", "line 1"), (b"\xff\n", "not UTF-8"), (b'{"ecphora": 2}\n{"node": 3}', "line 2")],
)
def test_import_that_cannot_be_read_writes_nothing(
    server: Server, scope: str, token: str, content: bytes, words: str
) -> None:
    answer = server.post("/v1/import", token=token, scope=scope, content=content)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "InvalidRecord")
    assert words in answer.json()["error"]["message"]
    assert server.post("/v1/scopes", token=token).json() == []


@pytest.mark.medium
def test_line_without_end_is_refused(server: Server, scope: str, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_LINE_BYTES", 1000)
    answer = server.post("/v1/import", token=token, scope=scope, content=iter([b"x" * 600] * 3))
    assert answer.status_code == 400
    assert "longer than 1,000 bytes" in answer.json()["error"]["message"]


@pytest.mark.slow
def test_backup_is_a_copy_of_the_file(make_server: Any, tmp_path: Path) -> None:
    with make_server() as server:
        token = server.token(rights=ALL_RIGHTS)
        server.post("/v1/remember", {"content": ["Ana moved.", "Bo moved."]}, token=token, scope="ana")
        answer = server.post("/v1/backup", token=token)
        assert answer.headers["ecphora-episodes"] == "2"
        copy = tmp_path / "copy.db"
        copy.write_bytes(answer.content)
        assert int(answer.headers["content-length"]) == len(answer.content)
        with Memory(copy, scope="ana", embedder=HashingEmbedder()) as memory:
            assert len(memory) == 2
        assert not list(server.db.parent.glob(".ecphora-backup*"))
        for rights in (("read", "write"), ("admin",)):
            limited = server.token(*(() if "admin" not in rights else ("ana",)), rights=rights)
            assert server.post("/v1/backup", token=limited).status_code == 403


# ---- streams by themselves


class Client:
    """A client of an ASGI app: what it was sent, and when it goes away."""

    def __init__(self, *, leaves_after: int | None = None, stalls: bool = False) -> None:
        self.sent: list[Message] = []
        self._leaves_after = leaves_after
        self._stalls = stalls
        self._has_left = anyio.Event()

    async def receive(self) -> Message:
        await self._has_left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self._stalls:
            await anyio.sleep_forever()
        self.sent.append(message)
        if self._leaves_after == len(self.sent):
            self._has_left.set()
            await anyio.lowlevel.checkpoint()

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


def stream(service: Service, write: Any, client: Client) -> None:
    async def run() -> None:
        await StreamResponse(service, write, token_name="x")({"type": "http"}, client.receive, client.send)  # noqa: S106  # a name

    anyio.run(run)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    def open_memory(scope: str) -> Memory:
        return Memory(tmp_path / "agent.db", scope=scope, embedder=HashingEmbedder())

    return Service(tmp_path / "agent.db", OpenScopes(open_memory, capacity=2, idle_seconds=1), threads=2)


def test_stream_sends_every_part_in_order(service: Service) -> None:
    client = Client()

    def write(write_part: Any) -> None:
        for number in range(100):
            write_part(f"{number} ".encode())

    stream(service, write, client)
    assert client.body.split() == [str(number).encode() for number in range(100)]
    assert client.sent[0]["status"] == 200
    assert client.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


def test_stream_whose_client_has_gone_ends_its_thread(service: Service) -> None:
    client, count = Client(leaves_after=3), 0

    def write(write_part: Any) -> None:
        nonlocal count
        while True:
            write_part(b"x")
            count += 1

    stream(service, write, client)  # it ends
    assert count < 20
    assert client.sent[-1]["more_body"]


def test_stream_whose_client_does_not_read_ends(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STALL_SECONDS", 0.01)
    client = Client(stalls=True)

    def write(write_part: Any) -> None:
        while True:
            write_part(b"x")

    stream(service, write, client)
    assert client.sent == []


def test_failure_before_the_first_part_is_an_answer_of_its_own(service: Service) -> None:
    client = Client()

    def write(_write_part: Any) -> None:
        raise StoreClosed("closed")

    stream(service, write, client)
    assert client.sent[0]["status"] == 503
    assert b"StoreClosed" in client.body


def test_failure_after_the_first_part_breaks_off(service: Service) -> None:
    def write(write_part: Any) -> None:
        write_part(b"first ")
        raise StoreClosed("closed")

    client = Client()
    with pytest.raises(StoreClosed):
        stream(service, write, client)
    assert client.sent[-1]["more_body"]  # so that nobody takes it for whole


# ---- jobs


def wait(job: Job, jobs: Jobs) -> None:
    """Wait until every job before has ended: they run one after the other."""
    ended = threading.Event()
    jobs.start("a scope", lambda _progress: ended.set())
    assert ended.wait(30)
    assert job.ended_at is not None


@pytest.mark.medium
def test_consolidation_is_a_job(server: Server, scope: str, token: str, remembered: list[str]) -> None:
    start = server.post("/v1/consolidate", {"seconds": 60}, token=token, scope=scope)
    assert start.status_code == 202
    path = start.headers["location"]
    assert path == f"/v1/jobs/{start.json()['job']}"
    while (job := server.get(path, token=token).json())["state"] in {"waiting", "running"}:
        pass
    assert job["state"] == "done"
    assert (job["done"], job["total"]) == (len(remembered), len(remembered))
    assert job["result"]["counts"]["memories"] == len(remembered)
    assert job["error"] is None
    assert datetime.fromisoformat(job["ended_at"]) >= datetime.fromisoformat(job["created_at"])


def test_job_that_fails_says_why(server: Server, scope: str, token: str) -> None:
    with Memory(server.db, scope=scope, embedder=HashingEmbedder(64)) as memory:
        memory.remember("Ana moved.")
    job = server.post("/v1/consolidate", {}, token=token, scope=scope).json()["job"]
    while (answer := server.get(f"/v1/jobs/{job}", token=token).json())["state"] in {"waiting", "running"}:
        pass
    assert answer["state"] == "failed"
    assert answer["error"]["type"] == "EmbedderMismatch"


@pytest.mark.medium
@pytest.mark.parametrize("body", [{"seconds": -1}, {"tokens": 0}, {"dry_run": 1}, {"nonsense": 1}, {"llm": "x"}])
def test_job_with_arguments_that_cannot_be_used_does_not_start(
    server: Server, scope: str, token: str, body: dict[str, Any]
) -> None:
    answer = server.post("/v1/consolidate", body, token=token, scope=scope)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "InvalidInput")


def test_job_is_canceled_at_its_next_step() -> None:
    jobs, is_running, may_go_on = Jobs(lambda: NOW), threading.Event(), threading.Event()
    steps = []

    def run(progress: JobProgress) -> str:
        for number in range(1, 4):
            steps.append(number)
            is_running.set()
            assert may_go_on.wait(30)
            progress(number, 3)
        return "ended"

    job = jobs.start("a scope", run)
    waiting = jobs.start("a scope", run)
    assert is_running.wait(30)
    assert (job.state, waiting.state) == (JobState.RUNNING, JobState.WAITING)
    jobs.cancel(waiting)
    jobs.cancel(job)
    assert waiting.state == JobState.CANCELED
    may_go_on.set()
    wait(job, jobs)
    assert (job.state, job.done, job.result, steps) == (JobState.CANCELED, 1, None, [1])
    counts = jobs.count_by_state()
    assert counts["canceled"] == 2
    jobs.close()
    with pytest.raises(StoreClosed):
        jobs.start("a scope", run)


def test_job_that_was_done_before_it_saw_the_cancellation_is_done() -> None:
    jobs, may_go_on = Jobs(lambda: NOW), threading.Event()

    def run(progress: JobProgress) -> str:
        assert may_go_on.wait(30)
        progress(3, 3)
        return "ended"

    job = jobs.start("a scope", run)
    job.cancel.set()
    may_go_on.set()
    wait(job, jobs)
    assert (job.state, job.result) == (JobState.DONE, "ended")
    jobs.close()


def test_unexpected_failure_of_a_job_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs(lambda: NOW)

    def run(_progress: JobProgress) -> str:
        raise ZeroDivisionError("a secret")

    job = jobs.start("a scope", run)
    wait(job, jobs)
    jobs.close()
    assert job.error is not None
    assert job.error["type"] == "InternalError"
    assert "secret" not in str(job.to_dict())
    assert "a secret" in caplog.text


@pytest.mark.slow
def test_backup_of_a_damaged_file_is_refused(make_server: Any) -> None:
    with make_server() as server:
        token = server.token(rights=ALL_RIGHTS)
        server.post("/v1/remember", {"content": "Ana moved."}, token=token)
    db: Path = server.db
    with sqlite3.connect(db) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()
    data = bytearray(db.read_bytes())
    data[5000:9000] = bytes(4000)
    with make_server(db=db) as broken:
        db.write_bytes(bytes(data))
        answer = broken.post("/v1/backup", token=token)
        assert answer.status_code in {500, 503}
        assert answer.json()["error"]["type"].startswith("Store")
