"""The blocks of Markdown, as CommonMark and GitHub's tables define them.

Imported only where a long text is Markdown: the parser takes a moment to load.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .blocks import Block, lines

DEEPEST = 20
"""Blocks inside one another that are told apart; two for each list."""
TITLE = 120
"""Characters that are kept of a heading."""

_PARSER = MarkdownIt("commonmark", {"maxNesting": DEEPEST}).enable("table")
_PARSER.core.ruler.enableOnly(["normalize", "block"])
_FRONT_MATTER = re.compile(
    r"---[ \t]*(?:\r\n|\r|\n)(?:[^\r\n]*(?:\r\n|\r|\n)){1,200}?(?:---|\.\.\.)[ \t]*(?:\r\n|\r|\n|\Z)"
)
_CONTAINERS = frozenset({"bullet_list_open", "ordered_list_open", "list_item_open", "blockquote_open"})
_LINED = frozenset({"fence", "code_block", "html_block", "table_open"})


def markdown_blocks(text: str) -> tuple[Block, ...]:
    """The blocks of a Markdown text; front matter is one, and no heading."""
    front = _FRONT_MATTER.match(text)
    first = 0 if front is None else front.end()
    starts = [first, *(first + line.end() for line in lines(text[first:]))]
    tokens = _PARSER.parse(text[first:])
    found = _nested(tokens, starts, first, len(text))
    return found if front is None else (Block(0, first, by_line=True), *found)


def _nested(tokens: Sequence[Token], starts: Sequence[int], start: int, end: int) -> tuple[Block, ...]:
    """The outermost blocks of some tokens, which lie between two places of the text; they cover all of it."""
    spans = list(_outermost(tokens))
    if not spans:
        return (Block(start, end),) if start < end else ()
    places = [start, *(starts[_line(tokens[opened])] for opened, _ in spans[1:]), end]
    return tuple(
        _block(tokens[opened:closed], starts, *place)
        for (opened, closed), place in zip(spans, pairwise(places), strict=True)
    )


def _outermost(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Where each token that is inside no other begins and ends among the tokens; of one line only the first counts."""
    spans: list[tuple[int, int]] = []
    depth = opened = 0
    for place, token in enumerate(tokens):
        if depth == 0:
            opened = place
        depth += token.nesting
        if depth == 0:
            same = spans and _line(tokens[spans[-1][0]]) == _line(tokens[opened])
            if not same:
                spans.append((opened, place + 1))
    return spans


def _line(token: Token) -> int:
    return token.map[0] if token.map else 0


def _block(tokens: Sequence[Token], starts: Sequence[int], start: int, end: int) -> Block:
    """One block, from the token that opens it to the one that closes it."""
    first = tokens[0]
    if first.type == "heading_open":
        return Block(start, end, int(first.tag[1:]), _title(tokens[1].content))
    if first.type in _CONTAINERS:
        return Block(start, end, parts=_flat(_nested(tokens[1:-1], starts, start, end)))
    return Block(start, end, by_line=first.type in _LINED)


def _flat(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Blocks inside a list or a quotation, where a heading heads nothing; those of a lone one in its place."""
    return (
        blocks[0].parts if len(blocks) == 1 else tuple(Block(b.start, b.end, 0, "", b.by_line, b.parts) for b in blocks)
    )


def _title(content: str) -> str:
    """The words of a heading, without emphasis, links and the like."""
    tokens: list[Token] = []
    _PARSER.inline.parse(content[:TITLE], _PARSER, {}, tokens)
    parts = (" " if token.type in {"softbreak", "hardbreak"} else _shown(token) for token in tokens)
    return " ".join("".join(parts).split())


def _shown(token: Token) -> str:
    return "" if token.type == "html_inline" else token.content
