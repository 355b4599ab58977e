"""Invisible characters are removed from a text; those with a meaning stay; nothing else changes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich._emoji_codes import EMOJI

from ecphora.model.text_format import escape_invisible, single_line, strip_invisible


def tags(letters: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in letters)


FLAGS = [f"\U0001f3f4{tags(region)}\U000e007f" for region in ("gbeng", "gbsct", "gbwls")]
MEANINGFUL = [
    *FLAGS,
    "👨\u200d👩\u200d👧\u200d👦",
    "🏋🏽\u200d♀\ufe0f",
    "🏳\ufe0f\u200d🌈",
    "👁\ufe0f\u200d🗨\ufe0f",
    "❤\ufe0f\u200d🔥",
    "⬛\ufe0e",
    "☝🏿",
    "🇵🇹",
    "1\ufe0f\u20e3",
    "#\u20e3",
    "葛\U000e0100",  # one of several forms of the ideograph
    "می\u200cخواهم",  # Persian
    "ന\u0d4d\u200d",  # Malayalam
    "ᠠ\u180b",  # Mongolian
    "é ñ ü e\u0301 日本語 한국어 ไทย עברית עִבְרִית \n\t",
]


@pytest.mark.parametrize("text", MEANINGFUL)
def test_meaningful_invisible_characters_stay(text: str) -> None:
    assert strip_invisible(text) == strip_invisible(f"{text}\u200b").strip("\u200b") == text
    assert escape_invisible(text) == text


def test_emoji_stay() -> None:
    assert [text for text in EMOJI.values() if strip_invisible(text) != text] == []


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("a\x1b[31mb\x07\x9b\x7f", "a[31mb"),
        ("a\u202eb\u2066c\u2069\u061c\u200e\u200f", "abc"),
        ("a\u200b\u200c\u200d\u2060\ufeff\u00adb", "ab"),
        (f"a{tags('obey me')}b", "ab"),
        (f"👍{tags('obey')}\U000e007f", "👍"),
        (f"\U0001f3f4{tags('obeyme')}\U000e007f", "\U0001f3f4"),
        (f"{FLAGS[0]}{tags('x')}", FLAGS[0]),
        ("👍" + "".join(map(chr, range(0xE0100, 0xE0120))), "👍"),  # bytes hidden in selectors
        ("👍\ufe0f\ufe0f\ufe0e", "👍\ufe0f"),
        ("a\ufe0f1\ufe0f", "a1"),
        ("葛\U000e0100\U000e0101", "葛\U000e0100"),
        ("👍\u200d\u200d👍\u200da", "👍👍a"),
        ("م\u200c\u200c\u200d", "م\u200c"),
        ("one\r\ntwo\rthree\u2028four\x85\x0b\x0cfive", "one\ntwo\nthree\nfour\n\n\nfive"),
        ("\u3164\u115f\U0001d173", ""),
    ],
)
def test_invisible_characters_are_removed(text: str, visible: str) -> None:
    assert strip_invisible(text) == visible


def test_control_characters_can_be_replaced() -> None:
    assert strip_invisible("a\x1b[0m\u202eb\u200b", replacement="?") == "a?[0m?b"
    assert single_line("a\nb\tc\x9b") == "a b c\ufffd"


ANY = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]), st.sampled_from("".join(MEANINGFUL) + "\x1b\x9b\u202e\u200b\u200d\r")
    )
)


@pytest.mark.medium
@given(ANY)
def test_cleaning_is_idempotent(text: str) -> None:
    assert strip_invisible(strip_invisible(text)) == strip_invisible(text)
    assert strip_invisible(escape_invisible(text).replace("\r", "\n")) == escape_invisible(text).replace("\r", "\n")


@pytest.mark.medium
@given(st.recursive(st.none() | st.integers() | ANY, lambda inner: st.lists(inner) | st.dictionaries(ANY, inner)))
def test_escaped_json_loads_the_same(value: object) -> None:
    escaped = escape_invisible(json.dumps(value, ensure_ascii=False))
    assert json.loads(escaped) == value
    assert strip_invisible(escaped) == escaped
