"""An agent of Pydantic AI with its notebook in a memory: what it notes on Monday, it knows on Friday.

    pip install 'ecphora[pydantic-ai]'
    python pydantic_ai_agent.py

A scripted model stands in for a language model, so that no key is needed. For a real one, give ``Agent`` its name.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness.memory import Memory

import ecphora
from ecphora.adapters.pydantic_ai import EcphoraMemoryStore, memory_toolset

STEPS: list[ToolCallPart | TextPart] = [
    # Monday: the model writes to its notebook, and remembers a fact.
    ToolCallPart("write_memory", {"file": "MEMORY.md", "content": "- Ana prefers short answers."}),
    ToolCallPart("remember", {"texts": ["Ana is allergic to peanuts."], "speaker": "Ana"}),
    TextPart("Noted."),
    # Friday: the notebook is in the prompt; the fact has to be recalled.
    ToolCallPart("recall", {"question": "What is Ana allergic to?"}),
    TextPart("Peanuts."),
]
SCRIPT = iter(STEPS)


def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """The next answer of the scripted model; shows what it was told last."""
    for part in messages[-1].parts:
        shown = str(getattr(part, "content", "")).splitlines()[:6]
        print(f"  {part.part_kind}:", *shown, sep="\n    ")
    return ModelResponse(parts=[next(SCRIPT)])


def chat(path: Path, text: str) -> None:
    """One message of Ana; nothing but the file is left afterwards."""
    with ecphora.Memory(path) as memory:
        agent = Agent(
            FunctionModel(answer),
            capabilities=[Memory(EcphoraMemoryStore(memory), namespace="ana")],  # the files of the notebook
            toolsets=[memory_toolset(memory)],  # remember, recall and forget
        )
        print("Ana:      ", text)
        print("Assistant:", agent.run_sync(text).output, end="\n\n")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        chat(Path(folder) / "agent.db", "Keep it short, please. And I am allergic to peanuts.")
        chat(Path(folder) / "agent.db", "What must I not eat?")
