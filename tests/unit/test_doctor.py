"""The doctor: an intact file is unchanged; seeded faults are found, and fixed if nothing is lost."""

import os
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ecphora import RecallOptions
from ecphora.errors import StoreReadOnly
from ecphora.maintenance import doctor
from ecphora.maintenance.doctor import Severity, examine
from ecphora.memory import Memory
from ecphora.model.ports import Embedder
from ecphora.model.types import Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.models.rerankers.late_interaction import LateInteractionReranker
from ecphora.remember.documents import check_episode
from ecphora.stores.connection import migrate
from ecphora.stores.repair import read_file_format
from ecphora.testing import NOON

pytestmark = pytest.mark.medium

TEXTS = ["Ana moved to Porto.", "Bo met Ana in Lisbon.", "It rained.", "A long walk with Bo. " * 100]


FIRST = check_episode(Episode(TEXTS[0], speaker="Ana"), NOON).id


def make_embedder(name: str) -> Embedder:
    assert name == "hashing/32"
    return HashingEmbedder(32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    for scope in ("default", "other"):
        with Memory(path, scope=scope, embedder=HashingEmbedder(32)) as memory:
            memory.remember(TEXTS, speaker="Ana")
            found = memory.recall("Where is Ana?")
            memory.feedback(found, [found[0].id])
    return path


def damage(path: Path, *statements: str) -> None:
    """Damage a file without its store."""
    db = apsw.Connection(str(path))
    db.pragma("foreign_keys", 0)
    for statement in statements:
        db.execute(statement)
    db.close()


def texts_of(path: Path, question: str) -> list[str]:
    with Memory(path, embedder=HashingEmbedder(32)) as memory:
        return [hit.text for hit in memory.recall(question, options=RecallOptions(log_access=False))]


def test_intact_file_has_no_findings_and_is_unchanged(path: Path) -> None:
    before = path.read_bytes()
    report = examine(path)
    assert (report.findings, report.is_healthy, report.scope_count) == ((), True, 2)
    assert report.text_count >= 2 * len(TEXTS)
    assert path.read_bytes() == before


def test_missing_file_is_an_error_and_not_created(tmp_path: Path) -> None:
    with pytest.raises(StoreReadOnly, match="there is no file"):
        examine(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    ("statements", "severity", "problem"),
    [
        (["DELETE FROM node WHERE seq = 1 AND scope = 1"], Severity.ERROR, "vector rows belong to nodes that do not"),
        (["DELETE FROM node WHERE seq = 1 AND scope = 1"], Severity.ERROR, "access rows belong to nodes that do not"),
        (["DELETE FROM node WHERE kind = 'entity'"], Severity.ERROR, "edge rows belong to nodes that do not"),
        (["DELETE FROM edge"], Severity.WARNING, "names that no memory mentions"),
        (
            ["UPDATE node SET term_hashes = x'01000000', term_counts = x'01' WHERE seq = 1 AND scope = 1"],
            Severity.WARNING,
            "out of date for 1 texts",
        ),
        (
            ["UPDATE node SET term_counts = zeroblob(length(term_counts)) WHERE scope = 1"],
            Severity.WARNING,
            "the index is out of date",
        ),
        (
            ["UPDATE node SET term_hashes = NULL WHERE seq = 2 AND scope = 1"],
            Severity.WARNING,
            "out of date for 1 texts",
        ),
        (
            ["DELETE FROM vector WHERE node = 1 AND scope = 1"],
            Severity.WARNING,
            "scope 'default': 1 texts have no vector",
        ),
        (
            ["UPDATE vector SET value = x'003c003c' WHERE node = 1 AND scope = 2"],
            Severity.WARNING,
            f"scope 'other': the vectors of 1 texts do not have the length 1, or have a wrong size: '{FIRST}'",
        ),
        (
            ["UPDATE vector SET value = CAST(substr(value, 3) || x'007e' AS BLOB) WHERE node = 1 AND scope = 1"],
            Severity.WARNING,
            f"scope 'default': the vectors of 1 texts do not have the length 1, or have a wrong size: '{FIRST}'",
        ),
        (
            ["UPDATE node SET happened_at = 'soon', recorded_at = '' WHERE seq = 1 AND scope = 1"],
            Severity.ERROR,
            f"scope 'default': node '{FIRST}': happened_at: 'soon' is not a time",
        ),
        (["UPDATE node SET valid_to = '2026-13-01' WHERE scope = 2 AND seq = 1"], Severity.ERROR, "'2026-13-01' is no"),
        (
            ["INSERT INTO validity_end VALUES (1, 1, 1, 'never', '2026-05-03T12:00:00+00:00')"],
            Severity.ERROR,
            f"scope 'default': an end of node '{FIRST}': 'never' is not a time",
        ),
        (
            ["UPDATE access SET at = 9e18 WHERE scope = 1 AND seq = (SELECT max(seq) FROM access WHERE scope = 1)"],
            Severity.ERROR,
            f"scope 'default': an access of node '{FIRST}': 9000000000000000000 is not a time",
        ),
        (
            ["INSERT INTO undo_batch VALUES (1, 1, 'night', '', '{}', '{}')"],
            Severity.ERROR,
            "scope 'default': undo batch 'night': '' is not a time",
        ),
        (
            ["UPDATE node SET time_mentions = '[1]' WHERE seq = 1 AND scope = 1"],
            Severity.WARNING,
            "out of date for 1 texts",
        ),
    ],
)
def test_seeded_fault_is_found_and_fixed(path: Path, statements: list[str], severity: Severity, problem: str) -> None:
    intact_texts = texts_of(path, "Who met Ana?")
    damage(path, *statements)
    damaged = path.read_bytes()
    report = examine(path, make_embedder=make_embedder)
    (found,) = [finding for finding in report.findings if problem in finding.problem]
    assert (found.severity, found.is_fixed, report.is_healthy) == (severity, False, False)
    assert found.hint
    assert path.read_bytes() == damaged, "examine changed the file"

    fixed = examine(path, fix=True, make_embedder=make_embedder)
    assert all(finding.is_fixed for finding in fixed.findings)
    assert fixed.is_healthy
    assert examine(path).findings == ()
    if not any(lost in statement for lost in ("DELETE FROM node", "edge", "validity_end") for statement in statements):
        assert texts_of(path, "Who met Ana?") == intact_texts


def test_unreadable_rows_are_counted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MAX_LISTED_ROWS", 2)
    damage(path, "UPDATE node SET recorded_at = ''", "UPDATE node SET kind = 'dream' WHERE seq = 1 AND scope = 1")
    report = examine(path)
    assert [finding.is_fixed for finding in report.findings] == [False, False, False]
    assert "more rows cannot be read" in report.findings[-1].problem
    report = examine(path, fix=True)
    assert [finding.is_fixed for finding in report.findings] == [False, True, True]
    assert "kind: there is no 'dream'" in report.findings[0].problem
    assert "restore a copy" in report.findings[0].hint


def test_open_memory_sees_the_fix(path: Path) -> None:
    intact_texts = texts_of(path, "Lisbon")
    damage(path, "UPDATE node SET term_hashes = x'01000000', term_counts = x'01'")
    with Memory(path, embedder=HashingEmbedder(32), strategy="bm25") as memory:
        assert not memory.recall("Lisbon", options=RecallOptions(log_access=False)).hits
        examine(path, fix=True)
        assert memory.recall("Lisbon", options=RecallOptions(log_access=False))[0].text == intact_texts[0]


def test_missing_vectors_without_an_embedder_are_reported(path: Path) -> None:
    damage(path, "DELETE FROM vector WHERE node = 1")
    report = examine(path, fix=True)
    assert not report.is_healthy
    assert "--embedder" in report.findings[0].hint
    other = examine(path, fix=True, make_embedder=lambda _: HashingEmbedder(8))
    assert "hashing/8" in other.findings[0].hint


def test_vectors_of_an_unfinished_reembedding_are_a_note(path: Path) -> None:
    damage(path, "INSERT INTO vector SELECT scope, 'next', node, revision, value FROM vector")
    report = examine(path)
    assert [finding.severity for finding in report.findings] == [Severity.NOTE]
    assert report.is_healthy
    assert "reembed" in report.findings[0].hint


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_permissions_of_others_are_removed(path: Path) -> None:
    path.chmod(0o644)
    report = examine(path)
    assert "open to others" in report.findings[0].problem
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert examine(path, fix=True).findings[0].is_fixed
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_large_write_ahead_log_is_emptied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LARGE_WAL_BYTES", 1000)
    log = Path(f"{path}-wal")
    with Memory(
        path, embedder=HashingEmbedder(32)
    ) as memory:  # stays open, so that closing another handle does not empty the log
        memory.remember("Another text.")
        assert log.stat().st_size > 1000
        (found,) = examine(path).findings
        assert "log" in found.problem
        assert log.stat().st_size > 1000
        (fixed,) = examine(path, fix=True).findings
        assert fixed.is_fixed
        assert log.stat().st_size <= 1000


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda path: path.write_bytes(b"no database at all" * 100), "not an SQLite file"),
        (lambda path: damage(path, "PRAGMA user_version = 99"), "format 99"),
        (lambda path: damage(path, "PRAGMA application_id = 7"), "another program"),
        (lambda path: path.write_bytes(b""), "another program, or empty"),
    ],
)
def test_unfixable_file_is_reported_and_unchanged(path: Path, spoil: object, problem: str) -> None:
    spoil(path)  # type: ignore[operator]
    before = path.read_bytes()
    report = examine(path, fix=True)
    assert problem in report.findings[0].problem
    assert report.findings[0].severity == Severity.ERROR
    assert not report.is_healthy
    assert path.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_text("# Notes\n\nNo database at all.\n"),
        lambda path: path.write_bytes(b""),
        lambda path: damage(path, "PRAGMA journal_mode = delete", "CREATE TABLE t (x)", "PRAGMA user_version = 99"),
        lambda path: damage(path, "PRAGMA journal_mode = wal", "CREATE TABLE t (x)"),
    ],
)
def test_other_files_are_unchanged(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    path = tmp_path / "other.db"
    spoil(path)
    path.chmod(0o644)
    before = {file.name: (file.read_bytes(), file.stat().st_mode) for file in tmp_path.iterdir()}
    report = examine(path, fix=True, make_embedder=make_embedder)
    assert [finding.severity for finding in report.findings] == [Severity.ERROR], "one finding, none about permissions"
    assert {file.name: (file.read_bytes(), file.stat().st_mode) for file in tmp_path.iterdir()} == before


@pytest.mark.usefixtures("migrations")
def test_memory_in_its_write_ahead_log_only_is_recognized(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    with closing(apsw.Connection(str(path))) as db:
        db.pragma("journal_mode", "wal")
        migrate(db)
        for suffix in ("", "-wal"):  # as if the process was killed now: nothing is in the database file yet
            Path(f"{copy}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    assert copy.read_bytes()[68:72] == bytes(4)
    assert read_file_format(copy) == read_file_format(path)
    assert examine(copy, fix=True).is_healthy


def test_unrelated_write_ahead_log_is_ignored(path: Path) -> None:
    log = Path(f"{path}-wal")
    log.write_bytes(os.urandom(32 + 3 * (24 + 4096)))
    assert read_file_format(path).is_ours
    log.write_bytes(b"short")
    assert read_file_format(path).is_ours


def test_broken_page_is_an_error_with_a_hint(path: Path) -> None:
    with path.open("r+b") as file:
        for page in range(2, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 64)
    report = examine(path)
    assert report.findings[0].severity == Severity.ERROR
    assert "restore a copy" in report.findings[0].hint
    assert not report.is_healthy


def test_incomplete_index_is_rebuilt(path: Path) -> None:
    db = apsw.Connection(str(path))
    index = "CREATE INDEX access_revision ON access (scope, revision)"
    db.execute(f"DROP INDEX access_revision; {index} WHERE seq < 0").fetchall()
    db.pragma("writable_schema", 1)
    db.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'access_revision'", (index,))
    db.close()
    report = examine(path)
    assert any("SQLite says" in finding.problem for finding in report.findings)
    assert examine(path, fix=True).is_healthy
    assert examine(path).findings == ()


def test_damaged_token_codes_are_deleted_and_made_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path, embedder=HashingEmbedder(32), reranker=LateInteractionReranker()) as memory:
        memory.remember([Episode(text, id=f"m{place}") for place, text in enumerate(TEXTS[:3])])
    damage(
        path, "UPDATE token_codes SET value = substr(value, 1, 40) WHERE node = (SELECT seq FROM node WHERE id = 'm0')"
    )
    with Memory(path, embedder=HashingEmbedder(32), reranker=LateInteractionReranker()) as memory:
        assert "ecphora doctor --fix" in str(memory.recall("Where is Ana?", rerank="always").cost.reranker_error)
    (finding,) = examine(path).findings
    assert finding.problem == "scope 'default': token codes of 1 texts have a wrong size: 'm0'"
    assert [one.is_fixed for one in examine(path, fix=True).findings] == [True]
    assert not examine(path).findings
    with Memory(path, embedder=HashingEmbedder(32), reranker=LateInteractionReranker()) as memory:
        found = memory.recall("Where is Ana?", rerank="always")
    assert found.cost.reranker_error is None
    assert found.cost.passages_reranked == 3
