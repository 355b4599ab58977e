"""Access logs of files made before logs expired."""

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path

import apsw
import pytest

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import FULL_LOG, Access, AccessKind, Mark, NodeId, WriteBatch
from ecphora.stores import schema
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import NOON, graph_differences, sample_batch, sample_node

pytestmark = pytest.mark.medium

SMALL = partial(SQLiteStore, keep_last=3, min_log_growth=10)
"""A store whose log expires soon."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def access_batch(
    *nodes: NodeId, kind: AccessKind | Mark = AccessKind.RECALLED, hours: float = 0, strength: float = 0.5
) -> WriteBatch:
    at = NOON + timedelta(hours=hours)
    return WriteBatch(accesses=tuple(Access(node, at, kind, strength) for node in nodes))


def loaded(store: SQLiteStore, scope: str = "s") -> Graph:
    return apply_batch(Graph(), store.changes_since(scope, 0))


def logged(graph: Graph, node: NodeId, kind: AccessKind | Mark = AccessKind.RECALLED) -> list[Access]:
    return [access for access in graph.accesses_of(graph.row(node) or 0) if access.kind is kind]


OLD = "INSERT INTO access (scope, seq, revision, node, at, touch, strength) VALUES (1, ?, ?, ?, ?, ?, ?)"


OldFileWriter = Callable[..., None]


@pytest.fixture
def write_old_file(to_format_5: Callable[[Path], None]) -> OldFileWriter:
    """Writes a file of a format before logs expired, with two memories."""

    def write(path: Path, rows: Sequence[tuple[int, int, int, str, str, float]], extra_sql: str = "") -> None:
        with closing(SQLiteStore(path)) as store:
            store.commit("s", sample_batch(sample_node("a"), sample_node("b")))
        to_format_5(path)
        _rewrite(path, rows, extra_sql)

    return write


def _rewrite(path: Path, rows: Sequence[tuple[int, int, int, str, str, float]], extra_sql: str) -> None:
    with closing(apsw.Connection(str(path))) as db:
        for statement in (
            "DROP TABLE access", *(f"ALTER TABLE scope DROP COLUMN {name}" for name in NEW), before_0004(),
            *(f"ALTER TABLE node DROP COLUMN {name}" for name in ("start", "heading")),
        ):  # fmt: skip
            db.execute(statement).fetchall()
        db.executemany(OLD, rows)
        for statement in ("UPDATE scope SET revision = 40, seq = 90", "PRAGMA user_version = 3", extra_sql):
            db.execute(statement).fetchall()


NEW = ("whole_log", "expiry", "log_cursor", "log_size", "log_growth")


def before_0004() -> str:
    script = schema.load_migrations()[0]
    return script[script.index("CREATE TABLE access") : script.index("-- What was forgotten")]


def test_older_log_is_migrated(write_old_file: OldFileWriter, path: Path) -> None:
    times = {
        3: "2026-05-03T12:00:00+00:00",
        4: "2026-05-03T14:00:00.000125+02:00",
        5: "1969-12-31T23:59:59.250000+00:00",
    }
    write_old_file(path, [
        (3, 2, 1, times[3], "recalled", 0.25), (4, 3, 2, times[4], "encoded", 1.0), (5, 4, 1, times[5], "used", 1.0),
        (6, 5, 1, times[3], "recalled", 0.5), (7, 6, 1, times[3], "archived", 1.0),
    ])  # fmt: skip
    with closing(SQLiteStore(path)) as store:
        found = store.changes_since("s", 0)
        at = dict.fromkeys((3, 6, 7), NOON) | {4: NOON + timedelta(microseconds=125)}
        at[5] = NOON.replace(year=1969, month=12, day=31, hour=23, minute=59, second=59, microsecond=250_000)
        assert found.accesses == (
            Access("a", at[3], AccessKind.RECALLED, 0.25, 3, 1), Access("b", at[4], AccessKind.ENCODED, 1.0, 4, 2),
            Access("a", at[5], AccessKind.USED, 1.0, 5, 1), Access("a", at[6], AccessKind.RECALLED, 0.5, 6, 2),
            Access("a", at[7], Mark.ARCHIVED, 1.0, 7, 1),
        )  # fmt: skip
        assert (found.needs_full_log, found.retention) == (False, FULL_LOG)
        assert store.commit("s", access_batch("a")).accesses[0].nth == 3


def test_older_log_expires_with_the_next_recall(write_old_file: OldFileWriter, path: Path) -> None:
    write_old_file(path, [(seq, 2, 1, "2026-05-03T12:00:00+00:00", "recalled", 0.5) for seq in range(3, 43)])
    with closing(SMALL(path)) as store:
        grown = loaded(store)
        assert len(grown.accesses) == 42
        grown = apply_batch(grown, store.commit("s", access_batch("a")))
        assert graph_differences(grown, loaded(store)) == []
        assert [access.nth for access in logged(grown, "a")] == [39, 40, 41]


@pytest.mark.parametrize(
    "sign", ["stimulated", "UPDATE node SET source = 'recall'", "INSERT INTO mark VALUES (1, 'weave', 1, 1)"]
)
def test_older_log_with_traces_of_a_paper_keeps_all_entries(
    write_old_file: OldFileWriter, path: Path, sign: str
) -> None:
    rows = [(seq, 2, 1, "2026-05-03T12:00:00+00:00", "recalled", 0.5) for seq in range(3, 43)]
    if sign == "stimulated":
        write_old_file(path, [*rows, (43, 2, 2, "2026-05-03T12:00:00+00:00", sign, 0.5)])
    else:
        write_old_file(path, rows, sign)
    with closing(SMALL(path)) as store:
        store.commit("s", access_batch("a"))
        found = store.changes_since("s", 0)
        assert found.needs_full_log
        assert len(found.accesses) >= 41


def test_unreadable_time_becomes_1970(write_old_file: OldFileWriter, path: Path) -> None:
    """A time that cannot be read becomes the beginning of 1970; the file opens."""
    write_old_file(path, [(3, 2, 1, "long ago", "recalled", 0.5)])
    with closing(SQLiteStore(path)) as store:
        assert store.changes_since("s", 0).accesses[0].at.year == 1970
