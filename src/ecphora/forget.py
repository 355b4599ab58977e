"""Forgetting on purpose: what is deleted, and the tombstones that recognize its return."""

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
    """The digest by which a forgotten memory is recognised if it comes again: of its text, speaker and time.

    The time of recording is none of the memory's own: one that came without a date is recognised without. A question
    is recognised by its id alone: that it was taken back bars no memory of the same words.
    """
    if node.kind == Kind.QUESTION:
        return blake2b(node.id.encode(), digest_size=16).digest()
    dated = "" if node.happened_at == node.recorded_at else repr(epoch_seconds(node.happened_at))
    content = "\x1f".join((node.text, node.speaker or "", dated))
    return blake2b(content.encode(), digest_size=16).digest()


def is_tombstoned(episode: CheckedEpisode, graph: Graph) -> bool:
    """Whether this was forgotten on purpose before."""
    return any(node.id in graph.tombstones or content_digest(node) in graph.tombstones for node in episode.chunks)
