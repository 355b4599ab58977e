"""Replaces the text or metadata of a memory in place: the same id, and nothing left of the old text.

The old nodes are forgotten and the new ones written in one write batch. What was read off the old text goes with it, as
in forgetting: claims, insights, feedback, and names that nothing else mentions; its accesses go too. Supersession, the
end of validity and marks belong to the memory, not to its text, and are carried over.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from ..errors import InvalidInput, StaleWrite
from ..model.graph.graph import Graph
from ..model.graph.media_spaces import vectors_of
from ..model.graph.updates import apply_batch, has_content_tombstone, is_date_uncertain, without_date
from ..model.reprs import show
from ..model.types import Edge, Episode, Kind, Link, Mark, Metadata, Node, NodeId, Rows, ValidityEnd, WriteBatch
from ..retrieval.temporal import local_time
from . import documents, encode
from .forget import plan_forget
from .scope_writer import MAX_RETRIES, Classification, ExtractionSource, ScopeWriter, VectorSource, reads_full_log


def replace_text(
    writer: ScopeWriter,
    id_: NodeId,
    text: str,
    now: datetime,
    extractions: ExtractionSource,
    *,
    metadata: Metadata | None,
    restore: bool,
    expected_seq: int | None = None,
) -> Classification:
    """Replace the text and metadata of a memory, unless it has them already or the text was forgotten before.

    With ``metadata`` None the memory keeps its own; with ``restore`` a text that was forgotten is written. Returns the
    memory, as new, existing or blocked. Raises ``InvalidInput`` for an id that is no memory, ``IdCollision`` if a chunk
    of the new text would need the id of another memory, and ``StaleWrite`` if the memory has another ``seq`` than the
    expected one, as each replacement gives it.
    """
    vectors = VectorSource(writer)
    for _ in range(MAX_RETRIES):
        graph = writer.graph()
        old_nodes = writer.store.nodes(writer.scope, documents.node_ids_of(graph, id_))
        if expected_seq is not None and [node.seq for node in old_nodes[:1]] != [expected_seq]:
            raise StaleWrite(f"{show(id_)} was replaced or forgotten since it was read; read it again")
        old = check_memory(id_, old_nodes)
        fields = (
            old.speaker,
            old.session,
            old.happened_at,
            old.title,
            old.source,
            old.metadata if metadata is None else metadata,
            old.trust,
        )
        episode = documents.check_episode(Episode(text, old.id, *fields, media=old.media), now)
        if old.text == text and old.metadata == episode.chunks[0].metadata:
            return Classification([], [episode], [])
        if old.text != text and not restore and _is_forgotten(episode, old_nodes, graph):
            return Classification([], [], [episode])
        row = graph.row(old_nodes[0].id)
        if row is not None and old.media:
            episode = replace(episode, media_vectors=vectors_of(graph.media_spaces, row, episode.chunks[0].id))
        batch = _replacement_batch(writer, graph, old_nodes, episode, extractions=extractions, vectors=vectors, now=now)
        if writer.try_commit(batch):
            writer.process_pending(now)
            return Classification([episode], [], [])
    raise writer.contention_error()


def check_memory(id_: NodeId, nodes: Sequence[Node]) -> Node:
    """The memory whose nodes were found under an id; raises ``InvalidInput`` if there is none, or only a chunk."""
    if not nodes or nodes[0].kind != Kind.EPISODE:
        raise InvalidInput(f"there is no memory {show(id_)}; give the id of a memory, such as hit.id")
    if nodes[0].id == id_ and nodes[0].document is not None:
        raise InvalidInput(
            f"{show(id_)} is a chunk of {show(nodes[0].document)}; give that id, with the whole new text"
        )
    return documents.reassemble(nodes)


def _is_forgotten(episode: documents.CheckedEpisode, old_nodes: Sequence[Node], graph: Graph) -> bool:
    """Whether a memory with the new text of an old one would be blocked, if it were remembered with its date."""
    nodes = [replace(node, recorded_at=old_nodes[0].recorded_at) for node in episode.chunks]
    forms = [nodes, without_date(nodes)] if is_date_uncertain(old_nodes, graph.tombstones) else [nodes]
    return any(has_content_tombstone(form, graph.tombstones) for form in forms)


def _replacement_batch(
    writer: ScopeWriter,
    graph: Graph,
    old_nodes: Sequence[Node],
    episode: documents.CheckedEpisode,
    *,
    extractions: ExtractionSource,
    vectors: VectorSource,
    now: datetime,
) -> WriteBatch:
    """The batch that forgets the old nodes and writes the new ones."""
    forgetting = plan_forget(old_nodes, graph, partial(writer.store.nodes, writer.scope))
    remaining = apply_batch(graph, replace(forgetting, revision=graph.revision + 1))
    occupied_id = documents.find_occupied_id(episode, remaining)
    if occupied_id is not None:
        raise documents.collision_error(episode, occupied_id)
    nodes = [replace(node, valid_from=old_nodes[0].valid_from) for node in episode.chunks]
    extracted = extractions.read(nodes)
    embedded = [*nodes, *(one for node in nodes for one in encode.descriptions(node, extracted[node.id]).values())]
    batch = encode.encode(
        [replace(episode, chunks=tuple(nodes))],
        remaining,
        vectors=vectors.embed(embedded),
        extractions=extracted,
        embedder=writer.embedder.name,
        now=now,
    )
    old_rows = graph.rows(node.id for node in old_nodes)
    new_ids = [node.id for node in nodes]
    return replace(
        vectors.complete(batch),
        tombstones=forgetting.tombstones,
        entities=forgetting.entities,
        edges=(*batch.edges, *_supersession_edges(graph, old_rows, new_ids)),
        validity_ends=_validity_ends(graph, old_nodes[0], new_ids),
        accesses=tuple(
            replace(mark, node=id_, seq=0, count=0)
            for mark in graph.accesses_of(int(old_rows[0]))
            if isinstance(mark.kind, Mark)
            for id_ in new_ids
        ),
        needs_full_log=reads_full_log(writer.strategy),
        expected_revision=graph.revision,
    )


def _supersession_edges(graph: Graph, old_rows: Rows, new_ids: Sequence[NodeId]) -> tuple[Edge, ...]:
    """The supersession edges of the old nodes: they start at the first new chunk, and end at every one."""
    table = graph.edges
    outgoing, _ = graph.edges_from(old_rows, Link.SUPERSEDES)
    incoming, _ = graph.edges_to(old_rows, Link.SUPERSEDES)
    edges = [
        Edge(new_ids[0], graph.id(int(table["dst"][edge])), Link.SUPERSEDES, float(table["weights"][edge]))
        for edge in outgoing
    ]
    edges += [
        Edge(graph.id(int(table["src"][edge])), id_, Link.SUPERSEDES, float(table["weights"][edge]))
        for edge in incoming
        for id_ in new_ids
    ]
    return tuple(dict.fromkeys(edges))


def _validity_ends(graph: Graph, old: Node, new_ids: Sequence[NodeId]) -> tuple[ValidityEnd, ...]:
    """The end of validity of the old nodes, for every new one."""
    row = graph.row(old.id)
    if old.valid_to is None or row is None:
        return ()
    recorded_at = local_time(graph, row, graph.nodes["valid_to_recorded_at"][row])
    return tuple(ValidityEnd(id_, old.valid_to, recorded_at) for id_ in new_ids)
