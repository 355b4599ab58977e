"""Hermes Agent with Ecphora as its memory provider: an agent that remembers across two sessions.

Needs: pip install 'ecphora[hermes]', in a checkout, which has the folder of the plug-in. The model is a scripted server
on this machine, so this runs offline: it repeats the memory that the agent was given.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from ecphora.testing import FakeChatServer

PLUGIN = Path(__file__).parents[2] / "plugins" / "hermes" / "ecphora"


def scripted_reply(request: dict[str, Any]) -> Any:
    """In place of a model: says which memory Hermes has added to the last message, as a stream of one part."""
    said = str(request["messages"][-1]["content"])
    _, _, memories = said.partition("<memories>")
    known = [line for line in memories.splitlines() if "Lisbon" in line]
    text = f"I remember: {known[0]}" if known else "Nice to meet you."
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    part = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [choice]}
    return 200, {"Content-Type": "text/event-stream"}, f"data: {json.dumps(part)}\n\ndata: [DONE]\n\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as home, FakeChatServer(scripted_reply) as server:
        # A folder of Hermes with the plug-in, and a configuration that selects it.
        os.environ["HOME"] = os.environ["HERMES_HOME"] = home
        shutil.copytree(PLUGIN, Path(home) / "plugins" / "ecphora")
        (Path(home) / "config.yaml").write_text("memory:\n  provider: ecphora\n", encoding="utf-8")

        from run_agent import AIAgent  # noqa: PLC0415  # Hermes reads its folder when it is imported

        for session, text in (("monday", "Hi! I live in Lisbon."), ("friday", "Where do I live?")):
            agent = AIAgent(
                base_url=server.url,
                api_key="none",
                model="scripted",
                session_id=session,
                quiet_mode=True,
                enabled_toolsets=["memory"],
            )
            reply = agent.run_conversation(text)
            print(f"{session}: {text}\n  agent: {reply['final_response']}")
            agent.shutdown_memory_provider(reply["messages"])  # the session ends: the memory is written and closed

        tools = [tool["function"]["name"] for tool in agent.tools]
        print("tools:", ", ".join(name for name in tools if name.startswith("ecphora")))


main()
