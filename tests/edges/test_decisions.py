"""Every decision in docs/decisions has its three parts, and its row in the index."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
INDEX = FOLDER / "README.md"
DECISIONS = sorted(path for path in FOLDER.glob("*.md") if path != INDEX)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_decision_has_context_decision_and_consequence(path: Path) -> None:
    _title, *parts = re.split(r"^## ", read(path), flags=re.MULTILINE)
    assert [part.partition("\n")[0] for part in parts] == ["Context", "Decision", "Consequence"]
    assert all(part.partition("\n")[2].strip() for part in parts)


def test_index_lists_every_decision_with_its_title_and_status() -> None:
    rows = []
    for path in DECISIONS:
        number, title = re.findall(r"\A# (\d+)\. (.+)$", read(path), re.MULTILINE)[0]
        status = re.findall(r"^Status: (.+)$", read(path), re.MULTILINE)[0]
        rows.append(f"| [{int(number):04}]({path.name}) | {title} | {status} |")
    assert re.findall(r"^\| \[.+$", read(INDEX), re.MULTILINE) == rows


def test_decisions_are_numbered_without_gaps() -> None:
    assert [int(path.stem[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def test_status_of_a_decision_is_one_of_the_three() -> None:
    link = r"\[\d{4}\]\(\d{4}-[a-z0-9-]+\.md\)"
    known = re.compile(rf"^Status: (accepted(, extended by {link}( and {link})*)?|superseded by {link})$", re.MULTILINE)
    assert [path.name for path in DECISIONS if len(known.findall(read(path))) != 1] == []
