"""The commands ask and chat: with a language model, without one, and with one that fails."""

import json
import os
import re
from pathlib import Path
from typing import Any

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


def ecphora(*args: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin)


@pytest.fixture
def two_memories() -> None:
    ecphora("remember", "Ana moved to Porto.", "--id", "a", "--speaker", "Ana", "--happened-at", "2026-05-03")
    ecphora("remember", "Bo likes rain in Lisbon.", "--id", "b", "--speaker", "Bo", "--happened-at", "2026-05-04")


def use_model(server: FakeChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPHORA_LLM", "openai:small")
    monkeypatch.setenv("ECPHORA_LLM_BASE_URL", server.url)


def model_reply(text: str, *ids: str, held: bool = True) -> str:
    return json.dumps({"answer": text, "ids": ids, "held": held})


def stored_episodes() -> list[tuple[str | None, str]]:
    with Memory("ecphora.db", embedder=HashingEmbedder()) as memory:
        graph = memory.graph()
        nodes = [memory.get(graph.id(row)) for row in range(len(graph))]
    return [(node.speaker, node.text) for node in nodes if node is not None and node.kind == "episode"]


# ---- ask


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_ask_without_a_model_quotes_and_notes_it() -> None:
    result = ecphora("ask", "Where did Ana move in Porto?")
    assert result.exit_code == 0
    assert result.stdout.startswith("“Ana moved to Porto.” (Ana, 2026-05-03)\n  a  3 May 2026")
    confidence = json.loads(ecphora("ask", "Where did Ana move in Porto?", "--json").stdout)["confidence"]
    assert re.fullmatch(rf"  ●+○* (strong|weak) evidence {confidence:.2f}", result.stdout.splitlines()[-1])
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
    assert [as_json[name] for name in ("answer", "cited_ids", "is_answered", "is_extractive", "llm")] == [
        "In Porto.", ["a"], True, False, "small@openai",
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


# ---- chat


@pytest.mark.medium
@pytest.mark.usefixtures("simple_weights")
def test_chat_remembers_and_quotes_without_a_model() -> None:
    statements = "I like the rain in Lisbon.\n\nThe sun shines in Oslo.\n"
    lines = f"{statements}Where do I like the rain?\n/why\n/quit\nnever said\n"
    result = ecphora("chat", "--speaker", "Bo", "--session", "s", stdin=lines)
    assert result.exit_code == 0
    assert result.stdout.startswith("Noted.\nNoted.\n“I like the rain in Lisbon.” (Bo, ")
    assert "  from " in result.stdout
    assert "says “like” and “rain”" in result.stdout
    assert "✓  1" in result.stdout
    assert "no language model is set" in result.stderr
    assert stored_episodes() == [
        ("Bo", "I like the rain in Lisbon."),
        ("Bo", "The sun shines in Oslo."),
        ("Bo", "Where do I like the rain?"),
    ]


@pytest.mark.medium
def test_chat_with_a_model_remembers_the_user_and_records_the_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeChatServer(model_reply("Nice to hear."), model_reply("In Lisbon.", "?")) as server:
        use_model(server, monkeypatch)
        result = ecphora("chat", stdin="I like rain.\nI like it in Lisbon. Where do I like rain?")
    assert result.exit_code == 0
    assert result.stdout == "Nice to hear.\nIn Lisbon.\n"
    assert stored_episodes() == [("user", "I like rain."), ("user", "I like it in Lisbon. Where do I like rain?")]
    sent = server.requests[1]["messages"][1]["content"]
    assert '<turn speaker="user">\nI like rain.\n</turn>\n<turn speaker="assistant">\nNice to hear.' in sent
    assert sent.count("I like it in Lisbon") == 1, "the current message is not among its own memories"
    assert "<asked>\nI like rain.\n</asked>\n<answered>\nNice to hear.\n</answered>" in sent.partition("</memories>")[2]
    with Memory("ecphora.db", embedder=HashingEmbedder()) as memory:
        exchanges = memory.recall("I like rain.", include="exchanges").exchanges
    assert [(one.prompt, one.response) for one in exchanges] == [
        ("I like rain.", "Nice to hear."),
        ("I like it in Lisbon. Where do I like rain?", "In Lisbon."),
    ]
    assert (exchanges[0].source, (exchanges[0].session or "")[:5]) == ("small@openai", "chat-")


@pytest.mark.medium
def test_chat_continues_if_the_model_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeChatServer((400, {}, "no")) as server:
        use_model(server, monkeypatch)
        result = ecphora("chat", stdin="I like rain in Lisbon.\nWhere do I like rain?\n")
    assert result.exit_code == 0
    assert "“I like rain in Lisbon.”" in result.stdout
    assert "the language model failed" in result.stderr
    assert [who for who, _ in stored_episodes()] == ["user", "user"]


@pytest.mark.medium
def test_forget_erases_what_the_conversation_made_of_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory("ecphora.db", embedder=HashingEmbedder()) as memory:
        pin = memory.remember("My PIN is K4711.", speaker="user", session="s").id
    lines = f"My PIN is K4711.\nThanks a lot.\n/forget {pin}\nHello again.\nMy PIN is K4711.\nBye."
    replies = ("Noted: K4711.", "Your PIN K4711 is safe.", "Hi.", "Noted: K4711.", "Bye.")
    with FakeChatServer(*map(model_reply, replies)) as server:
        use_model(server, monkeypatch)
        result = ecphora("chat", "--session", "s", stdin=lines)
    assert result.exit_code == 0
    assert "K4711" in json.dumps(server.requests[1])
    assert "K4711" not in json.dumps(server.requests[2])
    assert "K4711" not in json.dumps(server.requests[4]), "what was blocked is not shown again"
    exported = ecphora("export").stdout
    assert "Hello again." in exported
    assert "K4711" not in exported


@pytest.mark.medium
def test_reply_goes_with_what_an_earlier_reply_was_based_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last reply repeats the one before, which its prompt shows, but neither that nor its memory is recalled."""
    ecphora("remember", "The alarm code is K4711.", "--id", "alarm")
    for number in range(4):
        ecphora("remember", f"Gardening tip {number}: water the roses in the garden.")
    garden = "Do the roses in the garden need water?"
    lines = f"{garden}\nWhat is the alarm code?\n{garden} And again?\n/forget alarm"
    with FakeChatServer(*map(model_reply, ("They do.", "It is K4711.", "Once more, K4711."))) as server:
        use_model(server, monkeypatch)
        result = ecphora("chat", "--session", "s", "--limit", "1", stdin=lines)
    assert result.exit_code == 0
    assert "It is K4711." in json.dumps(server.requests[2])
    assert "K4711" not in ecphora("export").stdout


@pytest.mark.usefixtures("two_memories")
def test_chat_forget_erases_a_memory() -> None:
    lines = "/why\n/forget\n/forget a\n/forget a\n/nonsense\n/help\n"
    result = ecphora("chat", stdin=lines)
    assert result.exit_code == 0
    for part in ("Nothing was said yet.", "Say which", "Erased: a", "There is no memory a.", "no command /nonsense"):
        assert part in result.stdout
    assert [text for _, text in stored_episodes()] == ["Bo likes rain in Lisbon."]


def test_chat_notes_a_blocked_message() -> None:
    lines = "I like rain.\n"
    id_ = json.loads(ecphora("remember", "I like rain.", "--speaker", "user", "--session", "s", "--json").stdout)[
        "created"
    ][0]
    ecphora("forget", id_)
    result = ecphora("chat", "--session", "s", stdin=lines)
    assert result.exit_code == 0
    assert ("forgotten on purpose before" in result.stderr) == (stored_episodes() == [])


def test_chat_json_writes_one_object_per_line() -> None:
    lines = "I like rain in Lisbon.\n/why\n/forget none\n/foo\n/help\n/why\n"
    result = ecphora("chat", "--json", "--session", "s", stdin=lines)
    lines_read: list[dict[str, Any]] = [json.loads(line) for line in result.stdout.splitlines()]
    assert lines_read[0]["answer"] == "Noted."
    assert lines_read[0]["session"] == "s"
    assert lines_read[1]["cited_ids"] == []
    assert lines_read[2:4] == [
        {"episode_ids": [], "entity_ids": [], "exchange_ids": [], "notices": []},
        {"error": "/foo"},
    ]
    assert "/forget ID" in lines_read[4]["help"]
    assert result.stderr == ""


@pytest.mark.medium
def test_chat_reports_bad_input_and_continues() -> None:
    result = ecphora("chat", stdin="x" * 2_000_000 + "\nI like rain.\n")
    assert result.exit_code == 0
    assert "That cannot be remembered" in result.stdout
    assert result.stdout.endswith("Noted.\n")
    broken = ecphora("chat", stdin=b"Hello.\ncaf\xe9\n")
    assert broken.exit_code == 1
    assert "line 2 of stdin is not UTF-8" in broken.stderr


@pytest.mark.parametrize(("error", "code"), [(EOFError, 0), (KeyboardInterrupt, 130)])
def test_chat_ends_cleanly_at_a_terminal(
    error: type[BaseException], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["I like rain."]

    def read_line(_prompt: str) -> str:
        if not lines:
            raise error
        return lines.pop()

    monkeypatch.setattr("builtins.input", read_line)
    monkeypatch.setattr("ecphora.cli.chat.sys", type("Sys", (), {"stdin": type("In", (), {"isatty": lambda: True})}))
    result = ecphora("chat")
    assert result.exit_code == code
    assert "Traceback" not in result.output
    assert [text for _, text in stored_episodes()] == ["I like rain."]
