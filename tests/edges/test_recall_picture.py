"""The picture of a recall in the README is what its script draws."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_picture_of_a_recall_is_what_its_script_draws() -> None:
    drawn = runpy.run_path(str(ROOT / "scripts" / "draw_recall.py"))["recall"]()
    assert (ROOT / "docs" / "pictures" / "recall.svg").read_text(encoding="utf-8") == drawn
