"""Replaces parts of a text and keeps track of where each part of the new text came from."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

Write = Callable[[re.Match[str]], str]
RewriteRule = tuple[re.Pattern[str], Write]


class _Edit(NamedTuple):
    """A part ``start:end`` of the new text that replaced ``old_start:old_end`` of the text before."""

    start: int
    end: int
    old_start: int
    old_end: int


class Rewriting:
    """A text that rules rewrite one after the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._passes: list[list[_Edit]] = []

    @property
    def is_changed(self) -> bool:
        """Whether a rule has matched."""
        return bool(self._passes)

    def apply(self, rules: Iterable[RewriteRule]) -> None:
        """Replace every match of each rule in turn by what the rule writes."""
        for pattern, write in rules:
            if pattern.search(self.text):
                self._replace(pattern, write)

    def _replace(self, pattern: re.Pattern[str], write: Write) -> None:
        pieces: list[str] = []
        edits: list[_Edit] = []
        at, length = 0, 0
        for match in pattern.finditer(self.text):
            new = write(match)
            kept = self.text[at : match.start()]
            length += len(kept)
            edits.append(_Edit(length, length + len(new), match.start(), match.end()))
            pieces += kept, new
            length += len(new)
            at = match.end()
        self.text = "".join((*pieces, self.text[at:]))
        self._passes.append(edits)

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """The start and end in the original text of a part of the rewritten one.

        A part that begins or ends inside a replacement counts as all of it, but for white space at the edges.
        """
        for edits in reversed(self._passes):
            start, end = _place_before(edits, start, is_end=False), _place_before(edits, end, is_end=True)
        return start, end


def _place_before(edits: list[_Edit], place: int, *, is_end: bool) -> int:
    """The place in the text before a pass; inside a replacement, its start or end."""
    shift = 0
    for edit in edits:
        if place < edit.start or (place == edit.start and is_end):
            break
        if place < edit.end or (place == edit.end and is_end):
            return edit.old_end if is_end else edit.old_start
        shift = edit.old_end - edit.end
    return place + shift
