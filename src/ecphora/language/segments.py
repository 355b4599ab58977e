"""Long texts cut into pieces that an embedder can read whole. Nothing is lost: the pieces joined are the text."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from unicodedata import category

from ..patterns import lazy_pattern
from .blocks import Block, is_markdown, plain_blocks
from .scripts import unspaced

WHOLE = 1200
"""A text up to this size stays one piece, and so does a block of a longer one."""
PIECE = 900
"""Blocks and sentences are gathered into pieces of up to this size."""
SMALL = 225
"""What is smaller joins its neighbor, as long as both are no larger than ``WHOLE``."""
UNSPACED_SIZE = 3
"""A character of a script without spaces carries about as much as this many Latin letters."""
PATH = 500
"""Characters of the longest path of headings; of a longer one the end is kept."""

_BREAK = lazy_pattern(r"(?P<line>(?:\r\n|\r|\n)\s*)|(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])[」』”）]*\s*")
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text, ``text[start : start + len(segment.text)]``, and the headings that it stands under.

    ``heading`` is their path from the outermost to the innermost, "Guide > Timers", None where there are none.
    """

    start: int
    text: str
    heading: str | None = None


def segments(text: str, *, markdown: bool | None = None) -> tuple[Segment, ...]:
    """Cut a text where its writer parted it: at headings, blocks and sentences, and elsewhere only what is longer.

    ``markdown`` says whether it is Markdown; None looks for signs of it. A line end inside a paragraph that is wrapped
    parts nothing. A piece holds one section, or a part of one, or a section with all below it.
    """
    if _size(text) <= WHOLE:
        return (Segment(0, text),)
    pieces = _Pieces(text)
    _gather(_blocks(text, markdown=is_markdown(text) if markdown is None else markdown), pieces)
    ends = [*pieces.starts[1:], len(text)]
    return tuple(
        Segment(start, text[start:end], heading)
        for start, end, heading in zip(pieces.starts, ends, pieces.headings, strict=True)
    )


def _size(text: str) -> int:
    return len(text) + (UNSPACED_SIZE - 1) * unspaced(text)


def _blocks(text: str, *, markdown: bool) -> tuple[Block, ...]:
    if not markdown:
        return plain_blocks(text)
    from .markdown import markdown_blocks  # noqa: PLC0415  # most memories never need it

    return markdown_blocks(text)


def _gather(blocks: Sequence[Block], pieces: "_Pieces") -> None:
    """Put the blocks of a text into pieces, section by section."""
    sizes = [0, *accumulate(pieces.size_of(block) for block in blocks)]
    ends = _section_ends(blocks)
    path: list[Block] = []
    place = 0
    while place < len(blocks):
        block = blocks[place]
        if not block.level:
            pieces.put(block)
            place += 1
            continue
        while path and path[-1].level >= block.level:
            path.pop()
        path.append(block)
        pieces.head(" > ".join(one.title for one in path if one.title)[-PATH:].strip() or None)
        end = ends[place]
        whole = pieces.is_room(sizes[end] - sizes[place])
        for one in blocks[place : end if whole else place + 1]:
            pieces.put(one)
        pieces.headed_only = not whole
        place = end if whole else place + 1


def _section_ends(blocks: Sequence[Block]) -> dict[int, int]:
    """For the place of each heading, the place where its section with all below it ends."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for place, block in enumerate(blocks):
        while block.level and opened and blocks[opened[-1]].level >= block.level:
            ends[opened.pop()] = place
        if block.level:
            opened.append(place)
    return ends | dict.fromkeys(opened, len(blocks))


class _Pieces:
    """Where the pieces of a text begin, and under which headings: it is told of the text's blocks in their order."""

    def __init__(self, text: str) -> None:
        self.starts: list[int] = []
        self.headings: list[str | None] = []
        self.headed_only = False
        """Whether the open piece holds nothing but headings."""
        self._text = text
        self._heading: str | None = None
        self._size = 0  # of the open piece; 0: none is open
        self._lead: tuple[int, int] | None = None  # where the last block starts, and its size, if it leads in the next

    def size_of(self, block: Block) -> int:
        return _size(self._text[block.start : block.end])

    def is_room(self, size: int) -> bool:
        """Whether so much fits into the open piece."""
        return self._size + size <= PIECE

    def head(self, heading: str | None) -> None:
        """Begin a section: what follows is no part of the open piece, unless that holds the headings above alone."""
        self._heading = heading
        if self.headed_only and self._size:
            self.headings[-1] = heading
        else:
            self._size, self._lead = 0, None

    def put(self, block: Block) -> None:
        """Put a block into the open piece, or a new one; what is too large for either in parts."""
        size = self.size_of(block)
        if self._lead is not None and not self._fits(size):
            lead, self._size = self._lead, 0
            self._add(*lead)
        if self._fits(size):
            leads = self._size and size < SMALL and not self.headed_only and self._ends_in_colon(block)
            self._add(block.start, size)
            self._lead = (block.start, size) if leads else None
        elif block.parts and size > PIECE:
            for part in block.parts:
                self.put(part)
        elif size <= WHOLE and not self.headed_only:
            self._size = 0
            self._add(block.start, size)
        else:
            self._cut(block)
        self.headed_only = False

    def _fits(self, size: int) -> bool:
        joined = self._size + size
        return joined <= PIECE or (joined <= WHOLE and min(self._size, size) < SMALL)

    def _ends_in_colon(self, block: Block) -> bool:
        return self._text[block.start : block.end].rstrip().endswith((":", "："))

    def _cut(self, block: Block) -> None:
        """Put a block that is larger than a piece: by lines or sentences."""
        if self._size > PIECE // 2 and not self.headed_only:
            self._size = 0
        for start, part in _parts(self._text[block.start : block.end], by_line=block.by_line):
            size = _size(part)
            if not self.is_room(size):
                self._size = 0
            self._add(block.start + start, size)

    def _add(self, start: int, size: int) -> None:
        if not self._size:
            self.starts.append(start)
            self.headings.append(self._heading)
        self._size += size
        self._lead = None


def _parts(block: str, *, by_line: bool) -> Iterator[tuple[int, str]]:
    """Lines or sentences with their places, and the white space after each; what is longer than a piece is cut."""
    lines_part = by_line or not _is_wrapped(block)
    start = 0
    for found in _BREAK.finditer(block):
        end = found.end()
        is_border = not by_line if found.lastgroup is None else lines_part or len(found[0].splitlines()) > 1
        if is_border and end > start:
            if UNSPACED_SIZE * (end - start) <= PIECE:
                yield start, block[start:end]
            else:
                yield from _chunks(block, start, end)
            start = end
    if start < len(block):
        yield from _chunks(block, start, len(block))


def _is_wrapped(block: str) -> bool:
    """Whether the lines of a paragraph end where the next word had no room, and not where its writer ended them.

    The longest line shows how much room there is. At least half of the lines must end so, and a third go on with no
    capital letter.
    """
    found = [line for line in block.splitlines() if line.strip()]
    room = max(map(len, found), default=0)
    forced = [after.lstrip()[0] for line, after in pairwise(found) if len(line) + 1 + _first_word(after) > room]
    going_on = sum(first.isalpha() and not first.isupper() for first in forced)
    return 2 * len(forced) >= len(found) - 1 <= 3 * going_on


def _first_word(line: str) -> int:
    """The length of a line's first word; of one without spaces what may not be parted, about three letters."""
    word = line.split(None, 1)[0]
    return min(len(word), 3) if unspaced(word[:1]) else len(word)


def _chunks(block: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """A sentence with its place, or parts of it that are no larger than a piece, cut after white space if they can."""
    while start < end:
        window = block[start : min(end, start + PIECE)]
        while (size := _size(window)) > PIECE:
            window = window[: min(len(window) - 1, PIECE * len(window) // size)]
        cut = start + len(window)
        if cut < end:
            cut = _whole_letter(block, start, start + _cut_place(window))
        yield start, block[start:cut]
        start = cut


def _cut_place(window: str) -> int:
    """The length after which a window is best cut: after the last word in its second half, or else at its end."""
    place = max(window.rfind(space, len(window) // 2) for space in " \t\n\u3000")
    return place + 1 or len(window)


def _whole_letter(block: str, start: int, cut: int) -> int:
    """A place at or before ``cut`` that parts no letter from its marks; ``cut`` itself where there is none near."""
    for place in range(cut, max(start + 1, cut - 32), -1):
        after, before = block[place : place + 1], block[place - 1]
        joined = after in _JOINERS or before == "\u200d" or category(after or " ")[0] == "M"
        if not joined and (before, after) != ("\r", "\n"):
            return place
    return cut


def successors(before: Sequence[str], after: Sequence[str]) -> tuple[int, ...]:
    """For each piece of a text that is cut in one way, the place of that piece of the other way that has most of it."""
    bounds = [0, *accumulate(map(len, after))]
    found: list[int] = []
    start = 0
    for piece in before:
        end = start + len(piece)
        places = range(bisect_right(bounds, start) - 1, bisect_left(bounds, end))
        found.append(max(places, key=lambda place: min(end, bounds[place + 1]) - max(start, bounds[place])))
        start = end
    return tuple(found)
