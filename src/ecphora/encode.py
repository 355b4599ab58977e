"""The write path: episodes, what was of use, and forgetting as a Change. It commits nothing.

Pure, but for :func:`embedded`, which asks the embedder that it is handed.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b

import numpy as np

from . import validate
from .checked_episode import CheckedEpisode
from .documents import node_ids_of
from .graph import LINKS, Graph, epoch_seconds
from .ids import ENTITY_PREFIX, QUESTION_PREFIX
from .language.dates import time_mentions
from .language.names import entity_id
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
    """A node's text as it is read and embedded: with who said it, what it is about, and under which headings."""
    text = "\n".join(part for part in (node.title, node.heading, node.text) if part is not None)
    return text if node.speaker is None else f"{node.speaker}: {text}"


def embed_nodes(embedder: Embedder, nodes: Sequence[Node]) -> dict[NodeId, Vector]:
    """The vectors of some nodes: what was told as a text, a question as a cue."""
    found: dict[NodeId, Vector] = {}
    for cue in (False, True):
        some = [node for node in nodes if (node.kind == Kind.QUESTION) is cue]
        if some:
            made = embedder.embed([indexed_text(node) for node in some], is_query=cue)
            found.update(zip((node.id for node in some), made, strict=True))
    return found


def analyze(node: Node) -> TextAnalysis:
    """What the words of a node say."""
    found, counts = count_terms(extract_terms(indexed_text(node)))
    return TextAnalysis(found, counts, is_question(node.text), time_mentions(node.text, node.happened_at))


def encode(
    checked_episodes: Sequence[CheckedEpisode],
    graph: Graph,
    *,
    vectors: Mapping[NodeId, Vector],
    mentions: Mapping[NodeId, Sequence[Mention]],
    embedder: str,
    now: datetime,
) -> WriteBatch:
    """Everything that remembering new drafts writes: nodes, the names they mention, links and ends."""
    episodes = [node for draft_ in checked_episodes for node in draft_.chunks]
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
    among = {draft_.id: [node.id for node in draft_.chunks] for draft_ in checked_episodes}
    ends = [
        (old, draft_)
        for draft_ in checked_episodes
        if draft_.supersedes
        for old in among.get(draft_.supersedes) or node_ids_of(graph, draft_.supersedes)
    ]
    edges.extend(Edge(draft_.chunks[0].id, old, Link.SUPERSEDES) for old, draft_ in ends)
    return WriteBatch(
        nodes=(*episodes, *entities.values()),
        analyses={node.id: analyze(node) for node in episodes},
        vectors=vectors,
        edges=tuple(dict.fromkeys(edges)),
        validity_ends=tuple(ValidityEnd(old, draft_.chunks[0].happened_at, now) for old, draft_ in ends),
        embedder=embedder,
    )


def question_id(query: Query, used_ids: Iterable[NodeId]) -> NodeId:
    """The id of a question as it was asked once, with what of its answers was used; the same in every scope."""
    content = "\x1f".join((query.text, repr(epoch_seconds(query.now)), *sorted(used_ids)))
    return f"{QUESTION_PREFIX}{blake2b(content.encode(), digest_size=16).hexdigest()}"


def feedback(
    recollection: Recollection, used_ids: Sequence[NodeId], graph: Graph, *, embedder: str, dim: int, now: datetime
) -> WriteBatch:
    """What telling which hits were of use writes: that they were used, and the question with all that answered it.

    An answer counts 1 if it was used and 0 if it was brought back in vain. Nothing is written where no hit is there any
    more, or where the same was told before.
    """
    asked, id_ = recollection.query, question_id(recollection.query, used_ids)
    here = [hit.id for hit in recollection if graph.row(hit.id) is not None]
    if not here or graph.row(id_) is not None:
        return WriteBatch()
    question = Node(id_, Kind.QUESTION, validate.check_question(asked.text), asked.now, now)
    return WriteBatch(
        nodes=(question,),
        vectors={} if asked.vector is None or asked.vector.shape != (dim,) else {id_: asked.vector},
        edges=tuple(Edge(id_, hit, Link.ANSWERED_BY, float(hit in used_ids)) for hit in here),
        accesses=tuple(Access(hit, now, AccessKind.USED) for hit in used_ids),
        embedder=embedder,
    )


def supersession_chain(graph: Graph, row: int, *, forward: bool) -> list[NodeId]:
    """The chain of memories that replaced a row (``later``) or that it replaced, nearest first.

    Whether somebody said so in so many words, or consolidation found it in what they claim.
    """
    follow, end = (graph.edges_to, "src") if forward else (graph.edges_from, "dst")
    claimed = validity.supersessions(graph)
    these, those = (claimed.old, claimed.new) if forward else (claimed.new, claimed.old)
    found: list[int] = []
    here = [row]
    while here:
        places, _ = follow(np.unique(np.array(here)))
        places = places[graph.edges["links"][places] == LINKS.index(Link.SUPERSEDES)]
        by_claims = those[np.isin(these, here) & ~claimed.is_contradiction].tolist()
        reached = dict.fromkeys([*graph.edges[end][places].tolist(), *by_claims])
        here = [r for r in reached if r not in found and r != row]
        found.extend(here)
    return [graph.id(r) for r in found]
