"""Wrong addresses, servers, databases and texts: one clear error each, which never shows a password."""

import logging
import os
import subprocess
import sys
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ecphora import HashingEmbedder, Memory
from ecphora.errors import InvalidInput, InvalidText, StoreClosed, StoreError, StoreReadOnly, StoreTooNew
from ecphora.stores.postgres import store as store_module
from ecphora.stores.postgres.store import PostgresStore
from ecphora.stores.postgres.urls import database_name, hide_password
from ecphora.testing import sample_batch, sample_node
from ecphora.testing.postgres import PostgresServer

pytestmark = pytest.mark.medium

SECRET = "hunter2"  # noqa: S105  # of nobody
DIM = 32


def open_memory(store: PostgresStore | str, scope: str = "default") -> Memory:
    return Memory(store, scope=scope, embedder=HashingEmbedder(DIM), reranker=None, update_scorer=None, zone="UTC")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ana@host/db", "postgresql://ana@host/db"),
        ("postgresql://ana:hunter2@host:5/db?sslmode=require", "postgresql://ana:***@host:5/db"),
        ("postgresql://ana:a:hunter2@host/db", "postgresql://ana:***@host/db"),
        ("postgresql://ana:p?hunter2@host/db", "postgresql://ana:***@host/db"),
        ("postgresql://ana:p#hunter2@host/db", "postgresql://ana:***@host/db"),
        ("postgresql://:hunter2@host/db", "postgresql://:***@host/db"),
        ("postgresql://ana:p@hunter2@host/db", "postgresql://***"),
        ("postgresql://ana:hunter2/hunter2@host/db", "postgresql://***"),
        ("postgresql://host/db?user=ana&password=hunter2", "postgresql://host/db"),
        ("postgresql://host/db?password=p@hunter2", "postgresql://***"),
        ("postgresql:///db?host=/tmp", "postgresql:///db"),
        ("postgresql://one,two:5433/db?target_session_attrs=read-write", "postgresql://one,two:5433/db"),
        ("postgresql://[::1]:5432/db", "postgresql://[::1]:5432/db"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert hide_password(url) == shown
    assert SECRET not in database_name(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana:hunter2/x@127.0.0.1/db",
        "postgresql://ana:x@hunter2@127.0.0.1/db",
        "postgresql://ana:%hunter2@127.0.0.1/db",
        "postgresql://ana:x@127.0.0.1/db?hunter2=1",
        "postgresql://ana:x@127.0.0.1:port/db",
        "postgresql://[::1",
    ],
)
def test_a_url_that_cannot_be_read(url: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be read; give postgresql://user@host:port/database") as caught:
        PostgresStore(url)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_wrong_password_is_not_shown(server_url: str, url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = url.replace("postgres@", f"nobody_{SECRET[:2]}:{SECRET}@")
    with pytest.raises(StoreError, match=r"nobody_hu:\*\*\*@.*check the address, the user and the server") as caught:
        PostgresStore(wrong)
    assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
    with closing(PostgresStore(url.replace("postgres@", f"postgres:{SECRET}@"))) as store:  # trusted without
        with open_memory(store) as memory:
            memory.remember("Ana lives in Porto.")
            shown = f"{store!r} {memory!r}"
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {url.rpartition('/')[2]} ALLOW_CONNECTIONS false".encode())
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (url.rpartition("/")[2],)
            )
        store._wait_seconds = 0.0
        with pytest.raises(StoreError, match=r"does not answer \(.*\); is it up") as caught:
            store.scopes()
    assert SECRET not in f"{shown} {caught.value!r} {caught.value.__cause__!r} {caplog.text}"


def test_no_server_is_there() -> None:
    with pytest.raises(StoreError, match=r"refused.*check the address, the user and the server"):
        PostgresStore("postgresql://ana@127.0.0.1:1/db")


def test_an_old_server(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MIN_SERVER", 99)
    with pytest.raises(StoreError, match=r"is PostgreSQL \d+; Ecphora needs 99 or later"):
        PostgresStore(url)


def test_no_driver() -> None:
    """Without the extra, importing works and opening says what to install."""
    code = """
import sys
sys.modules["psycopg"] = None
import ecphora
try:
    ecphora.Memory("postgresql://host/db")
except ecphora.errors.StoreError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert "pip install 'ecphora[postgres]'" in done.stdout


@pytest.mark.parametrize("table", ["node (id int)", "schema_version (version text)", "scope_name (x int)"])
def test_tables_of_another_program(url: str, table: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA ecphora")
        connection.execute(f"CREATE TABLE ecphora.{table}".encode())
    with pytest.raises(StoreError, match="has tables of another program; give a database without it"):
        PostgresStore(url)
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'ecphora'").fetchone()
    assert found == (1,)


def test_tables_of_a_later_version(url: str) -> None:
    PostgresStore(url).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE ecphora.schema_version SET version = 99")
    with pytest.raises(StoreTooNew, match="format 99, this version reads up to"):
        PostgresStore(url)


@pytest.mark.parametrize(
    "options",
    [
        {"partitions": -1},
        {"partitions": 1025},
        {"partitions": "8"},
        {"max_connections": 0},
        {"wait_seconds": -1},
        {"wait_seconds": "soon"},
        {"keep_last": 0},
    ],
)
def test_wrong_options(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))):
        PostgresStore("postgresql://127.0.0.1:1/db", **options)


@pytest.mark.parametrize(
    "odd", ["a\0b", "\0", "\x10", "\x10N\x10P\0\x10", "é\u202e🜁", "'; DROP TABLE node; --", "%s ?1 ?"]
)
def test_odd_texts_come_back_as_they_were(url: str, odd: str) -> None:
    with closing(PostgresStore(url)) as store:
        store.commit(odd, sample_batch(sample_node(odd, f"text {odd} end")))
        store.clone_scope(odd, odd + "copy")
        store.rename_scope(odd + "copy", odd + "other")
    with closing(PostgresStore(url)) as store:
        assert sorted(scope.name for scope in store.scopes()) == sorted([odd, odd + "other"])
        for scope in (odd, odd + "other"):
            (node,) = store.nodes(scope, [odd])
            assert (node.id, node.text) == (odd, f"text {odd} end")
            assert [one.id for one in store.changes_since(scope, 0).nodes] == [odd]


def test_a_lone_surrogate(url: str) -> None:
    with closing(PostgresStore(url)) as store:
        with pytest.raises(InvalidText, match="lone surrogate at character 2"):
            store.commit("s", sample_batch(sample_node("a", "hi\ud800")))
        assert store.scopes() == []
        with open_memory(store) as memory, pytest.raises(InvalidText):
            memory.remember("hi\ud800")


def test_long_names_and_metadata(url: str) -> None:
    longest, text = "\U0001f701" * 512, "x" * 1_000_000
    with pytest.raises(InvalidInput, match="512 characters"):
        open_memory(url, "s" * 1_000)
    with closing(PostgresStore(url)) as store, open_memory(store, longest) as memory:
        node = memory.remember(text, id="".join(chr(0x4E00 + n) for n in range(512)), metadata={"notes": text}).id
        found = memory.get(node)
        assert found is not None
        assert found.metadata == {"notes": text}
    with closing(PostgresStore(url)) as store:
        assert [scope.name for scope in store.scopes()] == [longest]


def test_closing_twice_and_use_after_it(url: str) -> None:
    store = PostgresStore(url)
    store.close()
    store.close()
    for call in (store.scopes, lambda: store.changes_since("s", 0), lambda: store.nonblocking_handle().scopes()):
        with pytest.raises(StoreClosed, match="was closed; open a new Memory"):
            call()


def test_a_replica_is_read_and_not_written() -> None:
    with PostgresServer() as primary, primary.replica() as replica:
        with pytest.raises(StoreReadOnly, match="is a replica without Ecphora's tables; open the primary once"):
            PostgresStore(replica.url)
        with closing(PostgresStore(primary.url)) as store, open_memory(store) as memory:
            memory.remember("Ana lives in Porto.")
        with psycopg.connect(primary.url) as one, psycopg.connect(replica.url, autocommit=True) as other:
            position = one.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
            while other.execute("SELECT pg_last_wal_replay_lsn() >= %s", position).fetchone() != (True,):
                pass
        with closing(PostgresStore(replica.url)) as store, open_memory(store) as memory:
            assert memory.recall("Where does Ana live?")[0].text == "Ana lives in Porto."
            with pytest.raises(StoreReadOnly, match=r"takes no writes .* give the primary's address"):
                memory.remember("Bo lives in Rome.")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_has_connections_of_its_own(url: str) -> None:
    code = """
import os, sys
from ecphora.stores.postgres.store import PostgresStore
from ecphora.testing import sample_batch, sample_node

store = PostgresStore(sys.argv[1])
store.commit("s", sample_batch(sample_node("parent", "x")))
child = os.fork()
store.commit("s", sample_batch(sample_node("child" if child == 0 else "after", "x")))
if child == 0:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
store.commit("s", sample_batch(sample_node("last", "x")))
print(sorted(node.id for node in store.changes_since("s", 0).nodes))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, url], capture_output=True, text=True, check=False, env=os.environ, timeout=60
    )
    assert (done.stdout, done.returncode) == ("['after', 'child', 'last', 'parent']\n", 0), done.stderr
