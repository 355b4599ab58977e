"""The notes of events that recur: their form, their counts, and what their changes refer to."""

import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "training" / "data"


def read_notes() -> dict[str, list[dict[str, Any]]]:
    """The notes by memory."""
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (DATA / "logs.docs.jsonl").read_text("utf-8").splitlines():
        note = json.loads(line)
        found[note["space"]].append(note)
    return found


def read_changes() -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / "logs.changes.jsonl").read_text("utf-8").splitlines()]


def test_memory_has_sixteen_notes_in_order_of_time() -> None:
    for space, notes in read_notes().items():
        assert [note["id"] for note in notes] == [f"e{number:03}" for number in range(1, 17)], space
        assert all(before["time"] < after["time"] for before, after in pairwise(notes)), space
        assert len({note["speaker"] for note in notes}) == 1, space
        assert len({note["text"].strip() for note in notes} - {""}) == 16, space


def test_memory_has_two_changes_of_an_earlier_note() -> None:
    notes, changes = read_notes(), read_changes()
    assert Counter(change["space"] for change in changes) == dict.fromkeys(notes, 2)
    assert all(change["old"] < change["new"] for change in changes)
    assert {change[end] for change in changes for end in ("old", "new")} <= {f"e{number:03}" for number in range(1, 17)}


def test_statement_of_the_logs_has_their_counts() -> None:
    statement, notes = (DATA / "logs.md").read_text("utf-8"), read_notes()
    memories = Counter(space.split("_")[1] for space in notes)
    for language, count in memories.items():
        assert f"| {language} | {count} | {16 * count:,} | {2 * count} |" in statement
    assert f"| all | {len(notes)} | {16 * len(notes):,} | {2 * len(notes)} |" in statement
    assert "fr" not in memories
