"""A cache of the graph of one scope, updated from its store; and a graph as bytes, so that a scope opens faster.

The bytes, a snapshot without the vectors, are a header in JSON and then the columns, one after another. They are read
only by the version of the format that wrote them, and only if their checksum is right.
"""

import json
import threading
import zlib
from collections.abc import Iterable, Mapping
from itertools import accumulate
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import StoreReplaced
from ..model.graph import media_spaces
from ..model.graph.columns import Column, InvertedIndex, Table, Values, Vocabulary
from ..model.graph.graph import TERMS, Graph, InheritedColumns, PreviousCosines, TurnOrder
from ..model.graph.updates import apply_batch
from ..model.graph.vectors import VectorColumn
from ..model.ports import SnapshotStore, Store, StoredSnapshot, StoredVectors
from ..model.types import LogRetention, Rows, WriteBatch

FORMAT = 1
"""The version of the format; another meaning of a column needs another number."""
MIN_ROWS = 1_000
"""A smaller graph is read from the rows of its store in no time."""
MAX_NEW_SHARE = 0.05
"""A snapshot is renewed at closing when so much of a graph is not in it."""
BULK_NEW_SHARE = 0.5
"""A snapshot is renewed during many writes when so much of a graph is not in it: whenever the graph has doubled."""
_TABLES = ("nodes", "terms", "identifiers", "time_mentions", "vector_rows", "english_vector_rows", "edges", "accesses")
_VOCABULARIES = ("speakers", "sessions", "documents", "sources")
_INDEX, _PREVIOUS, _FOLLOWING, _COSINES, _ENGLISH_COSINES = (
    "terms index", "previous rows", "following rows", "previous cosines", "English previous cosines",
)  # fmt: skip
"""The names of the derived columns."""
_CHECKSUM_SIZE = _LENGTH_SIZE = 4


class GraphCache:
    """The graph of one scope, kept up to date from the changes that its store reports."""

    def __init__(self, store: Store, scope: str) -> None:
        self._store = store
        self._scope = scope
        self._lock = threading.Lock()
        self._graph = Graph()
        self._saved_rows = 0
        self._is_loaded = False
        self.embedder_name: str | None = None
        self.english_embedder_name: str | None = None

    def refresh(self) -> Graph:
        """The graph as of the last commit of any process."""
        with self._lock:
            if not self._is_loaded:
                self._load_snapshot()
            return self._grow(self._store.changes_since(self._scope, self._graph.revision))

    def save(self, *, new_share: float = MAX_NEW_SHARE) -> None:
        """Keep a snapshot of the graph with its store, if more than ``new_share`` of it is not in the latest one."""
        with self._lock:
            if isinstance(self._store, SnapshotStore) and is_due(self._graph, self._saved_rows, new_share):
                value = to_bytes(self._graph)
                self._store.write_graph_snapshot(self._scope, self._graph.revision, value)
                self._saved_rows = len(self._graph)

    def apply(self, batch: WriteBatch) -> Graph:
        """Add a committed write batch, and return the graph."""
        with self._lock:
            if batch.revision == self._graph.revision + 1 and not batch.switch_embedder and batch.undoes is None:
                return self._grow(batch)
            return self._grow(self._store.changes_since(self._scope, self._graph.revision))

    def _load_snapshot(self) -> None:
        """Start from the snapshot that the store has, if it is sound."""
        stored = self._store.graph_snapshot(self._scope) if isinstance(self._store, SnapshotStore) else None
        found = None if stored is None else to_graph(stored)
        if found is not None:
            self._graph, self._saved_rows = found, len(found)
        self._is_loaded = True

    def _grow(self, batch: WriteBatch) -> Graph:
        if batch.switch_embedder:  # other vectors: nothing of the old ones may stay
            self._graph, self._saved_rows, self.english_embedder_name = Graph(), 0, None
            batch = self._store.changes_since(self._scope, 0)
        if batch.revision < self._graph.revision:  # revisions only grow: it is another scope, or none any more
            raise StoreReplaced(
                f"scope {self._scope!r} was renamed, or replaced by another, while the memory was open; close this "
                "memory and open it again, by the scope's new name"
            )
        self.embedder_name = batch.embedder or self.embedder_name
        self.english_embedder_name = batch.english_embedder or self.english_embedder_name
        if batch.revision > self._graph.revision:
            self._graph = apply_batch(self._graph, batch)
        return self._graph


def is_due(graph: Graph, saved_rows: int, new_share: float = MAX_NEW_SHARE) -> bool:
    """Whether a snapshot should be written of a graph, of which the latest one has so many rows."""
    return len(graph) >= MIN_ROWS and len(graph) - saved_rows > new_share * len(graph)


def to_bytes(graph: Graph) -> bytes:
    """The columns of a graph, without the vectors, and of what follows from them what takes longest to derive."""
    columns = {
        f"{table}.{name}": getattr(graph, table)[name] for table in _TABLES for name in getattr(graph, table).names()
    }
    arrays = {name: values for name, values in columns.items() if values.dtype != np.object_}
    arrays |= _derived_arrays(graph)
    header = {
        "format": FORMAT,
        "rows": len(graph),
        "columns": [[name, values.dtype.str, len(values)] for name, values in arrays.items()],
        "ids": graph.nodes["ids"].tolist(),
        "metadata": {row: one for row, one in enumerate(graph.nodes["metadata"].tolist()) if one},
        "names": {name: getattr(graph, name).names for name in _VOCABULARIES},
        "tombstones": [one.hex() if isinstance(one, bytes) else [one] for one in graph.tombstones],
        "cursors": dict(graph.cursors),
        "retention": [graph.retention.through_seq, graph.retention.keep_last],
    }
    head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    parts = [len(head).to_bytes(_LENGTH_SIZE, "little"), head, *(values.tobytes() for values in arrays.values())]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join([checksum.to_bytes(_CHECKSUM_SIZE, "little"), *parts])


def to_graph(stored: StoredSnapshot) -> Graph | None:
    """The graph of a snapshot; None if it is damaged, has another format, or lacks vectors."""
    checksum, value = stored.value[:_CHECKSUM_SIZE], memoryview(stored.value)[_CHECKSUM_SIZE:]
    if not value or zlib.crc32(value) != int.from_bytes(checksum, "little"):
        return None
    end = _LENGTH_SIZE + int.from_bytes(value[:_LENGTH_SIZE], "little")
    header: Mapping[str, Any] = json.loads(bytes(value[_LENGTH_SIZE:end]).decode("utf-8", "surrogatepass"))
    if header["format"] != FORMAT:
        return None
    arrays = dict(_read_arrays(header["columns"], value[end:]))
    ids = header["ids"]
    metadata = np.full(len(ids), None, np.object_)
    for row, one in header["metadata"].items():
        metadata[int(row)] = one
    if not arrays.keys() >= {_INDEX, _PREVIOUS, _FOLLOWING, _COSINES, _ENGLISH_COSINES}:
        return None
    arrays |= {"nodes.ids": np.array(ids, np.object_), "nodes.metadata": metadata}
    empty, parts = Graph(), dict[str, Any]()
    for table in _TABLES:
        names = [f"{table}.{name}" for name in getattr(empty, table).names()]
        if not all(name in arrays for name in names):
            return None
        parts[table] = Table({name.partition(".")[2]: Column(arrays[name]) for name in names})
    parts |= {name: Vocabulary(tuple(header["names"][name])) for name in _VOCABULARIES}
    row_by_id = {id_: row for row, id_ in enumerate(ids)}
    seqs = parts["nodes"]["seq"]
    vectors = _in_order(stored.vectors, seqs, parts["vector_rows"]["rows"])
    english_vectors = _in_order(stored.english_vectors, seqs, parts["english_vector_rows"]["rows"])
    if vectors is None or english_vectors is None:
        return None
    return Graph(
        revision=stored.revision,
        **parts,
        vectors=vectors,
        english_vectors=english_vectors,
        media_spaces=media_spaces.with_vectors(media_spaces.no_media(), stored.media_vectors, row_by_id),
        tombstones=frozenset(bytes.fromhex(one) if isinstance(one, str) else one[0] for one in header["tombstones"]),
        cursors=MappingProxyType(header["cursors"]),
        retention=LogRetention(*header["retention"]),
        _row_by_id=row_by_id,
        _parent=_inherited_columns(arrays),
    )


def _derived_arrays(graph: Graph) -> dict[str, Values]:
    """The derived columns that take longest."""
    graph.postings(np.zeros(0, np.uint32))  # makes the index
    rows = {
        _INDEX: graph.columns_to_inherit(has_same_nodes=False).indexes[TERMS].positions,
        _PREVIOUS: graph.turn_order.previous,
        _FOLLOWING: graph.turn_order.following,
    }
    cosines = {_COSINES: graph.previous_cosine, _ENGLISH_COSINES: graph.english_previous_cosine}
    return {**{name: values.astype(np.int32) for name, values in rows.items()}, **cosines}


def _inherited_columns(arrays: Mapping[str, Values]) -> InheritedColumns:
    positions, previous, following = (arrays[name].astype(np.intp) for name in (_INDEX, _PREVIOUS, _FOLLOWING))
    return InheritedColumns(
        indexes={TERMS: InvertedIndex(arrays["terms.hashes"], positions)},
        derivations={},
        log_derivations={},
        has_same_nodes=False,
        turn_order=TurnOrder(previous, following),
        lengths=None,
        previous_cosines=PreviousCosines(previous, arrays[_COSINES]),
        english_previous_cosines=PreviousCosines(previous, arrays[_ENGLISH_COSINES]),
    )


def _read_arrays(columns: list[tuple[str, str, int]], value: memoryview) -> Iterable[tuple[str, Values]]:
    types = [(name, np.dtype(kind), length) for name, kind, length in columns]
    sizes = [kind.itemsize * length for _, kind, length in types]
    for (name, kind, length), start in zip(types, accumulate(sizes, initial=0), strict=False):
        yield name, np.frombuffer(value, kind, length, start)


def _in_order(stored: StoredVectors, seqs: Rows, rows: Rows) -> VectorColumn | None:
    """The vectors of some rows, in the order of ``rows``; None if one is missing."""
    known_rows = np.searchsorted(seqs, stored.seqs)
    places = np.searchsorted(known_rows, rows)
    if len(rows) and (not len(known_rows) or (known_rows[np.minimum(places, len(known_rows) - 1)] != rows).any()):
        return None
    return stored.values.select(places)
