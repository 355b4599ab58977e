"""LlamaIndex: a memory as a block of an agent's memory and as a retriever (llama-index-core 0.14)."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

from ..memory import MATCH_ALL, Memory
from ..model.text_format import replace_surrogates, strip_invisible
from ..model.types import Evidence, Filter, When
from ..model.validation import RECALL_LIMIT, check_count, check_filter, check_flag
from ..recall.recollection import Recollection
from ..remember.messages import DEFAULT_OPTIONS, MessageOptions
from .records import hit_fields

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.bridge.pydantic import Field
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
    from pydantic import InstanceOf
except ImportError as error:
    raise ImportError("LlamaIndex is not installed; run: pip install 'ecphora[llama-index]'") from error

PROMPT_BUDGET = 1_000
"""The tokens of memories (estimated) that the block adds to a prompt by default."""
SESSION_ID = "session_id"
"""Where LlamaIndex says in ``additional_kwargs`` which session a message belongs to."""
TIME_FIELDS = ("created_at", "timestamp")
"""Where ``additional_kwargs`` may say when a message was sent; the first that is a time counts."""
SHOWN_METADATA = frozenset({"speaker", "happened_at", "title", "source", "validity"})
"""The metadata of a node that LlamaIndex shows a model with the text; what else there is, only programs see."""


class EcphoraMemoryBlock(BaseMemoryBlock[str]):
    """A block of LlamaIndex's ``Memory``: keeps what leaves the chat history, and recalls what belongs to a message::

        with ecphora.Memory("agent.db") as memory:
            block = EcphoraMemoryBlock(memory, message_options=MessageOptions(speakers={"user": "Ana"}))
            chat = llama_index.core.memory.Memory.from_defaults(session_id="monday", memory_blocks=[block])
            reply = await agent.run("Where do I live?", memory=chat)

    LlamaIndex gives a block the messages that no longer fit in ``token_limit``, and each session of an agent has a
    ``Memory`` of its own; the block may be the same for all. To keep all messages, also of short sessions, call
    ``await block.aput(messages, session_id=...)`` with all of ``chat.get_all()`` when a session ends: what is stored
    already is not stored twice.

    ``message_options`` gives the roles their speakers, and says whether tool results and system prompts are kept. The
    session of a message is its ``session_id`` in ``additional_kwargs``, where ``name`` and ``timestamp`` or
    ``created_at`` may give its speaker and time. What was forgotten stays forgotten.

    ``aget`` recalls for the last user message and returns the memories as a text, of at most ``limit`` memories and
    ``budget`` tokens (estimated). ``where`` says which are eligible, and ``within_session`` that only memories of the
    same session are, as in ``VectorMemoryBlock``. With ``needs_evidence``, the default, the text is empty if the
    memory has no evidence for an answer. A wrong option raises pydantic's ``ValidationError``, and a message of more
    than a million characters ``InvalidInput``.
    """

    name: str = Field(default="Ecphora", description="The name of the memory block.")
    memory: InstanceOf[Memory] = Field(description="The memory; whoever opened it closes it.", exclude=True, repr=False)
    limit: int = Field(default=RECALL_LIMIT, ge=1, description="The most memories that are returned.")
    budget: int = Field(default=PROMPT_BUDGET, ge=1, description="The most tokens of the text (estimated).")
    where: InstanceOf[Filter] = Field(default=MATCH_ALL, description="Which memories are eligible.")
    within_session: bool = Field(default=False, description="Whether to recall only what the session itself holds.")
    needs_evidence: bool = Field(default=True, description="Whether to return nothing without evidence.")
    message_options: InstanceOf[MessageOptions] = Field(
        default=DEFAULT_OPTIONS, description="How messages become memories."
    )

    def __init__(self, memory: Memory, **options: Any) -> None:
        super().__init__(**options | {"memory": memory})

    async def _aget(
        self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **block_kwargs: Any
    ) -> str:
        del block_kwargs
        question = [one for one in map(_as_message, messages or ()) if one["role"] == "user" and one["content"]]
        return await asyncio.to_thread(self._recall, question, session_id) if question else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for session, group in groupby(messages, _session_of):
            said = [_as_message(one) for one in group]
            await asyncio.to_thread(self.memory.remember, said, session=session, message_options=self.message_options)

    def _recall(self, question: Sequence[dict[str, Any]], session: str | None) -> str:
        where = self.where
        if self.within_session and session is not None:
            where = replace(where, sessions=session)
        found = self.memory.recall(question, limit=self.limit, where=where)
        return "" if self.needs_evidence and found.evidence is Evidence.NONE else found.to_prompt(self.budget)


class EcphoraRetriever(BaseRetriever):
    """A memory as a retriever: a query is recalled, and each memory that comes back is a node, best first::

        with Memory("agent.db") as memory:
            memory.remember("I moved to Porto.", speaker="Ana", happened_at="2026-05-03")
            retriever = EcphoraRetriever(memory, limit=5)
            for found in retriever.retrieve("Where does Ana live?"):
                print(found.text, found.score, found.metadata["reason"])

    ``limit`` bounds the nodes, ``where`` filters the memories, and ``as_of`` is a point in event time. With
    ``needs_evidence``, the default, a query that nothing answers gets no nodes; otherwise it gets what is nearest. The
    other arguments are LlamaIndex's.

    The metadata of a node is the metadata of the memory, and ``reason``, ``evidence``, ``confidence``, ``speaker``,
    ``session``, ``source``, ``title``, ``happened_at`` (ISO 8601) and ``validity``, a dict, or None where nothing
    bounds it. LlamaIndex shows a model ``SHOWN_METADATA`` with the text. A part of a long text names the whole text as
    its source node. Raises ``InvalidInput`` for an argument that cannot be used, such as a query without a character.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        limit: int = RECALL_LIMIT,
        where: Filter = MATCH_ALL,
        as_of: When | None = None,
        needs_evidence: bool = True,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self.memory = memory
        self.limit = check_count("limit", limit)
        self.where = check_filter(where, memory.zone)
        self.as_of = as_of
        self.needs_evidence = check_flag("needs_evidence", needs_evidence)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        question = replace_surrogates(query_bundle.query_str)
        found = self.memory.recall(question, limit=self.limit, where=self.where, as_of=self.as_of)
        if self.needs_evidence and found.evidence is Evidence.NONE:
            return []
        return list(_nodes(found))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _nodes(found: Recollection) -> Iterator[NodeWithScore]:
    for hit in found:
        node = hit.node
        fields = {"title": node.title, **hit_fields(hit, found)}
        del fields["score"]  # LlamaIndex has it next to the node
        metadata = {**node.metadata, **fields}
        hidden = [name for name in metadata if name not in SHOWN_METADATA or metadata[name] is None]
        text = TextNode(
            id_=hit.id,
            text=hit.text,
            metadata=metadata,
            excluded_llm_metadata_keys=hidden,
            excluded_embed_metadata_keys=list(metadata),
        )
        if node.document is not None:
            text.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=node.document)
            text.start_char_idx, text.end_char_idx = node.start, node.start + len(node.text)
        yield NodeWithScore(node=text, score=hit.score)


def _as_message(message: ChatMessage) -> dict[str, Any]:
    """A message in the shape that a memory reads: the text without thoughts, tool calls and media."""
    text = replace_surrogates(message.content or "")
    content = text if strip_invisible(text).strip() else ""
    fields: dict[str, Any] = {
        "role": "assistant" if message.role is MessageRole.CHATBOT else message.role.value,
        "content": content,
    }
    extra = message.additional_kwargs
    if isinstance(name := extra.get("name"), str) and name.strip():
        fields["name"] = replace_surrogates(name)
    times = (extra.get(name) for name in TIME_FIELDS)
    time = next((one for one in times if isinstance(one, str | float | int | datetime) and one), None)
    return fields if time is None else {**fields, "timestamp": time}


def _session_of(message: ChatMessage) -> str | None:
    session = message.additional_kwargs.get(SESSION_ID)
    return None if session is None else replace_surrogates(str(session))
