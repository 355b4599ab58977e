"""``training/overlap.py``: the check that no training text repeats a text of a data set."""

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "training" / "overlap.py"
ORIGINAL = "We carried the harmonium down four flights of stairs before anybody mentioned the lift."
PARAPHRASE = "We carried our harmonium down the four flights of stairs before somebody mentioned the lift."
OTHER = "Her uncle repairs clocks in a shed behind the tram depot, mostly on rainy afternoons."


@pytest.fixture(scope="module")
def training_ids(overlap: ModuleType) -> list[str]:
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


def texts(overlap: ModuleType, training_text: str, dataset: Sequence[str]) -> tuple[list[Any], list[Any]]:
    dataset_texts = [overlap.Text(f"set/{place}", text, f"set:{place}") for place, text in enumerate(dataset)]
    return [overlap.Text("lesson", training_text)], dataset_texts


def runs(overlap: ModuleType, training_text: str, *dataset: str) -> int:
    return len(list(overlap.shared_ngrams(*texts(overlap, training_text, dataset))))


def found(overlap: ModuleType, training_text: str, *dataset: str) -> list[str]:
    training, dataset_texts = texts(overlap, training_text, dataset)
    both = [*overlap.shared_ngrams(training, dataset_texts), *overlap.similar_pairs(training, dataset_texts)]
    return [one.reason.partition(":")[0].partition(" ")[0] for one in both]


@pytest.mark.medium
def test_paraphrase_is_found_by_similarity(overlap: ModuleType) -> None:
    assert found(overlap, PARAPHRASE, ORIGINAL, OTHER) == ["similarity"]
    assert found(overlap, OTHER, ORIGINAL) == []


def test_shared_run_of_eight_words_is_found(overlap: ModuleType) -> None:
    words = ORIGINAL.split()
    inside = f"{OTHER} {OTHER.upper()} And {' '.join(words[:8])} we rested, ate plums and argued about maps and boots."
    assert runs(overlap, inside, ORIGINAL) == 1
    assert runs(overlap, inside.replace(words[4], "both"), ORIGINAL) == 0


def test_phrase_of_three_spaces_is_common(overlap: ModuleType) -> None:
    phrase = "at the end of the day it is what it is"
    dataset = [f"{phrase}, said the {one}" for one in ("miller", "baker", "carter")]
    training_text = f"{OTHER} But {phrase}. {PARAPHRASE}"
    assert runs(overlap, training_text, *dataset) == 0
    assert runs(overlap, training_text, *dataset[:2]) > 0


@pytest.mark.slow
def test_sentence_inside_a_long_passage_is_found(overlap: ModuleType) -> None:
    passage = " ".join(f"{OTHER} This is line {number} of the same long account." for number in range(12))
    assert found(overlap, PARAPHRASE, f"{passage} {ORIGINAL} {passage}") == []  # not found in a text that is not cut
    chunks = [chunk.text for chunk in overlap.chunks("set/1", f"{passage} {ORIGINAL} {ORIGINAL}", "set:1")]
    assert all(len(chunk.split()) <= overlap.MAX_WORDS for chunk in chunks)
    assert found(overlap, PARAPHRASE, *chunks) == ["similarity"]


@pytest.mark.medium
def test_every_training_file_is_read(training_ids: list[str]) -> None:
    single_files = (
        "changes",
        "plain",
        "plain_languages",
        "change_groups",
        "everyday",
        "histories",
        "talks.docs",
        "talks.questions",
        "encm",
    )
    for name in single_files:
        assert any(id_.startswith(f"{name}:") for id_ in training_ids), name
    for part in ("matrix", "control"):
        lines = (SCRIPT.parents[1] / "tests" / "changes" / f"everyday_{part}.jsonl").read_text("utf-8").splitlines()
        is_read_by_id = {case["id"]: case["part"] == "everyday-read" for case in map(json.loads, lines)}
        used = {id_.partition("/")[0] for id_ in training_ids} & is_read_by_id.keys()
        assert used == {id_ for id_, is_read in is_read_by_id.items() if is_read}


@pytest.mark.medium
def test_held_changes_are_not_among_the_training_texts(training_ids: list[str]) -> None:
    assert not any("-held-" in id_ for id_ in training_ids)


@pytest.mark.medium
def test_removed_batch_is_not_among_the_training_texts(training_ids: list[str]) -> None:
    assert not any(id_.startswith("changes:w14-") for id_ in training_ids)
