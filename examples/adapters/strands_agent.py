"""A Strands agent that remembers across two sessions: python examples/adapters/strands_agent.py

The memory is one file. The model is a script, so that the example runs offline; give `Agent` a real one.
Needs: pip install 'ecphora[strands]'
"""

import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from strands import Agent
from strands.memory import MemoryManager
from strands.models import Model

from ecphora import Memory
from ecphora.adapters.strands import EcphoraStore


class ScriptedModel(Model):
    """Stands in for a language model: it answers with the first memory that it was shown."""

    def get_config(self) -> Any:
        return {}

    def update_config(self, **model_config: Any) -> None: ...

    async def structured_output(self, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        yield {}

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        # Before each call the manager adds what belongs to the user's message, as <entry> lines.
        lines = "\n".join(block["text"] for block in messages[-1]["content"]).splitlines()
        message = next(line for line in lines if not line.startswith(("<", "[")))
        memories = [line.partition(">")[2].removesuffix("</entry>") for line in lines if line.startswith("<entry")]
        print("   the model is shown:", memories)
        text = "Thank you for telling me." if not message.endswith("?") else (memories or ["I do not know."])[0]
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": text}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def ask(memory: Memory, *messages: str) -> None:
    # With extraction=True what the user says is remembered as it is, without a call of a model.
    store = EcphoraStore(memory, "chats", speakers={"user": "Ana"}, extraction=True, keep_replies=False)
    agent = Agent(model=ScriptedModel(), memory_manager=MemoryManager([store]), callback_handler=None)
    for message in messages:
        print("Ana:", message)
        print("Agent:", str(agent(message)).strip())


with tempfile.TemporaryDirectory() as folder:
    print("-- the first session")
    with Memory(Path(folder, "agent.db")) as memory:
        ask(memory, "I moved to Porto in May.", "My cat is called Miro.")

    print("-- the second session: another agent, the same file")
    with Memory(Path(folder, "agent.db")) as memory:
        ask(memory, "What is my cat called?")
        print("stored:", [(node.speaker, node.text) for node in memory.find(order="happened_at")])
