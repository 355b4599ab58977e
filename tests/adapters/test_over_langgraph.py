"""Packages that stand on LangGraph's store, over ours: the files of deepagents and the memories of LangMem."""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("deepagents")
pytest.importorskip("langmem")

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend, StoreBackend
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langmem import create_manage_memory_tool, create_memory_store_manager, create_search_memory_tool

from ecphora import HashingEmbedder, Memory
from ecphora.adapters.langgraph import EcphoraStore

ANA: Any = {"configurable": {"user": "ana"}}
BO: Any = {"configurable": {"user": "bo"}}
NOTE = "Ana moved to Porto.\nShe likes the river.\n"
Script = Callable[[str], AIMessage]
"""What a model says to the text of the messages that it gets."""


class ScriptedModel(GenericFakeChatModel):
    """Says what it is told to say, and may be given tools."""

    script: list[Any]

    def bind_tools(self, tools: Any, **_options: Any) -> Any:
        return self.bind(tools=tools)

    def _generate(self, messages: list[BaseMessage], *arguments: Any, **options: Any) -> Any:
        said = self.script.pop(0)
        text = "\n".join(str(message.text) for message in messages)
        self.messages = iter([said if isinstance(said, AIMessage) else said(text)])
        return super()._generate(messages, *arguments, **options)


def model(*script: Script | AIMessage) -> ScriptedModel:
    return ScriptedModel(messages=iter([]), script=list(script))


def call(tool: str, **arguments: object) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": f"call-{tool}"}])


@pytest.fixture(scope="module")
def real_memory() -> Iterator[Memory]:
    with Memory(":memory:") as memory:
        yield memory


@pytest.fixture
def store() -> Iterator[EcphoraStore]:
    with Memory(":memory:", embedder=HashingEmbedder(64)) as memory:
        yield EcphoraStore(memory, fields=["content"])


def files_of(store: EcphoraStore, user: str) -> StoreBackend:
    return StoreBackend(store=store, namespace=lambda _runtime: (user, "files"))


# ---- deepagents


def test_files_are_written_read_edited_and_found(store: EcphoraStore) -> None:
    files = files_of(store, "ana")
    assert files.write("/notes/home.md", NOTE).error is None
    assert files.read("/notes/home.md").file_data["content"] == NOTE
    assert files.edit("/notes/home.md", "Porto", "Lisbon").occurrences == 1
    assert [entry["path"] for entry in files.ls("/").entries] == ["/notes/"]
    (match,) = files.grep("Lisbon").matches
    assert (match["path"], match["line"], match["text"]) == ("/notes/home.md", 1, "Ana moved to Lisbon.")
    assert [entry["path"] for entry in files.glob("**/*.md").matches] == ["/notes/home.md"]
    assert files_of(store, "bo").ls("/").entries == []
    assert files.delete("/notes/home.md").error is None
    assert "not found" in files.read("/notes/home.md").error
    assert store.memory.count() == 0


@pytest.mark.parametrize("content", ["", "\n\n", "東京に引っ越しました。\n", "a\r\nb\tc\0d"])
def test_every_content_comes_back_exactly(content: str, store: EcphoraStore) -> None:
    files = files_of(store, "ana")
    files.upload_files([("/ü 日本.txt", content.encode())])
    assert files.download_files(["/ü 日本.txt"])[0].content == content.encode()


def test_file_of_bytes_comes_back(store: EcphoraStore) -> None:
    files, picture = files_of(store, "ana"), bytes(range(256)) * 40
    files.upload_files([("/a.png", picture)])
    assert files.download_files(["/a.png"])[0].content == picture


def test_long_file_is_read_in_pages_and_takes_a_few_times_its_length(tmp_path: Path) -> None:
    """Each chunk has the metadata of the whole text: copies of the value would grow with the square of its length."""
    text = "".join(f"Line {number} is about item {number * 7}.\n" for number in range(2_000))
    with Memory(tmp_path / "agent.db", embedder=HashingEmbedder(64)) as memory:
        files = files_of(EcphoraStore(memory, fields=["content"]), "ana")
        files.write("/long.txt", text)
        assert files.edit("/long.txt", "Line 1999 ", "The last line ").error is None
        page = files.read("/long.txt", offset=1_998, limit=10)
        assert page.file_data["content"].startswith("Line 1998 is about item 13986.\nThe last line is")
        assert (page.total_lines, page.end_line) == (2_000, 2_000)
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert size < 30 * len(text), size / len(text)


def test_files_are_written_at_once_by_many_tasks(store: EcphoraStore) -> None:
    files = files_of(store, "ana")

    async def write() -> None:
        await asyncio.gather(*(files.awrite(f"/many/{number}.txt", f"Text {number}.") for number in range(20)))
        assert len((await files.als("/many")).entries) == 20
        assert len((await files.agrep("Text 7.")).matches) == 1
        assert (await files.adelete("/many")).error is None
        assert (await files.als("/many")).entries == []

    asyncio.run(write())


def test_question_finds_the_file_by_its_content(real_memory: Memory) -> None:
    store = EcphoraStore(real_memory, fields=["content"])
    files = files_of(store, "ana")
    files.write("/notes/home.md", "Ana moved to Porto.")
    files.write("/notes/diet.md", "Ana is allergic to peanuts.")
    found = store.search(("ana",), query="Where did Ana move?")
    assert [item.key for item in found][:1] == ["/notes/home.md"]
    assert {item.evidence for item in found} == {"strong"}
    assert [node.text for node in real_memory.find(order="recorded_at")] == [
        "Ana moved to Porto.",
        "Ana is allergic to peanuts.",
    ]


def test_deep_agent_reads_in_one_thread_what_it_wrote_in_another(store: EcphoraStore) -> None:
    memories = StoreBackend(store=store, namespace=lambda _runtime: ("memories",))
    backend = CompositeBackend(default=StateBackend(), routes={"/memories/": memories})
    script = [
        call("write_file", file_path="/memories/home.md", content=NOTE),
        AIMessage("Noted."),
        call("read_file", file_path="/memories/home.md"),
        AIMessage("In Porto."),
    ]
    agent = create_deep_agent(model=model(*script), backend=backend, store=store, checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("I moved to Porto.")]}, {"configurable": {"thread_id": "monday"}})
    asked: Any = {"messages": [HumanMessage("Where do I live?")]}
    told = agent.invoke(asked, {"configurable": {"thread_id": "friday"}})["messages"]
    assert "Ana moved to Porto." in next(message.text for message in told if message.type == "tool")
    assert store.get(("memories",), "/home.md") is not None


# ---- LangMem


@pytest.mark.parametrize("is_async", [False, True])
def test_tools_of_langmem_store_search_change_and_delete(is_async: bool, real_memory: Memory) -> None:
    store = EcphoraStore(real_memory)
    namespace = (f"tools-{is_async}", "{user}")
    manage = create_manage_memory_tool(namespace, store=store)
    search = create_search_memory_tool(namespace, store=store)

    def use(tool: Any, config: Any, **arguments: object) -> str:
        return str(asyncio.run(tool.ainvoke(arguments, config)) if is_async else tool.invoke(arguments, config))

    id_ = use(manage, ANA, content="Ana moved to Porto.").split()[-1]
    use(manage, ANA, content="Ana is allergic to peanuts.")
    assert "Porto" in use(search, ANA, query="Where did Ana move?", limit=1)
    assert "Ana" not in use(search, BO, query="Where did Ana move?")
    use(manage, ANA, content="Ana moved to Lisbon.", action="update", id=id_)
    assert "Lisbon" in use(search, ANA, query="Where did Ana move?", limit=1)
    assert "peanuts" in use(search, ANA, query="Ana?", filter={"content": "Ana is allergic to peanuts."})
    use(manage, ANA, action="delete", id=id_)
    assert "Lisbon" not in use(search, ANA, query="Where did Ana move?")


def test_agent_with_the_tools_of_langmem_uses_its_store(store: EcphoraStore) -> None:
    tools = [create_manage_memory_tool(("m", "{user}")), create_search_memory_tool(("m", "{user}"))]
    script = model(call("manage_memory", content="Bo rows on Sundays."), AIMessage("Noted."))
    create_agent(script, tools=tools, store=store).invoke({"messages": [HumanMessage("I row on Sundays.")]}, BO)
    script = model(call("search_memory", query="When does Bo row?"), AIMessage("On Sundays."))
    asked: Any = {"messages": [HumanMessage("When do I row?")]}
    told = create_agent(script, tools=tools, store=store).invoke(asked, BO)["messages"]
    assert "Bo rows on Sundays." in told[2].text


@pytest.mark.parametrize("is_async", [False, True])
def test_manager_of_langmem_changes_what_it_finds(is_async: bool, store: EcphoraStore) -> None:
    def patch(prompt: str) -> AIMessage:
        (id_,) = {*re.findall(r"[0-9a-f]{32}", prompt)}
        change = {"op": "replace", "path": "/content", "value": "Cleo works as a doctor in Ghent."}
        return call("PatchDoc", json_doc_id=id_, planned_edits="her job", patches=[change])

    def run(said: str, answer: Script | AIMessage) -> None:
        manager = create_memory_store_manager(model(answer), namespace=("cleo",), store=store)
        given: Any = {"messages": [{"role": "user", "content": said}]}
        _ = asyncio.run(manager.ainvoke(given)) if is_async else manager.invoke(given)

    run("I am Cleo, a nurse in Ghent.", call("Memory", content="Cleo works as a nurse in Ghent."))
    run("I am Cleo, and I work as a doctor now.", patch)
    (item,) = store.search(("cleo",))
    assert item.value == {"kind": "Memory", "content": {"content": "Cleo works as a doctor in Ghent."}}
    assert [node.text for node in store.memory.find()] == ["Cleo works as a doctor in Ghent."]
