"""The memories of training/data/memories: their format, their evidence, and what is held back."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ecphora.maintenance.learn.datasets import dataset_names, read_cases

DATA = Path(__file__).parents[2] / "training" / "data" / "memories"
SETS = tuple(dataset_names(DATA))
CATEGORIES = {
    *("direct", "paraphrase", "update", "then", "context", "when", "who", "multi", "list", "unanswerable"),
}
SINGLE = {"direct", "paraphrase", "update", "then", "context"}
"""The categories of one evidence."""
HELD = ("held", "held_many", "held_short", "untaught")
"""The sets that nothing is trained on."""
FREE_QUESTIONS = re.compile(r"[a-z]{2}9_|many_")
"""What the ids of the sixth to eighth batch begin with; their unanswerable questions may resemble no other."""
SECOND_BATCH, SECOND_BATCH_SPACES = re.compile(r"[a-z]{2}[23]_"), 54
"""What the ids of its spaces begin with, and how many these are."""


def lines(name: str) -> list[dict[str, Any]]:
    """The lines of a file of the folder."""
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.medium
@pytest.mark.parametrize("name", SETS)
def test_set_reads_as_a_benchmark(name: str) -> None:
    cases = list(read_cases(name, DATA))
    assert {case.space for case in cases} == {line["space"] for line in lines(f"{name}.docs")}
    assert sum(len(case.questions) for case in cases) == len(lines(f"{name}.questions"))


@pytest.mark.medium
@pytest.mark.parametrize("name", SETS)
def test_evidence_fits_its_category(name: str) -> None:
    for line in lines(f"{name}.questions"):
        where, count = f"{line['space']} {line['id']}", len(line["evidence"])
        assert line["category"] in CATEGORIES, where
        assert line["answerable"] == (line["category"] != "unanswerable"), where
        assert bool(line["answers"]) == bool(count) == line["answerable"], where
        assert count == 1 or line["category"] not in SINGLE, where
        assert 2 <= count <= 3 or line["category"] != "multi", where
        assert count >= 4 or line["category"] != "list", where


@pytest.mark.medium
@pytest.mark.parametrize("name", SETS)
def test_unanswerable_question_names_the_question_that_it_is_near_to(name: str) -> None:
    questions = {(line["space"], line["id"]): line for line in lines(f"{name}.questions")}
    assert len(questions) == len(lines(f"{name}.questions"))
    for (space, _), line in questions.items():
        assert (line["near"] is not None) >= (not line["answerable"]) or FREE_QUESTIONS.match(space), line
        assert line["near"] is None or questions[space, line["near"]]["answerable"], line


@pytest.mark.medium
@pytest.mark.parametrize("name", SETS)
def test_evidence_is_not_later_than_the_question(name: str) -> None:
    times = {(line["space"], line["id"]): line["time"] for line in lines(f"{name}.docs")}
    for line in lines(f"{name}.questions"):
        for id_ in line["evidence"]:
            time = times[line["space"], id_]
            assert time is None or time[:10] <= line["asked_at"][:10], f"{line['space']} {line['id']}"


@pytest.mark.medium
def test_held_spaces_are_in_no_other_set() -> None:
    spaces = Counter(space for name in SETS for space in {line["space"] for line in lines(f"{name}.docs")})
    assert set(HELD) <= set(SETS)
    assert set(spaces.values()) == {1}


@pytest.mark.medium
def test_readme_states_the_counts() -> None:
    readme = (DATA / "README.md").read_text("utf-8")
    for name in SETS:
        docs, questions = lines(f"{name}.docs"), lines(f"{name}.questions")
        answerable = sum(line["answerable"] for line in questions)
        spaces = len({line["space"] for line in docs})
        row = f"| {name} | {spaces} | {len(docs):,} | {answerable:,} | {len(questions) - answerable:,} |"
        assert row in readme


@pytest.mark.medium
def test_spaces_of_the_second_batch_are_small_and_dense_with_near_misses() -> None:
    entries, answers = Counter[str](), Counter[tuple[str, bool]]()
    for name in SETS:
        entries.update(line["space"] for line in lines(f"{name}.docs") if SECOND_BATCH.match(line["space"]))
        answers.update((line["space"], line["answerable"]) for line in lines(f"{name}.questions"))
    assert len(entries) == SECOND_BATCH_SPACES
    for space, count in entries.items():
        assert 30 <= count <= 39, space
        assert answers[space, False] in {9, 10}, space
        assert answers[space, True] == 15, space


@pytest.mark.parametrize(("name", "counts"), [("held_many", {4}), ("many", {4, 5, 6})])
def test_memory_of_many_matters_has_some_changes(name: str, counts: set[int]) -> None:
    times = {(line["space"], line["id"]): line["time"] for line in lines(f"{name}.docs")}
    changes = lines(f"{name}.changes")
    assert set(Counter(change["space"] for change in changes).values()) == counts
    assert {change["space"] for change in changes} == {space for space, _ in times}
    for change in changes:
        assert times[change["space"], change["old"]] < times[change["space"], change["new"]], change


@pytest.mark.parametrize("name", ["held_many", "many"])
def test_question_about_the_present_state_has_the_newest_statement(name: str) -> None:
    changes = lines(f"{name}.changes")
    replaced, newest = ({(change["space"], change[part]) for change in changes} for part in ("old", "new"))
    for line in lines(f"{name}.questions"):
        key = line["space"], *line["evidence"]
        assert line["category"] != "update" or key in newest, line
        assert line["category"] != "then" or key in replaced, line


@pytest.mark.medium
def test_review_names_a_space_and_is_not_one_of_a_held_space() -> None:
    spaces = {line["space"] for name in SETS if name not in HELD for line in lines(f"{name}.docs")}
    assert {line["space"] for line in lines("reviews")} <= spaces
