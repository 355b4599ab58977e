"""The questions of training/data/speakers: their form, their evidence, their twins and their counts."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ecphora.maintenance.learn.datasets import dataset_names, read_cases

DATA = Path(__file__).parents[2] / "training" / "data"
SPEAKERS = DATA / "speakers"
SETS = tuple(dataset_names(SPEAKERS))
CATEGORIES = ("direct", "paraphrase", "context", "update", "when", "multi")


def lines(name: str) -> list[dict[str, Any]]:
    """The questions of a set."""
    return [json.loads(line) for line in (SPEAKERS / f"{name}.questions.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.medium
@pytest.mark.parametrize("name", SETS)
def test_set_reads_as_a_benchmark(name: str) -> None:
    cases = read_cases(name, SPEAKERS, DATA if name == "talks" else DATA / "memories")
    assert sum(len(case.questions) for case in cases) == len(lines(name))


@pytest.mark.parametrize("name", SETS)
def test_each_question_has_an_unanswerable_twin(name: str) -> None:
    found = lines(name)
    for question, twin in zip(found[::2], found[1::2], strict=True):
        assert question["answerable"], question
        assert not twin["answerable"], twin
        assert question["category"] in CATEGORIES, question
        assert (twin["category"], twin["space"], twin["near"]) == ("unanswerable", question["space"], question["id"])
        assert question["question"] != twin["question"], question
        assert question["evidence"], question
        assert question["answers"], question


@pytest.mark.parametrize("name", SETS)
def test_no_question_is_asked_twice_of_a_memory(name: str) -> None:
    asked = Counter((line["space"], line["question"]) for line in lines(name))
    assert [key for key, count in asked.items() if count > 1] == []


def test_readme_states_the_counts() -> None:
    readme = (SPEAKERS / "README.md").read_text("utf-8")
    found = {name: lines(name) for name in SETS}
    for name, some in found.items():
        assert f"| {name} | {len({line['space'] for line in some})} | {len(some) // 2} |" in readme
    categories = Counter(line["category"] for some in found.values() for line in some)
    assert ", ".join(f"{categories[name]} {name}" for name in CATEGORIES) in readme
