"""Creates and upgrades the tables, plain or hash-partitioned by the scope, which leads every key, and their policies.

A transaction says in the setting ``ecphora.scope`` which scope it is for, and PostgreSQL shows and takes the rows of no
other, whatever the statement. So a mistake in a statement cannot reach another user's memories. The policies hold for
the owner of the tables too.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from ...errors import StoreError, StoreReadOnly, StoreTooNew

if TYPE_CHECKING:
    import psycopg

SCHEMA = "ecphora"
"""The PostgreSQL schema of all tables."""
_LOCK = 0x65637068
"""The advisory lock of those who create or upgrade the tables: "ecph"."""
_PARTITION = re.compile(r"/\* (PARTITION BY HASH \((\w+)\)) \*/")
_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*?)\n\)([^;]*);", re.DOTALL)
_COLUMN = re.compile(r"^    (\w+) +(BIGINT|TEXT|BYTEA|DOUBLE PRECISION)\b", re.MULTILINE)
_OWN_TABLES = ("schema_version", "scope_name")
_COUNT_TABLES = f"""SELECT count(*) FILTER (WHERE c.relname IN {_OWN_TABLES}), count(*)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s"""  # noqa: S608
"""Not ``to_regclass``, which does not see at once what another process has created."""
_IS_OF_SCOPE = "{column} = (SELECT nullif(nullif(current_setting('ecphora.scope', true), ''), 'all')::bigint)"
_IS_FOR_ALL = "(SELECT current_setting('ecphora.scope', true) = 'all')"
_IS_NAMED = "name = (SELECT current_setting('ecphora.scope_name', true))"


@cache
def load_migrations() -> list[str]:
    """The numbered schema changes, oldest first."""
    scripts = [one for one in (files(__package__) / "migrations").iterdir() if one.name.endswith(".sql")]
    return [one.read_text(encoding="utf-8") for one in sorted(scripts, key=lambda one: one.name)]


@cache
def load_column_types() -> Mapping[str, Mapping[str, str]]:
    """The type of each column by the names of its table and its own, in the table's order."""
    return {table: dict(_COLUMN.findall(body)) for one in load_migrations() for table, body, _ in _TABLE.findall(one)}


def upgrade(connection: "psycopg.Connection", place: str, partitions: int = 0) -> None:
    """Create the tables, or bring them up to date; several processes may do so at once.

    Raises ``StoreTooNew`` for tables of a later version, and ``StoreReadOnly`` if the tables are missing and the server
    takes no writes.
    """
    newest = len(load_migrations())
    version = _version(connection, place)
    if version > newest:
        raise StoreTooNew(f"{place} has format {version}, this version reads up to {newest}; upgrade ecphora")
    if version == newest:
        return
    if connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
        raise StoreReadOnly(f"{place} is a replica without Ecphora's tables; open the primary once")
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        version = _version(connection, place)
        if version == 0:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            connection.execute(f"CREATE TABLE {SCHEMA}.schema_version (version BIGINT NOT NULL)")
            connection.execute(f"INSERT INTO {SCHEMA}.schema_version VALUES (0)")  # noqa: S608
            connection.execute(f"CREATE SEQUENCE {SCHEMA}.row_number")
        connection.execute(f"SET LOCAL search_path = {SCHEMA}")
        for script in load_migrations()[version:]:
            for statement in statements(script, partitions):
                connection.execute(statement.encode())
        connection.execute("UPDATE schema_version SET version = %s", (len(load_migrations()),))


def _version(connection: "psycopg.Connection", place: str) -> int:
    """The version of the tables, 0 if there are none; raises ``StoreError`` for tables of another program."""
    own, every = connection.execute(_COUNT_TABLES, (SCHEMA,)).fetchone() or (0, 0)
    if own < len(_OWN_TABLES):
        if every:
            raise StoreError(
                f"the schema {SCHEMA} of {place} has tables of another program; give a database without it"
            )
        return 0
    row = connection.execute(f"SELECT version FROM {SCHEMA}.schema_version").fetchone()  # noqa: S608
    return 0 if row is None else int(row[0])


def statements(script: str, partitions: int) -> list[str]:
    """The statements of a migration, with its tables in so many partitions (0: plain), and their policies."""
    partitioned = re.sub(_PARTITION, r"\1" if partitions else "", script)
    found = [re.sub(r"^--.*$", "", one, flags=re.MULTILINE).strip() for one in partitioned.split(";\n")]
    made = [one for one in found if one]
    for table, _, end in _TABLE.findall(script):
        hashed = _PARTITION.search(end)
        column = hashed[2] if hashed else "key"
        if hashed:
            for number in range(partitions):  # without a policy of its own, a partition shows nothing by its own name
                part = f"{table}_{number}"
                bounds = f"FOR VALUES WITH (MODULUS {partitions}, REMAINDER {number})"
                made += [f"CREATE TABLE {part} PARTITION OF {table} {bounds}", *_guard(part)]
        visible = _IS_OF_SCOPE.format(column=column) if hashed else _IS_NAMED
        made += [*_guard(table), f"CREATE POLICY of_scope ON {table} USING ({visible} OR {_IS_FOR_ALL})"]
    return made


def _guard(table: str) -> list[str]:
    """Show nobody a row of a table that no policy shows."""
    return [f"ALTER TABLE {table} {action} ROW LEVEL SECURITY" for action in ("ENABLE", "FORCE")]


def grant(connection: "psycopg.Connection", role: str) -> None:
    """Let a role read and write memories; it owns no table, and the policies hold for it.

    Raises ``StoreReadOnly`` if the user may not grant that, which PostgreSQL only warns of.
    """
    from psycopg import sql  # noqa: PLC0415  # optional

    name = sql.Identifier(role)
    with connection.transaction():
        for statement in (
            "GRANT USAGE ON SCHEMA {schema} TO {role}",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
            "REVOKE INSERT, UPDATE, DELETE ON {schema}.schema_version FROM {role}",
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
        ):
            connection.execute(sql.SQL(statement).format(schema=sql.Identifier(SCHEMA), role=name))
        query = "SELECT has_table_privilege(%s, %s, 'INSERT')"
        granted = connection.execute(query, (role, f"{SCHEMA}.scope")).fetchone()
        if granted != (True,):
            raise StoreReadOnly(f"only the owner of the tables may let {role} use them; give the owner's URL")
