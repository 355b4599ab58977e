"""An agent loop with a memory: the model uses it through tools, and the program adds what matters to the prompt.

    pip install ecphora
    python agent_loop.py

A scripted model stands in for a language model, so that no key is needed. For a real one, replace the call of
``model.complete`` by ``OpenAI().chat.completions.create(model=..., messages=messages, tools=tools)``, for example, and
append ``response.choices[0].message.to_dict()`` to the conversation.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ecphora import Evidence, Memory, MessageOptions

Message = dict[str, Any]


class ScriptedModel:
    """Returns the messages that it was given, one a request, and keeps the requests."""

    def __init__(self, replies: Iterable[Message]) -> None:
        self._replies = iter(replies)
        self.requests: list[list[Message]] = []

    def complete(self, messages: list[Message], tools: list[Message]) -> Message:
        assert "recall" in [tool["function"]["name"] for tool in tools]
        self.requests.append(list(messages))
        return next(self._replies)


def tool_call(name: str, **arguments: object) -> Message:
    """A message of Chat Completions in which the model calls a tool."""
    call = {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def run_turn(memory: Memory, model: ScriptedModel, conversation: list[Message]) -> str:
    """Answer the last message of a conversation, and append the calls and the answer to it."""
    tools = memory.tools()
    found = memory.recall(conversation, limit=5)
    prompt = "You are Ana's assistant."
    if found.evidence is not Evidence.NONE:
        prompt += "\n\n" + found.to_prompt(budget=500)
    while True:
        messages = [{"role": "system", "content": prompt}, *conversation]
        message = model.complete(messages, tools.openai())
        conversation.append(message)
        if not message.get("tool_calls"):
            break
        for call in message["tool_calls"]:
            reply = tools.call(call["function"]["name"], call["function"]["arguments"])
            conversation.append({"role": "tool", "tool_call_id": call["id"], "content": reply})
    memory.remember(conversation, message_options=MessageOptions(speakers={"user": "Ana"}))  # stores only what is new
    return str(message["content"])


def main() -> None:
    """Hold two conversations. The second knows what was said in the first."""
    model = ScriptedModel(
        [
            tool_call("remember", texts=["Ana is allergic to peanuts."], speaker="Ana"),
            {"role": "assistant", "content": "I will keep that in mind."},
            tool_call("recall", question="What is Ana allergic to?"),
            {"role": "assistant", "content": "You live in Porto. Avoid satay, because of the peanuts."},
        ]
    )
    with TemporaryDirectory() as folder:
        db = Path(folder) / "agent.db"
        with Memory(db) as memory:
            monday: list[Message] = [
                {
                    "role": "user",
                    "content": "I gave up my bakery in Ghent and moved to Porto. I am allergic to peanuts.",
                }
            ]
            print("Ana:      ", monday[0]["content"])
            print("Assistant:", run_turn(memory, model, monday))
            assert memory.count() == 3, "the fact that the model stored, the question and the answer"
        with Memory(db) as memory:  # a later run of the program
            friday: list[Message] = [
                {"role": "user", "content": "Which city do I live in, and what must I not eat there?"}
            ]
            print("Ana:      ", friday[0]["content"])
            print("Assistant:", run_turn(memory, model, friday))

    prompt, reply = model.requests[2][0]["content"], friday[2]["content"]
    assert "moved to Porto" in prompt, prompt
    assert "allergic to peanuts" in reply, reply
    print("\nThe prompt of the second conversation:", prompt, sep="\n")
    print("\nWhat the tool answered:", reply, sep="\n")


if __name__ == "__main__":
    main()
