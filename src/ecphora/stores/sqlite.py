"""A memory in one SQLite file: WAL, full durability, no extension. Any number of threads and processes may share it."""

import gc
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw

from ..errors import (
    StaleChange,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreReadOnly,
    StoreReplaced,
    StoreTooNew,
)
from ..model import (
    MARKING,
    NOTHING_EXPIRED,
    Access,
    Backup,
    Batch,
    Change,
    Edge,
    Expiry,
    Forgotten,
    Link,
    Node,
    NodeId,
    ScopeInfo,
    Superseded,
)
from ..ports import Progress
from ..reprs import call_repr
from ..validate import check_count, check_path
from . import rows
from .backup import check_target, copy
from .commit import ALL_COLUMNS, KEPT, SLACK, Commit, Scope, made
from .commit import scope as scope_of
from .open_files import OpenFiles, identity
from .resegment import NewPieces, Resegmentation
from .rows import Row, SqlValue
from .translate import translated

APPLICATION_ID = 0x65637068  # "ecph" in the file's header
WAIT = 20_000
"""Milliseconds to wait for another process's lock."""
POLL = 0.005
"""Seconds between two tries to get it."""
LONGEST_WAIT = 2**31 - 1
"""The most milliseconds that SQLite can be told to wait."""
TRIES = 10
"""How often a file is opened anew because it was replaced while it was opened."""
CHUNK = 500
"""Ids asked for in one query."""
NAMED = 10
"""Damaged vectors that a warning names."""

_log = logging.getLogger("ecphora")
_LINKS: Mapping[SqlValue, Link] = {link.value: link for link in Link}
_ACCESS_COLUMNS = ", ".join(rows.ACCESS)
_NODE_COLUMNS = ", ".join(rows.NODE)


class SQLite:
    """The store of :class:`ecphora.Memory`: one file, made on first use and readable by its owner alone.

    ``wait`` is how long to wait for another process's lock, in milliseconds. A file that may not be written is opened
    for reading; writing to it then raises ``StoreReadOnly``.

    The access log expires: whenever it has grown by ``slack`` accesses and by half, each node keeps the last ``kept``
    of each kind. All who open a file must agree on ``kept``. A log that is to stay whole does not expire.
    """

    def __init__(self, path: str | Path, *, wait: int = WAIT, kept: int = KEPT, slack: int = SLACK) -> None:
        self.path = check_path("path", path)
        self._where = self.path.absolute()
        self._wait = min(check_count("wait", wait, least=0), LONGEST_WAIT)
        self._kept, self._slack = check_count("kept", kept), check_count("slack", slack)
        self._lock = threading.RLock()
        self._db: apsw.Connection | None = None
        self._second: SQLite | None = None
        self._warned: set[tuple[str, NodeId]] = set()
        with self._translated():
            self._db, self.read_only, self._files = _held(self._where, self._wait)

    def __repr__(self) -> str:
        return call_repr("SQLite", str(self.path))

    def close(self) -> None:
        """Let go of the file; closing twice is harmless."""
        with self._lock:
            if self._second is not None:
                self._second.close()
            if self._db is not None:
                self._leave()
                self._db.close()
                self._db = None

    def second_handle(self) -> "SQLite":
        """A handle with a connection of its own that waits for no lock; opened once, closed with this one.

        What is written through it holds up no reader of this one. Its writes raise ``StoreBusy`` at once.
        """
        with self._lock, self._translated():
            self._connection()
            if self._second is None:
                self._second = SQLite(self._where, wait=0, kept=self._kept, slack=self._slack)
            self._check_in_place()  # both have the same file open
            return self._second

    # ---- writing

    def commit(self, scope: str, change: Change, /) -> Change:
        """Write all of a change or nothing; return it as every reader will see it."""
        if self.read_only:
            raise self._not_writable()
        # That something was recalled must survive a crash of the process, not of the machine: no wait for the disk.
        marked = any(access.touch in MARKING for access in change.accesses)
        durable = marked or change != Change(accesses=change.accesses, whole_log=change.whole_log)
        with self._transaction("IMMEDIATE", durable=durable) as db:
            target = scope_of(db, scope) or made(db, scope)
            written = Commit(db, scope, target, change, kept=self._kept, slack=self._slack).write()
        if change.forgotten:
            self._settle()
        return written

    def _settle(self) -> None:
        """Move the log into the file and empty it, so that no copy of what was erased stays in it."""
        # While another process still reads, the log stays; that process's next checkpoint empties it.
        with self._lock, self._translated(), suppress(apsw.BusyError):
            self._connection().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    # ---- reading

    def changes(self, scope: str, since: int, /) -> Change:
        """Everything committed to a scope after a revision; 0 reads the whole scope."""
        with self._lock, self._translated():
            # A graph that is up to date is the common case: one indexed look-up, no transaction.
            known = scope_of(self._connection(), scope)
            self._check_in_place()
        if known is None or known.revision == since:
            return Change(revision=since if known else 0, embedder=known.embedder if known else None)
        with self._transaction("DEFERRED") as db, _collected_later():
            target = scope_of(db, scope)
            if target is None:
                return Change()
            change, damaged = _changes(db, target, since, self._kept)
        self._warn(scope, damaged)
        return change

    def _warn(self, scope: str, damaged: Iterable[NodeId]) -> None:
        """Log once which memories are taken for such as have no vector, because theirs is damaged."""
        new = [node for node in damaged if (scope, node) not in self._warned]
        self._warned.update((scope, node) for node in new)
        if new:
            named = ", ".join(map(repr, new[:NAMED])) + (f" and {len(new) - NAMED:,} more" if len(new) > NAMED else "")
            _log.warning(
                "%s: scope %r has %d damaged vectors, left aside until ecphora doctor --fix makes them anew: %s",
                self.path, scope, len(new), named,
            )  # fmt: skip

    def nodes(self, scope: str, ids: Sequence[NodeId], /) -> list[Node]:
        """The nodes of these ids, in their order; those that are not there are left out."""
        found: dict[NodeId, Node] = {}
        with self._transaction("DEFERRED") as db:
            target = scope_of(db, scope)
            if target is None:
                return []
            for some in _chunks(list(dict.fromkeys(ids))):
                marks = ", ".join("?" * len(some))
                query = f"SELECT {_NODE_COLUMNS} FROM node WHERE scope = ? AND id IN ({marks})"  # noqa: S608
                found.update((node.id, node) for node in map(rows.node, db.execute(query, (target.key, *some))))
                ends = db.execute(
                    f"""SELECT n.id, s.valid_to FROM superseded s JOIN node n ON n.scope = s.scope AND n.seq = s.node
                        WHERE s.scope = ? AND n.id IN ({marks}) ORDER BY s.revision""",  # noqa: S608
                    (target.key, *some),
                )
                for id_, valid_to in ends:
                    until = rows.time(valid_to, f"an end of node {id_!r}")
                    found[str(id_)] = replace(found[str(id_)], valid_to=until)
        return [found[id_] for id_ in ids if id_ in found]

    def scopes(self) -> list[ScopeInfo]:
        """Every scope that holds anything, by name."""
        query = """SELECT s.name, s.revision, s.embedder, count(n.seq) FROM scope s
                   LEFT JOIN node n ON n.scope = s.key AND n.kind = 'episode' GROUP BY s.key ORDER BY s.name"""
        with self._lock, self._translated():
            found = self._connection().execute(query).fetchall()
        return [
            ScopeInfo(str(name), int(revision or 0), int(episodes or 0), None if embedder is None else str(embedder))
            for name, revision, embedder, episodes in found
        ]

    def batches(self, scope: str, /) -> list[Batch]:
        """The runs of consolidation that can be undone, oldest first."""
        with self._transaction("DEFERRED") as db:
            target = scope_of(db, scope)
            query = "SELECT id, at, wrote FROM batch WHERE scope = ? ORDER BY revision"
            found: dict[str, Batch] = {}
            for id_, at, wrote in db.execute(query, (-1 if target is None else target.key,)):
                known = found.get(str(id_))
                parts = json.loads(str(wrote))
                whole = {name: parts.get(name, 0) + (known.wrote.get(name, 0) if known else 0) for name in parts}
                found[str(id_)] = Batch(str(id_), rows.time(at, f"batch {id_!r}"), whole)
            return list(found.values())

    def lacking(self, scope: str, model: str, /, *, limit: int) -> list[NodeId]:
        """Some nodes that have a vector, but none of this model: what a change of model has still to do."""
        query = """SELECT n.id FROM vector v JOIN node n ON n.scope = v.scope AND n.seq = v.node
                   WHERE v.scope = ?1 AND v.model = ?2
                     AND NOT EXISTS (SELECT 1 FROM vector w WHERE w.scope = ?1 AND w.model = ?3 AND w.node = v.node)
                   ORDER BY v.node LIMIT ?4"""
        with self._transaction("DEFERRED") as db:
            target = scope_of(db, scope)
            if target is None or target.embedder in {None, model}:
                return []
            return [str(id_) for (id_,) in db.execute(query, (target.key, target.embedder, model, limit))]

    def documents(self, scope: str, /) -> Mapping[NodeId, Sequence[NodeId]]:
        """The ids of the pieces of every text that is stored in pieces, by the text's id, in their order."""
        query = (
            "SELECT document, id FROM node WHERE scope = ? AND document IS NOT NULL ORDER BY document, position, seq"
        )
        found: dict[NodeId, list[NodeId]] = {}
        with self._transaction("DEFERRED") as db:
            target = scope_of(db, scope)
            for document, piece in db.execute(query, (target.key,)) if target else ():
                found.setdefault(str(document), []).append(str(piece))
        return found

    def resegment(self, scope: str, texts: Sequence[NewPieces], /) -> None:
        """Put other pieces in the place of those that some texts are stored in: of all of them, or of none.

        Raises ``StaleChange`` if any of them is not stored any more as it was read.
        """
        if self.read_only:
            raise self._not_writable()
        with self._transaction("IMMEDIATE") as db:
            target = scope_of(db, scope)
            if target is None:
                raise StaleChange(f"there is no scope {scope!r} any more")
            Resegmentation(db, target).write(texts)

    def _not_writable(self) -> StoreReadOnly:
        return StoreReadOnly(
            f"{self.path} may not be written; give its owner write access, to its folder too, or copy it"
        )

    def backup(self, path: str | Path, /, *, overwrite: bool = False, progress: Progress | None = None) -> Backup:
        """Copy the file as it stands to a path, verified, while this and other processes go on using it.

        The copy is one state of all scopes. It is made beside ``path``, readable by its owner alone, and moved there
        whole. ``progress`` is told of pages. Raises ``InvalidInput`` if something is there and ``overwrite`` is not
        set, or if it is the memory itself; ``StoreDamaged`` if no sound copy can be made.
        """
        target = check_path("path", path)
        with self._lock:
            self._connection()
            check_target(target, self._files, overwrite=overwrite)
        with self._translated():
            db, _, _ = _held(self._where, self._wait)  # a connection of its own, so that this one stays free
        with closing(db):
            with self._lock, self._translated():
                self._check_in_place()  # so both have the same file open
            return copy(db, self.path, target, overwrite=overwrite, progress=progress)

    def faults(self) -> Iterator[str]:
        """What is wrong inside the file, in SQLite's own words; nothing if it is sound."""
        with self._lock, self._translated():
            db = self._connection()
            yield from (str(found) for (found,) in db.execute("PRAGMA integrity_check(20)") if found != "ok")
            for table, _, parent, _ in db.execute("PRAGMA foreign_key_check"):
                yield f"a row of {table} points at a missing {parent}"

    # ---- connection

    def _connection(self) -> apsw.Connection:
        if self._db is None:
            raise StoreClosed(f"{self.path} was closed; open a new Memory")
        return self._db

    @contextmanager
    def _transaction(self, mode: str, *, durable: bool = True) -> Iterator[apsw.Connection]:
        with self._translated(), self._locked(mode, durable=durable) as db:
            writes = mode != "DEFERRED"
            try:
                yield db
                if writes:
                    self._check_in_place()
                db.execute("COMMIT")
            except BaseException:
                if not db.get_autocommit():
                    db.execute("ROLLBACK")
                raise
            if writes:
                self._check_in_place()  # what was committed to another file is not acknowledged

    # ---- a file that was replaced

    def _check_in_place(self) -> None:
        """Raise ``StoreReplaced``, with nothing written, where the path leads to another file than the open one."""
        moved = self._files.moved()
        if moved is None:
            return
        if not self._connection().get_autocommit():
            self._connection().execute("ROLLBACK")
        self._leave()
        raise StoreReplaced(
            f"{moved} was replaced, moved or deleted while the memory was open; nothing more is read or acknowledged: "
            "close this memory and open it anew"
        )

    def _leave(self) -> None:
        """Move the log into the file that was opened, wherever it is now, if another may stand in its place.

        SQLite would read that other file together with the log that lies beside it.
        """
        if self._db is not None and not self.read_only and self._files.moved() == str(self._where):
            with suppress(apsw.Error):
                self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    @contextmanager
    def _locked(self, mode: str, *, durable: bool) -> Iterator[apsw.Connection]:
        """The connection, for this thread alone and with a transaction begun.

        While another process holds the file's lock, the other threads may go on reading.
        """
        end = time.monotonic() + self._wait / 1000
        while True:
            with self._lock:
                if self._begin(mode, durable=durable, last=time.monotonic() >= end):
                    yield self._connection()
                    return
            time.sleep(POLL)

    def _begin(self, mode: str, *, durable: bool, last: bool) -> bool:
        """Begin a transaction unless another process holds the lock; raises ``BusyError`` for that at the last try."""
        db = self._connection()
        db.pragma("synchronous", 2 if durable else 1)
        db.set_busy_timeout(0)
        try:
            db.execute(f"BEGIN {mode}")
        except apsw.BusyError:
            if last:
                raise
            return False
        finally:
            db.set_busy_timeout(self._wait)
        return True

    def _translated(self) -> AbstractContextManager[None]:
        return translated(self.path)


def _held(path: Path, wait: int) -> tuple[apsw.Connection, bool, OpenFiles]:
    """Open a file, and note which files these are; anew if another is put in its place meanwhile."""
    for _ in range(TRIES):
        before = identity(path)
        db, read_only = _opened(path, wait)
        names = [] if read_only else [Path(db.filename_wal), Path(f"{db.filename_wal.removesuffix('-wal')}-shm")]
        found = OpenFiles.at([path, *names])
        if before in {None, identity(path)}:
            return db, read_only, found
        db.close()
    raise StoreBusy(f"{path} is replaced again and again; try again when nobody does that")


def _opened(path: Path, wait: int) -> tuple[apsw.Connection, bool]:
    """Open a file for writing, or else for reading, with every migration applied."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # its owner's alone, and so are its log and index
    shared = [path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm")]  # made in the folder, unless there
    read_only = not all(os.access(file, os.W_OK) for file in (path, *(shared if _still(path) else ())))
    if read_only:
        # Without a right to write the folder, WAL's index cannot be made: the file is then read as it stands.
        still = "&immutable=1" if _still(path) else ""
        log = path.with_name(f"{path.name}-wal")
        if still and log.exists() and log.stat().st_size:
            raise StoreReadOnly(f"{log} holds what {path.name} lacks; open it once where the folder may be written")
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        db = apsw.Connection(f"{path.absolute().as_uri()}?mode=ro{still}", flags=flags)
    else:
        db = apsw.Connection(str(path.absolute()))  # a name alone may mean something else: ":memory:"
    try:
        db.set_busy_timeout(wait)
        _check(db, path)
        if read_only:
            _check_current(db, path)
        else:
            _prepare(db, wait)
    except BaseException:
        db.close()
        raise
    return db, read_only


def _still(path: Path) -> bool:
    """Whether nothing can be made beside a file."""
    return not os.access(path.parent, os.W_OK)


def _check(db: apsw.Connection, path: Path) -> None:
    """Refuse what is no memory of ours before anything is written to it."""
    version, owner = int(db.pragma("user_version")), int(db.pragma("application_id"))
    empty = not db.execute("SELECT count(*) FROM sqlite_master").get
    if owner != APPLICATION_ID and (owner or version or not empty):
        raise StoreDamaged(f"{path} is a database of another program; choose another path")
    if version > len(_migrations()):
        raise StoreTooNew(
            f"{path} has format {version}, this version reads up to {len(_migrations())}; upgrade ecphora"
        )


def _check_current(db: apsw.Connection, path: Path) -> None:
    if int(db.pragma("user_version")) < len(_migrations()):
        raise StoreReadOnly(f"{path} needs an upgrade, but may not be written; open it once with write access")


def _prepare(db: apsw.Connection, wait: int) -> None:
    """Set what must hold for every connection, then bring the schema up to date."""
    deadline = time.monotonic() + wait / 1000
    while db.pragma("journal_mode") != "wal":  # the busy handler is not asked for this one
        try:
            db.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            if db.pragma("journal_mode") != "wal":
                raise StoreError("the file system cannot share a write-ahead log; choose a folder on a local disk")
    db.pragma("foreign_keys", 1)
    db.pragma("secure_delete", 1)  # what is erased is overwritten
    migrations = _migrations()
    if int(db.pragma("user_version")) >= len(migrations):
        return
    db.create_scalar_function("characters", _characters, 1, deterministic=True)  # for the migrations alone
    db.execute("BEGIN IMMEDIATE")  # of several processes that open a new file, one finds work to do
    try:
        for number in range(int(db.pragma("user_version")), len(migrations)):
            db.execute(migrations[number]).fetchall()
            db.pragma("user_version", number + 1)
        db.pragma("application_id", APPLICATION_ID)
        db.execute("COMMIT")
    except BaseException:
        if not db.get_autocommit():
            db.execute("ROLLBACK")
        raise


def _characters(*values: SqlValue) -> int:
    return len(str(values[0]))


def _migrations() -> list[str]:
    """The numbered schema changes, oldest first."""
    folder = files(__package__) / "migrations"
    scripts = sorted((script for script in folder.iterdir() if script.name.endswith(".sql")), key=lambda s: s.name)
    return [script.read_text(encoding="utf-8") for script in scripts]


def _chunks(ids: Sequence[NodeId]) -> Iterator[Sequence[NodeId]]:
    for start in range(0, len(ids), CHUNK):
        yield ids[start : start + CHUNK]


@contextmanager
def _collected_later() -> Iterator[None]:
    """Hold the garbage collector off while many small objects are made that all stay: it would look through them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _changes(db: apsw.Connection, scope: Scope, since: int, kept: int) -> tuple[Change, list[NodeId]]:
    """Read what a scope gained after a revision, inside a transaction; and the nodes whose vectors are damaged."""
    bounds = (scope.key, since)
    found = db.execute(
        f"SELECT {ALL_COLUMNS} FROM node WHERE scope = ? AND revision > ? ORDER BY seq",  # noqa: S608
        bounds,
    ).fetchall()
    nodes = tuple(map(rows.node, found))
    readings = zip(nodes, rows.readings(found), strict=True)
    ids = _Ids(db, scope.key, {node.seq: node.id for node in nodes})
    vectors = db.execute(
        "SELECT node, value FROM vector WHERE scope = ? AND revision > ? AND model = ? ORDER BY revision, node",
        (*bounds, scope.embedder),
    ).fetchall()
    edges = db.execute(
        "SELECT src, dst, link, weight, evidence FROM edge WHERE scope = ? AND revision > ? ORDER BY rowid", bounds
    )
    ends = db.execute(
        "SELECT node, valid_to, recorded_at FROM superseded WHERE scope = ? AND revision > ? ORDER BY rowid", bounds
    )
    accesses = db.execute(
        f"SELECT {_ACCESS_COLUMNS} FROM access WHERE scope = ? AND revision > ? ORDER BY seq",  # noqa: S608
        bounds,
    )
    forgotten = db.execute("SELECT node, digest FROM forgotten WHERE scope = ? AND revision > ? ORDER BY rowid", bounds)
    marks = db.execute("SELECT name, seq FROM mark WHERE scope = ? AND revision > ? ORDER BY name", bounds).fetchall()
    parse = rows.time_parser()
    dim = scope.dim or max((len(value) // 2 for _, value in vectors if isinstance(value, bytes)), default=0)
    values, sound = rows.vectors([value for _, value in vectors], dim)
    change = Change(
        nodes=nodes,
        readings={node.id: reading for node, reading in readings if reading is not None},
        vectors={ids[seq]: value for (seq, _), value, good in zip(vectors, values, sound, strict=True) if good},
        edges=tuple(
            Edge(ids[src], ids[dst], _LINKS[link], weight, evidence) for src, dst, link, weight, evidence in edges
        ),
        superseded=tuple(_ends(ends, ids, parse)),
        accesses=tuple(_accesses(accesses, ids)),
        forgotten=tuple(Forgotten(node, digest) for node, digest in forgotten),
        marks={str(name): int(seq or 0) for name, seq in marks},
        embedder=scope.embedder,
        adopt=scope.adopted > since > 0,
        whole_log=bool(scope.whole_log),
        expiry=Expiry(scope.expiry, kept) if scope.expiry else NOTHING_EXPIRED,
        revision=scope.revision,
    )
    return change, [ids[seq] for (seq, _), good in zip(vectors, sound, strict=True) if not good]


def _ends(found: Iterable[Row], ids: "_Ids", parse: Callable[[SqlValue], datetime]) -> Iterator[Superseded]:
    for seq, valid_to, recorded in found:
        try:
            yield Superseded(ids[seq], parse(valid_to), parse(recorded))
        except ValueError as error:
            raise ValueError(f"an end of node {ids[seq]!r}: {error}") from error


def _accesses(found: Iterable[Any], ids: "_Ids") -> Iterator[Access]:
    for row in found:
        try:
            yield rows.access(row, ids[row[0]])
        except ValueError as error:
            raise ValueError(f"an access of node {ids[row[0]]!r}: {error}") from error


class _Ids:
    """The ids of nodes by ``seq``, those not yet known looked up."""

    def __init__(self, db: apsw.Connection, scope: int, known: dict[int, NodeId]) -> None:
        self._db = db
        self._scope = scope
        self._known = known

    def __getitem__(self, seq: SqlValue) -> NodeId:
        number = int(seq or 0)
        if number not in self._known:
            query = "SELECT id FROM node WHERE scope = ? AND seq = ?"
            self._known[number] = str(self._db.execute(query, (self._scope, number)).get)
        return self._known[number]
