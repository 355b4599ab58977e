"""The store of a memory in PostgreSQL: many scopes, many processes, many machines."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ...errors import InvalidInput, StoreBusy, StoreError, StoreReadOnly
from ...model.reprs import call_repr, show
from ...model.types import Mark, ScopeInfo, WriteBatch
from ...model.validation import check_count, check_number
from ..rows import batch_writer, scopes
from ..rows.batch_reader import pause_gc, read_changes, unchanged
from ..rows.batch_writer import KEEP_LAST, MIN_LOG_GROWTH, BatchWriter, derived_part
from ..rows.database import Database, DuplicateRow
from ..rows.scopes import SCOPE_COLUMNS, ScopeRow, check_names, duplicate_name_error
from ..rows.store import RowStore
from .schema import SCHEMA, grant, upgrade
from .session import Session
from .urls import hide_password, is_postgres_url

if TYPE_CHECKING:
    import psycopg

    from .pool import Pool

T = TypeVar("T")

WAIT_SECONDS = 20.0
"""How long a call waits for a lock, for a connection, or for a server that is being replaced."""
RETRY_SECONDS = 0.05
"""The pause before a call is tried again on another connection."""
MAX_CONNECTIONS = 8
"""The connections that one store holds at most."""
MAX_PARTITIONS = 1_024
"""The most parts that a table is divided into."""
MIN_SERVER = 16
"""The oldest version of PostgreSQL."""
MIN_SECONDS = 1.0
"""How long a call that waits for no lock waits for one of the connections."""
KEPT_COMMIT_KEYS = 1_000
"""The commits of a scope whose keys are kept."""
ALL = "all"
"""The value of ``ecphora.scope`` for work on all scopes."""
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN"
_SETTINGS = """SELECT set_config('search_path', %s, true), set_config('ecphora.scope_name', %s, true),
    set_config('ecphora.scope', %s, true), set_config('lock_timeout', %s, true),
    set_config('synchronous_commit', %s, true)"""
_FIND = f"SELECT {SCOPE_COLUMNS} FROM scope WHERE key = %s AND name = %s"  # noqa: S608


class PostgresStore(RowStore):
    """The memories of a PostgreSQL database, version 16 or later, at a URL; it needs the extra ``postgres``.

    The tables are created on first use, in a schema of their own, in so many ``partitions`` by scope (0: plain tables).
    ``wait_seconds`` is how long a call waits for another commit to the same scope, for one of ``max_connections``, or
    for a server that is away. A call whose connection is lost is tried again; a commit is done once, even if its answer
    was lost. ``keep_last`` and ``min_log_growth`` bound the access log as in :class:`~ecphora.SQLiteStore`.

    Nothing of a session is used, so it works behind a pooler in transaction mode. The URL takes libpq's parameters:
    with a replica, ``postgresql://one,two/db?target_session_attrs=read-write`` finds the server that takes writes.
    """

    def __init__(
        self,
        url: str,
        *,
        wait_seconds: float = WAIT_SECONDS,
        max_connections: int = MAX_CONNECTIONS,
        partitions: int = 0,
        keep_last: int = KEEP_LAST,
        min_log_growth: int = MIN_LOG_GROWTH,
    ) -> None:
        if not is_postgres_url(url):
            raise InvalidInput(f"url is {show(url)}; give postgresql://user@host/database")
        super().__init__(hide_password(url))
        self._wait_seconds = check_number("wait_seconds", wait_seconds, minimum=0.0)
        self._keep_last = check_count("keep_last", keep_last)
        self._min_log_growth = check_count("min_log_growth", min_log_growth)
        self._keys: dict[str, int] = {}
        self._handle: PostgresStore | None = None
        size = check_count("max_connections", max_connections)
        if check_count("partitions", partitions, minimum=0) > MAX_PARTITIONS:
            raise InvalidInput(f"partitions is {partitions}; give at most {MAX_PARTITIONS}")
        self._pool = _open_pool(url, self._place, size, partitions)

    def __repr__(self) -> str:
        return call_repr("PostgresStore", self._place)

    def close(self) -> None:
        """Close the connections; closing twice is harmless."""
        self._pool.close()

    def nonblocking_handle(self) -> "PostgresStore":
        """A second handle on the same connections, which raises ``StoreBusy`` while another writes to the scope."""
        if self._handle is None:
            handle = object.__new__(PostgresStore)
            handle.__dict__.update(self.__dict__, _wait_seconds=0.0)
            self._handle = handle
        return self._handle

    def grant(self, role: str) -> None:
        """Let a role read and write memories; it owns no table."""
        self._try_work(lambda connection: grant(connection, role))

    # ---- writing

    def commit(self, scope: str, batch: WriteBatch, /) -> WriteBatch:
        """Write all of a batch or nothing; return it as every reader will see it."""
        has_marks = any(isinstance(access.kind, Mark) for access in batch.accesses)
        durable = has_marks or batch != derived_part(batch)
        key = uuid.uuid4().hex
        attempts: list[WriteBatch] = []

        def write(session: Session, target: ScopeRow | None) -> WriteBatch:
            if target is None and not durable:  # there is nothing that was accessed
                return replace(batch, accesses=(), token_codes={})
            target = target or self._create_scope(session, scope)
            if attempts and _is_committed(session, target, key):
                return attempts[-1]
            written = BatchWriter(
                session, scope, target, batch, keep_last=self._keep_last, min_log_growth=self._min_log_growth
            ).write()
            if batch.tombstones or batch.entities or batch.undoes is not None:
                session.execute("DELETE FROM graph_snapshot WHERE scope = ?", (target.key,))
            _keep_commit_key(session, target, key)
            attempts.append(written)
            return written

        return self._transact(scope, write, writes=True, durable=durable)

    def write_graph_snapshot(self, scope: str, revision: int, value: bytes, /) -> None:
        """Keep the columns of a scope's graph, unless the scope has another revision."""
        handle = self.nonblocking_handle()
        try:
            handle._transact(  # noqa: SLF001
                scope,
                lambda db, target: batch_writer.write_snapshot(db, target, revision, value),
                writes=True,
                durable=False,
            )
        except (StoreBusy, StoreReadOnly):
            return

    def _write(self, scope: str, work: Callable[[Database, ScopeRow | None], None]) -> None:
        key = uuid.uuid4().hex

        def write(session: Session, target: ScopeRow | None) -> None:
            if target is not None and _is_committed(session, target, key):
                return
            work(session, target)
            if target is not None:
                session.execute("DELETE FROM graph_snapshot WHERE scope = ?", (target.key,))
                _keep_commit_key(session, target, key)

        self._transact(scope, write, writes=True)

    def rename_scope(self, scope: str, new_name: str, /) -> None:
        """Give a scope another name; a memory open on it has to be opened by the new one."""

        def rename(session: Session, target: ScopeRow) -> ScopeRow:
            session.execute("UPDATE scope_name SET name = ? WHERE key = ?", (new_name, target.key))
            session.execute("UPDATE scope SET name = ? WHERE key = ?", (new_name, target.key))
            return target

        self._give_name(scope, new_name, rename)

    def clone_scope(self, scope: str, new_name: str, /) -> None:
        """Copy a scope, with its log, tombstones and undo batches, to a new one."""

        def clone(session: Session, target: ScopeRow) -> ScopeRow:
            new = _insert_scope(session, new_name)
            scopes.copy_rows(session, target, new)
            return new

        self._give_name(scope, new_name, clone)

    def _give_name(self, scope: str, new_name: str, work: Callable[[Session, ScopeRow], ScopeRow]) -> None:
        """Do once what makes another scope have the new name."""
        key = uuid.uuid4().hex

        def give(session: Session, _: ScopeRow | None) -> None:
            other = _find(session, new_name)
            if other is not None and _is_committed(session, other, key):
                return
            target = check_names(scope, _find(session, scope), new_name, other)
            try:
                _keep_commit_key(session, work(session, target), key)
            except DuplicateRow as error:  # made meanwhile
                raise duplicate_name_error(new_name) from error

        self._transact(None, give, writes=True)

    # ---- reading

    def changes_since(self, scope: str, revision: int, /) -> WriteBatch:
        """Return everything committed to a scope after a revision; 0 reads the whole scope."""
        known = self._try_work(lambda connection: self._peek(connection, scope))
        if known is not None and known.revision == revision:
            return unchanged(known)  # the common case, in one round trip

        def read(session: Session, target: ScopeRow | None) -> WriteBatch:
            if target is None:
                return WriteBatch()
            if target.revision == revision:
                return unchanged(target)
            with pause_gc():
                batch, damaged = read_changes(session, target, revision, self._keep_last)
            self._warn_damaged_vectors(scope, damaged)
            return batch

        return self._transact(scope, read)

    def _peek(self, connection: "psycopg.Connection", scope: str) -> ScopeRow | None:
        """The row of a scope whose key is known, in one round trip."""
        key = self._keys.get(scope)
        if key is None:
            return None
        with connection.pipeline():  # one implicit transaction
            connection.execute(_SETTINGS, (SCHEMA, scope, str(key), "0", "on"))
            found = connection.execute(_FIND.encode(), (key, scope))
        row = found.fetchone()
        return None if row is None else ScopeRow(*row)

    def _read(self, scope: str, work: Callable[[Database, ScopeRow], T], default: T, *, streams: bool = False) -> T:
        def read(session: Session, target: ScopeRow | None) -> T:
            return default if target is None else work(session, target)

        return self._transact(scope, read, pipelines=not streams)

    def scopes(self) -> list[ScopeInfo]:
        """Return every scope that holds anything, by name."""
        return self._transact(None, lambda session, _: scopes.read_scopes(session))

    # ---- transactions

    def _transact(
        self,
        scope: str | None,
        work: Callable[[Session, ScopeRow | None], T],
        *,
        writes: bool = False,
        durable: bool = True,
        pipelines: bool = True,
    ) -> T:
        """The result of work in a transaction on one scope, or with ``None`` on all; tried again if it was lost."""

        def run(connection: "psycopg.Connection") -> T:
            # What is read is sent together, up to the first result that is fetched; a cursor on the server cannot be.
            with connection.pipeline() if pipelines and not writes else nullcontext():
                target = self._begin(connection, scope, writes=writes, durable=durable)
                result = work(Session(connection), target)
                done = connection.execute("COMMIT")
            if done.statusmessage != "COMMIT":  # the server has rolled back
                raise StoreError(f"{self._place} did not commit; try again")
            return result

        return self._try_work(run)

    def _begin(
        self, connection: "psycopg.Connection", scope: str | None, *, writes: bool, durable: bool
    ) -> ScopeRow | None:
        """Begin a transaction, and lock the row of its scope if it writes; return the row, None if there is none."""
        lock = " FOR UPDATE NOWAIT" if self._wait_seconds == 0 else " FOR UPDATE"
        find = f"{_FIND}{lock if writes else ''}".encode()
        key = self._keys.get(scope) if scope is not None else None
        visible = ALL if scope is None else str(key or "")
        timeout = str(max(int(self._wait_seconds * 1000), 1))
        with connection.pipeline():
            connection.execute(_WRITE if writes else _READ)
            connection.execute(_SETTINGS, (SCHEMA, scope or "", visible, timeout, "on" if durable else "off"))
            found = None if key is None else connection.execute(find, (key, scope))
        row = None if found is None else found.fetchone()
        if scope is not None and row is None:
            stored = connection.execute("SELECT key FROM scope_name WHERE name = %s", (scope,)).fetchone()
            if stored is None:
                self._keys.pop(scope, None)
                return None
            with connection.pipeline():
                connection.execute("SELECT set_config('ecphora.scope', %s, true)", (str(stored[0]),))
                found = connection.execute(find, (stored[0], scope))
            row = found.fetchone()
            self._keys[scope] = stored[0]
        return None if row is None else ScopeRow(*row)

    def _create_scope(self, db: Database, name: str) -> ScopeRow:
        """Create a scope, or wait for another process that creates it."""
        query = "INSERT INTO scope_name (name) VALUES (?) ON CONFLICT (name) DO NOTHING RETURNING key"
        key = db.execute(query, (name,)).get
        is_new = key is not None
        key = key if is_new else db.execute("SELECT key FROM scope_name WHERE name = ?", (name,)).get
        db.execute("SELECT set_config('ecphora.scope', ?, true)", (str(key),))
        if is_new:
            db.execute("INSERT INTO scope (key, name) VALUES (?, ?)", (key, name))
        row = db.execute(f"SELECT {SCOPE_COLUMNS} FROM scope WHERE key = ? FOR UPDATE", (key,)).fetchone()  # noqa: S608
        return ScopeRow(*row)

    def _stream(self, db: Database, sql: str, values: Sequence[Any]) -> Iterator[Any]:
        return cast("Session", db).stream(sql, values)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        import psycopg  # noqa: PLC0415  # optional

        from .failures import translate_error  # noqa: PLC0415  # needs psycopg

        try:
            yield
        except psycopg.Error as error:
            raise translate_error(error, self._place) from error

    def _try_work(self, work: "Callable[[psycopg.Connection], T]") -> T:
        """The result of work on a connection; on another one if that was lost, until the time is over."""
        import psycopg  # noqa: PLC0415  # optional

        from .failures import first_line, is_lost, translate_error  # noqa: PLC0415  # needs psycopg

        end = time.monotonic() + self._wait_seconds
        while True:
            try:
                with self._pool.connection(max(end - time.monotonic(), MIN_SECONDS)) as connection:
                    return work(connection)
            except psycopg.Error as error:
                if not is_lost(error):
                    raise translate_error(error, self._place) from error
                if time.monotonic() >= end:
                    raise StoreBusy(
                        f"{self._place} does not answer ({first_line(error)}); is it up? try again"
                    ) from error
            time.sleep(RETRY_SECONDS)


def _open_pool(url: str, place: str, size: int, partitions: int) -> "Pool":
    """The connections to a server that was found to be fit, with the tables up to date."""
    try:
        import psycopg  # noqa: PLC0415  # optional
    except ImportError as error:
        raise StoreError(f"{error}; install PostgreSQL's driver with: pip install 'ecphora[postgres]'") from error
    from .failures import translate_error  # noqa: PLC0415  # needs psycopg
    from .pool import Pool  # noqa: PLC0415

    pool = Pool(url, place, size)
    try:
        with pool.connection(MIN_SECONDS) as connection:
            version = connection.info.server_version // 10_000
            if version < MIN_SERVER:
                raise StoreError(f"{place} is PostgreSQL {version}; Ecphora needs {MIN_SERVER} or later")
            upgrade(connection, place, partitions)
    except psycopg.Error as error:
        raise translate_error(error, place) from error
    return pool


def _find(session: Session, name: str) -> ScopeRow | None:
    """The scope of a name, in a transaction for all scopes."""
    row = session.execute(f"SELECT {SCOPE_COLUMNS} FROM scope WHERE name = ? FOR UPDATE", (name,)).fetchone()  # noqa: S608
    return None if row is None else ScopeRow(*row)


def _insert_scope(session: Session, name: str) -> ScopeRow:
    """Create a scope in a transaction for all scopes."""
    key = session.execute("INSERT INTO scope_name (name) VALUES (?) RETURNING key", (name,)).get
    session.execute("INSERT INTO scope (key, name) VALUES (?, ?)", (key, name))
    return ScopeRow(key)


def _is_committed(session: Session, scope: ScopeRow, key: str) -> bool:
    """Whether an earlier attempt with this key was committed."""
    query = "SELECT 1 FROM commit_key WHERE scope = ? AND key = ?"
    return session.execute(query, (scope.key, key)).get is not None


def _keep_commit_key(session: Session, scope: ScopeRow, key: str) -> None:
    session.execute("INSERT INTO commit_key VALUES (?, ?, ?)", (scope.key, key, scope.revision + 1))
    if scope.revision % KEPT_COMMIT_KEYS == 0:
        oldest = scope.revision - KEPT_COMMIT_KEYS
        session.execute("DELETE FROM commit_key WHERE scope = ? AND revision < ?", (scope.key, oldest))
