"""A text as the blocks that its writer parted it into: paragraphs, items of lists, code, tables, and headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .paragraphs import ITEM

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_GAP = re.compile(r"(?P<end>\r\n|\r|\n)\s*")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+\S")
_UNDERLINE = re.compile(r" {0,3}={3,}\s*$")
_FENCE = re.compile(r" {0,3}(```|~~~)")


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a text, ``text[start:end]``, with what white space follows it.

    ``level`` is 1 to 6 for a heading, of which ``title`` has the words, and 0 for all else. ``by_line`` marks what may
    be cut after any line: code, a table. ``parts`` are the blocks inside, such as the items of a list; together they
    are the block.
    """

    start: int
    end: int
    level: int = 0
    title: str = ""
    by_line: bool = False
    parts: tuple["Block", ...] = ()


def lines(text: str) -> Iterator[re.Match[str]]:
    """The lines of a text with their ends, which are those of Markdown: LF, CR LF or CR."""
    return _LINE.finditer(text)


def plain_blocks(text: str) -> tuple[Block, ...]:
    """The blocks of a plain text: a block begins after a blank line, and with an item of a list."""
    starts = [0]
    for gap in _GAP.finditer(text, len(text) - len(text.lstrip())):
        last = max(gap[0].rfind("\n"), gap[0].rfind("\r")) + 1
        start = gap.start() + last
        if gap.end() < len(text) and (last > len(gap["end"]) or ITEM.match(text, start)):
            starts.append(start)
    return tuple(Block(start, end) for start, end in zip(starts, [*starts[1:], len(text)], strict=True))


def is_markdown(text: str) -> bool:
    """Whether a text shows that it is Markdown: a heading that stands between blank lines, or a fenced block."""
    fences, before, heading = 0, "", False
    blank = True
    for found in lines(text):
        line = found[0]
        empty = line.isspace()
        if heading and empty:
            return True
        fences += _FENCE.match(line) is not None
        heading = (blank and _HEADING.match(line) is not None) or (
            not before.isspace() and _UNDERLINE.match(line) is not None
        )
        blank, before = empty, line
    return heading or fences > 1
