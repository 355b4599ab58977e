"""Helpers for contract tests, and for your own: a clock, a comparison of graphs, and samples of every type."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..language.names.mentions import entity_id
from ..language.question import question_terms
from ..language.terms import count_terms, extract_terms, hash_terms
from ..model.graph.graph import Graph
from ..model.graph.updates import apply_batch
from ..model.ids import QUESTION_PREFIX
from ..model.ports import Store
from ..model.types import (
    Access,
    AccessKind,
    Edge,
    Interval,
    Kind,
    Link,
    MediaVector,
    Node,
    NodeId,
    Query,
    TextAnalysis,
    ValidityEnd,
    Vector,
    WriteBatch,
)
from ..models.embedders.hashing import HashingEmbedder

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
"""The time of the samples."""
SAMPLE_EMBEDDER = HashingEmbedder(16)
SAMPLE_ENGLISH_MODEL = "sample/english"
"""The embedder of the samples."""
SCOPE = "contract"
StoreOpener = Callable[[], Store]
"""Opens a store; called again, it opens the same one. Picklable if several processes may open the store."""


class FakeClock:
    """A :data:`~ecphora.model.ports.Clock` that is set by hand."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now

    def advance(self, **time: float) -> datetime:
        """Advance by a ``timedelta`` of these arguments, and return the new time."""
        self.now += timedelta(**time)
        return self.now


# ---- comparison of graphs


def graph_differences(a: Graph, b: Graph) -> list[str]:
    """Describe the differences between two graphs, column by column and row by row; empty if they are equal."""
    found = [] if a.revision == b.revision else [f"revision: {a.revision} != {b.revision}"]
    tables = (
        "nodes",
        "terms",
        "identifiers",
        "time_mentions",
        "vector_rows",
        "english_vector_rows",
        "edges",
        "accesses",
    )
    for table in tables:
        ours, theirs = getattr(a, table), getattr(b, table)
        for column in ours.names():
            found += _column_differences(f"{table}.{column}", ours[column], theirs[column])
    found += _column_differences("vectors", a.vectors.view, b.vectors.view)
    found += _column_differences("english_vectors", a.english_vectors.view, b.english_vectors.view)
    found += _media_differences(a, b)
    for vocabulary in ("speakers", "sessions", "documents", "sources"):
        ours, theirs = getattr(a, vocabulary).names, getattr(b, vocabulary).names
        found += [] if ours == theirs else [f"{vocabulary}: {ours} != {theirs}"]
    if a.tombstones != b.tombstones:
        found.append(f"tombstones: {sorted(map(str, a.tombstones ^ b.tombstones))} in one alone")
    if a.retention != b.retention:
        found.append(f"retention: {a.retention} != {b.retention}")
    if a.cursors != b.cursors:
        found.append(f"cursors: {dict(a.cursors)} != {dict(b.cursors)}")
    for derived in ("previous_rows", "next_rows", "vector_positions", "english_vector_positions"):
        found += _column_differences(derived, getattr(a, derived), getattr(b, derived))
    for derived in ("previous_cosine", "english_previous_cosine"):
        found += _column_differences(derived, getattr(a, derived), getattr(b, derived), tolerance=1e-6)
    for graph, name in ((a, "first"), (b, "second")):
        missing = [node for row, node in enumerate(graph.nodes["ids"]) if graph.row(node) != row]
        found += [f"row(): the {name} graph does not find {missing}"] if missing else []
    return found


def _media_differences(a: Graph, b: Graph) -> list[str]:
    if a.media_spaces.keys() != b.media_spaces.keys():
        return [f"media_spaces: {sorted(a.media_spaces)} != {sorted(b.media_spaces)}"]
    found: list[str] = []
    for model in a.media_spaces:
        ours, theirs = a.media_spaces[model], b.media_spaces[model]
        found += _column_differences(f"{model}.vectors", ours.vectors.view, theirs.vectors.view)
        for column in ours.places.names():
            found += _column_differences(f"{model}.{column}", ours.places[column], theirs.places[column])
    return found


def _column_differences(name: str, ours: Any, theirs: Any, *, tolerance: float = 0.0) -> list[str]:
    if not len(ours) and not len(theirs):
        return []
    if ours.shape != theirs.shape:
        return [f"{name}: shape {ours.shape} != {theirs.shape}"]
    if ours.dtype != theirs.dtype:
        return [f"{name}: type {ours.dtype} != {theirs.dtype}"]
    same = np.abs(ours - theirs) <= tolerance if tolerance else np.equal(ours, theirs)
    if same.all():
        return []
    rows = [row for row in range(len(ours)) if not np.all(same[row])]
    return [f"{name}: row {row} is {ours[row]!r} != {theirs[row]!r}" for row in rows[:3]]


# ---- samples


def sample_vector(text: str) -> Vector:
    """A unit vector of 16 numbers, the same for the same text, that a half-precision number holds exactly enough."""
    return _vector(text).copy()


def sample_english_vector(text: str) -> Vector:
    """A unit vector of 8 numbers, the same for the same text: shorter than the vectors of the scope's embedder."""
    vector = sample_vector(text)[:8] + np.float32(0.1)
    return (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)


def sample_analysis(text: str, *, time_mentions: Sequence[Interval] = ()) -> TextAnalysis:
    """The words of a text."""
    found, counts = _counted(text)
    return TextAnalysis(found.copy(), counts.copy(), text.endswith("?"), tuple(time_mentions))


@lru_cache(maxsize=4096)
def _vector(text: str) -> Vector:
    return SAMPLE_EMBEDDER.embed([text])[0].astype(np.float16).astype(np.float32)


@lru_cache(maxsize=4096)
def _counted(text: str) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    return count_terms(extract_terms(text))


def sample_node(id_: NodeId, text: str = "", *, minutes: float = 0, offset: float = 0, **fields: Any) -> Node:
    """Return an episode some minutes after noon; ``fields`` are the fields of :class:`~ecphora.model.types.Node`.

    It was told where the clock is ``offset`` hours ahead of UTC.
    """
    time = (NOON + timedelta(minutes=minutes)).astimezone(timezone(timedelta(hours=offset)))
    return replace(Node(id_, Kind.EPISODE, text or id_, time, NOON), **fields)


def sample_entity(name: str) -> Node:
    """Return an entity."""
    return sample_node(entity_id(name), name, kind=Kind.ENTITY)


def sample_question_batch(id_: NodeId, *answers: NodeId, used_count: int = 1) -> WriteBatch:
    """Return a batch with a question, its vector and its answers, of which the first ``used_count`` were used."""
    node = sample_node(f"{QUESTION_PREFIX}{id_}", id_, kind=Kind.QUESTION)
    edges = (Edge(node.id, answer, Link.ANSWERED_BY, float(rank < used_count)) for rank, answer in enumerate(answers))
    return WriteBatch(
        nodes=(node,), vectors={node.id: sample_vector(id_)}, edges=tuple(edges), embedder=SAMPLE_EMBEDDER.name
    )


def sample_batch(*nodes: Node, without_vectors: Iterable[NodeId] = (), **fields: Any) -> WriteBatch:
    """Return a batch with nodes: episodes have an analysis and, unless in ``without_vectors``, a vector.

    Those with an ASCII text have an English vector beside it.
    """
    episodes = [node for node in nodes if node.kind is Kind.EPISODE]
    excluded = set(without_vectors)
    embedded = [node for node in episodes if node.id not in excluded]
    english_vectors = {node.id: sample_english_vector(node.text) for node in embedded if node.text.isascii()}
    batch = WriteBatch(
        nodes=nodes,
        analyses={node.id: sample_analysis(node.text) for node in episodes},
        vectors={node.id: sample_vector(node.text) for node in embedded},
        english_vectors=english_vectors,
        embedder=SAMPLE_EMBEDDER.name,
        english_embedder=SAMPLE_ENGLISH_MODEL if english_vectors else None,
    )
    return replace(batch, **fields)


def sample_media_vector(node: NodeId, position: int = 0, model: str = "clip") -> MediaVector:
    """Return the vector of a medium of a node, of the length of its model."""
    vector = sample_vector(f"{node} {position}")[: len(model)] + np.float32(1)
    return MediaVector(node, position, model, (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32))


def sample_query(text: str, *, now: datetime = NOON + timedelta(days=30), **fields: Any) -> Query:
    """Return a query with its terms and vector; every capitalized word is an entity."""
    query = Query(
        text=text,
        now=now,
        vector=sample_vector(text),
        term_hashes=hash_terms(list(question_terms(text))),
        entity_ids=tuple(entity_id(word) for word in text.strip("?").split() if word.istitle()),
    )
    return replace(query, **fields)


TURNS = (
    ("Ana", "monday", "I moved to Porto last week."),
    ("Ben", "monday", "How do you like it there?"),
    ("Ana", "monday", "The river is lovely, and Mia came along."),
    ("Ben", "tuesday", "Did Mia find a school?"),
    ("Ana", "tuesday", "Yes, she starts in June."),
    (None, None, "Porto lies at the mouth of the Douro."),
    ("Ana", None, "Remind me to call the school about lunch."),
)
"""Speakers, sessions and texts of the sample graph."""


def sample_graph(size: int = len(TURNS)) -> Graph:
    """Return a graph of the first turns, repeated, with the entities they mention and one ended validity."""
    turns = [TURNS[i % len(TURNS)] for i in range(size)]
    nodes = [
        sample_node(f"t{i}", text, minutes=5 * i, speaker=speaker, session=session, seq=i + 1,
                    title="Porto" if speaker is None else None)
        for i, (speaker, session, text) in enumerate(turns)
    ]  # fmt: skip
    entities = [sample_entity(name) for name in ("Porto", "Mia") if any(name in node.text for node in nodes)]
    edges = [
        Edge(node.id, entity.id, Link.ABOUT if node.title == entity.text else Link.MENTIONS)
        for node in nodes
        for entity in entities
        if entity.text in node.text
    ]
    ends = [ValidityEnd("t0", NOON + timedelta(days=1), NOON)] if size > 4 else []
    batch = sample_batch(*nodes, edges=tuple(edges), validity_ends=tuple(ends))
    numbered = (replace(entity, seq=size + i) for i, entity in enumerate(entities, 1))
    return apply_batch(Graph(), replace(batch, nodes=(*nodes, *numbered), revision=1))


def _sample_access(node: NodeId, strength: float = 1.0) -> Access:
    return Access(node, NOON, AccessKind.RECALLED, strength)


def _load_graph(store: Store, scope: str = SCOPE) -> Graph:
    return apply_batch(Graph(), store.changes_since(scope, 0))
