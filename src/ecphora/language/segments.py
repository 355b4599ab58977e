"""Long texts cut into pieces that an embedder can read whole. Nothing is lost: the pieces joined are the text."""

import re
from collections.abc import Iterator

from .scripts import unspaced

WHOLE = 1200
"""A text up to this size stays one piece."""
PIECE = 900
"""Longer texts are cut into pieces of about this size."""
UNSPACED_SIZE = 3
"""A character of a script without spaces carries about as much as this many Latin letters."""

_BREAK = re.compile(r"\n+|(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])[」』”）]*\s*")


def segments(text: str) -> tuple[str, ...]:
    """Cut a text at paragraphs and sentences, and inside a sentence only where it is longer than a piece."""
    if _size(text) <= WHOLE:
        return (text,)
    pieces: list[str] = []
    current, size = "", 0
    for part in _parts(text):
        grown = _size(part)
        if current and size + grown > PIECE:
            pieces.append(current)
            current, size = "", 0
        current, size = current + part, size + grown
    return (*pieces, current) if current else tuple(pieces)


def _size(text: str) -> int:
    return len(text) + (UNSPACED_SIZE - 1) * unspaced(text)


def _parts(text: str) -> Iterator[str]:
    """Sentences with the white space after them; those longer than a piece are cut at spaces, or else anywhere."""
    start = 0
    for found in _BREAK.finditer(text):
        if found.end() > start:
            yield from _chunks(text[start : found.end()])
            start = found.end()
    if start < len(text):
        yield from _chunks(text[start:])


def _chunks(sentence: str) -> Iterator[str]:
    width = PIECE // (UNSPACED_SIZE if 2 * unspaced(sentence) > len(sentence) else 1)
    start = 0
    while len(sentence) - start > width:
        space = sentence.rfind(" ", start + width // 2, start + width)
        end = space + 1 if space > 0 else start + width
        yield sentence[start:end]
        start = end
    yield sentence[start:]
