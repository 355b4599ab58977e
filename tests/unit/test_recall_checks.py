"""The checks for tests of memories: what passes, and what a failure shows."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ecphora import Filter, HashingEmbedder, Memory, RecallOptions
from ecphora.errors import InvalidInput
from ecphora.model.types import AccessKind, Evidence, Hit
from ecphora.recall.recollection import Recollection
from ecphora.testing import FakeClock, must_not_recall, must_recall


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(), strategy="bm25", clock=FakeClock()) as memory:
        memory.remember("Ana moved to Porto.", id="porto", speaker="Ana", happened_at="2026-01-02")
        memory.remember("Ana has a flat  in\nGhent now.", id="ghent", speaker="Ana", happened_at="2026-03-04")
        memory.remember([f"Ana cooked soup number {number}." for number in range(12)])
        yield memory


def failure(function: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(AssertionError) as raised:
        function(*args, **options)
    return str(raised.value)


# ---- must_recall


@pytest.mark.medium
@pytest.mark.parametrize(
    "expected",
    ["ghent", "flat in ghent", "FLAT IN  Ghent", "Ghent now.", lambda hit: hit.node.happened_at.month == 3],
)
def test_expected_memory_is_named_by_id_text_or_function(memory: Memory, expected: Any) -> None:
    found = must_recall(memory, "Who has a flat in Ghent?", expected, within=1)
    assert found[0].id == "ghent"
    assert len(found) == 1


@pytest.mark.medium
def test_chunk_of_a_long_text_stands_for_it(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(), strategy="bm25") as memory:
        text = "\n\n".join(f"Paragraph {number} is about the river Douro and the weather." * 8 for number in range(20))
        memory.remember(f"{text}\n\nZebulon sails.", id="diary")
        assert must_recall(memory, "Zebulon", "diary", within=1)[0].id != "diary"


def test_failure_shows_what_came_back_and_why_it_is_missing(memory: Memory) -> None:
    shown = failure(must_recall, memory, "What did Ana do with number 3?", "moved to Porto", within=2)
    lines = shown.splitlines()
    assert lines[0] == "'What did Ana do with number 3?' does not bring back 'moved to Porto' within 2"
    assert re.fullmatch(r"what came back \((no|weak|strong) evidence, confidence \d\.\d\d\):", lines[1])
    assert re.fullmatch(r"    1 +\d+\.\d{3}  \w+ +2026-05-03 12:00: Ana cooked soup number 3\.", lines[2])
    assert len(lines) == 1 + 1 + 10 + 1, "the hits beyond those that count are shown too"
    assert lines[-1].startswith("why not porto ('Ana moved to Porto.'): It came ")
    assert "Ask with a limit of" in lines[-1]


def test_failure_marks_the_expected_memory_if_it_came_too_late(memory: Memory) -> None:
    shown = failure(must_recall, memory, "Ana cooked soup number 7", lambda hit: "number 8" in hit.text, within=1)
    (marked,) = [line for line in shown.splitlines() if line.startswith("> ")]
    assert marked.endswith("Ana cooked soup number 8.")
    assert "a hit for which <lambda> is true" in shown
    assert re.search(r"^why not .*It came \d+\w\w of .* Ask with a limit of", shown, re.MULTILINE), (
        "of the limit asked for"
    )


def test_failure_says_that_a_filter_keeps_it_out(memory: Memory) -> None:
    shown = failure(must_recall, memory, "Where is the flat?", "ghent", where=Filter(speakers="Bo"))
    assert "nothing" in shown
    assert "does not meet what was asked for: speakers" in shown
    assert "as of" in failure(must_recall, memory, "Where is the flat?", "ghent", as_of="2026-02-01")


@pytest.mark.medium
def test_failure_says_that_the_scope_holds_no_such_memory(memory: Memory) -> None:
    shown = failure(must_recall, memory, "Ana?", "Lisbon")
    assert "scope 'default' holds no memory with this id or text, among 14" in shown
    assert "is one for which it is true" in failure(must_recall, memory, "Ana?", lambda _hit: False)


def test_failure_explains_three_of_many_memories(memory: Memory) -> None:
    shown = failure(must_recall, memory, "flat", "soup", where=Filter(before="2026-04-01"))
    assert shown.count("\nwhy not ") == 3
    assert shown.endswith("9 more memories match")


def test_failure_looks_for_a_text_on_every_page(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecphora.testing.recall_checks.PAGE_SIZE", 2)
    shown = failure(must_recall, memory, "number 3", "soup", where=Filter(before="2026-04-01"))
    assert shown.endswith("9 more memories match")


def test_reader_has_a_minute_unless_the_test_says_otherwise(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []
    recall = memory.recall

    def spy(*args: Any, **options: Any) -> Recollection:
        given.append(options)
        return recall(*args, **options)

    monkeypatch.setattr(memory, "recall", spy)
    must_recall(memory, "Who has a flat in Ghent?", "ghent")
    must_recall(
        memory, "Who has a flat in Ghent?", "ghent", options=RecallOptions(rerank_ms=100), known_at="2026-06-01"
    )
    assert [one["options"] for one in given] == [
        RecallOptions(log_access=False),
        RecallOptions(rerank_ms=100, log_access=False),
    ]
    assert given[1]["known_at"] == "2026-06-01"


@pytest.mark.medium
def test_evidence_of_must_recall_is_the_least(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder()) as memory:
        memory.remember("Ana moved to Porto.")
        evidence = memory.recall("Where did Ana move?").evidence
        must_recall(memory, "Where did Ana move?", "Porto", evidence=evidence)
        must_recall(memory, "Where did Ana move?", "Porto", evidence="none")
        unsure = "Zorro the quantum dentist?"
        shown = failure(must_recall, memory, unsure, lambda _hit: True, evidence="strong")
        assert re.search(r"has (no|weak) evidence, expected strong at least", shown)


# ---- must_not_recall


def test_unwanted_memory_is_an_error_that_shows_where_it_came(memory: Memory) -> None:
    shown = failure(must_not_recall, memory, "Who has a flat in Ghent?", "ghent")
    assert shown.startswith("'Who has a flat in Ghent?' brings back 'ghent' at rank 1\n")
    assert [line for line in shown.splitlines() if line.startswith("> ")]
    must_not_recall(memory, "Ana cooked soup number 3", "ghent", within=1)


@pytest.mark.medium
def test_forgotten_memory_must_not_come_back(memory: Memory) -> None:
    memory.forget("ghent")
    must_not_recall(memory, "Who has a flat in Ghent?", "ghent")
    must_not_recall(memory, "Who has a flat in Ghent?", "flat in Ghent")


def test_evidence_of_must_not_recall_is_the_most(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder()) as memory:
        memory.remember("Ana moved to Porto.")
        question = "Where did Ana move?"
        band = memory.recall(question).evidence
        assert band is not Evidence.NONE
        must_not_recall(memory, question, evidence=band)
        shown = failure(must_not_recall, memory, question, evidence="none")
        assert f"has {band} evidence, expected none at most" in shown


# ---- side effects and bad input


def test_checks_leave_no_trace_in_the_log(memory: Memory) -> None:
    before = memory.graph().revision
    must_recall(memory, "Who has a flat in Ghent?", "ghent")
    must_not_recall(memory, "Who has a flat in Ghent?", "porto", within=1)
    failure(must_recall, memory, "Ana?", "Lisbon")
    history = memory.history("ghent")
    assert history is not None
    assert [access for access in history.accesses if access.kind is AccessKind.RECALLED] == []
    assert (memory.graph().revision, memory.unlogged_count) == (before, 0)


@pytest.mark.parametrize(
    "options",
    [
        {"expected": ""}, {"expected": " "}, {"expected": 5}, {"expected": None}, {"expected": Hit},
        {"expected": "x", "within": 0}, {"expected": "x", "within": True}, {"expected": "x", "evidence": "certain"},
    ],
)  # fmt: skip
def test_bad_argument_is_invalid_input(memory: Memory, options: Any) -> None:
    with pytest.raises(InvalidInput):
        must_recall(memory, "Ana?", **options)


def test_check_of_nothing_is_invalid_input(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="say what must not come back"):
        must_not_recall(memory, "Ana?")


def test_control_characters_do_not_reach_the_failure(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(), strategy="bm25") as memory:
        memory.remember("red \x1b[31m text\u202e about Porto", id="a\x1b[0mb")
        shown = failure(must_recall, memory, "Porto", "Lisbon")
        assert "\x1b" not in shown + failure(must_recall, memory, "Zorro", "red \x1b[31m text")
