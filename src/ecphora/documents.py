"""Documents: long texts as chunks, each a node, and back."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .graph import Graph
from .language.chunking import split_into_chunks
from .model import (
    Node,
    NodeId,
)

MARKDOWN_SUFFIXES = (".md", ".markdown")
"""The suffixes of sources and titles of Markdown texts; other texts are Markdown if they look like it."""


def chunks(node: Node) -> tuple[Node, ...]:
    """Cut a node with a long text into nodes that fit an embedder."""
    is_markdown = any((name or "").lower().endswith(MARKDOWN_SUFFIXES) for name in (node.source, node.title))
    parts = split_into_chunks(node.text, markdown=is_markdown or None)
    if len(parts) == 1:
        return (node,)
    return tuple(
        replace(
            node,
            id=f"{node.id}#{place}",
            text=part.text,
            document=node.id,
            position=place,
            start=part.start,
            heading=part.heading,
        )
        for place, part in enumerate(parts, 1)
    )


def with_start_offsets(nodes: Sequence[Node]) -> list[Node]:
    """The same nodes, each chunk of a text with its start offset, computed from the chunks before it."""
    starts: dict[NodeId, int] = {}
    ends: dict[NodeId, int] = {}
    for node in sorted((node for node in nodes if node.document is not None), key=lambda node: node.position):
        starts[node.id] = ends.get(str(node.document), 0)
        ends[str(node.document)] = starts[node.id] + len(node.text)
    return [replace(node, start=starts[node.id]) if starts.get(node.id) else node for node in nodes]


def reassemble(nodes: Sequence[Node]) -> Node:
    """Join the chunks of a node into the node that was cut."""
    first = nodes[0]
    if first.document is None:
        return first
    text = "".join(node.text for node in nodes)
    return replace(first, id=first.document, text=text, document=None, position=0, start=0, heading=None)


def node_ids_of(graph: Graph, node_id: NodeId) -> list[NodeId]:
    """The ids of the nodes that an id stands for: itself, or its chunks; none if it does not exist."""
    if graph.row(node_id) is not None:
        return [node_id]
    return [graph.id(row) for row in graph.document_rows(node_id)]


def expand_to_documents(graph: Graph, node_ids: Iterable[NodeId]) -> list[NodeId]:
    """These nodes and every other chunk of their documents, each once."""
    found: dict[NodeId, None] = {}
    for node in node_ids:
        row = graph.row(node)
        document = -1 if row is None else int(graph.nodes["documents"][row])
        chunk_rows = graph.document_rows(graph.documents.names[document]) if document >= 0 else ()
        found.update(dict.fromkeys([graph.id(chunk_row) for chunk_row in chunk_rows] or [node]))
    return list(found)
