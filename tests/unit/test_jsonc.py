"""Changes of JSON with comments: what is parsed, and that a merge adds values and keeps every byte."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.remote.mcp.jsonc import merge, parse

ENTRY = {"command": "/opt/ecphora", "args": ["mcp", "--db", 'a "b" // 記憶 /* */.db']}
CHANGES = {"servers": {"ecphora": ENTRY}}

# ---- documents as editors write them

CHARACTERS = st.characters(codec="utf-8")
NAMES = st.sampled_from(["a", "b", "servers", "ecphora", "// x", "/*", "", "é\n"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(CHARACTERS, max_size=4)
    | st.sampled_from(["// no comment", "/* nor this */", "{", "]", '"', "\\", ","])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
SERVERS = st.dictionaries(NAMES.filter(lambda name: name != "ecphora"), VALUES, max_size=2)
DOCUMENTS = st.builds(
    lambda settings, servers: settings | ({} if servers is None else {"servers": servers}),
    st.dictionaries(NAMES, VALUES, max_size=3).map(
        lambda found: found | {"servers": {}} if "servers" in found else found
    ),
    st.none() | SERVERS,
)
GAPS = st.lists(
    st.sampled_from([" ", "\t", "\n", "\r\n", "\n\n    ", "// a comment\n", "//{\r\n", "/* a\n * comment */", "/**/"]),
    max_size=2,
).map("".join)


@st.composite
def written(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> tuple[Any, str]:
    """A value, and a text of it with comments and trailing commas."""

    def write(value: Any) -> str:
        if isinstance(value, dict):
            parts = [f"{json.dumps(name)}{draw(GAPS)}:{draw(GAPS)}{write(one)}" for name, one in value.items()]
            return wrap(parts, "{", "}")
        if isinstance(value, list):
            return wrap([write(one) for one in value], "[", "]")
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    def wrap(parts: list[str], opening: str, closing: str) -> str:
        body = ",".join(f"{draw(GAPS)}{part}{draw(GAPS)}" for part in parts)
        end = draw(st.sampled_from(["", ","])) if parts else ""
        return f"{opening}{draw(GAPS)}{body}{end}{draw(GAPS)}{closing}"

    value = draw(values)
    return value, f"{draw(GAPS)}{write(value)}{draw(GAPS)}"


def is_kept(before: str, after: str) -> bool:
    """Whether all characters of a text are in another one, in their order."""
    rest = iter(after)
    return all(character in rest for character in before)


@pytest.mark.medium
@given(written(VALUES))
def test_value_is_read_in_spite_of_comments(document: tuple[Any, str]) -> None:
    value, text = document
    found = parse(text)
    assert found is not None
    assert json.dumps(found.data) == json.dumps(value)


@pytest.mark.medium
@given(written(DOCUMENTS))
def test_merge_adds_the_entry_and_keeps_every_byte(document: tuple[Any, str]) -> None:
    value, text = document
    merged = merge(text, CHANGES)
    found = parse(merged)
    assert found is not None
    assert found.data == {**value, "servers": {**value.get("servers", {}), "ecphora": ENTRY}}
    assert is_kept(text, merged)
    assert list(found.data)[: len(value)] == list(value)
    assert merge(merged, CHANGES) == merged


@pytest.mark.medium
@given(written(DOCUMENTS), SCALARS | st.just({"command": "old", "env": {"KEY": "x"}}) | st.just({}))
def test_merge_replaces_only_what_differs(document: tuple[Any, str], old: Any) -> None:
    _, text = document
    before = merge(text, {"servers": {"ecphora": old}})
    after = merge(before, CHANGES)
    found = parse(after)
    assert found is not None
    assert found.data["servers"]["ecphora"] == ({**old, **ENTRY} if isinstance(old, dict) else ENTRY)
    assert is_kept(text, after)


@given(st.dictionaries(NAMES, VALUES, max_size=3), st.sampled_from([None, 2, "\t"]))
def test_merge_of_plain_json_is_plain_json(value: dict[str, Any], indent: Any) -> None:
    value.pop("servers", None)
    merged = merge(json.dumps(value, indent=indent), CHANGES)
    assert json.loads(merged) == {**value, **CHANGES}


@given(st.text(st.sampled_from(list('{}[]:,"\\/*\n\r ab1.-e+truefalsn\ufeff')), max_size=12) | st.text(max_size=6))
def test_any_text_is_read_or_refused(text: str) -> None:
    problem, found = None, None
    try:
        found = parse(text)
    except ValueError as error:
        problem = str(error)
    if problem is not None:
        assert re.match(r"line \d+, column \d+: ", problem)
        with pytest.raises(ValueError, match=re.escape(problem)):
            merge(text, CHANGES)
    elif found is None:
        assert merge(text, CHANGES).startswith(text)
    try:
        plain = json.loads(text, parse_constant=pytest.fail)
    except (ValueError, pytest.fail.Exception):
        return
    assert json.dumps(parse(text).data) == json.dumps(plain)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1, column 2: a name in double quotes"),
        ('{"a"\n 1}', "line 2, column 2: a colon"),
        ('{"a": 1 "b": 2}', "line 1, column 9: a comma or }"),
        ("[1 2]", "line 1, column 4: a comma or ]"),
        ("{,}", "a name in double quotes"),
        ("[,]", "a value was expected"),
        ('{"a": 1,, }', "a name in double quotes"),
        ("{a: 1}", "a name in double quotes"),
        ("{'a': 1}", "a name in double quotes"),
        ('{"a": \n\n  NaN}', "line 3, column 3: a value"),
        ('{"a": 01}', "a value"),
        ('{"a": 1.}', "a value"),
        ('{"a": +1}', "a value"),
        ('{"a": truest}', "a value"),
        ('{"a": "x\ny"}', "a value"),
        ('{"a": "\\x"}', "escape"),
        ('{"a": 1} {}', "line 1, column 10: something follows"),
        ('{"a": 1 /* }', "a comma or }"),
        ("/* {}", "a value"),
        ("# x\n{}", "a value"),
        ("{} \xa0", "something follows"),
    ],
)
def test_text_that_is_not_valid_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse(text)
    with pytest.raises(ValueError, match=re.escape(message)):
        merge(text, CHANGES)


def test_merge_refuses_a_name_that_is_there_twice() -> None:
    with pytest.raises(ValueError, match="it has 'servers' twice"):
        merge('{"servers": {}, "servers": {}}', CHANGES)
    with pytest.raises(ValueError, match="it is no object"):
        merge("[]", CHANGES)
    assert merge('{"a": 1, "a": 2}', {"b": 3}) == '{"a": 1, "a": 2,\n  "b": 3\n}'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "s": {\n    "e": 1\n  }\n}\n'),
        ("// mine\n", '// mine\n{\n  "s": {\n    "e": 1\n  }\n}\n'),
        ("// mine", '// mine\n{\n  "s": {\n    "e": 1\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "e": 1\n  }\n}'),
        ('{\n\t// a\n\t"a": 1 // b\n}\n', '{\n\t// a\n\t"a": 1, // b\n\t"s": {\n\t\t"e": 1\n\t}\n}\n'),
        ('{\n    "a": [1,],\n    // b\n}', '{\n    "a": [1,],\n    // b\n    "s": {\n        "e": 1\n    },\n}'),
        ('{"a": 1}', '{"a": 1,\n  "s": {\n    "e": 1\n  }\n}'),
        ('{\r\n  "s": {}\r\n}', '{\r\n  "s": {\r\n    "e": 1\r\n  }\r\n}'),
        ('{\n  "s": {\n    "d": 2, /* d */\n  },\n}', '{\n  "s": {\n    "d": 2, /* d */\n    "e": 1,\n  },\n}'),
        ('{\n  "s": {\n    "e": 0 // old\n  }\n}', '{\n  "s": {\n    "e": 1 // old\n  }\n}'),
        ('{"s": {"e": true}}', '{"s": {"e": 1}}'),
    ],
)
def test_merge_writes_as_the_file_is_written(before: str, after: str) -> None:
    assert merge(before, {"s": {"e": 1}}) == after
