"""A LangChain agent with a memory: a middleware recalls for each question, and remembers the conversation.

    pip install 'ecphora[langchain]'
    python langchain_agent.py

A scripted model stands in for a language model, so that no key is needed; put a chat model of LangChain in its place.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from ecphora import Filter, Memory, MessageOptions
from ecphora.adapters.langchain import EcphoraMiddleware, EcphoraRetriever


class ScriptedModel(GenericFakeChatModel):
    """Says what it is told to say, and prints the system message that it gets."""

    def _generate(self, messages: Sequence[BaseMessage], *arguments: Any, **options: Any) -> Any:
        prompt = "\n".join(str(one.text) for one in messages if one.type == "system")
        print("  the model is told:", *prompt.splitlines(), sep="\n    ")
        return super()._generate(list(messages), *arguments, **options)


model = ScriptedModel(messages=iter(["Welcome to Porto!", "Try the francesinha: you live in Porto now."]))


def run_session(path: Path, thread: str, text: str) -> None:
    """Open the memory, ask an agent once, and close the memory: nothing but the file is left."""
    with Memory(path) as memory:
        # The speaker of what the user says; without it, it is "user". The thread becomes the session.
        middleware = EcphoraMiddleware(memory, message_options=MessageOptions(speakers={"user": "Ana"}))
        agent = create_agent(
            model, tools=[], system_prompt="Be short.", middleware=[middleware], checkpointer=InMemorySaver()
        )
        print("Ana:      ", text)
        result = agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}})
        print("Assistant:", result["messages"][-1].text)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        path = Path(folder) / "agent.db"
        run_session(path, "monday", "I moved to Porto last week.")
        run_session(path, "friday", "Which city did I move to, and what should I eat there?")
        with Memory(path) as memory:  # the same memory as a retriever, for a chain
            retriever = EcphoraRetriever(memory=memory, k=1, where=Filter(speakers="Ana"))
            for document in retriever.invoke("Where does Ana live?"):
                print("Retrieved:", document.page_content, "| evidence", document.metadata["evidence"])
