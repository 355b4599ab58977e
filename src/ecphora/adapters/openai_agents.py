"""Sessions of the OpenAI Agents SDK in a memory, a tool that recalls from it, and memories in the instructions.

A session keeps the items of one conversation, in their order and exactly as they came. An item that says something is
an ordinary memory with its speaker and session, so a recall finds it from every other session. Items without such a
text, as tool calls and reasoning, are kept too: they are archived, and this module never recalls them.

Written for openai-agents 0.24: the protocol ``agents.memory.session.Session``, ``function_tool`` and
``RunConfig.call_model_input_filter``.
"""

import asyncio
import json
import secrets
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

try:
    from agents import FunctionTool, TResponseInputItem, function_tool
    from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit
    from agents.run_config import CallModelData, ModelInputData
except ImportError as error:
    raise ImportError("the OpenAI Agents SDK is not installed; run: pip install 'ecphora[openai-agents]'") from error

from ..errors import InvalidInput
from ..memory import Memory
from ..model.conditions import Condition, Eq, Gt, Ne, parse_condition
from ..model.ids import content_id
from ..model.types import Episode, Evidence, Filter, Metadata, Node
from ..model.validation import check_count, check_name
from ..recall.recollection import Recollection
from ..remember.messages import DEFAULT_OPTIONS, MessageOptions, episodes_from_messages, question_from_messages
from .records import KIND, find_all

_T = TypeVar("_T")
OF_SESSIONS = "openai_agents"
"""The kind of the items."""
ITEM, PLACE, HAS_TEXT = "openai_item", "openai_place", "openai_has_text"
"""The metadata of an item: its JSON, its place in the session, and whether its memory is the text of the item."""
PROMPT_BUDGET = 1_000
"""The tokens of memories that a model is shown, by default (estimated)."""
NOTHING_FOUND = "No memory answers this question."
"""What the tool replies where the evidence is NONE."""
NO_FILTER = Filter()


class EcphoraSession:
    """The history of one conversation: the ``Session`` protocol of the Agents SDK, in a memory.

        with Memory("agent.db") as memory:
            session = EcphoraSession(memory, "chat-17", message_options=MessageOptions(speakers={"user": "Ana"}))
            agent = Agent(name="assistant", tools=[recall_tool(memory)])
            config = RunConfig(call_model_input_filter=session.inject_memories())
            await Runner.run(agent, "I moved to Porto.", session=session, run_config=config)

    ``session_id`` is a name of 1 to 512 characters. ``message_options`` names the speakers, and says whether results of
    tools and system prompts are remembered so that a recall finds them; the history has them anyhow.
    ``session_settings`` has the limit of ``get_items``. Raises ``InvalidInput`` for a name that cannot be used, and
    ``TypeError``, as the SDK does, for unknown settings and for items that JSON cannot hold.

    Safe to share between threads and event loops. Sessions of one id may write to a file at the same time, in one
    process or several: what one call adds stays together. A call that writes and is cancelled ends only when the write
    has: whoever goes on then knows what the session holds.
    """

    def __init__(
        self,
        memory: Memory,
        session_id: str,
        *,
        message_options: MessageOptions = DEFAULT_OPTIONS,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.memory = memory
        self.session_id = check_name("session_id", session_id)
        self.session_settings: SessionSettings | None = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        self._message_options = message_options
        self._last_place = ""
        self._lock = threading.Lock()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items of the session, oldest first; with a limit, its own or of the settings, the latest ones.

        A negative limit is none, as in the sessions of the SDK.
        """
        return await asyncio.to_thread(self._get_items, resolve_session_limit(limit, self.session_settings))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items, equal ones too; all are checked before the first is written."""
        await _finish(self._add_items, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Erase the last item and return it, None if there is none."""
        return await _finish(self._pop_item)

    async def clear_session(self) -> None:
        """Erase all items of the session; other memories of a session of that name stay."""
        await _finish(self._clear_session)

    def inject_memories(
        self, *, where: Filter = NO_FILTER, limit: int = 10, budget: int = PROMPT_BUDGET
    ) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
        """A ``call_model_input_filter`` that adds what other sessions know to the instructions of each request.

        It recalls for the last user message, and adds up to ``limit`` memories within ``budget`` tokens (estimated).
        With the evidence NONE it adds nothing. Memories of this session are left out: its history has them.
        """
        outside = replace(where, not_sessions=(*_names(where.not_sessions), self.session_id))
        recall = _recall_function(self.memory, outside, limit)
        budget = check_count("budget", budget)

        async def add_memories(data: CallModelData[Any]) -> ModelInputData:
            given = data.model_data
            question = _question(given.input)
            found = None if question is None else await asyncio.to_thread(recall, question)
            if found is None or found.evidence is Evidence.NONE:
                return given
            parts = (given.instructions, found.to_prompt(budget))
            return ModelInputData(given.input, "\n\n".join(part for part in parts if part))

        return add_memories

    # ---- in a thread

    def _get_items(self, limit: int | None) -> list[TResponseInputItem]:
        nodes = self._nodes()
        if limit is not None and limit >= 0:
            nodes = nodes[max(0, len(nodes) - limit) :]
        return [_item_of(node) for node in nodes]

    def _add_items(self, items: list[TResponseInputItem]) -> None:
        texts = [json.dumps(item) for item in items]
        with self._lock:
            prefix = self._next_place()
            episodes = [
                self._episode(item, text, f"{prefix}{index:06}")
                for index, (item, text) in enumerate(zip(items, texts, strict=True))
            ]
            if episodes:
                self.memory.remember(episodes, restore=True)
            if silent := [str(one.id) for one in episodes if not one.metadata[HAS_TEXT]]:
                self.memory.maintenance.archive(silent)

    def _episode(self, item: TResponseInputItem, json_text: str, place: str) -> Episode:
        """The memory of an item: its text, or the kind of item that it is."""
        said = _said(item, Episode("", session=self.session_id), self._message_options)
        one = said or Episode(f"({_kind_of(item)})", session=self.session_id)
        own: Metadata = {KIND: OF_SESSIONS, ITEM: json_text, PLACE: place, HAS_TEXT: said is not None}
        return replace(one, id=content_id(place, prefix="openai:"), metadata={**one.metadata, **own})

    def _pop_item(self) -> TResponseInputItem | None:
        with self._lock:
            while nodes := self._nodes():
                if self.memory.forget(nodes[-1].id).episode_ids:  # else another process has popped it
                    return _item_of(nodes[-1])
        return None

    def _clear_session(self) -> None:
        with self._lock:
            self.memory.forget(where=self._filter())

    def _next_place(self) -> str:
        """What the places of the next items begin with: a number behind all others, and a mark of this call."""
        places = [str(node.metadata[PLACE]) for node in self._nodes(Gt(PLACE, self._last_place))]
        self._last_place = max([self._last_place, *places])
        number = int(self._last_place.partition("-")[0] or 0) + 1
        return f"{number:012}-{secrets.token_hex(12)}-"

    def _nodes(self, condition: Condition | None = None) -> list[Node]:
        """The memories of the items that meet a condition, in their order."""
        return sorted(find_all(self.memory, self._filter(condition)), key=lambda node: str(node.metadata[PLACE]))

    def _filter(self, condition: Condition | None = None) -> Filter:
        of_items: Condition = Eq(KIND, OF_SESSIONS)
        return Filter(sessions=self.session_id, metadata=of_items if condition is None else of_items & condition)


async def _finish(write: Callable[..., _T], *arguments: Any) -> _T:
    """Run a write in a thread until it is done, even if the caller is cancelled meanwhile; then it is cancelled."""
    task = asyncio.ensure_future(asyncio.to_thread(write, *arguments))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        raise cancelled from task.exception()
    return task.result()


def recall_tool(
    memory: Memory, *, where: Filter = NO_FILTER, limit: int = 10, budget: int = PROMPT_BUDGET, name: str = "recall"
) -> FunctionTool:
    """A tool with which an agent asks the memory, over all sessions: ``Agent(tools=[recall_tool(memory)])``.

    The reply quotes up to ``limit`` memories within ``budget`` tokens (estimated). With the evidence NONE it says that
    no memory answers the question, and shows none. ``where`` restricts what may come back, as in
    ``Filter(not_sessions="chat-17")``.
    """
    recall_memories = _recall_function(memory, where, limit)
    budget = check_count("budget", budget)

    async def recall(question: str) -> str:
        """Search what is remembered of all conversations. Use it before you say that you do not know something.

        Args:
            question: A whole question that names who and what it is about, such as: Where does Ana live?
        """
        found = await asyncio.to_thread(recall_memories, question)
        return NOTHING_FOUND if found.evidence is Evidence.NONE else found.to_prompt(budget)

    return function_tool(recall, name_override=check_name("name", name))


def _recall_function(memory: Memory, where: Filter, limit: int) -> Callable[[str], Recollection]:
    """A recall that leaves out items without a text."""
    limit = check_count("limit", limit)
    given = where.metadata if isinstance(where.metadata, Condition) else parse_condition(where.metadata)
    has_text: Condition = Ne(HAS_TEXT, False)
    filter_ = replace(where, metadata=has_text if given is None else has_text & given)
    return lambda question: memory.recall(question, limit=limit, where=filter_)


def _names(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _said(item: TResponseInputItem, template: Episode, options: MessageOptions) -> Episode | None:
    """What an item says, None if it is nothing that is remembered or no text that a memory can hold."""
    try:
        found = episodes_from_messages([item], template=template, options=options).episodes
    except InvalidInput:
        return None
    return replace(found[0], text="\n".join(one.text for one in found)) if found else None


def _question(items: list[TResponseInputItem]) -> str | None:
    """What the last user messages ask, None if they have no text."""
    asked = [item for item in items if isinstance(item, Mapping) and item.get("role") == "user"]
    try:
        return question_from_messages(asked)
    except InvalidInput:
        return None


def _kind_of(item: TResponseInputItem) -> str:
    """The kind of item, as words."""
    kind = item.get("type") or item.get("role") if isinstance(item, Mapping) else None
    return kind.replace("_", " ") if isinstance(kind, str) and kind.isidentifier() else "item"


def _item_of(node: Node) -> TResponseInputItem:
    return json.loads(str(node.metadata[ITEM]))
