"""The table of formats, and the lists of what each sample gives, are what their script writes."""

import runpy
from pathlib import Path

import pytest

from ecphora.maintenance.interchange.formats import BUILT_IN, find_format, format_names

pytestmark = pytest.mark.medium

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def written() -> tuple[str, dict[str, str]]:
    """What the script would write."""
    for package in ("mailparser_reply", "yaml"):
        pytest.importorskip(package)
    found: tuple[str, dict[str, str]] = runpy.run_path(str(ROOT / "scripts" / "formats"))["run"]()
    return found


@pytest.mark.parametrize("name", format_names())
def test_samples_of_a_format_give_what_their_list_has(name: str, written: tuple[str, dict[str, str]]) -> None:
    expected = (ROOT / "tests/importers/samples" / f"{name}.txt").read_text(encoding="utf-8")
    assert written[1][name].splitlines() == expected.splitlines(), "run scripts/formats, and look at what changed"


@pytest.mark.parametrize("name", BUILT_IN)
def test_sample_is_recognized_as_its_format_alone(name: str) -> None:
    for path in sorted((ROOT / "tests/importers/samples" / name).iterdir()):
        is_packed = path.suffix == ".sql" or (path.suffix == ".zip" and path.is_dir())
        if not is_packed and not path.name.startswith("malformed") and path.name != "plain":  # no vault of Obsidian
            assert find_format(path).name == name, path.name


def test_table_of_formats_is_what_its_script_writes(written: tuple[str, dict[str, str]]) -> None:
    assert (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8") == written[0], "run scripts/formats"


def test_every_sample_is_read_and_every_malformed_one_is_one_error(written: tuple[str, dict[str, str]]) -> None:
    rows = [line.split("|")[1:-1] for line in written[0].splitlines()[6:]]
    assert [row[0] for row in rows] == format_names()
    for name, samples, read, memories, _, malformed, told in rows:
        assert samples == read != "0", name
        assert malformed == told != "0", name
        assert int(memories) >= int(read), name
