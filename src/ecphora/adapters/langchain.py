"""LangChain: a memory as a retriever (langchain-core 1.8) and as a middleware of agents (LangChain 1.5)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypedDict

from ..errors import InvalidInput
from ..memory import MATCH_ALL, Memory
from ..model.conditions import Condition, NotIn, parse_condition
from ..model.ids import content_id
from ..model.reprs import show
from ..model.text_format import replace_surrogates
from ..model.types import Episode, Evidence, Filter, Hit, When
from ..model.validation import RECALL_LIMIT, check_count, check_filter, check_flag, check_optional_name
from ..recall.recollection import Recollection
from ..remember.messages import DEFAULT_OPTIONS, MessageOptions, episodes_from_messages
from .records import hit_fields

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.retrievers import BaseRetriever
    from langgraph.runtime import Runtime
    from pydantic import Field, InstanceOf
except ImportError as error:
    raise ImportError("LangChain is not installed; run: pip install 'ecphora[langchain]'") from error

MESSAGE = "langchain_message"
"""The metadata key under which a remembered message has its own id, so that a recall can leave it out."""
ID_PREFIX = "langchain:"
"""What the ids of remembered messages begin with."""
PROMPT_BUDGET = 1_000
"""The tokens of memories (estimated) that the middleware adds to a prompt by default."""


class EcphoraRetriever(BaseRetriever):
    """A memory as a retriever: a query is recalled, and each memory that comes back is a document, best first::

        with Memory("agent.db") as memory:
            memory.remember("I moved to Porto.", speaker="Ana", happened_at="2026-05-03")
            retriever = EcphoraRetriever(memory=memory, k=5)
            for document in retriever.invoke("Where does Ana live?"):
                print(document.page_content, document.metadata["reason"])

    ``k`` bounds the documents. ``where`` filters the memories, and so does ``filter``, conditions on their metadata as
    :class:`Filter` takes them. ``as_of`` is a point in event time. With ``needs_evidence``, the default, a query that
    nothing answers gets no documents; otherwise it gets what is nearest. Each of these may also be given to ``invoke``
    and ``ainvoke``, for one call.

    The metadata of a document is the metadata of the memory, and ``id``, ``score``, ``reason``, ``evidence``,
    ``confidence``, ``speaker``, ``session``, ``source``, ``title``, ``happened_at`` (ISO 8601) and ``validity``, a
    dict, or None where nothing bounds it. Raises ``InvalidInput`` for an argument that cannot be used.
    """

    memory: InstanceOf[Memory] = Field(repr=False, exclude=True)
    k: int = RECALL_LIMIT
    where: InstanceOf[Filter] = MATCH_ALL
    filter: Any = None
    as_of: Any = None
    needs_evidence: bool = True

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun | None = None,
        k: int | None = None,
        where: Filter | None = None,
        filter: Mapping[str, Any] | Condition | None = None,  # noqa: A002
        as_of: When | None = None,
        needs_evidence: bool | None = None,
    ) -> list[Document]:
        del run_manager
        found = self.memory.recall(
            query,
            limit=self.k if k is None else k,
            where=_narrow(self.where if where is None else where, self.filter if filter is None else filter),
            as_of=self.as_of if as_of is None else as_of,
        )
        if (self.needs_evidence if needs_evidence is None else needs_evidence) and found.evidence is Evidence.NONE:
            return []
        return [_document(hit, found) for hit in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun | None = None, **arguments: Any
    ) -> list[Document]:
        del run_manager
        return await asyncio.to_thread(self._get_relevant_documents, query, **arguments)


def _narrow(where: Filter, metadata: Mapping[str, Any] | Condition | None) -> Filter:
    """A filter that also has a condition on metadata."""
    condition = parse_condition(metadata or {})
    if condition is None:
        return where
    own = check_filter(where).condition
    return replace(where, metadata=condition if own is None else own & condition)


def _document(hit: Hit, found: Recollection) -> Document:
    metadata = {**hit.node.metadata, "id": hit.id, "title": hit.node.title, **hit_fields(hit, found)}
    return Document(id=hit.id, page_content=hit.text, metadata=metadata)


class RecalledPrompt(TypedDict):
    """What was recalled for a message: its id, and the memories as a text for the prompt, which may be empty."""

    message: str
    text: str


class EcphoraState(AgentState[Any]):
    """The state of an agent, and what was recalled for the last user message."""

    ecphora: Annotated[RecalledPrompt | None, PrivateStateAttr]


class EcphoraMiddleware(AgentMiddleware[EcphoraState, Any, Any]):
    """Gives an agent a memory: recalls for each user message, and remembers the conversation::

        with Memory("agent.db") as memory:
            speakers = MessageOptions(speakers={"user": "Ana"})
            middleware = EcphoraMiddleware(memory, message_options=speakers)
            agent = create_agent(model, tools=[], middleware=[middleware], checkpointer=checkpointer)
            agent.invoke({"messages": [("user", "Where do I live?")]}, {"configurable": {"thread_id": "friday"}})

    Before the model is called, ``before_model`` recalls for the last user message, once, and keeps the memories in a
    private field of the state, so that a resumed run recalls nothing twice. Each model call then gets them at the end
    of the system message; the messages of the state stay as they are. ``budget`` bounds the tokens of the memories
    (estimated), ``limit`` their number, and ``where`` says which are eligible. With ``needs_evidence``, the default,
    nothing is added if the memory has no evidence for an answer. Messages that the model sees anyway are not recalled.

    When the agent has finished, ``after_agent`` remembers the messages that are new. ``message_options`` gives the
    roles their speakers and says what else is kept besides the texts of the user and the assistant. ``session`` is
    their session, by default the id of the thread. In a thread, a message is known by its id; without one, by all that
    was said before it, so that a history that is passed again adds nothing. What was forgotten stays forgotten.
    ``recalls=False`` and ``remembers=False`` switch either half off.

    Raises ``InvalidInput`` for an option that cannot be used, and for a message of more than a million characters.
    """

    state_schema = EcphoraState

    def __init__(
        self,
        memory: Memory,
        *,
        limit: int = RECALL_LIMIT,
        budget: int = PROMPT_BUDGET,
        where: Filter = MATCH_ALL,
        needs_evidence: bool = True,
        session: str | None = None,
        message_options: MessageOptions = DEFAULT_OPTIONS,
        recalls: bool = True,
        remembers: bool = True,
    ) -> None:
        super().__init__()
        self.tools: list[Any] = []
        self.memory = memory
        self.limit, self.budget = check_count("limit", limit), check_count("budget", budget)
        self.where = check_filter(where, memory.zone)
        self.needs_evidence = check_flag("needs_evidence", needs_evidence)
        self.session = check_optional_name("session", session)
        if not isinstance(message_options, MessageOptions):
            raise InvalidInput(f"message_options is {show(message_options)}; give MessageOptions(speakers=...)")
        self.message_options = message_options
        self.recalls, self.remembers = check_flag("recalls", recalls), check_flag("remembers", remembers)

    def before_model(self, state: EcphoraState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Recall for the last user message, unless this was done already."""
        messages = state["messages"]
        asked = max((place for place, one in enumerate(messages) if isinstance(one, HumanMessage)), default=None)
        if not self.recalls or asked is None:
            return None
        ids, known = _memory_ids(messages, _thread_of(runtime)), state.get("ecphora")
        if known is not None and known["message"] == ids[asked]:
            return None
        text = self._recall(messages[: asked + 1], ids) if messages[asked].text.strip() else ""
        return {"ecphora": RecalledPrompt(message=ids[asked], text=text)}

    async def abefore_model(self, state: EcphoraState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The same, in a thread."""
        return await asyncio.to_thread(self.before_model, state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with what was recalled at the end of the system message."""
        return handler(self._with_memories(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The same for an asynchronous call."""
        return await handler(self._with_memories(request))

    def after_agent(self, state: EcphoraState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Remember the messages of the user and the assistant that are new."""
        if self.remembers:
            thread = _thread_of(runtime)
            episodes = self._episodes(state["messages"], thread)
            if episodes:
                new = set(self.memory.remember(episodes, dry_run=True).created)
                self.memory.remember([one for one in episodes if one.id in new])
        return None

    async def aafter_agent(self, state: EcphoraState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The same, in a thread."""
        return await asyncio.to_thread(self.after_agent, state, runtime)

    def _recall(self, messages: Sequence[AnyMessage], ids: Iterable[str]) -> str:
        """The memories for the last user message as a text; empty if there are none."""
        question = [{"role": "user", "content": _text(one)} for one in messages if isinstance(one, HumanMessage)]
        where = _narrow(self.where, NotIn(MESSAGE, tuple(ids)))
        found = self.memory.recall(question, limit=self.limit, where=where)
        is_unknown = self.needs_evidence and found.evidence is Evidence.NONE
        return "" if is_unknown else found.to_prompt(self.budget)

    def _with_memories(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """A request with what was recalled at the end of its system message."""
        state: Any = request.state
        text = (state.get("ecphora") or {}).get("text") if self.recalls else None
        if not text:
            return request
        old = request.system_message
        content: Any = text if old is None else [*old.content_blocks, {"type": "text", "text": f"\n\n{text}"}]
        return request.override(system_message=SystemMessage(content=content))

    def _episodes(self, messages: Sequence[AnyMessage], thread: str | None) -> list[Episode]:
        """What is remembered of messages, each text with an id of its own."""
        session = thread if self.session is None else self.session
        episodes: list[Episode] = []
        for message, id_ in zip(messages, _memory_ids(messages, thread), strict=True):
            if isinstance(message, HumanMessage | AIMessage | SystemMessage | ToolMessage):
                template, zone = Episode("", session=session, metadata={MESSAGE: id_}), self.memory.zone
                readable = message.model_copy(update={"content": _without_surrogates(message.content)})
                read = episodes_from_messages([readable], template=template, options=self.message_options, zone=zone)
                for number, one in enumerate(read.episodes):
                    own_id = content_id(id_, str(number), prefix=ID_PREFIX) if number else id_
                    episodes.append(replace(one, id=own_id))
        return episodes


def _thread_of(runtime: Runtime[Any]) -> str | None:
    """The id of the thread that a checkpointer keeps, None without one."""
    info = runtime.execution_info
    return None if info is None or info.thread_id is None else str(info.thread_id)


def _memory_ids(messages: Iterable[AnyMessage], thread: str | None) -> list[str]:
    """The ids of the memories that messages become: by their own ids in a thread, else by all that was said before."""
    ids: list[str] = []
    said = ""
    for message in messages:
        own_id = getattr(message, "tool_call_id", "") if thread is None else f"{message.id}"
        ids.append(content_id(thread or said, own_id, message.type, _text(message), prefix=ID_PREFIX))
        if isinstance(message, HumanMessage | AIMessage):
            said = ids[-1]
    return ids


def _text(message: AnyMessage) -> str:
    return replace_surrogates(str(message.text))


def _without_surrogates(content: Any) -> Any:
    """The content of a message with question marks for lone surrogates, which no memory can hold."""
    if isinstance(content, list):
        return [_without_surrogates(part) for part in content]
    if isinstance(content, dict):
        return {name: _without_surrogates(part) for name, part in content.items()}
    return replace_surrogates(content) if isinstance(content, str) else content
