"""An agent of LlamaIndex that remembers across two sessions. Needs: pip install 'ecphora[llamaindex]'

The model is scripted, so this runs offline: it repeats the memories that the agent was given.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory as ChatMemory

from ecphora import Filter, Memory, MessageOptions
from ecphora.adapters.llamaindex import EcphoraMemoryBlock, EcphoraRetriever


def scripted_reply(messages: Sequence[ChatMessage], **_options: Any) -> ChatMessage:
    """In place of a model: says which memories stand in the system message."""
    prompt = next((message.content or "" for message in messages if message.role == "system"), "")
    known = [line for line in prompt.splitlines() if "Lisbon" in line]
    return ChatMessage(role="assistant", content=f"I remember: {known[0].strip()}" if known else "Nice to meet you.")


async def main() -> None:
    # One file holds what is remembered; ":memory:" is a temporary one.
    with Memory(":memory:") as memory:
        # The block gives an agent what belongs to a message. It tells users apart by their names.
        block = EcphoraMemoryBlock(memory, message_options=MessageOptions(speakers={"user": "Ana"}))
        agent = FunctionAgent(llm=MockFunctionCallingLLM(response_generator=scripted_reply), tools=[])

        monday = ChatMemory.from_defaults(session_id="monday", memory_blocks=[block])
        print("Monday: ", await agent.run("Hi! I live in Lisbon.", memory=monday))
        # LlamaIndex gives the block only what no longer fits in the chat history. So keep the rest at the end.
        await block.aput(await monday.aget_all(), session_id="monday")

        # Another session, with an empty chat history: only the block knows where Ana lives.
        friday = ChatMemory.from_defaults(session_id="friday", memory_blocks=[block])
        print("Friday: ", await agent.run("Where do I live?", memory=friday))

        # The same memory as a retriever for a query engine, here of what Ana said herself.
        retriever = EcphoraRetriever(memory, where=Filter(speakers="Ana"))
        for found in await retriever.aretrieve("Where does Ana live?"):
            print(
                "Found:  ", found.text, "| evidence", found.metadata["evidence"], "| session", found.metadata["session"]
            )


asyncio.run(main())
