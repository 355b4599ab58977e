"""LangGraph: a memory as the store of a graph (``BaseStore`` of langgraph-checkpoint 4.3, as LangGraph 1.2 uses it).

An item is a memory for each of its indexed texts, or one if none is indexed. Every one of them has the item's value, as
JSON, in its metadata. Each chunk of a text would have a copy, so a long value has a memory of its own, the first one,
whose text is the path. A search with a query is a recall: an item ranks by the best of its texts.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any, Self

import numpy as np

from ..errors import InvalidInput, WrongVector
from ..memory import Memory
from ..model.conditions import Condition, Eq, Exists, Gt, In, Lte
from ..model.ports import Clock
from ..model.reprs import show
from ..model.text_format import replace_surrogates, strip_invisible
from ..model.times import utc_now
from ..model.types import Episode, Hit, Metadata, Validity, Vectors
from ..model.validation import (
    MAX_INT,
    MAX_QUESTION_CHARS,
    MAX_TEXT_CHARS,
    check_clock,
    check_count,
    check_name,
    check_number,
    check_time,
)
from ..recall.recollection import Recollection
from .records import KIND, MemoryOwner, Record, Records, record_of_hit

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
        validate_op_namespace,
    )
except ImportError as error:
    raise ImportError("LangGraph is not installed; run: pip install 'ecphora[langgraph]'") from error

RECORDS = "langgraph"
"""The kind of the records."""
ITEM, PART, INDEXED, WITHIN, VALUE = "item", "item_part", "item_indexed", "item_within", "item_value"
"""Metadata: the path of the item, the number of the text, whether a query may find it, its namespaces, and the value.

The path is the namespace and the key as JSON. ``WITHIN`` has the namespace and all above it, each as JSON.
"""
PARTS, CREATED, UPDATED, TTL, EXPIRES = "item_parts", "item_created", "item_updated", "item_ttl", "item_expires"
"""Metadata: the number of texts, the times of the item, its time to live in minutes, and its end in epoch seconds."""
MAX_COPIED_CHARS = 2_000
"""The longest value, as JSON, of which each text has a copy."""
WHOLE = "$"
"""The path that means the whole value."""
MEMORY_FIELDS = ("speaker", "session", "happened_at", "title")
"""What a memory has besides its text, and a value may tell under a key."""
OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
"""The operators of filters."""


class RecalledItem(SearchItem):
    """An item that a query found. ``reason`` says what distinguishes it, ``validity`` whether it still holds.

    ``evidence`` ("strong", "weak" or "none") and ``confidence`` belong to the whole search: whether the store knows
    an answer to the query at all.
    """

    __slots__ = ("confidence", "evidence", "reason", "validity")

    def __init__(  # noqa: PLR0917  # the host's parameters come first, by position
        self,
        namespace: tuple[str, ...],
        key: str,
        value: dict[str, Any],
        created_at: datetime,
        updated_at: datetime,
        score: float | None = None,
        reason: str = "",
        evidence: str = "none",
        confidence: float = 0.0,
        validity: Validity | Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(namespace, key, value, created_at, updated_at, score)
        self.reason = reason
        self.evidence = evidence
        self.confidence = confidence
        self.validity = _to_validity(validity) if isinstance(validity, Mapping) else validity

    def dict(self) -> dict[str, Any]:
        """The item as plain values, from which the serializer of the host makes it again."""
        own = {name: getattr(self, name) for name in ("reason", "evidence", "confidence")}
        return {**super().dict(), **own, "validity": None if self.validity is None else self.validity.to_dict()}


class EcphoraStore(MemoryOwner, BaseStore):
    """A memory as a LangGraph store, for graphs and agents compiled with ``store=``::

        with EcphoraStore.open("agent.db") as store:
            store.put(("users", "ana"), "home", {"text": "Ana moved to Porto."})
            found = store.search(("users", "ana"), query="Where does Ana live?")
            print(found[0].value, found[0].evidence, found[0].reason)
            graph = builder.compile(store=store)

    ``memory`` holds the items; whoever opened it closes it. ``fields`` are the paths of the texts that are indexed
    where ``put`` names none, by default the whole value; ``["content"]`` suits deepagents and LangMem, whose values
    have more than a text. ``memory_fields`` says under which key a value tells who said it, in which session, when, and
    under what title: ``{"speaker": "author", "happened_at": "date"}``; these keys are not indexed. ``ttl`` is the
    host's ``TTLConfig``. Items that have expired are never returned; ``sweep_ttl`` erases them, as do calls when
    ``sweep_interval_minutes`` have passed. As in ``SqliteStore``, reading prolongs a life only if ``ttl`` sets
    ``refresh_on_read``. ``clock`` tells the times of items.

    A search with a query ranks by :meth:`Memory.recall`, and its items are :class:`RecalledItem`; their scores compare
    within one search only. An item with ``index=False`` is listed, but no query finds it. A search without a query
    lists the last updated first. Filters mean what they mean in ``InMemoryStore``; a key with dots also reads nested
    values, as in ``SqliteStore``. A batch reads first and writes then, and the last of several writes of a key counts.

    Safe to share between threads. Raises ``InvalidNamespaceError`` of the host for a namespace that cannot be used,
    ``ValueError`` for an unknown operator, and ``InvalidInput``, which is a ``ValueError``, for a value that is no
    JSON; then nothing of a batch was done.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        fields: Sequence[str] | None = None,
        memory_fields: Mapping[str, str] | None = None,
        ttl: TTLConfig | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self.memory = memory
        self.ttl_config = ttl
        self.index_config: IndexConfig | None = None
        if isinstance(fields, str) or not all(isinstance(path, str) for path in fields or ()):
            raise InvalidInput(f"fields is {show(fields)}; give a list of paths, such as ['text']")
        self._fields = tuple(fields) if fields else (WHOLE,)
        self._memory_fields = _check_memory_fields(memory_fields or {})
        self._clock = check_clock(clock, UTC)
        self._records = Records(memory, RECORDS)
        self._lock = RLock()
        self._last_sweep = self._clock()

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        index: IndexConfig | None = None,
        memory_fields: Mapping[str, str] | None = None,
        ttl: TTLConfig | None = None,
        clock: Clock = utc_now,
        **options: Any,
    ) -> Self:
        """Open the memory in a file, and a store over it that closes it; ``options`` are the keywords of ``Memory``.

        ``index`` is the host's ``IndexConfig``: ``embed``, embeddings of LangChain or a function, takes the place of
        the built-in embedder; ``dims`` is the length of its vectors, and ``fields`` are the indexed paths. A file is
        opened with the same embeddings each time.
        """
        config: dict[str, Any] = dict(index or {})
        if config.get("embed") is not None:
            options["embedder"] = _HostEmbedder(config["embed"], config.get("dims"))
        memory = Memory(path, clock=clock, **options)
        try:
            store = cls(memory, fields=config.get("fields"), memory_fields=memory_fields, ttl=ttl, clock=clock)
        except BaseException:
            memory.close()
            raise
        store.index_config = index
        store._owns_memory = True
        return store

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations; all are checked before the first is executed. Returns a result for each, in order."""
        ops = list(ops)
        writes: dict[str, tuple[PutOp, str]] = {}
        for op in ops:
            _check(op)
            if isinstance(op, PutOp):
                writes[_path(op.namespace, op.key)] = (op, "" if op.value is None else _to_json(op.value))
                self._told(op)
        self._sweep_if_due()
        results: list[Result] = [None if isinstance(op, PutOp) else self._read(op) for op in ops]
        with self._lock:
            if deleted := [path for path, (op, _) in writes.items() if op.value is None]:
                self._records.erase(In(ITEM, deleted))
            self._put({path: (op, value) for path, (op, value) in writes.items() if op.value is not None})
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same as :meth:`batch`, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Erase the items that have expired; returns how many."""
        with self._lock:
            self._last_sweep = self._clock()
            has_expired = Lte(EXPIRES, self._last_sweep.timestamp())
            paths = {str(record.metadata[ITEM]) for record in self._records.find(has_expired)}
            if paths:  # what was written or prolonged meanwhile stays
                self._records.erase(In(ITEM, tuple(paths)) & has_expired)
            return len(paths)

    def _sweep_if_due(self) -> None:
        minutes = (self.ttl_config or {}).get("sweep_interval_minutes")
        if minutes and self._clock() - self._last_sweep >= timedelta(minutes=minutes):
            self.sweep_ttl()

    # ---- write

    def _put(self, writes: Mapping[str, tuple[PutOp, str]]) -> None:
        """Write items, in the place of those under the same paths, with their values as JSON."""
        episodes: dict[str, Episode] = {}
        left_over: list[str] = []
        for path, (op, value) in writes.items():
            now, old = self._clock(), self._records.get(path)
            lives_on = old is not None and self._is_live().matches(old.node.metadata)
            texts, is_long = self._texts(op), len(value) > MAX_COPIED_CHARS
            written = [path, *texts] if is_long else texts or [value]
            labels = list(op.namespace)
            metadata: dict[str, Any] = {
                ITEM: path,
                WITHIN: [json.dumps(labels[:count]) for count in range(1, len(labels) + 1)],
                PARTS: len(written),
                CREATED: old.metadata[CREATED] if old is not None and lives_on else now.isoformat(),
                UPDATED: now.isoformat(),
            }
            if op.ttl is not None:
                metadata |= {TTL: op.ttl, EXPIRES: _end(now, op.ttl)}
            told = {"happened_at": now} | self._told(op)
            for part, text in enumerate(written):
                own: dict[str, Any] = {PART: part, INDEXED: bool(texts) and (part > 0 or not is_long)}
                own |= {VALUE: value} if part == 0 or not is_long else {}
                episode = Episode(text[:MAX_TEXT_CHARS], metadata=metadata | own, **told)
                episodes[_part_key(path, part)] = episode
            left_over += [_part_key(path, part) for part in range(len(written), _count_parts(old))]
        if episodes:
            self._records.put_all(episodes)
        if left_over:
            self._records.delete(left_over)

    def _told(self, op: PutOp) -> dict[str, Any]:
        """The speaker, session, time and title that a value tells."""
        told = {name: (op.value or {}).get(key) for name, key in self._memory_fields.items()}
        checks: dict[str, Callable[[str, object], object]] = {"happened_at": check_time}
        return {
            name: checks.get(name, check_name)(self._memory_fields[name], one)
            for name, one in told.items()
            if one is not None
        }

    def _texts(self, op: PutOp) -> list[str]:
        """The texts of an item that a query may find, each once."""
        if op.index is False:
            return []
        # The plain dictionary: the host's function reads no other mappings.
        value = {key: one for key, one in (op.value or {}).items() if key not in self._memory_fields.values()}
        paths = self._fields if op.index is None else op.index
        found = [text for path in paths for text in self._texts_at(value, path)]
        texts = dict.fromkeys(map(replace_surrogates, found))
        return [text for text in texts if strip_invisible(text).strip()]

    def _texts_at(self, value: dict[str, Any], path: str) -> list[str]:
        """The texts at a path. A value with one text and nothing else is this text, unless the host embeds."""
        found = value if path == WHOLE else _look_up(value, path)
        match list(_leaves(found)) if self.index_config is None else []:
            case [str(text)]:
                return [text]
        return list(get_text_at_path(value, path))

    def _prolong(self, path: str) -> None:
        """Have an item live as long as from its last update, from now on."""
        with self._lock:
            head = self._head(path)
            if head is None or TTL not in head.metadata:
                return
            end = _end(self._clock(), float(head.metadata[TTL]))  # type: ignore[arg-type]  # a number is stored
            for part in range(_count_parts(head)):
                record = self._records.get(_part_key(path, part))
                if record is not None and record.metadata[UPDATED] == head.metadata[UPDATED]:
                    self._records.put(record.key, record.content, {**record.metadata, EXPIRES: end})

    # ---- read

    def _read(self, op: GetOp | SearchOp | ListNamespacesOp) -> Result:
        if isinstance(op, GetOp):
            head = self._head(_path(op.namespace, op.key))
            self._prolong_read([head] if head is not None else [], refresh=op.refresh_ttl)
            return None if head is None else Item(**_fields_of(head))
        if isinstance(op, SearchOp):
            question = replace_surrogates(op.query or "").strip()[-MAX_QUESTION_CHARS:]
            is_question = bool(strip_invisible(question).strip()) and op.limit > 0
            heads, items = self._recall(op, question) if is_question else self._list(op)
            self._prolong_read(heads, refresh=op.refresh_ttl)
            return items
        return self._namespaces(op)

    def _prolong_read(self, heads: Iterable[Record], *, refresh: bool) -> None:
        if refresh and self._prolongs:
            for head in heads:
                if TTL in head.metadata:
                    self._prolong(head.key)

    @property
    def _prolongs(self) -> bool:
        return bool((self.ttl_config or {}).get("refresh_on_read", False))

    def _head(self, path: str) -> Record | None:
        """The first memory of an item; None if there is none, or if the item has expired."""
        head = self._records.get(path)
        return None if head is None or not self._is_live().matches(head.node.metadata) else head

    def _is_live(self) -> Condition:
        return ~Exists(EXPIRES) | Gt(EXPIRES, self._clock().timestamp())

    def _condition(self, op: SearchOp, part: Condition) -> Condition:
        """The memories of the items that a search may return, which meet the condition ``part``."""
        condition = part & self._is_live()
        namespace = json.dumps(list(op.namespace_prefix)) if op.namespace_prefix else ""
        if namespace:
            condition &= Eq(WITHIN, namespace)
        return condition & _ValueCondition(namespace, op.filter) if op.filter else condition

    def _list(self, op: SearchOp) -> tuple[list[Record], list[SearchItem]]:
        found = self._records.find(self._condition(op, Eq(PART, 0)), newest_first=True)
        if self._prolongs:  # a prolonged life is recorded too
            found = iter(sorted(found, key=lambda head: str(head.metadata[UPDATED]), reverse=True))
        heads = list(islice(found, *_page(op)))
        return heads, [SearchItem(**_fields_of(head)) for head in heads]

    def _recall(self, op: SearchOp, question: str) -> tuple[list[Record], list[SearchItem]]:
        """The items that belong to a question: of the hits of each the best one."""
        (start, wanted), condition = _page(op), self._condition(op, Eq(INDEXED, value=True))
        if op.filter:  # the texts of long values do not have them
            heads_of_long = self._records.find(self._condition(op, Eq(PART, 0) & Eq(INDEXED, value=False)))
            paths = tuple(str(head.metadata[ITEM]) for head in heads_of_long if _count_parts(head) > 1)
            condition |= Eq(INDEXED, value=True) & In(ITEM, paths)
        limit = wanted
        while True:
            found = self._records.search(question, condition, limit=limit)
            best: dict[str, Hit] = {}
            for hit in found:
                best.setdefault(str(record_of_hit(hit).metadata[ITEM]), hit)
            if len(best) >= wanted or len(found) < limit:
                break
            limit *= 2  # several texts of an item were found
        heads: list[Record] = []
        items: list[SearchItem] = []
        for path, hit in islice(best.items(), start, wanted):
            head = self._head(path)
            if head is not None:  # else it was deleted meanwhile
                heads.append(head)
                items.append(_recalled(head, hit, found))
        return heads, items

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {_fields_of(head)["namespace"] for head in self._records.find(Eq(PART, 0) & self._is_live())}
        conditions = op.match_conditions or ()
        matching = (one for one in found if all(_is_match(condition, one) for condition in conditions))
        return sorted({one[: op.max_depth] for one in matching})[op.offset : op.offset + op.limit]


# ---- items and their memories


def _check_memory_fields(fields: Mapping[str, str]) -> Mapping[str, str]:
    if unknown := sorted(set(fields) - set(MEMORY_FIELDS)):
        raise InvalidInput(f"memory_fields has {show(unknown[0])}; a memory has {', '.join(MEMORY_FIELDS)}")
    return dict(fields)


def _path(namespace: Iterable[str], key: str) -> str:
    return json.dumps([*namespace, str(key)])


def _part_key(path: str, part: int) -> str:
    """The key of a memory of an item: the path, and of all but the first memory a number."""
    return f"{path}#{part}" if part else path


def _count_parts(head: Record | None) -> int:
    return 0 if head is None else int(head.metadata[PARTS])  # type: ignore[arg-type]  # a number is stored


def _end(now: datetime, minutes: float) -> float:
    return now.timestamp() + 60 * minutes


def _to_json(value: object) -> str:
    """A value as JSON in ASCII, which holds every text exactly."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"value is {show(value)}; give a dict that JSON can hold, or None to delete the item")
    try:
        return json.dumps(dict(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"value is {show(value)}, which JSON cannot hold: {error}") from error


def _leaves(value: object) -> Iterator[object]:
    """The values in a value that hold no others."""
    if isinstance(value, Mapping | list | tuple):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(one)
    else:
        yield value


def _fields_of(head: Record) -> dict[str, Any]:
    """The arguments of an ``Item``."""
    metadata = head.metadata
    *namespace, key = json.loads(str(metadata[ITEM]))
    return {
        "namespace": tuple(namespace),
        "key": key,
        "value": json.loads(str(metadata[VALUE])),
        "created_at": datetime.fromisoformat(str(metadata[CREATED])),
        "updated_at": datetime.fromisoformat(str(metadata[UPDATED])),
    }


def _recalled(head: Record, hit: Hit, found: Recollection) -> RecalledItem:
    return RecalledItem(
        **_fields_of(head),
        score=hit.score,
        reason=hit.reason,
        evidence=found.evidence.value,
        confidence=found.confidence,
        validity=hit.validity,
    )


def _to_validity(written: Mapping[str, Any]) -> Validity:
    end = written["valid_to"]
    ids = (tuple(written[name]) for name in ("superseded_by", "contradicted_by"))
    return Validity(written["is_valid"], None if end is None else datetime.fromisoformat(end), *ids)


# ---- operations


def _check(op: object) -> None:
    """Check an operation; raises the host's ``InvalidNamespaceError``, or ``ValueError``."""
    if not isinstance(op, GetOp | PutOp | SearchOp | ListNamespacesOp):
        raise ValueError(f"Unknown operation type: {type(op)}")  # noqa: TRY004  # the host's error
    validate_op_namespace(op)
    if isinstance(op, SearchOp | ListNamespacesOp):
        check_count("limit", op.limit, minimum=0)
        check_count("offset", op.offset, minimum=0)
    if isinstance(op, PutOp):
        _check_put(op)
    elif isinstance(op, SearchOp):
        _check_search(op)
    elif isinstance(op, ListNamespacesOp):
        for condition in op.match_conditions or ():
            if condition.match_type not in {"prefix", "suffix"}:
                raise ValueError(f"Unsupported match type: {condition.match_type}")


def _check_put(op: PutOp) -> None:
    is_list = isinstance(op.index, list | tuple) and all(isinstance(path, str) for path in op.index)
    if not (is_list or op.index is None or op.index is False):
        raise InvalidInput(f"index is {show(op.index)}; give False, a list of paths, or None for the default")
    if op.ttl is not None:
        check_number("ttl", op.ttl)


def _check_search(op: SearchOp) -> None:
    if not (op.query is None or isinstance(op.query, str)):
        raise InvalidInput(f"query is {show(op.query)}; give a text, or None to list items")
    if not (op.filter is None or isinstance(op.filter, Mapping)):
        raise InvalidInput(f"filter is {show(op.filter)}; give a dict, or None for all items")
    _check_filter(op.filter or {})


def _check_filter(conditions: object) -> None:
    if isinstance(conditions, Mapping):
        is_operators = _has_operators(conditions)
        for name, operand in conditions.items():
            if is_operators and name not in OPERATORS:
                raise ValueError(f"Unsupported operator: {name}")
            _check_filter(operand)


def _has_operators(conditions: Mapping[str, Any]) -> bool:
    return any(isinstance(name, str) and name.startswith("$") for name in conditions)


def _page(op: SearchOp) -> tuple[int, int]:
    """Where the items of a search begin and end."""
    return min(op.offset, MAX_INT), min(op.offset + op.limit, MAX_INT)


def _is_match(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    """Whether a namespace begins or ends with the labels of a condition; ``*`` stands for any label."""
    count = len(condition.path)
    labels = namespace[:count] if condition.match_type == "prefix" else namespace[max(0, len(namespace) - count) :]
    return len(labels) == count and all(
        wanted in ("*", label) for wanted, label in zip(condition.path, labels, strict=True)
    )


@dataclass(frozen=True, slots=True, repr=False)
class _ValueCondition(Condition):
    """The value of an item in a namespace meets a filter of the host."""

    namespace: str
    conditions: Mapping[str, Any]
    _known: dict[str, bool] = field(default_factory=dict, compare=False)  # by the value: a recall asks several times

    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""
        if (
            metadata.get(KIND) != RECORDS
            or VALUE not in metadata
            or (self.namespace and self.namespace not in metadata[WITHIN])  # type: ignore[operator]  # a list is stored
        ):
            return False
        written = str(metadata[VALUE])
        if written not in self._known:
            value = json.loads(written)
            self._known[written] = all(_meets(_look_up(value, name), one) for name, one in self.conditions.items())
        return self._known[written]


def _look_up(value: dict[str, Any], name: str) -> object:
    """The value of a key, or of the keys that a name with dots names; None if there is none."""
    if name in value:
        return value[name]
    found: object = value
    for key in name.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _meets(value: object, operand: object) -> bool:
    """Whether a value equals an operand of a filter, or meets its operators."""
    if isinstance(operand, Mapping):
        if _has_operators(operand):
            return all(_compare(value, name, bound) for name, bound in operand.items())
        return isinstance(value, Mapping) and all(_meets(value.get(name), one) for name, one in operand.items())
    if isinstance(operand, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(operand)
            and all(_meets(one, other) for one, other in zip(value, operand, strict=True))
        )
    return value == operand


def _compare(value: object, name: str, bound: object) -> bool:
    """Whether a value meets an operator: two texts compare as texts, all else as numbers, and what is neither fails."""
    match name:
        case "$eq":
            return value == bound
        case "$ne":
            return value != bound
    if isinstance(value, str) and isinstance(bound, str):
        return _order(value, name, bound)
    numbers = _number(value), _number(bound)
    return None not in numbers and _order(numbers[0], name, numbers[1])


def _order(value: Any, name: str, bound: Any) -> bool:
    match name:
        case "$gt":
            return bool(value > bound)
        case "$gte":
            return bool(value >= bound)
        case "$lt":
            return bool(value < bound)
        case _:
            return bool(value <= bound)


def _number(value: object) -> float | None:
    """A number, or a text that is one, as both stores of the host compare them; None for all else."""
    try:
        return float(value) if isinstance(value, str | int | float) else None
    except (ValueError, OverflowError):
        return None


# ---- embeddings


class _HostEmbedder:
    """The embeddings of LangChain, or a function from texts to vectors, as an embedder."""

    def __init__(self, embed: Any, dims: int | None = None) -> None:
        self._embeddings = ensure_embeddings(embed)
        self._is_async = hasattr(self._embeddings, "afunc")  # the host's wrapper of an async function
        self.dim = check_count("dims", dims) if dims is not None else len(self._documents(["length"])[0])
        self.name = f"langchain/{_name_of(embed)}/{self.dim}"

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), dim)``, unit rows."""
        rows = [self._query(text) for text in texts] if is_query else self._documents(list(texts)) if texts else []
        if any(len(row) != self.dim for row in rows) or len(rows) != len(texts):
            raise WrongVector(f"{self.name} returned vectors of another length than {self.dim}; set dims in index")
        vectors = np.array(rows, np.float32).reshape(len(texts), self.dim)
        lengths = np.linalg.norm(vectors, axis=1)
        vectors[lengths == 0, 0] = 1
        return vectors / np.where(lengths == 0, np.float32(1), lengths).astype(np.float32)[:, None]

    def _documents(self, texts: list[str]) -> list[list[float]]:
        if self._is_async:
            return _in_thread(lambda: asyncio.run(self._embeddings.aembed_documents(texts)))
        return self._embeddings.embed_documents(texts)

    def _query(self, text: str) -> list[float]:
        if self._is_async:
            return _in_thread(lambda: asyncio.run(self._embeddings.aembed_query(text)))
        return self._embeddings.embed_query(text)


def _name_of(embed: object) -> str:
    """A name for embeddings: their class and model, the name of a function, or the text that names them."""
    if isinstance(embed, str):
        return embed
    name = getattr(embed, "__qualname__", type(embed).__qualname__)
    model = getattr(embed, "model", None) or getattr(embed, "model_name", None)
    return f"{name}/{model}" if isinstance(model, str) else str(name)


def _in_thread(call: Callable[[], Any]) -> Any:
    """Run a call in a thread of its own, which has no event loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()
