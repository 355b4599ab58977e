"""Strands Agents: a memory as a memory store of an agent (``MemoryStore`` of strands-agents 1.62).

An entry is a memory of its own. What ``add_messages`` gets are the messages of a conversation, one memory each.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any
from uuid import uuid4

from ..errors import InvalidInput
from ..memory import MATCH_ALL, Memory
from ..model.conditions import Eq
from ..model.ids import content_id
from ..model.reprs import show
from ..model.text_format import replace_surrogates, strip_invisible
from ..model.types import Episode, Evidence, Filter, Hit, Node
from ..model.validation import (
    MAX_QUESTION_CHARS,
    check_filter,
    check_flag,
    check_name,
    check_optional_count,
    check_optional_name,
)
from ..recall.recollection import Recollection
from .nested_metadata import pack, unpack
from .records import KEY, KIND, hit_fields

try:
    from strands.memory import MemoryEntry, MemoryStore, SearchOptions
    from strands.memory.extraction.types import ExtractionConfig
    from strands.memory.types import AddMessagesContext
    from strands.types.content import Message
except ImportError as error:
    raise ImportError("Strands Agents is not installed; run: pip install 'ecphora[strands]'") from error

RECORDS = "strands"
"""The kind of the records; in a store the name of the store follows."""
ROLE = "role"
"""Metadata of a message: who said it."""
MAX_RESULTS = 10
"""The number of results where neither the store nor the caller says otherwise."""


class EcphoraStore(MemoryStore):
    """The memory store of a Strands agent::

        with Memory("agent.db") as memory:
            store = EcphoraStore(memory, "notes", speakers={"user": "Ana"}, extraction=True)
            agent = Agent(model=model, memory_manager=MemoryManager([store], add_tool_config=True))
            agent("I moved to Porto.")

    ``name``, ``description``, ``max_search_results``, ``writable`` and ``extraction`` are as in every store. With
    ``extraction=True`` the manager hands over the messages of a conversation, by default every five turns, and they
    are remembered as they are, without a call of a model; ``speakers`` gives their roles names, ``session`` their
    session, and ``keep_replies=False`` leaves out what the assistant said. An ``Extractor`` in an ``ExtractionConfig``
    is used if one is given.

    A search returns the entries and messages of this store; with ``whole_memory`` it returns all memories that pass
    the filter ``where``, whoever stored them. With ``needs_evidence``, the default, nothing comes back if the memory
    has no evidence for an answer, so that nothing unrelated is injected into a prompt.

    The metadata of a result is what was given with the entry, and ``id``, ``score``, ``reason``, ``happened_at``,
    ``speaker``, ``session``, ``source`` and ``validity`` of the memory, and ``evidence`` and ``confidence`` of the
    whole search. These names win over equal ones of the entry.

    To delete an entry, call ``memory.forget`` with its id. Raises ``InvalidInput``, which is a ``ValueError``, for
    what cannot be used, as the stores of Strands raise ``ValueError``.
    """

    def __init__(
        self,
        memory: Memory,
        name: str = "memory",
        *,
        description: str | None = None,
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: ExtractionConfig | bool | None = None,
        needs_evidence: bool = True,
        whole_memory: bool = False,
        where: Filter = MATCH_ALL,
        session: str | None = None,
        speakers: Mapping[str, str] | None = None,
        keep_replies: bool = True,
    ) -> None:
        self.memory = memory
        self.name = check_name("name", name)
        self.description = check_optional_name("description", description)
        self.max_search_results = check_optional_count("max_search_results", max_search_results)
        self.writable = check_flag("writable", writable)
        self.extraction = extraction
        self.needs_evidence = check_flag("needs_evidence", needs_evidence)
        self.session = check_optional_name("session", session)
        if not isinstance(speakers, Mapping | None):
            raise InvalidInput(f"speakers is {show(speakers)}; give a mapping, such as {{'user': 'Ana'}}")
        self.speakers = {role: check_name("speakers", speaker) for role, speaker in (speakers or {}).items()}
        self.keep_replies = check_flag("keep_replies", keep_replies)
        self.kind = f"{RECORDS}:{name}"
        self.where = check_filter(where, memory.zone)
        if not check_flag("whole_memory", whole_memory):
            own, given = Eq(KIND, self.kind), self.where.condition
            self.where = replace(self.where, metadata=own if given is None else own & given)
        self._run = uuid4().hex
        self._lock = Lock()

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """The entries that belong to a query, best first; none for a query without a letter or digit.

        The manager asks with the whole message of the user; what is over the length of a question is left out.
        """
        given = None if options is None else options.get("max_search_results")
        limit = check_optional_count("max_search_results", given) or self.max_search_results or MAX_RESULTS
        if not isinstance(query, str):
            raise InvalidInput(f"query is {show(query)}; give a text")
        if not any(map(str.isalnum, query)):
            return []
        return await asyncio.to_thread(self._search, replace_surrogates(query)[:MAX_QUESTION_CHARS], limit)

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> str:
        """Remember a content; returns the id of the memory.

        A content that is added again before anything else is the same memory, with the metadata of the first time; so
        a repeated call changes nothing. Later it is a new one, as a fact may become true again.
        """
        self._check_writable()
        if not isinstance(content, str) or not strip_invisible(content).strip():
            raise InvalidInput(f"content is {show(content)}; give a text with a visible character")
        return await asyncio.to_thread(self._add, replace_surrogates(content), metadata or {})

    async def add_messages(self, messages: Sequence[Message], context: AddMessagesContext | None = None) -> list[str]:
        """Remember the texts of messages; returns the ids of the memories. Tool calls and pictures are left out.

        A message with the same number and text that comes again, as in a repeated call, is not stored again.
        """
        self._check_writable()
        numbers = None if context is None else context.sequence_numbers
        if numbers is not None and len(numbers) != len(messages):
            raise InvalidInput(f"there are {len(numbers)} sequence_numbers for {len(messages)} messages; give as many")
        return await asyncio.to_thread(self._add_messages, list(messages), numbers)

    def _check_writable(self) -> None:
        if not self.writable:
            raise InvalidInput(f"the store is not writable: {self.name!r}; make it with writable=True")

    def _search(self, query: str, limit: int) -> list[MemoryEntry]:
        found = self.memory.recall(query, limit=limit, where=self.where)
        if self.needs_evidence and found.evidence is Evidence.NONE:
            return []
        whole: dict[str, MemoryEntry] = {}
        for hit in found:
            id_ = hit.node.document or hit.id
            if id_ not in whole and (node := self.memory.get(id_)) is not None:
                whole[id_] = _entry(node, hit, found)
        return list(whole.values())

    def _add(self, content: str, metadata: Mapping[str, Any]) -> str:
        own = Filter(metadata={KIND: self.kind})
        with self._lock:
            last = self.memory.find(where=own, order="-recorded_at", limit=1).memories
            if last and last[0].text == content and ROLE not in last[0].metadata:
                return last[0].id
            return self.memory.remember(self._episode(uuid4().hex, content, metadata), restore=True).id

    def _add_messages(self, messages: Sequence[Message], numbers: Sequence[int] | None) -> list[str]:
        episodes: list[Episode] = []
        for place, message in enumerate(messages):
            role, text = message["role"], _text(message)
            if strip_invisible(text).strip() and (self.keep_replies or role == "user"):
                known = uuid4().hex if numbers is None else f"{self._run}:{numbers[place]}"
                key = content_id(known, role, text)
                speaker = self.speakers.get(role, role)
                episodes.append(self._episode(key, text, {ROLE: role}, speaker=speaker, session=self.session))
        return list(self.memory.remember(episodes, restore=True).ids) if episodes else []

    def _episode(
        self,
        key: str,
        text: str,
        metadata: Mapping[str, Any],
        *,
        speaker: str | None = None,
        session: str | None = None,
    ) -> Episode:
        if not isinstance(metadata, Mapping):
            raise InvalidInput(f"metadata is {show(metadata)}; give a mapping")
        fields = {**pack(metadata), KIND: self.kind, KEY: key}
        return Episode(text, content_id(self.kind, key, prefix=f"{RECORDS}:"), speaker, session, metadata=fields)


def _text(message: Message) -> str:
    """The text blocks of a message, a line each."""
    return replace_surrogates("\n".join(block["text"] for block in message["content"] if "text" in block))


def _entry(node: Node, hit: Hit, found: Recollection) -> MemoryEntry:
    """A hit as an entry, with the whole text of a long memory."""
    metadata = {
        **{name: value for name, value in unpack(node.metadata).items() if name not in {KIND, KEY}},
        "id": node.id,
        **hit_fields(hit, found),
    }
    return MemoryEntry(content=node.text, metadata=metadata)
