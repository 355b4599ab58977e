import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agent.memory_provider")

from agent.memory_manager import MemoryManager
from plugins.memory import discover_memory_providers, load_memory_provider

from ecphora import Memory
from ecphora.adapters.hermes import EcphoraMemoryProvider
from ecphora.errors import InvalidInput, StoreClosed
from ecphora.testing import AdapterContract, AdapterDriver

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning")]
ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "hermes" / "ecphora"
LISBON = "I live in Lisbon."


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of Hermes of its own."""
    folder = tmp_path / "hermes"
    folder.mkdir()
    monkeypatch.setenv("HERMES_HOME", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder


@pytest.fixture
def provider(memory: Memory, home: Path) -> EcphoraMemoryProvider:
    made = EcphoraMemoryProvider(memory)
    made.initialize("monday", hermes_home=str(home), platform="cli", agent_context="primary")
    return made


@pytest.fixture(scope="module")
def lisbon() -> Iterator[Memory]:
    """A memory with the packaged embedder, whose evidence counts."""
    with Memory(":memory:") as opened:
        opened.remember(LISBON, speaker="Ana", session="monday", happened_at="2026-01-10")
        opened.remember("The ferry to Cacilhas costs nine euros.", speaker="Ben", session="sunday")
        yield opened


def texts(memory: Memory) -> list[str]:
    return sorted(node.text for node in memory.find(limit=100))


def call(provider: EcphoraMemoryProvider, tool: str, **arguments: Any) -> dict[str, Any]:
    reply: dict[str, Any] = json.loads(provider.handle_tool_call(tool, arguments))
    return reply


class Driver(AdapterDriver):
    """The same memory for each session of an agent; what the prefetch has is found."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.provider = EcphoraMemoryProvider(memory)
        self.provider.initialize("today")

    def keep(self, text: str, *, user: str, session: str) -> None:  # noqa: ARG002
        self.provider.sync_turn(text, "", session_id=session)

    def find(self, question: str, *, user: str) -> list[str]:  # noqa: ARG002
        return [self.provider.prefetch(question)]

    def forget(self, text: str, *, user: str) -> None:  # noqa: ARG002
        ids = [node.id for node in self.memory.find() if node.text == text]
        if ids:
            assert "result" in call(self.provider, "ecphora_forget", ids=ids)


class TestContract(AdapterContract):
    driver = Driver


# ---- turns


def test_turn_is_remembered_with_speakers_and_session(provider: EcphoraMemoryProvider, memory: Memory) -> None:
    provider.sync_turn(LISBON, "Nice.", session_id="friday", messages=[{"role": "user", "content": LISBON}])
    provider.sync_turn("I have a dog.", "Good.")
    found = {node.text: (node.speaker, node.session) for node in memory.find()}
    assert found == {
        LISBON: ("user", "friday"),
        "Nice.": ("assistant", "friday"),
        "I have a dog.": ("user", "monday"),
        "Good.": ("assistant", "monday"),
    }


def test_user_of_a_gateway_is_the_speaker_by_name(memory: Memory, home: Path) -> None:
    provider = EcphoraMemoryProvider(memory)
    provider.initialize("monday", hermes_home=str(home), user_name="Ana", user_id="42")
    provider.sync_turn(LISBON, "Nice.")
    assert next(node.speaker for node in memory.find() if node.text == LISBON) == "Ana"


@pytest.mark.parametrize("content", ["", "  ", "\u200b"])
def test_empty_half_of_a_turn_is_left_out(provider: EcphoraMemoryProvider, memory: Memory, content: str) -> None:
    provider.sync_turn(content, "Nice.")
    provider.sync_turn(content, content)
    assert texts(memory) == ["Nice."]


def test_any_unicode_is_remembered(memory: Memory, home: Path) -> None:
    provider = EcphoraMemoryProvider(memory)
    provider.initialize("\ud800", hermes_home=str(home), user_name="\udfff")
    provider.sync_turn("Olá \ud800 日本 🚢", "Olá.")
    node = next(one for one in memory.find() if "日本" in one.text)
    assert (node.text, node.speaker, node.session) == ("Olá ? 日本 🚢", "?", "?")
    provider.prefetch("日本 \ud800")
    assert "日本 🚢" in call(provider, "ecphora_recall", question="日本")["result"]


@pytest.mark.medium
def test_prefetch_gives_what_other_sessions_hold(lisbon: Memory, home: Path) -> None:
    provider = EcphoraMemoryProvider(lisbon)
    provider.initialize("friday", hermes_home=str(home))
    question = "Where does Ana live?"
    assert LISBON in provider.prefetch(question)
    assert LISBON not in provider.prefetch(question, session_id="monday")
    provider.on_session_switch("monday", parent_session_id="friday", reset=True)
    assert LISBON not in provider.prefetch(question)
    provider.on_session_switch("friday", rewound=True, reason="undo")
    assert LISBON in provider.prefetch(question)


@pytest.mark.medium
def test_prefetch_gives_nothing_without_evidence_or_question(lisbon: Memory, home: Path) -> None:
    provider = EcphoraMemoryProvider(lisbon)
    provider.initialize("friday", hermes_home=str(home))
    for query in ("What is the wifi password?", "", "  ", "\u200b"):
        assert provider.prefetch(query) == ""


@pytest.mark.medium
def test_prefetch_is_bounded(lisbon: Memory, home: Path) -> None:
    def count(**settings: object) -> int:
        provider = EcphoraMemoryProvider(lisbon, settings)
        provider.initialize("friday", hermes_home=str(home))
        return provider.prefetch("Where does Ana live, and what does the ferry to Cacilhas cost?").count("<memory id")

    assert count() == 2
    assert count(limit=1) == 1
    assert count(budget=1) == 0


@pytest.mark.medium
def test_prefetch_asks_the_end_of_a_long_message(lisbon: Memory, home: Path) -> None:
    provider = EcphoraMemoryProvider(lisbon)
    provider.initialize("friday", hermes_home=str(home))
    assert LISBON in provider.prefetch(" " * 30_000 + "Where does Ana live?" + "\n" * 30_000)
    assert isinstance(provider.prefetch("x " * 30_000 + "Where does Ana live?"), str)


@pytest.mark.parametrize("context", ["subagent", "cron", "flush"])
def test_agents_that_are_not_primary_change_nothing(memory: Memory, home: Path, context: str) -> None:
    memory.remember(LISBON, id="lisbon")
    provider = EcphoraMemoryProvider(memory)
    provider.initialize("friday", hermes_home=str(home), agent_context=context)
    provider.sync_turn("Run the job.", "Done.")
    provider.on_memory_write("add", "memory", "A fact.")
    provider.on_session_end([])
    for tool, arguments in (("remember", {"texts": ["A."]}), ("forget", {"ids": ["lisbon"]}), ("update", {"id": "x"})):
        assert "primary" in call(provider, f"ecphora_{tool}", **arguments)["error"]
    assert "Lisbon" in call(provider, "ecphora_find")["result"]
    assert texts(memory) == [LISBON]


@pytest.mark.medium
def test_end_of_a_session_detects_changed_facts(home: Path) -> None:
    for consolidates in (False, True):
        with Memory(":memory:") as memory:
            memory.remember(LISBON, id="old", speaker="Ana", happened_at="2026-01-10")
            memory.remember("I moved to Porto.", speaker="Ana", happened_at="2026-05-03")
            provider = EcphoraMemoryProvider(memory, {"consolidate": consolidates})
            provider.initialize("monday", hermes_home=str(home))
            provider.on_session_end([{"role": "user", "content": "Bye."}])
            assert bool(memory.facts.updates()) is consolidates


# ---- tools


def test_tools_are_known_before_the_memory_is_open_and_refuse_until_then() -> None:
    provider = EcphoraMemoryProvider()
    schemas = {one["name"]: one for one in provider.get_tool_schemas()}
    assert sorted(schemas) == [f"ecphora_{name}" for name in ("find", "forget", "recall", "remember", "update")]
    assert schemas["ecphora_recall"]["parameters"]["required"] == ["question"]
    assert all(one["description"] for one in schemas.values())
    assert "error" in call(provider, "ecphora_recall", question="Lisbon?")
    assert provider.prefetch("Lisbon?") == provider.system_prompt_block() == ""
    provider.sync_turn("Lost.", "Lost.")
    provider.on_session_end([])
    provider.on_memory_write("add", "user", "Lost.")
    provider.shutdown()


def test_model_remembers_recalls_and_forgets(provider: EcphoraMemoryProvider, memory: Memory) -> None:
    assert "Remembered" in call(provider, "ecphora_remember", texts=["Ana lives in Lisbon."], speaker="Ana")["result"]
    (node,) = memory.find()
    assert node.session == "monday"
    assert "Ana lives in Lisbon." in call(provider, "ecphora_recall", question="Where does Ana live?")["result"]
    changed = call(provider, "ecphora_update", id=node.id, text="Ana lives in Porto.", mode="replace")
    assert "Replaced" in changed["result"]
    assert "result" in call(provider, "ecphora_forget", ids=[node.id])
    assert len(memory) == 0
    assert "Lisbon" not in provider.system_prompt_block()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ecphora_recall", {}),
        ("ecphora_recall", {"question": 3}),
        ("ecphora_forget", {"ids": ["unknown"], "speaker": "Ana"}),
        ("ecphora_drop", {}),
        ("memory", {"action": "add"}),
    ],
)
def test_wrong_call_gets_an_error(provider: EcphoraMemoryProvider, tool: str, arguments: dict[str, Any]) -> None:
    reply = call(provider, tool, **arguments)
    assert list(reply) == ["error"]
    assert not reply["error"].startswith("Error")


def test_failure_of_the_store_is_an_error_too(provider: EcphoraMemoryProvider, memory: Memory) -> None:
    memory.close()
    assert list(call(provider, "ecphora_recall", question="Lisbon?")) == ["error"]


# ---- Hermes' own memory


def test_own_memory_is_mirrored(provider: EcphoraMemoryProvider, memory: Memory) -> None:
    provider.on_memory_write("add", "user", "Ana likes tea.", metadata={"tool_name": "memory"})
    provider.on_memory_write("add", "user", "Ana likes tea.")
    provider.on_memory_write("add", "memory", "The build needs Rust.")
    assert texts(memory) == ["Ana likes tea.", "The build needs Rust."]
    provider.on_memory_write("replace", "user", "Ana likes coffee.", metadata={"old_text": "likes tea"})
    assert texts(memory) == ["Ana likes coffee.", "The build needs Rust."]
    provider.on_memory_write("remove", "user", "", metadata={"old_text": "Rust"})  # it stands in the other file
    provider.on_memory_write("remove", "user", "")
    assert texts(memory) == ["Ana likes coffee.", "The build needs Rust."]
    provider.on_memory_write("remove", "memory", "", metadata={"old_text": "Rust"})
    assert texts(memory) == ["Ana likes coffee."]
    provider.on_memory_write("add", "user", "Ana likes tea.")
    assert texts(memory) == ["Ana likes coffee.", "Ana likes tea."]


def test_mirror_touches_no_other_memory(provider: EcphoraMemoryProvider, memory: Memory) -> None:
    memory.remember("Ana likes tea.")
    for action, content in (("remove", "tea"), ("remove", "Ana likes tea."), ("add", " "), ("other", "x")):
        provider.on_memory_write(action, "user", content)
    assert texts(memory) == ["Ana likes tea."]


@pytest.mark.medium
def test_prefetch_leaves_out_the_mirror_which_tools_find(lisbon: Memory, home: Path) -> None:
    provider = EcphoraMemoryProvider(lisbon)
    provider.initialize("friday", hermes_home=str(home))
    provider.on_memory_write("add", "user", "Ana lives in Lisbon, in the Alfama.")
    provider.on_session_switch("saturday")
    assert "Alfama" not in provider.prefetch("Where does Ana live?")
    assert "Alfama" in call(provider, "ecphora_recall", question="Where does Ana live?")["result"]


# ---- settings and files


def test_provider_opens_and_closes_a_file_in_the_folder(home: Path) -> None:
    provider = EcphoraMemoryProvider()
    opened: list[Any] = []
    assert (provider.name, provider.is_available()) == ("ecphora", True)
    for number in range(2):
        provider.initialize(f"s{number}", hermes_home=str(home), platform="cli")
        provider.sync_turn(f"Turn {number}.", "Yes.")
        opened.append(provider._memory)
    provider.shutdown()
    provider.shutdown()
    for memory in opened:
        with pytest.raises(StoreClosed):
            memory.remember("Too late.")
    provider.sync_turn("Too late.", "Yes.")
    with Memory(home / "ecphora.db") as memory:
        assert {"Turn 0.", "Turn 1."} <= set(texts(memory))
        assert "Too late." not in texts(memory)
    assert provider.backup_paths() == []


def test_given_memory_stays_open(provider: EcphoraMemoryProvider, memory: Memory) -> None:
    provider.shutdown()
    assert memory.remember(LISBON).created
    assert provider.backup_paths() == []


def test_each_user_of_a_gateway_has_a_scope_unless_one_is_set(home: Path) -> None:
    def scopes(settings: dict[str, object]) -> set[str]:
        for user in ({"user_id": "1"}, {"user_id": "2"}, {}):
            provider = EcphoraMemoryProvider(None, settings)
            provider.initialize("monday", hermes_home=str(home), **user)
            provider.sync_turn(f"I am {user}.", "Hello.")
            provider.shutdown()
        with Memory(home / str(settings["path"])) as memory:
            return {one.name for one in memory.scopes() if one.episodes}

    assert scopes({"path": "a.db"}) == {"1", "2", "default"}
    assert scopes({"path": "b.db", "scope": "all"}) == {"all"}


def test_settings_are_saved_and_read(home: Path, tmp_path: Path) -> None:
    provider = EcphoraMemoryProvider()
    defaults = {one["key"]: one["default"] for one in provider.get_config_schema()}
    assert defaults == {"path": "ecphora.db", "scope": "", "limit": "6", "budget": "1000", "consolidate": "true"}
    provider.save_config(defaults, str(home))
    assert EcphoraMemoryProvider().backup_paths() == []
    provider.save_config({"path": "~/outside.db", "consolidate": "false", "limit": "3"}, str(home))
    saved = json.loads((home / "ecphora.json").read_text())
    assert saved == {"path": "~/outside.db", "scope": "", "limit": 3, "budget": 1000, "consolidate": False}
    provider.initialize("monday", hermes_home=str(home))
    provider.shutdown()
    assert (tmp_path / "outside.db").exists()
    assert provider.backup_paths() == [str(tmp_path / "outside.db")]
    provider.save_config({"path": "$HERMES_HOME/inside.db"}, str(home))
    provider.initialize("monday", hermes_home=str(home))
    provider.shutdown()
    assert (home / "inside.db").exists()
    assert provider.backup_paths() == []


@pytest.mark.parametrize(
    "settings",
    [
        {"key": "x"},
        {"limit": "many"},
        {"limit": 0},
        {"budget": None},
        {"path": ""},
        {"scope": 3},
        {"consolidate": "si"},
    ],
)
def test_wrong_setting_is_refused(home: Path, settings: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        EcphoraMemoryProvider(None, settings)
    with pytest.raises(InvalidInput):
        EcphoraMemoryProvider().save_config(settings, str(home))
    assert not (home / "ecphora.json").exists()


@pytest.mark.parametrize("content", ["{", "[1]", '{"limit": 0}'])
def test_settings_that_cannot_be_read_are_one_clear_error(home: Path, content: str) -> None:
    (home / "ecphora.json").write_text(content)
    with pytest.raises(InvalidInput):
        EcphoraMemoryProvider().initialize("monday", hermes_home=str(home))


# ---- in the host


def test_manager_of_the_host_runs_it(memory: Memory, home: Path) -> None:
    manager = MemoryManager()
    manager.add_provider(EcphoraMemoryProvider(memory))
    manager.initialize_all("monday", hermes_home=str(home), platform="cli", agent_context="primary")
    assert "ecphora_recall" in manager.build_system_prompt()
    assert manager.has_tool("ecphora_recall")
    for turn in range(5):
        manager.on_turn_start(turn, "Hi.")
        manager.prefetch_all(f"Boat {turn}?", session_id="monday")
        manager.sync_all(f"Boat {turn} is blue.", f"Boat {turn}, I see.", session_id="monday", messages=[])
        manager.queue_prefetch_all(f"Boat {turn}?", session_id="monday")
    manager.notify_memory_tool_write(
        json.dumps({"success": True}), {"action": "add", "target": "user", "content": "Ana likes tea."}
    )
    assert manager.on_pre_compress([]) == ""
    manager.on_delegation("Look.", "Found.", child_session_id="c")
    manager.on_session_switch("friday", parent_session_id="monday", reset=True)
    reply = json.loads(manager.handle_tool_call("ecphora_remember", {"texts": ["Ben likes tea."]}))
    assert "result" in reply
    manager.on_session_end([])
    manager.shutdown_all()
    found = {node.text: node.session for node in memory.find()}
    assert len(found) == 12
    assert (found["Boat 4 is blue."], found["Ben likes tea."]) == ("monday", "friday")


def test_plugin_folder_is_discovered_and_loaded(home: Path) -> None:
    shutil.copytree(PLUGIN, home / "plugins" / "ecphora", ignore=shutil.ignore_patterns("__pycache__"))
    found = {name: (description, available) for name, description, available in discover_memory_providers()}
    description, available = found["ecphora"]
    assert available
    assert "SQLite" in description
    loaded = load_memory_provider("ecphora")
    assert loaded is not None
    assert loaded.name == "ecphora"


@pytest.mark.slow
def test_agent_remembers_across_sessions(tmp_path: Path) -> None:
    """The example: Hermes' agent, loaded from a folder with the plug-in, in two sessions of a scripted model."""
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "adapters" / "hermes.py"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"agent: I remember: Hi! {LISBON}" in done.stdout
    assert "ecphora_recall" in done.stdout
