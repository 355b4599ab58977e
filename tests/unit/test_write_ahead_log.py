"""The write-ahead log: a file that was parted from its log is recognized, and no other."""

import shutil
import subprocess
import sys
from contextlib import closing
from itertools import permutations
from pathlib import Path

import apsw
import pytest

from ecphora.maintenance.doctor import Severity, examine
from ecphora.model.graph.updates import forget
from ecphora.stores import write_ahead_log
from ecphora.stores.sqlite import SQLiteStore
from ecphora.stores.write_ahead_log import LogFault
from ecphora.testing import sample_batch, sample_node

pytestmark = [pytest.mark.medium, pytest.mark.usefixtures("migrations")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    (tmp_path / "copy").mkdir()
    return tmp_path / "copy" / "a.db"


def commit(store: SQLiteStore, id_: str) -> None:
    store.commit("s", sample_batch(sample_node(id_)))


def ids_in(store: SQLiteStore) -> list[str]:
    return [node.id for node in store.changes_since("s", 0).nodes]


FRAME_BYTES = 24 + 4096


def frames_of(log: bytearray) -> list[int]:
    """Where each frame of a log begins; those behind them are of an earlier log."""
    return [start for start in range(32, len(log), FRAME_BYTES) if log[start + 8 : start + 16] == log[16:24]]


def is_reported(path: Path, caplog: pytest.LogCaptureFixture) -> bool:
    """Whether a file is reported at every opening, and by the doctor, as parted from its log."""
    caplog.clear()
    for _ in range(2):
        with closing(SQLiteStore(path)) as store:
            is_missing = store.log_fault is LogFault.MISSING
    warnings = [record for record in caplog.records if "was parted from its write-ahead log" in record.message]
    assert len(warnings) == 2 * is_missing
    findings = [finding for finding in examine(path).findings if "was parted from its write-ahead" in finding.problem]
    assert [finding.severity for finding in findings] == [Severity.ERROR] * is_missing
    return is_missing


@pytest.mark.parametrize("is_new", [True, False])
def test_file_without_its_log_is_reported(
    is_new: bool, path: Path, copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if not is_new:
        with closing(SQLiteStore(path)) as store:
            commit(store, "before")
    with closing(SQLiteStore(path)) as store:
        commit(store, "a")
        shutil.copy(path, copy)
    assert is_reported(copy, caplog)
    with closing(SQLiteStore(copy)) as store:
        assert ids_in(store) == ([] if is_new else ["before"])
        commit(store, "b")
    assert not is_reported(copy, caplog)  # it is another file now
    assert not is_reported(path, caplog)


def test_file_with_its_log_put_back_is_whole(path: Path, copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(SQLiteStore(path)) as store:
        commit(store, "a")
        shutil.copy(path, copy)
        shutil.copy(f"{path}-wal", f"{copy}-kept")
    assert is_reported(copy, caplog)
    shutil.move(f"{copy}-kept", f"{copy}-wal")
    assert not is_reported(copy, caplog)
    with closing(SQLiteStore(copy)) as store:
        assert ids_in(store) == ["a"]


def test_doctor_accepts_a_lost_log(path: Path, copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(SQLiteStore(path)) as store:
        commit(store, "a")
        shutil.copy(path, copy)
    assert examine(copy, fix=True).is_healthy
    assert not is_reported(copy, caplog)


def test_file_without_a_later_log_is_reported(
    path: Path, copy: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that has grown is moved into the file, and the next one is marked too."""
    monkeypatch.setattr(write_ahead_log, "MAX_LOG_PAGES", 30)
    with closing(SQLiteStore(path)) as store, closing(SQLiteStore(path)) as other:
        for number in range(40):
            commit((store, other)[number % 2], str(number))
        assert Path(f"{path}-wal").stat().st_size < 60 * 4200
        shutil.copy(path, copy)
    with closing(SQLiteStore(copy)) as store:
        assert 10 < len(ids_in(store)) < 40
    assert is_reported(copy, caplog)
    assert not is_reported(path, caplog)


def test_file_whose_log_was_emptied_is_whole(path: Path, copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(SQLiteStore(path)) as store:
        commit(store, "a")
        commit(store, "b")
        store.commit("s", forget(store.nodes("s", ["a"])))
        shutil.copy(path, copy)
        assert not is_reported(copy, caplog)
        commit(store, "c")
        shutil.copy(path, copy)
        assert is_reported(copy, caplog)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_file_is_whole_after_stores_closed_in_any_order(
    order: tuple[int, ...], path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stores = [SQLiteStore(path) for _ in order]
    for number in order:
        for other in range(3):
            commit(stores[number], f"{number} {other}")
        stores[number].close()
    assert not is_reported(path, caplog)


def test_file_moved_together_by_another_program_is_whole(
    path: Path, copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(SQLiteStore(path)) as store:
        commit(store, "a")
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    with closing(apsw.Connection(str(copy))) as db:
        assert db.execute("SELECT count(*) FROM node").get == 1
    assert not Path(f"{copy}-wal").exists()
    assert not is_reported(copy, caplog)


@pytest.mark.slow
def test_killed_process_leaves_a_file_and_a_log(path: Path, copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    program = f"""
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import sample_batch, sample_node
store = SQLiteStore({str(path)!r})
store.commit("s", sample_batch(sample_node("a")))
print("written", flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"written"
        process.kill()
    shutil.copy(path, copy)
    assert is_reported(copy, caplog)
    assert not is_reported(path, caplog)
    with closing(SQLiteStore(path)) as store:
        assert ids_in(store) == ["a"]


def test_process_killed_as_it_began_a_log_leaves_a_whole_file(
    path: Path, copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(SQLiteStore(path)) as store:
        commit(store, "a")
    with closing(apsw.Connection(str(path))) as db:
        db.execute("UPDATE log_mark SET is_set = 1")
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    assert not is_reported(copy, caplog)


def test_log_with_a_damaged_header_is_reported(path: Path, copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(SQLiteStore(path)) as store:
        commit(store, "a")
        shutil.copy(path, copy)
        data = bytearray(Path(f"{path}-wal").read_bytes())
    data[20] ^= 1
    Path(f"{copy}-wal").write_bytes(data)
    assert is_reported(copy, caplog)


@pytest.mark.parametrize("part", ["frame", "page"])
@pytest.mark.parametrize("damaged", range(1, 8))
def test_log_with_a_damaged_page_is_reported(
    damaged: int, part: str, path: Path, copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whichever page is damaged, unless it is of the last transaction: so a crash leaves it too."""
    with closing(SQLiteStore(path)) as store:
        for number in range(3):
            commit(store, str(number))
        data = bytearray(Path(f"{path}-wal").read_bytes())
        shutil.copy(path, copy)
    frames = frames_of(data)
    ends = [start for start in frames if any(data[start + 4 : start + 8])]
    start = frames[frames.index(ends[-2]) * damaged // 7]
    data[start + {"frame": 9, "page": 3000}[part]] ^= 1
    Path(f"{copy}-wal").write_bytes(data)
    with closing(SQLiteStore(copy)) as store:
        assert store.log_fault is not None
        assert len(ids_in(store)) < 3
    assert caplog.records[-1].levelname == "WARNING"
    assert str(copy) in caplog.records[-1].message


def test_log_with_a_damaged_page_is_reported_by_the_doctor(path: Path, copy: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        for number in range(3):
            commit(store, str(number))
        data = bytearray(Path(f"{path}-wal").read_bytes())
        shutil.copy(path, copy)
    data[frames_of(data)[2]] ^= 1
    Path(f"{copy}-wal").write_bytes(data)
    problems = [finding.problem for finding in examine(copy).findings]
    assert any("a damaged page" in problem for problem in problems)


@pytest.mark.parametrize("cut", range(1, 12))
def test_log_that_a_crash_cut_off_is_whole(cut: int, path: Path, copy: Path) -> None:
    """The last transaction lacks its end, or has an end that does not fit: SQLite leaves it out, and nobody had it."""
    with closing(SQLiteStore(path)) as store:
        for number in range(3):
            commit(store, str(number))
        data = bytearray(Path(f"{path}-wal").read_bytes())
        shutil.copy(path, copy)
    end = frames_of(data)[-1] + FRAME_BYTES
    if cut % 2:
        data = data[: end - cut * 300]
    else:
        data[end - cut * 300] ^= 1
    Path(f"{copy}-wal").write_bytes(data)
    with closing(SQLiteStore(copy)) as store:
        assert store.log_fault is None
        assert len(ids_in(store)) == 2


def test_log_that_another_connection_writes_is_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it commits after the pages were counted is no damage."""
    counts = iter([0, 9])
    monkeypatch.setattr(write_ahead_log, "_readable_pages", lambda _: next(counts))
    with closing(SQLiteStore(path, lock_timeout_ms=0)) as store:
        commit(store, "a")
        commit(store, "b")
        with closing(SQLiteStore(path)) as other:
            assert other.log_fault is None
    assert next(counts, None) is None


def test_damaged_mark_keeps_nobody_from_reading(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        commit(store, "a")
    with closing(apsw.Connection(str(path))) as db:
        page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'log_mark'").get
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 64)
    with closing(SQLiteStore(path)) as store:
        assert ids_in(store) == ["a"]


def test_backup_is_whole(path: Path, copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(SQLiteStore(path)) as store:
        commit(store, "a")
        store.backup(copy)
    assert not is_reported(copy, caplog)
