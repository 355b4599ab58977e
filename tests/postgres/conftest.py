"""A PostgreSQL server for all tests of a process, or the one at ``ECPHORA_TEST_POSTGRES``; a database for each test."""

import os
import uuid
from collections.abc import Callable, Iterator

import pytest

psycopg = pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed")

from ecphora.errors import EcphoraError  # noqa: E402
from ecphora.testing.postgres import PostgresServer  # noqa: E402


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """The URL of a database whose user may create others."""
    if given := os.environ.get("ECPHORA_TEST_POSTGRES"):
        yield given
        return
    try:
        server = PostgresServer()
    except EcphoraError as error:
        pytest.skip(str(error))
    with server:
        yield server.url


@pytest.fixture(scope="session")
def new_database(server_url: str) -> Callable[[], str]:
    """Creates an empty database and returns its URL."""

    def create() -> str:
        name = f"test_{uuid.uuid4().hex}"
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        head, _, tail = server_url.rpartition("/")
        return f"{head}/{name}{tail.partition('?')[1]}{tail.partition('?')[2]}"

    return create


@pytest.fixture
def url(new_database: Callable[[], str]) -> str:
    """The URL of an empty database."""
    return new_database()
