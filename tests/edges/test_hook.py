"""The command ``hook``: the JSON of three coding agents in, what reaches their models out, and silence otherwise."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora import Memory
from ecphora.cli.hook import EVENTS, MAX_CHARS, SilentCommand, hook
from ecphora.cli.main import main
from ecphora.language.terms import estimate_tokens
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.settings import user_db

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "coding-agents"
DECISION = "We use PostgreSQL for the orders service."
REPLY = "The orders service has its schema."
QUESTION = "Which database does the orders service use?"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, in whose folder ``src`` the hooks run; the user's data folder is empty."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in (
        "ECPHORA_DB",
        "ECPHORA_SCOPE",
        "ECPHORA_HOOK",
        "CLAUDE_PROJECT_DIR",
        "CURSOR_PROJECT_DIR",
        "CURSOR_VERSION",
    ):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    monkeypatch.chdir(folder / "src")
    return folder


def write_transcript(path: Path, *entries: Mapping[str, Any]) -> str:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return str(path)


def claude_transcript(folder: Path, asked: str = DECISION, replied: str = REPLY) -> str:
    """A transcript as Claude Code writes it, with a tool call, its result, a subagent and the host's own messages."""
    call = [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "1", "name": "Bash", "input": {}}]
    return write_transcript(
        folder / "claude.jsonl",
        {"type": "user", "message": {"role": "user", "content": "An earlier prompt."}},
        {"type": "user", "message": {"role": "user", "content": asked}},
        {"type": "assistant", "message": {"role": "assistant", "content": call}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "ok"}]}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": replied}]}},
        {"type": "assistant", "isSidechain": True, "message": {"role": "assistant", "content": "A subagent's."}},
        {"type": "user", "isMeta": True, "message": {"role": "user", "content": "The host's."}},
        {"type": "user", "message": {"role": "user", "content": "<command-name>/exit</command-name>"}},
        {"type": "system", "subtype": "turn_duration", "content": "12 s"},
    )


def run(event: str, payload: object, *options: str) -> Result:
    text = payload if isinstance(payload, str | bytes) else json.dumps(payload)
    result = CliRunner().invoke(main, ["hook", event, "--embedder", "hashing", *options], input=text)
    assert result.exit_code == 0
    assert result.stderr == ""
    return result


def claude(folder: Path, event: str, **fields: object) -> dict[str, object]:
    """The JSON that Claude Code and Codex give."""
    base = {"session_id": "s1", "transcript_path": None, "cwd": str(folder / "src"), "hook_event_name": event}
    return {**base, "permission_mode": "default", **fields}


def stop(folder: Path, **fields: object) -> None:
    result = run("Stop", claude(folder, "Stop", stop_hook_active=False, **fields))
    assert result.stdout == ""


def stored(folder: Path) -> list[tuple[str | None, str]]:
    """Who said what, in the memory of the project."""
    if not user_db().exists():
        return []
    with Memory(user_db(), scope=str(folder), embedder=HashingEmbedder()) as memory:
        return [(node.speaker, node.text) for node in sorted(memory.find(), key=lambda node: node.seq)]


# ---- remembering


@pytest.mark.medium
def test_stop_stores_the_last_exchange_of_the_transcript_once(project: Path) -> None:
    path = claude_transcript(project)
    stop(project, transcript_path=path)
    run("SessionEnd", claude(project, "SessionEnd", transcript_path=path, reason="other"))
    assert stored(project) == [("user", DECISION), ("assistant", REPLY)]
    with Memory(user_db(), scope=str(project), embedder=HashingEmbedder()) as memory:
        assert {(node.session, node.source) for node in memory.find()} == {("s1", "hook")}


@pytest.mark.medium
def test_stop_prefers_the_reply_that_the_host_gives(project: Path) -> None:
    stop(project, transcript_path=claude_transcript(project), last_assistant_message="Done.")
    assert stored(project) == [("user", DECISION), ("assistant", "Done.")]


@pytest.mark.medium
def test_stop_reads_the_transcripts_of_codex(project: Path) -> None:
    def item(role: str, kind: str, text: str) -> dict[str, Any]:
        content = [{"type": kind, "text": text}]
        return {"type": "response_item", "payload": {"type": "message", "role": role, "content": content}}

    path = write_transcript(
        project / "rollout.jsonl",
        {"type": "session_meta", "payload": {"id": "s1", "cwd": str(project)}},
        item("user", "input_text", "<environment_context>\n<cwd>/shop</cwd>"),
        item("user", "input_text", DECISION),
        {"type": "event_msg", "payload": {"type": "user_message", "message": DECISION}},
        {"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "{}"}},
        item("assistant", "output_text", REPLY),
        {"type": "event_msg", "payload": {"type": "token_count", "info": None}},
    )
    stop(project, transcript_path=path, turn_id="t1", model="gpt-5", last_assistant_message=None)
    assert stored(project) == [("user", DECISION), ("assistant", REPLY)]


@pytest.mark.medium
def test_stop_reads_the_transcripts_of_cursor(project: Path) -> None:
    path = write_transcript(
        project / "cursor.jsonl",
        {
            "role": "user",
            "message": {"content": [{"type": "text", "text": f"<user_query>\n{DECISION}\n</user_query>"}]},
        },
        {"role": "assistant", "message": {"content": [{"type": "text", "text": REPLY}]}},
    )
    payload = {
        "conversation_id": "c1",
        "workspace_roots": [str(project)],
        "status": "completed",
        "cursor_version": "3.2",
    }
    assert run("stop", {**payload, "hook_event_name": "stop", "transcript_path": path}).stdout == ""
    assert stored(project) == [("user", DECISION), ("assistant", REPLY)]


@pytest.mark.medium
@pytest.mark.parametrize(("cut", "speakers"), [(40, ["user", "assistant"]), (150, ["assistant"])])
def test_only_the_end_of_a_long_transcript_is_read(
    cut: int, speakers: list[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line that the end begins in is no JSON: with 40 bytes cut the earlier prompt, with 150 the last one."""
    path = claude_transcript(project)
    monkeypatch.setattr("ecphora.cli.session_messages.TAIL_BYTES", Path(path).stat().st_size - cut)
    stop(project, transcript_path=path)
    assert [speaker for speaker, _ in stored(project)] == speakers


@pytest.mark.medium
@pytest.mark.parametrize(
    "prompt", ["/clear", "  /compact now", "", "<local-command-stdout>done</local-command-stdout>"]
)
def test_commands_of_the_host_are_no_prompts(prompt: str, project: Path) -> None:
    stop(project, transcript_path=claude_transcript(project, asked=prompt))
    assert stored(project)[:-1] == [("user", "An earlier prompt.")]
    assert run("UserPromptSubmit", claude(project, "UserPromptSubmit", prompt=prompt)).stdout == ""


@pytest.mark.medium
def test_prompt_with_a_path_is_a_prompt(project: Path) -> None:
    stop(project, transcript_path=claude_transcript(project, asked="/etc/hosts has a wrong entry for db1."))
    assert stored(project)[0] == ("user", "/etc/hosts has a wrong entry for db1.")


@pytest.mark.medium
@pytest.mark.parametrize("place", ["asked", "replied"])
def test_exchange_with_a_secret_is_not_stored(place: str, project: Path) -> None:
    stop(project, transcript_path=claude_transcript(project, **{place: f"The key is sk-{'a1B2' * 8}."}))
    assert stored(project) == []
    assert not user_db().exists()


@pytest.mark.medium
def test_of_a_long_message_the_beginning_and_the_end_are_stored(project: Path) -> None:
    log = "".join(f"Line {number} of the log.\n" for number in range(60_000))
    stop(project, transcript_path=claude_transcript(project, asked=f"Why does it fail?\n{log}", replied=f"{log}Fixed."))
    (_, asked), (_, replied) = stored(project)
    assert (len(asked), len(replied)) == (MAX_CHARS + 3, MAX_CHARS + 3)
    assert asked.startswith("Why does it fail?\nLine 0 of")
    assert replied.endswith("of the log.\nFixed.")


@pytest.mark.medium
def test_secret_in_the_part_that_is_not_stored_counts(project: Path) -> None:
    lines = "A line of the log.\n" * 1_000
    stop(project, transcript_path=claude_transcript(project, asked=f"{lines}-----BEGIN PRIVATE KEY-----\n{lines}"))
    assert stored(project) == []


@pytest.mark.medium
def test_half_of_a_character_is_replaced(project: Path) -> None:
    """A host that cuts texts may leave half of a surrogate pair."""
    stop(project, prompt=f"{DECISION} \ud83d", last_assistant_message="Done.")
    assert stored(project)[0] == ("user", f"{DECISION} ?")
    asked = claude(project, "UserPromptSubmit", session_id="s2", prompt=f"{QUESTION} \ud83d")
    assert DECISION in run("UserPromptSubmit", asked).stdout


# ---- recalling


@pytest.fixture
def remembered(project: Path) -> Path:
    """The project, in which another session has stored an exchange."""
    stop(project, transcript_path=claude_transcript(project))
    return project


@pytest.mark.medium
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_memories_reach_the_model_and_nobody_else(event: str, remembered: Path) -> None:
    fields = {"source": "startup"} if event == "SessionStart" else {"prompt": QUESTION}
    answer = json.loads(run(event, claude(remembered, event, session_id="s2", **fields)).stdout)
    assert answer.keys() == {"hookSpecificOutput"}  # a systemMessage would be shown to the user alone
    output = answer["hookSpecificOutput"]
    assert output.keys() == {"hookEventName", "additionalContext"}
    assert output["hookEventName"] == event
    assert DECISION in output["additionalContext"]


@pytest.mark.medium
def test_cursor_gets_its_own_form(remembered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    payload = {"conversation_id": "c2", "workspace_roots": [str(remembered)], "prompt": QUESTION}
    answer = json.loads(run("beforeSubmitPrompt", {**payload, "cursor_version": "3.2"}).stdout)
    assert answer.keys() == {"continue", "additional_context"}
    assert answer["continue"] is True
    assert DECISION in answer["additional_context"]
    monkeypatch.setenv("CURSOR_VERSION", "3.2")
    answer = json.loads(run("sessionStart", payload).stdout)
    assert answer.keys() == {"additional_context"}
    assert DECISION in answer["additional_context"]


@pytest.mark.medium
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_session_does_not_get_its_own_messages(event: str, remembered: Path) -> None:
    assert run(event, claude(remembered, event, session_id="s1", prompt=QUESTION)).stdout == ""


@pytest.mark.medium
def test_prompt_without_evidence_gets_nothing(remembered: Path) -> None:
    payload = claude(remembered, "UserPromptSubmit", session_id="s2", prompt="When is Bo's birthday?")
    found = CliRunner().invoke(
        main,
        [
            "recall",
            "When is Bo's birthday?",
            "--json",
            "--db",
            str(user_db()),
            "--scope",
            str(remembered),
            "--embedder",
            "hashing",
        ],
    )
    assert json.loads(found.stdout)["evidence"] == "none"
    assert run("UserPromptSubmit", payload).stdout == ""


@pytest.mark.medium
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_answer_stays_within_the_budget(event: str, project: Path) -> None:
    for number in range(12):
        asked = f"Orders service, database decision {number}: {'PostgreSQL is used and documented. ' * 6}"
        stop(project, session_id=f"s{number}", transcript_path=claude_transcript(project, asked=asked))
    payload = claude(project, event, session_id="new", prompt=QUESTION)
    lengths = []
    for budget in (300, 600):
        answer = json.loads(run(event, payload, "--budget", str(budget)).stdout)
        lengths.append(estimate_tokens(answer["hookSpecificOutput"]["additionalContext"]))
        assert lengths[-1] <= budget
    assert lengths[0] < lengths[1]


# ---- where


@pytest.mark.medium
def test_projects_do_not_see_each_other(remembered: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "src").mkdir(parents=True)
    payload = claude(other, "UserPromptSubmit", session_id="s2", prompt=QUESTION)
    assert run("UserPromptSubmit", payload).stdout == ""
    assert DECISION in run("UserPromptSubmit", {**payload, "cwd": str(remembered)}).stdout


@pytest.mark.medium
def test_host_says_where_the_project_is(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project / "src"))
    stop(project, transcript_path=claude_transcript(project))
    assert len(stored(project / "src")) == 2


@pytest.mark.medium
def test_file_and_scope_that_are_set_stay(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ECPHORA_DB", str(tmp_path / "own.db"))
    monkeypatch.setenv("ECPHORA_SCOPE", "ana")
    stop(project, transcript_path=claude_transcript(project))
    assert not user_db().exists()
    with Memory(tmp_path / "own.db", scope="ana", embedder=HashingEmbedder()) as memory:
        assert len(memory) == 2


@pytest.mark.medium
def test_tools_of_the_project_have_the_memory_of_the_hooks(remembered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scopes: list[tuple[str, int]] = []
    monkeypatch.setattr(
        "ecphora.remote.mcp.server.serve_stdio", lambda memory: scopes.append((memory.scope, len(memory)))
    )
    assert CliRunner().invoke(main, ["mcp", "--project"]).exit_code == 0
    assert scopes == [(str(remembered), 2)]


def test_entry_of_a_host_names_the_project_and_no_file_of_its_own() -> None:
    printed = CliRunner().invoke(main, ["mcp", "--project", "--install", "cursor", "--print"])
    assert json.loads(printed.stdout)["mcpServers"]["ecphora"]["args"][-2:] == ["mcp", "--project"]
    printed = CliRunner().invoke(main, ["mcp", "--project", "--install", "cursor", "--print", "--db", "/a.db"])
    assert json.loads(printed.stdout)["mcpServers"]["ecphora"]["args"][-3:] == ["--project", "--db", "/a.db"]


def test_project_is_not_served_on_a_port() -> None:
    refused = CliRunner().invoke(main, ["mcp", "--project", "--http"])
    assert refused.exit_code == 2
    assert "--project and --http exclude each other" in refused.stderr


# ---- silence


@pytest.mark.parametrize(
    ("event", "given"),
    [
        ("Stop", ""),
        ("Stop", "no JSON"),
        ("Stop", b"\xff\xfe"),
        ("Stop", []),
        ("Stop", {"session_id": 7, "transcript_path": "/no/such/file"}),
        ("Stop", {"transcript_path": "."}),
        ("UserPromptSubmit", {}),
        ("UserPromptSubmit", {"prompt": 7, "workspace_roots": 7}),
        ("SessionStart", {"cwd": "/no/such/folder"}),
        ("PreToolUse", {"session_id": "s1"}),
    ],
)
def test_failure_is_silent(event: str, given: object) -> None:
    assert run(event, given).stdout == ""


@pytest.mark.parametrize("arguments", [[], ["Stop", "--no-such-option"], ["Stop", "--budget", "no"], ["Stop", "more"]])
def test_wrong_usage_is_silent(arguments: list[str]) -> None:
    """Exit code 2 would make the host refuse the prompt."""
    result = CliRunner().invoke(main, ["hook", *arguments], input="{}")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.medium
def test_file_that_is_damaged_is_silent(remembered: Path) -> None:
    user_db().write_bytes(b"no database" * 1000)
    payload = claude(remembered, "UserPromptSubmit", session_id="s2", prompt=QUESTION)
    assert run("UserPromptSubmit", payload).stdout == ""
    stop(remembered, transcript_path=claude_transcript(remembered, asked="Another."))


@pytest.mark.medium
def test_traceback_shows_a_failure(project: Path) -> None:
    result = CliRunner().invoke(main, ["--traceback", "hook", "Stop"], input="no JSON")
    assert isinstance(result.exception, json.JSONDecodeError)


@pytest.mark.medium
def test_switch_turns_the_hooks_off(remembered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    payload = claude(remembered, "UserPromptSubmit", session_id="s2", prompt=QUESTION)
    monkeypatch.setenv("ECPHORA_HOOK", "on")
    assert run("UserPromptSubmit", payload).stdout
    for value in ("0", "no", "False", " OFF "):
        monkeypatch.setenv("ECPHORA_HOOK", value)
        assert run("UserPromptSubmit", payload).stdout == ""
    stop(remembered, transcript_path=claude_transcript(remembered, asked="Another."))
    assert len(stored(remembered)) == 2


@pytest.mark.medium
def test_host_that_stops_listening_is_no_failure(remembered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    payload = claude(remembered, "UserPromptSubmit", session_id="s2", prompt=QUESTION)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(payload).encode())))
    monkeypatch.setattr("sys.stdout", Closed())
    with pytest.raises(SystemExit) as exit_:
        main(["hook", "UserPromptSubmit", "--embedder", "hashing"])
    assert exit_.value.code == 0


@pytest.mark.slow
def test_hook_gives_up_in_time(project: Path) -> None:
    """Here because the host never ends its JSON; a file that another process has locked is the usual reason."""
    command = [sys.executable, "-m", "ecphora.cli.main", "hook", "Stop", "--seconds", "0.5"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"{")
        process.stdin.flush()
        try:
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
        assert process.stdout.read() == b""


# ---- the plug-in


def read(name: str) -> dict[str, Any]:
    read_: dict[str, Any] = json.loads((PLUGIN / name).read_text(encoding="utf-8"))
    return read_


def commands(name: str) -> dict[str, str]:
    """The commands of a file of hooks, by event."""
    found = {}
    for event, (entry,) in read(name)["hooks"].items():
        (handler,) = entry.get("hooks", [entry])
        assert handler["timeout"] == 15  # seconds
        found[event] = handler["command"]
    return found


def test_hooks_call_the_command_with_events_that_it_knows() -> None:
    found = {**commands("hooks/hooks.json"), **commands("hooks/hooks-cursor.json")}
    assert {event.casefold() for event in found} == EVENTS.keys()
    assert found == {event: f"ecphora hook {event}" for event in found}
    assert commands("hooks/hooks.json").keys() == set(EVENTS.values())
    assert isinstance(hook, SilentCommand)


@pytest.mark.parametrize("host", ["claude", "cursor", "codex"])
def test_manifest_names_this_version_and_files_that_exist(host: str) -> None:
    import ecphora  # noqa: PLC0415

    manifest = read(f".{host}-plugin/plugin.json")
    assert (manifest["name"], manifest["version"]) == ("ecphora", ecphora.__version__)
    for field in ("skills", "mcpServers", "hooks"):
        if field in manifest:
            assert manifest[field].startswith("./")
            assert (PLUGIN / manifest[field]).exists()
    assert ("hooks" in manifest) is (host != "claude")  # Claude Code reads hooks/hooks.json by itself, once
    assert [path.name for path in (PLUGIN / f".{host}-plugin").iterdir()] == ["plugin.json"]


def test_marketplace_leads_to_the_plug_in() -> None:
    (plugin,) = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))["plugins"]
    assert (ROOT / plugin["source"]).resolve() == PLUGIN


def test_tools_of_the_plug_in_are_those_of_the_project() -> None:
    assert read(".mcp.json") == {"mcpServers": {"ecphora": {"command": "ecphora", "args": ["mcp", "--project"]}}}


def test_skill_says_what_it_is_and_names_tools_that_exist() -> None:
    from ecphora.tools.memory_tools import TOOLS  # noqa: PLC0415

    head, body = (PLUGIN / "skills" / "ecphora-memory" / "SKILL.md").read_text(encoding="utf-8").split("---\n")[1:]
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["name"] == "ecphora-memory"
    assert 1 <= len(fields["description"]) <= 1024
    assert all(f"`{tool.name}`" in body for tool in TOOLS)


@pytest.mark.slow
def test_process_remembers_and_recalls(project: Path) -> None:
    """As a host runs it: a process for each event, with nothing but the JSON on stdout."""

    def call(event: str, **fields: object) -> str:
        command = [sys.executable, "-m", "ecphora.cli.main", "hook", event]
        payload = json.dumps(claude(project, event, **fields)).encode()
        done = subprocess.run(command, input=payload, capture_output=True, check=True, env=dict(os.environ), timeout=60)
        assert done.stderr == b""
        return done.stdout.decode()

    assert call("Stop", transcript_path=claude_transcript(project)) == ""
    assert (
        DECISION
        in json.loads(call("UserPromptSubmit", session_id="s2", prompt=QUESTION))["hookSpecificOutput"][
            "additionalContext"
        ]
    )
