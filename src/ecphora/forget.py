"""Forgetting: what is deleted, and the tombstones that keep it from being remembered again."""

from collections.abc import Sequence
from hashlib import blake2b

from .checked_episode import CheckedEpisode
from .graph import Graph, epoch_seconds
from .model import (
    Kind,
    Node,
    Tombstone,
    WriteBatch,
)


def forget(nodes: Sequence[Node]) -> WriteBatch:
    """Erase nodes; the entities that nothing else mentions go with them."""
    return WriteBatch(tombstones=tuple(Tombstone(node.id, content_digest(node)) for node in nodes))


def content_digest(node: Node) -> bytes:
    """The digest that recognizes a forgotten memory if it is remembered again: of its text, speaker and time.

    The time of recording does not count: a memory without a date is recognized without one. A question is recognized by
    its id alone: a deleted question blocks no memory with the same words.
    """
    if node.kind == Kind.QUESTION:
        return blake2b(node.id.encode(), digest_size=16).digest()
    dated = "" if node.happened_at == node.recorded_at else repr(epoch_seconds(node.happened_at))
    content = "\x1f".join((node.text, node.speaker or "", dated))
    return blake2b(content.encode(), digest_size=16).digest()


def is_tombstoned(episode: CheckedEpisode, graph: Graph) -> bool:
    """Whether an episode was forgotten before."""
    return any(node.id in graph.tombstones or content_digest(node) in graph.tombstones for node in episode.chunks)
