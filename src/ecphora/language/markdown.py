"""The blocks of Markdown, as CommonMark and GitHub's tables define them.

Imported only for a long Markdown text: the parser is slow to load.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .blocks import Block, lines

MAX_NESTING = 20
"""Maximum nesting depth of blocks; a list takes two levels."""
MAX_TITLE_CHARS = 120
"""Characters kept of a heading."""

_PARSER = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
_PARSER.core.ruler.enableOnly(["normalize", "block"])
_FRONT_MATTER = re.compile(
    r"---[ \t]*(?:\r\n|\r|\n)(?:[^\r\n]*(?:\r\n|\r|\n)){1,200}?(?:---|\.\.\.)[ \t]*(?:\r\n|\r|\n|\Z)"
)
_CONTAINERS = frozenset({"bullet_list_open", "ordered_list_open", "list_item_open", "blockquote_open"})
_LINE_ORIENTED = frozenset({"fence", "code_block", "html_block", "table_open"})


def markdown_blocks(text: str) -> tuple[Block, ...]:
    """The blocks of a Markdown text; front matter is one block, and not a heading."""
    front = _FRONT_MATTER.match(text)
    first = 0 if front is None else front.end()
    starts = [first, *(first + line.end() for line in lines(text[first:]))]
    tokens = _PARSER.parse(text[first:])
    found = _blocks_between(tokens, starts, first, len(text))
    return found if front is None else (Block(0, first, is_line_oriented=True), *found)


def _blocks_between(tokens: Sequence[Token], starts: Sequence[int], start: int, end: int) -> tuple[Block, ...]:
    """The outermost blocks of some tokens; together they cover ``text[start:end]``."""
    spans = list(_outermost_spans(tokens))
    if not spans:
        return (Block(start, end),) if start < end else ()
    offsets = [start, *(starts[_start_line(tokens[first])] for first, _ in spans[1:]), end]
    return tuple(
        _block(tokens[first:last], starts, *bounds)
        for (first, last), bounds in zip(spans, pairwise(offsets), strict=True)
    )


def _outermost_spans(tokens: Sequence[Token]) -> list[tuple[int, int]]:
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


def _start_line(token: Token) -> int:
    return token.map[0] if token.map else 0


def _block(tokens: Sequence[Token], starts: Sequence[int], start: int, end: int) -> Block:
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
    _PARSER.inline.parse(content[:MAX_TITLE_CHARS], _PARSER, {}, tokens)
    parts = (" " if token.type in {"softbreak", "hardbreak"} else _plain_text(token) for token in tokens)
    return " ".join("".join(parts).split())


def _plain_text(token: Token) -> str:
    return "" if token.type == "html_inline" else token.content
