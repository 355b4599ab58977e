"""An agent of Microsoft Agent Framework that remembers across two sessions.

Needs: pip install 'ecphora[agent-framework]'. The model is scripted, so this runs offline: it repeats the memory that
the agent was given.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Message

from ecphora import Memory
from ecphora.adapters.agent_framework import EcphoraContextProvider, EcphoraHistoryProvider


class ScriptedClient(BaseChatClient):
    """In place of a model: says what stands before the question about Lisbon."""

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,  # noqa: ARG002
        options: Mapping[str, Any],  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> Awaitable[ChatResponse]:
        lines = [line for message in messages[:-1] for line in message.text.splitlines() if "Lisbon" in line]

        async def answer() -> ChatResponse:
            text = f"I remember: {lines[0].strip()}" if lines else "Nice to meet you."
            return ChatResponse(messages=[Message("assistant", [text])])

        return answer()


async def main() -> None:
    with Memory(":memory:") as memory:  # a file name keeps what is remembered
        # The history keeps every message of a session in the memory. The context provider recalls from all sessions.
        history = EcphoraHistoryProvider(memory, speakers={"user": "Ana"})
        context = EcphoraContextProvider(memory, remembers=False)  # the history remembers already
        agent = Agent(client=ScriptedClient(), context_providers=[history, context])

        for day, text in (("monday", "Hi! I live in Lisbon."), ("friday", "Where do I live?")):
            session = agent.create_session(session_id=day)
            print(f"{day}: {text}\n  agent: {await agent.run(text, session=session)}")

        # The history of monday is there again, also after a restart if the memory is a file.
        print("monday again:", [message.text for message in await history.get_messages("monday")])


asyncio.run(main())
