"""The blocks of a text: paragraphs, list items, code, tables and headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .paragraphs import BLOCK_START

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
    """The lines of a text with their ends; line ends are those of Markdown: LF, CR LF or CR."""
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
