"""One scope's memory as columns, immutable, made for recall. ``plus`` grows it; nothing reloads it. No text, no I/O.

Rows are numbered in order of ``seq``. A grown graph and a reloaded one are equal row for row: the store contract of
:mod:`ecphora.testing` holds every store to it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .columns import Codes, Column, Groups, Table, Values
from .model import Access, Change, Edge, Forgotten, Kind, Link, Mask, NodeId, Rows, Scores, Superseded, Touch

KINDS = tuple(Kind)
LINKS = tuple(Link)
TOUCHES = tuple(Touch)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SESSION_GAP = 3600.0
"""Spoken turns without a session belong together while no more than this many seconds lie between them."""


def seconds(time: datetime) -> float:
    """A time as seconds since 1970, the unit of every time column."""
    return (time - EPOCH).total_seconds()


def _nodes() -> Table:
    return Table.of(
        ids=object, kinds="i1", seq="i8", happened="f8", recorded="f8", valid_from="f8", valid_to="f8", closed="f8",
        trust="f4", speakers="i4", sessions="i4", documents="i4", sources="i4", positions="i4", lengths="i4",
        questions="?", metadata=object,
    )  # fmt: skip


def _accesses() -> Table:
    return Table.of(rows="i4", at="f8", seq="i8", touches="i1", strengths="f4")


@dataclass(frozen=True, eq=False)
class Graph:
    """The memory graph of one scope at one revision.

    Tables: ``nodes`` (one entry a row; ``valid_to`` is infinite while open, ``closed`` is when that end was recorded),
    ``words`` (distinct words of each row), ``told`` (times each row's text speaks of), ``vectored`` with ``vectors``
    (rows that have a vector), ``edges``, ``accesses``. Times are seconds since 1970. Speakers, sessions, documents and
    sources are numbers into ``speakers`` and so on, -1 for none. ``barred`` are the ids and digests of what was
    forgotten on purpose.
    """

    revision: int = 0
    nodes: Table = field(default_factory=_nodes)
    words: Table = field(default_factory=lambda: Table.of(rows="i4", words="u4", counts="u1"))
    told: Table = field(default_factory=lambda: Table.of(rows="i4", starts="f8", ends="f8"))
    vectored: Table = field(default_factory=lambda: Table.of(rows="i4"))
    vectors: Column = field(default_factory=lambda: Column(np.empty((0, 0), np.float32)))
    edges: Table = field(default_factory=lambda: Table.of(src="i4", dst="i4", links="i1", weights="f4"))
    accesses: Table = field(
        default_factory=lambda: Table.of(rows="i4", at="f8", seq="i8", touches="i1", strengths="f4")
    )
    speakers: Codes = field(default_factory=Codes)
    sessions: Codes = field(default_factory=Codes)
    documents: Codes = field(default_factory=Codes)
    sources: Codes = field(default_factory=Codes)
    barred: frozenset[NodeId | bytes] = frozenset()
    _index: dict[NodeId, int] = field(default_factory=dict, repr=False)
    _parent: "_Derived | None" = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.nodes)

    def row(self, node: NodeId) -> int | None:
        """The row of a node, None if it is not here."""
        row = self._index.get(node)
        return row if row is not None and row < len(self) else None

    def rows(self, nodes: Iterable[NodeId]) -> Rows:
        """The rows of those nodes that are here, in their order."""
        found = (self.row(node) for node in nodes)
        return np.array([row for row in found if row is not None], np.intp)

    def id(self, row: int) -> NodeId:
        """The id of the node in a row."""
        return str(self.nodes["ids"][row])

    def zeros(self) -> Scores:
        """Scores in which nothing is active."""
        return np.zeros(len(self), np.float32)

    def of_kind(self, kind: Kind) -> Mask:
        """The rows of one kind."""
        return np.equal(self.nodes["kinds"], KINDS.index(kind))

    @cached_property
    def episodes(self) -> Mask:
        """The rows that are episodes."""
        return self.of_kind(Kind.EPISODE)

    # ---- derived columns: kept from the graph this one grew from as far as they still hold

    @cached_property
    def previous(self) -> Rows:
        """The row told just before each row: in its session or document, by time and then ``seq``; -1 for none.

        Derived, not stored, so that turns may be backfilled in any order.
        """
        nodes, n = self.nodes, len(self)
        before = np.full(n, -1, np.intp)
        sessions, documents, speakers = nodes["sessions"], nodes["documents"], nodes["speakers"]
        loose = (sessions < 0) & (documents < 0)
        told = self.episodes & ~(loose & (speakers < 0))
        rows = np.flatnonzero(told)
        stream = np.where(sessions >= 0, 2 * sessions.astype(np.int64), np.where(documents >= 0, 2 * documents + 1, -1))
        happened = nodes["happened"]
        order = rows[np.lexsort((rows, happened[rows], stream[rows]))]
        earlier, later = order[:-1], order[1:]
        joined = stream[earlier] == stream[later]
        joined &= ~loose[later] | (happened[later] - happened[earlier] <= SESSION_GAP)
        before[later[joined]] = earlier[joined]
        return before

    @cached_property
    def following(self) -> Rows:
        """The row told just after each row, -1 for none."""
        after = np.full(len(self), -1, np.intp)
        linked = np.flatnonzero(self.previous >= 0)
        after[self.previous[linked]] = linked
        return after

    @cached_property
    def vector_places(self) -> Rows:
        """Where each row's vector stands in ``vectors``, -1 for none."""
        places = np.full(len(self), -1, np.intp)
        places[self.vectored["rows"]] = np.arange(len(self.vectored))
        return places

    @cached_property
    def kinship(self) -> Scores:
        """The cosine of each row's vector with that of the row before it; 0 where either is missing."""
        kept, start = self.zeros(), 0
        parent = self._parent
        changed = self.previous >= 0
        if parent is not None and parent.previous is not None and parent.kinship is not None:
            start = len(parent.previous)
            kept[:start] = parent.kinship
            changed[:start] &= parent.previous != self.previous[:start]
            kept[:start][self.previous[:start] < 0] = 0
        rows = np.flatnonzero(changed)
        here, there = self.vector_places[rows], self.vector_places[self.previous[rows]]
        both = (here >= 0) & (there >= 0)
        vectors = self.vectors.view
        kept[rows] = 0
        kept[rows[both]] = np.einsum("ij,ij->i", vectors[here[both]], vectors[there[both]])
        return kept

    @cached_property
    def mean_length(self) -> float:
        """The mean number of words of an episode, at least 1."""
        lengths = self.nodes["lengths"][self.episodes]
        return max(1.0, float(lengths.mean())) if len(lengths) else 1.0

    def word_places(self, word: int) -> Rows:
        """The entries of table ``words`` that hold a word."""
        return self._places("words", self.words["words"], word)

    def edges_from(self, row: int) -> Rows:
        """The entries of table ``edges`` that leave a row."""
        return self._places("src", self.edges["src"], row)

    def edges_to(self, row: int) -> Rows:
        """The entries of table ``edges`` that arrive at a row."""
        return self._places("dst", self.edges["dst"], row)

    def accesses_of(self, row: int) -> tuple[Access, ...]:
        """Every access of a row, oldest first."""
        table = self.accesses
        return tuple(
            Access(
                node=self.id(row),
                at=EPOCH + timedelta(seconds=float(table["at"][place])),
                touch=TOUCHES[table["touches"][place]],
                strength=float(table["strengths"][place]),
                seq=int(table["seq"][place]),
            )
            for place in self._places("accesses", table["rows"], row)
        )

    def document_rows(self, document: NodeId) -> Rows:
        """The rows of a document that was stored in pieces, in their order."""
        number = self.documents.number(document)
        rows = np.flatnonzero(self.nodes["documents"] == number) if number >= 0 else np.empty(0, np.intp)
        return rows[np.argsort(self.nodes["positions"][rows], kind="stable")]

    @cached_property
    def _groups(self) -> dict[str, Groups]:
        return dict(self._parent.groups) if self._parent is not None else {}

    def _places(self, name: str, values: Values, key: int) -> Rows:
        groups = self._groups.get(name)
        if groups is None or not groups.fits(values):
            groups = self._groups[name] = Groups(values)
        return groups.places(values, key)

    def _derived(self) -> "_Derived":
        known = self.__dict__
        both = "previous" in known and "kinship" in known
        return _Derived(
            groups=dict(self._groups),
            previous=self.previous if both else None,
            kinship=self.kinship if both else None,
        )

    # ---- growth

    def plus(self, change: Change) -> "Graph":
        """Grow by a committed change; this graph stays as it is.

        Costs what the change holds. Forgetting costs the size of the graph, and so does closing an interval, once.
        """
        graph = self._without(change.forgotten) if change.forgotten else self
        graph = _with_nodes(graph, change) if change.nodes else replace(graph, _parent=graph._derived())
        graph = _with_vectors(graph, change)
        graph = _with_edges(graph, change.edges)
        graph = _with_ends(graph, change.superseded)
        graph = _with_accesses(graph, change.accesses)
        return replace(graph, revision=change.revision)

    def _without(self, forgotten: Sequence[Forgotten]) -> "Graph":
        barred = self.barred | {gone.node for gone in forgotten} | {gone.digest for gone in forgotten}
        keep = np.ones(len(self), np.bool_)
        keep[self.rows(gone.node for gone in forgotten)] = False
        if keep.all():
            return replace(self, barred=barred)
        moved = np.cumsum(keep) - 1  # old row -> new row

        def kept(table: Table, *row_columns: str) -> Table:
            mask = np.ones(len(table), np.bool_)
            for name in row_columns:
                mask &= keep[table[name]]
            shorter = table.keep(mask)
            return shorter.put(np.arange(len(shorter)), **{name: moved[shorter[name]] for name in row_columns})

        nodes = self.nodes.keep(keep)
        return Graph(
            nodes=nodes,
            words=kept(self.words, "rows"),
            told=kept(self.told, "rows"),
            vectored=kept(self.vectored, "rows"),
            vectors=Column(self.vectors.view[keep[self.vectored["rows"]]]),
            edges=kept(self.edges, "src", "dst"),
            accesses=kept(self.accesses, "rows"),
            speakers=self.speakers,
            sessions=self.sessions,
            documents=self.documents,
            sources=self.sources,
            barred=barred,
            _index={node: row for row, node in enumerate(nodes["ids"])},
        )


@dataclass(frozen=True, slots=True)
class _Derived:
    """What a grown graph may keep of its parent's derived columns."""

    groups: dict[str, Groups]
    previous: Rows | None
    kinship: Scores | None


def _with_nodes(graph: Graph, change: Change) -> Graph:
    nodes, first = change.nodes, len(graph)
    speakers = graph.speakers.plus(node.speaker for node in nodes)
    sessions = graph.sessions.plus(node.session for node in nodes)
    documents = graph.documents.plus(node.document for node in nodes)
    sources = graph.sources.plus(node.source for node in nodes)
    readings = [change.readings.get(node.id) for node in nodes]
    table = graph.nodes.plus(
        ids=[node.id for node in nodes],
        kinds=[KINDS.index(node.kind) for node in nodes],
        seq=[node.seq for node in nodes],
        happened=[seconds(node.happened_at) for node in nodes],
        recorded=[seconds(node.recorded_at) for node in nodes],
        valid_from=[-np.inf if node.valid_from is None else seconds(node.valid_from) for node in nodes],
        valid_to=[np.inf if node.valid_to is None else seconds(node.valid_to) for node in nodes],
        closed=[np.inf if node.valid_to is None else seconds(node.recorded_at) for node in nodes],
        trust=[node.trust for node in nodes],
        speakers=speakers.coded([node.speaker for node in nodes]),
        sessions=sessions.coded([node.session for node in nodes]),
        documents=documents.coded([node.document for node in nodes]),
        sources=sources.coded([node.source for node in nodes]),
        positions=[node.position for node in nodes],
        lengths=[0 if reading is None else reading.length for reading in readings],
        questions=[reading is not None and reading.question for reading in readings],
        metadata=[node.metadata or None for node in nodes],
    )
    # Rows beyond its length mean nothing to the graph this one grows from; a second growth needs an index of its own.
    index = graph._index if len(graph._index) == first else {id_: graph._index[id_] for id_ in graph.nodes["ids"]}
    index.update((node.id, first + i) for i, node in enumerate(nodes))
    read = [(first + i, reading) for i, reading in enumerate(readings) if reading is not None]
    told = [(row, seconds(time.start), seconds(time.end)) for row, reading in read for time in reading.told]
    return replace(
        graph,
        nodes=table,
        words=graph.words.plus(
            rows=np.repeat([row for row, _ in read], [len(reading.words) for _, reading in read]),
            words=_joined([reading.words for _, reading in read], np.uint32),
            counts=_joined([reading.counts for _, reading in read], np.uint8),
        ),
        told=graph.told.plus(rows=[t[0] for t in told], starts=[t[1] for t in told], ends=[t[2] for t in told]),
        speakers=speakers,
        sessions=sessions,
        documents=documents,
        sources=sources,
        _index=index,
        _parent=graph._derived(),
    )


def _with_vectors(graph: Graph, change: Change) -> Graph:
    known = {node: row for node in change.vectors if (row := graph.row(node)) is not None}
    if not known:
        return graph
    values = np.stack([change.vectors[node] for node in known]).astype(np.float32)
    vectors = graph.vectors if graph.vectors.view.shape[1:] == values.shape[1:] else Column(values[:0])
    late = not known.keys() <= {node.id for node in change.nodes}  # then what was derived from vectors is out of date
    return replace(
        graph,
        vectored=graph.vectored.plus(rows=list(known.values())),
        vectors=vectors.plus(values),
        _parent=None if late else graph._parent,
    )


def _with_edges(graph: Graph, edges: Sequence[Edge]) -> Graph:
    ends = [(graph.row(edge.src), graph.row(edge.dst), edge) for edge in edges]
    whole = [(src, dst, edge) for src, dst, edge in ends if src is not None and dst is not None]
    if not whole:
        return graph
    table = graph.edges.plus(
        src=[src for src, _, _ in whole],
        dst=[dst for _, dst, _ in whole],
        links=[LINKS.index(edge.link) for _, _, edge in whole],
        weights=[edge.weight for _, _, edge in whole],
    )
    return replace(graph, edges=table)


def _with_ends(graph: Graph, superseded: Sequence[Superseded]) -> Graph:
    rows = graph.rows(end.node for end in superseded)
    if not len(rows):
        return graph
    known = [end for end in superseded if graph.row(end.node) is not None]
    ends, closed = [seconds(end.valid_to) for end in known], [seconds(end.recorded_at) for end in known]
    return replace(graph, nodes=graph.nodes.put(rows, valid_to=ends, closed=closed))


def _with_accesses(graph: Graph, accesses: Sequence[Access]) -> Graph:
    known = [(row, access) for access in accesses if (row := graph.row(access.node)) is not None]
    if not known:
        return graph
    table = graph.accesses.plus(
        rows=[row for row, _ in known],
        at=[seconds(access.at) for _, access in known],
        seq=[access.seq for _, access in known],
        touches=[TOUCHES.index(access.touch) for _, access in known],
        strengths=[access.strength for _, access in known],
    )
    return replace(graph, accesses=table)


def _joined(arrays: Sequence[NDArray[np.generic]], dtype: type[np.generic]) -> Values:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)
