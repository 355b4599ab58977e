"""CrewAI: a memory as the storage of a crew's memory (``StorageBackend`` of crewai 1.15).

A record of CrewAI is a memory with the record's content; its vector, made by CrewAI's embedder, is in the metadata.
"""

import asyncio
import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..memory import Memory
from ..model.conditions import Condition, Contains, Eq
from ..model.ids import content_id
from ..model.ports import Embedder
from ..model.reprs import show
from ..model.text_format import replace_surrogates, strip_invisible
from ..model.types import Episode, Filter, Node
from ..model.validation import check_component, check_name
from .records import CONTENT, EMPTY, KEY, KIND, find_all

try:
    from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
    from crewai.memory.types import MemoryRecord, ScopeInfo
except ImportError as error:
    raise ImportError("CrewAI is not installed; run: pip install 'ecphora[crewai]'") from error

RECORDS = "crewai"
"""The kind of the records; in a storage the name of the storage follows."""
SCOPES, CATEGORIES, VECTOR, RECORD = "crewai_scopes", "crewai_categories", "crewai_vector", "crewai_record"
"""Metadata: the scope and all above it, the categories, the vector as base64 of float32, and other fields as JSON."""
ROOT = "/"


@dataclass(frozen=True, slots=True)
class _Row:
    """A stored record, and its vector of length 1; None without one."""

    record: MemoryRecord
    scopes: tuple[str, ...]
    vector: NDArray[np.float32] | None
    seq: int


class EcphoraStorage:
    """The storage of a CrewAI memory::

        with ecphora.Memory("agent.db") as store:
            memory = crewai.Memory(storage=EcphoraStorage(store), embedder=CrewEmbedder(MiniLMEmbedder()), llm=llm)
            crew = Crew(agents=agents, tasks=tasks, memory=memory)
            crew.kickoff()

    For every crew of a process: ``set_memory_storage_factory(lambda spec: EcphoraStorage(store))``, from
    ``crewai.memory.storage.factory``. ``name`` keeps the records of several storages in one memory apart.

    CrewAI asks with a vector and no text, and ranks by its own formula what comes back. So a search is an exact search
    by the cosine of CrewAI's vectors, and a score is the cosine, at least 0. What is lost: Ecphora's ranking by words,
    names and time, its reranker, evidence, reasons, and ``as_of``. None of this is lost to ``ecphora.Memory``, which
    sees every record as a memory: ``store.recall(question)`` gives all of it for the same texts.

    A record happened when it was created, and its source is the memory's source. Scopes are paths: ``/a`` has ``/a/b``
    within it and not ``/ab``. ``delete`` deletes what meets all that is given, nothing for an empty list, and all
    records if nothing is given. Saving an id again replaces the record. ``last_accessed`` stays as it was saved.
    Vectors are held in memory, as float32; after a write all records are read again, in about 0.1 seconds for 1,000.
    Safe to share between threads.

    Raises CrewAI's ``EmbeddingDimensionMismatchError`` for a vector of another length than those stored, and
    ``InvalidInput`` for what cannot be stored, such as metadata that JSON cannot hold.
    """

    def __init__(self, memory: Memory, name: str = "memory") -> None:
        self.memory = memory
        self.kind = f"{RECORDS}:{check_name('name', name)}"
        self._lock = RLock()
        self._rows: dict[str, _Row] = {}
        self._revision = -1

    def __deepcopy__(self, memo: dict[int, Any]) -> "EcphoraStorage":
        """Itself: CrewAI copies crews, and a copy has the same records."""
        return self

    def save(self, records: Sequence[MemoryRecord]) -> None:
        """Store records, in place of those with the same ids."""
        latest = {record.id: record for record in records}
        with self._lock:
            self._check_dimensions(latest.values())
            episodes = {id_: self._episode(record) for id_, record in latest.items()}
            known = self._read()
            new = [episode for id_, episode in episodes.items() if id_ not in known]
            if new:
                self.memory.remember(new, restore=True)
            for id_, episode in episodes.items():
                if id_ in known:
                    self._replace(episode)

    def search(  # noqa: PLR0917  # the host's parameters
        self,
        query_embedding: Sequence[float],
        scope_prefix: str | None = None,
        categories: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """The records whose vectors are nearest, with the cosine, best first; those without a vector score 0."""
        query = _unit_vector(query_embedding)
        rows = self._matching(scope_prefix, categories or None, metadata_filter)
        if query is None or not rows or limit <= 0:
            return []
        dimension = next((len(row.vector) for row in self._read().values() if row.vector is not None), len(query))
        if dimension != len(query):
            raise EmbeddingDimensionMismatchError(dimension, len(query))
        empty = np.zeros(len(query), np.float32)
        matrix = np.stack([empty if row.vector is None else row.vector for row in rows])
        scores = np.clip(matrix @ query, 0.0, 1.0)
        order = np.argsort(-scores, kind="stable")[:limit]
        return [(_copy(rows[at].record), float(scores[at])) for at in order if scores[at] >= min_score]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: Sequence[str] | None = None,
        record_ids: Sequence[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> int:
        """Erase the records that meet all conditions; returns how many there were."""
        with self._lock:
            rows = self._matching(scope_prefix, categories, metadata_filter)
            wanted = None if record_ids is None else set(record_ids)
            ids = [
                row.record.id
                for row in rows
                if (wanted is None or row.record.id in wanted)
                and (older_than is None or _utc(row.record.created_at) < _utc(older_than))
            ]
            if ids:
                self.memory.forget([self._memory_id(id_) for id_ in ids])
            return len(ids)

    def update(self, record: MemoryRecord) -> None:
        """Store a record in place of the one with the same id."""
        self.save([record])

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """The record with an id, None if there is none."""
        row = self._read().get(record_id)
        return None if row is None else _copy(row.record)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """The records within a scope, the newest first; none for a limit or offset below 0."""
        if limit <= 0 or offset < 0:
            return []
        records = [row.record for row in self._matching(scope_prefix)]
        records.sort(key=lambda record: _utc(record.created_at), reverse=True)
        return [_copy(record) for record in records[offset : offset + limit]]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """How many records a scope and the scopes within it have, their categories and times, and its child scopes."""
        path = _path(scope)
        records = [row.record for row in self._matching(path)]
        times = sorted((record.created_at for record in records), key=_utc)
        return ScopeInfo(
            path=path,
            record_count=len(records),
            categories=sorted({category for record in records for category in record.categories}),
            oldest_record=times[0] if times else None,
            newest_record=times[-1] if times else None,
            child_scopes=self.list_scopes(path),
        )

    def list_scopes(self, parent: str = ROOT) -> list[str]:
        """The scopes immediately within a scope, sorted."""
        path = _path(parent)
        depth = 0 if path == ROOT else path.count("/")
        return sorted({row.scopes[depth + 1] for row in self._matching(path) if len(row.scopes) > depth + 1})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """The categories of the records within a scope, and how many records each has."""
        counts: dict[str, int] = {}
        for row in self._matching(scope_prefix):
            for category in row.record.categories:
                counts[category] = counts.get(category, 0) + 1
        return counts

    def count(self, scope_prefix: str | None = None) -> int:
        """The number of records within a scope."""
        return len(self._matching(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Erase the records within a scope, or all; other memories of the file stay."""
        where: Condition = Eq(KIND, self.kind)
        if scope_prefix is not None and _path(scope_prefix) != ROOT:
            where &= Contains(SCOPES, _path(scope_prefix))
        with self._lock:
            self.memory.forget(where=Filter(metadata=where))

    async def asave(self, records: Sequence[MemoryRecord]) -> None:
        """``save`` in a thread."""
        await asyncio.to_thread(self.save, records)

    async def asearch(  # noqa: PLR0917  # the host's parameters
        self,
        query_embedding: Sequence[float],
        scope_prefix: str | None = None,
        categories: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """``search`` in a thread."""
        return await asyncio.to_thread(
            self.search, query_embedding, scope_prefix, categories, metadata_filter, limit, min_score
        )

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: Sequence[str] | None = None,
        record_ids: Sequence[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> int:
        """``delete`` in a thread."""
        return await asyncio.to_thread(self.delete, scope_prefix, categories, record_ids, older_than, metadata_filter)

    def _memory_id(self, record_id: str) -> str:
        return content_id(self.kind, record_id, prefix=f"{RECORDS}:")

    def _read(self) -> dict[str, _Row]:
        """The records by id, read again if anything was written since."""
        with self._lock:
            revision = self.memory.graph().revision
            if revision != self._revision:
                nodes = find_all(self.memory, Filter(metadata={KIND: self.kind}))
                rows = {key: self._row(key, node) for node in nodes for key in (str(node.metadata[KEY]),)}
                self._rows, self._revision = rows, revision
            return self._rows

    def _row(self, key: str, node: Node) -> _Row:
        """The record that a memory is; the one that was read before, if the memory is still the same."""
        known = self._rows.get(key)
        return known if known is not None and known.seq == node.seq else _parse_row(node)

    def _matching(
        self,
        scope_prefix: str | None = None,
        categories: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> list[_Row]:
        path, wanted = _path(scope_prefix), None if categories is None else set(categories)
        return [
            row
            for row in self._read().values()
            if path in row.scopes
            and (wanted is None or wanted & set(row.record.categories))
            and all(row.record.metadata.get(name) == value for name, value in (metadata_filter or {}).items())
        ]

    def _check_dimensions(self, records: Iterable[MemoryRecord]) -> None:
        """Raise ``EmbeddingDimensionMismatchError`` unless all vectors have one length."""
        stored = next((len(row.vector) for row in self._read().values() if row.vector is not None), 0)
        for record in records:
            given = len(record.embedding or ())
            stored = stored or given
            if given and given != stored:
                raise EmbeddingDimensionMismatchError(stored, given)

    def _episode(self, record: MemoryRecord) -> Episode:
        content = replace_surrogates(record.content)
        text = content if strip_invisible(content).strip() else EMPTY
        fields = record.model_dump(mode="python", exclude={"id", "content", "embedding", "created_at", "last_accessed"})
        times = {"created_at": record.created_at.isoformat(), "last_accessed": record.last_accessed.isoformat()}
        try:
            other = json.dumps({**fields, **times}, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"the record {show(record.id)} cannot be written as JSON: {error}") from error
        metadata: dict[str, Any] = {
            KIND: self.kind,
            KEY: record.id,
            SCOPES: list(_scopes(record.scope)),
            CATEGORIES: list(record.categories),
            RECORD: replace_surrogates(other),
        }
        if record.embedding:
            _unit_vector(record.embedding)  # checks it
            metadata[VECTOR] = base64.b64encode(np.asarray(record.embedding, "<f4").tobytes()).decode()
        if text != content:
            metadata[CONTENT] = content
        id_, created_at = self._memory_id(record.id), _utc(record.created_at)
        return Episode(text, id_, happened_at=created_at, source=record.source or None, metadata=metadata)

    def _replace(self, episode: Episode) -> None:
        assert episode.id is not None  # noqa: S101  # _episode gives one
        self.memory.update(episode.id, episode.text, mode="replace", metadata=episode.metadata, restore=True)


class CrewEmbedder:
    """An embedder of Ecphora for ``crewai.Memory(embedder=...)``: it runs on this machine and needs no key::

        embedder = CrewEmbedder(MiniLMEmbedder())
        memory = crewai.Memory(storage=EcphoraStorage(store), embedder=embedder, llm=llm)

    It returns a list of numbers for each text. Questions and contents are embedded alike, as CrewAI does not say which
    a text is.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = check_component("embedder", embedder, "an embedder", "embed")

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of some texts."""
        return [vector.tolist() for vector in self.embedder.embed([replace_surrogates(text) for text in texts])]

    def __deepcopy__(self, memo: dict[int, Any]) -> "CrewEmbedder":
        """Itself, since models need not be copied."""
        return self


def _parse_row(node: Node) -> _Row:
    fields = json.loads(str(node.metadata[RECORD]))
    content, packed = node.metadata.get(CONTENT, node.text), node.metadata.get(VECTOR)
    vector = None if packed is None else np.frombuffer(base64.b64decode(str(packed)), "<f4").astype(np.float32)
    record = MemoryRecord(
        id=str(node.metadata[KEY]),
        content=str(content),
        embedding=None if vector is None else vector.tolist(),
        **fields,
    )
    return _Row(record, _scopes(record.scope), None if vector is None else _unit_vector(vector), node.seq)


def _copy(record: MemoryRecord) -> MemoryRecord:
    """A record that the caller may change."""
    return record.model_copy(deep=True)


def _unit_vector(vector: Sequence[float] | NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    """A vector of length 1 in the direction of another; None for none, and for one without a direction."""
    if vector is None or not len(vector):
        return None
    array = np.asarray(vector, np.float32)
    length = float(np.linalg.norm(array))
    if array.ndim != 1 or not np.isfinite(length):
        raise InvalidInput(f"the vector {show(vector)} is no list of finite numbers")
    return array / length if length else array


def _path(scope: str | None) -> str:
    """A scope as an absolute path, without a slash at its end or two in a row."""
    return _scopes(scope or ROOT)[-1]


def _scopes(scope: str) -> tuple[str, ...]:
    """The root, and every scope down to one."""
    names = [name for name in scope.split("/") if name]
    return (ROOT, *(f"/{'/'.join(names[: depth + 1])}" for depth in range(len(names))))


def _utc(time: datetime) -> datetime:
    """A time with an offset; CrewAI's own times have none and are in UTC."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time
