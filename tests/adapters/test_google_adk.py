import asyncio
import base64
import json
import sys
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.cli.service_registry import ServiceRegistry, get_service_registry, load_services_module
from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types
from pydantic import Field

from ecphora import Filter, HashingEmbedder, Memory
from ecphora.adapters import google_adk
from ecphora.adapters.google_adk import EcphoraMemoryService, open_memory_service, register
from ecphora.errors import InvalidInput, StoreClosed
from ecphora.model.ids import content_id
from ecphora.testing import AdapterContract, AdapterDriver

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]
NOON = datetime(2026, 5, 3, 12, tzinfo=UTC).timestamp()
ME: dict[str, Any] = {"app_name": "travel", "user_id": "ana"}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=HashingEmbedder(64), zone="UTC") as opened:
        yield opened


@pytest.fixture
def service(memory: Memory) -> EcphoraMemoryService:
    return EcphoraMemoryService(memory, needs_evidence=False)


def event(text: str | None, id: str = "e1", author: str = "user", time: float = NOON, **fields: Any) -> Event:  # noqa: A002
    parts = [types.Part(text=text)] if text is not None else []
    content = types.Content(role="user" if author == "user" else "model", parts=parts)
    return Event(id=id, author=author, timestamp=time, content=content, **fields)


def session(*events: Event, id: str = "s1", app: str = "travel", user: str = "ana") -> Session:  # noqa: A002
    return Session(id=id, app_name=app, user_id=user, events=list(events))


def add(service: EcphoraMemoryService, *events: Event, **where: str) -> None:
    asyncio.run(service.add_session_to_memory(session(*events, **where)))


def search(service: BaseMemoryService, query: str, **owner: str) -> list[MemoryEntry]:
    return asyncio.run(service.search_memory(**{**ME, **owner}, query=query)).memories


def texts(entries: list[MemoryEntry]) -> list[str]:
    return sorted(str(part.text) for entry in entries for part in entry.content.parts or [])


class Driver(AdapterDriver):
    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.service = EcphoraMemoryService(memory, needs_evidence=False)

    def keep(self, text: str, *, user: str, session: str) -> None:
        add(self.service, event(text, content_id(repr(text))), user=user, id=session)

    def find(self, question: str, *, user: str) -> list[str]:
        return texts(search(self.service, question, user_id=user))

    def forget(self, text: str, *, user: str) -> None:
        for entry in search(self.service, text, user_id=user):
            if texts([entry]) == [text]:
                asyncio.run(self.service.delete_memory(app_name="travel", user_id=user, memory_id=entry.id))


class TestContract(AdapterContract):
    driver = Driver
    separates_users = True


# ---- what is stored


def test_event_keeps_content_author_session_and_time(service: EcphoraMemoryService, memory: Memory) -> None:
    add(service, event("I live in Lisbon."))
    (entry,) = search(service, "Lisbon")
    assert entry.content == types.Content(role="user", parts=[types.Part(text="I live in Lisbon.")])
    assert entry.author == "user"
    assert entry.timestamp == "2026-05-03T12:00:00+00:00"
    assert entry.custom_metadata["session_id"] == "s1"
    assert entry.custom_metadata["event_id"] == "e1"
    (node,) = memory.find()
    assert (node.speaker, node.session, node.text) == ("ana", "s1", "I live in Lisbon.")


def test_what_an_agent_says_is_an_assistants_by_its_name(service: EcphoraMemoryService, memory: Memory) -> None:
    add(service, event("Lisbon is sunny.", author="guide"))
    assert next(iter(memory.find())).speaker == "assistant"
    (entry,) = search(service, "Lisbon")
    assert (entry.author, entry.content.role) == ("guide", "model")


def test_session_added_again_stores_only_its_new_events(service: EcphoraMemoryService, memory: Memory) -> None:
    first, second = event("One boat."), event("Two boats.", "e2", "guide")
    add(service, first)
    seen = next(iter(memory.find())).recorded_at
    add(service, first, second)
    add(service, first, second)
    assert len(memory) == 2
    assert memory.get(str(search(service, "One boat.")[0].id)) is not None
    assert min(node.recorded_at for node in memory.find()) == seen


def test_changed_event_takes_the_place_of_the_old(service: EcphoraMemoryService, memory: Memory) -> None:
    for text in ("The boat is blue.", "The boat is red.", "The boat is blue."):
        add(service, event(text))
        assert texts(search(service, "boat")) == [text]
    assert len(memory) == 1


def test_same_event_id_in_another_session_is_another_memory(service: EcphoraMemoryService, memory: Memory) -> None:
    add(service, event("Blue boat."), id="s1")
    add(service, event("Red boat."), id="s2")
    assert texts(search(service, "boat")) == ["Blue boat.", "Red boat."]


def test_events_without_an_id_are_stored_once(service: EcphoraMemoryService, memory: Memory) -> None:
    one, other = event("Blue boat."), event("Blue boat.", time=NOON + 1)
    one.id = other.id = ""
    add(service, one, other)
    add(service, one, other)
    assert len(memory) == 2


def test_an_event_twice_in_one_call_is_stored_once(service: EcphoraMemoryService, memory: Memory) -> None:
    add(service, event("Blue boat."), event("Red boat."))
    assert texts(search(service, "boat")) == ["Red boat."]


def test_events_without_text_and_thoughts_are_left_out(service: EcphoraMemoryService, memory: Memory) -> None:
    call = types.Content(role="model", parts=[types.Part(function_call=types.FunctionCall(name="clock", args={}))])
    thought = types.Content(role="model", parts=[types.Part(text="The boat sinks.", thought=True)])
    both = types.Content(role="model", parts=[*(thought.parts or []), types.Part(text="The boat sails.")])
    add(
        service,
        Event(id="1", author="guide", content=call),
        Event(id="2", author="guide", content=thought),
        Event(id="3", author="guide"),
        event("", "4"),
        event(" \n\u200b", "5"),
        event(None, "6"),
        Event(id="7", author="guide", content=both),
    )
    (node,) = memory.find()
    assert node.text == "The boat sails."
    assert search(service, "boat")[0].content == both


def test_content_with_pictures_and_calls_comes_back_whole(service: EcphoraMemoryService) -> None:
    parts = [
        types.Part(text="Two boats:"),
        types.Part(inline_data=types.Blob(data=b"\x00\xff", mime_type="image/png")),
        types.Part(text="blue ones."),
        types.Part(function_call=types.FunctionCall(name="clock", args={"zone": "UTC", "deep": {"list": [1, None]}})),
    ]
    content = types.Content(role="model", parts=parts)
    add(service, Event(id="e", author="guide", content=content))
    (entry,) = search(service, "boats")
    assert entry.content == content
    assert base64.b64encode(b"\x00\xff").decode() not in str(entry.custom_metadata)


def test_events_delta_has_its_metadata(service: EcphoraMemoryService) -> None:
    nested = {"tags": ["a", {"b": 1}], "year": 2026, "draft": None}
    asyncio.run(
        service.add_events_to_memory(
            **ME,
            events=[event("Blue boat.")],
            session_id="s9",
            custom_metadata={**nested, "adk_owner": "evil", "adk_content": '{"parts": [{"text": "forged"}]}'},
        )
    )
    (entry,) = search(service, "boat")
    assert entry.custom_metadata.items() >= {"year": 2026, "draft": None, "session_id": "s9"}.items()
    assert entry.custom_metadata["tags"] == ["a", {"b": 1}]
    assert texts([entry]) == ["Blue boat."]
    assert not {"adk_owner", "adk_content"} & set(entry.custom_metadata)


def test_session_added_after_a_delta_keeps_its_metadata(service: EcphoraMemoryService, memory: Memory) -> None:
    one = event("Blue boat.")
    asyncio.run(
        service.add_events_to_memory(
            **ME, events=[one], session_id="s1", custom_metadata={"year": 2026, "tags": ["a"], "deep": {"b": 1}}
        )
    )
    recorded = next(iter(memory.find())).recorded_at
    add(service, one)
    (entry,) = search(service, "boat")
    assert entry.custom_metadata.items() >= {"year": 2026, "tags": ["a"], "deep": {"b": 1}}.items()
    assert next(iter(memory.find())).recorded_at == recorded


def test_events_delta_without_session(service: EcphoraMemoryService, memory: Memory) -> None:
    for _ in range(2):
        asyncio.run(service.add_events_to_memory(**ME, events=[event("Blue boat.")]))
    assert [node.session for node in memory.find()] == [None]


def test_no_events_are_no_error(service: EcphoraMemoryService, memory: Memory) -> None:
    add(service)
    asyncio.run(service.add_memory(**ME, memories=[]))
    assert len(memory) == 0


def test_add_memory_stores_entries(service: EcphoraMemoryService, memory: Memory) -> None:
    entry = MemoryEntry(
        content=types.Content(role="user", parts=[types.Part(text="Ana likes the sea.")]),
        author="user",
        timestamp="2026-01-10T08:00:00",
        custom_metadata={"topic": "taste"},
    )
    for _ in range(2):
        asyncio.run(service.add_memory(**ME, memories=[entry], custom_metadata={"topic": "x", "source": "form"}))
    (found,) = search(service, "sea")
    assert found.content == entry.content
    assert found.timestamp == "2026-01-10T08:00:00+00:00"
    assert (found.custom_metadata["topic"], found.custom_metadata["source"]) == ("taste", "form")
    assert search(service, "sea", user_id="ben") == []
    for author, role in (("Ben", "user"), ("guide", "model")):
        one = MemoryEntry(content=types.Content(role=role, parts=[types.Part(text=f"By {author}.")]), author=author)
        asyncio.run(service.add_memory(**ME, memories=[one]))
    speakers = {node.text: node.speaker for node in memory.find()}
    assert speakers == {"Ana likes the sea.": "ana", "By Ben.": "Ben", "By guide.": "assistant"}


def test_any_unicode_is_stored(service: EcphoraMemoryService) -> None:
    text = "Olá 日本 \ud800 🚢 \x00"
    parts = [types.Part(text=text), types.Part(function_call=types.FunctionCall(name="a", args={"x": "\ud800"}))]
    add(
        service,
        event(text, "\ud800", "gui\ud800de"),
        Event(id="2", author="user", content=types.Content(role="user", parts=parts)),
        user="\ud800",
        app="a\x1fb",
        id="\ud800",
    )
    found = search(service, "日本 \ud800", app_name="a\x1fb", user_id="\ud800")
    assert len(found) == 2
    assert all("Olá 日本 ? 🚢 \x00" in texts([entry]) for entry in found)


def test_long_text_comes_back_in_parts_and_is_deleted_whole(service: EcphoraMemoryService, memory: Memory) -> None:
    add(service, event(" ".join(f"Sentence {number} tells of the blue boat." for number in range(400))))
    found = search(service, "blue boat")
    assert {entry.id for entry in found} == {found[0].id}
    assert all(len(str(entry.content.parts[0].text)) < 10_000 for entry in found if entry.content.parts)
    call = types.Part(function_call=types.FunctionCall(name="log", args={}))
    parts = [types.Part(text=" ".join(f"Line {number} tells of the red boat." for number in range(400))), call]
    add(service, Event(id="e2", author="guide", content=types.Content(role="model", parts=parts)))
    assert all(len(texts([entry])[0]) < 10_000 for entry in search(service, "red boat"))
    asyncio.run(service.delete_memory(**ME, memory_id=found[0].id))
    assert len(memory) == 1


@pytest.mark.parametrize("time", [float("nan"), float("inf"), 1e20])
def test_impossible_time_is_refused(service: EcphoraMemoryService, time: float) -> None:
    with pytest.raises(InvalidInput):
        add(service, event("Boat.", time=time))


# ---- who sees what


def test_other_users_and_applications_see_nothing(service: EcphoraMemoryService, memory: Memory) -> None:
    memory.remember("The boat of the whole file is green.")
    add(service, event("Ana's boat is blue."))
    add(service, event("Ben's boat is red."), user="ben")
    add(service, event("The other boat is white."), app="other")
    assert texts(search(service, "boat")) == ["Ana's boat is blue."]
    assert texts(search(service, "boat", user_id="ben")) == ["Ben's boat is red."]
    assert texts(search(service, "boat", app_name="other")) == ["The other boat is white."]
    assert search(service, "boat", user_id="cleo") == []
    assert search(service, "boat", app_name='travel", "ana') == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b\x1fc"), ("a\x1fb", "c")),
        (("a", 'b"'), ('a"', "b")),
        (("", "a"), ("a", "")),
        (("\ud800", "a"), ("?", "a")),
    ],
)
def test_no_names_are_taken_for_others(
    service: EcphoraMemoryService, one: tuple[str, str], other: tuple[str, str]
) -> None:
    add(service, event("Blue boat."), app=one[0], user=one[1])
    add(service, event("Red boat."), app=other[0], user=other[1])
    assert texts(search(service, "boat", app_name=one[0], user_id=one[1])) == ["Blue boat."]
    assert texts(search(service, "boat", app_name=other[0], user_id=other[1])) == ["Red boat."]


def test_what_a_user_deletes_is_kept_for_another(service: EcphoraMemoryService, memory: Memory) -> None:
    add(service, event("Blue boat."))
    add(service, event("Blue boat."), user="ben")
    (mine,) = search(service, "boat")
    asyncio.run(service.delete_memory(app_name="travel", user_id="ben", memory_id=mine.id))
    asyncio.run(service.delete_memory(app_name="other", user_id="ana", memory_id=mine.id))
    assert len(memory) == 2
    asyncio.run(service.delete_memory(**ME, memory_id=mine.id))
    assert search(service, "boat") == []
    add(service, event("Blue boat.", "e2"), user="ben")
    assert texts(search(service, "boat", user_id="ben")) == ["Blue boat."] * 2


def test_a_memory_that_is_not_the_services_is_not_deleted(service: EcphoraMemoryService, memory: Memory) -> None:
    id_ = memory.remember("Blue boat.").id
    for one in (id_, "unknown", "", None):
        asyncio.run(service.delete_memory(**ME, memory_id=one))
    assert len(memory) == 1


# ---- search


@pytest.mark.parametrize("query", ["", "  ", "\u200b"])
def test_empty_query_finds_nothing(service: EcphoraMemoryService, query: str) -> None:
    add(service, event("Blue boat."))
    assert search(service, query) == []


def test_hostile_and_long_queries_are_answered(service: EcphoraMemoryService) -> None:
    add(service, event("Blue boat."))
    for query in ("boat' OR 1=1 --", '"boat" NEAR(', "%", "x " * 30_000 + "boat"):
        assert len(search(service, query)) <= 1


def test_entries_are_bounded_and_best_first(memory: Memory) -> None:
    service = EcphoraMemoryService(memory, limit=3, needs_evidence=False)
    add(service, *(event(f"Boat {number} is blue.", str(number)) for number in range(8)))
    found = search(service, "Is boat 4 blue?")
    scores = [entry.custom_metadata["score"] for entry in found]
    assert len(found) == 3
    assert scores == sorted(scores, reverse=True)
    assert "Boat 4 is blue." in texts(found[:1])


def test_entries_pass_the_filter_too(memory: Memory) -> None:
    service = EcphoraMemoryService(
        memory, where=Filter(speakers="assistant", metadata={"year": 2026}), needs_evidence=False
    )
    for year in (2025, 2026):
        asyncio.run(
            service.add_events_to_memory(
                **ME,
                session_id=str(year),
                events=[event(f"Boat of {year}, I say.", "u"), event(f"Boat of {year}, it says.", "g", "guide")],
                custom_metadata={"year": year},
            )
        )
    assert texts(search(service, "boat")) == ["Boat of 2026, it says."]


@pytest.mark.parametrize("options", [{"limit": 0}, {"where": 3}, {"needs_evidence": None}])
def test_wrong_option_is_refused(memory: Memory, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        EcphoraMemoryService(memory, **options)


@pytest.mark.medium
def test_no_evidence_gives_no_entries() -> None:
    with Memory(":memory:") as memory:
        service = EcphoraMemoryService(memory)
        add(service, event("I live in Lisbon."), event("The ferry costs nine euros.", "e2"))
        (best, *_) = search(service, "Where does Ana live?")
        assert texts([best]) == ["I live in Lisbon."]
        assert best.custom_metadata["evidence"] in {"strong", "weak"}
        assert best.custom_metadata["confidence"] > 0
        assert {"reason", "validity"} <= set(best.custom_metadata)
        assert search(service, "What is the wifi password?") == []


# ---- addresses


def test_address_opens_a_file_that_keeps_what_was_added(tmp_path: Path) -> None:
    uri = f"ecphora://{tmp_path}/my%20agent.db?scope=work"
    for _ in range(2):
        service = open_memory_service(uri, agents_dir="agents", needs_evidence=False)
        add(service, event("Blue boat."))
        assert texts(search(service, "boat")) == ["Blue boat."]
        assert service.memory.scope == "work"
        asyncio.run(service.close())
    assert (tmp_path / "my agent.db").exists()
    with pytest.raises(StoreClosed):
        search(service, "boat")


def test_address_is_relative_without_a_third_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for uri, file in (("ecphora://Agent.db", "Agent.db"), ("ecphora://data/agent.db", "data/agent.db")):
        asyncio.run(open_memory_service(uri).close())
        assert (tmp_path / file).exists()


@pytest.mark.parametrize("uri", ["ecphora://", "sqlite:///a.db", "agent.db", "ecphora://a.db?limit=3", ""])
def test_wrong_address_is_refused(uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput):
        open_memory_service(uri)
    assert not list(tmp_path.iterdir())


def test_wrong_option_closes_the_memory_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class WatchedMemory(Memory):
        closings = 0

        def close(self) -> None:
            WatchedMemory.closings += 1
            super().close()

    monkeypatch.setattr(google_adk, "Memory", WatchedMemory)
    with pytest.raises(InvalidInput):
        open_memory_service(f"ecphora://{tmp_path}/agent.db", limit=0)
    assert WatchedMemory.closings == 1


def test_registry_opens_registered_addresses(tmp_path: Path) -> None:
    registry = ServiceRegistry()
    register(registry)
    service = registry.create_memory_service(f"ecphora://{tmp_path}/agent.db", agents_dir="agents")
    assert isinstance(service, EcphoraMemoryService)
    asyncio.run(service.close())
    register()
    assert google_adk.SCHEME in get_service_registry()._memory_factories


def test_services_yaml_names_the_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    get_service_registry()._memory_factories.pop(google_adk.SCHEME, None)
    services = [{"scheme": "ecphora", "type": "memory", "class": "ecphora.adapters.google_adk.open_memory_service"}]
    (tmp_path / "services.yaml").write_text(json.dumps({"services": services}))
    monkeypatch.setattr(sys, "path", [*sys.path])
    load_services_module(str(tmp_path))
    service = get_service_registry().create_memory_service(f"ecphora://{tmp_path}/agent.db", agents_dir=str(tmp_path))
    assert isinstance(service, EcphoraMemoryService)
    asyncio.run(service.close())


# ---- an agent of the host


class ScriptedLlm(BaseLlm):
    """Answers with what stands in the request about Lisbon."""

    model: str = "scripted"
    requests: list[str] = Field(default_factory=list)

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002
    ) -> AsyncGenerator[LlmResponse, None]:
        said = " ".join(part.text or "" for content in llm_request.contents for part in content.parts or [])
        self.requests.append(said)
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="All right.")]))


@pytest.mark.medium
def test_agent_remembers_across_sessions() -> None:
    llm = ScriptedLlm()
    with Memory(":memory:") as memory:
        service, sessions = EcphoraMemoryService(memory), InMemorySessionService()

        async def remember(callback_context: Any) -> None:
            await callback_context.add_session_to_memory()

        agent = LlmAgent(name="guide", model=llm, tools=[PreloadMemoryTool()], after_agent_callback=remember)
        runner = Runner(app_name="travel", agent=agent, session_service=sessions, memory_service=service)

        async def say(user: str, session_id: str, text: str) -> None:
            if await sessions.get_session(app_name="travel", user_id=user, session_id=session_id) is None:
                await sessions.create_session(app_name="travel", user_id=user, session_id=session_id)
            message = types.Content(role="user", parts=[types.Part(text=text)])
            async for _ in runner.run_async(user_id=user, session_id=session_id, new_message=message):
                pass

        async def talk() -> None:
            await say("ana", "monday", "I live in Lisbon.")
            await say("ana", "monday", "I have a dog.")
            await say("ana", "friday", "Where do I live?")
            await say("ben", "friday", "Where do I live?")

        asyncio.run(talk())
        assert "I live in Lisbon." in llm.requests[2]
        assert "Lisbon" not in llm.requests[3]
        told = [node.text for node in memory.find(where=Filter(speakers="ana"))]
        assert sorted(told) == ["I have a dog.", "I live in Lisbon.", "Where do I live?"]
