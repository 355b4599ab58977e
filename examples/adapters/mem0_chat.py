"""A chat loop written for mem0, as its README has it, on a memory in one file: python examples/adapters/mem0_chat.py

One import is changed. No package of mem0, no server, no key and no language model is needed for the memory; the model
that answers is a script here, so that the example runs offline. Put your own in `complete`.
"""

import tempfile
from pathlib import Path

from ecphora.adapters.mem0 import Memory  # was: from mem0 import Memory


def complete(system: str, message: str) -> str:
    """Stands in for a language model: repeats the first memory that the prompt has."""
    memories = [line.removeprefix("- ") for line in system.splitlines() if line.startswith("- ")]
    if message.endswith("?"):
        return f"You told me: {memories[0]}" if memories else "I do not know."
    return "Thank you for telling me."


def chat_with_memories(memory: Memory, message: str, user_id: str) -> str:
    # What belongs to the message? Nothing comes back if the memory has no evidence for an answer.
    found = memory.search(query=message, filters={"user_id": user_id}, top_k=3)
    memories = "\n".join(f"- {entry['memory']}" for entry in found["results"])
    system = f"You are a helpful AI. Answer the question based on query and memories.\nUser Memories:\n{memories}"
    answer = complete(system, message)
    # The messages are stored as they are.
    memory.add([{"role": "user", "content": message}, {"role": "assistant", "content": answer}], user_id=user_id)
    return answer


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "agent.db")

    print("-- the first session")
    with Memory(file) as memory:
        for message in ("My cat is called Miro.", "I am allergic to peanuts."):
            print("Ana:", message, "| Agent:", chat_with_memories(memory, message, "ana"))

    print("-- the second session, in another process as far as the file knows")
    with Memory(file) as memory:
        question = "What is my cat called?"
        print("Ana:", question, "| Agent:", chat_with_memories(memory, question, "ana"))
        print("Bo: ", question, "| Agent:", chat_with_memories(memory, question, "bo"))  # Bo told nothing

        # What mem0's open-source build refuses: times. And an update keeps the id and the old text.
        id_ = memory.add("I live in Lisbon.", user_id="ana", timestamp="2026-01-10")["results"][0]["id"]
        memory.update(id_, "I live in Porto.")
        for date in (None, "2026-03-01"):
            found = memory.search("Where does Ana live?", filters={"user_id": "ana"}, reference_date=date)
            print("Where does Ana live?", f"({date or 'today'})", found["results"][0]["memory"])
        print([row["new_memory"] for row in memory.history(id_)])
