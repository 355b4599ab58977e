"""English vectors: second vectors of English texts, by an embedder for English besides the scope's embedder.

Only episodes have one. Consolidation, and strategies that do not ask for English vectors, know only the vectors of the
scope's embedder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..language.language_identification import is_english
from ..model.ports import Embedder
from ..model.types import Kind, Node, NodeId, Vector, WriteBatch
from .encode import embed_texts, indexed_text


def english_memories(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that should have an English vector: episodes whose text, as it is embedded, is English."""
    return [node for node in nodes if node.kind is Kind.EPISODE and is_english(indexed_text(node))]


def embed_english(embedder: Embedder | None, nodes: Sequence[Node]) -> dict[NodeId, Vector]:
    """The English vectors by id of those nodes that should have one; none without an embedder for English."""
    chosen = [] if embedder is None else english_memories(nodes)
    if embedder is None or not chosen:
        return {}
    return dict(zip((node.id for node in chosen), embed_texts(embedder, map(indexed_text, chosen)), strict=True))


def with_english_vectors(batch: WriteBatch, vectors: Mapping[NodeId, Vector], embedder: Embedder | None) -> WriteBatch:
    """A batch with the English vectors of its nodes, by the embedder for English."""
    if embedder is None or not vectors:
        return batch
    return replace(batch, english_vectors=vectors, english_embedder=embedder.name)
