"""Google's Agent Development Kit: a memory as the memory service of a runner (google-adk 2.13)."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ..errors import InvalidInput
from ..memory import MATCH_ALL, Memory
from ..model.conditions import Eq
from ..model.ids import content_id
from ..model.reprs import show
from ..model.text_format import replace_surrogates, strip_invisible
from ..model.types import Episode, Evidence, Filter, Hit, Metadata, Node, NodeId
from ..model.validation import RECALL_LIMIT, check_count, check_filter, check_flag
from ..recall.recollection import Recollection

try:
    from google.adk.cli.service_registry import ServiceRegistry, get_service_registry
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
    from google.genai import types
except ImportError as error:
    raise ImportError("Google ADK is not installed; run: pip install 'ecphora[google-adk]'") from error

SCHEME = "ecphora"
"""The scheme of the addresses of memories, as in ``ecphora://agent.db``."""
OWNER, EVENT, AUTHOR = "adk_owner", "adk_event", "adk_author"
"""Metadata of a memory: its application and user as a JSON list, the id of its event, and its author."""
CONTENT, EXTRA = "adk_content", "adk_extra"
"""Metadata of a memory: the content as JSON if it is more than the text, and given metadata that is not plain."""
ID_PREFIX = "google-adk:"
"""What the ids of memories begin with."""
USER, ASSISTANT = "user", "assistant"
"""The author of what users say, and the speaker of what agents say, which a consolidation takes for no person's facts.
"""
_OWN = frozenset({OWNER, EVENT, AUTHOR, CONTENT, EXTRA})


class EcphoraMemoryService(BaseMemoryService):
    """A memory as the memory service of an ADK runner::

        with Memory("agent.db") as memory:
            service = EcphoraMemoryService(memory)
            runner = Runner(app_name="travel", agent=agent, session_service=sessions, memory_service=service)
            ...  # when a session has ended:
            await service.add_session_to_memory(session)

    Each event with text is a memory. What a user says has the id of the user as speaker, what an agent says
    ``assistant``; the name of the agent is the author of the entry. It keeps its content, session and time. An event is
    stored once, however often its session is added; if its content has changed, the new one takes the place of the old.
    What was deleted stays deleted, also when its session is added again. Events without text, such as calls of tools,
    are not stored, and thoughts are not searched.

    All users and applications may share one memory. None of them sees what another's events hold: each call reads and
    writes with the application and the user that it names, and other memories of the file are out of sight. For users
    whose facts must not influence each other when the memory consolidates, give each a scope and a service.

    ``search_memory`` returns at most ``limit`` entries, best first, of the memories that also pass ``where``. With
    ``needs_evidence``, the default, a query that nothing answers gets no entries. ``custom_metadata`` of an entry is
    the metadata that was given, and ``session_id``, ``event_id``, ``score``, ``reason``, ``evidence``, ``confidence``
    and ``validity``, a dict, or None where nothing bounds it. The time of an entry has the offset of the memory's zone.

    Raises ``InvalidInput`` for an option that cannot be used, a text of more than a million characters, and a time
    outside the years 1 to 9999.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        limit: int = RECALL_LIMIT,
        where: Filter = MATCH_ALL,
        needs_evidence: bool = True,
    ) -> None:
        self.memory = memory
        self.limit = check_count("limit", limit)
        self.where = check_filter(where, memory.zone)
        self.needs_evidence = check_flag("needs_evidence", needs_evidence)

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the events of a session that are new or have changed."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store events that are new or have changed, each with ``custom_metadata`` as the metadata of its memory."""
        owner, user = _owner(app_name, user_id), _name(user_id)
        given = _as_metadata(custom_metadata or {})
        episodes = [
            entry.as_episode(owner, user, given)
            for event in events
            if (entry := _Entry.of_event(event, session_id)) is not None
        ]
        await asyncio.to_thread(self._store, episodes)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store entries as memories; an entry's own metadata comes before ``custom_metadata``."""
        owner, user = _owner(app_name, user_id), _name(user_id)
        episodes = [
            entry.as_episode(owner, user, _as_metadata({**(custom_metadata or {}), **one.custom_metadata}))
            for one in memories
            if (entry := _Entry.of_memory(one)) is not None
        ]
        await asyncio.to_thread(self._store, episodes)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """The memories of a user that belong to a query, best first; none for a query without a character."""
        if not strip_invisible(query or "").strip():
            return SearchMemoryResponse()
        found = await asyncio.to_thread(self._recall, replace_surrogates(query), _owner(app_name, user_id))
        hits = () if self.needs_evidence and found.evidence is Evidence.NONE else found.hits
        return SearchMemoryResponse(memories=[self._entry(hit, found) for hit in hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Erase a memory of a user by the ``id`` of its entry; an id that the user does not have changes nothing."""
        if memory_id:
            await asyncio.to_thread(self._forget, memory_id, _owner(app_name, user_id))

    async def close(self) -> None:
        """Close the memory, for a service that :func:`open_memory_service` made."""
        await asyncio.to_thread(self.memory.close)

    def _store(self, episodes: Iterable[Episode]) -> None:
        new: dict[NodeId, Episode] = {}
        for one in episodes:
            id_ = str(one.id)
            stored = self.memory.get(id_)
            if stored is None:
                new[id_] = one
                continue
            kept = {name: value for name, value in stored.metadata.items() if name not in _OWN or name == EXTRA}
            metadata = {**kept, **one.metadata}
            if stored.text != one.text or dict(stored.metadata) != metadata:
                self.memory.update(id_, one.text, mode="replace", metadata=metadata, restore=True)
        if new:
            self.memory.remember(list(new.values()))

    def _recall(self, query: str, owner: str) -> Recollection:
        condition = Eq(OWNER, owner)
        given = self.where.condition
        where = replace(self.where, metadata=condition if given is None else condition & given)
        return self.memory.recall([{"role": "user", "content": query}], limit=self.limit, where=where)

    def _forget(self, id_: NodeId, owner: str) -> None:
        stored = self.memory.get(id_)
        if stored is not None and stored.metadata.get(OWNER) == owner:
            self.memory.forget(id_)

    def _entry(self, hit: Hit, found: Recollection) -> MemoryEntry:
        node = hit.node
        return MemoryEntry(
            id=node.document or node.id,
            content=_content(node),
            author=str(node.metadata.get(AUTHOR, "")) or None,
            timestamp=node.happened_at.astimezone(self.memory.zone).isoformat(),
            custom_metadata={
                **_given_metadata(node),
                "session_id": node.session,
                "event_id": node.metadata.get(EVENT),
                "score": hit.score,
                "reason": hit.reason,
                "evidence": found.evidence.value,
                "confidence": found.confidence,
                "validity": None if hit.validity is None else hit.validity.to_dict(),
            },
        )


def open_memory_service(uri: str, **options: Any) -> EcphoraMemoryService:
    """Open the memory that an address names, as a service that ``close`` closes.

    ``ecphora://agent.db`` is a file in the working directory, ``ecphora:///srv/agent.db`` one with its whole path, and
    ``?scope=work`` names a scope. ``limit``, ``where`` and ``needs_evidence`` of ``options`` are for the service;
    ``agents_dir``, which ADK gives, is not used. Raises ``InvalidInput`` for an address that cannot be read, and a
    ``StoreError`` if the file cannot be opened.

    In a ``services.yaml`` next to the agents it is the class of the scheme::

        services:
          - scheme: ecphora
            type: memory
            class: ecphora.adapters.google_adk.open_memory_service
    """
    address = urlsplit(uri)
    path = unquote(f"{address.netloc}{address.path}")
    if address.scheme != SCHEME or not path:
        raise InvalidInput(f"uri is {show(uri)}; give an address such as 'ecphora://agent.db'")
    options.pop("agents_dir", None)
    arguments = dict(parse_qsl(address.query, keep_blank_values=True))
    scope = arguments.pop("scope", "default")
    if arguments:
        raise InvalidInput(f"uri has the argument {show(next(iter(arguments)))}; only scope is known")
    memory = Memory(path, scope=scope)
    try:
        return EcphoraMemoryService(memory, **options)
    except BaseException:
        memory.close()
        raise


def register(registry: ServiceRegistry | None = None) -> None:
    """Let ADK open ``ecphora://`` addresses, as in ``adk web --memory_service_uri=ecphora://agent.db``.

    Called in a ``services.py`` next to the agents; a ``services.yaml`` does without (:func:`open_memory_service`).
    ``registry`` is by default ADK's own.
    """
    (registry or get_service_registry()).register_memory_service(SCHEME, open_memory_service)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is stored of an event or of an entry."""

    key: str
    content: types.Content
    text: str
    author: str
    speaker: str | None
    happened_at: datetime | str | None
    session: str | None = None
    event: str | None = None

    @classmethod
    def of_event(cls, event: Event, session: str | None) -> "_Entry | None":
        """What is stored of an event, None of one without text."""
        content, author = event.content, event.author or ""
        text = _text(content)
        if content is None or not text:
            return None
        key = event.id or content_id(author, repr(event.timestamp), _as_json(content))
        return cls(json.dumps([session, key]), content, text, author, ASSISTANT, _time(event.timestamp), session, key)

    @classmethod
    def of_memory(cls, entry: MemoryEntry) -> "_Entry | None":
        """What is stored of an entry, None of one without text."""
        text, author = _text(entry.content), entry.author or ""
        if not text:
            return None
        key = entry.id or content_id(author, entry.timestamp or "", _as_json(entry.content))
        speaker = ASSISTANT if entry.content.role == "model" else _name(author)
        return cls(json.dumps(["entry", None, key]), entry.content, text, author, speaker, entry.timestamp)

    def as_episode(self, owner: str, user: str | None, metadata: Metadata) -> Episode:
        """The memory of a user that it becomes."""
        own: dict[str, Any] = {OWNER: owner, AUTHOR: replace_surrogates(self.author)}
        if self.event is not None:
            own[EVENT] = replace_surrogates(self.event)
        if self.content != _plain_content(self.text, self.author):
            own[CONTENT] = _as_json(self.content)
        return Episode(
            self.text,
            content_id(owner, self.key, prefix=ID_PREFIX),
            speaker=user if self.author == USER else self.speaker,
            session=_name(self.session or ""),
            happened_at=self.happened_at,
            metadata={**metadata, **own},
        )


def _owner(app_name: str, user_id: str) -> str:
    """An application and a user in one text, which no other application and user have."""
    return json.dumps([app_name, user_id])


def _name(name: str) -> str | None:
    """A name as a memory has it, None for one without a visible character."""
    return replace_surrogates(name) if strip_invisible(name).strip() else None


def _text(content: types.Content | None) -> str:
    """What is searched of a content: its texts without thoughts; empty without a visible character."""
    parts = (content.parts if content is not None else None) or ()
    text = replace_surrogates("\n".join(part.text for part in parts if part.text and not part.thought))
    return text if strip_invisible(text).strip() else ""


def _plain_content(text: str, author: str) -> types.Content:
    return types.Content(role=USER if author == USER else "model", parts=[types.Part(text=text)])


def _as_json(content: types.Content) -> str:
    return replace_surrogates(json.dumps(content.model_dump(mode="json", exclude_none=True), ensure_ascii=False))


def _content(node: Node) -> types.Content:
    """The content of an event or entry; of a part of a long text, that part."""
    stored = node.metadata.get(CONTENT)
    if isinstance(stored, str) and node.document is None:
        return types.Content.model_validate_json(stored)
    return _plain_content(node.text, str(node.metadata.get(AUTHOR, "")))


def _time(timestamp: float) -> datetime:
    try:
        return datetime.fromtimestamp(timestamp, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput(f"the timestamp of an event is {timestamp!r}; give epoch seconds") from error


def _as_metadata(given: Mapping[str, object]) -> dict[str, Any]:
    """Given metadata as a memory holds it: what is not plain, as JSON under one key."""
    plain = {name: value for name, value in given.items() if _is_plain(value) and name not in _OWN}
    extra = {name: value for name, value in given.items() if not _is_plain(value) and name not in _OWN}
    return {**plain, EXTRA: json.dumps(extra, default=str)} if extra else plain


def _given_metadata(node: Node) -> dict[str, Any]:
    extra = node.metadata.get(EXTRA)
    plain = {name: value for name, value in node.metadata.items() if name not in _OWN}
    return {**plain, **(json.loads(extra) if isinstance(extra, str) else {})}


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool | None)
