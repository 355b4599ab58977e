"""What the client does when a server is slow, gone, refuses, or answers nonsense. The server here is scripted."""

import importlib
import io
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from ecphora import EcphoraError, InvalidInput, Node, RecallOptions, RemoteMemory, connect
from ecphora.errors import AccessDenied, ServerError, ServerUnavailable, StoreBusy
from ecphora.remote.client.server_connection import ServerConnection, check_url, error_of

from .conftest import run_server

Handler = Callable[[httpx2.Request], httpx2.Response]


def failure(status: int, kind: str, message: str = "no", **headers: str) -> httpx2.Response:
    body = {"error": {"type": kind, "message": message}}
    return httpx2.Response(
        status, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


class Script:
    """A server that gives responses in turn, the last one forever; an exception is raised instead."""

    def __init__(self, *responses: httpx2.Response | Exception | Callable[[httpx2.Request], httpx2.Response]) -> None:
        self.responses = list(responses)
        self.requests: list[httpx2.Request] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        self.requests.append(request)
        found = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        if isinstance(found, Exception):
            raise found
        return found(request) if callable(found) else found

    def memory(self, retries: int = 2) -> RemoteMemory:
        client = httpx2.Client(transport=httpx2.MockTransport(self))
        connection = ServerConnection(
            "http://server", "ecp_x", timeout=1, retries=retries, http_client=client, sleep=self.pauses.append
        )
        return RemoteMemory(connection, "default", sleep=self.pauses.append)


def ok(value: object) -> Handler:
    return lambda _request: httpx2.Response(200, content=json.dumps(value))


# ---- retries


@pytest.mark.parametrize(
    "error", [httpx2.ConnectError("refused"), httpx2.ConnectTimeout("slow"), httpx2.PoolTimeout("x")]
)
def test_request_that_was_not_sent_is_sent_again(error: Exception) -> None:
    script = Script(error, error, ok({"episode_ids": ["a"], "entity_ids": []}))
    assert script.memory().forget("a").episode_ids == ("a",)
    assert script.pauses == [0.25, 0.5]
    with pytest.raises(ServerUnavailable, match=r"http://server cannot be reached .* and that it runs: ecphora serve"):
        Script(error).memory().forget("a")


@pytest.mark.parametrize(
    "error", [httpx2.ReadError("reset"), httpx2.RemoteProtocolError("gone"), httpx2.WriteError("x")]
)
def test_lost_answer_is_asked_for_again_only_by_what_reads(error: Exception) -> None:
    reads: list[tuple[Callable[[RemoteMemory], object], object]] = [
        (lambda memory: memory.count(), 3),
        (lambda memory: memory.maintenance.batches(), []),
        (lambda memory: memory.get("a"), None),
    ]
    for read, answer in reads:
        script = Script(error, ok(answer))
        assert read(script.memory()) == answer
        assert len(script.requests) == 2
    calls: list[Callable[[RemoteMemory], object]] = [
        lambda memory: memory.remember("x"),
        lambda memory: memory.forget("x"),
        lambda memory: memory.maintenance.undo(),
        lambda memory: memory.recall("x"),  # it would be logged twice
        lambda memory: memory.maintenance.pin("x"),
    ]
    for call in calls:
        script = Script(error)
        with pytest.raises(ServerUnavailable, match="closed the connection"):
            call(script.memory())
        assert len(script.requests) == 1
    script = Script(error)
    with pytest.raises(ServerUnavailable):
        script.memory().recall("x", options=RecallOptions(log_access=False))
    assert len(script.requests) == 3


def test_time_limit_is_not_waited_for_twice() -> None:
    script = Script(httpx2.ReadTimeout("slow"))
    with pytest.raises(ServerUnavailable, match="did not answer within 1 s"):
        script.memory().count()
    assert len(script.requests) == 1


def test_refusal_for_its_rate_is_waited_out() -> None:
    script = Script(failure(429, "TooManyRequests", Retry_After="7"), failure(429, "X", Retry_After="999"), ok(None))
    script.memory().maintenance.pin("a")
    assert script.pauses == [7.0, 30.0]
    for response in (failure(429, "TooManyRequests", "wait", Retry_After="1"), failure(429, "TooManyRequests", "wait")):
        script = Script(response)
        with pytest.raises(ServerError, match="TooManyRequests: wait"):
            script.memory(retries=1).maintenance.undo()
        assert len(script.requests) == (2 if "retry-after" in response.headers else 1)


def test_busy_store_is_tried_again_only_by_what_reads() -> None:
    busy = failure(503, "StoreBusy", "locked", Retry_After="1")
    assert Script(busy, ok(3)).memory().count() == 3
    script = Script(busy, ok(None))
    with pytest.raises(StoreBusy, match=r"^locked$"):
        script.memory().remember("x")
    assert len(script.requests) == 1


def test_import_is_sent_once() -> None:
    for response in (httpx2.ConnectError("x"), failure(429, "TooManyRequests", Retry_After="1")):
        script = Script(response)
        with pytest.raises(ServerError):
            script.memory().import_(["{}"])
        assert len(script.requests) == 1


# ---- errors


def test_errors_have_their_class_and_no_others() -> None:
    for cls in (StoreBusy, InvalidInput, AccessDenied):
        assert type(error_of(cls.__name__, "x")) is cls
    for name in ("KeyError", "__builtins__", "SystemExit", "Exception", "annotations", "", "str"):
        found = error_of(name, "why")
        assert (type(found), str(found)) == (ServerError, f"{name}: why")


@pytest.mark.parametrize(
    "response",
    [
        httpx2.Response(200, text="<html>Welcome</html>"),
        httpx2.Response(200, json={"text": "no node"}),
        httpx2.Response(200, json=[1, 2]),
        httpx2.Response(404, text="<html>Not found</html>"),
        httpx2.Response(500, json={"detail": "x"}),
        httpx2.Response(502, json={"error": "x"}),
        httpx2.Response(302, headers={"Location": "http://elsewhere/"}),
        httpx2.Response(200, content=b"\xff"),
        failure(500, "InternalError"),
    ],
)
def test_answer_of_another_kind_is_a_server_error(response: httpx2.Response) -> None:
    script = Script(response)
    with pytest.raises(ServerError) as caught:
        script.memory().get("a")
    assert type(caught.value) is ServerError
    assert len(script.requests) == 1
    assert "ecp_x" not in str(caught.value)


def test_token_is_sent_to_the_server_alone() -> None:
    script = Script(httpx2.Response(307, headers={"Location": "http://elsewhere/v1/count"}))
    with pytest.raises(ServerError):
        script.memory().count()
    assert [str(request.url) for request in script.requests] == ["http://server/v1/count?scope=default"]
    assert script.requests[0].headers["authorization"] == "Bearer ecp_x"


def test_fields_of_a_newer_server_are_ignored() -> None:
    node = {
        "id": "a", "kind": "episode", "text": "x", "happened_at": "2026-01-01T00:00:00+00:00",
        "recorded_at": "2026-01-01T00:00:00+00:00", "mood": "calm",
    }  # fmt: skip
    found = Script(ok(node)).memory().get("a")
    assert isinstance(found, Node)
    assert found.text == "x"


def test_scope_is_a_parameter_of_any_text() -> None:
    script = Script(ok(0))
    connection = ServerConnection(
        "http://server/base/", None, timeout=1, retries=0, http_client=script.memory()._connection._client
    )
    RemoteMemory(connection, "a&b=c/ü ☃").count()
    assert script.requests[0].url.params["scope"] == "a&b=c/ü ☃"
    assert script.requests[0].url.path == "/base/v1/count"
    assert "authorization" not in script.requests[0].headers


# ---- the address, the token, and the package


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8765",
        "ftp://x",
        "http://",
        "http://x:port",
        "http://u:p@x",
        "http://x?a=1",
        "http://x#a",
        3,
        None,
    ],
)
def test_address_is_checked(url: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^url "):
        connect(url)


def test_address_may_have_a_path() -> None:
    assert check_url(" https://example.com:8443/memory/ ") == "https://example.com:8443/memory"
    assert check_url("http://[::1]:8765") == "http://[::1]:8765"


@pytest.mark.parametrize("options", [{"token": 3}, {"token": ""}, {"token": "a\nb"}, {"token": "ü"}, {"scope": ""},
    {"timeout": 0}, {"timeout": "1"}, {"retries": -1}, {"scope": 3}])  # fmt: skip
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        connect("http://127.0.0.1:1", **options)


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(
        ServerUnavailable, match=r"No module named 'httpx2'; install it with: pip install 'ecphora\[cli"
    ):
        connect("http://127.0.0.1:1", "ecp_x")


@pytest.mark.medium
def test_server_that_is_not_there_is_unavailable() -> None:
    with (
        connect("http://127.0.0.1:1", "ecp_x", retries=0) as memory,
        pytest.raises(ServerUnavailable, match=r"http://127.0.0.1:1 cannot be reached .*ecphora serve"),
    ):
        memory.count()


def test_closed_memory_says_so() -> None:
    memory = connect("http://127.0.0.1:1")
    memory.close()
    memory.close()
    with pytest.raises(ServerUnavailable, match="used after close"):
        memory.count()
    client = httpx2.Client(transport=httpx2.MockTransport(ok(3)))
    with connect("http://server", http_client=client) as other:
        assert other.count() == 3
    assert not client.is_closed
    client.close()


# ---- jobs


def job(state: str, **fields: Any) -> Handler:
    return ok({"id": "j", "state": state, "done": 0, "total": 4, "result": None, "error": None, **fields})


def test_consolidation_waits_for_its_job_and_reports_progress() -> None:
    script, seen = Script(ok({"job": "j"}), job("waiting", total=0), job("running", done=1), job("running", done=1),
        job("done", done=4, result={"counts": {"memories": 4}})), []  # fmt: skip
    result = script.memory().consolidate(seconds=5, progress=lambda *step: seen.append(step))
    assert result.counts == {"memories": 4}
    assert seen == [(1, 4), (4, 4)]
    assert json.loads(script.requests[0].content) == {"seconds": 5}
    assert [request.url.path for request in script.requests[1:]] == ["/v1/jobs/j"] * 4
    assert script.pauses == pytest.approx([0.05, 0.075, 0.1125])


def test_consolidation_that_failed_raises_its_error() -> None:
    error = {"type": "StoreBusy", "message": "locked"}
    with pytest.raises(StoreBusy, match=r"^locked$"):
        Script(ok({"job": "j"}), job("failed", error=error)).memory().consolidate()
    with pytest.raises(ServerError, match="the consolidation was canceled"):
        Script(ok({"job": "j"}), job("canceled")).memory().consolidate()


def test_interrupted_wait_cancels_the_job() -> None:
    def interrupt(*_step: int) -> None:
        raise KeyboardInterrupt

    script = Script(ok({"job": "j"}), job("running", done=1), job("canceled"))
    with pytest.raises(KeyboardInterrupt):
        script.memory().consolidate(progress=interrupt)
    assert script.requests[-1].url.path == "/v1/jobs/j/cancel"
    gone = Script(ok({"job": "j"}), job("running", done=1), httpx2.ConnectError("gone"))
    with pytest.raises(KeyboardInterrupt):
        gone.memory(retries=0).consolidate(progress=interrupt)


# ---- streams


class Broken(httpx2.SyncByteStream):
    """An answer that breaks off."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self.parts
        raise httpx2.ReadError("reset")

    def close(self) -> None:
        self.is_closed = True


def test_lines_end_at_line_feeds_alone() -> None:
    connection = Script(ok(0)).memory()._connection
    parts = [b"a\r", b"\nb\xe2\x80", b"\xa8c\n\n", b"", b"d\x0b\x1c", b"e\n", b"f"]
    response = httpx2.Response(200, content=iter(parts))
    assert list(connection.lines(response)) == [b"a\r", b"b\xe2\x80\xa8c", b"", b"d\x0b\x1ce", b"f"]
    assert list(connection.lines(httpx2.Response(200, content=iter([b"a\nb\n"])))) == [b"a", b"b"]


def test_answer_that_breaks_off_is_unavailable(tmp_path: Any) -> None:
    broken, out = Broken(b'{"ecphora": 1}\n', b'{"node"'), io.StringIO()
    with pytest.raises(ServerUnavailable, match="the answer broke off"):
        Script(httpx2.Response(200, stream=broken)).memory().export(out)
    assert out.getvalue() == '{"ecphora": 1}\n'
    assert broken.is_closed
    backup = httpx2.Response(200, stream=Broken(b"SQLite"), headers={"Ecphora-Episodes": "1", "Ecphora-Sha256": "0"})
    with pytest.raises(ServerUnavailable, match="broke off"):
        Script(backup).memory().backup(tmp_path / "copy.db")
    wrong = httpx2.Response(200, content=b"SQLite", headers={"Ecphora-Episodes": "1", "Ecphora-Sha256": "0"})
    with pytest.raises(ServerError, match="does not arrive as it was sent"):
        Script(wrong).memory().backup(tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_memory_is_shared_between_threads(tmp_path: Any) -> None:
    with run_server(tmp_path / "agent.db") as server, connect(server.url, server.token("t")) as memory:
        errors: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for turn in range(3):
                    memory.remember(f"Fact {number}.{turn}")
                    assert memory.recall("Fact", limit=1, options=RecallOptions(log_access=False)).hits
            except (EcphoraError, AssertionError) as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert memory.count() == 12
