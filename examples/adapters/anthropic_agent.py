"""Claude's memory tool with its files in a memory: what it notes on Monday, it reads, and we recall, on Friday.

    pip install 'ecphora[anthropic]'
    python anthropic_agent.py

A scripted transport stands in for the API, so that no key is needed and nothing is sent. For the real one, use
``Anthropic()`` and the name of a model.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
from anthropic import Anthropic

from ecphora import Memory
from ecphora.adapters.anthropic import EcphoraMemoryTool

NOTES = "- Ana moved from Ghent to Porto in May 2026.\n- Ana is allergic to peanuts.\n"


def call(**arguments: str) -> dict[str, Any]:
    """What the model answers to call the memory tool."""
    return {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": arguments}


SCRIPT = iter(
    [
        call(command="create", path="/memories/ana.md", file_text=NOTES),
        {"type": "text", "text": "Noted."},
        call(command="view", path="/memories"),
        call(command="view", path="/memories/ana.md"),
        {"type": "text", "text": "You live in Porto. Avoid satay, because of the peanuts."},
    ]
)


def reply(request: httpx2.Request) -> httpx2.Response:
    """The next answer of the scripted model; shows what the tool replied before."""
    last = json.loads(request.content)["messages"][-1]["content"]
    if isinstance(last, list):
        print("The tool: ", last[0]["content"])
    block = next(SCRIPT)
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [block]}
    usage = {"input_tokens": 1, "output_tokens": 1}
    reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
    return httpx2.Response(200, json={**message, "stop_reason": reason, "stop_sequence": None, "usage": usage})


def chat(path: Path, text: str) -> None:
    """One message of Ana; nothing but the file is left afterwards."""
    client = Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(reply)))
    with Memory(path) as memory:
        print("Ana:      ", text)
        runner = client.beta.messages.tool_runner(
            model="scripted",
            max_tokens=1_024,
            messages=[{"role": "user", "content": text}],
            tools=[EcphoraMemoryTool(memory)],
        )
        print("Assistant:", getattr(runner.until_done().content[0], "text", ""), end="\n\n")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        chat(Path(folder) / "agent.db", "I moved from Ghent to Porto in May 2026. I am allergic to peanuts.")
        chat(Path(folder) / "agent.db", "Which city do I live in, and what must I not eat there?")
        with Memory(Path(folder) / "agent.db") as opened:  # the notes can be searched, too
            print(EcphoraMemoryTool(opened).recall("What is Ana allergic to?"))
