"""mem0: a memory with the methods, results and errors of ``mem0.Memory`` (mem0ai 2.2.1), without that package.

A mem0 memory is one memory for each of its texts: an update adds a version, under the same mem0 id, that supersedes the
one before. Searches see the newest versions; with ``reference_date`` they see what was known to hold at that time.
"""

import asyncio
import hashlib
import logging
import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import count
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from ..errors import InvalidInput
from ..memory import Memory as EcphoraMemory
from ..model.conditions import And, Condition, Contains, Eq, Exists, Gt, Gte, In, Lt, Lte, Ne, Not, NotIn, Or
from ..model.ids import content_digest
from ..model.ports import Clock
from ..model.reprs import show
from ..model.text_format import strip_invisible
from ..model.times import from_epoch_seconds, utc_now
from ..model.types import Episode, Evidence, Filter, Hit, Metadata, Node, NodeId, Validity, When
from ..model.validation import MAX_QUESTION_CHARS, check_clock
from ..recall.recollection import Recollection
from . import nested_metadata
from .nested_metadata import NESTED
from .records import CONTENT, EMPTY, KEY, KIND, MemoryOwner

RECORDS = "mem0"
"""The kind of the records."""
VERSION, VERSION_AT, IS_CURRENT = "record_version", "record_version_at", "record_is_current"
"""Metadata: the number of a version, from 0 on, when it was written, and whether it is the newest."""
ORDER, DIGEST = "record_order", "record_digest"
"""Metadata: the place among what was added, and a digest of the message as told."""
OWN_KEYS = frozenset({KIND, KEY, CONTENT, VERSION, VERSION_AT, IS_CURRENT, ORDER, DIGEST, NESTED})
ENTITY_IDS = ("user_id", "agent_id", "run_id")
"""Whose memory it is; one of them is required."""
IDENTITY_KEYS = frozenset({*ENTITY_IDS, "actor_id"})
"""Keys that metadata may not set."""
PROMOTED_KEYS = ("user_id", "agent_id", "run_id", "actor_id", "role", "attributed_to", "expiration_date")
"""Metadata that results have as keys of their own."""
CORE_KEYS = frozenset({"data", "hash", "created_at", "updated_at", "id", "text_lemmatized", *PROMOTED_KEYS})
"""Keys that the metadata of a result does not have."""
PROCEDURAL = "procedural_memory"
"""The only memory type that ``add`` takes."""
DEFAULT_THRESHOLD = 0.1
"""The least score of a result of ``search``."""
OVERLAP = 200
"""The number of memories, newest first, that a list of messages is compared with."""
SURE = 1e-6
"""The least doubt that a score has."""
AS_OF_FACTOR = 3
"""How many times more hits are asked for where older versions may be among them."""
_UNSET: Any = object()
_log = logging.getLogger("ecphora")


class ValidationError(InvalidInput):
    """Arguments that mem0 refuses with its ``ValidationError``; it has the same attributes."""

    def __init__(
        self, message: str, error_code: str, details: Mapping[str, Any] | None = None, suggestion: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error_code = error_code
        self.details = dict(details or {})
        self.suggestion = suggestion
        self.debug_info: dict[str, Any] = {}


class Memory(MemoryOwner):
    """A memory with the interface of ``mem0.Memory``; the import is all that changes::

        from ecphora.adapters.mem0 import Memory

        memory = Memory("agent.db")
        memory.add("I moved to Porto.", user_id="ana", timestamp="2026-05-03")
        memory.search("Where do I live?", filters={"user_id": "ana"})["results"][0]["memory"]

    ``config`` is a file, an ``ecphora.Memory``, which stays open after ``close``, a configuration of mem0, or None for
    the file that the environment variable ``ECPHORA_DB`` names, by default ``ecphora.db``. ``clock`` says what time it
    is. Safe to share between threads.

    Nothing is sent and no language model is asked: ``add`` stores the messages as they are, with ``infer=True`` too.
    To find facts that changed, call ``memory.consolidate()`` of the attribute ``memory``, which is the
    ``ecphora.Memory``. The speaker of a message is its ``name``, else the user or agent id, by its role, else the role;
    ``run_id`` is the session.

    What ``mem0.Memory`` returns comes back with the same keys. Every memory also has ``happened_at``, and a result of
    ``search`` has ``evidence`` ("strong", "weak" or "none") and ``confidence``, both of the whole search, and its own
    ``reason`` and ``validity``. A ``score`` is the confidence, lowered for later results by how far they lie behind the
    first; so it is in 0..1, but it is no cosine.

    What differs: a deleted memory has no history, because nothing of it is left. An update that leaves the text as it
    is adds no row to the history. ``{"key": "*"}`` needs a value. Filters do not see mappings within metadata.
    Procedural memories are not summarized.

    Raises ``ValidationError`` where mem0 raises its own, and ``InvalidInput``, which is a ``ValueError``, where mem0
    raises a ``ValueError``.
    """

    def __init__(self, config: object = None, *, clock: Clock = utc_now) -> None:
        self._clock = check_clock(clock)
        self._owns_memory = not isinstance(config, EcphoraMemory)
        self.memory = config if isinstance(config, EcphoraMemory) else _open_memory(config, clock)
        self._lock = RLock()
        self._numbers = count()

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """A memory from a configuration of mem0.

        ``config_dict["ecphora"]`` holds arguments of ``ecphora.Memory``, such as ``{"path": "agent.db"}``. All other
        keys are about parts that do not exist here, such as ``llm`` and ``vector_store``: one warning names them.
        """
        return cls(_check_config(config_dict))

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: Any = None,
        agent_id: Any = None,
        run_id: Any = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: When | float | None = None,
        expiration_date: str | date | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, list[dict[str, Any]]]:
        """Store a text, a message or a list of messages; returns what was added as ``{"results": [...]}``.

        One of ``user_id``, ``agent_id`` and ``run_id`` is required. System messages and messages without text are left
        out. ``timestamp``, an ISO 8601 text, a date, a datetime or epoch seconds, says when it was told, by default
        now. After ``expiration_date`` the memory no longer comes back.

        With ``infer=True``, messages at the beginning of the list that are the last ones stored for the same ids are
        not stored again. So a conversation may be passed whole on every turn. ``infer=False`` stores all. ``prompt``
        has no effect.
        """
        del prompt
        expires = _expiration_date(expiration_date)
        ids = _required_ids(user_id, agent_id, run_id)
        fields = {**_without_identity(metadata or {}, {}, "add()"), **ids}
        if expires is not None:
            fields["expiration_date"] = expires
        if memory_type is not None and memory_type != PROCEDURAL:
            raise ValidationError(
                f"Invalid 'memory_type'. Please pass {PROCEDURAL} to create procedural memories.",
                "VALIDATION_002",
                {"provided_type": memory_type, "valid_type": PROCEDURAL},
                f"Use '{PROCEDURAL}' to create procedural memories.",
            )
        if memory_type is not None and agent_id is not None:
            fields["memory_type"] = memory_type
        told = _told_messages(messages)
        happened_at = self._time(timestamp)
        with self._lock:
            if infer:
                told = told[self._overlap(told, ids) :]
            now = self._clock().isoformat()
            episodes = [self._episode(message, fields, ids, happened_at, now) for message in told]
            if episodes:
                self.memory.remember(episodes, restore=True)
        return {
            "results": [
                {
                    "id": episode.id,
                    "memory": message.text,
                    "event": "ADD",
                    "actor_id": message.name,
                    "role": message.role,
                }
                for message, episode in zip(told, episodes, strict=True)
            ]
        }

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """The memory with an id, None if there is none."""
        versions = self._versions(memory_id)
        return {**_item(versions[-1]), "score": None} if versions else None

    def get_all(
        self, *, filters: Mapping[str, Any] | None = None, top_k: int = 20, show_expired: bool = False, **kwargs: Any
    ) -> dict[str, list[dict[str, Any]]]:
        """The memories that pass a filter, the latest first, as ``{"results": [...]}``; ``search`` has the filters."""
        _refuse_entity_ids(kwargs, "get_all")
        _check_search(None, top_k)
        where = self._where(filters, show_expired=show_expired)
        nodes: list[Node] = []
        cursor = None
        while len(nodes) < top_k:
            page = self.memory.find(where=where, limit=min(top_k - len(nodes), 500), after=cursor)
            nodes += page
            if (cursor := page.cursor) is None:
                break
        return {"results": [_item(node) for node in nodes]}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = DEFAULT_THRESHOLD,
        rerank: bool = False,
        explain: bool = False,
        reference_date: When | float | None = None,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, list[dict[str, Any]]]:
        """The memories that belong to a question, best first, as ``{"results": [...]}``.

        ``filters`` must name a ``user_id``, ``agent_id`` or ``run_id``, and may have conditions on metadata:
        ``{"key": value}``, a list for one of several values, ``"*"`` for any value, the operators ``eq``, ``ne``,
        ``gt``, ``gte``, ``lt``, ``lte``, ``in``, ``nin``, ``contains`` and ``icontains``, and ``AND``, ``OR`` and
        ``NOT`` with a list of filters, also within each other. A missing key meets none of the operators.

        Results with a score under ``threshold`` are left out, and all of them if the memory has no evidence for an
        answer; ``threshold=0`` returns these too. ``reference_date`` asks what was known to hold at a time: nothing
        that happened later comes back, and an updated memory with the text of then. ``rerank=True`` reads the best
        candidates always, not only if the ranking leaves doubt. ``explain`` adds ``score_details``.
        """
        _refuse_entity_ids(kwargs, "search")
        _check_search(threshold, top_k)
        if not isinstance(query, str):
            raise InvalidInput("Invalid query: must be a non-empty string.")
        if not query.strip():
            raise InvalidInput("Invalid query: cannot be empty or whitespace-only.")
        as_of = self._time(reference_date)
        where = self._where(filters, show_expired=show_expired, any_version=as_of is not None)
        if not top_k:
            return {"results": []}
        found = self.memory.recall(
            query.strip()[:MAX_QUESTION_CHARS],
            limit=top_k if as_of is None else top_k * AS_OF_FACTOR,
            where=where,
            as_of=as_of,
            rerank="always" if rerank else "auto",
        )
        least = DEFAULT_THRESHOLD if threshold is None else threshold
        if least > 0 and found.evidence is Evidence.NONE:
            return {"results": []}
        results: dict[str, dict[str, Any]] = {}
        for hit in found:
            score = _score(hit, found)
            key = str(hit.node.metadata[KEY])
            if key in results or score < least or _is_replaced(hit):
                continue
            results[key] = self._result(hit, found, score)
            if explain:
                values = {one.feature: one.value for one in hit.why.contributions}
                results[key]["score_details"] = {"final_score": score, "threshold": least, "contributions": values}
        return {"results": list(results.values())[:top_k]}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: str | date | None = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Give a memory another text, further metadata or an expiration date, which None takes away.

        ``metadata`` is merged into the old one. The old text is kept for ``history`` and ``reference_date`` until the
        memory is deleted. ``data`` is the former name of ``text``. Raises ``InvalidInput`` for an unknown id.
        """
        if data is not None:
            _log.warning("the argument data of update() is deprecated; use text")
            text = data if text is None else text
        if text is None and metadata is None and expiration_date is _UNSET:
            raise InvalidInput("At least one of text, metadata, or expiration_date must be provided.")
        if text is not None and not isinstance(text, str):
            raise InvalidInput(f"text is {show(text)}; give a text")
        changes = dict(metadata or {})
        if expiration_date is not _UNSET:
            changes["expiration_date"] = _expiration_date(expiration_date)
        with self._lock:
            versions = self._versions(memory_id)
            if not versions:
                raise InvalidInput(f"Memory with id {memory_id} not found. Please provide a valid 'memory_id'")
            old, now = versions[-1], self._clock()
            payload = _payload(old)
            payload |= _without_identity(changes, payload, "update()")
            payload |= {"created_at": _payload(old)["created_at"], "updated_at": now.isoformat()}
            own = {name: value for name, value in old.metadata.items() if name in OWN_KEYS - {NESTED}}
            if text is None or text == _content(old):
                self.memory.update(old.id, old.text, mode="replace", metadata={**own, **_filterable(payload)})
            else:
                self._add_version(memory_id, versions, text, payload, now)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Erase a memory with all its versions. Raises ``InvalidInput`` for an unknown id."""
        with self._lock:
            versions = self._versions(memory_id)
            if not versions:
                raise InvalidInput(f"Memory with id {memory_id} not found")
            self.memory.forget([version.id for version in versions])
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, user_id: Any = None, agent_id: Any = None, run_id: Any = None) -> dict[str, str]:
        """Erase all memories of a user, agent or run; at least one is required. ``reset`` erases all."""
        ids = _entity_ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        if not ids:
            raise InvalidInput(
                "At least one filter is required to delete all memories. If you want to delete all memories, use the "
                "`reset()` method."
            )
        self.memory.forget(where=Filter(metadata=_all_of([Eq(KIND, RECORDS), *_equal(ids)])))
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """The texts that a memory has had, oldest first; empty for an unknown or deleted memory."""
        rows: list[dict[str, Any]] = []
        old_text = None
        for node in self._versions(memory_id):
            payload, text = _payload(node), _content(node)
            rows.append(
                {
                    "id": node.id,
                    "memory_id": memory_id,
                    "old_memory": old_text,
                    "new_memory": text,
                    "event": "UPDATE" if rows else "ADD",
                    "created_at": payload["created_at"],
                    "updated_at": node.metadata[VERSION_AT] if rows else payload["created_at"],
                    "is_deleted": False,
                    "actor_id": payload.get("actor_id"),
                    "role": payload.get("role"),
                }
            )
            old_text = text
        return rows

    def reset(self) -> None:
        """Erase all that was added here; other memories of the file stay."""
        self.memory.forget(where=Filter(metadata={KIND: RECORDS}))

    def chat(self, query: str) -> None:
        """Not implemented, as in mem0."""
        raise NotImplementedError("Chat function not implemented yet.")

    def _time(self, value: When | float | None) -> When | None:
        """A time as ``ecphora.Memory`` takes it; a number means epoch seconds."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return from_epoch_seconds(value, self.memory.zone) if is_number else value  # type: ignore[arg-type, return-value]

    def _episode(
        self, message: "_Told", fields: Mapping[str, Any], ids: Mapping[str, str], happened_at: When | None, now: str
    ) -> Episode:
        id_ = str(uuid4())
        payload = {"created_at": now, **fields, "role": message.role}
        if message.name is not None:
            payload["actor_id"] = message.name
        payload["updated_at"] = payload["created_at"]
        own = {
            ORDER: f"{now}#{next(self._numbers):09}",
            DIGEST: message.digest,
            **_version_fields(id_, 0, now, message.text),
        }
        by_role = {"user": ids.get("user_id"), "assistant": ids.get("agent_id")}
        speaker = message.name or by_role.get(message.role) or message.role
        return Episode(
            _storable(message.text),
            id_,
            speaker,
            ids.get("run_id"),
            happened_at,
            metadata={**_filterable(payload), **own},
        )

    def _overlap(self, told: Sequence["_Told"], ids: Mapping[str, str]) -> int:
        """How many messages at the beginning of a list are the last ones stored for the same ids."""
        others = [Not(Exists(name)) for name in ENTITY_IDS if name not in ids]
        where = Filter(metadata=_all_of([Eq(KIND, RECORDS), Eq(IS_CURRENT, value=True), *_equal(ids), *others]))
        newest = self.memory.find(where=where, order="-recorded_at", limit=max(OVERLAP, 2 * len(told)))
        stored = [node.metadata[DIGEST] for node in sorted(newest.memories, key=lambda node: str(node.metadata[ORDER]))]
        digests = [message.digest for message in told]
        longest = min(len(digests), len(stored))
        return next((size for size in range(longest, 0, -1) if digests[:size] == stored[-size:]), 0)

    def _versions(self, memory_id: str) -> list[Node]:
        """The versions of a memory, oldest first; empty for an unknown id."""
        history = self.memory.history(memory_id)
        if history is None or history.node.metadata.get(KEY) != memory_id:
            return []
        ids = [node.document or node.id for node in history.successors if node.metadata.get(KEY) == memory_id]
        later = [node for id_ in dict.fromkeys(ids) if (node := self.memory.get(id_)) is not None]
        versions = {node.id: node for node in (history.node, *later)}
        return sorted(versions.values(), key=lambda node: int(str(node.metadata[VERSION])))

    def _add_version(
        self, memory_id: str, versions: Sequence[Node], text: str, payload: Mapping[str, Any], now: datetime
    ) -> None:
        """Store another text of a memory, which supersedes the one before."""
        old, number = versions[-1], len(versions)
        own = {ORDER: old.metadata[ORDER], DIGEST: old.metadata[DIGEST]}
        episode = Episode(
            _storable(text),
            f"{memory_id}/{number}",
            old.speaker,
            old.session,
            max(now, old.happened_at),
            trust=old.trust,
            supersedes=old.id,
            metadata={
                **_filterable(payload),
                **own,
                **_version_fields(memory_id, number, now.isoformat(), text),
            },
        )
        self.memory.remember(episode, restore=True)
        self.memory.update(old.id, old.text, mode="replace", metadata={**old.metadata, IS_CURRENT: False})

    def _where(self, filters: Mapping[str, Any] | None, *, show_expired: bool, any_version: bool = False) -> Filter:
        """The filter for what may come back."""
        if filters is not None and not isinstance(filters, Mapping):
            raise InvalidInput(f"filters is {show(filters)}; give a mapping")
        given = dict(filters or {})
        given |= {name: _entity_id(given[name], name) for name in ENTITY_IDS if name in given}
        if not any(name in given for name in ENTITY_IDS):
            raise InvalidInput(
                "filters must contain at least one of: user_id, agent_id, run_id. Example: filters={'user_id': 'u1'}"
            )
        conditions = [Eq(KIND, RECORDS), _condition(given)]
        if not any_version:
            conditions.append(Eq(IS_CURRENT, value=True))
        if not show_expired:
            today = self._clock().date().isoformat()
            conditions.append(
                Not(Exists("expiration_date")) | Eq("expiration_date", None) | Gte("expiration_date", today)
            )
        return Filter(metadata=_all_of(conditions))

    def _result(self, hit: Hit, found: Recollection, score: float) -> dict[str, Any]:
        """A result of a search, with the whole text of a long memory."""
        whole = None if hit.node.document is None else self.memory.get(hit.node.document)
        return {
            **_item(whole or hit.node),
            "score": score,
            "evidence": found.evidence.value,
            "confidence": found.confidence,
            "reason": hit.reason,
            "validity": _validity(hit.validity),
        }


class AsyncMemory:
    """``Memory`` for asyncio, with the interface of ``mem0.AsyncMemory``; each call runs in a thread.

    The methods take the arguments of ``Memory``. ``sync`` is the ``Memory`` behind it, ``memory`` the
    ``ecphora.Memory``. ``close`` is no coroutine, as in mem0.
    """

    def __init__(self, config: object = None, *, clock: Clock = utc_now) -> None:
        self.sync = Memory(config, clock=clock)
        self.memory = self.sync.memory

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """A memory from a configuration of mem0, as ``Memory.from_config`` reads it."""
        return cls(_check_config(config_dict))

    async def add(self, messages: Any, *, llm: object = None, **options: Any) -> dict[str, list[dict[str, Any]]]:
        """Store a text, a message or a list of messages; ``llm`` has no effect."""
        del llm
        return await asyncio.to_thread(self.sync.add, messages, **options)

    async def get(self, memory_id: str) -> dict[str, Any] | None:
        """The memory with an id, None if there is none."""
        return await asyncio.to_thread(self.sync.get, memory_id)

    async def get_all(self, **options: Any) -> dict[str, list[dict[str, Any]]]:
        """The memories that pass a filter, the latest first."""
        return await asyncio.to_thread(self.sync.get_all, **options)

    async def search(self, query: str, **options: Any) -> dict[str, list[dict[str, Any]]]:
        """The memories that belong to a question, best first."""
        return await asyncio.to_thread(self.sync.search, query, **options)

    async def update(self, memory_id: str, *changes: Any, **named_changes: Any) -> dict[str, str]:
        """Give a memory another text, further metadata or an expiration date."""
        return await asyncio.to_thread(self.sync.update, memory_id, *changes, **named_changes)

    async def delete(self, memory_id: str) -> dict[str, str]:
        """Erase a memory with all its versions."""
        return await asyncio.to_thread(self.sync.delete, memory_id)

    async def delete_all(self, user_id: Any = None, agent_id: Any = None, run_id: Any = None) -> dict[str, str]:
        """Erase all memories of a user, agent or run."""
        return await asyncio.to_thread(self.sync.delete_all, user_id, agent_id, run_id)

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """The texts that a memory has had, oldest first."""
        return await asyncio.to_thread(self.sync.history, memory_id)

    async def reset(self) -> None:
        """Erase all that was added here."""
        await asyncio.to_thread(self.sync.reset)

    async def chat(self, query: str) -> None:
        """Not implemented, as in mem0."""
        self.sync.chat(query)

    def close(self) -> None:
        """Close the file, unless an ``ecphora.Memory`` was given."""
        self.sync.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)


# ---- opening


def _open_memory(config: object, clock: Clock) -> EcphoraMemory:
    """The memory of a file or of a configuration."""
    options: dict[str, Any] = {"path": os.environ.get("ECPHORA_DB", "ecphora.db"), "clock": clock}
    if isinstance(config, str | Path):
        options["path"] = config
    elif config is not None:
        given = _as_mapping(config)
        own = given.get("ecphora", {})
        if not isinstance(own, Mapping):
            raise InvalidInput(f"the setting 'ecphora' is {show(own)}; give arguments of ecphora.Memory as a mapping")
        options |= own
        if ignored := sorted(str(name) for name in given if name != "ecphora"):
            warnings.warn(
                f"these settings have no effect here: {', '.join(ignored)}; Ecphora has no language model, server or "
                "vector store to set up",
                stacklevel=4,
            )
    try:
        return EcphoraMemory(options.pop("path"), **options)
    except TypeError as error:
        raise InvalidInput(f"the setting 'ecphora' does not fit ecphora.Memory: {error}") from error


def _check_config(config: object) -> Mapping[str, Any]:
    if not isinstance(config, Mapping):
        raise InvalidInput(f"config_dict is {show(config)}; give a mapping")
    return config


def _as_mapping(config: object) -> Mapping[str, Any]:
    """A configuration as a mapping, of the fields that were set if it is an object of mem0."""
    if isinstance(config, Mapping):
        return config
    dump = getattr(config, "model_dump", None)
    if isinstance(config, type) or not callable(dump):
        raise InvalidInput(f"config is {show(config)}; give a file, an ecphora.Memory, or a mapping")
    dumped: Mapping[str, Any] = dump(exclude_unset=True)
    return dumped


# ---- messages


@dataclass(frozen=True, slots=True)
class _Told:
    """A message that is stored."""

    role: str
    text: str
    name: str | None

    @property
    def digest(self) -> str:
        return content_digest(self.role, self.name or "", self.text).hex()


def _told_messages(messages: object) -> list[_Told]:
    """The messages with a text, without system messages."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    elif isinstance(messages, Mapping):
        messages = [messages]
    if not isinstance(messages, list | tuple) or not all(isinstance(one, Mapping) for one in messages):
        raise ValidationError(
            "messages must be str, dict, or list[dict]",
            "VALIDATION_003",
            {"provided_type": type(messages).__name__, "valid_types": ["str", "dict", "list[dict]"]},
            "Convert your input to a string, dictionary, or list of dictionaries.",
        )
    told: list[_Told] = []
    for message in messages:
        role, name = message.get("role"), message.get("name")
        text = _text_of(message.get("content"))
        if role is None or text is None:
            _log.warning("a message without a role or a text was left out: %s", show(message))
        elif role != "system":
            told.append(_Told(str(role), text, None if not name else str(name)))
    return told


def _text_of(content: object) -> str | None:
    """The text of a content; None if there is none, as in a picture."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        texts = [part["text"] for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        return " ".join(map(str, texts)) if texts else None
    if isinstance(content, Mapping):
        return None
    raise ValidationError(
        f"the content of a message is {show(content)}; give a text or a list of parts", "VALIDATION_003"
    )


# ---- checks, with the messages of mem0


def _entity_id(value: object, name: str) -> str:
    text = "" if value is None else str(value).strip()
    if not text:
        raise InvalidInput(f"Invalid {name}: cannot be empty or whitespace-only. Provide a valid identifier.")
    if any(map(str.isspace, text)):
        raise InvalidInput(f"Invalid {name}: cannot contain whitespace. Provide a valid identifier without spaces.")
    return text


def _entity_ids(ids: Mapping[str, object]) -> dict[str, str]:
    return {name: _entity_id(value, name) for name, value in ids.items() if value is not None}


def _required_ids(user_id: object, agent_id: object, run_id: object) -> dict[str, str]:
    provided = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    ids = _entity_ids(provided)
    if not ids:
        raise ValidationError(
            "At least one of 'user_id', 'agent_id', or 'run_id' must be provided.",
            "VALIDATION_001",
            {"provided_ids": provided},
            "Please provide at least one identifier to scope the memory operation.",
        )
    return ids


def _refuse_entity_ids(arguments: Mapping[str, object], method: str) -> None:
    if names := frozenset(ENTITY_IDS) & set(arguments):
        raise InvalidInput(
            f"Top-level entity parameters {names} are not supported in {method}(). "
            "Use filters={'user_id': '...'} instead."
        )


def _check_search(threshold: object, top_k: object) -> None:
    if threshold is not None:
        if not isinstance(threshold, int | float):
            raise InvalidInput("threshold must be a valid number")
        if not 0 <= threshold <= 1:
            raise InvalidInput(f"Invalid threshold: {threshold}. Must be between 0 and 1 (inclusive).")
    if not isinstance(top_k, int) or isinstance(top_k, bool):
        raise InvalidInput("top_k must be a valid integer")
    if top_k < 0:
        raise InvalidInput(f"Invalid top_k: {top_k}. Must be a non-negative integer.")


def _expiration_date(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str):
        raise InvalidInput("expiration_date must be a date string in YYYY-MM-DD format.")
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError as error:
        raise InvalidInput("expiration_date must be a valid date in YYYY-MM-DD format.") from error


def _without_identity(metadata: object, known: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Metadata without the keys that say whose memory it is."""
    if not isinstance(metadata, Mapping):
        raise ValidationError(f"metadata is {show(metadata)}; give a mapping", "VALIDATION_003")
    for name in IDENTITY_KEYS & set(metadata):
        if metadata[name] != known.get(name):
            _log.warning("%s: metadata[%r] is ignored, identity fields cannot be set through metadata", method, name)
    if names := OWN_KEYS & set(metadata):
        raise ValidationError(f"the metadata key {min(names)!r} is reserved; give another", "VALIDATION_003")
    return {name: value for name, value in metadata.items() if name not in IDENTITY_KEYS}


# ---- stored fields


def _version_fields(memory_id: str, number: int, now: str, text: str) -> dict[str, Any]:
    fields = {KIND: RECORDS, KEY: memory_id, VERSION: number, VERSION_AT: now, IS_CURRENT: True}
    return fields if _storable(text) == text else {**fields, CONTENT: text}


def _storable(text: str) -> str:
    return text if strip_invisible(text).strip() else EMPTY


def _content(node: Node) -> str:
    return str(node.metadata.get(CONTENT, node.text))


def _filterable(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata as a memory holds it."""
    try:
        return nested_metadata.pack(payload)
    except InvalidInput as error:
        raise ValidationError(str(error), "VALIDATION_003") from error


def _payload(node: Node) -> dict[str, Any]:
    """The metadata that was given, with the ids, role and times."""
    return {name: value for name, value in nested_metadata.unpack(node.metadata).items() if name not in OWN_KEYS}


def _item(node: Node) -> dict[str, Any]:
    """A memory as results show it, without a score."""
    payload, text = _payload(node), _content(node)
    metadata = {name: value for name, value in payload.items() if name not in CORE_KEYS}
    return {
        "id": str(node.metadata[KEY]),
        "memory": text,
        "hash": hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest(),
        "metadata": metadata or None,
        "created_at": payload["created_at"],
        "updated_at": payload["updated_at"],
        "happened_at": node.happened_at.isoformat(),
        **{name: payload[name] for name in PROMOTED_KEYS if name in payload},
    }


# ---- hits


def _score(hit: Hit, found: Recollection) -> float:
    """The confidence of a recall, on the scale of log-odds lowered by how far the hit lies behind the best one."""
    confidence = min(max(found.confidence, SURE), 1 - SURE)
    log_odds = math.log(confidence / (1 - confidence)) + hit.score - found.hits[0].score
    return found.confidence if hit is found.hits[0] else 1 / (1 + math.exp(min(-log_odds, 500.0)))


def _is_replaced(hit: Hit) -> bool:
    """Whether a later version of the same memory was known at the time that was asked about."""
    key = str(hit.node.metadata[KEY])
    superseded_by = () if hit.validity is None or hit.validity.is_valid else hit.validity.superseded_by
    return any(_memory_id(id_) == key for id_ in superseded_by)


def _validity(validity: Validity | None) -> dict[str, Any] | None:
    """A validity as a mapping, with the ids of mem0 memories instead of the ids of their versions."""
    if validity is None:
        return None
    ids = {
        name: list(dict.fromkeys(_memory_id(id_) for id_ in getattr(validity, name)))
        for name in ("superseded_by", "contradicted_by")
    }
    return {**validity.to_dict(), **ids}


def _memory_id(id_: NodeId) -> str:
    """The id of the mem0 memory of which a memory is a version, or a chunk of a version."""
    return id_.partition("#")[0].partition("/")[0]


# ---- filters


class _ContainsAnyCase(Contains):
    """The value of a key is a text that has ``value`` in it, case does not count."""

    __slots__ = ()
    operator = "icontains"

    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""
        found = metadata.get(self.key)
        return isinstance(found, str) and str(self.value).casefold() in found.casefold()


_OPERATORS: Mapping[str, Callable[[str, Any], Condition]] = {
    "eq": Eq,
    "ne": lambda key, value: Exists(key) & Ne(key, value),
    "gt": Gt,
    "gte": Gte,
    "lt": Lt,
    "lte": Lte,
    "in": In,
    "nin": lambda key, value: Exists(key) & NotIn(key, value),
    "contains": Contains,
    "icontains": _ContainsAnyCase,
}
"""The operators of filters; with them, a missing key meets no condition."""


def _condition(filters: Mapping[str, Any]) -> Condition:
    """The condition that a filter of mem0 stands for."""
    return _all_of(part for key, value in filters.items() for part in _entry_conditions(key, value))


def _entry_conditions(key: str, value: Any) -> list[Condition]:
    """The conditions that one entry of a filter stands for."""
    if key in {"AND", "OR", "NOT"}:
        return _combined(key, value)
    if value == "*":
        return [Exists(key)]
    if not isinstance(value, Mapping):
        return [In(key, value) if isinstance(value, list) else Eq(key, value)]
    if not value:
        raise InvalidInput(f"the filter on {key!r} is {{}}; give a value or an operator")
    for operator in value:
        if operator not in _OPERATORS:
            raise InvalidInput(f"Unsupported metadata filter operator: {operator}")
    return [_OPERATORS[operator](key, operand) for operator, operand in value.items()]


def _combined(operator: str, filters: object) -> list[Condition]:
    """The condition that some filters stand for under ``AND``, ``OR`` or ``NOT``."""
    if operator != "AND" and filters == []:
        raise InvalidInput(f"{operator} operator requires a non-empty list of conditions")
    if not isinstance(filters, list) or not all(isinstance(one, Mapping) and one for one in filters):
        kind = "a list" if operator == "AND" else "a non-empty list"
        raise InvalidInput(f"{operator} operator requires {kind} of conditions")
    parts = [_condition(one) for one in filters]
    if operator == "AND":
        return parts
    return [Or(*parts) if operator == "OR" else Not(Or(*parts))]


def _equal(ids: Mapping[str, str]) -> list[Condition]:
    return [Eq(name, value) for name, value in ids.items()]


def _all_of(conditions: Iterable[Condition]) -> Condition:
    parts = list(conditions)
    return parts[0] if len(parts) == 1 else And(*parts)
