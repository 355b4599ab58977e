"""A LangGraph agent whose store is a memory: what it is told on Monday, it finds on Friday.

    pip install 'ecphora[langgraph]'
    python langgraph_agent.py

A scripted model stands in for a language model, so that no key is needed; put a chat model of LangChain in its place.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import BaseStore

from ecphora.adapters.langgraph import EcphoraStore, RecalledItem

ANA = ("users", "ana")  # the namespace: what is stored for one user is found for this user alone
model = GenericFakeChatModel(messages=iter(["Welcome to Porto!", "Try the francesinha: you live in Porto now."]))


def answer(state: MessagesState, *, store: BaseStore) -> MessagesState:
    """One node: search the store, ask the model, store what the user said."""
    text = str(state["messages"][-1].text)
    # A search is a recall. Each item says why it was found, and whether the store knows an answer at all.
    found = [item for item in store.search(ANA, query=text, limit=3) if isinstance(item, RecalledItem)]
    known = [item for item in found if item.evidence != "none"]
    for item in known:
        print(f"  found: {item.value['text']!r}, evidence {item.evidence} ({item.confidence:.2f})")
    notes = SystemMessage("You know of the user: " + "; ".join(item.value["text"] for item in known))
    reply = model.invoke([notes, *state["messages"]])
    store.put(ANA, f"message-{len(store.search(ANA, limit=1_000))}", {"text": text})
    return {"messages": [reply]}


def run_session(path: Path, text: str) -> None:
    """Open the store, ask the graph once, and close the store: nothing but the file is left."""
    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    with EcphoraStore.open(path) as store:
        print("Ana:      ", text)
        result = builder.compile(store=store).invoke({"messages": [HumanMessage(text)]})
        print("Assistant:", result["messages"][-1].text)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        run_session(Path(folder) / "agent.db", "I moved to Porto last week.")
        run_session(Path(folder) / "agent.db", "Which city did I move to, and what should I eat there?")
