"""The generated pages of docs/reference are what their script writes."""

import runpy
from pathlib import Path
from typing import Any

import pytest

import ecphora
from ecphora import errors

pytestmark = pytest.mark.medium

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
MAX_WORDS = 9000


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    """The names of the script that writes the pages."""
    return runpy.run_path(str(ROOT / "scripts" / "generate_reference"))


@pytest.mark.parametrize("page", ["api.md", "cli.md"])
def test_page_of_the_reference_is_what_its_script_writes(script: dict[str, Any], page: str) -> None:
    if (FOLDER / page).read_text(encoding="utf-8") != script["PAGES"][page]():
        pytest.fail(f"docs/reference/{page} is out of date: run scripts/generate_reference")


def test_generated_pages_stay_short_enough_to_read() -> None:
    words = sum(len((FOLDER / page).read_text(encoding="utf-8").split()) for page in ("api.md", "cli.md"))
    assert words <= MAX_WORDS


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join((FOLDER / page).read_text(encoding="utf-8") for page in ("api.md", "errors.md"))
    assert [name for name in ecphora.__all__ if f"`{name}`" not in text and f"### {name}" not in text] == []


def test_every_error_is_in_the_reference() -> None:
    text = (FOLDER / "errors.md").read_text(encoding="utf-8")
    names = [name for name, value in vars(errors).items() if isinstance(value, type)]
    assert [name for name in names if f"| `{name}` |" not in text] == []
