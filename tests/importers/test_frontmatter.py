"""What is written as frontmatter is read as the same values, whatever texts they hold."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ecphora.maintenance.interchange.documents.frontmatter import dump_frontmatter, load_frontmatter, split_frontmatter

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
texts |= st.text("\n \r\t'\":-a\x85\u2028\ufeff#\\", max_size=12)
texts |= st.sampled_from(
    ["true", "~", "null", "1e5", "+.5", "1.5e5", "0x1", "012", "12:30", "---", "<<", "=", "&a", "*a"]
)
numbers = st.integers(-(2**1024) + 1, 2**1024 - 1) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
lists = st.lists(scalars, max_size=3)


@given(st.dictionaries(texts, scalars | lists | st.dictionaries(texts, scalars, max_size=2), max_size=3))
@example({"\x85": None, "a": "\u2028 ", "b": "x\n---\ny"})
def test_values_come_back_the_same(values: dict[str, Any]) -> None:
    source, body = split_frontmatter(f"{dump_frontmatter(values)}\n---\n")
    assert source is not None
    assert (load_frontmatter(source), body) == (values, "\n---\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\na: 1\n---\nText", ("a: 1\n", "Text")),
        ("---\r\na: 1\r\n--- \r\nText", ("a: 1\r\n", "Text")),
        ("---\n---", ("", "")),
        ("---\na: 1\nText", (None, "---\na: 1\nText")),
        ("Text\n---\na: 1\n---\n", (None, "Text\n---\na: 1\n---\n")),
        ("----\na\n----\n", (None, "----\na\n----\n")),
    ],
)
def test_frontmatter_stands_at_the_beginning(text: str, expected: tuple[str | None, str]) -> None:
    assert split_frontmatter(text) == expected
