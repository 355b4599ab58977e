"""Patterns that are compiled on first use, and their simpler forms for ASCII texts."""

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
from ecphora.language import terms
from ecphora.language.names import mentions as names
from ecphora.model.lazy import LazyPattern, lazy_pattern

PARTS = [
    *("Ana", "Mr.", "St.", "O'Neill", "I'm", "US", "U.S.", "Jean-Luc", "the", "of", "van", "King", "Duke", "II", "12"),
    *("3rd", "don't", ",", ":", "a_b", "@Bo", "X&Y", "-based", "'s", ".", "\n"),
]
TEXTS = st.lists(st.sampled_from(PARTS)).map(" ".join) | st.lists(st.sampled_from(PARTS)).map("".join)


def test_pattern_compiles_on_first_use() -> None:
    with patch("re.compile", wraps=re.compile) as compiled:
        pattern = lazy_pattern(r"a(?P<rest>\w+)", re.IGNORECASE)
        assert not compiled.called
        assert [match["rest"] for match in pattern.finditer("Abc and")] == ["bc", "nd"]
        assert pattern.sub("-", "abc") == "-"
        assert pattern.fullmatch("Abc")
        assert pattern.pattern == r"a(?P<rest>\w+)"
        assert compiled.call_count == 1
    assert copy.deepcopy(pattern).search("xAb")
    with pytest.raises(re.error):
        lazy_pattern("(").search("")


@pytest.mark.medium
def test_patterns_of_the_language_package_compile() -> None:
    for module in pkgutil.iter_modules(ecphora.language.__path__, "ecphora.language."):
        importlib.import_module(module.name)
    patterns = [pattern for pattern in gc.get_objects() if type(pattern) is LazyPattern and pattern._source != "("]
    assert len(patterns) > 150
    for pattern in patterns:
        re.compile(pattern._source, pattern._flags)


@given(st.text(st.characters(max_codepoint=127)) | TEXTS)
def test_ascii_forms_match_as_the_full_patterns(text: str) -> None:
    assert [match.span() for match in names._ASCII_SPAN.finditer(text)] == [
        match.span() for match in names._SPAN.finditer(text)
    ]
    assert terms._ASCII_RUN.findall(text) == terms._RUN.findall(text)
