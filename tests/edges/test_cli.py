"""The command line: what it prints, where, and how it ends."""

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from ecphora import HashingEmbedder, Memory, documents
from ecphora.access_log import AccessLog
from ecphora.cli.chat import ask, chat
from ecphora.cli.consolidation import COMMANDS
from ecphora.cli.main import _LazyCommand, main
from ecphora.errors import EcphoraError, InvalidInput, UnknownName
from ecphora.language.chunking import Chunk
from ecphora.model import AccessKind
from ecphora.settings import Settings, load

NEARER = "is nearer in meaning to the question"
ECPHORA = Path(sys.executable).with_name("ecphora")


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder, a cheap embedder, and nothing else in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("ECPHORA_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    monkeypatch.setenv("COLUMNS", "100")


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


@pytest.fixture
def told() -> None:
    ecphora(
        "remember",
        "Ana moved to Porto.",
        "--id",
        "a",
        "--speaker",
        "Ana",
        "--happened-at",
        "2026-05-03",
        "--session",
        "s",
    )
    ecphora(
        "remember",
        "Bo likes rain in Lisbon.",
        "--id",
        "b",
        "--speaker",
        "Bo",
        "--happened-at",
        "2026-05-04",
        "--metadata",
        "n=1",
    )


# ---- remember


def test_remember_says_what_is_new_known_and_refused() -> None:
    assert ecphora("remember", "One.", "--id", "1").stdout == "remembered: 1\n"
    assert ecphora("remember", "One.", "--id", "1").stdout == "exists already: 1\n"
    ecphora("forget", "1")
    result = ecphora("remember", "One.", "--id", "1")
    assert "blocked: 1" in result.stdout
    assert "--restore" in result.stderr
    assert ecphora("remember", "One.", "--id", "1", "--restore").stdout == "remembered: 1\n"
    assert ecphora("remember", "Two.", "Three.").stdout == "2 remembered\n"


def test_remember_reads_stdin_by_paragraph_by_line_whole_and_as_json_lines() -> None:
    assert len(answer("remember", stdin="One,\nnot two.\n\nTwo.\r\n")["created"]) == 2
    assert len(answer("remember", "--lines", stdin="One,\nbut two.\n\n")["created"]) == 2
    assert len(answer("remember", "-", stdin="Three.\n")["created"]) == 1
    assert len(answer("remember", "--whole", stdin="Four.\nFive.\n")["created"]) == 1
    lines = '{"text": "Six.", "id": "6", "speaker": "Ana"}\n\n{"text": "Seven.", "id": "7", "metadata": {"a": 1}}\n'
    assert answer("remember", "--jsonl", "--speaker", "Bo", stdin=lines)["created"] == ["6", "7"]
    assert answer("history", "6")["node"]["speaker"] == "Ana"
    assert answer("history", "7")["node"]["speaker"] == "Bo"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "x"}\nnonsense', "line 2: this is no JSON"),
        ('{"text": "x", "mood": 1}', "line 1: there is no field 'mood'"),
        ('{"speaker": "Ana"}', "line 1: a text must be a str"),
        ('{"text": "x", "happened_at": "soon"}', "line 1: 'soon' is not a date"),
        ('{"text": "\\ud800"}', "line 1: the text holds a lone surrogate"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_nothing_written(line: str, message: str) -> None:
    result = ecphora("remember", "--jsonl", stdin=line)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {message}")
    assert not Path("ecphora.db").exists()


def test_stdin_that_is_not_utf8_is_an_error_that_says_so() -> None:
    result = ecphora("remember", stdin=b"caf\xe9\n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "UTF-8 at byte 3" in result.stderr


def test_remember_supersedes_and_history_tells() -> None:
    ecphora("remember", "Ana lives in Porto.", "--id", "old", "--happened-at", "2026-01-01")
    ecphora("remember", "Ana lives in Rome.", "--id", "new", "--happened-at", "2026-02-01", "--supersedes", "old")
    life = answer("history", "old")
    assert [node["id"] for node in life["successors"]] == ["new"]
    assert life["node"]["valid_to"].startswith("2026-02-01")
    drawn = ecphora("history", "old").stdout
    assert "after" in drawn
    assert "held until 1 Feb 2026" in drawn
    assert ecphora("remember", "x", "--supersedes", "nobody").exit_code == 1


# ---- recall


@pytest.mark.usefixtures("told")
def test_recall_draws_who_when_what_and_why() -> None:
    result = ecphora("recall", "Where does Ana live now, in Porto?")
    assert result.exit_code == 0
    for part in ("evidence 0.", "ms", "Ana moved to Porto.", "3 May 2026", "says “Porto”"):
        assert part in result.stdout
    assert "+" not in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.usefixtures("told")
def test_explain_adds_up_to_the_score() -> None:
    found = answer("recall", "Porto")
    hit = found["hits"][0]
    assert sum(share["value"] for share in hit["why"]) == pytest.approx(hit["score"], abs=1e-4)
    assert hit["reason"] == f"says “Porto”; {NEARER}"
    drawn = ecphora("recall", "Porto", "--limit", "1", "--explain").stdout
    values = [float(word) for word in drawn.split() if word[0] in "+-" and word[1:2].isdigit()]
    score = next(float(line.split()[1]) for line in drawn.splitlines() if line.split()[:1] == ["score"])
    assert round(sum(values), 3) == score
    assert "says “Porto”" in drawn
    assert "id a" in drawn
    assert "says" not in ecphora("recall", "Porto", "--no-explain").stdout


@pytest.mark.usefixtures("told")
def test_what_a_score_starts_with_is_shown_where_everything_is() -> None:
    explained = ecphora("recall", "Porto", "--limit", "1", "--explain").stdout.splitlines()
    named = [line.split()[0] for line in explained if " +" in line or " -" in line or "score" in line]
    assert named[-2:] == ["prior", "score"]
    assert not {"prior", "score", "+"} & set(ecphora("recall", "Porto").stdout.split())


@pytest.mark.usefixtures("told")
def test_recall_filters_and_looks_back() -> None:
    def ids(*options: str) -> set[str]:
        result = ecphora("recall", "Porto rain Lisbon", "--json", "--no-log-access", *options)
        return {hit["id"] for hit in json.loads(result.stdout)["hits"]}

    assert ids() == {"a", "b"}
    assert ids("--speaker", "Bo") == {"b"}
    assert ids("--session", "s") == {"a"}
    assert ids("--metadata", "n=1") == {"b"}
    assert ids("--metadata", 'n="1"') == set()
    assert ids("--after", "2026-05-04") == {"b"}
    assert ids("--before", "2026-05-04") == {"a"}
    assert ids("--as-of", "2026-05-03") == {"a"}
    assert ids("--known-at", "2020-01-01") == set()
    assert ids("--limit", "1", "--strategy", "recency") == {"b"}
    assert ids("--budget", "1") == set()


@pytest.mark.usefixtures("told")
def test_no_evidence_exits_with_three() -> None:
    assert answer("recall", "Porto", "--known-at", "2020-01-01", code=3)["evidence"] == "none"
    assert "nothing came back" in ecphora("recall", "Porto", "--known-at", "2020-01-01").stdout


@pytest.mark.parametrize("width", ["20", "40", "59", "75", "200"])
@pytest.mark.usefixtures("told")
def test_any_width_will_do(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    result = ecphora("recall", "Porto", "--explain")
    assert "Porto." in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= int(width)
    fallen = ecphora("why-not", "Porto", "b", "--limit", "1").stdout
    assert max(map(len, fallen.splitlines())) <= int(width)


def test_a_text_cannot_steer_the_terminal() -> None:
    ecphora("remember", "Porto \x1b[2J\x07 \u202e [bold]tag[/bold]", "--speaker", "\x1b[31mAna")
    shown = ecphora("recall", "Porto").stdout
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert "[bold]tag[/bold]" in shown


def test_a_reason_reads_the_same_everywhere() -> None:
    told = ("We went to the bakery.", "And?", "It was closed.", "It rained all day.")
    first = answer("remember", told[0], "--session", "s", "--happened-at", "2026-05-03")["ids"][0]
    for text in told[1:]:
        ecphora("remember", text, "--session", "s", "--happened-at", "2026-05-03")
    question = "Was the bakery open?"
    hits = answer("recall", question, "--no-log-access")["hits"]
    reason = next(hit["reason"] for hit in hits if hit["text"] == "And?")
    assert reason == f"comes right after {first[:8]}, which says “bakery”"
    assert all(hit["why"] for hit in hits)
    drawn = [ecphora("recall", question, "--no-log-access", *explain).stdout for explain in ((), ("--explain",))]
    drawn.append(ecphora("chat", "--session", "t", stdin=f"{question}\n/why\n").stdout)
    assert all(reason in " ".join(text.split()) for text in drawn)
    assert all(first[:8] in text.split() for text in (drawn[0], drawn[2]))
    chat = ecphora("chat", "--session", "u", "--json", stdin=f"{question}\n/why\n").stdout.splitlines()
    assert reason in [hit["reason"] for hit in json.loads(chat[1])["hits"]]
    why_not = answer("why-not", question, hits[-1]["id"], "--limit", "1")
    assert why_not["reason"] in why_not["sentence"]
    assert "says “bakery”" in why_not["reason"]


# ---- why not


@pytest.mark.usefixtures("told")
def test_why_not_says_what_is_lacking_and_how_to_mend_it() -> None:
    result = ecphora("why-not", "Porto", "b", "--limit", "1")
    assert result.exit_code == 0
    said = " ".join(result.stdout.split())
    assert said == f"It came 2nd of 2. What the 1st has beyond it: says “Porto”; {NEARER}. Ask with a limit of 2."
    explained = ecphora("why-not", "Porto", "b", "--limit", "1", "--explain").stdout
    assert " ".join(explained.split()).startswith(said)
    assert "━━━" in explained
    assert "prior" not in explained
    assert ecphora("why-not", "Porto", "b", "--limit", "2").stdout == "It came back, 2nd of 2.\n"


@pytest.mark.usefixtures("told")
def test_why_not_is_asked_with_the_options_of_recall() -> None:
    def reason(*options: str) -> str:
        return str(answer("why-not", "Porto rain Lisbon", "a", *options)["miss_reason"])

    assert reason() == "none"
    assert reason("--budget", "1") == "budget"
    assert reason("--known-at", "2020-01-01") == "filter"
    found = answer("why-not", "Porto", "a", "--speaker", "Bo", "--as-of", "2026-05-01")
    assert found["failed_filters"] == ["speakers", "as_of"]
    assert reason("--limit", "1", "--strategy", "recency") == "below_cutoff"
    assert ecphora("why-not", "Porto").exit_code == 2
    assert ecphora("why-not", "Porto", "a", "--limit", "0").exit_code == 2


@pytest.mark.usefixtures("told")
def test_why_not_as_json_is_clean_and_leaves_no_trace() -> None:
    found = answer("why-not", "Porto", "b", "--limit", "1")
    assert set(found) == {
        "id", "miss_reason", "rank", "candidates", "score", "cutoff_score", "cutoff_rank", "reason", "required_budget",
        "failed_filters", "shortfall", "sentence",
    }  # fmt: skip
    assert (found["id"], found["miss_reason"], found["required_budget"]) == ("b", "below_cutoff", None)
    assert (found["rank"], found["candidates"]) == (2, 2)
    assert found["cutoff_score"] > found["score"]
    assert all(part["value"] > 0 and part["feature"] for part in found["shortfall"])
    assert [one["kind"] for one in answer("history", "b")["accesses"]] == ["encoded"]


@pytest.mark.usefixtures("told")
def test_why_not_of_what_is_not_there_exits_with_three() -> None:
    result = ecphora("why-not", "Porto", "no\x1bbody")
    assert result.exit_code == 3
    assert result.stdout.startswith("There is no memory 'no")
    assert "\x1b" not in result.stdout
    assert answer("why-not", "Porto", "nobody", code=3)["miss_reason"] == "not_found"


# ---- forget


@pytest.mark.usefixtures("told")
def test_forget_by_id_erases_and_tells_what_is_missing() -> None:
    assert answer("forget", "a", "nobody", code=3) == {
        "episode_ids": ["a"],
        "entity_ids": ["entity:ana", "entity:porto"],
        "missing_ids": ["nobody"],
    }
    assert ecphora("history", "a").exit_code == 3
    assert answer("history", "a", code=3) is None


@pytest.mark.usefixtures("told")
def test_forget_by_options_asks_first() -> None:
    refused = ecphora("forget", "--speaker", "Bo")
    assert refused.exit_code == 2
    assert "1 memories" in refused.stderr
    assert "--yes" in refused.stderr
    assert answer("forget", "--speaker", "Bo", "--yes")["episode_ids"] == ["b"]
    assert ecphora("forget", "--speaker", "Bo", "--yes").stdout.startswith("erased 0 memories")
    assert ecphora("forget").exit_code == 2
    assert ecphora("forget", "a", "--speaker", "Ana").exit_code == 2


# ---- export, import, scopes, reembed, doctor


@pytest.mark.usefixtures("told")
def test_export_and_import_go_round() -> None:
    out = ecphora("export").stdout
    assert json.loads(out.splitlines()[0])["ecphora"] == 2
    assert answer("export", "all.jsonl", "--vectors")["vectors"] == 2
    if os.name != "nt":
        assert Path("all.jsonl").stat().st_mode & 0o077 == 0
    assert answer("import", "all.jsonl", "--db", "copy.db", "--scope", "ana")["nodes"] > 2
    again = ecphora("import", "-", "--db", "copy.db", "--scope", "ana", stdin=out)
    assert again.stdout.startswith("imported 0 nodes")
    assert ecphora("export", "--db", "copy.db", "--scope", "ana").stdout.splitlines()[1:] == out.splitlines()[1:]
    found = answer("scopes", "--db", "copy.db")
    assert [(scope["name"], scope["episodes"], scope["embedder"]) for scope in found] == [("ana", 2, "hashing/256")]
    assert "ana" in ecphora("scopes", "--db", "copy.db").stdout


def test_an_import_that_cannot_be_read_is_one_line() -> None:
    Path("bad.jsonl").write_text('{"ecphora": 1}\n{"node": {}}\n')
    result = ecphora("import", "bad.jsonl")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: line 2: id is missing\n"
    Path("bad.jsonl").write_bytes(b"\xff\xfe")
    assert "UTF-8" in ecphora("import", "bad.jsonl").stderr
    assert ecphora("import", "none.jsonl").exit_code == 1


@pytest.mark.usefixtures("told")
def test_the_scopes_own_embedder_is_used_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ECPHORA_EMBEDDER")
    assert answer("recall", "Porto")["hits"][0]["id"] == "a"
    result = ecphora("recall", "Porto", "--embedder", "minilm")
    assert result.exit_code == 1
    assert "hashing/256" in result.stderr


@pytest.mark.usefixtures("told")
def test_reembed_changes_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer("reembed", "--embedder", "hashing:32") == {"reembedded_count": 2}
    monkeypatch.delenv("ECPHORA_EMBEDDER")
    assert answer("scopes")[0]["embedder"] == "hashing/32"
    assert answer("recall", "Porto")["hits"][0]["id"] == "a"
    assert ecphora("reembed").exit_code == 2


@pytest.mark.usefixtures("told")
def test_reembed_cuts_long_texts_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "# Lock\n\n" + "It rains. " * 90 + "\n\n## Ropes\n\n" + "Bring one. " * 80
    (tmp_path / "manual.md").write_text(text, encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(documents, "split_into_chunks", lambda text, **_: (Chunk(0, text[:700]), Chunk(700, text[700:])))
        answer("remember", "--file", str(tmp_path / "manual.md"))
    monkeypatch.delenv("ECPHORA_EMBEDDER")  # the scope's own is taken
    assert answer("reembed", "--rechunk") == {"rechunked_count": 1}
    hit = answer("recall", "ropes")["hits"][0]
    assert (hit["heading"], text[hit["start"] :][: len(hit["text"])]) == ("Lock > Ropes", hit["text"])
    assert "Lock > Ropes" in ecphora("recall", "ropes").stdout
    assert "0 memories got other chunks" in ecphora("reembed", "--rechunk").stdout
    both = answer("reembed", "--rechunk", "--embedder", "hashing:32")
    assert (both["reembedded_count"] > 3, both["rechunked_count"]) == (True, 0)


@pytest.mark.usefixtures("told")
def test_doctor_finds_mends_and_exits() -> None:
    assert answer("doctor")["is_healthy"]
    assert "healthy" in ecphora("doctor").stdout
    Path("ecphora.db").write_bytes(b"broken" * 1000)
    result = ecphora("doctor")
    assert result.exit_code == 1
    assert "error" in result.stdout
    assert answer("doctor", code=1)["findings"][0]["severity"] == "error"


# ---- errors and exit codes


@pytest.mark.parametrize(
    "command", [["recall", "x"], ["history", "x"], ["forget", "x"], ["export"], ["scopes"], ["doctor"]]
)
def test_reading_what_is_not_there_makes_no_file(command: list[str]) -> None:
    result = ecphora(*command)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: there is no memory at ecphora.db")
    assert not Path("ecphora.db").exists()


@pytest.mark.usefixtures("told")
def test_an_unknown_scope_is_told_with_those_there_are() -> None:
    result = ecphora("recall", "Porto", "--scope", "nobody")
    assert result.exit_code == 1
    assert "it holds 'default'" in result.stderr


def test_with_json_an_error_is_json_on_stderr() -> None:
    result = ecphora("recall", "x", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(result.stderr)["error"]["type"] == "StoreReadOnly"


def test_usage_errors_exit_with_two() -> None:
    for args in (["nonsense"], ["recall"], ["recall", "x", "--limit", "0"], ["remember", "x", "--metadata", "novalue"]):
        assert ecphora(*args).exit_code == 2
    assert ecphora("remember", "x", "--jsonl").exit_code == 2


def test_an_unexpected_error_is_a_line_unless_a_traceback_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("oh")

    monkeypatch.setattr("ecphora.settings.load", broken)
    result = ecphora("scopes")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: KeyError: 'oh' (unexpected")
    assert isinstance(ecphora("--traceback", "scopes").exception, KeyError)


def test_an_interrupt_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ecphora.settings.load", interrupted)
    result = ecphora("scopes")
    assert result.exit_code == 130
    assert "Traceback" not in result.output


# ---- help


def commands() -> list[tuple[str, click.Command]]:
    lazy = {str(command.name): command for command in (ask, chat, *COMMANDS)}
    loaded = {**main.commands, **lazy}  # the others are reached only through bench
    return [(name, command) for name, command in loaded.items() if name not in {"bench", "learn"}]


@pytest.mark.parametrize(("name", "command"), commands())
def test_every_command_and_option_has_help(name: str, command: click.Command) -> None:
    assert command.help
    for param in command.params:
        assert isinstance(param, click.Argument) or getattr(param, "help", None), f"{name} {param.name}"
    assert ecphora(name, "--help").exit_code == 0


@pytest.mark.parametrize(("name", "command"), commands())
def test_every_command_but_the_demo_has_the_common_options(name: str, command: click.Command) -> None:
    names = {param.name for param in command.params}
    assert {"db", "embedder", "as_json"} <= names
    assert name == "demo" or "scope" in names


OLD_COMMANDS = {"changes", "faded", "protect", "open"}
OLD_OPTIONS = {
    "--anew", "--at", "--at-once", "--into", "--meta", "--no-touch", "--off", "--quick", "--resegment", "--tokens",
}  # fmt: skip


def every_command(group: click.Group = main, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that call it, loaded where it is lazy."""
    for name, command in group.commands.items():
        loaded = command
        if isinstance(command, _LazyCommand):
            loaded = getattr(import_module(command.module, "ecphora.cli"), name)
        yield f"{path} {name}".strip(), loaded
        if isinstance(loaded, click.Group):
            yield from every_command(loaded, name)


def test_no_command_or_option_has_an_old_name() -> None:
    for path, command in every_command():
        assert path.split()[-1] not in OLD_COMMANDS, path
        kept = {"--tokens"} if path == "consolidate" else set()  # a limit of what the language model reads and writes
        options = {word for param in command.params for word in (*param.opts, *param.secondary_opts)}
        assert not options & (OLD_OPTIONS - kept), path


def test_an_old_option_is_an_unknown_one() -> None:
    result = ecphora("recall", "Porto", "--tokens", "5")
    assert result.exit_code == 2
    assert "No such option" in result.stderr


def test_bench_is_reached() -> None:
    result = ecphora("bench", "--help")
    assert result.exit_code == 0
    assert "recall" in result.stdout


# ---- real processes


def test_help_loads_nothing_heavy() -> None:
    code = "import sys; from ecphora.cli.main import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "rich", "apsw", "onnxruntime"} & set(done.stdout.split())


def test_a_recall_loads_only_what_it_needs() -> None:
    ecphora("remember", "Ana moved to Porto.")
    code = "import sys; from ecphora.cli.main import main; main(['recall', 'Where is Ana?'], standalone_mode=False)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Ana moved to Porto." in done.stdout
    loaded = set(done.stderr.split())
    assert {"ecphora.memory", "ecphora.cli.render", "ecphora.strategies.fused"} <= loaded
    others = {f"ecphora.strategies.{name}" for name in ("baselines", "ecphory", "eisa", "synapse", "synaptic", "weave")}
    rooms = ("bench", "cli.consolidation", "cli.demo", "consolidation", "doctor", "interchange", "learn", "llms")
    foreign = ("importlib.metadata", "onnxruntime", "rich.progress", "tokenizers", "tomllib")
    assert not loaded & {*others, *(f"ecphora.{room}" for room in rooms), *foreign}


@pytest.mark.parametrize(
    "args",
    [
        [b"caf\xe9"],
        pytest.param([b"x", b"--id", b"\xff"], marks=pytest.mark.slow),
        pytest.param([b"x", b"--db", b"\xff.db"], marks=pytest.mark.slow),
    ],
    ids=ascii,
)
def test_a_lone_surrogate_in_the_arguments_is_an_error_not_a_crash(args: list[bytes]) -> None:
    if os.name == "nt":
        pytest.skip("arguments are UTF-16 there")
    done = subprocess.run([str(ECPHORA).encode(), b"remember", *args], capture_output=True, check=False)
    assert done.returncode in ((0, 1) if b"--db" in args else (1,)), args
    assert b"Traceback" not in done.stderr
    assert done.stderr.startswith(b"error: ") or done.returncode == 0


def test_a_reader_that_leaves_is_not_an_error() -> None:
    ecphora("remember", "--lines", stdin="\n".join(f"Text number {n} about Porto." for n in range(600)))
    process = subprocess.Popen([ECPHORA, "export"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    process.wait(60)
    assert process.stderr.read() == b""
    process.stderr.close()


def test_what_a_recall_touched_is_logged_before_the_file_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_stdout_stays_clean_in_a_pipe_and_without_unicode() -> None:
    ecphora("remember", "One in Porto.")
    plain = run("recall", "Porto", NO_COLOR="1", PYTHONIOENCODING="ascii")
    assert plain.returncode in {0, 3}
    assert b"One in Porto." in plain.stdout


@pytest.mark.slow
def test_json_stays_clean_in_a_pipe_and_without_unicode() -> None:
    done = run("remember", "--json", "--lines", stdin=b"One in Porto.\nTwo.\n" * 20)
    assert len(json.loads(done.stdout)["created"]) == 2
    assert done.stderr == b""
    json.loads(run("recall", "Porto é", "--json", PYTHONIOENCODING="ascii").stdout)


# ---- strategies


def test_what_a_strategy_writes_is_written_from_the_command_line_too() -> None:
    for name in ("fused", "synaptic-faithful"):
        ecphora("remember", "--id", f"a {name}", "--scope", name, "--strategy", name, "The boat is called Zebulon.")
        ecphora("remember", "--id", f"b {name}", "--scope", name, "--strategy", name, "The boat called Zebulon leaks.")
    kinds = {
        name: [one["kind"] for one in answer("history", f"a {name}", "--scope", name)["accesses"]]
        for name in ("fused", "synaptic-faithful")
    }
    assert kinds == {"fused": ["encoded"], "synaptic-faithful": ["encoded", "stimulated"]}


def test_a_strategy_can_be_set_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPHORA_STRATEGY", "weave")
    ecphora("remember", "The boat is called Zebulon.")
    assert answer("recall", "Zebulon")["strategy"] == "weave"
    assert answer("recall", "Zebulon", "--strategy", "dense")["strategy"] == "dense"
    monkeypatch.setenv("ECPHORA_STRATEGY", "weaver")
    refused = ecphora("recall", "Zebulon")
    assert refused.exit_code == 1
    assert "choose one of fused, synaptic" in refused.stderr


# ---- settings


def test_options_come_before_the_environment_before_the_file(tmp_path: Path) -> None:
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
def test_a_settings_file_that_means_nothing_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "ecphora.toml").write_text(text)
    with pytest.raises(InvalidInput, match=message):
        load({}, tmp_path)
    with pytest.raises(InvalidInput, match="ECPHORA_CONFIG"):
        load({"ECPHORA_CONFIG": "none.toml"}, tmp_path)
    assert ecphora("scopes").exit_code == 1


def test_embedders_by_setting_and_by_name() -> None:
    def name(setting: str | None, stored: str | None = None) -> str:
        return Settings(embedder=setting, openai_base_url="http://localhost:1").make_embedder(stored).name

    assert name("hashing") == name(None, "hashing/256") == "hashing/256"
    assert name("minilm") == name(None) == name(None, "all-MiniLM-L6-v2/int8")
    assert name("openai:m") == name("openai:m", "m@openai") == "m@openai"
    assert name("sentence-transformers:org/m") == "org/m@sentence-transformers"
    for setting, stored in (("nonsense", None), ("openai:", None), ("hashing:x", None), (None, "someone's/own")):
        with pytest.raises(UnknownName):
            name(setting, stored)
    assert issubclass(UnknownName, EcphoraError)


def test_the_progress_bar_is_not_shown_to_pipes() -> None:
    assert ecphora("remember", "--lines", stdin="\n".join(f"Text {n}" for n in range(40))).stderr == ""
    assert io.StringIO().isatty() is False
