"""A real server on a port of the loopback: one for all tests of a worker, in which each test has a scope of its own."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI

from ecphora.remote.client.remote_memory import RemoteMemory, connect
from ecphora.remote.server.access_control import AccessPolicy
from ecphora.remote.server.admission import Limits
from ecphora.remote.server.app import ServerOptions, make_app
from ecphora.remote.server.tokens import Right, Tokens
from ecphora.settings import Settings


@dataclass(frozen=True)
class Server:
    """A server that runs, and where its file is."""

    url: str
    tokens: Tokens
    db: Path
    app: FastAPI

    def token(self, name: str, *scopes: str, rights: tuple[str, ...] = tuple(Right)) -> str:
        """A new token, for these scopes or for all."""
        return self.tokens.create(name, scopes=scopes or "*", rights=rights)


@contextmanager
def run_server(db: Path, limits: Limits | None = None) -> Iterator[Server]:
    """Run a server for a file until the end of the context."""
    tokens = Tokens(db)
    options = ServerOptions(AccessPolicy(tokens), limits or Limits(requests_per_second=0), write_log=lambda _line: None)
    app = make_app(Settings(db=db, embedder="hashing"), options)
    is_started = threading.Event()

    class Started(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            is_started.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Started(uvicorn.Config(app, log_config=None, access_log=False, lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert is_started.wait(30)
            yield Server(f"http://127.0.0.1:{listener.getsockname()[1]}", tokens, db, app)
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server that tests share."""
    with run_server(tmp_path_factory.mktemp("server") / "agent.db") as running:
        yield running


@pytest.fixture
def scope(request: pytest.FixtureRequest) -> str:
    """The name of a scope that no other test uses."""
    return f"scope of {request.node.nodeid}"


@pytest.fixture
def remote(server: Server, scope: str) -> Iterator[RemoteMemory]:
    """An empty memory behind the server."""
    with connect(server.url, server.token(scope), scope) as memory:
        yield memory
