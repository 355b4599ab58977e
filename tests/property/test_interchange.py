"""Export and import: whatever was told, slept upon and forgotten, nothing is lost, and nothing is ever half there."""

import io
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.doctor import examine
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.interchange import jsonl
from ecphora.memory import Memory
from ecphora.model import MENTION_LINKS, SOURCE_LINKS, Edge, Episode, Kind, Link, WriteBatch
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock

pytestmark = pytest.mark.slow

NOW = datetime(2027, 1, 1, tzinfo=UTC)
MODEL = HashingEmbedder(32)
BELONGING = MENTION_LINKS | set(SOURCE_LINKS.values())
TEXTS = (
    "I live in Lisbon.",
    "I moved to Porto.",
    "I met Robert (Bob) Smith.",
    "Robert lost his keys.",
    "My standup is at nine.",
    "My standup is at ten now.",
    "Zebulon has a boat. " * 150,
)
QUESTIONS = ("Where does Ana live?", "When is the standup?", "Who is Robert?")


def episode(number: int, supersedes: str | None = None) -> Episode:
    text = TEXTS[number % len(TEXTS)]
    return Episode(text, f"e{number}", "Ana", f"s{number % 3}", f"2026-01-{number + 1:02}", supersedes=supersedes)


def tell(memory: Memory, number: int) -> None:
    if memory.get(f"e{number}") is None:
        memory.remember([episode(number)], restore=True)


def tell_alike(memory: Memory, number: int) -> None:
    days = range(number, number + 9)
    memory.remember(
        [Episode(f"The sourdough starter bubbles again, day {day}.", f"d{day}") for day in days], restore=True
    )


def replace_(memory: Memory, number: int) -> None:
    if memory.get(f"e{number - 1}") is not None and memory.get(f"e{number}") is None:
        memory.remember([episode(number, supersedes=f"e{number - 1}")], restore=True)


def forget(memory: Memory, number: int) -> None:
    memory.forget(f"e{number}")


def ask(memory: Memory, number: int) -> None:
    found = memory.recall(QUESTIONS[number % 3])
    memory.feedback(found, [hit.id for hit in found][: number % 2])


def sleep(memory: Memory, _number: int) -> None:
    memory.consolidate()


def wake(memory: Memory, _number: int) -> None:
    if memory.maintenance.batches():
        memory.undo()


def mark(memory: Memory, number: int) -> None:
    if memory.get(f"e{number}") is not None:
        (memory.maintenance.pin if number % 2 else memory.maintenance.archive)(f"e{number}")


def merge(memory: Memory, number: int) -> None:
    names = [node.text for node in memory._store.changes_since("default", 0).nodes if node.kind == Kind.ENTITY]
    if len(names) > 1:
        (memory.entities.split if number % 2 else memory.entities.merge)(names[0], names[-1])


Acts = list[tuple[Callable[[Memory, int], None], int]]
ACTS = (tell, tell, tell, tell_alike, replace_, forget, ask, sleep, wake, mark, merge)
FULL: Acts = [
    *((tell, number) for number in (0, 1, 2, 3, 4, 5, 6)),
    (replace_, 7),
    (tell_alike, 0),
    (sleep, 0),
    (ask, 1),
]
FULL += [(merge, 0), (forget, 8), (tell, 9), (mark, 1), (mark, 2), (forget, 9)]
"""Acts by which every kind of node and link comes about."""
histories = st.builds(
    lambda first, more: [*first, *more],
    st.sampled_from([[], FULL]),
    st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 14)), max_size=20),
)


@contextmanager
def lived(acts: Acts) -> Iterator[tuple[SQLiteStore, Path]]:
    """A store in which these acts were done, and a folder for others."""
    with tempfile.TemporaryDirectory() as folder, closing(SQLiteStore(Path(folder) / "a.db")) as store:
        clock = FakeClock(NOW)
        with Memory(store, embedder=MODEL, update_scorer=None, clock=clock) as memory:
            for act, number in acts:
                act(memory, number)
                clock.advance(seconds=1)
        yield store, Path(folder)


def exported(store: SQLiteStore, *, vectors: bool = True) -> list[str]:
    """The lines of an export, but for its header."""
    out = io.StringIO()
    jsonl.export_scope(store, "default", out, now=NOW, vectors=vectors)
    return out.getvalue().splitlines(keepends=True)[1:]


HEADER = '{"ecphora":1}\n'


class Killed(BaseException):
    """Stands for the end of the process."""


class Stopping:
    """A store that commits so many changes and then stops for good."""

    def __init__(self, store: SQLiteStore, commits: int) -> None:
        self._store = store
        self._left = commits

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def commit(self, scope: str, change: WriteBatch) -> WriteBatch:
        if not self._left:
            raise Killed
        self._left -= 1
        return self._store.commit(scope, change)


def belonging(change: WriteBatch) -> set[Edge]:
    return {edge for edge in change.edges if edge.link in BELONGING}


@given(histories, st.booleans())
def test_what_is_imported_is_what_was_exported(acts: Acts, vectors: bool) -> None:
    with lived(acts) as (store, folder), closing(SQLiteStore(folder / "b.db")) as other:
        lines = exported(store, vectors=vectors)
        jsonl.import_scope([HEADER, *lines], other, "default", MODEL)
        assert exported(other, vectors=vectors) == lines
        assert exported(other) == exported(store)
        assert examine(folder / "b.db").findings == ()


@given(histories, st.integers(0, 6), st.integers(1, 4), st.booleans())
def test_broken_off_after_any_commit_it_is_sound_and_goes_on(
    acts: Acts, commits: int, size: int, vectors: bool
) -> None:
    with (
        lived(acts) as (store, folder),
        closing(SQLiteStore(folder / "b.db")) as other,
        mock.patch.object(jsonl, "NODES_PER_PORTION", size),
    ):
        lines = [HEADER, *exported(store, vectors=vectors)]
        try:
            jsonl.import_scope(lines, Stopping(other, commits), "default", MODEL)  # type: ignore[arg-type]
        except Killed:
            assert examine(folder / "b.db").findings == ()
            there = other.changes_since("default", 0)
            ids = {node.id for node in there.nodes}
            assert belonging(there) == {
                edge for edge in belonging(store.changes_since("default", 0)) if edge.src in ids
            }
        jsonl.import_scope(lines, other, "default", MODEL)
        assert exported(other) == exported(store)


def test_these_histories_hold_everything() -> None:
    """Each kind of node and link that the properties above are to carry over comes about in them."""
    with lived(FULL) as (store, _):
        told = store.changes_since("default", 0)
    assert {node.kind for node in told.nodes} == set(Kind)
    links = {Link.MENTIONS, Link.SUPERSEDES, Link.DERIVED_FROM, Link.CLAIMED_IN, Link.ANSWERED_BY, Link.ALIAS}
    assert {edge.link for edge in told.edges} >= links
    assert told.validity_ends
    assert told.tombstones
    assert told.accesses


IMPORTER = """
import os, sys
from ecphora import HashingEmbedder, Memory
from ecphora.interchange import jsonl
from ecphora.stores.batch_writer import BatchWriter

jsonl.NODES_PER_PORTION = 3
left, write = int(sys.argv[3]), BatchWriter._insert_edges

def write_edges(writer, edges):
    global left
    left -= 1
    if left < 0:
        os._exit(9)  # with the nodes and vectors of this commit written, and its transaction open
    write(writer, edges)

BatchWriter._insert_edges = write_edges
lines = open(sys.argv[2], encoding="utf-8", newline="\\n")
with lines, Memory(sys.argv[1], embedder=HashingEmbedder(32)) as memory:
    memory.import_(lines)
"""
"""Another process that imports, and ends in the midst of a commit."""


@pytest.mark.parametrize("commits", [0, 1, 3])
def test_killed_amid_a_commit_it_is_sound_and_goes_on(commits: int) -> None:
    with lived(FULL) as (store, folder):
        lines = [HEADER, *exported(store)]
        (folder / "export.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")
        command = [sys.executable, "-c", IMPORTER, str(folder / "b.db"), str(folder / "export.jsonl"), str(commits)]
        assert subprocess.run(command, check=False).returncode == 9
        report = examine(folder / "b.db")
        assert report.findings == ()
        with closing(SQLiteStore(folder / "b.db")) as other:
            assert other.changes_since("default", 0).revision == commits
            jsonl.import_scope(lines, other, "default", MODEL)
            assert [HEADER, *exported(other)] == lines
