"""Paragraphs of prose: joined lines, separated blocks, and no lost text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.chunking import paragraphs


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("\n \n\t\n", []),
        ("One\ntwo.\n\nThree.", ["One two.", "Three."]),
        ("One\r\ntwo.\r\n \r\nThree.\r\n", ["One two.", "Three."]),
        ("  One\n  two.", ["One two."]),
        ("To buy:\n- milk,\n  fresh\n- bread", ["To buy:\n- milk, fresh\n- bread"]),
        ("1. One\n2) Two\n10 Three", ["1. One\n2) Two 10 Three"]),
        ("# Head\nText\nmore\n> quoted", ["# Head\nText more\n> quoted"]),
        ("| a | b |\n| c | d |", ["| a | b |\n| c | d |"]),
        ("well-\nknown", ["well- known"]),
        ("我在\n波尔图\n住", ["我在波尔图住"]),
        ("나는 포르투에\n산다", ["나는 포르투에 산다"]),
        ("-5 degrees\n-6 degrees", ["-5 degrees -6 degrees"]),
    ],
)
def test_paragraphs_equal_worked_examples(text: str, found: list[str]) -> None:
    assert paragraphs(text) == found


@given(st.text(st.sampled_from("a我-# 1.\n\r\t"), max_size=60))
def test_paragraphs_keep_all_text_but_white_space(text: str) -> None:
    found = paragraphs(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(part.strip() and "\n\n" not in part for part in found)
