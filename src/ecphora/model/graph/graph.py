"""The memory graph of one scope as immutable columns, made for recall. No text, no I/O.

Rows are numbered in order of ``seq``. An updated graph and a reloaded one are equal row for row: the store contract of
:mod:`ecphora.testing` holds every store to it.

Columns of a graph that follow from others: the order of turns, and values of rows with their previous rows.

What the access log of a graph says of its rows: marks, and the last access.

Marks are entries of the access log but no accesses; of PINNED and UNPINNED, and of ARCHIVED and UNARCHIVED, the latest
decides.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.ma  # np.unique imports it when first called: better now than inside the first recall
from numpy.typing import NDArray

from ..reprs import call_repr
from ..times import from_epoch_seconds
from ..types import (
    ACCESS_KIND_CODES,
    ACCESS_KINDS,
    FULL_LOG,
    Access,
    AccessKind,
    Kind,
    Link,
    LogRetention,
    Mark,
    Mask,
    NodeId,
    Rows,
    Scores,
)
from .columns import InvertedIndex, Table, Values, Vocabulary
from .media_spaces import MediaSpaces, no_media
from .vectors import VectorColumn

BLOCK = 1024
"""How many vectors are unpacked at a time."""
SESSION_GAP = 3600.0
"""Turns of a speaker without a session belong together if at most this many seconds lie between them."""


@dataclass(frozen=True, slots=True)
class TextVectors:
    """The vectors that one embedder made of texts; ``rows`` has the row of each.

    ``positions`` has the position of each row's vector in ``values``, -1 for none.
    """

    rows: Rows
    values: VectorColumn
    positions: Rows


@dataclass(frozen=True, slots=True)
class TurnOrder:
    """The row just before and the row just after each row in its session or document, -1 for none."""

    previous: Rows
    following: Rows


@dataclass(frozen=True, slots=True)
class PreviousCosines:
    """The previous row of each row of a graph, and the cosine of each row's vector with its previous row's."""

    previous_rows: Rows
    cosines: Scores


@dataclass(frozen=True, slots=True)
class PreviousLengths:
    """The previous row of each row of a graph, and the number of terms of each row and its previous row together."""

    previous_rows: Rows
    lengths: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class InheritedColumns:
    """The derived columns that an updated graph may take over from its parent.

    With ``has_same_nodes``, parent and child differ in the access log alone and share ``derivations``: a value that
    either of them derives is there for both.
    """

    indexes: dict[str, InvertedIndex]
    derivations: dict[Hashable, Any]
    log_derivations: dict[Hashable, Any]
    has_same_nodes: bool
    turn_order: TurnOrder | None
    lengths: PreviousLengths | None
    previous_cosines: PreviousCosines | None
    english_previous_cosines: PreviousCosines | None

    def without_log(self) -> "InheritedColumns":
        """Return the columns that do not depend on the access log."""
        return replace(
            self,
            indexes={name: index for name, index in self.indexes.items() if name != "accesses"},
            log_derivations={},
        )


def turn_order(nodes: Table, episodes: Mask, known: TurnOrder | None) -> TurnOrder:
    """The order of the rows of each session or document, by time and then ``seq``.

    ``known`` is the order of an earlier graph of the same line; only sessions and documents with new rows are ordered
    again. A row with a neighbor in the earlier graph has a neighbor in this graph, since a new row only comes between.
    """
    start = 0 if known is None else len(known.previous)
    streams, is_loose = _streams(nodes)
    in_stream = episodes & ~(is_loose & (nodes["speakers"] < 0))
    if known is not None:
        in_stream &= np.isin(streams, np.unique(streams[start:][in_stream[start:]]))
    rows = np.flatnonzero(in_stream)
    happened = nodes["happened"]
    order = rows[np.lexsort((rows, happened[rows], streams[rows]))]
    earlier, later = order[:-1], order[1:]
    is_adjacent = streams[earlier] == streams[later]
    is_adjacent &= ~is_loose[later] | (happened[later] - happened[earlier] <= SESSION_GAP)
    previous, following = np.full(len(nodes), -1, np.intp), np.full(len(nodes), -1, np.intp)
    if known is not None:
        previous[:start], following[:start] = known.previous, known.following
    previous[later[is_adjacent]] = earlier[is_adjacent]
    following[earlier[is_adjacent]] = later[is_adjacent]
    return TurnOrder(previous, following)


def _streams(nodes: Table) -> tuple[NDArray[np.int64], Mask]:
    """The number of the session or document of each row, -1 for none; and which rows have none."""
    sessions, documents = nodes["sessions"].astype(np.int64), nodes["documents"].astype(np.int64)
    is_loose = (sessions < 0) & (documents < 0)
    return np.where(sessions >= 0, 2 * sessions, np.where(documents >= 0, 2 * documents + 1, -1)), is_loose


def changed_rows(previous: Rows, known: Rows) -> Rows:
    """The rows that are new, or have another previous row than in an earlier graph of the same line, ascending."""
    start = len(known)
    return np.concatenate([np.flatnonzero(previous[:start] != known), np.arange(start, len(previous))])


def vector_positions(rows: Rows, count: int) -> Rows:
    """The position of the vector of each of ``count`` rows, -1 for none; ``rows`` has the row of each vector."""
    positions = np.full(count, -1, np.intp)
    positions[rows] = np.arange(len(rows))
    return positions


def previous_cosines(previous: Rows, vectors: TextVectors, known: PreviousCosines | None) -> Scores:
    """The cosine of each row's vector with its previous row's vector; 0 where either is missing.

    ``known`` has the cosines of an earlier graph of the same line; only rows with another previous row change.
    """
    cosines, rows = np.zeros(len(previous), np.float32), np.arange(len(previous))
    if known is not None:
        cosines[: len(known.cosines)] = known.cosines
        rows = changed_rows(previous, known.previous_rows)
        cosines[rows] = 0
    rows = rows[previous[rows] >= 0]
    current, before = vectors.positions[rows], vectors.positions[previous[rows]]
    places = np.flatnonzero((current >= 0) & (before >= 0))
    for start in range(0, len(places), BLOCK):
        part = places[start : start + BLOCK]
        cosines[rows[part]] = np.vecdot(vectors.values.rows(current[part]), vectors.values.rows(before[part]))
    return cosines


def lengths_with_previous(
    lengths: NDArray[np.int32], previous: Rows, known: PreviousLengths | None
) -> NDArray[np.int32]:
    """The number of terms of each row and its previous row together.

    ``known`` has the numbers of an earlier graph of the same line; only rows with another previous row change.
    """
    totals, rows = lengths.copy(), np.arange(len(previous))
    if known is not None:
        totals[: len(known.lengths)] = known.lengths
        rows = changed_rows(previous, known.previous_rows)
    before = previous[rows]
    totals[rows] = lengths[rows] + np.where(before >= 0, lengths[before], 0)
    return totals


LINKS = tuple(Link)
KIND_CODES = {kind: number for number, kind in enumerate(Kind)}
LINK_CODES = {link: number for number, link in enumerate(LINKS)}
TERMS = "terms"
"""The table of the terms of rows, and its index."""
ALL = slice(None)
"""All entries of a table."""
DAY = 86_400.0
"""The seconds of a day."""


def epoch_seconds(time: datetime) -> float:
    """Return a time as seconds since 1970, the unit of every time column."""
    return time.timestamp()


def _empty_nodes() -> Table:
    return Table.empty(
        ids=object, kinds="i1", seq="i8", happened="f8", recorded="f8", valid_from="f8", valid_to="f8",
        valid_to_recorded_at="f8", offsets="i2", trust="f4", speakers="i4", sessions="i4", documents="i4", sources="i4",
        positions="i4", lengths="i4", is_question="?", metadata=object,
    )  # fmt: skip


def _empty_accesses() -> Table:
    return Table.empty(rows="i4", at="f8", seq="i8", kinds="i1", strengths="f4", counts="i4")


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CachedDerivation(Generic[T]):
    """A value derived from an earlier graph of the same line, and the sizes of that graph's tables.

    Entries of the current graph's tables beyond these sizes are new.
    """

    value: T
    node_count: int
    edge_count: int
    access_count: int


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """The memory graph of one scope at one revision.

    Tables: ``nodes`` (one entry per row; ``valid_to`` is infinite while open, ``valid_to_recorded_at`` is when that end
    was recorded, ``offsets`` is the offset of ``happened`` from UTC in minutes), ``terms`` (the distinct terms of each
    row), ``identifiers`` (hashes of its identifiers), ``time_mentions`` (the times that each row's text mentions),
    ``vector_rows`` with ``vectors`` (rows that have a vector), ``english_vector_rows`` with ``english_vectors`` (rows
    that have an English vector too), ``edges`` (``provenance`` is the row that supports the edge, -1 for the edge's
    source), ``accesses``. Times are seconds since 1970. Speakers, sessions, documents and sources are codes of the
    vocabularies ``speakers`` and so on, -1 for none. ``tombstones`` are the ids and digests of forgotten memories.
    ``media_spaces`` have the vectors of media. ``cursors`` say how far each incremental process has come, ``retention``
    what is left of the access log.
    """

    revision: int = 0
    nodes: Table = field(default_factory=_empty_nodes)
    terms: Table = field(default_factory=lambda: Table.empty(rows="i4", hashes="u4", counts="u1"))
    identifiers: Table = field(default_factory=lambda: Table.empty(rows="i4", hashes="u4"))
    time_mentions: Table = field(default_factory=lambda: Table.empty(rows="i4", starts="f8", ends="f8"))
    vector_rows: Table = field(default_factory=lambda: Table.empty(rows="i4"))
    vectors: VectorColumn = field(default_factory=VectorColumn.empty)
    english_vector_rows: Table = field(default_factory=lambda: Table.empty(rows="i4"))
    english_vectors: VectorColumn = field(
        default_factory=lambda: VectorColumn.from_vectors(np.empty((0, 0), np.float32))
    )
    media_spaces: MediaSpaces = field(default_factory=no_media)
    edges: Table = field(
        default_factory=lambda: Table.empty(src="i4", dst="i4", links="i1", weights="f4", provenance="i4")
    )
    accesses: Table = field(default_factory=_empty_accesses)
    speakers: Vocabulary = field(default_factory=Vocabulary)
    sessions: Vocabulary = field(default_factory=Vocabulary)
    documents: Vocabulary = field(default_factory=Vocabulary)
    sources: Vocabulary = field(default_factory=Vocabulary)
    tombstones: frozenset[NodeId | bytes] = frozenset()
    cursors: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    retention: LogRetention = FULL_LOG
    _row_by_id: dict[NodeId, int] = field(default_factory=dict, repr=False)
    _parent: InheritedColumns | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        sizes = {"nodes": len(self), "edges": len(self.edges), "vectors": len(self.vector_rows)}
        return call_repr("Graph", revision=self.revision, **sizes)

    def row(self, node: NodeId) -> int | None:
        """Return the row of a node, None if it is not in the graph."""
        row = self._row_by_id.get(node)
        return row if row is not None and row < len(self) else None

    def rows(self, nodes: Iterable[NodeId]) -> Rows:
        """Return the rows of some nodes, in their order; nodes that are not in the graph are left out."""
        found = (self.row(node) for node in nodes)
        return np.array([row for row in found if row is not None], np.intp)

    def id(self, row: int) -> NodeId:
        """Return the id of the node in a row."""
        return str(self.nodes["ids"][row])

    def zeros(self) -> Scores:
        """Return scores in which nothing is active."""
        return np.zeros(len(self), np.float32)

    def no_rows(self) -> Rows:
        """Return an entry for each row that leads to no row: -1."""
        return np.full(len(self), -1, np.intp)

    def of_kind(self, *kinds: Kind) -> Mask:
        """Return the mask of the rows of some kinds."""
        return _is_one_of(self.nodes["kinds"], [KIND_CODES[kind] for kind in kinds])

    def rows_of_kind(self, kind: Kind, first: int = 0) -> Rows:
        """Return the rows of one kind from row ``first`` on, ascending."""
        return np.flatnonzero(self.nodes["kinds"][first:] == KIND_CODES[kind]) + first

    @cached_property
    def episodes(self) -> Mask:
        """The rows that are episodes."""
        return self.of_kind(Kind.EPISODE)

    @cached_property
    def episode_count(self) -> int:
        """The number of episodes."""
        return int(self.episodes.sum())

    # ---- derived columns: inherited from the previous graph as far as they are still valid

    @cached_property
    def turn_order(self) -> TurnOrder:
        """The rows before and after each row in its session or document, by time and then ``seq``.

        Derived, not stored, so that turns may be backfilled in any order.
        """
        known = None if self._parent is None else self._parent.turn_order
        return turn_order(self.nodes, self.episodes, known)

    @property
    def previous_rows(self) -> Rows:
        """The row just previous each row in its session or document, -1 for none."""
        return self.turn_order.previous

    @property
    def next_rows(self) -> Rows:
        """The row just following each row, -1 for none."""
        return self.turn_order.following

    @cached_property
    def vector_positions(self) -> Rows:
        """The position of each row's vector in ``vectors``, -1 for none."""
        return vector_positions(self.vector_rows["rows"], len(self))

    @cached_property
    def english_vector_positions(self) -> Rows:
        """The position of each row's English vector in ``english_vectors``, -1 for none."""
        return vector_positions(self.english_vector_rows["rows"], len(self))

    def text_vectors(self, *, use_english: bool = False) -> TextVectors:
        """The vectors of the scope's embedder, or the English ones."""
        if use_english:
            rows = self.english_vector_rows["rows"]
            return TextVectors(rows, self.english_vectors, self.english_vector_positions)
        return TextVectors(self.vector_rows["rows"], self.vectors, self.vector_positions)

    @cached_property
    def previous_cosine(self) -> Scores:
        """The cosine of each row's vector with the previous row's vector; 0 where either is missing."""
        known = None if self._parent is None else self._parent.previous_cosines
        return previous_cosines(self.previous_rows, self.text_vectors(), known)

    @cached_property
    def english_previous_cosine(self) -> Scores:
        """The cosine of each row's English vector with the previous row's; 0 where either is missing."""
        known = None if self._parent is None else self._parent.english_previous_cosines
        return previous_cosines(self.previous_rows, self.text_vectors(use_english=True), known)

    @cached_property
    def mean_length(self) -> float:
        """The mean number of terms of an episode, at least 1."""
        lengths = self.nodes["lengths"][self.episodes]
        return max(1.0, float(lengths.mean())) if len(lengths) else 1.0

    @cached_property
    def lengths_with_previous(self) -> tuple[NDArray[np.int32], float]:
        """The number of terms of each row and its previous row together, and the mean over episodes, at least 1."""
        known = None if self._parent is None else self._parent.lengths
        totals = lengths_with_previous(self.nodes["lengths"], self.previous_rows, known)
        episode_totals = totals[self.episodes]
        return totals, max(1.0, float(episode_totals.mean())) if len(episode_totals) else 1.0

    def postings(self, hashes: NDArray[np.uint32], table: str = TERMS) -> tuple[Rows, Rows]:
        """Find distinct hashes in a table: the entries that hold them, and for each the index of its hash."""
        return self._lookup(table, getattr(self, table)["hashes"], hashes)

    def edges_from(self, rows: Rows, *links: Link) -> tuple[Rows, Rows]:
        """Find the entries of table ``edges`` that leave distinct rows, and for each the index of its row.

        With ``links``, only edges with one of the links.
        """
        return self._select_links(*self._lookup("src", self.edges["src"], rows), links)

    def edges_to(self, rows: Rows, *links: Link) -> tuple[Rows, Rows]:
        """Find the entries of table ``edges`` that arrive at distinct rows, and for each the index of its row.

        With ``links``, only edges with one of the links.
        """
        return self._select_links(*self._lookup("dst", self.edges["dst"], rows), links)

    def edges_of_link(self, *links: Link, first: int = 0) -> Rows:
        """Return the entries of table ``edges`` from ``first`` on that have one of some links, ascending."""
        return np.flatnonzero(self.has_link(*links, edges=slice(first, None))) + first

    def has_link(self, *links: Link, edges: Rows | slice = ALL) -> Mask:
        """Return which entries of table ``edges``, or of a part of it, have one of some links."""
        return _is_one_of(self.edges["links"][edges], [LINK_CODES[link] for link in links])

    def link(self, edge: int) -> Link:
        """Return the link of an entry of table ``edges``."""
        return LINKS[self.edges["links"][edge]]

    def mentioned_entities(self, rows: Rows) -> Rows:
        """Return the entities that some rows mention or are about, ascending."""
        positions, _ = self.edges_from(np.unique(rows))
        targets = np.unique(self.edges["dst"][positions])
        return targets[self.nodes["kinds"][targets] == KIND_CODES[Kind.ENTITY]]

    def accesses_of_kind(self, *kinds: AccessKind | Mark, first: int = 0) -> Rows:
        """Return the entries of table ``accesses`` from ``first`` on that are of some kinds, ascending."""
        return np.flatnonzero(self.has_access_kind(*kinds, accesses=slice(first, None))) + first

    def has_access_kind(self, *kinds: AccessKind | Mark, accesses: Rows | slice = ALL) -> Mask:
        """Return which entries of table ``accesses``, or of a part of it, are of some kinds."""
        return _is_one_of(self.accesses["kinds"][accesses], [ACCESS_KIND_CODES[kind] for kind in kinds])

    def accesses_of(self, row: int) -> tuple[Access, ...]:
        """Return every access of a row, oldest first."""
        table = self.accesses
        return tuple(
            Access(
                node=self.id(row),
                at=from_epoch_seconds(table["at"][position]),
                kind=ACCESS_KINDS[table["kinds"][position]],
                strength=float(table["strengths"][position]),
                seq=int(table["seq"][position]),
                count=int(table["counts"][position]),
            )
            for position in self._lookup("accesses", table["rows"], np.array([row]))[0]
        )

    def document_rows(self, document: NodeId) -> Rows:
        """Return the rows of a chunked document, in their order."""
        code = self.documents.code(document)
        rows = np.flatnonzero(self.nodes["documents"] == code) if code >= 0 else np.empty(0, np.intp)
        return rows[np.argsort(self.nodes["positions"][rows], kind="stable")]

    def derive(
        self,
        key: Hashable,
        compute: "Callable[[Graph, CachedDerivation[T] | None], T]",
        *,
        depends_on_log: bool = False,
    ) -> T:
        """Return a value derived from this graph, computed once; ``compute`` gets an earlier graph's value, if any.

        An earlier value may be extended only as far as it depends on what grows by appending: nodes, terms, vectors,
        edges and accesses. ``previous_rows`` (see ``derived_columns.changed_rows``) and ends of validity change in the
        middle. Forgetting and re-embedding
        begin a new line. A value that depends on accesses must set ``depends_on_log``: it is computed again when some
        were logged, and begins a new line when some have expired.
        """
        derivations = self._log_derivations if depends_on_log else self._derivations
        cached = derivations.get(key)
        sizes = (len(self), len(self.edges), len(self.accesses))
        if (
            cached is None
            or (cached.node_count, cached.edge_count, cached.access_count if depends_on_log else sizes[2]) != sizes
        ):
            cached = derivations[key] = CachedDerivation(compute(self, cached), *sizes)
        value: T = cached.value
        return value

    @cached_property
    def _derivations(self) -> dict[Hashable, CachedDerivation[Any]]:
        """Derived values that do not depend on the access log; shared by the graphs that differ in the log alone."""
        if self._parent is None:
            return {}
        return self._parent.derivations if self._parent.has_same_nodes else dict(self._parent.derivations)

    @cached_property
    def _log_derivations(self) -> dict[Hashable, CachedDerivation[Any]]:
        return dict(self._parent.log_derivations) if self._parent is not None else {}

    @cached_property
    def _indexes(self) -> dict[str, InvertedIndex]:
        return dict(self._parent.indexes) if self._parent is not None else {}

    def _lookup(self, column: str, values: Values, keys: Values) -> tuple[Rows, Rows]:
        index = self._indexes.get(column)
        if index is None or not index.has_short_tail(values):
            index = self._indexes[column] = InvertedIndex(values)
        return index.lookup(values, keys.astype(values.dtype))

    def _select_links(self, edges: Rows, index: Rows, links: tuple[Link, ...]) -> tuple[Rows, Rows]:
        if not links:
            return edges, index
        is_selected = self.has_link(*links, edges=edges)
        return edges[is_selected], index[is_selected]

    def columns_to_inherit(self, *, has_same_nodes: bool) -> InheritedColumns:
        """Return the derived columns that a graph that grows from this one takes over, as far as they were computed."""
        return InheritedColumns(
            indexes=dict(self._indexes),
            derivations=self._derivations if has_same_nodes else dict(self._derivations),
            log_derivations=dict(self._log_derivations),
            has_same_nodes=has_same_nodes,
            turn_order=self._known_turn_order(),
            lengths=self._known_lengths(),
            previous_cosines=self._known_cosines("previous_cosine"),
            english_previous_cosines=self._known_cosines("english_previous_cosine"),
        )

    def _known_turn_order(self) -> TurnOrder | None:
        """The order of turns, if it was computed, or an earlier graph's."""
        found: TurnOrder | None = self.__dict__.get("turn_order")
        return found or (self._parent.turn_order if self._parent is not None else None)

    def _known_lengths(self) -> PreviousLengths | None:
        """The lengths with previous rows, if they were computed."""
        found: tuple[NDArray[np.int32], float] | None = self.__dict__.get("lengths_with_previous")
        return None if found is None else PreviousLengths(self.previous_rows, found[0])

    def _known_cosines(self, name: str) -> PreviousCosines | None:
        """A column of cosines with previous rows, if it was computed."""
        cosines: Scores | None = self.__dict__.get(name)
        return None if cosines is None else PreviousCosines(self.previous_rows, cosines)


NODE_ONLY_PROPERTIES = (
    "episodes", "episode_count", "turn_order", "vector_positions", "previous_cosine", "english_vector_positions",
    "english_previous_cosine", "mean_length", "lengths_with_previous",
)  # fmt: skip
"""Derived columns that depend on nodes and vectors only."""


def _is_one_of(values: Values, codes: Sequence[int]) -> Mask:
    found = np.zeros(len(values), np.bool_)
    for code in codes:  # few codes: faster than np.isin
        found |= values == code
    return found


def pinned_mask(graph: Graph) -> Mask:
    """The rows that are pinned, so that they lose nothing by age."""
    return _mark_mask(graph, Mark.PINNED, Mark.UNPINNED)


def archived_mask(graph: Graph) -> Mask:
    """The rows that are archived, so that they rank behind all others."""
    return _mark_mask(graph, Mark.ARCHIVED, Mark.UNARCHIVED)


def _mark_mask(graph: Graph, on: Mark, off: Mark) -> Mask:
    """The rows whose last mark of the two is ``on``; for a grown graph only new log entries are read."""
    return graph.derive(("mark", on), lambda grown, before: _fold_marks(grown, before, on, off), depends_on_log=True)


def _fold_marks(graph: Graph, before: CachedDerivation[Mask] | None, on: Mark, off: Mark) -> Mask:
    mask, start = np.zeros(len(graph), np.bool_), 0
    if before is not None:
        mask[: before.node_count], start = before.value, before.access_count
    entries = graph.accesses_of_kind(on, off, first=start)
    # in order of seq: the last one wins
    mask[graph.accesses["rows"][entries]] = graph.has_access_kind(on, accesses=entries)
    return mask


def last_access(graph: Graph) -> NDArray[np.int64]:
    """The ``seq`` of the last access by which each row was encoded, recalled or used; 0 for rows without one.

    An exchange is encoded by the ``seq`` of its own; the access log does not have that.
    """
    return graph.derive("last access", _extend_last_access, depends_on_log=True)


def sort_by_last_access(graph: Graph, rows: Rows) -> Rows:
    """Rows by their last access, the oldest first: the order in which a recall logs them, so that they keep it."""
    return rows[np.argsort(last_access(graph)[rows], kind="stable")]


def _extend_last_access(graph: Graph, cached: CachedDerivation[NDArray[np.int64]] | None) -> NDArray[np.int64]:
    last = np.zeros(len(graph), np.int64)
    start = 0
    if cached is not None:
        last[: cached.node_count], start = cached.value, cached.access_count
    new_exchanges = graph.rows_of_kind(Kind.EXCHANGE, 0 if cached is None else cached.node_count)
    last[new_exchanges] = graph.nodes["seq"][new_exchanges]
    accesses = graph.accesses
    counted = graph.accesses_of_kind(AccessKind.ENCODED, AccessKind.RECALLED, AccessKind.USED, first=start)
    last[accesses["rows"][counted]] = accesses["seq"][counted]  # in order of seq: the last one wins
    return last
