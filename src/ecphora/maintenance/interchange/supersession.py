"""Puts memories that supersede others behind them, as a memory takes them."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

from ...model.types import Episode, NodeId, Omission
from ...retrieval.validity import has_less_trust

UNKNOWN_PREDECESSOR = "a supersession of a memory that is not in the file"
LESS_TRUST = "a supersession of a memory that has more trust"


@dataclass(frozen=True, slots=True)
class Successor:
    """An episode that supersedes the episode with the key ``predecessor``; ``origin`` is its place in the file."""

    key: Hashable
    episode: Episode
    predecessor: Hashable | None
    origin: str


def predecessors_first(items: Iterable[Successor | Omission]) -> Iterator[Episode | Omission]:
    """Yield every episode, behind the one that it supersedes; what names no episode of these supersedes nothing.

    Only episodes whose predecessor has not come yet are kept in memory.
    """
    seen: dict[Hashable, tuple[NodeId, float]] = {}
    waiting: dict[Hashable, list[Successor]] = {}
    for item in items:
        if isinstance(item, Omission):
            yield item
        elif item.predecessor is not None and item.predecessor not in seen:
            waiting.setdefault(item.predecessor, []).append(item)
        else:
            yield from _with_followers(item, seen, waiting)
    inner = {item.key for items in waiting.values() for item in items}
    unknown = [key for key in waiting if key not in inner]
    while waiting:  # what is left names no episode, or names one another in a circle
        start = unknown.pop() if unknown else next(iter(waiting))
        for item in waiting.pop(start, ()):
            yield Omission(UNKNOWN_PREDECESSOR, item.origin)
            yield from _with_followers(replace(item, predecessor=None), seen, waiting)


def _with_followers(
    first: Successor, seen: dict[Hashable, tuple[NodeId, float]], waiting: dict[Hashable, list[Successor]]
) -> Iterator[Episode | Omission]:
    stack = [first]
    while stack:
        item = stack.pop()
        episode = item.episode
        if item.predecessor is not None:
            id_, trust = seen[item.predecessor]
            if has_less_trust(episode.trust, trust):
                yield Omission(LESS_TRUST, item.origin)
            elif id_ != episode.id:
                episode = replace(episode, supersedes=id_)
        yield episode
        seen.setdefault(item.key, (str(episode.id), episode.trust))
        stack += reversed(waiting.pop(item.key, []))
