"""The command line: its output, its streams and its exit codes."""

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from ecphora import E5Embedder, HashingEmbedder, Memory
from ecphora.cli.main import LazyCommand, main
from ecphora.errors import EcphoraError, InvalidInput, UnknownName
from ecphora.model.types import AccessKind
from ecphora.recall.access_log import AccessLog
from ecphora.settings import Settings, load

ECPHORA = Path(sys.executable).with_name("ecphora")

pytestmark = pytest.mark.usefixtures("clean_environment")


def ecphora(*args: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin)


def answer(*args: str, stdin: str | bytes | None = None, code: int = 0) -> Any:
    result = ecphora(*args, "--json", stdin=stdin)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def run(*args: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [ECPHORA, *args], input=stdin, capture_output=True, check=False, env={**os.environ, **environment}, timeout=60
    )


# ---- errors and exit codes


@pytest.mark.parametrize(
    "command", [["recall", "x"], ["history", "x"], ["forget", "x"], ["export"], ["scopes"], ["doctor"]]
)
def test_reading_commands_create_no_file(command: list[str]) -> None:
    result = ecphora(*command)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: there is no memory at ecphora.db")
    assert not Path("ecphora.db").exists()


@pytest.mark.usefixtures("two_memories")
def test_unknown_scope_error_lists_the_known_scopes() -> None:
    result = ecphora("recall", "Porto", "--scope", "nobody")
    assert result.exit_code == 1
    assert "it holds 'default'" in result.stderr


def test_error_with_json_is_json_on_stderr() -> None:
    result = ecphora("recall", "x", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(result.stderr)["error"]["type"] == "StoreReadOnly"


def test_usage_errors_exit_with_2() -> None:
    for args in (["nonsense"], ["recall"], ["recall", "x", "--limit", "0"], ["remember", "x", "--metadata", "novalue"]):
        assert ecphora(*args).exit_code == 2
    assert ecphora("remember", "x", "--jsonl").exit_code == 2


def test_unexpected_error_is_one_line_without_traceback_option(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("oh")

    monkeypatch.setattr("ecphora.settings.load", broken)
    result = ecphora("scopes")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: KeyError: 'oh' (unexpected")
    assert isinstance(ecphora("--traceback", "scopes").exception, KeyError)


def test_interrupt_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ecphora.settings.load", interrupted)
    result = ecphora("scopes")
    assert result.exit_code == 130
    assert "Traceback" not in result.output


# ---- help


def commands() -> list[tuple[str, click.Command]]:
    lazy = {name: command for name, command in main.commands.items() if isinstance(command, LazyCommand)}
    loaded = {name: command.load() for name, command in lazy.items() if name not in {"bench", "token"}}
    bulk = loaded.pop("bulk")
    assert isinstance(bulk, click.Group)
    return [*loaded.items(), *((f"bulk {name}", command) for name, command in bulk.commands.items())]


def test_every_command_is_loaded_by_its_name() -> None:
    assert [name for name, command in commands() if name.removeprefix("bulk ") != command.name] == []


@pytest.mark.parametrize(("name", "command"), commands())
def test_every_command_and_option_has_help(name: str, command: click.Command) -> None:
    assert command.help
    for param in command.params:
        assert isinstance(param, click.Argument) or getattr(param, "help", None), f"{name} {param.name}"
    assert ecphora(*name.split(), "--help").exit_code == 0


@pytest.mark.parametrize(("name", "command"), commands())
def test_every_command_but_the_demo_has_the_common_options(name: str, command: click.Command) -> None:
    names = {param.name for param in command.params}
    assert "as_json" in names
    assert name == "copy" or "db" in names
    assert name in {"demo", "postgres"} or names & {"scope", "scopes"} or name == "bulk import"  # named by its files
    without = {"copy", "postgres", "rename-scope", "clone-scope", "bulk consolidate"}
    assert name in without or "embedder" in names


OLD_COMMANDS = {"changes", "faded", "protect", "open"}
OLD_OPTIONS = {
    "--anew", "--at", "--at-once", "--into", "--meta", "--no-touch", "--off", "--quick", "--resegment", "--tokens",
}  # fmt: skip


def every_command(group: click.Group = main, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that call it; lazy ones are loaded."""
    for name, command in group.commands.items():
        loaded = command.load() if isinstance(command, LazyCommand) else command
        yield f"{path} {name}".strip(), loaded
        if isinstance(loaded, click.Group):
            yield from every_command(loaded, name)


def test_commands_and_options_have_no_old_names() -> None:
    for path, command in every_command():
        assert path.split()[-1] not in OLD_COMMANDS, path
        kept = {"--tokens"} if path == "consolidate" else set()  # the limit of the language model's tokens
        options = {word for param in command.params for word in (*param.opts, *param.secondary_opts)}
        assert not options & (OLD_OPTIONS - kept), path


def test_old_option_is_unknown() -> None:
    result = ecphora("recall", "Porto", "--tokens", "5")
    assert result.exit_code == 2
    assert "No such option" in result.stderr


def test_bench_is_a_command() -> None:
    result = ecphora("bench", "--help")
    assert result.exit_code == 0
    assert "recall" in result.stdout


def test_bench_without_its_package_says_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecphora.cli.main.BENCH_PACKAGE", "ecphora_bench_elsewhere")
    monkeypatch.setattr(main.commands["bench"], "place", "ecphora_bench_elsewhere.commands:bench")
    result = ecphora("bench", "recall", "--data", ".")
    assert (result.exit_code, result.stdout) == (1, "")
    assert len(result.stderr.splitlines()) == 1
    assert "clone the repository" in result.stderr
    assert "./scripts/setup dev" in result.stderr


# ---- real processes


@pytest.mark.medium
def test_help_loads_nothing_heavy() -> None:
    code = "import sys; from ecphora.cli.main import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "rich", "apsw", "onnxruntime"} & set(process.stdout.split())


@pytest.mark.medium
def test_recall_loads_only_needed_modules() -> None:
    ecphora("remember", "Ana moved to Porto.")
    code = "import sys; from ecphora.cli.main import main; main(['recall', 'Where is Ana?'], standalone_mode=False)"
    process = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "COVERAGE_PROCESS_CONFIG"},  # loads tomllib
    )
    assert "Ana moved to Porto." in process.stdout
    loaded = set(process.stderr.split())
    assert {"ecphora.memory", "ecphora.cli.render", "ecphora.strategies.fused.strategy"} <= loaded
    other_strategies = {
        "ecphora.strategies.baselines",
        *(f"ecphora.strategies.{paper}.strategy" for paper in ("ecphory", "eisa", "synapse", "synaptic", "weave")),
    }
    consolidation = ("consolidation.plan", "consolidation.facts", "consolidation.entities", "consolidation.insights")
    modules = (
        "cli.consolidation",
        "cli.demo",
        *consolidation,
        "maintenance.doctor",
        "maintenance.learn",
        "models.llms",
    )
    packages = ("importlib.metadata", "markdown_it", "onnxruntime", "rich.progress", "tokenizers", "tomllib")
    assert not loaded & {*other_strategies, "ecphora_bench", *(f"ecphora.{module}" for module in modules), *packages}


@pytest.mark.medium
@pytest.mark.parametrize(
    "args",
    [
        [b"caf\xe9"],
        pytest.param([b"x", b"--id", b"\xff"], marks=pytest.mark.slow),
        pytest.param([b"x", b"--db", b"\xff.db"], marks=pytest.mark.slow),
    ],
    ids=ascii,
)
def test_lone_surrogate_in_arguments_is_an_error(args: list[bytes]) -> None:
    if os.name == "nt":
        pytest.skip("arguments are UTF-16 there")
    process = subprocess.run([str(ECPHORA).encode(), b"remember", *args], capture_output=True, check=False)
    assert process.returncode in ((0, 1) if b"--db" in args else (1,)), args
    assert b"Traceback" not in process.stderr
    assert process.stderr.startswith(b"error: ") or process.returncode == 0


@pytest.mark.medium
def test_broken_pipe_is_not_an_error() -> None:
    ecphora("remember", "--lines", stdin="\n".join(f"Text number {n} about Porto." for n in range(600)))
    process = subprocess.Popen([ECPHORA, "export"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    process.wait(60)
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.medium
def test_recall_logs_its_accesses_before_the_file_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    ecphora("remember", "--id", "a", "Ana lives in Porto.")
    ends, close, write = threading.Event(), AccessLog.close, AccessLog._write

    def late(log: AccessLog, batch: list[Any]) -> None:
        ends.wait(5)
        write(log, batch)

    def end(log: AccessLog, seconds: float) -> None:
        ends.set()
        close(log, seconds)

    monkeypatch.setattr(AccessLog, "_write", late)
    monkeypatch.setattr(AccessLog, "close", end)
    assert ecphora("recall", "Porto").exit_code == 0
    with Memory("ecphora.db", embedder=HashingEmbedder()) as memory:
        history = memory.history("a")
    assert history is not None
    assert [access.kind for access in history.accesses] == [AccessKind.ENCODED, AccessKind.RECALLED]


@pytest.mark.medium
def test_recall_prints_to_a_pipe_without_unicode() -> None:
    ecphora("remember", "One in Porto.")
    plain = run("recall", "Porto", NO_COLOR="1", PYTHONIOENCODING="ascii")
    assert plain.returncode in {0, 3}
    assert b"One in Porto." in plain.stdout


@pytest.mark.slow
def test_json_is_valid_in_a_pipe_without_unicode() -> None:
    process = run("remember", "--json", "--lines", stdin=b"One in Porto.\nTwo.\n" * 20)
    assert len(json.loads(process.stdout)["created"]) == 40
    assert process.stderr == b""
    json.loads(run("recall", "Porto é", "--json", PYTHONIOENCODING="ascii").stdout)


# ---- strategies


@pytest.mark.medium
def test_strategy_option_decides_which_accesses_are_logged() -> None:
    for name in ("fused", "synaptic-faithful"):
        ecphora("remember", "--id", f"a {name}", "--scope", name, "--strategy", name, "The boat is called Zebulon.")
        ecphora("remember", "--id", f"b {name}", "--scope", name, "--strategy", name, "The boat called Zebulon leaks.")
    access_kinds = {
        name: [one["kind"] for one in answer("history", f"a {name}", "--scope", name)["accesses"]]
        for name in ("fused", "synaptic-faithful")
    }
    assert access_kinds == {"fused": ["encoded"], "synaptic-faithful": ["encoded", "stimulated"]}


@pytest.mark.medium
def test_strategy_comes_from_the_environment_or_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPHORA_STRATEGY", "weave")
    ecphora("remember", "The boat is called Zebulon.")
    assert answer("recall", "Zebulon")["strategy"] == "weave"
    assert answer("recall", "Zebulon", "--strategy", "dense")["strategy"] == "dense"
    monkeypatch.setenv("ECPHORA_STRATEGY", "weaver")
    result = ecphora("recall", "Zebulon")
    assert result.exit_code == 1
    assert "choose one of fused, synaptic" in result.stderr


# ---- settings


def test_settings_prefer_options_then_environment_then_file(tmp_path: Path) -> None:
    (tmp_path / "ecphora.toml").write_text('db = "here.db"\nscope = "file"\nembedder = "hashing"\n')
    found = load({"ECPHORA_SCOPE": "environment", "OPENAI_API_KEY": "k"}, tmp_path)
    assert found == Settings(tmp_path / "here.db", "environment", "hashing", openai_api_key="k")
    assert found.with_overrides(scope="option").scope == "option"
    assert "k" not in repr(found).replace("Path", "")[-20:]
    assert load({"ECPHORA_OPENAI_API_KEY": "ours", "OPENAI_API_KEY": "k"}, tmp_path).openai_api_key == "ours"
    assert load({}, tmp_path / "elsewhere") == Settings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dbb = 'x'", "'dbb', which is not a setting; the settings are db"),
        ("scope = 3", "give a text"),
        ("=", "not TOML"),
    ],
)
def test_invalid_settings_file_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "ecphora.toml").write_text(text)
    with pytest.raises(InvalidInput, match=message):
        load({}, tmp_path)
    with pytest.raises(InvalidInput, match="ECPHORA_CONFIG"):
        load({"ECPHORA_CONFIG": "none.toml"}, tmp_path)
    assert ecphora("scopes").exit_code == 1


def test_embedder_is_made_from_a_setting_or_a_stored_name() -> None:
    def name(setting: str | None, stored: str | None = None) -> str:
        return Settings(embedder=setting, openai_base_url="http://localhost:1").make_embedder(stored).name

    assert name("hashing") == name(None, "hashing/256") == "hashing/256"
    assert name("e5") == name(None) == E5Embedder.name
    assert name("minilm") == name(None, "all-MiniLM-L6-v2/int8") == "all-MiniLM-L6-v2/int8"
    assert name("openai:m") == name("openai:m", "m@openai") == "m@openai"
    assert name("sentence-transformers:org/m") == "org/m@sentence-transformers"
    for setting, stored in (("nonsense", None), ("openai:", None), ("hashing:x", None), (None, "someone's/own")):
        with pytest.raises(UnknownName):
            name(setting, stored)
    assert issubclass(UnknownName, EcphoraError)


def test_progress_bar_is_not_shown_in_a_pipe() -> None:
    assert ecphora("remember", "--lines", stdin="\n".join(f"Text {n}" for n in range(40))).stderr == ""
    assert io.StringIO().isatty() is False
