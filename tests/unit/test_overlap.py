"""The check that no lesson repeats a text of a set: on a set made for this test."""

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "overlap.py"
ORIGINAL = "We carried the harmonium down four flights of stairs before anybody mentioned the lift."
RETOLD = "We carried our harmonium down the four flights of stairs before somebody mentioned the lift."
OTHER = "Her uncle repairs clocks in a shed behind the tram depot, mostly on rainy afternoons."


@pytest.fixture(scope="module")
def lessons(overlap: ModuleType) -> list[str]:
    """The ids of all training texts."""
    return [text.id for text in overlap.training_texts()]


@pytest.fixture(scope="module")
def overlap() -> ModuleType:
    spec = importlib.util.spec_from_file_location("overlap", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts(overlap: ModuleType, lesson: str, held: Sequence[str]) -> tuple[list[Any], list[Any]]:
    theirs = [overlap.Text(f"set/{place}", text, f"set:{place}") for place, text in enumerate(held)]
    return [overlap.Text("lesson", lesson)], theirs


def runs(overlap: ModuleType, lesson: str, *held: str) -> int:
    return len(list(overlap.shared_ngrams(*texts(overlap, lesson, held))))


def found(overlap: ModuleType, lesson: str, *held: str) -> list[str]:
    ours, theirs = texts(overlap, lesson, held)
    both = [*overlap.shared_ngrams(ours, theirs), *overlap.similar_pairs(ours, theirs)]
    return [one.reason.partition(":")[0].partition(" ")[0] for one in both]


def test_a_retold_text_is_found_by_its_words(overlap: ModuleType) -> None:
    assert found(overlap, RETOLD, ORIGINAL, OTHER) == ["similarity"]
    assert found(overlap, OTHER, ORIGINAL) == []


def test_a_run_of_eight_words_is_found_inside_other_text(overlap: ModuleType) -> None:
    words = ORIGINAL.split()
    inside = f"{OTHER} {OTHER.upper()} And {' '.join(words[:8])} we rested, ate plums and argued about maps and boots."
    assert runs(overlap, inside, ORIGINAL) == 1
    assert runs(overlap, inside.replace(words[4], "both"), ORIGINAL) == 0


def test_what_three_spaces_share_is_a_common_phrase(overlap: ModuleType) -> None:
    phrase = "at the end of the day it is what it is"
    held = [f"{phrase}, said the {one}" for one in ("miller", "baker", "carter")]
    lesson = f"{OTHER} But {phrase}. {RETOLD}"
    assert runs(overlap, lesson, *held) == 0
    assert runs(overlap, lesson, *held[:2]) > 0


@pytest.mark.slow
def test_a_sentence_is_found_inside_a_long_passage(overlap: ModuleType) -> None:
    passage = " ".join(f"{OTHER} This is line {number} of the same long account." for number in range(12))
    assert found(overlap, RETOLD, f"{passage} {ORIGINAL} {passage}") == []  # lost in a text that is not cut
    pieces = [piece.text for piece in overlap.chunks("set/1", f"{passage} {ORIGINAL} {ORIGINAL}", "set:1")]
    assert all(len(piece.split()) <= overlap.MAX_WORDS for piece in pieces)
    assert found(overlap, RETOLD, *pieces) == ["similarity"]


def test_every_file_of_lessons_is_read(lessons: list[str]) -> None:
    for name in ("changes", "plain", "everyday", "histories", "talks.docs", "talks.questions", "encm"):
        assert any(id_.startswith(f"{name}:") for id_ in lessons), name
    for part in ("matrix", "control"):
        lines = (SCRIPT.parents[1] / "tests" / "changes" / f"everyday_{part}.jsonl").read_text("utf-8").splitlines()
        read = {case["id"]: case["part"] == "everyday-read" for case in map(json.loads, lines)}
        used = {id_.partition("/")[0] for id_ in lessons} & read.keys()
        assert used == {id_ for id_, was in read.items() if was}


def test_no_lesson_is_of_the_batch_that_retold_a_set(lessons: list[str]) -> None:
    assert not any(id_.startswith("changes:w14-") for id_ in lessons)
