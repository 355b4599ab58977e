"""One scope's memory as columns, immutable, made for recall. ``plus`` grows it; nothing reloads it. No text, no I/O.

Rows are numbered in order of ``seq``. A grown graph and a reloaded one are equal row for row: the store contract of
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

from .columns import Codes, Column, Groups, Table, Values
from .model import (
    MENTIONING,
    NOTHING_EXPIRED,
    TELLING,
    Access,
    Change,
    Edge,
    Expiry,
    Kind,
    Link,
    Mask,
    NodeId,
    Rows,
    Scores,
    Superseded,
    Touch,
)
from .reprs import call_repr

KINDS = tuple(Kind)
LINKS = tuple(Link)
TOUCHES = tuple(Touch)
_KIND_NUMBER = {kind: number for number, kind in enumerate(KINDS)}
_LINK_NUMBER = {link: number for number, link in enumerate(LINKS)}
_TOUCH_NUMBER = {touch: number for number, touch in enumerate(TOUCHES)}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SESSION_GAP = 3600.0
"""Spoken turns without a session belong together while no more than this many seconds lie between them."""


def seconds(time: datetime) -> float:
    """A time as seconds since 1970, the unit of every time column."""
    return time.timestamp()


def _nodes() -> Table:
    return Table.of(
        ids=object, kinds="i1", seq="i8", happened="f8", recorded="f8", valid_from="f8", valid_to="f8", closed="f8",
        trust="f4", speakers="i4", sessions="i4", documents="i4", sources="i4", positions="i4", lengths="i4",
        questions="?", metadata=object,
    )  # fmt: skip


def _accesses() -> Table:
    return Table.of(rows="i4", at="f8", seq="i8", touches="i1", strengths="f4", nths="i4")


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Earlier(Generic[T]):
    """A derived value as an earlier graph of the same line had it, and the sizes of that graph's tables.

    What lies beyond these sizes in the tables of the graph at hand came since. ``log`` says that it depends on the
    access log.
    """

    value: T
    nodes: int
    edges: int
    accesses: int
    log: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """The memory graph of one scope at one revision.

    Tables: ``nodes`` (one entry a row; ``valid_to`` is infinite while open, ``closed`` is when that end was recorded),
    ``words`` (distinct words of each row), ``told`` (times each row's text speaks of), ``vectored`` with ``vectors``
    (rows that have a vector), ``edges`` (``evidence`` is the row that shows one, -1 for its own source), ``accesses``.
    Times are seconds since 1970. Speakers, sessions, documents and
    sources are numbers into ``speakers`` and so on, -1 for none. ``barred`` are the ids and digests of what was
    forgotten on purpose. ``marks`` say how far each sleeper has come, ``expiry`` what of the access log is left.
    """

    revision: int = 0
    nodes: Table = field(default_factory=_nodes)
    words: Table = field(default_factory=lambda: Table.of(rows="i4", words="u4", counts="u1"))
    told: Table = field(default_factory=lambda: Table.of(rows="i4", starts="f8", ends="f8"))
    vectored: Table = field(default_factory=lambda: Table.of(rows="i4"))
    vectors: Column = field(default_factory=lambda: Column(np.empty((0, 0), np.float32)))
    edges: Table = field(default_factory=lambda: Table.of(src="i4", dst="i4", links="i1", weights="f4", evidence="i4"))
    accesses: Table = field(default_factory=_accesses)
    speakers: Codes = field(default_factory=Codes)
    sessions: Codes = field(default_factory=Codes)
    documents: Codes = field(default_factory=Codes)
    sources: Codes = field(default_factory=Codes)
    barred: frozenset[NodeId | bytes] = frozenset()
    marks: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    expiry: Expiry = NOTHING_EXPIRED
    _index: dict[NodeId, int] = field(default_factory=dict, repr=False)
    _parent: "_Derived | None" = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        sizes = {"nodes": len(self), "edges": len(self.edges), "vectors": len(self.vectored)}
        return call_repr("Graph", revision=self.revision, **sizes)

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

    @cached_property
    def lengths_in_context(self) -> tuple[NDArray[np.int32], float]:
        """The words of each row and the row before it together, and their mean over episodes, at least 1."""
        lengths, before = self.nodes["lengths"], self.previous
        both = lengths + np.where(before >= 0, lengths[before], 0)
        among = both[self.episodes]
        return both, max(1.0, float(among.mean())) if len(among) else 1.0

    def postings(self, words: NDArray[np.uint32]) -> tuple[Rows, Rows]:
        """The entries of table ``words`` that hold any of some distinct words, and for each the number of its word."""
        return self._places("words", self.words["words"], words)

    def edges_from(self, rows: Rows) -> tuple[Rows, Rows]:
        """The entries of table ``edges`` that leave some distinct rows, and for each the number of its row."""
        return self._places("src", self.edges["src"], rows)

    def edges_to(self, rows: Rows) -> tuple[Rows, Rows]:
        """The entries of table ``edges`` that arrive at some distinct rows, and for each the number of its row."""
        return self._places("dst", self.edges["dst"], rows)

    def named_by(self, rows: Rows) -> Rows:
        """The entities that some rows mention or are about, ascending."""
        places, _ = self.edges_from(np.unique(rows))
        named = np.unique(self.edges["dst"][places])
        return named[self.of_kind(Kind.ENTITY)[named]]

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
                nth=int(table["nths"][place]),
            )
            for place in self._places("accesses", table["rows"], np.array([row]))[0]
        )

    def document_rows(self, document: NodeId) -> Rows:
        """The rows of a document that was stored in pieces, in their order."""
        number = self.documents.number(document)
        rows = np.flatnonzero(self.nodes["documents"] == number) if number >= 0 else np.empty(0, np.intp)
        return rows[np.argsort(self.nodes["positions"][rows], kind="stable")]

    def derived(self, name: Hashable, make: "Callable[[Graph, Earlier[T] | None], T]", *, log: bool = False) -> T:
        """A value that follows from this graph, made once; ``make`` gets what an earlier graph had, if there is one.

        What an earlier graph had may be built upon only as far as it depends on what grows by appending: nodes, words,
        vectors, edges and accesses. ``previous`` and the ends of intervals change in the middle. Forgetting and
        embedding anew begin a new line. A value that depends on accesses must say so by ``log``: it is made anew when
        some were logged, and begins a new line when some have expired.
        """
        known = self._memo.get(name)
        sizes = (len(self), len(self.edges), len(self.accesses))
        if known is None or (known.nodes, known.edges, known.accesses if log else sizes[2]) != sizes:
            known = self._memo[name] = Earlier(make(self, known), *sizes, log)
        value: T = known.value
        return value

    @cached_property
    def _memo(self) -> dict[Hashable, Earlier[Any]]:
        return dict(self._parent.memo) if self._parent is not None else {}

    @cached_property
    def _groups(self) -> dict[str, Groups]:
        return dict(self._parent.groups) if self._parent is not None else {}

    def _places(self, name: str, values: Values, keys: Values) -> tuple[Rows, Rows]:
        groups = self._groups.get(name)
        if groups is None or not groups.fits(values):
            groups = self._groups[name] = Groups(values)
        return groups.places(values, keys.astype(values.dtype))

    def _derived(self) -> "_Derived":
        known = self.__dict__
        both = "previous" in known and "kinship" in known
        return _Derived(
            groups=dict(self._groups),
            memo=dict(self._memo),
            previous=self.previous if both else None,
            kinship=self.kinship if both else None,
        )

    # ---- growth

    def plus(self, change: Change) -> "Graph":
        """Grow by a committed change; this graph stays as it is.

        Costs what the change holds. Forgetting costs the size of the graph, and so does closing an interval, once.
        """
        base = self
        if len(self._index) != len(self):  # another graph grew from this one and shares its index
            base = replace(self, _index={node: row for row, node in enumerate(self.nodes["ids"])})
        if change.forgotten:
            base = base._without(change)
        graph = _with_nodes(base, change) if change.nodes else base
        graph = _with_vectors(graph, change)
        graph = _with_edges(graph, change.edges)
        graph = _with_ends(graph, change.superseded)
        graph = _with_accesses(graph, change)
        late = len(base) > 0 and any(base.row(node) is not None for node in change.vectors)
        marks = MappingProxyType({**base.marks, **change.marks}) if change.marks else base.marks
        parent = None if late else base._derived()
        if change.expiry.seq > base.expiry.seq:
            graph = _without_expired(graph, change.expiry)
            parent = parent and parent.without_log()
        grown = replace(graph, revision=change.revision, marks=marks, _parent=parent)
        if len(grown) == len(base) and not late:  # what follows from the nodes alone follows still
            grown.__dict__.update({name: base.__dict__[name] for name in _FROM_NODES if name in base.__dict__})
        return grown

    def _orphaned(self, keep: Mask, change: Change) -> Rows:
        """The names that nothing mentions once only the rows under a mask stay; stores drop them likewise."""
        src, dst = self.edges["src"], self.edges["dst"]
        mentions = np.isin(self.edges["links"], [_LINK_NUMBER[link] for link in MENTIONING])
        shown = self.edges["evidence"]
        stays = keep[src] & (keep[shown] | (shown < 0))
        left = np.unique(dst[mentions & ~stays])
        left = left[self.of_kind(Kind.ENTITY)[left]]
        left = left[~np.isin(left, dst[mentions & stays])]
        # A name that was mentioned again before its last mention went has stayed all the while.
        made = {node.id for node in change.nodes}
        again = self.rows(edge.dst for edge in change.edges if edge.link in MENTIONING and edge.dst not in made)
        return left[~np.isin(left, again)]

    def _telling(self, gone: Mask) -> Rows:
        """What tells of any of some rows, as an insight of its sources; of insights upon insights, all."""
        tells = np.isin(self.edges["links"], [_LINK_NUMBER[link] for link in TELLING.values()])
        src, dst = self.edges["src"][tells], self.edges["dst"][tells]
        lost, count = gone.copy(), -1
        while count != lost.sum():
            count = lost.sum()
            lost[src[lost[dst]]] = True
        return np.flatnonzero(lost & ~gone & np.isin(self.nodes["kinds"], [_KIND_NUMBER[kind] for kind in TELLING]))

    def _without(self, change: Change) -> "Graph":
        forgotten = change.forgotten
        barred = self.barred | {gone.node for gone in forgotten} | {gone.digest for gone in forgotten}
        keep = np.ones(len(self), np.bool_)
        keep[self.rows(gone.node for gone in forgotten)] = False
        keep[self._telling(~keep)] = False
        keep[self._orphaned(keep, change)] = False
        if keep.all():
            return replace(self, barred=barred)
        moved = np.cumsum(keep) - 1  # old row -> new row

        def kept(table: Table, *row_columns: str) -> Table:
            mask = np.ones(len(table), np.bool_)
            for name in row_columns:
                mask &= keep[table[name]]
            shorter = table.keep(mask)
            return shorter.put(np.arange(len(shorter)), **{name: moved[shorter[name]] for name in row_columns})

        edges = self.edges.keep(keep[self.edges["evidence"]] | (self.edges["evidence"] < 0))  # shown by what stays
        edges = kept(edges, "src", "dst")
        shown = edges["evidence"]
        nodes = self.nodes.keep(keep)
        codes = {
            name: getattr(self, name).keep(nodes[name]) for name in ("speakers", "sessions", "documents", "sources")
        }
        return Graph(
            nodes=nodes.put(np.arange(len(nodes)), **{name: numbers for name, (_, numbers) in codes.items()}),
            words=kept(self.words, "rows"),
            told=kept(self.told, "rows"),
            vectored=kept(self.vectored, "rows"),
            vectors=Column(self.vectors.view[keep[self.vectored["rows"]]]),
            edges=edges.put(np.arange(len(edges)), evidence=np.where(shown < 0, -1, moved[shown])),
            accesses=kept(self.accesses, "rows"),
            **{name: names for name, (names, _) in codes.items()},
            barred=barred,
            marks=self.marks,
            expiry=self.expiry,
            _index={node: row for row, node in enumerate(nodes["ids"])},
        )


_FROM_NODES = (
    "episodes", "previous", "following", "vector_places", "kinship", "mean_length", "lengths_in_context",
)  # fmt: skip
"""Derived columns that depend on nodes and vectors only."""


@dataclass(frozen=True, slots=True)
class _Derived:
    """What a grown graph may keep of its parent's derived columns."""

    groups: dict[str, Groups]
    memo: dict[Hashable, Earlier[Any]]
    previous: Rows | None
    kinship: Scores | None

    def without_log(self) -> "_Derived":
        """What of it does not depend on the access log."""
        groups = {name: known for name, known in self.groups.items() if name != "accesses"}
        return replace(self, groups=groups, memo={name: known for name, known in self.memo.items() if not known.log})


def _with_nodes(graph: Graph, change: Change) -> Graph:
    nodes, first = change.nodes, len(graph)
    speakers = graph.speakers.plus(node.speaker for node in nodes)
    sessions = graph.sessions.plus(node.session for node in nodes)
    documents = graph.documents.plus(node.document for node in nodes)
    sources = graph.sources.plus(node.source for node in nodes)
    readings = [change.readings.get(node.id) for node in nodes]
    read = [(first + i, reading) for i, reading in enumerate(readings) if reading is not None]
    words = _joined([reading.words for _, reading in read], np.uint32)
    counts = _joined([reading.counts for _, reading in read], np.uint8)
    word_rows = np.repeat([row for row, _ in read], [len(reading.words) for _, reading in read]).astype(np.intp)
    table = graph.nodes.plus(
        ids=[node.id for node in nodes],
        kinds=[_KIND_NUMBER[node.kind] for node in nodes],
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
        lengths=np.bincount(word_rows - first, counts, minlength=len(nodes)),
        questions=[reading is not None and reading.question for reading in readings],
        metadata=[node.metadata or None for node in nodes],
    )
    # The index is shared with the graph this one grows from, which takes no notice of rows beyond its length.
    index = graph._index
    index.update((node.id, first + i) for i, node in enumerate(nodes))
    told = [(row, seconds(time.start), seconds(time.end)) for row, reading in read for time in reading.told]
    return replace(
        graph,
        nodes=table,
        words=graph.words.plus(rows=word_rows, words=words, counts=counts),
        told=graph.told.plus(rows=[t[0] for t in told], starts=[t[1] for t in told], ends=[t[2] for t in told]),
        speakers=speakers,
        sessions=sessions,
        documents=documents,
        sources=sources,
        _index=index,
    )


def _with_vectors(graph: Graph, change: Change) -> Graph:
    index = graph._index
    known = {node: index[node] for node in change.vectors if node in index}
    if not known:
        return graph
    values = np.stack([change.vectors[node] for node in known])
    places = graph.vector_places[list(known.values())]
    if (places >= 0).any():  # embedded anew
        stays = np.ones(len(graph.vectored), np.bool_)
        stays[places[places >= 0]] = False
        graph = replace(graph, vectored=graph.vectored.keep(stays), vectors=Column(graph.vectors.view[stays]))
    vectors = graph.vectors if graph.vectors.view.shape[1:] == values.shape[1:] else Column(values[:0])
    return replace(graph, vectored=graph.vectored.plus(rows=list(known.values())), vectors=vectors.plus(values))


def _with_edges(graph: Graph, edges: Sequence[Edge]) -> Graph:
    index = graph._index
    whole = [(index[edge.src], index[edge.dst], edge) for edge in edges if edge.src in index and edge.dst in index]
    if not whole:
        return graph
    table = graph.edges.plus(
        src=[src for src, _, _ in whole],
        dst=[dst for _, dst, _ in whole],
        links=[_LINK_NUMBER[edge.link] for _, _, edge in whole],
        weights=[edge.weight for _, _, edge in whole],
        evidence=[-1 if edge.evidence is None else index.get(edge.evidence, -1) for _, _, edge in whole],
    )
    return replace(graph, edges=table)


def _with_ends(graph: Graph, superseded: Sequence[Superseded]) -> Graph:
    rows = graph.rows(end.node for end in superseded)
    if not len(rows):
        return graph
    known = [end for end in superseded if graph.row(end.node) is not None]
    ends, closed = [seconds(end.valid_to) for end in known], [seconds(end.recorded_at) for end in known]
    return replace(graph, nodes=graph.nodes.put(rows, valid_to=ends, closed=closed))


def _with_accesses(graph: Graph, change: Change) -> Graph:
    """Log the accesses of a change, and that each new episode was encoded: its ``seq`` and time say so already."""
    index, nodes = graph._index, graph.nodes
    logged = [access for access in change.accesses if access.node in index]
    new = np.flatnonzero(graph.of_kind(Kind.EPISODE)[len(graph) - len(change.nodes) :]) + len(graph) - len(change.nodes)
    if not logged and not len(new):
        return graph
    encoded = np.full(len(new), _TOUCH_NUMBER[Touch.ENCODED])
    seq = np.concatenate([nodes["seq"][new], [access.seq for access in logged]])
    order = np.argsort(seq, kind="stable")
    table = graph.accesses.plus(
        seq=seq[order],
        rows=np.concatenate([new, [index[access.node] for access in logged]])[order],
        at=np.concatenate([nodes["recorded"][new], [seconds(access.at) for access in logged]])[order],
        touches=np.concatenate([encoded, [_TOUCH_NUMBER[access.touch] for access in logged]])[order],
        strengths=np.concatenate([np.ones(len(new)), [access.strength for access in logged]])[order],
        nths=np.concatenate([np.ones(len(new)), [access.nth for access in logged]])[order],
    )
    return replace(graph, accesses=table)


def _without_expired(graph: Graph, expiry: Expiry) -> Graph:
    """Drop what has expired of the access log, as stores do; that an episode was encoded when it was stored stays."""
    table = graph.accesses
    seq, nths = table["seq"], table["nths"]
    of_kind = table["rows"].astype(np.intp) * len(TOUCHES) + table["touches"]  # a number for each node and kind
    old = seq <= expiry.seq
    last = np.zeros(len(graph) * len(TOUCHES), np.int64)
    np.maximum.at(last, of_kind[old], nths[old])
    stays = (nths > last[of_kind] - expiry.kept) | (seq == graph.nodes["seq"][table["rows"]])
    return replace(graph, accesses=table if stays.all() else table.keep(stays), expiry=expiry)


def _joined(arrays: Sequence[NDArray[np.generic]], dtype: type[np.generic]) -> Values:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)
