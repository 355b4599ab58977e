"""An assistant over an export of ChatGPT: it answers from your old chats, with evidence, reasons and dates.

    pip install ecphora
    python imported_chats.py

The export is a small one that is written here, with a question that was edited later. For your own, give
``find_format`` the path of the ZIP that ChatGPT sends.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ecphora import Evidence, Filter, Memory
from ecphora.maintenance.interchange.formats import find_format
from ecphora.maintenance.interchange.streaming import import_episodes

ROOT, YOU, CHATGPT = "root", "user", "assistant"
QUESTIONS = (
    "Which paint did I use for the kitchen?",
    "When is my sister's wedding?",
    "Which tomato do I grow on the balcony?",
    "Which knee did I hurt?",
    "What is the name of my dentist?",
)


def message(id_: str, parent: str, role: str, time: str, text: str) -> dict[str, Any]:
    """A node of a conversation: a message, and the message that it follows."""
    seconds = datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()
    content = {"content_type": "text", "parts": [text]}
    said = {"id": id_, "author": {"role": role}, "create_time": seconds, "content": content}
    return {"id": id_, "parent": parent, "children": [], "message": said}


def conversation(title: str, *messages: dict[str, Any]) -> dict[str, Any]:
    """A conversation, which is a tree: who edits a message begins another branch. The last message is the shown one."""
    nodes = {ROOT: {"id": ROOT, "parent": None, "children": [], "message": None}} | {one["id"]: one for one in messages}
    for one in messages:
        nodes[one["parent"]]["children"].append(one["id"])
    created = messages[0]["message"]["create_time"]
    return {"title": title, "create_time": created, "id": title, "mapping": nodes, "current_node": messages[-1]["id"]}


EXPORT = [
    conversation(
        "Painting the kitchen",
        message("k1", ROOT, YOU, "2025-03-08 10:15", "I painted the kitchen with blue chalk paint. How do I seal it?"),
        message("k2", "k1", CHATGPT, "2025-03-08 10:15", "Use a clear matt wax, in two thin coats."),
        # The first message was edited: k3 takes the place of k1, and the branch of k1 is no longer shown.
        message("k3", ROOT, YOU, "2025-03-08 10:21", "I painted the kitchen with green milk paint. How do I seal it?"),
        message("k4", "k3", CHATGPT, "2025-03-08 10:21", "Use hemp oil, and wipe off what is left after an hour."),
    ),
    conversation(
        "Speech for Ines",
        message("w1", ROOT, YOU, "2025-05-02 19:40", "My sister Ines marries on 14 June 2025. Help me with a toast."),
        message("w2", "w1", CHATGPT, "2025-05-02 19:40", "Begin with a story that only the two of you know."),
        message("w3", "w2", YOU, "2025-05-02 19:52", "We once rowed to the wrong island and ate all the sandwiches."),
        message("w4", "w3", CHATGPT, "2025-05-02 19:52", "That is your opening. End with the sandwiches."),
    ),
    conversation(
        "Balcony",
        message("b1", ROOT, YOU, "2025-06-20 08:05", "My balcony tomato, a Black Krim, has curled leaves."),
        message("b2", "b1", CHATGPT, "2025-06-20 08:05", "It has too little water at noon. Water it in the evening."),
    ),
    conversation(
        "Knee",
        message("n1", ROOT, YOU, "2025-09-11 21:30", "I hurt my left knee while running in the park. May I cycle?"),
        message("n2", "n1", CHATGPT, "2025-09-11 21:30", "In a low gear, if nothing swells."),
    ),
]  # fmt: skip


def main() -> None:
    """Write an export, import it, and ask."""
    with TemporaryDirectory() as folder, Memory(Path(folder) / "chats.db") as memory:
        path = str(Path(folder) / "conversations.json")
        Path(path).write_text(json.dumps(EXPORT), encoding="utf-8")

        report = import_episodes(memory, find_format(path).read(path))
        print(f"{report.created} messages were imported. Left out:")
        for reason, count in report.found.omitted.items():
            print(f"  {count} × {reason}")

        for question in QUESTIONS:
            print(f"\n{question}")
            found = memory.recall(question, limit=1, where=Filter(speakers=YOU))  # what you said, not the replies
            if found.evidence is not Evidence.STRONG:
                print(f"  I don't know; evidence {found.evidence.value}")
                continue
            (hit,) = found
            print(f"  {hit.text}")
            print(f"  {hit.node.happened_at:%d %B %Y}, in “{hit.node.title}”; evidence {found.evidence.value}")
            if hit.reason:
                print(f"  reason: {hit.reason}")
        assert not any("blue" in node.text for node in memory.find()), "the branch that was edited away"


if __name__ == "__main__":
    main()
