"""The picture of docs/architecture.md shows the imports as they are."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_picture_of_the_architecture_is_what_its_script_draws() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "draw_architecture.py"))
    drawn = script["architecture"]()
    if (ROOT / "docs" / "pictures" / "architecture.svg").read_text(encoding="utf-8") != drawn:
        pytest.fail("docs/pictures/architecture.svg is out of date: run python scripts/draw_architecture.py")


def test_page_on_the_architecture_has_a_row_for_every_row_of_the_picture() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "draw_architecture.py"))
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0].removeprefix("| ") for line in page.splitlines() if line.startswith("| ")]
    assert rows[2:] == [label for label, _boxes in script["ROWS"]]
