"""Patterns that are compiled on first use, and those that stand in for them where a text is ASCII."""

import copy
import gc
import importlib
import pkgutil
import re
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecphora.language
from ecphora.language import names, terms
from ecphora.lazy_pattern import LazyPattern, lazy_pattern

PARTS = [
    *("Ana", "Mr.", "St.", "O'Neill", "I'm", "US", "U.S.", "Jean-Luc", "the", "of", "van", "King", "Duke", "II", "12"),
    *("3rd", "don't", ",", ":", "a_b", "@Bo", "X&Y", "-based", "'s", ".", "\n"),
]
TALK = st.lists(st.sampled_from(PARTS)).map(" ".join) | st.lists(st.sampled_from(PARTS)).map("".join)


def test_the_first_use_compiles() -> None:
    with patch("re.compile", wraps=re.compile) as compiled:
        pattern = lazy_pattern(r"a(?P<rest>\w+)", re.IGNORECASE)
        assert not compiled.called
        assert [found["rest"] for found in pattern.finditer("Abc and")] == ["bc", "nd"]
        assert pattern.sub("-", "abc") == "-"
        assert pattern.fullmatch("Abc")
        assert pattern.pattern == r"a(?P<rest>\w+)"
        assert compiled.call_count == 1
    assert copy.deepcopy(pattern).search("xAb")
    with pytest.raises(re.error):
        lazy_pattern("(").search("")


def test_every_pattern_of_the_language_compiles() -> None:
    for module in pkgutil.iter_modules(ecphora.language.__path__, "ecphora.language."):
        importlib.import_module(module.name)
    patterns = [one for one in gc.get_objects() if type(one) is LazyPattern and one._source != "("]
    assert len(patterns) > 150
    for one in patterns:
        re.compile(one._source, one._flags)


@given(st.text(st.characters(max_codepoint=127)) | TALK)
def test_an_ascii_text_is_read_alike_by_the_short_forms(text: str) -> None:
    assert [one.span() for one in names._ASCII_SPAN.finditer(text)] == [
        one.span() for one in names._SPAN.finditer(text)
    ]
    assert terms._ASCII_RUN.findall(text) == terms._RUN.findall(text)
