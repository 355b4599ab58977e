"""Long texts cut into pieces where their writers parted them; of the text nothing is lost."""

import time
from itertools import pairwise
from textwrap import fill

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.blocks import is_markdown, plain_blocks
from ecphora.language.chunking import MAX_SIZE, TARGET_SIZE, Chunk, align_chunks, split_into_chunks
from ecphora.language.markdown import markdown_blocks
from ecphora.language.scripts import count_unspaced

LONG = "Ana moved to Porto. She likes it there! Why?\n\nThe river…  \n"
sentences = st.lists(
    st.sampled_from(
        ["Ana moved. ", "Why? ", "x" * 400, "\n\n", "\n", "你好。", "北京" * 90, '"Yes!" ', "… ", " ", "a b c "]
    ),
    max_size=120,
).map("".join)
marked = st.lists(
    st.sampled_from(
        [
            "# A title\n", "## Below *it*\n\n", "Setext\n===\n", "text\n---\n", "- item\n", "  - nested\n",
            "1. one\n\n", "```\n", "code = 1\n" * 60, "> quoted\n", "| a | b |\n| - | - |\n", "| 1 | 2 |\n" * 50,
            "\n", "\r\n", "\r", "---\n", "It rains. " * 20, "word " * 60, "你好。" * 50, "<div>\n",
            "    indented\n", "e\u0301" * 200, "👩\u200d🚀" * 120,
        ]
    ),
    max_size=20,
).map("".join)  # fmt: skip


def size(text: str) -> int:
    """Characters, those of scripts without spaces three times."""
    return len(text) + 2 * count_unspaced(text)


def texts(text: str, *, markdown: bool | None = None) -> list[str]:
    return [piece.text for piece in split_into_chunks(text, markdown=markdown)]


def piece_with(words: str, pieces: tuple[Chunk, ...]) -> Chunk:
    """The one piece that holds some words whole."""
    (found,) = (piece for piece in pieces if words in piece.text)
    return found


# ---- properties


@given(st.text() | sentences | marked, st.sampled_from([True, False, None]))
def test_the_pieces_are_the_text_each_at_its_place(text: str, markdown: bool | None) -> None:
    pieces = split_into_chunks(text, markdown=markdown)
    assert "".join(piece.text for piece in pieces) == text
    assert all(text[piece.start : piece.start + len(piece.text)] == piece.text for piece in pieces)


@given(sentences | marked, st.sampled_from([True, False, None]))
def test_pieces_have_a_size_an_embedder_can_read(text: str, markdown: bool | None) -> None:
    pieces = texts(text, markdown=markdown)
    if size(text) <= MAX_SIZE:
        assert pieces == [text]
    else:
        assert all(pieces)
        assert all(size(piece) <= MAX_SIZE for piece in pieces)


@given(sentences)
def test_neighbors_that_fit_are_one_piece(text: str) -> None:
    pieces = texts(text, markdown=False)
    assert all(size(a) + size(b) > TARGET_SIZE // 2 for a, b in pairwise(pieces))


@given(sentences | marked)
def test_blocks_cover_a_text(text: str) -> None:
    for blocks in (plain_blocks(text), markdown_blocks(text)):
        bounds = [(block.start, block.end) for block in blocks]
        assert [bound for bound in (0, len(text)) if bounds] == [bounds[0][0], bounds[-1][1]] if bounds else not text
        assert all(start < end or not text for start, end in bounds)
        assert all(one[1] == other[0] for one, other in pairwise(bounds))
        for block in blocks:
            inner = [place for part in block.children for place in (part.start, part.end)]
            assert not inner or (inner[0], inner[-1]) == (block.start, block.end)


@given(
    st.lists(st.text("ab", min_size=1, max_size=5), min_size=1), st.lists(st.integers(1, 9), min_size=30, max_size=30)
)
def test_a_successor_has_most_of_a_piece(before: list[str], widths: list[int]) -> None:
    text = "".join(before)
    starts = [0]
    for width in widths:
        if starts[-1] + width < len(text):
            starts.append(starts[-1] + width)
    after = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    owners = [place for place, piece in enumerate(after) for _ in piece]
    found, start = align_chunks(before, after), 0
    for piece, place in zip(before, found, strict=True):
        held = owners[start : start + len(piece)]
        assert held.count(place) == max(map(held.count, held))
        start += len(piece)


# ---- short texts and sentences


def test_a_short_text_is_one_piece() -> None:
    assert split_into_chunks("Ana moved.") == (Chunk(0, "Ana moved."),)
    assert split_into_chunks("") == (Chunk(0, ""),)
    assert split_into_chunks("# Title\n\nText.", markdown=True) == (Chunk(0, "# Title\n\nText."),)
    assert len(split_into_chunks("x" * MAX_SIZE)) == 1
    assert len(split_into_chunks("x" * (MAX_SIZE + 1))) == 2


def test_sentences_stay_whole() -> None:
    for piece in texts(LONG * 100):
        assert piece.rstrip()[-1] in ".!?…"


def test_words_stay_whole_in_an_endless_sentence() -> None:
    pieces = texts("word " * 1000)
    assert all(piece.endswith("word ") for piece in pieces)
    assert all(len(piece) <= TARGET_SIZE for piece in pieces)


def test_a_letter_keeps_its_marks() -> None:
    for letter in ("e\u0301\u0323", "👩\u200d🚀", "✔\ufe0f"):
        for piece in texts(letter * 1000):
            assert piece.startswith(letter[0])
            assert piece.endswith(letter[-1])


@pytest.mark.parametrize(
    ("sentence", "end"),
    [
        ("我们去了北京。", "。"), ("「駅で会いましょう。」", "」"), ("ประเทศไทย ", " "),
        ("Der Zug fährt um acht Uhr ab. ", ". "), ("우리는 서울에 갔다. ", ". "),
    ],
)  # fmt: skip
def test_other_scripts_are_cut_after_sentences_too(sentence: str, end: str) -> None:
    pieces = texts(sentence * 300)
    assert all(piece.endswith(end) for piece in pieces)
    assert max(map(size, pieces)) <= TARGET_SIZE


def test_a_sentence_of_two_scripts_is_no_larger_than_a_piece() -> None:
    assert max(map(size, texts(("a" * 51 + "你" * 49) * 30))) <= TARGET_SIZE


# ---- lines and paragraphs


FIRST = (
    "The heron that nested below the old bridge returned in April, when nobody at the lock expected to see it again."
)
REST = "Its nest had been washed away by the flood of the year before. " * 12
OTHER = "The keeper counted barges all day long and wrote each of them down in a large green book. " * 7


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=ascii)
@pytest.mark.parametrize("markdown", [True, False])
def test_a_wrapped_paragraph_stays_together(end: str, markdown: bool) -> None:
    wrapped = [fill(paragraph, 72) for paragraph in (OTHER, f"{FIRST} {REST}", OTHER)]
    pieces = texts((end * 2).join(wrapped).replace("\n", end), markdown=markdown)
    joined = [" ".join(piece.split()) for piece in pieces]
    assert joined == [OTHER.strip(), f"{FIRST} {REST}".strip(), OTHER.strip()]


@pytest.mark.parametrize("markdown", [True, False])
def test_a_wrapped_paragraph_that_is_too_long_is_cut_between_sentences(markdown: bool) -> None:
    text = fill(f"{FIRST} {REST * 4}", 72)
    pieces = texts(text, markdown=markdown)
    assert len(pieces) > 3
    assert all(piece.rstrip().endswith(".") for piece in pieces)


def test_lines_that_are_not_wrapped_are_cut_between() -> None:
    talk = "".join(f"Ana: I counted {count} herons near the lock today\n" for count in range(100))
    assert all(piece.startswith("Ana: ") and piece.endswith("today\n") for piece in texts(talk))


def test_a_wrapped_paragraph_without_spaces_is_cut_between_sentences() -> None:
    text = "\n".join(("我们昨天一起去了北京的老城。" * 60)[place : place + 40] for place in range(0, 840, 40))
    assert all(piece.rstrip().endswith("。") for piece in texts(text))


def test_a_paragraph_is_not_parted_where_it_fits_the_next_piece() -> None:
    paragraphs = [f"{number}. " + "It rained on the lock all day. " * 17 + "\n\n" for number in "abcd"]
    assert texts("".join(paragraphs)) == paragraphs


def test_what_leads_in_stays_with_what_follows() -> None:
    lead, items = "The keeper needs:\n\n", "- a rope as long as the lock is deep\n" * 20
    for before in ("It rains. " * 20, "It rains. " * 60, "It rains. " * 88):
        assert any(lead + "- a rope" in piece for piece in texts(f"{before}\n\n{lead}{items * 2}", markdown=True))


def test_plain_lists_are_cut_between_items() -> None:
    items = [
        f"- item {number}, of which there is\n  a little more to be said than fits one line\n" for number in range(60)
    ]
    assert all(piece.startswith("- item ") for piece in texts("".join(items)))


# ---- Markdown


GUIDE = (
    "# Guide\n\nTo begin with.\n\n## Timers\n\n"
    + fill("A timer waits for a while and then calls what it was given. " * 14, 80)
    + "\n\n### `setTimeout(callback[, delay])`\n\n"
    + fill("The callback runs once, as soon as the delay is over. " * 14, 80)
    + "\n\n### *Clearing* a [timer](x.md)\n\nA timer that was cleared never calls.\n\n"
    + "Files\n-----\n\n"
    + fill("A file is read whole or line by line. " * 20, 80)
    + "\n\n#### Deep\n\nA level was left out.\n"
)


def test_every_piece_knows_its_headings() -> None:
    pieces = split_into_chunks(GUIDE, markdown=True)
    found = [
        piece_with(words, pieces).heading for words in ("To begin", "### `set", "was cleared", "Files\n--", "left out")
    ]
    assert found == [
        "Guide", "Guide > Timers > setTimeout(callback[, delay])", "Guide > Timers > Clearing a timer",
        "Guide > Files", "Guide > Files",
    ]  # fmt: skip
    assert {piece.heading for piece in pieces if "A timer waits" in piece.text} == {"Guide > Timers"}
    assert [piece.heading for piece in split_into_chunks(GUIDE.replace("\n", "\r\n"), markdown=True)] == [
        piece.heading for piece in pieces
    ]


def test_a_section_that_fits_is_one_piece_with_all_below_it() -> None:
    small = "## Small\n\nOne.\n\n### Smaller\n\nTwo.\n\n"
    pieces = split_into_chunks("# Top\n\n" + "It rains. " * 120 + "\n\n" + small + "## Next\n\nThree.\n", markdown=True)
    assert [(piece.text, piece.heading) for piece in pieces[-2:]] == [
        (small, "Top > Small"), ("## Next\n\nThree.\n", "Top > Next"),
    ]  # fmt: skip


def test_a_heading_never_stands_alone() -> None:
    code = "```\n" + "x = 1  # as it was\n" * 62 + "```\n"
    for body in ("It rains. " * 200, code, "- item\n" * 300, "| a |\n| - |\n" + "| 1 |\n" * 300):
        first = split_into_chunks(f"# Top\n\n## Section\n\n{body}", markdown=True)[0]
        assert len(first.text) > 100
        assert first.heading == "Top > Section"


def test_code_and_tables_stay_whole_where_they_fit() -> None:
    code = "```python\n# no heading\n\n" + "print('a. b! c?')\n" * 60 + "```\n\n"
    table = "| name | is |\n| --- | --- |\n" + "| a. b | c |\n" * 70 + "\n"
    assert TARGET_SIZE < len(code) <= MAX_SIZE
    pieces = split_into_chunks(f"{'It rains. ' * 70}\n\n{code}{'It rains. ' * 70}\n\n{table}", markdown=True)
    assert [code, table] == [piece.text for piece in pieces if not piece.text.startswith("It")]
    assert {piece.heading for piece in pieces} == {None}


def test_code_that_is_too_long_is_cut_between_lines() -> None:
    pieces = texts("```\n" + "print('a. b! c?')\n" * 200 + "```\n", markdown=True)
    assert len(pieces) > 3
    assert all(piece.endswith("\n") for piece in pieces)


def test_a_long_list_is_cut_between_its_items_and_these_stay_with_what_is_below_them() -> None:
    item = "- outer, in some words\n  - inner one\n  - inner two, which is\n    wrapped\n"
    assert all(piece.startswith("- outer") for piece in texts(item * 40, markdown=True))
    large = "1. first\n\n   " + "It rains. " * 150 + "\n\n   > quoted\n\n2. second\n"
    assert texts(large, markdown=True)[0].startswith("1. first\n\n   It rains.")


def test_front_matter_is_no_heading() -> None:
    text = "---\ntitle: Guide\nlayout: page\n---\n\n" + "It rains. " * 150 + "\n\n# Real\n\nText.\n"
    assert [piece.heading for piece in split_into_chunks(text, markdown=True)] == [None, None, "Real"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Guide\n\nText.", True), ("Text.\n\n### Part\n\nText.", True), ("Guide\n=====\n\nText.", True),
        ("See:\n\n```\ncode\n```\n", True), ("\r\n# Guide\r\n\r\nText.", True), ("Text.\n\n## Last", True),
        ("Plain text.\n\nMore of it.", False), ("#hash tags\n\n#again", False), ("# comment\nx = 1\n", False),
        ("I am #1.\n\nYes.", False), ("a\n-----\nb", False), ("```", False), ("\n=====\n", False), ("", False),
    ],
)  # fmt: skip
def test_markdown_is_known_by_its_signs(text: str, expected: bool) -> None:
    assert is_markdown(text) is expected
    long = f"{text}\n\n{'It rains. ' * 200}\n\n## Part\nof no heading\n\n> x"
    if not expected and "```" not in text:
        assert {piece.heading for piece in split_into_chunks(long)} == {None}


# ---- time


@pytest.mark.parametrize(
    "part", ["x", " ", "\n", ".", '."', "! ", LONG, "你", "。」", "a\u2028"], ids=ascii,
)  # fmt: skip
@pytest.mark.parametrize("size", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_megabyte_is_cut_in_linear_time(part: str, size: int) -> None:
    text = (part * size)[:size]
    started = time.thread_time()
    pieces = texts(text)
    assert time.thread_time() - started < 20 * size / 1_000_000  # a fortieth of that here; quadratic takes minutes
    assert sum(map(len, pieces)) == len(text)


MARKED = ("> - ", "`", "e\u0301\u0323", "```\n", "你")
SLOWER = (
    "# a\n",
    "- a\n",
    "[a\n",
    "a\n=\n",
    "|-|\n",
    "* ",
    "<",
    "\n",
    "* a\n  * b\n",
    "a|b\n-|-\n",
    "[a]: b\n",
    "<!--",
)


@pytest.mark.parametrize("part", [*MARKED, *(pytest.param(part, marks=pytest.mark.slow) for part in SLOWER)], ids=ascii)
def test_markdown_is_cut_in_linear_time(part: str) -> None:
    text = (part * 100_000)[:100_000]
    started = time.thread_time()
    assert len(split_into_chunks(text, markdown=True)) > 1
    assert time.thread_time() - started < 5  # 2 s at most here
