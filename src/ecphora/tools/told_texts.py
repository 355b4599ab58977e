"""Remembers the texts that a model tells by one call of a tool: in parts, and with repeats."""

from collections.abc import Callable, Sequence

from ..model.types import Episode, NodeId, RememberResult

PART_CHARS = 20_000
"""Characters of the texts that are committed together: of a call that is cut off, whole parts are stored."""


def remember_texts(
    remember: Callable[..., RememberResult], content: Sequence[str | Episode], last_id: NodeId | None
) -> list[RememberResult]:
    """Remember some texts; all are checked before the first is written.

    Of several, what was stored before is said again beside what is new. But a call is taken to be sent again if all its
    texts are stored, or if the last memory of the session, ``last_id``, is the last of its first texts: then it was cut
    off there.
    """
    if len(content) > 1:
        known = remember(content, dry_run=True)
        if not (known.created and known.existing) or _is_cut_off(known, last_id):
            return [remember(part) for part in split_texts(content)]
    return [remember(one) for one in content]


def _is_cut_off(known: RememberResult, last_id: NodeId | None) -> bool:
    """Whether the stored texts of a call are its first ones, and nothing was stored after them."""
    first = known.ids[: len(known.existing)]
    return set(first) == set(known.existing) and first[-1] == last_id


def split_texts(content: Sequence[str | Episode]) -> list[list[str | Episode]]:
    """The texts in parts of at most :data:`PART_CHARS` characters; a longer text is a part of its own."""
    parts: list[list[str | Episode]] = []
    size = 0
    for one in content:
        chars = len(one if isinstance(one, str) else one.text)
        if not parts or size + chars > PART_CHARS:
            parts.append([])
            size = 0
        parts[-1].append(one)
        size += chars
    return parts
