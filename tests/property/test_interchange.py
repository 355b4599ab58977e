"""Properties of export and import for any history: nothing is lost, and an interrupted import stays consistent."""

import io
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.maintenance.doctor import examine
from ecphora.maintenance.interchange import jsonl
from ecphora.memory import Memory
from ecphora.model.types import (
    MENTION_LINKS,
    SOURCE_LINKS,
    Edge,
    Episode,
    Extraction,
    Kind,
    Link,
    MentionType,
    WriteBatch,
)
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.models.rule_extractor import RuleExtractor
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock

pytestmark = pytest.mark.slow

NOW = datetime(2027, 1, 1, tzinfo=UTC)
MODEL = HashingEmbedder(32)
OWNED_LINKS = MENTION_LINKS | set(SOURCE_LINKS.values())
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


def remember_one(memory: Memory, number: int) -> None:
    if memory.get(f"e{number}") is None:
        memory.remember([episode(number)], restore=True)


def remember_similar(memory: Memory, number: int) -> None:
    days = range(number, number + 9)
    memory.remember(
        [Episode(f"The sourdough starter bubbles again, day {day}.", f"d{day}") for day in days], restore=True
    )


def supersede(memory: Memory, number: int) -> None:
    if memory.get(f"e{number - 1}") is not None and memory.get(f"e{number}") is None:
        memory.remember([episode(number, supersedes=f"e{number - 1}")], restore=True)


def forget(memory: Memory, number: int) -> None:
    memory.forget(f"e{number}")


def recall_with_feedback(memory: Memory, number: int) -> None:
    found = memory.recall(QUESTIONS[number % 3])
    memory.feedback(found, [hit.id for hit in found][: number % 2])


def record_response(memory: Memory, number: int) -> None:
    found = memory.recall(QUESTIONS[number % 3], limit=2)
    memory.record_response(found, f"Response {number}.", used_ids=[hit.id for hit in found][: number % 2])


def consolidate(memory: Memory, _number: int) -> None:
    memory.consolidate()


def undo(memory: Memory, _number: int) -> None:
    if memory.maintenance.batches():
        memory.maintenance.undo()


def mark(memory: Memory, number: int) -> None:
    if memory.get(f"e{number}") is not None:
        (memory.maintenance.pin if number % 2 else memory.maintenance.archive)(f"e{number}")


def merge(memory: Memory, number: int) -> None:
    names = [node.text for node in memory._store.changes_since("default", 0).nodes if node.kind == Kind.ENTITY]
    if len(names) > 1:
        (memory.entities.split if number % 2 else memory.entities.merge)(names[0], names[-1])


Actions = list[tuple[Callable[[Memory, int], None], int]]
ACTIONS = (
    remember_one,
    remember_one,
    remember_one,
    remember_similar,
    supersede,
    forget,
    recall_with_feedback,
    record_response,
    consolidate,
    undo,
    mark,
    merge,
)
FULL: Actions = [
    *((remember_one, number) for number in (0, 1, 2, 3, 4, 5, 6)),
    (supersede, 7),
    (remember_similar, 0),
    (consolidate, 0),
    (recall_with_feedback, 1),
]
FULL += [(merge, 0), (forget, 8), (remember_one, 9), (mark, 1), (mark, 2), (forget, 9), (record_response, 1)]
"""Actions that create every kind of node and link."""
histories = st.builds(
    lambda first, more: [*first, *more],
    st.sampled_from([[], FULL]),
    st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 14)), max_size=20),
)


class DescribingExtractor(RuleExtractor):
    """Says something of every second name that the rules find, as a language model does."""

    def extract(self, texts: Sequence[str], /) -> list[Extraction]:
        return [
            Extraction(
                tuple(
                    replace(mention, type=MentionType.PERSON, description="a name", importance=1 + place % 5)
                    if place % 2 == 0
                    else mention
                    for place, mention in enumerate(extraction.mentions)
                )
            )
            for extraction in super().extract(texts)
        ]


@contextmanager
def store_with_history(actions: Actions) -> Iterator[tuple[SQLiteStore, Path]]:
    """A store with these actions applied, and a folder for other files."""
    with tempfile.TemporaryDirectory() as folder, closing(SQLiteStore(Path(folder) / "a.db")) as store:
        clock = FakeClock(NOW)
        with Memory(store, embedder=MODEL, extractor=DescribingExtractor(), update_scorer=None, clock=clock) as memory:
            for action, number in actions:
                action(memory, number)
                clock.advance(seconds=1)
        yield store, Path(folder)


def export_lines(store: SQLiteStore, *, vectors: bool = True) -> list[str]:
    """The lines of an export without its header."""
    out = io.StringIO()
    jsonl.export_scope(store, "default", out, now=NOW, vectors=vectors)
    return out.getvalue().splitlines(keepends=True)[1:]


HEADER = '{"ecphora":2}\n'


class Killed(BaseException):
    """Simulates the end of the process."""


class FailingStore:
    """A store that fails after some commits."""

    def __init__(self, store: SQLiteStore, commits: int) -> None:
        self._store = store
        self._left = commits

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def commit(self, scope: str, batch: WriteBatch) -> WriteBatch:
        if not self._left:
            raise Killed
        self._left -= 1
        return self._store.commit(scope, batch)


def owned_edges(batch: WriteBatch) -> set[Edge]:
    return {edge for edge in batch.edges if edge.link in OWNED_LINKS}


@given(histories, st.booleans())
def test_import_restores_the_export(actions: Actions, vectors: bool) -> None:
    with store_with_history(actions) as (store, folder), closing(SQLiteStore(folder / "b.db")) as other:
        lines = export_lines(store, vectors=vectors)
        jsonl.import_scope([HEADER, *lines], other, "default", MODEL)
        assert export_lines(other, vectors=vectors) == lines
        assert export_lines(other) == export_lines(store)
        assert examine(folder / "b.db").findings == ()


@given(histories, st.integers(0, 6), st.integers(1, 4), st.booleans())
def test_import_interrupted_between_commits_is_consistent_and_continues(
    actions: Actions, commits: int, size: int, vectors: bool
) -> None:
    with (
        store_with_history(actions) as (store, folder),
        closing(SQLiteStore(folder / "b.db")) as other,
        mock.patch.object(jsonl, "NODES_PER_PORTION", size),
    ):
        lines = [HEADER, *export_lines(store, vectors=vectors)]
        try:
            jsonl.import_scope(lines, FailingStore(other, commits), "default", MODEL)  # type: ignore[arg-type]
        except Killed:
            assert examine(folder / "b.db").findings == ()
            imported = other.changes_since("default", 0)
            ids = {node.id for node in imported.nodes}
            assert owned_edges(imported) == {
                edge for edge in owned_edges(store.changes_since("default", 0)) if edge.src in ids
            }
        jsonl.import_scope(lines, other, "default", MODEL)
        assert export_lines(other) == export_lines(store)


def test_histories_contain_every_kind_of_row() -> None:
    """The histories above contain each kind of node and link that they must carry over."""
    with store_with_history(FULL) as (store, _):
        contents = store.changes_since("default", 0)
    assert {node.kind for node in contents.nodes} == set(Kind)
    links = {Link.MENTIONS, Link.SUPERSEDES, Link.DERIVED_FROM, Link.CLAIMED_IN, Link.ANSWERED_BY, Link.ALIAS}
    links |= {Link.DESCRIBES, Link.DESCRIBED_IN, Link.BASED_ON}
    assert {edge.link for edge in contents.edges} >= links
    assert contents.validity_ends
    assert contents.tombstones
    assert contents.accesses


IMPORTER = """
import os, sys
from ecphora import HashingEmbedder, Memory
from ecphora.models.rule_extractor import RuleExtractor
from ecphora.maintenance.interchange import jsonl
from ecphora.stores.rows.batch_writer import BatchWriter

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
"""Another process that imports and ends during a commit."""


@pytest.mark.parametrize("commits", [0, 1, 3])
def test_import_killed_during_a_commit_is_consistent_and_continues(commits: int) -> None:
    with store_with_history(FULL) as (store, folder):
        lines = [HEADER, *export_lines(store)]
        (folder / "export.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")
        command = [sys.executable, "-c", IMPORTER, str(folder / "b.db"), str(folder / "export.jsonl"), str(commits)]
        assert subprocess.run(command, check=False).returncode == 9
        report = examine(folder / "b.db")
        assert report.findings == ()
        with closing(SQLiteStore(folder / "b.db")) as other:
            assert other.changes_since("default", 0).revision == commits
            jsonl.import_scope(lines, other, "default", MODEL)
            assert [HEADER, *export_lines(other)] == lines
