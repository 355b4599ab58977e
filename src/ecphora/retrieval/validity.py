"""Validity of memories at a time: what supersedes a memory, since when, and what contradicts it.

A claim is a node extracted from one memory. An edge says which claim supersedes another, and nothing else is stored:
the earlier claim ends when the later one begins. So when a memory is forgotten or a batch undone, its supersessions
disappear with it, and the earlier claim is valid again. Nobody of less trust supersedes a statement, and nobody else if
the speaker said it of themselves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..language.terms import hash_terms
from ..model.graph.graph import CachedDerivation, Graph, epoch_seconds
from ..model.ports import NodeSource
from ..model.types import (
    Edge,
    FactRelation,
    FactUpdate,
    Link,
    Mask,
    Metadata,
    Node,
    NodeId,
    Query,
    Rows,
    Scores,
    Validity,
)
from .temporal import local_time


@dataclass(frozen=True, slots=True)
class Attribution:
    """The speaker of a statement, None if unknown, and their trust in 0..1.

    ``is_about_self`` is True for a statement about the speaker.
    """

    speaker: str | None
    trust: float = 1.0
    is_about_self: bool = False


def may_supersede(later: Attribution, earlier: Attribution) -> bool:
    """Whether a later statement may supersede an earlier one, if it is found to replace it.

    Speakers are the same if their names are equal to the letter. An unknown speaker may supersede only an unknown one.
    """
    if has_less_trust(later.trust, earlier.trust):
        return False
    return later.speaker == earlier.speaker or (later.speaker is not None and not earlier.is_about_self)


def has_less_trust(trust: float, other: float) -> bool:
    """Whether ``trust`` is lower than ``other`` in the float32 precision of the graph."""
    return bool(np.float32(trust) < np.float32(other))


TOPIC_KEY, OFF_TOPIC_KEY = "about", "beside"
"""The metadata keys of a claim's topic stems and of its memory's other stems; the values are separated by spaces."""


@dataclass(frozen=True, slots=True)
class ClaimTopic:
    """The stems of a claim's topic, and the stems of whatever else its memory says.

    All are words of the claim's own memory, so none remains when that memory is forgotten. ``off_topic_terms`` is None
    where they were never extracted.
    """

    terms: frozenset[str] = frozenset()
    off_topic_terms: frozenset[str] | None = None

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, object] | None) -> "ClaimTopic":
        """Read the topic from a claim's metadata."""
        entries = metadata or {}
        terms, off_topic_terms = (frozenset(str(entries.get(key, "")).split()) for key in (TOPIC_KEY, OFF_TOPIC_KEY))
        return cls(terms, off_topic_terms if OFF_TOPIC_KEY in entries else None)

    @property
    def metadata(self) -> Metadata:
        """The topic as metadata of a claim."""
        entries = {TOPIC_KEY: " ".join(sorted(self.terms))} if self.terms else {}
        return (
            entries
            if self.off_topic_terms is None
            else {**entries, OFF_TOPIC_KEY: " ".join(sorted(self.off_topic_terms))}
        )

    def merge(self, other: "ClaimTopic") -> "ClaimTopic":
        """The topic of a claim that is about both."""
        terms = self.terms | other.terms
        off_topic = [topic.off_topic_terms for topic in (self, other) if topic.off_topic_terms is not None]
        return ClaimTopic(terms, frozenset[str]().union(*off_topic) - terms if off_topic else None)


TermHashes = frozenset[int]
"""The hashes of some terms."""
MIN_CONFIDENCE = 0.65
"""The lowest confidence with which a pair changes validity and order; a pair of less is pending, and only offered.

Nine in ten pairs above it are right, and six in ten of those from .55 on: see decision 0030."""


@dataclass(frozen=True, slots=True, eq=False)
class Supersessions:
    """Supersessions and contradictions: an entry for each pair of claims, with the rows of the memories of both.

    The later claim holds from ``valid_from`` to ``valid_to`` (seconds). ``recorded_at`` is when both were recorded and
    ``happened_at`` when the later memory happened, both in seconds. ``confidence`` in 0..1 is how sure it is that both
    claims have one topic. ``topic_terms`` are the term hashes of that topic; ``old_off_topic_terms`` and
    ``new_off_topic_terms`` are the term hashes of whatever else the two memories say, None where they were never
    extracted. ``is_contradiction`` marks pairs of which neither supersedes the other. ``edge_rows`` are the rows of the
    pairs' edges; ``by_row`` has the entries of each memory's row.
    """

    old: Rows
    new: Rows
    valid_from: NDArray[np.float64]
    valid_to: NDArray[np.float64]
    recorded_at: NDArray[np.float64]
    happened_at: NDArray[np.float64]
    is_contradiction: Mask
    confidence: Scores
    topic_terms: tuple[TermHashes, ...]
    old_off_topic_terms: tuple[TermHashes | None, ...]
    new_off_topic_terms: tuple[TermHashes | None, ...]
    edge_rows: Rows
    by_row: Mapping[int, tuple[int, ...]]

    def __len__(self) -> int:
        return len(self.old)


def supersessions(graph: Graph) -> Supersessions:
    """Every pair of claims whose memories both exist, of at least :data:`MIN_CONFIDENCE`."""
    return graph.derive("supersessions", partial(_build_supersessions, is_pending=False))


def pending_supersessions(graph: Graph) -> Supersessions:
    """The pairs of a lower confidence: they change nothing unless somebody accepts them."""
    return graph.derive("pending supersessions", partial(_build_supersessions, is_pending=True))


def _build_supersessions(
    graph: Graph, before: CachedDerivation[Supersessions] | None, *, is_pending: bool
) -> Supersessions:
    edges, relations = graph.edges, (Link.SUPERSEDES, Link.CONTRADICTS)
    if before is not None and not len(graph.edges_of_link(*relations, first=before.edge_count)):
        return before.value
    memory_rows = graph.no_rows()
    claims = graph.edges_of_link(Link.CLAIMED_IN)
    memory_rows[edges["src"][claims]] = edges["dst"][claims]
    pairs = np.flatnonzero(graph.has_link(*relations) & (memory_rows[edges["src"]] >= 0))
    pairs = _latest_edges(edges["src"], edges["dst"], pairs[memory_rows[edges["dst"][pairs]] >= 0])
    confidence = edges["weights"][pairs]
    pairs = pairs[(confidence > 0) & ((confidence < np.float32(MIN_CONFIDENCE)) == is_pending)]
    later, earlier = edges["src"][pairs], edges["dst"][pairs]
    nodes, is_contradiction = graph.nodes, graph.has_link(Link.CONTRADICTS, edges=pairs)
    valid_from = _valid_from(graph, pairs[~is_contradiction])[later]
    recorded_at = np.maximum(nodes["recorded"][later], nodes["recorded"][earlier])
    old, new = memory_rows[earlier].astype(np.intp), memory_rows[later].astype(np.intp)
    by_row: dict[int, tuple[int, ...]] = {}
    for entry, rows in enumerate(zip(old.tolist(), new.tolist(), strict=True)):
        for row in set(rows):
            by_row[row] = (*by_row.get(row, ()), entry)
    metadata = nodes["metadata"]
    topics = [
        (ClaimTopic.from_metadata(metadata[old_topic]), ClaimTopic.from_metadata(metadata[new_topic]))
        for old_topic, new_topic in zip(earlier, later, strict=True)
    ]
    return Supersessions(
        old,
        new,
        valid_from,
        nodes["valid_to"][later],
        recorded_at,
        np.maximum(nodes["happened"][later], nodes["happened"][earlier]),
        is_contradiction,
        edges["weights"][pairs],
        tuple(_term_hashes(old_topic.terms | new_topic.terms) for old_topic, new_topic in topics),
        tuple(_off_topic_hashes(old_topic, new_topic) for old_topic, new_topic in topics),
        tuple(_off_topic_hashes(new_topic, old_topic) for old_topic, new_topic in topics),
        pairs,
        by_row,
    )


def _valid_from(graph: Graph, edges: Rows) -> NDArray[np.float64]:
    """The start of each row's validity, in seconds: its declared ``valid_from``, or else when it happened.

    ``edges`` lead from a claim to the one it supersedes. A claim starts no earlier than the claim it supersedes, but
    never later than it happened because of that.
    """
    valid_from, happened = graph.nodes["valid_from"], graph.nodes["happened"]
    later, earlier = graph.edges["src"][edges], graph.edges["dst"][edges]
    starts = np.where(np.isfinite(valid_from), valid_from, happened)
    while True:
        raised = starts.copy()
        np.maximum.at(raised, later, np.minimum(starts[earlier], happened[later]))
        if np.array_equal(raised, starts):
            return starts
        starts = raised


def _latest_edges(src: Rows, dst: Rows, places: Rows) -> Rows:
    """The last edge between the same two claims; it may retract the earlier ones."""
    ends = zip(src[places].tolist(), dst[places].tolist(), strict=True)
    last = dict(zip(ends, places.tolist(), strict=True))
    return np.array(sorted(last.values()), np.intp)


def _off_topic_hashes(one: ClaimTopic, other: ClaimTopic) -> TermHashes | None:
    """The off-topic term hashes of a claim, without the terms of another claim's topic."""
    return None if one.off_topic_terms is None else _term_hashes(one.off_topic_terms - other.terms)


def _term_hashes(stems: Iterable[str]) -> TermHashes:
    return frozenset(hash_terms(list(stems)).tolist())


def list_updates(graph: Graph, read: NodeSource, limit: int, *, is_pending: bool = False) -> list[FactUpdate]:
    """Detected updates and contradictions, the updates of the latest memories first; or the pending updates."""
    pairs = pending_supersessions(graph) if is_pending else supersessions(graph)
    latest = np.lexsort((-pairs.confidence, -pairs.new))[:limit]
    rows = np.unique(np.concatenate([pairs.old[latest], pairs.new[latest]]))
    nodes = {node.id: node for node in read(rows)}
    return [
        FactUpdate(
            old=nodes[graph.id(int(pairs.old[entry]))],
            new=nodes[graph.id(int(pairs.new[entry]))],
            valid_from=local_time(graph, int(pairs.new[entry]), float(pairs.valid_from[entry])),
            valid_to=local_time(graph, int(pairs.new[entry]), float(pairs.valid_to[entry]))
            if np.isfinite(pairs.valid_to[entry])
            else None,
            confidence=round(float(pairs.confidence[entry]), 3),
            relation=FactRelation.CONTRADICTS if pairs.is_contradiction[entry] else FactRelation.SUPERSEDES,
        )
        for entry in latest.tolist()
        if {graph.id(int(pairs.old[entry])), graph.id(int(pairs.new[entry]))} <= nodes.keys()
    ]


def verdict_edges(graph: Graph, old: Sequence[NodeId], new: Sequence[NodeId], confidence: float) -> tuple[Edge, ...]:
    """Edges that give every pair of two memories another confidence, pending pairs too; 0 rejects them.

    Each memory is given as its chunks.
    """
    edges = graph.edges
    old_rows, new_rows = ({graph.row(id_) for id_ in ids} for ids in (old, new))
    edge_rows = [
        int(edge_row)
        for pairs in (supersessions(graph), pending_supersessions(graph))
        for old_row, new_row, edge_row in zip(pairs.old.tolist(), pairs.new.tolist(), pairs.edge_rows, strict=True)
        if old_row in old_rows and new_row in new_rows
    ]
    return tuple(
        Edge(graph.id(int(edges["src"][row])), graph.id(int(edges["dst"][row])), graph.link(row), confidence)
        for row in edge_rows
    )


def valid_time(query: Query) -> float:
    """The time a query asks about, in seconds: ``as_of``, else the end of its last past time range, else ``now``."""
    if query.as_of is None and query.time_ranges and query.time_ranges[-1].end <= query.now:
        return epoch_seconds(query.time_ranges[-1].end) - 1
    return epoch_seconds(query.as_of or query.now)


def time_cutoffs(query: Query) -> tuple[float, float]:
    """The latest recording time and the latest event time that a query may see, in seconds."""
    is_strict = query.as_of is not None and not query.retroactive
    return epoch_seconds(query.known_at or query.now), epoch_seconds(
        query.as_of
    ) if query.as_of and is_strict else np.inf


def visible_mask(supersessions: Supersessions, query: Query) -> Mask:
    """Which entries had happened and were recorded by the query's cutoffs."""
    recorded_until, happened_until = time_cutoffs(query)
    return (supersessions.recorded_at <= recorded_until) & (supersessions.happened_at <= happened_until)


def in_force(supersessions: Supersessions, query: Query) -> Mask:
    """Which supersessions are in force at the time asked about, as far as the query may see."""
    at = valid_time(query)
    return (
        (supersessions.valid_from <= at)
        & (supersessions.valid_to > at)
        & visible_mask(supersessions, query)
        & ~supersessions.is_contradiction
    )


def validity_of(graph: Graph, row: int, query: Query) -> Validity | None:
    """The validity of a memory at the time a query asks about; None if nothing supersedes, ends or contradicts it.

    Ignores what was recorded after ``known_at`` and, unless the query is retroactive, what happened after ``as_of``.
    """
    return _validity(graph, row, query, _claimed_ends(graph, [row])[0])


def _validity(graph: Graph, row: int, query: Query, claimed_ends: Sequence[float]) -> Validity | None:
    """The same, with the ends that the memory's own claims declare."""
    pairs = supersessions(graph)
    at, (recorded_until, happened_until) = valid_time(query), time_cutoffs(query)
    superseded_since: dict[str, float] = {}
    contradictions: dict[str, None] = {}
    ends = [_declared_end(graph, row, query)]
    for entry in pairs.by_row.get(row, ()):
        if pairs.recorded_at[entry] > recorded_until or pairs.happened_at[entry] > happened_until:
            continue
        if pairs.is_contradiction[entry]:
            other = pairs.new[entry] if pairs.old[entry] == row else pairs.old[entry]
            contradictions[graph.id(int(other))] = None
        elif (
            pairs.old[entry] == row and at < pairs.valid_to[entry]
        ):  # a successor that has ended makes this memory valid again
            ends.append(float(pairs.valid_from[entry]))
            if pairs.valid_from[entry] <= at:
                superseded_since[graph.id(int(pairs.new[entry]))] = float(pairs.valid_from[entry])
    end = min(*ends, *claimed_ends, np.inf)
    if not superseded_since and not contradictions and not np.isfinite(end):
        return None
    return Validity(
        is_valid=not superseded_since and end > at,
        valid_to=None if not np.isfinite(end) else local_time(graph, row, end),
        superseded_by=tuple(sorted(superseded_since, key=lambda successor: superseded_since[successor])),
        contradicted_by=tuple(contradictions),
    )


def _declared_end(graph: Graph, row: int, query: Query) -> float:
    """The end of validity that a superseding memory declared, in seconds; infinite if the query may not see it."""
    recorded_until, happened_until = time_cutoffs(query)
    end, recorded_at = graph.nodes["valid_to"][row], graph.nodes["valid_to_recorded_at"][row]
    return float(end) if recorded_at <= recorded_until and end <= happened_until else np.inf


def nodes_at_cutoffs(
    graph: Graph, rows: Sequence[int], nodes: Sequence[Node], query: Query
) -> list[tuple[Node, Validity | None]]:
    """Each node as known at the query's cutoffs, with its validity.

    A node's ``valid_to`` is left out if its end had not happened or was not recorded by then.
    """
    return [
        (
            replace(node, valid_to=None)
            if node.valid_to is not None and not np.isfinite(_declared_end(graph, row, query))
            else node,
            _validity(graph, row, query, ends),
        )
        for row, node, ends in zip(rows, nodes, _claimed_ends(graph, rows), strict=True)
    ]


def _claimed_ends(graph: Graph, rows: Sequence[int]) -> list[list[float]]:
    """The declared ends of the claims of distinct memories, in seconds; looked up for all at once."""
    found: list[list[float]] = [[] for _ in rows]
    in_edges, index = graph.edges_to(np.array(rows, np.intp), Link.CLAIMED_IN)
    ends = graph.nodes["valid_to"][graph.edges["src"][in_edges]]
    for place, end in zip(index.tolist(), ends.tolist(), strict=True):
        found[place].append(end)
    return found


def claimed_valid_at(graph: Graph, at: float) -> Mask:
    """The memories with a claim that is valid at a time, whenever they happened."""
    pairs, edges = supersessions(graph), graph.edges
    starts, ends = _valid_from(graph, pairs.edge_rows[~pairs.is_contradiction]), graph.nodes["valid_to"]
    mask = np.zeros(len(graph), np.bool_)
    claim_edges = graph.edges_of_link(Link.CLAIMED_IN)
    claims = edges["src"][claim_edges]
    mask[edges["dst"][claim_edges[(starts[claims] <= at) & (at < ends[claims])]]] = True
    return mask
