"""A CrewAI crew that remembers from one run to the next: python examples/adapters/crewai_crew.py

The memory is one file, and its vectors are made on this machine. The model is a script, so that the example runs
offline; give the agent and the memory a real one. Needs: pip install 'ecphora[crewai]'
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

import crewai
from crewai import Agent, BaseLLM, Crew, Task

import ecphora
from ecphora import MiniLMEmbedder
from ecphora.adapters.crewai import CrewEmbedder, EcphoraStorage


class ScriptedLLM(BaseLLM):
    """Stands in for a language model: CrewAI asks it to extract memories, to file them, and the task itself."""

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        text = "\n".join(str(one["content"]) for one in messages)
        if "insert_new" in text:
            return json.dumps({"actions": [], "insert_new": False})  # is it known already? yes
        if "suggested_scope" in text:
            return json.dumps({"suggested_scope": "/office", "categories": ["place"], "importance": 0.7})
        if "Current Task" not in text:
            return json.dumps({"memories": ["The office moved to Porto in May."]})
        answer = "In Porto." if "The office moved to Porto" in text else "I noted it."
        return f"Thought: I can answer.\nFinal Answer: {answer}"

    def supports_function_calling(self) -> bool:
        return False


def run(store: ecphora.Memory, description: str) -> None:
    llm = ScriptedLLM(model="scripted")
    # CrewAI searches with vectors. CrewEmbedder makes them with a model that comes with Ecphora; without it CrewAI
    # asks a server of OpenAI.
    memory = crewai.Memory(storage=EcphoraStorage(store), embedder=CrewEmbedder(MiniLMEmbedder()), llm=llm)
    agent = Agent(role="Clerk", goal="Answer questions.", backstory="Works in the office.", llm=llm)
    task = Task(description=description, expected_output="A short answer.", agent=agent)
    print("Task:", description)
    print("Crew:", Crew(agents=[agent], tasks=[task], memory=memory).kickoff())
    memory.close()  # waits for what is being saved; the file stays open


with tempfile.TemporaryDirectory() as folder:
    os.environ["CREWAI_STORAGE_DIR"] = folder  # where CrewAI itself writes

    print("-- the first run")
    with ecphora.Memory(Path(folder, "crew.db")) as store:
        run(store, "Note that the office moved to Porto in May.")

    print("-- the second run: another crew, the same file")
    with ecphora.Memory(Path(folder, "crew.db")) as store:
        run(store, "Where is the office?")
        # The records are memories: what CrewAI cannot ask for, such as the evidence, is a call away.
        found = store.recall("Where is the office?")
        print("stored:", found[0].text, "| evidence:", found.evidence.value)
