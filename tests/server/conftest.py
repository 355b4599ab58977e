"""A server in the process, over a real file: one for all tests, in which each test has scopes of its own."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from ecphora.remote.server.access_control import AccessPolicy
from ecphora.remote.server.admission import Limits
from ecphora.remote.server.app import ServerOptions, make_app
from ecphora.remote.server.tokens import Right, Tokens
from ecphora.settings import Settings


@dataclass
class Server:
    """A server, and the lines of its access log."""

    app: FastAPI
    client: TestClient
    tokens: Tokens
    db: Path
    lines: list[str] = field(default_factory=list)
    counter: int = 0

    def token(self, *scopes: str, rights: tuple[str, ...] = ("read", "write")) -> str:
        """A new token, for these scopes or for all."""
        self.counter += 1
        return self.tokens.create(f"token {self.counter}", scopes=scopes or "*", rights=rights)

    def post(
        self, path: str, body: Any = None, *, token: str, scope: str | None = None, **options: Any
    ) -> Any:  # a response of whichever httpx starlette uses
        """The answer to a POST with a JSON body."""
        headers = {"Authorization": f"Bearer {token}", **options.pop("headers", {})}
        params = {} if scope is None else {"scope": scope}
        body = {"json": {} if body is None else body} if "content" not in options else {}
        return self.client.post(path, params=params, headers=headers, **body, **options)

    def get(self, path: str, *, token: str, **options: Any) -> Any:
        """The answer to a GET."""
        return self.client.get(path, headers={"Authorization": f"Bearer {token}"}, **options)


@pytest.fixture(scope="session")
def make_server(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Makes servers, each with a file of its own, unless it is given; each is a context."""

    @contextmanager
    def make(
        db: Path | None = None, limits: Limits | None = None, policy: Any = None, **options: Any
    ) -> Iterator[Server]:
        db = db or tmp_path_factory.mktemp("server") / "agent.db"
        tokens, lines = Tokens(db), list[str]()
        policy = policy or AccessPolicy(tokens)
        limits = limits or Limits(requests_per_second=0)
        made = ServerOptions(policy, limits, write_log=lines.append, **options)
        app = make_app(Settings(db=db, embedder="hashing"), made)
        with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
            yield Server(app, client, tokens, db, lines)

    return make


@pytest.fixture(scope="session")
def server(make_server: Callable[..., Any]) -> Iterator[Server]:
    """The server that tests share."""
    with make_server() as made:
        yield made


@pytest.fixture
def scope(request: pytest.FixtureRequest) -> str:
    """The name of a scope that no other test uses."""
    return f"scope of {request.node.nodeid}"


@pytest.fixture
def token(server: Server, scope: str) -> str:
    """A token that may read and write in the test's scope."""
    return server.token(scope)


@pytest.fixture
def remembered(server: Server, scope: str, token: str) -> list[str]:
    """The ids of three memories in the test's scope."""
    content = [
        {"text": "Ana moved to Porto.", "speaker": "Ana", "happened_at": "2026-05-03"},
        {"text": "Ana moved to Lisbon.", "speaker": "Ana", "happened_at": "2026-06-03"},
        {"text": "Bo Costa likes rain in Lisbon.", "speaker": "Bo", "metadata": {"year": 2026}},
    ]
    answer = server.post("/v1/remember", {"content": content}, token=token, scope=scope)
    ids: list[str] = answer.json()["created"]
    return ids


ALL_RIGHTS = tuple(right.value for right in Right)


def log_lines(server: Server) -> list[dict[str, Any]]:
    """The access log as JSON values."""
    return [json.loads(line) for line in server.lines]
