"""Microsoft Agent Framework: a memory as a context provider and as a history provider (agent-framework-core 1.23)."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, ClassVar

from ..errors import InvalidInput
from ..memory import MATCH_ALL, Memory
from ..model.conditions import Exists
from ..model.ids import content_id
from ..model.reprs import show
from ..model.text_format import replace_surrogates, strip_invisible
from ..model.types import Evidence, Filter
from ..model.validation import RECALL_LIMIT, check_count, check_filter, check_flag, check_name
from ..recall.recollection import Recollection
from ..remember.messages import DEFAULT_OPTIONS, MessageOptions
from .records import CONTENT, Records

try:
    from agent_framework import (
        AgentSession,
        ContextProvider,
        HistoryProvider,
        Message,
        SessionContext,
        SupportsAgentRun,
    )
    from agent_framework._sessions import filter_new_messages  # the rule by which the framework's own providers append
except ImportError as error:
    message = "Microsoft Agent Framework is not installed; run: pip install 'ecphora[agent-framework]'"
    raise ImportError(message) from error

PROMPT_BUDGET = 1_000
"""The tokens of memories (estimated) that the context provider adds to a prompt by default."""
HISTORY = "agent_framework"
"""The kind of the records of a history."""
SESSION, POSITION, MESSAGE = "history_session", "history_position", "history_message"
"""Metadata of a record: the provider and session as a JSON list, the place in the session, and the message as JSON."""
REMEMBERED_ROLES = frozenset({"user", "assistant", "system", "developer", "tool"})
"""The roles of messages that a memory can read."""


class EcphoraContextProvider(ContextProvider):
    """Gives an agent a memory: recalls for each run, and remembers what was said::

        with Memory("agent.db") as memory:
            speakers = MessageOptions(speakers={"user": "Ana"})
            provider = EcphoraContextProvider(memory, message_options=speakers)
            agent = Agent(client=client, context_providers=[provider])
            await agent.run("Where do I live?", session=agent.create_session())

    ``before_run`` recalls for the last user message of the run and adds the memories as one message before it, of at
    most ``limit`` memories and ``budget`` tokens (estimated). It names the sessions that they come from. ``where`` says
    which memories are eligible. With ``needs_evidence``, the default, nothing is added if the memory has no evidence
    for an answer. With ``other_sessions_only``, the default, what was said in the session itself is not recalled, since
    its history has it.

    ``after_run`` remembers the messages of the run and of the response. The speaker of a message is the ``author_name``
    of a user, or what ``message_options`` gives for its role; these also say whether tool results and system prompts
    are kept. ``created_at`` or ``timestamp`` in ``additional_properties`` is its time. A turn that is said again word
    for word in its session is stored once, and what was forgotten stays forgotten. ``recalls=False`` and
    ``remembers=False`` switch either half off: the latter with an :class:`EcphoraHistoryProvider` on the same memory,
    which keeps the messages already.

    All who use the memory share it; for users that must not, open a memory with a scope for each. Raises
    ``InvalidInput`` for an option that cannot be used, and for a message of more than a million characters.
    """

    DEFAULT_SOURCE_ID: ClassVar[str] = "ecphora"

    def __init__(
        self,
        memory: Memory,
        *,
        source_id: str = DEFAULT_SOURCE_ID,
        limit: int = RECALL_LIMIT,
        budget: int = PROMPT_BUDGET,
        where: Filter = MATCH_ALL,
        needs_evidence: bool = True,
        other_sessions_only: bool = True,
        message_options: MessageOptions = DEFAULT_OPTIONS,
        recalls: bool = True,
        remembers: bool = True,
    ) -> None:
        super().__init__(check_name("source_id", source_id))
        self.memory = memory
        self.limit, self.budget = check_count("limit", limit), check_count("budget", budget)
        self.where = check_filter(where, memory.zone)
        self.needs_evidence = check_flag("needs_evidence", needs_evidence)
        self.other_sessions_only = check_flag("other_sessions_only", other_sessions_only)
        if not isinstance(message_options, MessageOptions):
            raise InvalidInput(f"message_options is {show(message_options)}; give MessageOptions(speakers=...)")
        self.message_options = message_options
        self.recalls, self.remembers = check_flag("recalls", recalls), check_flag("remembers", remembers)

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add the memories that belong to the last user message."""
        del agent, session, state
        said = _as_messages(context.input_messages)
        question = [one for one in said if one["role"] == "user" and one["content"]]
        if not self.recalls or not question:
            return
        found = await asyncio.to_thread(self._recall, question, _session_name(context.session_id))
        text = "" if self.needs_evidence and found.evidence is Evidence.NONE else found.to_prompt(self.budget)
        if text:
            origins = [hit.node.session for hit in found if hit.node.session is not None]
            context.extend_messages(self, [Message("user", [text])], origin_session_ids=origins)

    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Remember the messages of the run and of the response."""
        del agent, session, state
        said = _as_messages([*context.input_messages, *(context.response.messages if context.response else ())])
        if self.remembers and said:
            await asyncio.to_thread(
                self.memory.remember,
                said,
                session=_session_name(context.session_id),
                message_options=self.message_options,
            )

    def _recall(self, question: Sequence[dict[str, Any]], session: str | None) -> Recollection:
        has_text = ~Exists(CONTENT)  # not a message of a history that only calls a tool
        given = self.where.condition
        where = replace(self.where, metadata=has_text if given is None else given & has_text)
        if self.other_sessions_only and session is not None:
            skipped = self.where.not_sessions
            where = replace(where, not_sessions=(*((skipped,) if isinstance(skipped, str) else skipped), session))
        return self.memory.recall(question, limit=self.limit, where=where)


class EcphoraHistoryProvider(HistoryProvider):
    """Keeps the messages of sessions in a memory, where a recall finds them too::

        with Memory("agent.db") as memory:
            providers = [EcphoraHistoryProvider(memory), EcphoraContextProvider(memory, remembers=False)]
            agent = Agent(client=client, context_providers=providers)
            session = agent.create_session(session_id="monday")  # the same id goes on where it ended
            await agent.run("I live in Lisbon.", session=session)

    Each message is a memory with its text, and comes back as it was, with tool calls, media and properties. The
    speaker is the ``author_name`` of a user, or what ``speakers`` gives for its role. Messages are appended as by the
    framework's ``FileHistoryProvider``: messages passed again are stored once. ``clear`` erases a session. What
    was forgotten in the memory is missing in the history too.

    With ``skip_excluded`` messages that a compaction has excluded are left out. The other options are the framework's.
    Sessions without an id share one history. Providers with different ``source_id`` have histories of their own.
    Raises ``InvalidInput`` for an option that cannot be used, and for a message of more than a million characters.
    """

    DEFAULT_SOURCE_ID: ClassVar[str] = "ecphora_history"

    def __init__(
        self,
        memory: Memory,
        *,
        source_id: str = DEFAULT_SOURCE_ID,
        load_messages: bool = True,
        store_inputs: bool = True,
        store_context_messages: bool = False,
        store_context_from: set[str] | None = None,
        store_outputs: bool = True,
        skip_excluded: bool = False,
        speakers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            check_name("source_id", source_id),
            load_messages=load_messages,
            store_inputs=store_inputs,
            store_context_messages=store_context_messages,
            store_context_from=store_context_from,
            store_outputs=store_outputs,
        )
        self.memory = memory
        self.skip_excluded = check_flag("skip_excluded", skip_excluded)
        self.speakers = {role: check_name("speakers", name) for role, name in (speakers or {}).items()}
        self._records = Records(memory, HISTORY)
        self._lock = Lock()

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """The messages of a session, in their order."""
        del state, kwargs
        messages = [one for _, one in await asyncio.to_thread(self._load, session_id)]
        return [one for one in messages if not (self.skip_excluded and one.additional_properties.get("_excluded"))]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Append messages to a session, without messages that it has already."""
        del state, kwargs
        if messages:
            await asyncio.to_thread(self._append, session_id, messages)

    async def clear(self, session_id: str | None) -> None:
        """Erase the messages of a session."""
        await asyncio.to_thread(self._clear, session_id)

    def _history_of(self, session_id: str | None) -> str:
        return json.dumps([self.source_id, session_id or None])

    def _load(self, session_id: str | None) -> list[tuple[int, Message]]:
        stored = [
            (int(str(record.metadata[POSITION])), record.node.seq, str(record.metadata[MESSAGE]))
            for record in self._records.find({SESSION: self._history_of(session_id)})
        ]
        return [(position, Message.from_dict(json.loads(text))) for position, _, text in sorted(stored)]

    def _append(self, session_id: str | None, messages: Sequence[Message]) -> None:
        history = self._history_of(session_id)
        with self._lock:
            stored = self._load(session_id)
            first = stored[-1][0] + 1 if stored else 0
            new = filter_new_messages([one for _, one in stored], messages)
            for position, (message, text) in enumerate([(one, json.dumps(one.to_dict())) for one in new], first):
                content = _text(message)
                self._records.put(
                    # What another process appends at the same place is another record.
                    json.dumps([history, position, content_id(text)]),
                    content if strip_invisible(content).strip() else "",
                    {SESSION: history, POSITION: position, MESSAGE: text},
                    speaker=_name(message) or self.speakers.get(message.role, message.role),
                    session=_session_name(session_id),
                    source="tool" if message.role == "tool" else None,
                )

    def _clear(self, session_id: str | None) -> None:
        with self._lock:
            self._records.erase({SESSION: self._history_of(session_id)})


def _as_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages in the shape that a memory reads: texts without tool calls, reasoning and media."""
    said = []
    for one in messages:
        if one.role in REMEMBERED_ROLES:
            text = _text(one)
            fields = {"role": one.role, "content": text if strip_invisible(text).strip() else "", "name": _name(one)}
            times = {name: one.additional_properties.get(name) for name in ("created_at", "timestamp")}
            said.append({name: value for name, value in {**fields, **times}.items() if value is not None})
    return said


def _text(message: Message) -> str:
    results = (str(one.result or "") for one in message.contents if one.type == "function_result")
    return replace_surrogates(message.text or "\n".join(results))


def _name(message: Message) -> str | None:
    """Who speaks, for a user with a name; the framework gives every reply the name of its agent."""
    name = message.author_name if message.role == "user" else None
    return replace_surrogates(name) if name and strip_invisible(name).strip() else None


def _session_name(session_id: str | None) -> str | None:
    return replace_surrogates(session_id) if session_id else None
