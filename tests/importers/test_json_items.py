"""JSON is read item by item, whatever the size of the pieces in which the file is read."""

import json
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.folders import ProgressMeter
from ecphora.maintenance.interchange.stores import json_items
from ecphora.maintenance.interchange.stores.json_items import BrokenRest, read_items

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def items_of(text: str, piece: int = 1) -> list[tuple[str | None, object]]:
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(json_items, "_CHUNK", piece):
        path = Path(folder) / "items.json"
        path.write_text(text, encoding="utf-8")
        return list(read_items(path))


@given(st.lists(values, max_size=4), st.integers(1, 9), st.sampled_from([None, 1]))
def test_items_of_an_array(items: list[object], piece: int, indent: int | None) -> None:
    assert items_of(json.dumps(items, indent=indent), piece) == [(None, item) for item in items]


@given(st.dictionaries(st.text(max_size=3), values, max_size=4), st.integers(1, 9))
def test_items_of_an_object(members: dict[str, object], piece: int) -> None:
    expected: list[tuple[str | None, object]] = []
    for key, value in members.items():
        expected += [(key, item) for item in value] if isinstance(value, list) else [(key, value)]
    assert items_of(json.dumps(members), piece) == expected


@pytest.mark.parametrize("text", ["", " ", "1", '"a"', "[", "{", "{1: 2}", '{"a" 1}', "[,]", "{,}"])
def test_what_begins_otherwise_is_invalid(text: str) -> None:
    with pytest.raises(InvalidInput):
        items_of(text)


@pytest.mark.parametrize("text", ["[1, 2", "[1, 2}", "[1, 2] x", '{"a": 1, 2}', '{"a": 1]', "[1, [" + "[" * 100_000])
def test_what_breaks_off_later_gives_the_items_before(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    items = read_items(tmp_path / "a.json")
    assert next(items)[1] == 1
    with pytest.raises(BrokenRest):
        list(items)


def test_first_item_comes_before_the_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(["word " * 10] * 20_000), encoding="utf-8")
    reports: list[tuple[int, int]] = []
    items = read_items(path, ProgressMeter(lambda done, total: reports.append((done, total)), path.stat().st_size))
    assert next(items) == (None, "word " * 10)
    assert reports[-1][0] < reports[-1][1] / 4


def test_no_more_than_the_longest_item_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_items, "MAX_ITEM_CHARS", 100_000)
    path = tmp_path / "a.json"
    path.write_text(f'["{"x" * 3_000_000}"]', encoding="utf-8")
    reports: list[tuple[int, int]] = []
    with pytest.raises(InvalidInput):
        list(read_items(path, ProgressMeter(lambda done, total: reports.append((done, total)), path.stat().st_size)))
    assert reports[-1][0] < 1_000_000
