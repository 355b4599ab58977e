"""The memory graph of one scope as immutable columns, made for recall. ``apply`` extends it. No text, no I/O.

Rows are numbered in order of ``seq``. An updated graph and a reloaded one are equal row for row: the store contract of
:mod:`ecphora.testing` holds every store to it.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.ma  # np.unique imports it when first called: better now than inside the first recall
from numpy.typing import NDArray

from .columns import Column, InvertedIndex, Table, Values, Vocabulary
from .model import (
    ACCESS_KIND_CODES,
    ACCESS_KINDS,
    FULL_LOG,
    MENTION_LINKS,
    SOURCE_LINKS,
    Access,
    AccessKind,
    Edge,
    Kind,
    Link,
    LogRetention,
    Mark,
    Mask,
    NodeId,
    Rows,
    Scores,
    ValidityEnd,
    WriteBatch,
)
from .reprs import call_repr

LINKS = tuple(Link)
_KIND_CODES = {kind: number for number, kind in enumerate(Kind)}
_LINK_CODES = {link: number for number, link in enumerate(LINKS)}
ALL = slice(None)
"""All entries of a table."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SESSION_GAP = 3600.0
"""Turns of a speaker without a session belong together if at most this many seconds lie between them."""


def epoch_seconds(time: datetime) -> float:
    """Return a time as seconds since 1970, the unit of every time column."""
    return time.timestamp()


def _empty_nodes() -> Table:
    return Table.empty(
        ids=object, kinds="i1", seq="i8", happened="f8", recorded="f8", valid_from="f8", valid_to="f8",
        valid_to_recorded_at="f8", trust="f4", speakers="i4", sessions="i4", documents="i4", sources="i4",
        positions="i4", lengths="i4", is_question="?", metadata=object,
    )  # fmt: skip


def _empty_accesses() -> Table:
    return Table.empty(rows="i4", at="f8", seq="i8", kinds="i1", strengths="f4", nths="i4")


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CachedDerivation(Generic[T]):
    """A value derived from an earlier graph of the same line, and the sizes of that graph's tables.

    Entries of the current graph's tables beyond these sizes are new. ``depends_on_log`` says that the value depends on
    the access log.
    """

    value: T
    node_count: int
    edge_count: int
    access_count: int
    depends_on_log: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """The memory graph of one scope at one revision.

    Tables: ``nodes`` (one entry per row; ``valid_to`` is infinite while open, ``valid_to_recorded_at`` is when that end
    was recorded), ``terms`` (the distinct terms of each row), ``time_mentions`` (the times that each row's text
    mentions), ``vector_rows`` with ``vectors`` (rows that have a vector), ``edges`` (``provenance`` is the row that
    supports one, -1 for its own source), ``accesses``. Times are seconds since 1970. Speakers, sessions, documents and
    sources are codes of the vocabularies ``speakers`` and so on, -1 for none. ``tombstones`` are the ids and digests of
    forgotten memories. ``cursors`` say how far each incremental process has come, ``retention`` what is left of the
    access log.
    """

    revision: int = 0
    nodes: Table = field(default_factory=_empty_nodes)
    terms: Table = field(default_factory=lambda: Table.empty(rows="i4", hashes="u4", counts="u1"))
    time_mentions: Table = field(default_factory=lambda: Table.empty(rows="i4", starts="f8", ends="f8"))
    vector_rows: Table = field(default_factory=lambda: Table.empty(rows="i4"))
    vectors: Column = field(default_factory=lambda: Column(np.empty((0, 0), np.float32)))
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
    _parent: "_InheritedColumns | None" = field(default=None, repr=False)

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
        """Return the rows of those nodes that are in the graph, in their order."""
        found = (self.row(node) for node in nodes)
        return np.array([row for row in found if row is not None], np.intp)

    def id(self, row: int) -> NodeId:
        """Return the id of the node in a row."""
        return str(self.nodes["ids"][row])

    def zeros(self) -> Scores:
        """Return scores in which nothing is active."""
        return np.zeros(len(self), np.float32)

    def of_kind(self, kind: Kind) -> Mask:
        """Return the mask of the rows of one kind."""
        return np.equal(self.nodes["kinds"], _KIND_CODES[kind])

    def rows_of_kind(self, kind: Kind, first: int = 0) -> Rows:
        """Return the rows of one kind from row ``first`` on, ascending."""
        return np.flatnonzero(self.nodes["kinds"][first:] == _KIND_CODES[kind]) + first

    @cached_property
    def episodes(self) -> Mask:
        """The rows that are episodes."""
        return self.of_kind(Kind.EPISODE)

    # ---- derived columns: inherited from the previous graph as far as they are still valid

    @cached_property
    def previous_rows(self) -> Rows:
        """The row just previous each row in its session or document, by time and then ``seq``; -1 for none.

        Derived, not stored, so that turns may be backfilled in any order.
        """
        nodes, n = self.nodes, len(self)
        previous = np.full(n, -1, np.intp)
        sessions, documents, speakers = nodes["sessions"], nodes["documents"], nodes["speakers"]
        is_loose = (sessions < 0) & (documents < 0)
        in_stream = self.episodes & ~(is_loose & (speakers < 0))
        rows = np.flatnonzero(in_stream)
        stream = np.where(sessions >= 0, 2 * sessions.astype(np.int64), np.where(documents >= 0, 2 * documents + 1, -1))
        happened = nodes["happened"]
        order = rows[np.lexsort((rows, happened[rows], stream[rows]))]
        earlier, later = order[:-1], order[1:]
        is_adjacent = stream[earlier] == stream[later]
        is_adjacent &= ~is_loose[later] | (happened[later] - happened[earlier] <= SESSION_GAP)
        previous[later[is_adjacent]] = earlier[is_adjacent]
        return previous

    @cached_property
    def next_rows(self) -> Rows:
        """The row just following each row, -1 for none."""
        following = np.full(len(self), -1, np.intp)
        rows = np.flatnonzero(self.previous_rows >= 0)
        following[self.previous_rows[rows]] = rows
        return following

    @cached_property
    def vector_positions(self) -> Rows:
        """The position of each row's vector in ``vectors``, -1 for none."""
        positions = np.full(len(self), -1, np.intp)
        positions[self.vector_rows["rows"]] = np.arange(len(self.vector_rows))
        return positions

    @cached_property
    def previous_cosine(self) -> Scores:
        """The cosine of each row's vector with that of the previous row; 0 where either is missing."""
        cosines, start = self.zeros(), 0
        parent = self._parent
        changed = self.previous_rows >= 0
        if parent is not None and parent.previous_rows is not None and parent.previous_cosine is not None:
            start = len(parent.previous_rows)
            cosines[:start] = parent.previous_cosine
            changed[:start] &= parent.previous_rows != self.previous_rows[:start]
            cosines[:start][self.previous_rows[:start] < 0] = 0
        rows = np.flatnonzero(changed)
        current, previous = self.vector_positions[rows], self.vector_positions[self.previous_rows[rows]]
        has_both = (current >= 0) & (previous >= 0)
        vectors = self.vectors.view
        cosines[rows] = 0
        cosines[rows[has_both]] = np.einsum("ij,ij->i", vectors[current[has_both]], vectors[previous[has_both]])
        return cosines

    @cached_property
    def mean_length(self) -> float:
        """The mean number of terms of an episode, at least 1."""
        lengths = self.nodes["lengths"][self.episodes]
        return max(1.0, float(lengths.mean())) if len(lengths) else 1.0

    @cached_property
    def lengths_with_previous(self) -> tuple[NDArray[np.int32], float]:
        """The number of terms of each row and its previous row together, and the mean over episodes, at least 1."""
        lengths, previous = self.nodes["lengths"], self.previous_rows
        totals = lengths + np.where(previous >= 0, lengths[previous], 0)
        episode_totals = totals[self.episodes]
        return totals, max(1.0, float(episode_totals.mean())) if len(episode_totals) else 1.0

    def postings(self, term_hashes: NDArray[np.uint32]) -> tuple[Rows, Rows]:
        """Find distinct terms in table ``terms``: the entries that hold them, and for each the index of its term."""
        return self._lookup("hashes", self.terms["hashes"], term_hashes)

    def edges_from(self, rows: Rows, *links: Link) -> tuple[Rows, Rows]:
        """Find the entries of table ``edges`` that leave distinct rows, and for each the index of its row.

        With ``links``, only edges of one of these links.
        """
        return self._select_links(*self._lookup("src", self.edges["src"], rows), links)

    def edges_to(self, rows: Rows, *links: Link) -> tuple[Rows, Rows]:
        """Find the entries of table ``edges`` that arrive at distinct rows, and for each the index of its row.

        With ``links``, only edges of one of these links.
        """
        return self._select_links(*self._lookup("dst", self.edges["dst"], rows), links)

    def edges_of_link(self, *links: Link, first: int = 0) -> Rows:
        """Return the entries of table ``edges`` from ``first`` on that have one of some links, ascending."""
        return np.flatnonzero(self.has_link(*links, edges=slice(first, None))) + first

    def has_link(self, *links: Link, edges: Rows | slice = ALL) -> Mask:
        """Return which entries of table ``edges``, or of a part of it, have one of some links."""
        return _is_one_of(self.edges["links"][edges], [_LINK_CODES[link] for link in links])

    def link(self, edge: int) -> Link:
        """Return the link of an entry of table ``edges``."""
        return LINKS[self.edges["links"][edge]]

    def mentioned_entities(self, rows: Rows) -> Rows:
        """Return the entities that some rows mention or are about, ascending."""
        positions, _ = self.edges_from(np.unique(rows))
        targets = np.unique(self.edges["dst"][positions])
        return targets[self.of_kind(Kind.ENTITY)[targets]]

    def accesses_of_kind(self, *kinds: AccessKind | Mark, first: int = 0) -> Rows:
        """Return the entries of table ``accesses`` from ``first`` on that are of one of some kinds, ascending."""
        return np.flatnonzero(self.has_access_kind(*kinds, accesses=slice(first, None))) + first

    def has_access_kind(self, *kinds: AccessKind | Mark, accesses: Rows | slice = ALL) -> Mask:
        """Return which entries of table ``accesses``, or of a part of it, are of one of some kinds."""
        return _is_one_of(self.accesses["kinds"][accesses], [ACCESS_KIND_CODES[kind] for kind in kinds])

    def accesses_of(self, row: int) -> tuple[Access, ...]:
        """Return every access of a row, oldest first."""
        table = self.accesses
        return tuple(
            Access(
                node=self.id(row),
                at=EPOCH + timedelta(seconds=float(table["at"][position])),
                kind=ACCESS_KINDS[table["kinds"][position]],
                strength=float(table["strengths"][position]),
                seq=int(table["seq"][position]),
                nth=int(table["nths"][position]),
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
        edges and accesses. ``previous_rows`` and ends of validity change in the middle. Forgetting and re-embedding
        begin a new line. A value that depends on accesses must set ``depends_on_log``: it is computed again when some
        were logged, and begins a new line when some have expired.
        """
        cached = self._derivations.get(key)
        sizes = (len(self), len(self.edges), len(self.accesses))
        if (
            cached is None
            or (cached.node_count, cached.edge_count, cached.access_count if depends_on_log else sizes[2]) != sizes
        ):
            cached = self._derivations[key] = CachedDerivation(compute(self, cached), *sizes, depends_on_log)
        value: T = cached.value
        return value

    @cached_property
    def _derivations(self) -> dict[Hashable, CachedDerivation[Any]]:
        return dict(self._parent.derivations) if self._parent is not None else {}

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

    def _columns_to_inherit(self) -> "_InheritedColumns":
        computed = self.__dict__
        has_both = "previous_rows" in computed and "previous_cosine" in computed
        return _InheritedColumns(
            indexes=dict(self._indexes),
            derivations=dict(self._derivations),
            previous_rows=self.previous_rows if has_both else None,
            previous_cosine=self.previous_cosine if has_both else None,
        )

    # ---- updates

    def apply(self, batch: WriteBatch) -> "Graph":
        """Return the graph with a committed batch applied; this graph stays as it is.

        The cost is proportional to the batch. Forgetting and ending validity cost the size of the graph, once each.
        """
        base = self
        if len(self._row_by_id) != len(self):  # another graph was derived from this one and shares its index
            base = replace(self, _row_by_id={node: row for row, node in enumerate(self.nodes["ids"])})
        if batch.tombstones:
            base = base._forget(batch)
        graph = _with_nodes(base, batch) if batch.nodes else base
        graph = _with_vectors(graph, batch)
        graph = _with_edges(graph, batch.edges)
        graph = _with_validity_ends(graph, batch.validity_ends)
        graph = _with_accesses(graph, batch)
        has_late_vectors = len(base) > 0 and any(base.row(node) is not None for node in batch.vectors)
        cursors = MappingProxyType({**base.cursors, **batch.cursors}) if batch.cursors else base.cursors
        parent = None if has_late_vectors else base._columns_to_inherit()
        if batch.retention.through_seq > base.retention.through_seq:
            graph = _trim_accesses(graph, batch.retention)
            parent = parent and parent.without_log()
        grown = replace(graph, revision=batch.revision, cursors=cursors, _parent=parent)
        if len(grown) == len(base) and not has_late_vectors:  # what depends on the nodes alone is still valid
            grown.__dict__.update(
                {name: base.__dict__[name] for name in _NODE_ONLY_PROPERTIES if name in base.__dict__}
            )
        return grown

    def _orphan_entities(self, keep: Mask, batch: WriteBatch) -> Rows:
        """Return the entities that nothing mentions once only the rows under a mask stay; stores drop the same ones."""
        src, dst = self.edges["src"], self.edges["dst"]
        mentions = self.has_link(*MENTION_LINKS)
        provenance = self.edges["provenance"]
        stays = keep[src] & (keep[provenance] | (provenance < 0))
        orphans = np.unique(dst[mentions & ~stays])
        orphans = orphans[self.of_kind(Kind.ENTITY)[orphans]]
        orphans = orphans[~np.isin(orphans, dst[mentions & stays])]
        # An entity that was mentioned again before its last mention was deleted has never been an orphan.
        new_ids = {node.id for node in batch.nodes}
        mentioned_again = self.rows(
            edge.dst for edge in batch.edges if edge.link in MENTION_LINKS and edge.dst not in new_ids
        )
        return orphans[~np.isin(orphans, mentioned_again)]

    def _dependent_rows(self, removed: Mask) -> Rows:
        """Return the nodes derived from removed rows, as an insight from its sources; insights over insights too."""
        is_source_link = self.has_link(*SOURCE_LINKS.values())
        src, dst = self.edges["src"][is_source_link], self.edges["dst"][is_source_link]
        deleted, count = removed.copy(), -1
        while count != deleted.sum():
            count = deleted.sum()
            deleted[src[deleted[dst]]] = True
        is_derived = _is_one_of(self.nodes["kinds"], [_KIND_CODES[kind] for kind in SOURCE_LINKS])
        return np.flatnonzero(deleted & ~removed & is_derived)

    def _forget(self, batch: WriteBatch) -> "Graph":
        removed = batch.tombstones
        tombstones = self.tombstones | {gone.node for gone in removed} | {gone.digest for gone in removed}
        keep = np.ones(len(self), np.bool_)
        keep[self.rows(gone.node for gone in removed)] = False
        keep[self._dependent_rows(~keep)] = False
        keep[self._orphan_entities(keep, batch)] = False
        if keep.all():
            return replace(self, tombstones=tombstones)
        new_rows = np.cumsum(keep) - 1  # old row -> new row

        def keep_rows(table: Table, *row_columns: str) -> Table:
            mask = np.ones(len(table), np.bool_)
            for name in row_columns:
                mask &= keep[table[name]]
            shorter = table.keep(mask)
            return shorter.replace(np.arange(len(shorter)), **{name: new_rows[shorter[name]] for name in row_columns})

        edges = self.edges.keep(keep[self.edges["provenance"]] | (self.edges["provenance"] < 0))
        edges = keep_rows(edges, "src", "dst")
        provenance = edges["provenance"]
        nodes = self.nodes.keep(keep)
        codes = {
            name: getattr(self, name).keep(nodes[name]) for name in ("speakers", "sessions", "documents", "sources")
        }
        return Graph(
            nodes=nodes.replace(np.arange(len(nodes)), **{name: numbers for name, (_, numbers) in codes.items()}),
            terms=keep_rows(self.terms, "rows"),
            time_mentions=keep_rows(self.time_mentions, "rows"),
            vector_rows=keep_rows(self.vector_rows, "rows"),
            vectors=Column(self.vectors.view[keep[self.vector_rows["rows"]]]),
            edges=edges.replace(np.arange(len(edges)), provenance=np.where(provenance < 0, -1, new_rows[provenance])),
            accesses=keep_rows(self.accesses, "rows"),
            **{name: names for name, (names, _) in codes.items()},
            tombstones=tombstones,
            cursors=self.cursors,
            retention=self.retention,
            _row_by_id={node: row for row, node in enumerate(nodes["ids"])},
        )


_NODE_ONLY_PROPERTIES = (
    "episodes", "previous_rows", "next_rows", "vector_positions", "previous_cosine", "mean_length",
    "lengths_with_previous",
)  # fmt: skip
"""Derived columns that depend on nodes and vectors only."""


@dataclass(frozen=True, slots=True)
class _InheritedColumns:
    """The derived columns that an updated graph may take over from its parent."""

    indexes: dict[str, InvertedIndex]
    derivations: dict[Hashable, CachedDerivation[Any]]
    previous_rows: Rows | None
    previous_cosine: Scores | None

    def without_log(self) -> "_InheritedColumns":
        """Return the columns that do not depend on the access log."""
        return replace(
            self,
            indexes={name: index for name, index in self.indexes.items() if name != "accesses"},
            derivations={key: cached for key, cached in self.derivations.items() if not cached.depends_on_log},
        )


def _with_nodes(graph: Graph, batch: WriteBatch) -> Graph:
    nodes, first = batch.nodes, len(graph)
    speakers = graph.speakers.append(node.speaker for node in nodes)
    sessions = graph.sessions.append(node.session for node in nodes)
    documents = graph.documents.append(node.document for node in nodes)
    sources = graph.sources.append(node.source for node in nodes)
    analyses = [batch.analyses.get(node.id) for node in nodes]
    analyzed = [(first + i, analysis) for i, analysis in enumerate(analyses) if analysis is not None]
    hashes = _concatenate([analysis.term_hashes for _, analysis in analyzed], np.uint32)
    counts = _concatenate([analysis.term_counts for _, analysis in analyzed], np.uint8)
    term_rows = np.repeat([row for row, _ in analyzed], [len(analysis.term_hashes) for _, analysis in analyzed]).astype(
        np.intp
    )
    table = graph.nodes.append(
        ids=[node.id for node in nodes],
        kinds=[_KIND_CODES[node.kind] for node in nodes],
        seq=[node.seq for node in nodes],
        happened=[epoch_seconds(node.happened_at) for node in nodes],
        recorded=[epoch_seconds(node.recorded_at) for node in nodes],
        valid_from=[-np.inf if node.valid_from is None else epoch_seconds(node.valid_from) for node in nodes],
        valid_to=[np.inf if node.valid_to is None else epoch_seconds(node.valid_to) for node in nodes],
        valid_to_recorded_at=[np.inf if node.valid_to is None else epoch_seconds(node.recorded_at) for node in nodes],
        trust=[node.trust for node in nodes],
        speakers=speakers.codes([node.speaker for node in nodes]),
        sessions=sessions.codes([node.session for node in nodes]),
        documents=documents.codes([node.document for node in nodes]),
        sources=sources.codes([node.source for node in nodes]),
        positions=[node.position for node in nodes],
        lengths=np.bincount(term_rows - first, counts, minlength=len(nodes)),
        is_question=[analysis is not None and analysis.is_question for analysis in analyses],
        metadata=[node.metadata or None for node in nodes],
    )
    # The index is shared with the parent graph, which ignores rows beyond its own length.
    index = graph._row_by_id
    index.update((node.id, first + i) for i, node in enumerate(nodes))
    mentions = [
        (row, epoch_seconds(time.start), epoch_seconds(time.end))
        for row, analysis in analyzed
        for time in analysis.time_mentions
    ]
    return replace(
        graph,
        nodes=table,
        terms=graph.terms.append(rows=term_rows, hashes=hashes, counts=counts),
        time_mentions=graph.time_mentions.append(
            rows=[row for row, _, _ in mentions],
            starts=[start for _, start, _ in mentions],
            ends=[end for _, _, end in mentions],
        ),
        speakers=speakers,
        sessions=sessions,
        documents=documents,
        sources=sources,
        _row_by_id=index,
    )


def _with_vectors(graph: Graph, batch: WriteBatch) -> Graph:
    index = graph._row_by_id
    row_by_id = {node: index[node] for node in batch.vectors if node in index}
    if not row_by_id:
        return graph
    values = np.stack([batch.vectors[node] for node in row_by_id])
    positions = graph.vector_positions[list(row_by_id.values())]
    if (positions >= 0).any():  # re-embedded
        keep = np.ones(len(graph.vector_rows), np.bool_)
        keep[positions[positions >= 0]] = False
        graph = replace(graph, vector_rows=graph.vector_rows.keep(keep), vectors=Column(graph.vectors.view[keep]))
    vectors = graph.vectors if graph.vectors.view.shape[1:] == values.shape[1:] else Column(values[:0])
    return replace(
        graph, vector_rows=graph.vector_rows.append(rows=list(row_by_id.values())), vectors=vectors.append(values)
    )


def _with_edges(graph: Graph, edges: Sequence[Edge]) -> Graph:
    index = graph._row_by_id
    resolved = [(index[edge.src], index[edge.dst], edge) for edge in edges if edge.src in index and edge.dst in index]
    if not resolved:
        return graph
    table = graph.edges.append(
        src=[src for src, _, _ in resolved],
        dst=[dst for _, dst, _ in resolved],
        links=[_LINK_CODES[edge.link] for _, _, edge in resolved],
        weights=[edge.weight for _, _, edge in resolved],
        provenance=[-1 if edge.provenance is None else index.get(edge.provenance, -1) for _, _, edge in resolved],
    )
    return replace(graph, edges=table)


def _with_validity_ends(graph: Graph, ends: Sequence[ValidityEnd]) -> Graph:
    rows = graph.rows(end.node for end in ends)
    if not len(rows):
        return graph
    known = [end for end in ends if graph.row(end.node) is not None]
    valid_to, recorded_at = (
        [epoch_seconds(end.valid_to) for end in known],
        [epoch_seconds(end.recorded_at) for end in known],
    )
    return replace(graph, nodes=graph.nodes.replace(rows, valid_to=valid_to, valid_to_recorded_at=recorded_at))


def _with_accesses(graph: Graph, batch: WriteBatch) -> Graph:
    """Log the accesses of a batch, and an ``ENCODED`` access for each new episode, with its ``seq`` and time."""
    index, nodes = graph._row_by_id, graph.nodes
    logged = [access for access in batch.accesses if access.node in index]
    new = graph.rows_of_kind(Kind.EPISODE, len(graph) - len(batch.nodes))
    if not logged and not len(new):
        return graph
    encoded = np.full(len(new), ACCESS_KIND_CODES[AccessKind.ENCODED])
    seq = np.concatenate([nodes["seq"][new], [access.seq for access in logged]])
    order = np.argsort(seq, kind="stable")
    table = graph.accesses.append(
        seq=seq[order],
        rows=np.concatenate([new, [index[access.node] for access in logged]])[order],
        at=np.concatenate([nodes["recorded"][new], [epoch_seconds(access.at) for access in logged]])[order],
        kinds=np.concatenate([encoded, [ACCESS_KIND_CODES[access.kind] for access in logged]])[order],
        strengths=np.concatenate([np.ones(len(new)), [access.strength for access in logged]])[order],
        nths=np.concatenate([np.ones(len(new)), [access.nth for access in logged]])[order],
    )
    return replace(graph, accesses=table)


def _trim_accesses(graph: Graph, retention: LogRetention) -> Graph:
    """Drop the expired accesses, as stores do; the ``ENCODED`` access of storing an episode keep."""
    table = graph.accesses
    seq, nths = table["seq"], table["nths"]
    groups = table["rows"].astype(np.intp) * len(ACCESS_KINDS) + table["kinds"]  # one group per node and kind
    old = seq <= retention.through_seq
    last = np.zeros(len(graph) * len(ACCESS_KINDS), np.int64)
    np.maximum.at(last, groups[old], nths[old])
    keep = (nths > last[groups] - retention.keep_last) | (seq == graph.nodes["seq"][table["rows"]])
    return replace(graph, accesses=table if keep.all() else table.keep(keep), retention=retention)


def _is_one_of(values: Values, codes: Sequence[int]) -> Mask:
    found = np.zeros(len(values), np.bool_)
    for code in codes:  # few codes: faster than np.isin
        found |= values == code
    return found


def _concatenate(arrays: Sequence[NDArray[np.generic]], dtype: type[np.generic]) -> Values:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)
