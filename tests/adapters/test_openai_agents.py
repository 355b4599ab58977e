"""The session of the OpenAI Agents SDK: what its protocol asks for, what recalls find, and a run of an agent."""

import asyncio
import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, RunConfig, Runner, SessionSettings
from agents.memory import Session
from agents.run_config import CallModelData, ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.tool_context import ToolContext

from ecphora import Filter, HashingEmbedder, Memory, MessageOptions
from ecphora.adapters import openai_agents
from ecphora.adapters.openai_agents import EcphoraSession, recall_tool
from ecphora.errors import InvalidInput
from ecphora.testing import AdapterContract, AdapterDriver

CALL = {"type": "function_call", "call_id": "1", "name": "weather", "arguments": '{"city": "Porto"}'}
RESULT = {"type": "function_call_output", "call_id": "1", "output": "sunny"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
REPLY = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "It is sunny in Porto.", "annotations": []}],
}


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def add(session: EcphoraSession, *items: Any) -> None:
    asyncio.run(session.add_items(list(items)))


def items_of(session: EcphoraSession, limit: int | None = None) -> list[Any]:
    return asyncio.run(session.get_items(limit))


@pytest.fixture
def session(memory: Memory) -> EcphoraSession:
    return EcphoraSession(memory, "chat-1")


class Driver(AdapterDriver):
    def keep(self, text: str, *, user: str, session: str) -> None:  # noqa: ARG002
        add(EcphoraSession(self.memory, session), {"role": "user", "content": text})

    def find(self, question: str, *, user: str) -> list[str]:  # noqa: ARG002
        return [
            str(inject(EcphoraSession(self.memory, "today"), [{"role": "user", "content": question}], "").instructions)
        ]


class TestContract(AdapterContract):
    driver = Driver
    restores_forgotten = True
    stores_repeats = True


# ---- the protocol


def test_it_is_a_session(session: EcphoraSession) -> None:
    assert isinstance(session, Session)
    assert session.session_id == "chat-1"
    assert session.session_settings == SessionSettings()


def test_items_come_back_exactly_and_in_their_order(session: EcphoraSession) -> None:
    items = [user("Is it sunny?"), REASONING, CALL, RESULT, REPLY, user("Is it sunny?"), user("Is it sunny?")]
    add(session, *items[:3])
    add(session, *items[3:])
    assert items_of(session) == items


@pytest.mark.parametrize(
    "item",
    [
        user(""),
        user("  \n "),
        user("\u200b"),
        user("\ud800 half"),
        user("日本語 😊\r\n\tcafe\u0301 \x00"),
        user("'); DROP TABLE memories; --"),
        user("x" * 1_000_001),
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]},
        {"role": "system", "content": "Be brief."},
        {"type": "item_reference", "id": "msg_1"},
        {"type": "a type of tomorrow", "n": [1.5, None, True, {"deep": "ö"}]},
        {"role": "user", "content": [{"type": "input_text", "text": 3}]},
        {"type": 7},
        {},
    ],
    ids=lambda item: json.dumps(item)[:40],
)
def test_any_item_that_json_can_hold_is_kept(session: EcphoraSession, item: Any) -> None:
    add(session, user("before"), item, user("after"))
    assert items_of(session) == [user("before"), item, user("after")]
    assert asyncio.run(session.pop_item()) == user("after")
    assert asyncio.run(session.pop_item()) == item
    assert items_of(session) == [user("before")]


def test_limits(memory: Memory, session: EcphoraSession) -> None:
    texts = [user(str(number)) for number in range(5)]
    add(session, *texts)
    assert items_of(session, 2) == texts[3:]
    assert items_of(session, 9) == items_of(session, -1) == texts
    assert items_of(session, 0) == []
    settings = EcphoraSession(memory, "chat-1", session_settings={"limit": 1})
    assert items_of(settings) == texts[4:]
    assert items_of(settings, 3) == texts[2:]
    with pytest.raises(TypeError):
        EcphoraSession(memory, "chat-1", session_settings={"limitt": 1})


def test_more_items_than_a_page_and_a_batch_hold(session: EcphoraSession) -> None:
    texts = [user(f"Message {number}") for number in range(1_100)]
    add(session, *texts[:1_000])
    add(session, *texts[1_000:])
    assert items_of(session) == texts


def test_what_is_popped_or_cleared_may_be_said_again(session: EcphoraSession) -> None:
    add(session, user("one"), user("two"))
    assert asyncio.run(session.pop_item()) == user("two")
    add(session, user("two"))
    assert items_of(session) == [user("one"), user("two")]
    asyncio.run(session.clear_session())
    assert items_of(session) == []
    assert asyncio.run(session.pop_item()) is None
    add(session, user("one"))
    assert items_of(session) == [user("one")]


def test_what_follows_a_popped_item_is_the_last(session: EcphoraSession) -> None:
    for text in ("one", "two", "three"):
        add(session, user(text))
    asyncio.run(session.pop_item())
    add(session, user("four"))
    assert items_of(session) == [user("one"), user("two"), user("four")]


def test_clearing_erases_one_session_and_nothing_else(memory: Memory, session: EcphoraSession) -> None:
    other = EcphoraSession(memory, "chat-2")
    memory.remember("Ana likes the sea.", session="chat-1")
    add(session, user("secret"), CALL)
    add(other, user("kept"))
    asyncio.run(session.clear_session())
    assert items_of(other) == [user("kept")]
    assert {node.text for node in memory.find()} == {"kept", "Ana likes the sea."}


def test_the_order_does_not_depend_on_the_clock(tmp_path: Path) -> None:
    times = iter(datetime(2026, 5, day, tzinfo=UTC) for day in (3, *([2] * 50), *([1] * 200)))
    with Memory(tmp_path / "a.db", embedder=HashingEmbedder(64), clock=lambda: next(times)) as memory:
        for number in range(4):
            add(EcphoraSession(memory, "chat-1"), user(f"{number}"), CALL)
        found = items_of(EcphoraSession(memory, "chat-1"))
    assert [item["content"] for item in found if item != CALL] == ["0", "1", "2", "3"]


def test_what_one_call_adds_stays_together(tmp_path: Path) -> None:
    """Two processes that write to one session at a time may both write behind the same last item."""

    def add_six(session: EcphoraSession) -> None:
        for _ in range(6):
            add(session, user("hello"), CALL, RESULT)

    path = tmp_path / "a.db"
    with Memory(path, embedder=HashingEmbedder(64)) as first, Memory(path, embedder=HashingEmbedder(64)) as second:
        sessions = [EcphoraSession(memory, "chat-1") for memory in (first, second)]
        threads = [threading.Thread(target=add_six, args=(one,)) for one in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = items_of(sessions[0])
    assert len(found) == 36
    for start in range(0, 36, 3):
        assert found[start + 1 : start + 3] == [CALL, RESULT]


def test_calls_at_a_time_lose_nothing(session: EcphoraSession) -> None:
    async def add_many() -> None:
        await asyncio.gather(*(session.add_items([user(f"{number}")]) for number in range(30)))
        popped = await asyncio.gather(*(session.pop_item() for _ in range(10)))
        found: list[Any] = [*popped, *await session.get_items()]
        texts = [item["content"] for item in found]
        assert sorted(texts, key=int) == [str(number) for number in range(30)]

    asyncio.run(add_many())


def test_a_write_that_is_cancelled_is_done_when_it_ends(
    memory: Memory, session: EcphoraSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, go_on, remember = threading.Event(), threading.Event(), memory.remember

    def slow(*arguments: Any, **options: Any) -> Any:
        started.set()
        assert go_on.wait(10)
        return remember(*arguments, **options)

    monkeypatch.setattr(memory, "remember", slow)

    async def cancel() -> None:
        task = asyncio.create_task(session.add_items([user("once")]))
        await asyncio.to_thread(started.wait, 10)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0.01)
        assert not task.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await session.get_items() == [user("once")]

    asyncio.run(cancel())


@pytest.mark.parametrize("session_id", ["", "  ", "x" * 513, None, 7])
def test_a_session_needs_a_name(memory: Memory, session_id: Any) -> None:
    with pytest.raises(InvalidInput):
        EcphoraSession(memory, session_id)


def test_nothing_is_written_if_one_item_is_not_json(memory: Memory, session: EcphoraSession) -> None:
    with pytest.raises(TypeError):
        add(session, user("one"), {"role": "user", "content": object()})
    add(session)
    assert memory.count() == 0


# ---- memories


def test_what_is_said_is_a_memory_with_its_speaker(memory: Memory) -> None:
    session = EcphoraSession(memory, "chat-1", message_options=MessageOptions(speakers={"user": "Ana"}))
    add(session, user("I moved to Porto."), CALL, RESULT, REPLY)
    found = {node.text: (node.speaker, node.session) for node in memory.find() if node.metadata["openai_has_text"]}
    assert found == {"I moved to Porto.": ("Ana", "chat-1"), "It is sunny in Porto.": ("assistant", "chat-1")}
    kept = {node.text for node in memory.find() if not node.metadata["openai_has_text"]}
    assert kept == {"(function call)", "(function call output)"}


def test_results_of_tools_are_memories_on_request(memory: Memory) -> None:
    session = EcphoraSession(memory, "chat-1", message_options=MessageOptions(keep_tool_results=True))
    add(session, RESULT)
    assert [(node.text, node.source) for node in memory.find()] == [("sunny", "tool")]


def test_items_without_text_rank_last_in_a_recall_of_the_memory(memory: Memory, session: EcphoraSession) -> None:
    add(session, CALL, user("The function call failed."), CALL)
    assert memory.recall("What about the function call?")[0].text == "The function call failed."


def call_tool(tool: Any, **arguments: object) -> str:
    text = json.dumps(arguments)
    context = ToolContext(None, tool_name=tool.name, tool_call_id="1", tool_arguments=text)
    return str(asyncio.run(tool.on_invoke_tool(context, text)))


def test_the_tool_recalls_over_all_sessions(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        tool = recall_tool(memory)
        assert tool.name == "recall"
        assert list(tool.params_json_schema["properties"]) == ["question"]
        add(EcphoraSession(memory, "chat-1"), user("I live in Porto, near the river."), CALL, RESULT)
        add(EcphoraSession(memory, "chat-2"), user("My sister plays the cello."), CALL)
        memory.remember("Ana's dentist is Dr. Silva.")
        assert "near the river" in call_tool(tool, question="Which city do I live in?")
        assert "cello" in call_tool(tool, question="Which instrument does my sister play?")
        assert "Silva" in call_tool(tool, question="Who is Ana's dentist?")
        assert "function" not in call_tool(tool, question="Which city do I live in?")
        assert call_tool(tool, question="What is the wifi password?") == openai_agents.NOTHING_FOUND
        memory.remember("I live in Lisbon.", metadata={"kind": "old"})
        other = recall_tool(memory, where=Filter(metadata={"kind": "old"}), name="ask")
        assert other.name == "ask"
        answer = call_tool(other, question="Which city do I live in?")
        assert "Lisbon" in answer
        assert "river" not in answer
        assert "river" not in call_tool(
            recall_tool(memory, where=Filter(not_sessions="chat-1")), question="Which city do I live in?"
        )


def test_the_tool_never_recalls_items_without_text(memory: Memory, session: EcphoraSession) -> None:
    add(session, CALL, RESULT)
    assert call_tool(recall_tool(memory), question="function call") == openai_agents.NOTHING_FOUND


def test_the_tool_says_what_is_wrong_with_a_question(memory: Memory) -> None:
    assert "error" in call_tool(recall_tool(memory), question=" ").lower()


@pytest.mark.parametrize("options", [{"limit": 0}, {"budget": 0}, {"name": ""}])
def test_the_tool_checks_its_options(memory: Memory, options: Any) -> None:
    with pytest.raises(InvalidInput):
        recall_tool(memory, **options)


def inject(session: EcphoraSession, items: list[Any], instructions: str | None, **options: Any) -> ModelInputData:
    data: Any = CallModelData(ModelInputData(items, instructions), Agent(name="assistant"), None)
    return asyncio.run(session.inject_memories(**options)(data))  # type: ignore[arg-type]


def test_memories_of_other_sessions_are_put_into_the_instructions(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        old, new = EcphoraSession(memory, "chat-1"), EcphoraSession(memory, "chat-2")
        add(old, user("I live in Porto, near the river."))
        question = [
            {"type": "a type of tomorrow"},
            user("hello"),
            REPLY,
            user("Which city do I live in?"),
            CALL,
            RESULT,
        ]
        add(new, *question)
        found = inject(new, question, "Be brief.")
        assert found.input == question
        assert str(found.instructions).startswith("Be brief.\n\n")
        assert "near the river" in str(found.instructions)
        assert "Which city" not in str(found.instructions)
        assert str(inject(new, question, None).instructions).startswith("What you remember")
        assert inject(new, question, "x", where=Filter(not_sessions="chat-1")).instructions == "x"
        assert inject(old, question, "x").instructions != inject(new, question, "x").instructions
        assert inject(new, [user("What is the wifi password?")], "Be brief.").instructions == "Be brief."


def test_without_a_question_nothing_is_injected(session: EcphoraSession) -> None:
    cases: list[list[Any]] = [[], [REPLY], [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]]
    for items in cases:
        assert inject(session, items, "Be brief.") == ModelInputData(items, "Be brief.")


# ---- an agent


def test_an_agent_remembers_across_sessions(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            [assistant_message("Noted.")],
            [function_call("recall", {"question": "What is Ana allergic to?"}, call_id="1")],
            [assistant_message("Avoid satay in Porto.")],
            [assistant_message("You are welcome.")],
        ]
    )

    async def say(session_id: str, text: str) -> str:
        with Memory(tmp_path / "agent.db") as memory:
            options = MessageOptions(speakers={"user": "Ana"})
            session = EcphoraSession(memory, session_id, message_options=options)
            agent = Agent(name="assistant", instructions="Be brief.", model=model, tools=[recall_tool(memory)])
            config = RunConfig(call_model_input_filter=session.inject_memories(), tracing_disabled=True)
            result = await Runner.run(agent, text, session=session, run_config=config)
            return str(result.final_output)

    assert asyncio.run(say("monday", "I moved to Porto. I am allergic to peanuts.")) == "Noted."
    reply = asyncio.run(say("friday", "Which city did I move to, and what must I not eat there?"))
    assert reply == "Avoid satay in Porto."
    assert asyncio.run(say("friday", "Thank you!")) == "You are welcome."

    assert model.calls[0].system_instructions == "Be brief."
    assert "I moved to Porto." in str(model.calls[1].system_instructions)
    assert "allergic to peanuts" in model.calls[2].input[-1]["output"]
    history = model.calls[3].input
    assert [item.get("type", item.get("role")) for item in history] == [
        "user", "function_call", "function_call_output", "message", "user",
    ]  # fmt: skip
