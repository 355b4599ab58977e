"""The command ask: with a language model, without one, and with one that fails."""

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ecphora import Memory
from ecphora.cli.main import main
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeChatServer


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder, a cheap embedder, and no settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("ECPHORA_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    monkeypatch.setenv("COLUMNS", "100")


def ecphora(*args: str) -> Result:
    return CliRunner().invoke(main, args)


@pytest.fixture
def two_memories() -> None:
    ecphora("remember", "Ana moved to Porto.", "--id", "a", "--speaker", "Ana", "--happened-at", "2026-05-03")
    ecphora("remember", "Bo likes rain in Lisbon.", "--id", "b", "--speaker", "Bo", "--happened-at", "2026-05-04")


def use_model(server: FakeChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPHORA_LLM", "openai:small")
    monkeypatch.setenv("ECPHORA_LLM_BASE_URL", server.url)


def model_reply(text: str, *ids: str, held: bool = True) -> str:
    return json.dumps({"answer": text, "ids": ids, "held": held})


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_ask_without_a_model_quotes_and_notes_it() -> None:
    result = ecphora("ask", "Where did Ana move in Porto?")
    assert result.exit_code == 0
    assert result.stdout.startswith("“Ana moved to Porto.” (Ana, 2026-05-03)\n  a  3 May 2026")
    evidence = json.loads(ecphora("ask", "Where did Ana move in Porto?", "--json").stdout)["evidence"]
    assert re.fullmatch(rf"  ●+○* {evidence} evidence 0\.\d\d", result.stdout.splitlines()[-1])
    assert "no language model is set" in result.stderr
    assert "--llm or ECPHORA_LLM" in result.stderr


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_ask_quotes_weak_evidence_with_a_perhaps_and_exits_with_4() -> None:
    result = ecphora("ask", "Where did Ana move in Porto?", "--evidence-bands", "0.99,0.01")
    assert result.exit_code == 4
    assert result.stdout.startswith("Perhaps: “Ana moved to Porto.”")


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_ask_answers_with_a_model_and_cites(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeChatServer(model_reply("In Porto.", "a")) as server:
        use_model(server, monkeypatch)
        result = ecphora("ask", "Where did Ana move in Porto?")
        as_json = json.loads(ecphora("ask", "Where did Ana move in Porto?", "--json").stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("In Porto.\n  a  3 May 2026")
    assert [as_json[name] for name in ("text", "cited_ids", "is_answered", "is_extractive")] == [
        "In Porto.", ["a"], True, False,
    ]  # fmt: skip
    assert as_json["usage"]["tokens_in"] == 11
    assert [one["id"] for one in as_json["memories"]] == ["a"]


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_ask_without_an_answer_exits_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeChatServer(model_reply("", held=False)) as server:
        use_model(server, monkeypatch)
        result = ecphora("ask", "Where did Ana move in Porto?")
        assert result.exit_code == 3
        assert re.fullmatch(r"The memory does not hold this\.\n  ●●. \w+ evidence 0\.\d\d\n", result.stdout)
        without_evidence = ecphora("ask", "Porto", "--known-at", "2020-01-01")
        assert without_evidence.exit_code == 3
        assert without_evidence.stdout.endswith("\n  ○○○ no evidence 0.00\n")
    assert len(server.requests) == 1, "without evidence nothing is sent"


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_ask_quotes_if_the_model_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with FakeChatServer((401, {}, {"error": "bad key sk-secret"})) as server:
        use_model(server, monkeypatch)
        result = ecphora("ask", "Where did Ana move in Porto?")
    assert result.exit_code == 0
    assert result.stdout.startswith("“Ana moved to Porto.”")
    assert "the language model failed" in result.stderr
    assert "401 bad key ***; check the API key" in result.stderr
    assert "sk-secret" not in result.output


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_ask_notes_an_answer_without_citation(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeChatServer(model_reply("In Rome.", "z")) as server:
        use_model(server, monkeypatch)
        result = ecphora("ask", "Where did Ana move in Porto?")
    assert result.stdout.splitlines()[0] == "In Rome."
    assert "  a  " not in result.stdout
    assert "cites no memory" in result.stderr


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_ask_show_prompt_prints_the_prompt_and_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeChatServer(model_reply("no")) as server:
        use_model(server, monkeypatch)
        shown = ecphora("ask", "Where did Ana move in Porto?", "--show-prompt")
        as_json = json.loads(ecphora("ask", "Ana in Porto?", "--show-prompt", "--json", "--budget", "40").stdout)
        without_evidence = ecphora("ask", "Porto", "--show-prompt", "--known-at", "2020-01-01")
    assert server.requests == []
    assert '<memory id="a" date="2026-05-03" speaker="Ana">\nAna moved to Porto.' in shown.stdout
    assert as_json["user"].count("</memory>") == 1
    assert as_json["schema"]["type"] == "object"
    assert without_evidence.exit_code == 3
    assert "nothing would be sent" in without_evidence.stdout
    with Memory("ecphora.db", embedder=HashingEmbedder()) as memory:
        history = memory.history("a")
    assert history is not None
    assert {access.kind.value for access in history.accesses} == {"encoded"}


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_ask_prints_no_control_characters_of_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeChatServer(model_reply("\x1b[2J[bold]Porto[/bold]", "a")) as server:
        use_model(server, monkeypatch)
        result = ecphora("ask", "Where did Ana move in Porto?")
    assert "\x1b" not in result.stdout
    assert "[bold]Porto[/bold]" in result.stdout


@pytest.mark.usefixtures("two_memories")
def test_ask_with_an_unknown_model_lists_the_choices() -> None:
    result = ecphora("ask", "Where is Ana?", "--llm", "gpt")
    assert result.exit_code == 1
    assert "give openai:MODEL or llamacpp:PATH" in result.stderr


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_ask_records_the_answer_of_a_model_if_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = [model_reply("Ana.", "a"), model_reply("Ana.", "a")]
    with FakeChatServer(*replies) as server:
        use_model(server, monkeypatch)
        first = json.loads(ecphora("ask", "Who moved to Porto?", "--json").stdout)
        second = json.loads(ecphora("ask", "Who moved to Porto?", "--record", "--json").stdout)
    assert first["exchange_id"] is None
    assert second["exchange_id"].startswith("exchange:")
    quoted = json.loads(ecphora("ask", "Who moved to Porto?", "--record", "--json").stdout)
    assert quoted["exchange_id"] is None
