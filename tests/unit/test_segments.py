"""Long texts cut into pieces, of which nothing is lost."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.scripts import unspaced
from ecphora.language.segments import PIECE, WHOLE, segments

LONG = "Ana moved to Porto. She likes it there! Why?\n\nThe river…  \n"
sentences = st.lists(
    st.sampled_from(
        ["Ana moved. ", "Why? ", "x" * 400, "\n\n", "\n", "你好。", "北京" * 90, '"Yes!" ', "… ", " ", "a b c "]
    ),
    max_size=120,
).map("".join)


def size(text: str) -> int:
    """Characters, those of scripts without spaces three times."""
    return len(text) + 2 * unspaced(text)


@given(st.text() | sentences)
def test_the_pieces_joined_are_the_text(text: str) -> None:
    assert "".join(segments(text)) == text


@given(sentences)
def test_pieces_have_a_size_an_embedder_can_read(text: str) -> None:
    pieces = segments(text)
    if size(text) <= WHOLE:
        assert pieces == (text,)
    else:
        assert all(pieces)
        assert all(size(piece) <= 2 * PIECE for piece in pieces)
        assert all(size(a) + size(b) > PIECE for a, b in pairwise(pieces)) or size(text) < 3 * PIECE


def test_a_short_text_is_one_piece() -> None:
    assert segments("Ana moved.") == ("Ana moved.",)
    assert segments("") == ("",)
    assert len(segments("x" * WHOLE)) == 1
    assert len(segments("x" * (WHOLE + 1))) == 2


def test_sentences_stay_whole() -> None:
    for piece in segments(LONG * 100):
        assert piece.rstrip()[-1] in ".!?…"


def test_words_stay_whole_in_an_endless_sentence() -> None:
    pieces = segments("word " * 1000)
    assert all(piece.endswith("word ") for piece in pieces)
    assert all(len(piece) <= PIECE for piece in pieces)


def test_chinese_is_cut_at_a_third_of_the_length() -> None:
    pieces = segments("我们去了北京。" * 300)
    assert all(piece.endswith("。") for piece in pieces)
    assert max(map(size, pieces)) <= PIECE


@pytest.mark.parametrize(
    "part", ["x", " ", "\n", ".", '."', "! ", LONG, "你", "。」", "a\u2028"], ids=ascii,
)  # fmt: skip
def test_a_megabyte_is_cut_in_linear_time(part: str) -> None:
    text = (part * 1_000_000)[:1_000_000]
    started = time.perf_counter()
    pieces = segments(text)
    assert time.perf_counter() - started < 5  # 0.1 to 0.3 s here; quadratic would take minutes
    assert sum(map(len, pieces)) == len(text)
