"""The groups of messages around a changed fact: their form, their counts, and that none of them is held back."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
GROUPS = ROOT / "training" / "data" / "change_groups.jsonl"
HELD = ROOT / "tests" / "changes" / "held_languages.jsonl"


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def messages(group: dict[str, Any]) -> list[str]:
    """The texts of a group, that of the statement first."""
    return [group["old"], *(text for _, text in (*group["new"], *group["not"]))]


@pytest.mark.medium
def test_group_has_two_changes_and_four_look_alikes() -> None:
    for number, group in enumerate(read_lines(GROUPS)):
        assert tuple(group) == ("lang", "speaker", "old", "new", "not"), number
        assert (len(group["new"]), len(group["not"])) == (2, 4), number
        assert all(map(str.strip, (group["speaker"], *messages(group)))), number
        assert len(set(messages(group))) == 7, number


@pytest.mark.medium
def test_statement_of_the_groups_has_their_counts() -> None:
    statement = GROUPS.with_suffix(".md").read_text("utf-8")
    counts = Counter(group["lang"] for group in read_lines(GROUPS))
    for language, count in counts.items():
        assert f"| {language} | {count:,} |" in statement
    assert f"| all | {counts.total():,} |" in statement


@pytest.mark.medium
def test_message_of_a_group_is_no_held_text() -> None:
    held = {turn[4] for case in read_lines(HELD) for turn in case["told"]}
    assert held.isdisjoint(text for group in read_lines(GROUPS) for text in messages(group))
    assert "fr" not in {group["lang"] for group in read_lines(GROUPS)}
