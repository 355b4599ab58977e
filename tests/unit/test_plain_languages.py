"""The changes in plain words of several languages: their form, their twins, and what is held back."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TRAINING, HELD = (
    ROOT / "training" / "data" / "plain_languages.jsonl",
    ROOT / "tests" / "changes" / "held_languages.jsonl",
)
COUNTS = {
    TRAINING: {"de": 120, "es": 120, "ja": 120, "zh": 120},
    HELD: {"de": 60, "en": 40, "es": 60, "fr": 120, "ja": 60, "zh": 60},
}
"""The cases of each language."""
FIELDS = ("id", "kind", "told", "old", "new", "since", "until")
UNEQUAL_TWINS = {"de-005", "de-043", "de-held-019"}
"""The changes whose twin has another first text."""


def read_cases(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("path", COUNTS, ids=lambda path: path.stem)
def test_cases_have_the_fields_of_plain_cases(path: Path) -> None:
    for case in read_cases(path):
        assert tuple(case) == FIELDS
        (old, told_at, *_), (new, changed_at, *_) = case["told"]
        assert (case["old"], case["new"]) == (old, new)
        assert told_at < changed_at, case["id"]


def test_languages_have_the_counts_that_the_statement_names() -> None:
    statement = TRAINING.with_suffix(".md").read_text("utf-8")
    training, held = (Counter(case["id"][:2] for case in read_cases(path)) for path in (TRAINING, HELD))
    assert dict(training) == COUNTS[TRAINING]
    assert dict(held) == COUNTS[HELD]
    for language, count in held.items():
        assert f"| {language} | {training[language] or 'none'} | {count} |" in statement


@pytest.mark.parametrize("path", COUNTS, ids=lambda path: path.stem)
def test_each_change_is_followed_by_its_look_alike(path: Path) -> None:
    cases = read_cases(path)
    for change, twin in zip(cases[::2], cases[1::2], strict=True):
        assert change["kind"] in {"replacement", "retraction"}, change["id"]
        assert twin["kind"] == "none", twin["id"]
        assert change["id"][:-3] == twin["id"][:-3]
        assert (change["told"][0][4] == twin["told"][0][4]) == (change["id"] not in UNEQUAL_TWINS), change["id"]


def test_held_text_is_not_a_training_text() -> None:
    trained, held = ({turn[4] for case in read_cases(path) for turn in case["told"]} for path in (TRAINING, HELD))
    assert trained & held == set()
