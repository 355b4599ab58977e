"""Forgetting: deletes memories and leaves tombstones, which keep them from being remembered again."""

from collections.abc import Sequence

from . import ids
from .checked_episode import CheckedEpisode
from .graph import Graph, epoch_seconds
from .model import (
    Kind,
    Node,
    Tombstone,
    WriteBatch,
)


def forget(nodes: Sequence[Node]) -> WriteBatch:
    """The batch that erases nodes, and with them the entities that nothing else mentions."""
    return WriteBatch(tombstones=tuple(Tombstone(node.id, content_digest(node)) for node in nodes))


def content_digest(node: Node) -> bytes:
    """The digest of a memory's text, speaker and time, which recognizes a forgotten memory if it is remembered again.

    The time of recording does not count: a memory without a date has a digest without one. The digest of a question is
    of its id alone, so a deleted question blocks no memory with the same text.
    """
    if node.kind == Kind.QUESTION:
        return ids.content_digest(node.id)
    dated = "" if node.happened_at == node.recorded_at else repr(epoch_seconds(node.happened_at))
    return ids.content_digest(node.text, node.speaker or "", dated)


def is_tombstoned(episode: CheckedEpisode, graph: Graph) -> bool:
    """Whether an episode was forgotten before."""
    return any(node.id in graph.tombstones or content_digest(node) in graph.tombstones for node in episode.chunks)
