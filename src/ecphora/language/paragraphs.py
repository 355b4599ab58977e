"""Splits prose into paragraphs at blank lines, and joins wrapped lines."""

from itertools import pairwise

from ..lazy_pattern import lazy_pattern
from .scripts import UNSPACED_CHARS

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
