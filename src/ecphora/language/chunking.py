"""Splits long texts into chunks that fit an embedder. Lossless: the concatenated chunks are the text.

Chunks end between blocks where they can: paragraphs, list items, code, tables and headings. CommonMark and GitHub's
tables define the blocks of Markdown.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING
from unicodedata import category

from ..model.lazy import lazy_pattern
from .terms import UNSPACED_CHARS, count_unspaced

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


BLOCK_START = lazy_pattern(r"\s*(?:[-*+•>|#]|\d{1,9}[.)])(?:\s|$)")
"""The start of a list item, a heading, a quotation or a table row: such a line does not continue the previous one."""
_HEADING = lazy_pattern(r"\s*#{1,6}\s")
_HANGUL = "\uac00-\ud7af"
_UNSPACED_LINE_BREAK = lazy_pattern(rf"(?<=[{UNSPACED_CHARS}])(?<![{_HANGUL}])\n(?=[{UNSPACED_CHARS}])(?![{_HANGUL}])")
"""A line end between two letters of a script without spaces."""


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each as one line, or as several if it contains list items, headings or rows."""
    found: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            found[-1].append(line.rstrip())
        elif found[-1]:
            found.append([])
    return [_unwrap(lines) for lines in found if lines]


def _unwrap(lines: list[str]) -> str:
    """Join wrapped lines."""
    kept = [[lines[0].strip()]]
    for before, line in pairwise(lines):
        if BLOCK_START.match(line) or _HEADING.match(before):
            kept.append([line])
        else:
            kept[-1].append(line.strip())
    return "\n".join(_UNSPACED_LINE_BREAK.sub("", "\n".join(parts)).replace("\n", " ") for parts in kept)


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_GAP = re.compile(r"(?P<end>\r\n|\r|\n)\s*")
_ATX_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+\S")
_SETEXT_UNDERLINE = re.compile(r" {0,3}={3,}\s*$")
_FENCE = re.compile(r" {0,3}(```|~~~)")


@dataclass(frozen=True, slots=True)
class Block:
    """A span of a text, ``text[start:end]``, with the white space that follows it.

    ``level`` is 1 to 6 for a heading, whose words are ``title``, and 0 otherwise. ``is_line_oriented`` marks a block
    that may be split after any line: code, a table. ``children`` are the blocks inside, such as list items; together
    they are the block.
    """

    start: int
    end: int
    level: int = 0
    title: str = ""
    is_line_oriented: bool = False
    children: tuple["Block", ...] = ()


def lines(text: str) -> Iterator[re.Match[str]]:
    """The lines of a text with their ends; line ends are LF, CR LF or CR, as in Markdown."""
    return _LINE.finditer(text)


def plain_blocks(text: str) -> tuple[Block, ...]:
    """The blocks of a plain text: a block begins after a blank line, and at a list item."""
    starts = [0]
    for gap in _GAP.finditer(text, len(text) - len(text.lstrip())):
        line_offset = max(gap[0].rfind("\n"), gap[0].rfind("\r")) + 1
        start = gap.start() + line_offset
        if gap.end() < len(text) and (line_offset > len(gap["end"]) or BLOCK_START.match(text, start)):
            starts.append(start)
    return tuple(Block(start, end) for start, end in zip(starts, [*starts[1:], len(text)], strict=True))


def is_markdown(text: str) -> bool:
    """Whether a text looks like Markdown: it has a heading between blank lines, or a fenced block."""
    fences, previous, is_heading = 0, "", False
    is_after_blank = True
    for match in lines(text):
        line = match[0]
        is_blank = line.isspace()
        if is_heading and is_blank:
            return True
        fences += _FENCE.match(line) is not None
        is_heading = (is_after_blank and _ATX_HEADING.match(line) is not None) or (
            not previous.isspace() and _SETEXT_UNDERLINE.match(line) is not None
        )
        is_after_blank, previous = is_blank, line
    return is_heading or fences > 1


MAX_NESTING = 20
"""Maximum nesting depth of blocks; a list takes two levels."""
MAX_TITLE_CHARS = 120
"""Characters kept of a heading."""

_FRONT_MATTER = re.compile(
    r"---[ \t]*(?:\r\n|\r|\n)(?:[^\r\n]*(?:\r\n|\r|\n)){1,200}?(?:---|\.\.\.)[ \t]*(?:\r\n|\r|\n|\Z)"
)
_CONTAINERS = frozenset({"bullet_list_open", "ordered_list_open", "list_item_open", "blockquote_open"})
_LINE_ORIENTED = frozenset({"fence", "code_block", "html_block", "table_open"})


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415  # slow to load, and only a long Markdown text needs it

    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def markdown_blocks(text: str) -> tuple[Block, ...]:
    """The blocks of a Markdown text; front matter is one block, and not a heading."""
    front = _FRONT_MATTER.match(text)
    first = 0 if front is None else front.end()
    starts = [first, *(first + line.end() for line in lines(text[first:]))]
    tokens = _parser().parse(text[first:])
    found = _blocks_between(tokens, starts, first, len(text))
    return found if front is None else (Block(0, first, is_line_oriented=True), *found)


def _blocks_between(tokens: Sequence["Token"], starts: Sequence[int], start: int, end: int) -> tuple[Block, ...]:
    """The outermost blocks of some tokens; together they cover ``text[start:end]``."""
    spans = list(_outermost_spans(tokens))
    if not spans:
        return (Block(start, end),) if start < end else ()
    offsets = [start, *(starts[_start_line(tokens[first])] for first, _ in spans[1:]), end]
    return tuple(
        _block(tokens[first:last], starts, *bounds)
        for (first, last), bounds in zip(spans, pairwise(offsets), strict=True)
    )


def _outermost_spans(tokens: Sequence["Token"]) -> list[tuple[int, int]]:
    """The index spans of the tokens that are inside no other; of several on one line only the first counts."""
    spans: list[tuple[int, int]] = []
    depth = first = 0
    for index, token in enumerate(tokens):
        if depth == 0:
            first = index
        depth += token.nesting
        if depth == 0:
            is_same_line = spans and _start_line(tokens[spans[-1][0]]) == _start_line(tokens[first])
            if not is_same_line:
                spans.append((first, index + 1))
    return spans


def _start_line(token: "Token") -> int:
    return token.map[0] if token.map else 0


def _block(tokens: Sequence["Token"], starts: Sequence[int], start: int, end: int) -> Block:
    """One block, from its opening to its closing token."""
    first = tokens[0]
    if first.type == "heading_open":
        return Block(start, end, int(first.tag[1:]), _title(tokens[1].content))
    if first.type in _CONTAINERS:
        return Block(start, end, children=_flatten(_blocks_between(tokens[1:-1], starts, start, end)))
    return Block(start, end, is_line_oriented=first.type in _LINE_ORIENTED)


def _flatten(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Blocks inside a list or a quotation, without heading levels; a single block is replaced by its children."""
    return (
        blocks[0].children
        if len(blocks) == 1
        else tuple(Block(b.start, b.end, 0, "", b.is_line_oriented, b.children) for b in blocks)
    )


def _title(content: str) -> str:
    """The text of a heading, without markup such as emphasis and links."""
    tokens: list[Token] = []
    parser = _parser()
    parser.inline.parse(content[:MAX_TITLE_CHARS], parser, {}, tokens)
    parts = (" " if token.type in {"softbreak", "hardbreak"} else _plain_text(token) for token in tokens)
    return " ".join("".join(parts).split())


def _plain_text(token: "Token") -> str:
    return "" if token.type == "html_inline" else token.content


MAX_SIZE = 1200
"""A text up to this size stays one chunk, and so does a block of a longer text."""
TARGET_SIZE = 900
"""Blocks and sentences are packed into chunks of up to this size."""
MIN_SIZE = 225
"""A smaller block joins its neighbor if both together are no larger than ``MAX_SIZE``."""
MAX_TINY_CHUNKS, MIN_MEAN_CHARS = 1000, 8
"""In a text with more chunks than this, and fewer characters per chunk, such as rows of underlines, headings do not
count: a heading with a line of text below is larger."""
UNSPACED_CHAR_SIZE = 3
"""The size of a character in a script without spaces, in Latin letters."""
MAX_HEADING_CHARS = 500
"""Maximum characters of a heading path; of a longer one the end is kept."""

_BREAK = lazy_pattern(r"(?P<line>(?:\r\n|\r|\n)\s*)|(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])[」』”）]*\s*")
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of a text, ``text[start : start + len(chunk.text)]``, and the headings above it.

    ``heading`` is the path from the outermost to the innermost heading, "Guide > Timers"; None without headings.
    """

    start: int
    text: str
    heading: str | None = None


def split_into_chunks(text: str, *, markdown: bool | None = None) -> tuple[Chunk, ...]:
    """Split a text at headings, blocks and sentences; elsewhere only if a sentence is too long.

    ``markdown`` says whether the text is Markdown; None detects it. Line ends inside a wrapped paragraph do not split
    it. A chunk holds a section, a part of a section, or a section with all its subsections.
    """
    if _weighted_size(text) <= MAX_SIZE:
        return (Chunk(0, text),)
    blocks, builder = _blocks(text, markdown=is_markdown(text) if markdown is None else markdown), _ChunkBuilder(text)
    _fill(blocks, builder)
    if len(builder.starts) > MAX_TINY_CHUNKS and len(text) < MIN_MEAN_CHARS * len(builder.starts):
        builder = _ChunkBuilder(text)
        _fill([replace(block, level=0, title="") for block in blocks], builder)
    ends = [*builder.starts[1:], len(text)]
    return tuple(
        Chunk(start, text[start:end], heading)
        for start, end, heading in zip(builder.starts, ends, builder.headings, strict=True)
    )


def _weighted_size(text: str) -> int:
    return len(text) + (UNSPACED_CHAR_SIZE - 1) * count_unspaced(text)


def _blocks(text: str, *, markdown: bool) -> tuple[Block, ...]:
    if not markdown:
        return plain_blocks(text)

    return markdown_blocks(text)


def _fill(blocks: Sequence[Block], builder: "_ChunkBuilder") -> None:
    """Add the blocks of a text to the builder, section by section."""
    sizes = [0, *accumulate(builder.size_of(block) for block in blocks)]
    ends = _section_ends(blocks)
    path: list[Block] = []
    index = 0
    while index < len(blocks):
        block = blocks[index]
        if not block.level:
            builder.add(block)
            index += 1
            continue
        while path and path[-1].level >= block.level:
            path.pop()
        path.append(block)
        builder.start_section(
            " > ".join(entry.title for entry in path if entry.title)[-MAX_HEADING_CHARS:].strip() or None
        )
        end = ends[index]
        fits = builder.has_room(sizes[end] - sizes[index])
        for entry in blocks[index : end if fits else index + 1]:
            builder.add(entry)
        builder.has_only_headings = not fits
        index = end if fits else index + 1


def _section_ends(blocks: Sequence[Block]) -> dict[int, int]:
    """Map the index of each heading to the index where its section, with all subsections, ends."""
    ends: dict[int, int] = {}
    open_headings: list[int] = []
    for index, block in enumerate(blocks):
        while block.level and open_headings and blocks[open_headings[-1]].level >= block.level:
            ends[open_headings.pop()] = index
        if block.level:
            open_headings.append(index)
    return ends | dict.fromkeys(open_headings, len(blocks))


class _ChunkBuilder:
    """Collects the starts of chunks and their headings, from the blocks of a text in order."""

    def __init__(self, text: str) -> None:
        self.starts: list[int] = []
        self.headings: list[str | None] = []
        self.has_only_headings = False
        """Whether the open chunk holds nothing but headings."""
        self._text = text
        self._heading: str | None = None
        self._size = 0  # of the open chunk; 0 if none is open
        self._lead_in: tuple[int, int] | None = None  # start and size of the last block, if it introduces the next

    def size_of(self, block: Block) -> int:
        return _weighted_size(self._text[block.start : block.end])

    def has_room(self, size: int) -> bool:
        """Whether ``size`` more fits into the open chunk."""
        return self._size + size <= TARGET_SIZE

    def start_section(self, heading: str | None) -> None:
        """Begin a section: close the open chunk, unless it holds nothing but the headings above."""
        self._heading = heading
        if self.has_only_headings and self._size:
            self.headings[-1] = heading
        else:
            self._size, self._lead_in = 0, None

    def add(self, block: Block) -> None:
        """Add a block to the open chunk or a new one; a block too large for either is split."""
        size = self.size_of(block)
        if self._lead_in is not None and not self._has_room_joined(size):
            lead_in, self._size = self._lead_in, 0
            self._append(*lead_in)
        if self._has_room_joined(size):
            is_lead_in = self._size and size < MIN_SIZE and not self.has_only_headings and self._ends_in_colon(block)
            self._append(block.start, size)
            self._lead_in = (block.start, size) if is_lead_in else None
        elif block.children and size > TARGET_SIZE:
            for child in block.children:
                self.add(child)
        elif size <= MAX_SIZE and not self.has_only_headings:
            self._size = 0
            self._append(block.start, size)
        else:
            self._split(block)
        self.has_only_headings = False

    def _has_room_joined(self, size: int) -> bool:
        joined = self._size + size
        return joined <= TARGET_SIZE or (joined <= MAX_SIZE and min(self._size, size) < MIN_SIZE)

    def _ends_in_colon(self, block: Block) -> bool:
        return self._text[block.start : block.end].rstrip().endswith((":", "："))

    def _split(self, block: Block) -> None:
        """Add a block that is larger than a chunk, by lines or sentences."""
        if self._size > TARGET_SIZE // 2 and not self.has_only_headings:
            self._size = 0
        for start, part in _split_block(self._text[block.start : block.end], is_line_oriented=block.is_line_oriented):
            size = _weighted_size(part)
            if not self.has_room(size):
                self._size = 0
            self._append(block.start + start, size)

    def _append(self, start: int, size: int) -> None:
        if not self._size:
            self.starts.append(start)
            self.headings.append(self._heading)
        self._size += size
        self._lead_in = None


def _split_block(block: str, *, is_line_oriented: bool) -> Iterator[tuple[int, str]]:
    """Lines or sentences with their offsets and trailing white space; units longer than a chunk are split."""
    line_ends_split = is_line_oriented or not _is_hard_wrapped(block)
    start = 0
    for match in _BREAK.finditer(block):
        end = match.end()
        is_break = (
            not is_line_oriented if match.lastgroup is None else line_ends_split or len(match[0].splitlines()) > 1
        )
        if is_break and end > start:
            if UNSPACED_CHAR_SIZE * (end - start) <= TARGET_SIZE:
                yield start, block[start:end]
            else:
                yield from _split_sentence(block, start, end)
            start = end
    if start < len(block):
        yield from _split_sentence(block, start, len(block))


def _is_hard_wrapped(block: str) -> bool:
    """Whether a paragraph's lines were wrapped at a width, not ended by the author.

    The width is the length of the longest line. It must force at least half of the line ends, and after at least a
    third the text must continue without a capital letter.
    """
    lines = [line for line in block.splitlines() if line.strip()]
    width = max(map(len, lines), default=0)
    first_chars = [
        after.lstrip()[0] for line, after in pairwise(lines) if len(line) + 1 + _first_word_length(after) > width
    ]
    continued_count = sum(char.isalpha() and not char.isupper() for char in first_chars)
    return 2 * len(first_chars) >= len(lines) - 1 <= 3 * continued_count


def _first_word_length(line: str) -> int:
    """The length of a line's first word; at most 3 in a script without spaces, which may break nearly anywhere."""
    word = line.split(None, 1)[0]
    return min(len(word), 3) if count_unspaced(word[:1]) else len(word)


def _split_sentence(block: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """A sentence with its offset, or parts no larger than a chunk, split after white space where possible."""
    while start < end:
        window = block[start : min(end, start + TARGET_SIZE)]
        while (size := _weighted_size(window)) > TARGET_SIZE:
            window = window[: min(len(window) - 1, TARGET_SIZE * len(window) // size)]
        cut = start + len(window)
        if cut < end:
            cut = _snap_to_grapheme(block, start, start + _best_cut(window))
        yield start, block[start:cut]
        start = cut


def _best_cut(window: str) -> int:
    """The best length to cut a window at: after the last white space in its second half, or else its end."""
    index = max(window.rfind(space, len(window) // 2) for space in " \t\n\u3000")
    return index + 1 or len(window)


def _snap_to_grapheme(block: str, start: int, cut: int) -> int:
    """An offset at or before ``cut`` that splits no grapheme; ``cut`` itself if there is none nearby."""
    for offset in range(cut, max(start + 1, cut - 32), -1):
        after, before = block[offset : offset + 1], block[offset - 1]
        is_joined = after in _JOINERS or before == "\u200d" or category(after or " ")[0] == "M"
        if not is_joined and (before, after) != ("\r", "\n"):
            return offset
    return cut


def align_chunks(before: Sequence[str], after: Sequence[str]) -> tuple[int, ...]:
    """For two ways of chunking one text, map each chunk of ``before`` to the index in ``after`` with most of it."""
    bounds = [0, *accumulate(map(len, after))]
    indices: list[int] = []
    start = 0
    for chunk in before:
        end = start + len(chunk)
        candidates = range(bisect_right(bounds, start) - 1, bisect_left(bounds, end))
        indices.append(max(candidates, key=lambda place: min(end, bounds[place + 1]) - max(start, bounds[place])))
        start = end
    return tuple(indices)
