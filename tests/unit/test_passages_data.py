"""The passages of training/data: their form, their evidence, and the counts that their description states."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ecphora.maintenance.learn.datasets import read_cases

DATA = Path(__file__).parents[2] / "training" / "data"
PARAGRAPHS_OF_ARTICLE = 4


def lines(part: str) -> list[dict[str, Any]]:
    """The lines of a file of the set."""
    return [json.loads(line) for line in (DATA / f"passages.{part}.jsonl").read_text("utf-8").splitlines()]


def test_set_reads_as_a_benchmark() -> None:
    cases = list(read_cases("passages", DATA))
    assert sum(len(case.questions) for case in cases) == len(lines("questions"))
    assert sum(len(case.episodes) for case in cases) == len(lines("docs"))


def test_article_has_four_different_paragraphs() -> None:
    docs = lines("docs")
    assert set(Counter((line["space"], line["title"]) for line in docs).values()) == {PARAGRAPHS_OF_ARTICLE}
    assert len({line["text"] for line in docs}) == len(docs)


def test_answerable_question_has_one_paragraph_of_its_space() -> None:
    paragraphs = {(line["space"], line["id"]) for line in lines("docs")}
    for line in lines("questions"):
        assert len(line["evidence"]) == int(line["answerable"]), line
        assert all((line["space"], id_) in paragraphs for id_ in line["evidence"]), line


def test_no_question_is_asked_twice() -> None:
    questions = Counter((line["space"], line["question"]) for line in lines("questions"))
    assert set(questions.values()) == {1}


@pytest.mark.parametrize("space", sorted({line["space"] for line in lines("docs")}))
def test_description_states_the_counts(space: str) -> None:
    asked = [line for line in lines("questions") if line["space"] == space]
    answerable = [line for line in asked if line["answerable"]]
    counts = (
        sum(line["space"] == space for line in lines("docs")),
        len(answerable),
        sum(line["language"] != space for line in answerable),
        len(asked) - len(answerable),
    )
    row = " | ".join(str(count) for count in (space, *counts))
    assert f"| {row} |" in (DATA / "passages.md").read_text("utf-8")
