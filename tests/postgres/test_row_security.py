"""Nobody reaches the rows of another scope, whatever the SQL: row policies, held for the owner of the tables too."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict

from ecphora import HashingEmbedder, Memory
from ecphora.cli.main import main
from ecphora.errors import StoreReadOnly
from ecphora.stores.postgres.schema import SCHEMA
from ecphora.stores.postgres.store import PostgresStore

pytestmark = pytest.mark.medium

DIM = 64
MEND = "have the owner of its tables run: ecphora postgres --db URL --grant ROLE"
FREE = {"schema_version"}
"""Tables without rows of a scope: everybody may read them, nobody but the owner may write."""


def url_of(url: str, role: str) -> str:
    """The URL for another role."""
    head, _, tail = url.partition("@")
    return f"{head.partition('://')[0]}://{role}@{tail}"


def open_memory(store: PostgresStore | str, scope: str) -> Memory:
    return Memory(store, scope=scope, embedder=HashingEmbedder(DIM), reranker=None, update_scorer=None, zone="UTC")


@pytest.fixture(scope="module", params=[0, 4], ids=["plain", "partitions"])
def databases(request: pytest.FixtureRequest, new_database: Any) -> Iterator[dict[str, str]]:
    """The URLs of a database for a superuser, the owner of its tables, and a role that owns none."""
    url = new_database()
    name = conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, autocommit=True) as connection:
        for role in ("owner", "app", "stranger"):
            connection.execute(f"CREATE ROLE {name}_{role} LOGIN".encode())
        connection.execute(f"GRANT CREATE ON DATABASE {name} TO {name}_owner".encode())
    urls = {role: url_of(url, f"{name}_{role}") for role in ("owner", "app", "stranger")}
    partitions = ["--partitions", str(request.param)]
    with pytest.raises(SystemExit, match="0"):
        main(["postgres", "--db", urls["owner"], *partitions, "--grant", f"{name}_app"])
    with closing(PostgresStore(urls["app"])) as store:
        for scope in ("a", "b"):
            with open_memory(store, scope) as memory:
                memory.remember([f"{scope.upper()}nna Berg moved to Porto.", "Bo Lind sings in Rome."], speaker="Ana")
                memory.recall("Where does Bo Lind sing?")
                memory.consolidate()
                memory.forget(memory.remember("A secret to forget.").id)
    yield {"super": url, **urls}
    with psycopg.connect(url, autocommit=True) as connection:
        for role in ("owner", "app", "stranger"):
            connection.execute(f"DROP OWNED BY {name}_{role}".encode())
            connection.execute(f"DROP ROLE {name}_{role}".encode())


@pytest.fixture(params=["app", "owner"])
def connection(request: pytest.FixtureRequest, databases: dict[str, str]) -> Iterator[psycopg.Connection[Any]]:
    """A connection of a role, in a transaction that is rolled back."""
    with psycopg.connect(databases[request.param]) as opened:
        opened.execute("SELECT set_config('search_path', %s, true)", (SCHEMA,))
        yield opened
        opened.rollback()


def tables(connection: psycopg.Connection[Any]) -> list[tuple[str, str]]:
    """Every table of the schema with rows of scopes, partitions too, and the column that says whose a row is."""
    found = connection.execute(
        """SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE n.nspname = %s AND c.relkind IN ('r', 'p') ORDER BY 1""",
        (SCHEMA,),
    ).fetchall()
    columns = dict(
        connection.execute(
            """SELECT table_name::text, min(column_name) FROM information_schema.columns
               WHERE table_schema = %s AND column_name IN ('key', 'scope') AND data_type = 'bigint' GROUP BY 1""",
            (SCHEMA,),
        ).fetchall()
    )
    return [(name, columns[name]) for (name,) in found if name not in FREE]


def use_scope(connection: psycopg.Connection[Any], scope: str) -> int:
    """Set a transaction to a scope, and return its key."""
    connection.execute("SELECT set_config('ecphora.scope_name', %s, true)", (scope,))
    found = connection.execute("SELECT key FROM scope_name").fetchall()
    assert len(found) == 1
    connection.execute("SELECT set_config('ecphora.scope', %s, true)", (str(found[0][0]),))
    return int(found[0][0])


def count(connection: psycopg.Connection[Any], table: str) -> int:
    query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
    return int((connection.execute(query).fetchone() or (0,))[0])


def test_every_table_has_policies(databases: dict[str, str]) -> None:
    with psycopg.connect(databases["super"]) as connection:
        found = connection.execute(
            """SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity, c.relispartition,
                      (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid)
               FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = %s AND c.relkind IN ('r', 'p')""",
            (SCHEMA,),
        ).fetchall()
    assert len(found) > 14
    for name, is_forced, is_partition, policies in found:
        if name not in FREE:
            assert (name, is_forced, policies) == (name, True, 0 if is_partition else 1)


def test_without_the_setting_nothing_is_seen_or_changed(connection: psycopg.Connection[Any]) -> None:
    found = tables(connection)
    assert len(found) > 14
    for table, column in found:
        assert (table, count(connection, table)) == (table, 0)
        for statement in ("UPDATE {} SET {column} = {column}", "DELETE FROM {}"):
            changed = sql.Identifier("name" if table == "scope_name" else column)
            done = connection.execute(sql.SQL(statement).format(sql.Identifier(table), column=changed))
            assert (table, done.rowcount) == (table, 0)


def test_a_scope_shows_its_own_rows_alone(connection: psycopg.Connection[Any], databases: dict[str, str]) -> None:
    with psycopg.connect(databases["super"]) as all_rows:
        all_rows.execute("SELECT set_config('search_path', %s, false)", (SCHEMA,))
        partitions = {
            name for (name,) in all_rows.execute("SELECT relname FROM pg_class WHERE relispartition").fetchall()
        }
        for scope in ("a", "b"):
            key, seen = use_scope(connection, scope), 0
            for table, column in tables(connection):
                query = sql.SQL("SELECT count(*) FROM {} WHERE {} = %s").format(
                    sql.Identifier(table), sql.Identifier(column)
                )
                own = int((all_rows.execute(query, (key,)).fetchone() or (0,))[0])
                expected = 0 if table in partitions else own
                assert (table, count(connection, table)) == (table, expected)
                seen += expected > 0
            assert seen >= 8


def test_rows_of_another_scope_are_refused(connection: psycopg.Connection[Any]) -> None:
    other = use_scope(connection, "b")
    key = use_scope(connection, "a")
    connection.execute("SELECT set_config('ecphora.scope_name', 'a', true)")
    names = [table for table, _ in tables(connection)]
    for statement in (
        "INSERT INTO tombstone VALUES (%(other)s, 1, 'x', '')",
        "INSERT INTO cursor VALUES (%(other)s, 'x', 1, 1)",
        """INSERT INTO node (scope, seq, revision, id, kind, text, happened_at, recorded_at, position, trust,
           is_question) VALUES (%(other)s, 1000, 1, 'x', 'episode', 'x', '', '', 0, 1, 0)""",
        "UPDATE tombstone SET scope = %(other)s",
        "UPDATE scope SET key = %(other)s + 1000",
        "INSERT INTO scope (key, name) VALUES (%(other)s + 1000, 'c')",
        "INSERT INTO scope_name (name) VALUES ('c')",
        "UPDATE scope_name SET name = 'c'",
        *(["INSERT INTO tombstone_0 VALUES (%(key)s, 1, 'x', '')"] if "tombstone_0" in names else []),
    ):
        connection.execute("SAVEPOINT one")
        with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
            connection.execute(statement.encode(), {"key": key, "other": other})
        connection.execute("ROLLBACK TO one")
    for table, column in tables(connection):
        done = connection.execute(
            sql.SQL("DELETE FROM {} WHERE {} = %s").format(sql.Identifier(table), sql.Identifier(column)), (other,)
        )
        assert (table, done.rowcount) == (table, 0)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE ecphora.mine (x int)",
        "DROP TABLE ecphora.tombstone",
        "ALTER TABLE ecphora.node DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE ecphora.node NO FORCE ROW LEVEL SECURITY",
        "DROP POLICY of_scope ON ecphora.node",
        "TRUNCATE ecphora.tombstone",
        "UPDATE ecphora.schema_version SET version = 9",
        "DELETE FROM ecphora.schema_version",
    ],
)
def test_the_role_cannot_change_the_tables(databases: dict[str, str], statement: str) -> None:
    with psycopg.connect(databases["app"]) as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute(statement.encode())


def test_a_memory_works_as_that_role(databases: dict[str, str]) -> None:
    with closing(PostgresStore(databases["app"])) as store:
        with open_memory(store, "c") as memory:
            first = memory.remember("Ana lives in Porto.", speaker="Ana", metadata={"place": "Porto"})
            memory.remember("Ana lives in Rome now.", speaker="Ana")
            gone = memory.remember("Bo likes plums.")
            assert gone.id in {hit.id for hit in memory.recall("What does Bo like?")}
            memory.consolidate()
            memory.forget(gone.id)
            assert "plums" not in {word for hit in memory.recall("What does Bo like?") for word in hit.text.split()}
            assert memory.maintenance.batches()
            while memory.maintenance.batches():
                memory.maintenance.undo()
            assert first.id in {node.id for node in memory.find()}
        store.clone_scope("c", "d")
        store.rename_scope("d", "e")
        with open_memory(store, "e") as memory:
            assert memory.recall("Where does Ana live?")[0].text.startswith("Ana lives")
        assert {"a", "b", "c", "e"} == {scope.name for scope in store.scopes()}


def test_a_role_without_rights_is_told_the_mend(databases: dict[str, str], new_database: Any) -> None:
    with pytest.raises(StoreReadOnly, match=MEND):
        PostgresStore(databases["stranger"])
    role = str(conninfo_to_dict(databases["app"])["user"])
    with pytest.raises(StoreReadOnly, match=MEND):
        PostgresStore(url_of(new_database(), role))


def test_only_the_owner_grants(databases: dict[str, str]) -> None:
    stranger = str(conninfo_to_dict(databases["stranger"])["user"])
    with closing(PostgresStore(databases["app"])) as store, pytest.raises(StoreReadOnly, match="owner"):
        store.grant(stranger)
