"""JSON that is read in parts is what it is when it is read whole, however the file is cut into pieces."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.maintenance.interchange.files import json_stream
from ecphora.maintenance.interchange.files.json_stream import BrokenJson, read_values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


class Pieces:
    """A file that gives so many bytes at once."""

    def __init__(self, content: bytes, size: int) -> None:
        self._file, self._size = io.BytesIO(content), size

    def read(self, _: int, /) -> bytes:
        return self._file.read(self._size)

    def rest(self) -> int:
        """The bytes that were not read yet."""
        return len(self._file.getvalue()) - self._file.tell()


def read(content: bytes, size: int, *wanted: json_stream.Place) -> list[tuple[json_stream.Place, Any]]:
    return list(read_values(Pieces(content, size), "f", wanted))


@given(items=st.lists(JSON), size=st.integers(1, 9), indent=st.none() | st.integers(0, 3), ascii_only=st.booleans())
def test_elements_are_those_of_the_whole(items: list[Any], size: int, indent: int | None, *, ascii_only: bool) -> None:
    content = json.dumps(items, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    try:
        content.decode()
    except UnicodeDecodeError:
        return
    assert read(content, size, ("*",)) == [((place,), item) for place, item in enumerate(items)]
    assert read(content, size, ()) == [((), items)]


@given(value=JSON, size=st.integers(1, 9), cut=st.floats(0, 1, exclude_max=True))
def test_part_of_a_file_is_broken_or_whole(value: Any, size: int, cut: float) -> None:
    content = json.dumps([value]).encode()
    with pytest.raises(BrokenJson):
        read(content[: int(cut * len(content))], size, ("*",))


def test_wanted_places_are_found_among_others() -> None:
    content = b'{"a": 1, "b": {"c": [{"d": 1, "e": [2]}, {"e": []}, 5], "f": 12}, "a2": {}, "g": []}'
    wanted = (("a",), ("b", "c", "*", "d"), ("b", "c", "*", "e", "*"), ("b", "f"), ("g", "*"), ("a2", "x"))
    for size in range(1, 20):
        assert read(content, size, *wanted) == [
            (("a",), 1),
            (("b", "c", 0, "d"), 1),
            (("b", "c", 0, "e", 0), 2),
            (("b", "f"), 12),
        ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "ends too early"),
        (b"[1] 2", "goes on after its end"),
        (b"[1 2]", "is not JSON: there is no , or ]"),
        (b"{5: 1}", "has a key that is no text"),
        (b'{"a" 1}', "is not JSON: there is no :"),
        (b'["' + b"x" * 100 + b'", nonsense, 1, 2, 3, 4, 5, 6, 7]', "is not JSON"),
        (b"[" * 100_000, "cannot be read|is not JSON"),
        (b"[" + b"1" * 5000 + b"]", "cannot be read"),
        (b'["\xff"]', "is not UTF-8"),
        (b'["\xc3', "is not UTF-8"),
    ],
)
def test_broken_file_says_what_is_wrong(content: bytes, problem: str) -> None:
    with pytest.raises(BrokenJson, match=f"^f ({problem})"):
        read(content, 1 << 20, ("*",))


def test_mistake_is_found_without_reading_the_rest() -> None:
    file = Pieces(b"[nonsense, " + b"1, " * 1_000_000 + b"1]", 1000)
    with pytest.raises(BrokenJson):
        list(read_values(file, "f", [("*",)]))
    assert len(file.read(0)) == 1000, "there is more to read"


def test_part_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MAX_VALUE_CHARS", 1000)
    with pytest.raises(BrokenJson, match="too large"):
        read(b'["' + b"x" * 5000 + b'"]', 100, ("*",))


@given(items=st.lists(st.dictionaries(st.text(), JSON), min_size=2), size=st.integers(1, 9), mark=st.booleans())
def test_lines_of_objects_are_the_elements_of_an_array(items: list[Any], size: int, *, mark: bool) -> None:
    content = (b"\xef\xbb\xbf" if mark else b"") + "\n".join(map(json.dumps, items)).encode()
    assert read(content, size, ("*",)) == [((place,), item) for place, item in enumerate(items)]


@given(members=st.dictionaries(st.text(), st.lists(JSON) | st.integers()), size=st.integers(1, 9))
def test_items_are_those_of_every_array_of_an_object(members: dict[str, Any], size: int) -> None:
    lists = [(key, one) for key, one in members.items() if isinstance(one, list)]
    expected = [((key, place), item) for key, one in lists for place, item in enumerate(one)]
    assert read(json.dumps(members, indent=1).encode(), size, *json_stream.ITEMS) == expected


def test_first_line_alone_decides_whether_there_are_lines() -> None:
    assert read(b'{"a": 1}\n', 3, ("a",)) == [(("a",), 1)]
    assert read(b'{"a":\n{"a": 1}}', 3, ("a",)) == [(("a",), {"a": 1})]
    with pytest.raises(BrokenJson, match="goes on after its end"):
        read(b'{"a": 1}\n[2]', 3, ("a",))


def test_first_part_comes_before_the_rest_is_read() -> None:
    file = Pieces(json.dumps(["word " * 10] * 200_000).encode(), 1000)
    parts = read_values(file, "f", [("*",)])
    assert next(parts) == ((0,), "word " * 10)
    assert file.rest() > 8_000_000
