"""Many scopes in partitions, many processes, and a pooler between them and the server."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from ecphora import HashingEmbedder, Memory
from ecphora.stores.postgres.store import PostgresStore

pytestmark = pytest.mark.slow

DIM = 32
PARTS = 8
PROCESSES = 8
PER_PROCESS = 6
SETTINGS = ("ecphora.scope", "ecphora.scope_name", "search_path", "lock_timeout", "synchronous_commit")


def open_memory(store: PostgresStore | str, scope: str = "default") -> Memory:
    return Memory(store, scope=scope, embedder=HashingEmbedder(DIM), reranker=None, update_scorer=None, zone="UTC")


def use_memory(store: PostgresStore | str, scope: str) -> None:
    """Do with a memory what can be done with it."""
    with open_memory(store, scope) as memory:
        memory.remember(["Ana lives in Porto.", "Ana lives in Rome now.", "Clara sings."], speaker="Ana")
        gone = memory.remember("Bo likes plums.").id
        memory.consolidate()
        assert memory.recall("What does Bo like?")[0].id == gone
        memory.forget(gone)
        memory.remember(["Dov likes figs."])
        while memory.maintenance.batches():
            memory.maintenance.undo()
        assert "Bo likes plums." not in {node.text for node in memory.find()}
    with open_memory(store, scope) as memory:
        assert memory.recall("Who sings?")[0].text == "Clara sings."


# ---- partitions


def test_partitions_hold_the_rows_and_a_query_reads_one(url: str) -> None:
    with closing(PostgresStore(url, partitions=PARTS)) as store:
        for number in range(24):
            with open_memory(store, f"user {number}") as memory:
                memory.remember(f"User {number} lives in Porto.")
        use_memory(store, "user 0")
    with psycopg.connect(url) as connection:
        connection.execute("SET LOCAL search_path = ecphora")
        for table in ("scope", "node", "vector", "edge", "commit_key"):
            found = connection.execute(
                f"SELECT tableoid::regclass::text, count(*) FROM {table} GROUP BY 1".encode()  # noqa: S608
            )
            rows: dict[str, int] = dict(found.fetchall())
            assert len(rows) >= PARTS - 2
            assert set(rows) <= {f"{table}_{number}" for number in range(PARTS)}
        for query in (
            "SELECT * FROM node WHERE scope = 7 AND revision > 0 ORDER BY seq",
            "SELECT * FROM node WHERE scope = 7 AND id IN ('a', 'b')",
            "SELECT n.id FROM node n JOIN token_codes t ON t.scope = n.scope AND t.node = n.seq WHERE n.scope = 7",
            "SELECT * FROM scope WHERE key = 7 AND name = 'x' FOR UPDATE",
            "DELETE FROM edge WHERE scope = 7 AND provenance = 'x'",
            "DELETE FROM node WHERE scope = 7 AND seq = 1",
        ):
            plan = str(connection.execute(f"EXPLAIN (FORMAT JSON) {query}".encode()).fetchone())
            names = re.findall(r"'Relation Name': '(\w+)'", plan)
            assert len({name.rpartition("_")[2] for name in names if name not in {"edge", "node"}}) == 1, plan


# ---- many processes


def test_processes_that_create_the_tables_at_once(new_database: Callable[[], str]) -> None:
    def create(url: str) -> None:
        PostgresStore(url, partitions=2).close()

    with ThreadPoolExecutor(6) as pool:
        for _ in range(6):
            list(pool.map(create, [new_database()] * 6))


WRITER = """
import sys
from ecphora import HashingEmbedder, Memory
url, scope, name, count = sys.argv[1:]
with Memory(url, scope=scope, embedder=HashingEmbedder(32), reranker=None, update_scorer=None, zone="UTC") as memory:
    for number in range(int(count)):
        text = f"Process {name} stores fact {number}."
        memory.remember(text)
        assert text in {node.text for node in memory.find(limit=10**6)}, "its own write is not seen"
"""


@pytest.mark.parametrize("scope_count", [1, PROCESSES])
def test_processes_lose_nothing(url: str, scope_count: int) -> None:
    names = [f"scope {number}" for number in range(scope_count)]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, names[number % scope_count], str(number), str(PER_PROCESS)],
            stderr=subprocess.PIPE, text=True, env=os.environ,
        )
        for number in range(PROCESSES)
    ]  # fmt: skip
    assert [(one.communicate(timeout=120)[1], one.returncode) for one in started] == [("", 0)] * PROCESSES
    with closing(PostgresStore(url)) as store:
        found: Counter[str] = Counter()
        for scope in store.scopes():
            assert scope.revision == scope.episodes == PROCESSES * PER_PROCESS // scope_count
            with open_memory(store, scope.name) as memory:
                found += Counter(node.text for node in memory.find(limit=10**6))
    assert found == Counter(f"Process {one} stores fact {n}." for one in range(PROCESSES) for n in range(PER_PROCESS))


def test_a_write_is_read_through_another_store(url: str) -> None:
    with open_memory(url) as writer, open_memory(url) as reader:
        for number in range(10):
            written = writer.remember(f"Ana keeps parcel {number}.")
            assert written.id in {node.id for node in reader.find()}
        writer.forget(written.id)
        assert writer.count() == reader.count() == 9


# ---- a pooler


@pytest.fixture
def pooled_url(url: str, tmp_path: Path) -> Iterator[str]:
    """The URL of a database behind PgBouncer in transaction mode, with two connections for all clients."""
    program = os.environ.get("ECPHORA_TEST_PGBOUNCER") or shutil.which("pgbouncer")
    if program is None:
        pytest.skip("PgBouncer is not installed")
    parts: dict[str, Any] = dict(conninfo_to_dict(url))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    users, settings = tmp_path / "users", tmp_path / "pgbouncer.ini"
    users.write_text('"postgres" ""\n')
    settings.write_text(
        f"[databases]\n{parts['dbname']} = host={parts['host']} port={parts['port']}\n[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = trust\nauth_file = {users}\n"
        "pool_mode = transaction\ndefault_pool_size = 2\nunix_socket_dir =\n"
    )
    if is_root := os.geteuid() == 0:
        tmp_path.chmod(0o755)
        for folder in tmp_path.parents[:2]:
            folder.chmod(0o755)
    pooler = subprocess.Popen(
        [program, str(settings)], user="nobody" if is_root else None, stderr=subprocess.PIPE, text=True
    )
    try:
        assert pooler.stderr is not None
        for line in pooler.stderr:
            if "process up" in line:
                break
        else:
            pytest.fail("PgBouncer does not start")
        yield f"postgresql://postgres@127.0.0.1:{port}/{parts['dbname']}"
    finally:
        pooler.kill()
        pooler.communicate()


def test_a_pooler_in_transaction_mode(pooled_url: str, url: str) -> None:
    with closing(PostgresStore(pooled_url)) as store, ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda number: use_memory(store, f"user {number}"), range(6)))
        store.clone_scope("user 0", "copy")
        store.rename_scope("copy", "other")
        assert len(store.scopes()) == 7
    check_nothing_is_left(pooled_url)
    with closing(PostgresStore(url)) as store:
        assert len(store.scopes()) == 7


def check_nothing_is_left(url: str) -> None:
    """A client that gets a connection after Ecphora finds nothing of it."""
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        assert_clean(connection)


def assert_clean(connection: "psycopg.Connection[Any]") -> None:
    values = [
        (connection.execute("SELECT current_setting(%s, true)", (name,)).fetchone() or ("",))[0] for name in SETTINGS
    ]
    assert [value or "" for value in values] == ["", "", '"$user", public', "0", "on"]
    for query in (
        "SELECT count(*) FROM pg_prepared_statements",
        "SELECT count(*) FROM pg_cursors WHERE name <> ''",
        "SELECT count(*) FROM pg_listening_channels()",
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
        "SELECT count(*) FROM pg_class WHERE relpersistence = 't'",
    ):
        assert (query, connection.execute(query.encode()).fetchone()) == (query, (0,))


def test_nothing_stays_in_a_connection(url: str) -> None:
    with closing(PostgresStore(url, max_connections=2)) as store:
        use_memory(store, "one")
        use_memory(store, "two")
        store.clone_scope("one", "three")
        idle = list(store._pool._idle)
        assert idle
        for connection in idle:
            assert_clean(connection)
