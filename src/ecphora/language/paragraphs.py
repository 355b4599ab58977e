"""Prose as its paragraphs: blank lines separate them, and lines that were only wrapped are joined."""

from itertools import pairwise

from ..patterns import lazy_pattern
from .scripts import UNSPACED

ITEM = lazy_pattern(r"\s*(?:[-*+•>|#]|\d{1,9}[.)])(?:\s|$)")
"""The beginning of a list's item, a heading, a quotation or a table's row: such a line continues nothing."""
_HEADING = lazy_pattern(r"\s*#{1,6}\s")
_HANGUL = "\uac00-\ud7af"
_NO_SPACE = lazy_pattern(rf"(?<=[{UNSPACED}])(?<![{_HANGUL}])\n(?=[{UNSPACED}])(?![{_HANGUL}])")
"""A line end between two letters of a script that is written without spaces."""


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each as one line, or as several where items, headings or rows stand in it."""
    found: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            found[-1].append(line.rstrip())
        elif found[-1]:
            found.append([])
    return [_joined(lines) for lines in found if lines]


def _joined(lines: list[str]) -> str:
    """Lines with their wrapping undone."""
    kept = [[lines[0].strip()]]
    for before, line in pairwise(lines):
        if ITEM.match(line) or _HEADING.match(before):
            kept.append([line])
        else:
            kept[-1].append(line.strip())
    return "\n".join(_NO_SPACE.sub("", "\n".join(parts)).replace("\n", " ") for parts in kept)
