"""Long texts split into chunks at their own boundaries, without loss of text."""

import time
from itertools import pairwise
from textwrap import fill

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.chunking import (
    MAX_SIZE,
    TARGET_SIZE,
    Chunk,
    align_chunks,
    is_markdown,
    markdown_blocks,
    plain_blocks,
    split_into_chunks,
)
from ecphora.language.terms import count_unspaced

LONG = "Ana moved to Porto. She likes it there! Why?\n\nThe river…  \n"
sentences = st.lists(
    st.sampled_from(
        ["Ana moved. ", "Why? ", "x" * 400, "\n\n", "\n", "你好。", "北京" * 90, '"Yes!" ', "… ", " ", "a b c "]
    ),
    max_size=120,
).map("".join)
markdown_texts = st.lists(
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
    """The number of characters, those of scripts without spaces counted three times."""
    return len(text) + 2 * count_unspaced(text)


def texts(text: str, *, markdown: bool | None = None) -> list[str]:
    return [chunk.text for chunk in split_into_chunks(text, markdown=markdown)]


def chunk_with(words: str, chunks: tuple[Chunk, ...]) -> Chunk:
    """The only chunk that contains some words."""
    (found,) = (chunk for chunk in chunks if words in chunk.text)
    return found


# ---- properties


@given(st.text() | sentences | markdown_texts, st.sampled_from([True, False, None]))
def test_chunks_joined_are_the_text_at_their_offsets(text: str, markdown: bool | None) -> None:
    chunks = split_into_chunks(text, markdown=markdown)
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(text[chunk.start : chunk.start + len(chunk.text)] == chunk.text for chunk in chunks)


@given(sentences | markdown_texts, st.sampled_from([True, False, None]))
def test_chunks_have_at_most_the_maximum_size(text: str, markdown: bool | None) -> None:
    chunks = texts(text, markdown=markdown)
    if size(text) <= MAX_SIZE:
        assert chunks == [text]
    else:
        assert all(chunks)
        assert all(size(chunk) <= MAX_SIZE for chunk in chunks)


@given(sentences)
def test_adjacent_small_chunks_are_merged(text: str) -> None:
    chunks = texts(text, markdown=False)
    assert all(size(a) + size(b) > TARGET_SIZE // 2 for a, b in pairwise(chunks))


@given(sentences | markdown_texts)
def test_blocks_cover_the_text(text: str) -> None:
    for blocks in (plain_blocks(text), markdown_blocks(text)):
        bounds = [(block.start, block.end) for block in blocks]
        assert [bound for bound in (0, len(text)) if bounds] == [bounds[0][0], bounds[-1][1]] if bounds else not text
        assert all(start < end or not text for start, end in bounds)
        assert all(first_bound[1] == second_bound[0] for first_bound, second_bound in pairwise(bounds))
        for block in blocks:
            inner = [index for part in block.children for index in (part.start, part.end)]
            assert not inner or (inner[0], inner[-1]) == (block.start, block.end)


@pytest.mark.medium
@given(
    st.lists(st.text("ab", min_size=1, max_size=5), min_size=1), st.lists(st.integers(1, 9), min_size=30, max_size=30)
)
def test_successor_chunk_has_most_of_the_old_one(old_chunks: list[str], widths: list[int]) -> None:
    text = "".join(old_chunks)
    starts = [0]
    for width in widths:
        if starts[-1] + width < len(text):
            starts.append(starts[-1] + width)
    new_chunks = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    owners = [index for index, chunk in enumerate(new_chunks) for _ in chunk]
    found, start = align_chunks(old_chunks, new_chunks), 0
    for chunk, index in zip(old_chunks, found, strict=True):
        covered = owners[start : start + len(chunk)]
        assert covered.count(index) == max(map(covered.count, covered))
        start += len(chunk)


# ---- short texts and sentences


def test_short_text_is_one_chunk() -> None:
    assert split_into_chunks("Ana moved.") == (Chunk(0, "Ana moved."),)
    assert split_into_chunks("") == (Chunk(0, ""),)
    assert split_into_chunks("# Title\n\nText.", markdown=True) == (Chunk(0, "# Title\n\nText."),)
    assert len(split_into_chunks("x" * MAX_SIZE)) == 1
    assert len(split_into_chunks("x" * (MAX_SIZE + 1))) == 2


def test_sentences_are_not_split() -> None:
    for chunk in texts(LONG * 100):
        assert chunk.rstrip()[-1] in ".!?…"


def test_words_are_not_split_in_a_long_sentence() -> None:
    chunks = texts("word " * 1000)
    assert all(chunk.endswith("word ") for chunk in chunks)
    assert all(len(chunk) <= TARGET_SIZE for chunk in chunks)


def test_letter_keeps_its_combining_marks() -> None:
    for letter in ("e\u0301\u0323", "👩\u200d🚀", "✔\ufe0f"):
        for chunk in texts(letter * 1000):
            assert chunk.startswith(letter[0])
            assert chunk.endswith(letter[-1])


@pytest.mark.parametrize(
    ("sentence", "end"),
    [
        ("我们去了北京。", "。"), ("「駅で会いましょう。」", "」"), ("ประเทศไทย ", " "),
        ("Der Zug fährt um acht Uhr ab. ", ". "), ("우리는 서울에 갔다. ", ". "),
    ],
)  # fmt: skip
def test_other_scripts_are_split_after_sentences(sentence: str, end: str) -> None:
    chunks = texts(sentence * 300)
    assert all(chunk.endswith(end) for chunk in chunks)
    assert max(map(size, chunks)) <= TARGET_SIZE


def test_sentence_of_two_scripts_is_split_to_size() -> None:
    assert max(map(size, texts(("a" * 51 + "你" * 49) * 30))) <= TARGET_SIZE


# ---- lines and paragraphs


FIRST = (
    "The heron that nested below the old bridge returned in April, when nobody at the lock expected to see it again."
)
REST = "Its nest had been washed away by the flood of the year before. " * 12
OTHER = "The keeper counted barges all day long and wrote each of them down in a large green book. " * 7


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=ascii)
@pytest.mark.parametrize("markdown", [True, False])
def test_wrapped_paragraph_is_one_chunk(end: str, markdown: bool) -> None:
    wrapped = [fill(paragraph, 72) for paragraph in (OTHER, f"{FIRST} {REST}", OTHER)]
    chunks = texts((end * 2).join(wrapped).replace("\n", end), markdown=markdown)
    single_lines = [" ".join(chunk.split()) for chunk in chunks]
    assert single_lines == [OTHER.strip(), f"{FIRST} {REST}".strip(), OTHER.strip()]


@pytest.mark.parametrize("markdown", [True, False])
def test_long_wrapped_paragraph_is_split_between_sentences(markdown: bool) -> None:
    text = fill(f"{FIRST} {REST * 4}", 72)
    chunks = texts(text, markdown=markdown)
    assert len(chunks) > 3
    assert all(chunk.rstrip().endswith(".") for chunk in chunks)


def test_unwrapped_lines_are_split_between_lines() -> None:
    log = "".join(f"Ana: I counted {count} herons near the lock today\n" for count in range(100))
    assert all(chunk.startswith("Ana: ") and chunk.endswith("today\n") for chunk in texts(log))


def test_wrapped_paragraph_without_spaces_is_split_between_sentences() -> None:
    text = "\n".join(("我们昨天一起去了北京的老城。" * 60)[index : index + 40] for index in range(0, 840, 40))
    assert all(chunk.rstrip().endswith("。") for chunk in texts(text))


def test_paragraph_moves_to_the_next_chunk_if_it_fits() -> None:
    paragraphs = [f"{number}. " + "It rained on the lock all day. " * 17 + "\n\n" for number in "abcd"]
    assert texts("".join(paragraphs)) == paragraphs


def test_introduction_stays_with_the_following_list() -> None:
    introduction, items = "The keeper needs:\n\n", "- a rope as long as the lock is deep\n" * 20
    for old_chunks in ("It rains. " * 20, "It rains. " * 60, "It rains. " * 88):
        assert any(
            introduction + "- a rope" in chunk
            for chunk in texts(f"{old_chunks}\n\n{introduction}{items * 2}", markdown=True)
        )


def test_plain_lists_are_split_between_items() -> None:
    items = [
        f"- item {number}, of which there is\n  a little more to be said than fits one line\n" for number in range(60)
    ]
    assert all(chunk.startswith("- item ") for chunk in texts("".join(items)))


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


def test_chunks_have_their_headings() -> None:
    chunks = split_into_chunks(GUIDE, markdown=True)
    found = [
        chunk_with(words, chunks).heading for words in ("To begin", "### `set", "was cleared", "Files\n--", "left out")
    ]
    assert found == [
        "Guide", "Guide > Timers > setTimeout(callback[, delay])", "Guide > Timers > Clearing a timer",
        "Guide > Files", "Guide > Files",
    ]  # fmt: skip
    assert {chunk.heading for chunk in chunks if "A timer waits" in chunk.text} == {"Guide > Timers"}
    assert [chunk.heading for chunk in split_into_chunks(GUIDE.replace("\n", "\r\n"), markdown=True)] == [
        chunk.heading for chunk in chunks
    ]


def test_small_section_is_one_chunk_with_its_subsections() -> None:
    section = "## Small\n\nOne.\n\n### Smaller\n\nTwo.\n\n"
    chunks = split_into_chunks(
        "# Top\n\n" + "It rains. " * 120 + "\n\n" + section + "## Next\n\nThree.\n", markdown=True
    )
    assert [(chunk.text, chunk.heading) for chunk in chunks[-2:]] == [
        (section, "Top > Small"), ("## Next\n\nThree.\n", "Top > Next"),
    ]  # fmt: skip


@pytest.mark.medium
def test_heading_is_never_a_chunk_of_its_own() -> None:
    code = "```\n" + "x = 1  # as it was\n" * 62 + "```\n"
    for body in ("It rains. " * 200, code, "- item\n" * 300, "| a |\n| - |\n" + "| 1 |\n" * 300):
        first = split_into_chunks(f"# Top\n\n## Section\n\n{body}", markdown=True)[0]
        assert len(first.text) > 100
        assert first.heading == "Top > Section"


def test_code_and_tables_are_not_split_if_they_fit() -> None:
    code = "```python\n# no heading\n\n" + "print('a. b! c?')\n" * 60 + "```\n\n"
    table = "| name | is |\n| --- | --- |\n" + "| a. b | c |\n" * 70 + "\n"
    assert TARGET_SIZE < len(code) <= MAX_SIZE
    chunks = split_into_chunks(f"{'It rains. ' * 70}\n\n{code}{'It rains. ' * 70}\n\n{table}", markdown=True)
    assert [code, table] == [chunk.text for chunk in chunks if not chunk.text.startswith("It")]
    assert {chunk.heading for chunk in chunks} == {None}


def test_long_code_is_split_between_lines() -> None:
    chunks = texts("```\n" + "print('a. b! c?')\n" * 200 + "```\n", markdown=True)
    assert len(chunks) > 3
    assert all(chunk.endswith("\n") for chunk in chunks)


def test_long_list_is_split_between_items_with_their_children() -> None:
    item = "- outer, in some words\n  - inner one\n  - inner two, which is\n    wrapped\n"
    assert all(chunk.startswith("- outer") for chunk in texts(item * 40, markdown=True))
    large = "1. first\n\n   " + "It rains. " * 150 + "\n\n   > quoted\n\n2. second\n"
    assert texts(large, markdown=True)[0].startswith("1. first\n\n   It rains.")


def test_front_matter_is_not_a_heading() -> None:
    text = "---\ntitle: Guide\nlayout: page\n---\n\n" + "It rains. " * 150 + "\n\n# Real\n\nText.\n"
    assert [chunk.heading for chunk in split_into_chunks(text, markdown=True)] == [None, None, "Real"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Guide\n\nText.", True), ("Text.\n\n### Part\n\nText.", True), ("Guide\n=====\n\nText.", True),
        ("See:\n\n```\ncode\n```\n", True), ("\r\n# Guide\r\n\r\nText.", True), ("Text.\n\n## Last", True),
        ("Plain text.\n\nMore of it.", False), ("#hash tags\n\n#again", False), ("# comment\nx = 1\n", False),
        ("I am #1.\n\nYes.", False), ("a\n-----\nb", False), ("```", False), ("\n=====\n", False), ("", False),
    ],
)  # fmt: skip
def test_markdown_is_recognized(text: str, expected: bool) -> None:
    assert is_markdown(text) is expected
    long_text = f"{text}\n\n{'It rains. ' * 200}\n\n## Part\nof no heading\n\n> x"
    if not expected and "```" not in text:
        assert {chunk.heading for chunk in split_into_chunks(long_text)} == {None}


# ---- time


@pytest.mark.medium
@pytest.mark.parametrize(
    "part", ["x", " ", "\n", ".", '."', "! ", LONG, "你", "。」", "a\u2028"], ids=ascii,
)  # fmt: skip
@pytest.mark.parametrize("size", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_plain_text_is_split_in_linear_time(part: str, size: int) -> None:
    text = (part * size)[:size]
    started = time.thread_time()
    chunks = texts(text)
    assert time.thread_time() - started < 20 * size / 1_000_000  # a fortieth of that here; quadratic takes minutes
    assert sum(map(len, chunks)) == len(text)


FAST_PARTS = ("> - ", "`", "e\u0301\u0323", "```\n", "你")
SLOW_PARTS = (
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


@pytest.mark.medium
@pytest.mark.parametrize(
    "part", [*FAST_PARTS, *(pytest.param(part, marks=pytest.mark.slow) for part in SLOW_PARTS)], ids=ascii
)
def test_markdown_is_split_in_linear_time(part: str) -> None:
    text = (part * 100_000)[:100_000]
    started = time.thread_time()
    assert len(split_into_chunks(text, markdown=True)) > 1
    assert time.thread_time() - started < 5  # takes at most 2 s


@pytest.mark.medium
@pytest.mark.parametrize("part", ["=\n", "# a\n", "x\n-\n"])
def test_rows_of_tiny_headings_are_gathered_into_chunks_of_the_usual_size(part: str) -> None:
    text = "Ana " + part * 20_000
    chunks = split_into_chunks(text, markdown=True)
    assert "".join(chunk.text for chunk in chunks) == text
    assert len(chunks) <= 2 * len(text) / TARGET_SIZE
    assert max(len(chunk.text) for chunk in chunks) <= MAX_SIZE


@pytest.mark.medium
def test_short_sections_stay_chunks_of_their_own() -> None:
    text = "".join(f"# word {number % 10}\nv\n" for number in range(2000))
    assert len(split_into_chunks(text, markdown=True)) == 2000
