"""The picture of docs/explanation/architecture.md shows the imports as they are."""

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the script that draws the picture."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return runpy.run_path(str(ROOT / "scripts" / "draw_architecture.py"))


@pytest.mark.medium
def test_picture_of_the_architecture_is_what_its_script_draws(script: dict[str, Any]) -> None:
    drawn = script["architecture"]()
    if (ROOT / "docs" / "pictures" / "architecture.svg").read_text(encoding="utf-8") != drawn:
        pytest.fail("docs/pictures/architecture.svg is out of date: run python scripts/draw_architecture.py")


@pytest.mark.medium
def test_page_on_the_architecture_has_a_row_for_every_room(script: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0].strip("| `/") for line in page.splitlines() if line.startswith("| ")]
    assert sorted(rows[2:]) == sorted(box.name for box in script["read_boxes"]())
