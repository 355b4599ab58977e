"""An agent of Google ADK that remembers across two sessions. Needs: pip install 'ecphora[google-adk]'

The model is scripted, so this runs offline: it repeats the memory that the agent was given.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from ecphora import Memory
from ecphora.adapters.google_adk import EcphoraMemoryService


class ScriptedLlm(BaseLlm):
    """In place of a model: says what it was told about Lisbon in earlier sessions."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002
    ) -> AsyncGenerator[LlmResponse, None]:
        prompt = "\n".join(part.text or "" for content in llm_request.contents for part in content.parts or [])
        _, _, earlier = prompt.partition("<PAST_CONVERSATIONS>")
        known = [line for line in earlier.splitlines() if "Lisbon" in line]
        text = f"I remember: {known[0]}" if known else "I do not know that."
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


async def remember(callback_context: Any) -> None:
    """Called by ADK after each turn: gives the session to the memory service, which stores what is new."""
    await callback_context.add_session_to_memory()


async def main() -> None:
    with Memory(":memory:") as memory:  # a file name keeps what is remembered
        sessions = InMemorySessionService()
        # PreloadMemoryTool searches the memory for each message and puts what it finds into the prompt.
        model = ScriptedLlm(model="scripted")
        agent = LlmAgent(name="guide", model=model, tools=[PreloadMemoryTool()], after_agent_callback=remember)
        service = EcphoraMemoryService(memory)
        runner = Runner(app_name="travel", agent=agent, session_service=sessions, memory_service=service)

        async def say(user: str, text: str) -> None:
            session = await sessions.create_session(app_name="travel", user_id=user)
            message = types.Content(role="user", parts=[types.Part(text=text)])
            async for event in runner.run_async(user_id=user, session_id=session.id, new_message=message):
                if event.content and event.content.parts:
                    print(f"{user}: {text}\n  guide: {event.content.parts[0].text}")

        await say("ana", "I live in Lisbon.")
        await say("ana", "Where do I live?")  # another session: only the memory knows
        await say("ben", "Where do I live?")  # another user, who must not be told


asyncio.run(main())
