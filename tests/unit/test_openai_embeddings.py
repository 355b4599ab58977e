"""The embedder of an OpenAI-compatible server: requests, retries and wrong answers."""

import json
import ssl
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx2
import numpy as np
import pytest

from ecphora.errors import EmbedderUnavailable, InvalidInput, WrongVector
from ecphora.model.types import Vectors
from ecphora.models import http_client
from ecphora.models.embedders.minilm import MiniLMEmbedder
from ecphora.models.embedders.openai_embeddings import OpenAIEmbedder


def assert_unit(vectors: Vectors, texts: Sequence[str], dim: int) -> None:
    assert vectors.shape == (len(texts), dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.fixture(scope="session")
def model() -> MiniLMEmbedder:
    """One embedder for all tests."""
    return MiniLMEmbedder()


Response = tuple[int, dict[str, str], Any]


Reply = Callable[[dict[str, Any]], Response]


KEY = "sk-secret-123"


class Server:
    """A local server that sends the given replies, the last one repeatedly, and records requests."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(body)
                server.keys.append(self.headers["Authorization"])
                reply = server.replies.pop(0) if len(server.replies) > 1 else server.replies[0]
                status, headers, answer = reply(body)
                content = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://user:pass@127.0.0.1:{self.http.server_port}/v1/"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = Thread(target=made.http.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()


def vectors_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Vectors with the text's length as first number, in reverse order."""
    items = [{"index": place, "embedding": [len(text), 1.0, 0.0]} for place, text in enumerate(body["input"])]
    return items[::-1]


def vector_reply(body: dict[str, Any]) -> Response:
    return 200, {}, {"data": vectors_of(body)}


def fixed_reply(status: int, answer: Any, **headers: str) -> Reply:
    return lambda _: (status, {name.replace("_", "-"): value for name, value in headers.items()}, answer)


def openai(server: Server, **options: Any) -> OpenAIEmbedder:
    waits: list[float] = options.pop("waits", [])
    return OpenAIEmbedder("small", base_url=server.url, api_key=KEY, sleep=waits.append, **options)


def test_openai_sorts_by_index_and_normalizes(server: Server) -> None:
    server.replies = [vector_reply]
    texts = ["a", "bbb", "cc", "", "\ud800"]
    with closing(openai(server, batch_size=3, document_prefix="d:", query_prefix="q:")) as model:
        vectors = model.embed(texts)
        assert_unit(vectors, texts, 3)
        np.testing.assert_allclose(vectors[:, 0] / vectors[:, 1], [3, 5, 4, 2, 3], rtol=1e-5)
        model.embed(["a"], is_query=True)
        assert model.dim == 3
        assert model.coverage("我们") == 1
        assert model.embed([]).shape == (0, 3)
        assert model.name == "small@openai(d:|q:)"
    assert [body["input"] for body in server.requests] == [["d:a", "d:bbb", "d:cc"], ["d:", "d:?"], ["q:a"]]
    assert server.requests[0]["model"] == "small"
    assert server.requests[0]["encoding_format"] == "float"


@pytest.mark.medium
def test_certificates_are_read_once_for_all_clients(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    contexts: list[ssl.SSLContext] = []
    create = httpx2.create_ssl_context

    def create_counted(verify: ssl.SSLContext | bool = True, **options: Any) -> ssl.SSLContext:
        context = create(verify, **options)
        if verify is True:
            contexts.append(context)
        return context

    monkeypatch.setattr(httpx2, "create_ssl_context", create_counted)
    http_client._certificates.cache_clear()
    server.replies = [vector_reply]
    for _ in range(2):
        with closing(openai(server)) as model:
            model.embed(["a"])
    assert [context.verify_mode for context in contexts] == [ssl.CERT_REQUIRED]


def test_openai_sends_the_key_and_reads_the_dimension(server: Server) -> None:
    server.replies = [vector_reply]
    with closing(OpenAIEmbedder("small", base_url=server.url.replace("user:pass@", ""), api_key=KEY)) as model:
        assert model.dim == 3
        assert model.name == "small@openai"
        model.close()
        model.embed([""])
    assert server.keys == [f"Bearer {KEY}"] * 2
    assert server.requests[1]["input"] == [" "]


def test_openai_retries_after_429_and_5xx(server: Server) -> None:
    server.replies = [
        fixed_reply(429, "slow", Retry_After="7"),
        fixed_reply(503, {}),
        fixed_reply(500, "", Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"),
        vector_reply,
    ]
    waits: list[float] = []
    with closing(openai(server, waits=waits)) as model:
        assert_unit(model.embed(["a"]), ["a"], 3)
    assert waits == [7, 1, 2]


def test_openai_fails_after_its_retries(server: Server) -> None:
    server.replies = [fixed_reply(429, {"error": "quota"}, Retry_After="99999")]
    waits: list[float] = []
    with (
        closing(openai(server, waits=waits, retries=2)) as model,
        pytest.raises(EmbedderUnavailable, match="429 quota"),
    ):
        model.embed(["a"])
    assert waits == [60, 60]


def test_openai_retries_without_a_response(server: Server) -> None:
    server.http.shutdown()
    server.http.server_close()
    waits: list[float] = []
    with closing(openai(server, waits=waits)) as model, pytest.raises(EmbedderUnavailable, match=r"127\.0\.0\.1"):
        model.embed(["a"])
    assert waits == [0.5, 1, 2]


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"message": f"bad key {KEY}"}},
        {"error": f"bad key {KEY}"},
        {"detail": f"bad key {KEY}"},
        f"bad key {KEY}",
        f'["bad key {KEY}"]',
    ],
)
def test_openai_error_shows_the_response_without_the_key(server: Server, answer: Any) -> None:
    server.replies = [fixed_reply(401, answer)]
    with closing(openai(server)) as model, pytest.raises(EmbedderUnavailable, match=r"401.*bad key \*\*\*") as caught:
        model.embed(["a"])
    assert len(server.requests) == 1
    assert KEY not in str(caught.value)
    assert "user:pass" not in str(caught.value)
    assert KEY not in repr(model)


def numbers(*embedding: object) -> dict[str, Any]:
    return {"data": [{"index": 0, "embedding": embedding}]}


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"data": []}, WrongVector),
        ({"data": numbers(1, 0, 0)["data"] * 2}, WrongVector),
        ({"data": [{"index": 1, "embedding": [1, 0, 0]}]}, WrongVector),
        (numbers(1, 0), WrongVector),
        (numbers([1, 0, 0]), WrongVector),
        (numbers(float("nan"), 0, 0), WrongVector),
        (numbers(None, 0, 0), WrongVector),
        (numbers(float("inf"), 0, 0), WrongVector),
        (numbers(1e300, 0, 0), WrongVector),
        (numbers(0, 0, 0), WrongVector),
        (numbers("one", 0, 0), EmbedderUnavailable),
        ({"data": [{"embedding": [1, 0, 0]}]}, EmbedderUnavailable),
        ({"data": [{"index": float("inf"), "embedding": [1, 0, 0]}]}, EmbedderUnavailable),
        ({"vectors": []}, EmbedderUnavailable),
        ([], EmbedderUnavailable),
        ("<html>", EmbedderUnavailable),
    ],
)
def test_openai_rejects_invalid_responses(server: Server, answer: Any, error: type[Exception]) -> None:
    server.replies = [fixed_reply(200, answer)]
    with closing(openai(server, dim=3)) as model, pytest.raises(error, match=r"small at 127\.0\.0\.1"):
        model.embed(["a"])


def test_openai_rejects_a_changed_dimension(server: Server) -> None:
    server.replies = [vector_reply, fixed_reply(200, numbers(1, 0))]
    with closing(openai(server)) as model:
        model.embed(["a"])
        with pytest.raises(WrongVector, match="2 numbers, not 3"):
            model.embed(["a"])


@pytest.mark.parametrize(
    "options", [{"batch_size": 0}, {"retries": -1}, {"api_key": "sk-1\n"}, {"api_key": "schlüssel"}]
)
def test_openai_rejects_invalid_options(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        OpenAIEmbedder("small", **options)


@pytest.mark.parametrize("url", ["nowhere", "ftp://host", "http://host:port"])
def test_openai_does_not_retry_an_invalid_url(url: str) -> None:
    waits: list[float] = []
    with pytest.raises(EmbedderUnavailable):
        OpenAIEmbedder("small", base_url=url, sleep=waits.append).embed(["a"])
    assert not waits


def test_openai_without_httpx2_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(EmbedderUnavailable, match=r"ecphora\[openai\]"):
        OpenAIEmbedder("small").embed(["a"])
