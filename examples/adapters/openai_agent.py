"""An agent of the OpenAI Agents SDK whose sessions are in a memory: what Monday's chat said, Friday's knows.

    pip install 'ecphora[openai-agents]'
    python openai_agent.py

A scripted model of the SDK stands in for a language model, so that no key is needed. For a real one, leave ``model``
out of ``Agent``.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message, function_call

from ecphora import Memory, MessageOptions
from ecphora.adapters.openai_agents import EcphoraSession, recall_tool

MODEL = ScriptedModel(
    [
        [assistant_message("Noted, no peanuts.")],
        # On Friday the model asks the memory by itself before it answers.
        [function_call("recall", {"question": "What is Ana allergic to?"}, call_id="1")],
        [assistant_message("You live in Porto. Avoid satay, because of the peanuts.")],
    ]
)


async def chat(path: Path, session_id: str, text: str) -> None:
    """One message of Ana, in a session; nothing but the file is left afterwards."""
    with Memory(path) as memory:
        session = EcphoraSession(memory, session_id, message_options=MessageOptions(speakers={"user": "Ana"}))
        agent = Agent(
            name="assistant", instructions="You are Ana's assistant.", model=MODEL, tools=[recall_tool(memory)]
        )
        # What other sessions know about the question is put into the instructions, if anything answers it.
        config = RunConfig(call_model_input_filter=session.inject_memories(), tracing_disabled=True)
        result = await Runner.run(agent, text, session=session, run_config=config)
        print("Ana:      ", text)
        print("Assistant:", result.final_output)


async def main() -> None:
    """Hold two conversations. The second knows what was said in the first."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "agent.db"
        await chat(path, "monday", "I moved from Ghent to Porto last week. I am allergic to peanuts.")
        await chat(path, "friday", "Which city did I move to, and what must I not eat there?")
    print("\nThe instructions on Friday:", MODEL.calls[1].system_instructions, sep="\n")
    print("\nWhat the tool replied:", MODEL.calls[2].input[-1], sep="\n")


if __name__ == "__main__":
    asyncio.run(main())
