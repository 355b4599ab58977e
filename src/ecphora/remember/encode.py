"""Encoding: episodes become nodes, vectors, terms, the entities they mention, and links, in one write batch.

Nothing is committed here. Only :func:`embed_texts`, :func:`embed_nodes` and :func:`extract` call a model.

English vectors: second vectors of English texts, by an embedder for English besides the scope's embedder.

Only episodes have one. Consolidation, and strategies that do not ask for English vectors, know only the vectors of the
scope's embedder.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from ..errors import WrongVector
from ..language.dates.mentions import time_mentions
from ..language.identifiers.mentions import index_hashes
from ..language.language_identification import is_english
from ..language.names.mentions import entity_id
from ..language.question import is_question
from ..language.terms import count_terms, extract_terms
from ..model.graph.graph import Graph
from ..model.ids import DESCRIPTION_PREFIX, ENTITY_PREFIX, content_id
from ..model.ports import Embedder, Extractor
from ..model.types import (
    MAX_IMPORTANCE,
    MENTION_LINKS,
    Edge,
    Extraction,
    Kind,
    Link,
    Mention,
    Metadata,
    Node,
    NodeId,
    RelationType,
    TextAnalysis,
    ValidityEnd,
    Vector,
    Vectors,
    WriteBatch,
)
from ..retrieval import validity
from ..retrieval.temporal import local_time
from .documents import CheckedEpisode, expand_to_documents, node_ids_of

RELATION_LINKS: dict[RelationType, Link] = {
    type_: Link(type_.value) for type_ in RelationType if type_ is not RelationType.RELATED_TO
}
"""The link of each type of relation. ``RELATED_TO`` has none: it says no more than that a memory names both."""

NO_EXTRACTION = Extraction()


def indexed_text(node: Node) -> str:
    """A node's text as it is indexed and embedded: with its speaker, title and heading; of an exchange, the prompt."""
    if node.kind is Kind.EXCHANGE:
        return node.title or ""
    captions = (one.caption for one in node.media if one.caption)
    text = "\n".join(part for part in (node.title, node.heading, node.text, *captions) if part is not None)
    return text if node.speaker is None else f"{node.speaker}: {text}"


def embed_texts(embedder: Embedder, texts: Iterable[str], *, is_query: bool = False) -> Vectors:
    """The vectors of texts, ``(texts, dim)``; raises ``WrongVector`` for another shape or values not finite."""
    text_list = list(texts)
    vectors, expected = embedder.embed(text_list, is_query=is_query), (len(text_list), embedder.dim)
    if vectors.shape != expected:
        raise WrongVector(f"{embedder.name} gave vectors of shape {vectors.shape}, not {expected}; check the embedder")
    if not np.isfinite(vectors).all():
        raise WrongVector(f"{embedder.name} gave numbers that are not finite; check the embedder")
    return vectors


def embed_nodes(embedder: Embedder, nodes: Sequence[Node]) -> dict[NodeId, Vector]:
    """The vectors of nodes by id: questions and prompts are embedded as queries, other nodes as texts."""
    vectors_by_id: dict[NodeId, Vector] = {}
    for is_query in (False, True):
        group = [node for node in nodes if (node.kind in {Kind.QUESTION, Kind.EXCHANGE}) is is_query]
        if group:
            vectors = embedder.embed([indexed_text(node) for node in group], is_query=is_query)
            vectors_by_id.update(zip((node.id for node in group), vectors, strict=True))
    return vectors_by_id


def extract(extractor: Extractor, nodes: Sequence[Node]) -> dict[NodeId, Extraction]:
    """What each node's text mentions, by the node's id."""
    found = extractor.extract([node.text for node in nodes])
    return dict(zip((node.id for node in nodes), found, strict=True))


def descriptions(node: Node, extraction: Extraction) -> dict[NodeId, Node]:
    """What a memory says of the names in it, by their entities: EcphoryRAG's engrams, "name: description" (4.4).

    Names of which nothing is known but their spelling have none.
    """
    found: dict[NodeId, Node] = {}
    for mention in extraction.mentions:
        entity = entity_id(mention.name)
        if mention.type is None or entity == ENTITY_PREFIX or entity in found:
            continue
        id_ = content_id(node.id, entity, prefix=DESCRIPTION_PREFIX)
        text = f"{mention.name}: {mention.description}" if mention.description else mention.name
        metadata: Metadata = {"type": mention.type.value, "importance": mention.importance}
        found[entity] = Node(id_, Kind.DESCRIPTION, text, node.happened_at, node.recorded_at, metadata=metadata)
    return found


def description_edges(memory: NodeId, entity: NodeId, description: Node) -> list[Edge]:
    """The edges of a description to its memory and its entity; both have its importance, in 0..1, as their weight."""
    weight = float(description.metadata["importance"]) / MAX_IMPORTANCE  # type: ignore[arg-type]  # a number
    return [
        Edge(description.id, memory, Link.DESCRIBED_IN, weight),
        Edge(description.id, entity, Link.DESCRIBES, weight),
    ]


def analyze(node: Node) -> TextAnalysis:
    """The text analysis of a node: its terms and identifiers, whether it is a question, and the times it mentions."""
    term_hashes, counts = count_terms(extract_terms(indexed_text(node)))
    if node.kind is Kind.EPISODE:
        identifiers = index_hashes(node.title, node.heading, node.text, *(one.caption for one in node.media))
        term_hashes = np.concatenate([term_hashes, identifiers])
        counts = np.concatenate([counts, np.zeros(len(identifiers), np.uint8)])
    return TextAnalysis(term_hashes, counts, is_question(node.text), time_mentions(node.text, node.happened_at))


def encode(
    checked_episodes: Sequence[CheckedEpisode],
    graph: Graph,
    *,
    vectors: Mapping[NodeId, Vector],
    extractions: Mapping[NodeId, Extraction],
    embedder: str,
    now: datetime,
) -> WriteBatch:
    """The write batch of new episodes: nodes, the entities they mention, descriptions, links and validity ends.

    A description without a vector is left out.
    """
    episodes = [node for episode in checked_episodes for node in episode.chunks]
    entities: dict[NodeId, Node] = {}
    latest_mentions: dict[NodeId, NodeId] = {}
    described: list[Node] = []
    edges: list[Edge] = []
    for node in episodes:
        about = (Mention(node.title, is_about=True),) if node.title else ()
        extraction = extractions.get(node.id, NO_EXTRACTION)
        edges.extend(relation_edges(graph, node.id, extraction, latest_mentions))
        for mention in (*about, *extraction.mentions):
            entity = entity_id(mention.name)
            if entity == ENTITY_PREFIX:
                continue
            if entity not in entities and graph.row(entity) is None:
                entities[entity] = Node(
                    id=entity, kind=Kind.ENTITY, text=mention.name, happened_at=node.happened_at, recorded_at=now
                )
            edges.append(Edge(node.id, entity, Link.ABOUT if mention.is_about else Link.MENTIONS))
            latest_mentions[entity] = node.id
        for entity, description in descriptions(node, extraction).items():
            if description.id in vectors:
                described.append(description)
                edges += description_edges(node.id, entity, description)
    chunk_ids = {episode.id: [node.id for node in episode.chunks] for episode in checked_episodes}
    ends = [
        (old, episode)
        for episode in checked_episodes
        if episode.supersedes
        for old in chunk_ids.get(episode.supersedes)
        or expand_to_documents(graph, node_ids_of(graph, episode.supersedes))
    ]
    edges.extend(Edge(episode.chunks[0].id, old, Link.SUPERSEDES) for old, episode in ends)
    starts = {node.id: node.happened_at for node in episodes}
    for old in {old for old, _ in ends} - starts.keys():
        row = int(graph.rows([old])[0])
        starts[old] = local_time(graph, row, graph.nodes["happened"][row])
    valid_to: dict[NodeId, datetime] = {}
    for old, episode in ends:  # of several that supersede the same memory at once, the earliest ends it
        end = max(episode.chunks[0].happened_at, starts[old])
        valid_to[old] = min(valid_to.get(old, end), end)
    return WriteBatch(
        nodes=(*episodes, *entities.values(), *described),
        analyses={node.id: analyze(node) for node in episodes},
        vectors=vectors,
        media_vectors=tuple(vector for episode in checked_episodes for vector in episode.media_vectors),
        edges=tuple(dict.fromkeys(edges)),
        validity_ends=tuple(ValidityEnd(old, end, now) for old, end in valid_to.items()),
        embedder=embedder,
    )


def declared_successors(graph: Graph, id_: NodeId) -> list[NodeId]:
    """The memories that the caller declared to supersede one, in the order of storing.

    Updates that consolidation found join claims, not memories.
    """
    entries, _ = graph.edges_to(graph.rows(node_ids_of(graph, id_)), Link.SUPERSEDES)
    rows = np.unique(graph.edges["src"][entries])
    documents = graph.nodes["documents"][rows].tolist()
    ids = [
        graph.documents.names[code] if code >= 0 else graph.id(row)
        for row, code in zip(rows.tolist(), documents, strict=True)
    ]
    return list(dict.fromkeys(ids))


def supersession_chain(graph: Graph, row: int, *, forward: bool) -> list[NodeId]:
    """The chain of memories that superseded a row (``forward``) or that it superseded, nearest first.

    It follows both explicit ``supersedes`` links and the fact updates that consolidation detected.
    """
    edges_of, end = (graph.edges_to, "src") if forward else (graph.edges_from, "dst")
    updates = validity.supersessions(graph)
    sources, targets = (updates.old, updates.new) if forward else (updates.new, updates.old)
    chain: list[int] = []
    frontier = [row]
    while frontier:
        positions, _ = edges_of(np.unique(np.array(frontier)), Link.SUPERSEDES)
        by_updates = targets[np.isin(sources, frontier) & ~updates.is_contradiction].tolist()
        reached = dict.fromkeys([*graph.edges[end][positions].tolist(), *by_updates])
        frontier = [r for r in reached if r not in chain and r != row]
        chain.extend(frontier)
    return [graph.id(r) for r in chain]


def relation_edges(
    graph: Graph, memory: NodeId, extraction: Extraction, mentions_in_batch: Mapping[NodeId, NodeId]
) -> Iterator[Edge]:
    """The links of one memory by its relations; a name that no earlier memory has, and one memory for both, add none.

    They are Cognitive Weave's strands of the oracle, 3.3.4. A memory states a relation of two names, as in "the storm
    delayed the train". Its type becomes a link from the latest earlier memory of the subject to this one, and from this
    one to the latest earlier memory of the object.

    ``mentions_in_batch`` has, for each entity that earlier memories of the same batch mention, the latest such memory.
    """
    for relation in extraction.relations:
        link = RELATION_LINKS.get(relation.type)
        if link is None:
            continue
        of_subject, of_object = (
            mentions_in_batch.get(entity_id(name)) or _latest_mention(graph, name)
            for name in (relation.subject, relation.object)
        )
        if of_subject is not None:
            yield Edge(of_subject, memory, link)
        if of_object is not None and of_object != of_subject:
            yield Edge(memory, of_object, link)


def _latest_mention(graph: Graph, name: str) -> NodeId | None:
    entity = graph.row(entity_id(name))
    if entity is None:
        return None
    edges, _ = graph.edges_to(np.array([entity]), *MENTION_LINKS)
    return graph.id(int(graph.edges["src"][edges].max())) if len(edges) else None


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
