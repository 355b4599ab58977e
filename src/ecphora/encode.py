"""Build write batches for episodes and feedback; nothing is committed here.

Pure, but for :func:`embed_nodes`, which calls the embedder.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np

from . import validate
from .checked_episode import CheckedEpisode
from .documents import node_ids_of
from .graph import Graph, epoch_seconds
from .ids import ENTITY_PREFIX, QUESTION_PREFIX, content_id
from .language.dates import time_mentions
from .language.name_normalization import entity_id
from .language.question import is_question
from .language.terms import count_terms, extract_terms
from .model import (
    Access,
    AccessKind,
    Edge,
    Kind,
    Link,
    Mention,
    Node,
    NodeId,
    Query,
    Recollection,
    TextAnalysis,
    ValidityEnd,
    Vector,
    WriteBatch,
)
from .ports import Embedder
from .stages.retrieval import validity


def indexed_text(node: Node) -> str:
    """A node's text as it is indexed and embedded: with its speaker, title and heading."""
    text = "\n".join(part for part in (node.title, node.heading, node.text) if part is not None)
    return text if node.speaker is None else f"{node.speaker}: {text}"


def embed_nodes(embedder: Embedder, nodes: Sequence[Node]) -> dict[NodeId, Vector]:
    """The vectors of nodes by id: questions are embedded as queries, other nodes as texts."""
    vectors_by_id: dict[NodeId, Vector] = {}
    for is_query in (False, True):
        group = [node for node in nodes if (node.kind == Kind.QUESTION) is is_query]
        if group:
            vectors = embedder.embed([indexed_text(node) for node in group], is_query=is_query)
            vectors_by_id.update(zip((node.id for node in group), vectors, strict=True))
    return vectors_by_id


def analyze(node: Node) -> TextAnalysis:
    """The text analysis of a node: its terms, whether it is a question, and the times it mentions."""
    term_hashes, counts = count_terms(extract_terms(indexed_text(node)))
    return TextAnalysis(term_hashes, counts, is_question(node.text), time_mentions(node.text, node.happened_at))


def encode(
    checked_episodes: Sequence[CheckedEpisode],
    graph: Graph,
    *,
    vectors: Mapping[NodeId, Vector],
    mentions: Mapping[NodeId, Sequence[Mention]],
    embedder: str,
    now: datetime,
) -> WriteBatch:
    """The write batch of new episodes: nodes, the entities they mention, links and validity ends."""
    episodes = [node for episode in checked_episodes for node in episode.chunks]
    entities: dict[NodeId, Node] = {}
    edges: list[Edge] = []
    for node in episodes:
        about = (Mention(node.title, is_about=True),) if node.title else ()
        for mention in (*about, *mentions.get(node.id, ())):
            entity = entity_id(mention.name)
            if entity == ENTITY_PREFIX:
                continue
            if entity not in entities and graph.row(entity) is None:
                entities[entity] = Node(
                    id=entity, kind=Kind.ENTITY, text=mention.name, happened_at=node.happened_at, recorded_at=now
                )
            edges.append(Edge(node.id, entity, Link.ABOUT if mention.is_about else Link.MENTIONS))
    chunk_ids = {episode.id: [node.id for node in episode.chunks] for episode in checked_episodes}
    ends = [
        (old, episode)
        for episode in checked_episodes
        if episode.supersedes
        for old in chunk_ids.get(episode.supersedes) or node_ids_of(graph, episode.supersedes)
    ]
    edges.extend(Edge(episode.chunks[0].id, old, Link.SUPERSEDES) for old, episode in ends)
    return WriteBatch(
        nodes=(*episodes, *entities.values()),
        analyses={node.id: analyze(node) for node in episodes},
        vectors=vectors,
        edges=tuple(dict.fromkeys(edges)),
        validity_ends=tuple(ValidityEnd(old, episode.chunks[0].happened_at, now) for old, episode in ends),
        embedder=embedder,
    )


def question_id(query: Query, used_ids: Iterable[NodeId]) -> NodeId:
    """The id of a question asked at one time with one set of used hits; the same in every scope."""
    return content_id(query.text, repr(epoch_seconds(query.now)), *sorted(used_ids), prefix=QUESTION_PREFIX)


def feedback(
    recollection: Recollection, used_ids: Sequence[NodeId], graph: Graph, *, embedder: str, dim: int, now: datetime
) -> WriteBatch:
    """The write batch of feedback: the accesses of the used hits, and the question linked to all its hits.

    A link has weight 1 if the hit was used and 0 if not. The batch is empty if none of the hits exists any more, or if
    the same feedback is stored already.
    """
    query, id_ = recollection.query, question_id(recollection.query, used_ids)
    existing_ids = [hit.id for hit in recollection if graph.row(hit.id) is not None]
    if not existing_ids or graph.row(id_) is not None:
        return WriteBatch()
    question = Node(id_, Kind.QUESTION, validate.check_question(query.text), query.now, now)
    return WriteBatch(
        nodes=(question,),
        vectors={} if query.vector is None or query.vector.shape != (dim,) else {id_: query.vector},
        edges=tuple(Edge(id_, hit, Link.ANSWERED_BY, float(hit in used_ids)) for hit in existing_ids),
        accesses=tuple(Access(hit, now, AccessKind.USED) for hit in used_ids),
        embedder=embedder,
    )


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
