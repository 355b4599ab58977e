"""The commands that write a memory or a file: remember, forget, export, import, reembed, doctor."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora import Memory
from ecphora.cli.main import main
from ecphora.language.chunking import Chunk
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember import documents

pytestmark = pytest.mark.usefixtures("clean_environment")


def ecphora(*args: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin)


def answer(*args: str, stdin: str | bytes | None = None, code: int = 0) -> Any:
    result = ecphora(*args, "--json", stdin=stdin)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.mark.medium
def test_remember_reports_created_existing_and_blocked_memories() -> None:
    assert ecphora("remember", "One.", "--id", "1").stdout == "remembered: 1\n"
    assert ecphora("remember", "One.", "--id", "1").stdout == "exists already: 1\n"
    ecphora("forget", "1")
    result = ecphora("remember", "One.", "--id", "1")
    assert "blocked: 1" in result.stdout
    assert "--restore" in result.stderr
    assert ecphora("remember", "One.", "--id", "1", "--restore").stdout == "remembered: 1\n"
    assert ecphora("remember", "Two.", "Three.").stdout == "2 remembered\n"


@pytest.mark.medium
def test_remember_reads_stdin_in_four_forms() -> None:
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
        ("\nnonsense\n[]", "line 2: this is not JSON"),
        ('{"text": "x", "mood": 1}', "line 1: there is no field 'mood'"),
        ('{"speaker": "Ana"}', "line 1: a text must be a str"),
        ('{"text": "x", "happened_at": "soon"}', "line 1: 'soon' is not a date"),
        ('{"text": "\\ud800"}', "line 1: the text holds a lone surrogate"),
    ],
)
def test_remember_jsonl_without_a_good_line_names_the_first_and_writes_nothing(line: str, message: str) -> None:
    result = ecphora("remember", "--jsonl", stdin=line)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {message}")
    assert not Path("ecphora.db").exists()


def test_remember_jsonl_skips_bad_lines_and_names_them() -> None:
    lines = '{"text": "Ana sails."}\nnonsense\n{"text": "x", "mood": 1}\n{"text": "Bo sails."}\n'
    result = ecphora("remember", "--jsonl", stdin=lines)
    assert (result.exit_code, result.stdout) == (0, "2 remembered\n")
    assert result.stderr.startswith("skipped 2 lines that cannot be used: line 2: this is not JSON")
    assert "; line 3: there is no field 'mood'" in result.stderr
    again = answer("remember", "--jsonl", stdin=lines)
    assert (again["created"], again["skipped_lines"], len(again["notices"])) == ([], 2, 1)


def test_remember_rejects_stdin_that_is_not_utf8() -> None:
    result = ecphora("remember", stdin=b"caf\xe9\n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "UTF-8 at byte 3" in result.stderr


@pytest.mark.medium
def test_history_shows_the_successor_of_a_superseded_memory() -> None:
    ecphora("remember", "Ana lives in Porto.", "--id", "old", "--happened-at", "2026-01-01")
    ecphora("remember", "Ana lives in Rome.", "--id", "new", "--happened-at", "2026-02-01", "--supersedes", "old")
    found = answer("history", "old")
    assert [node["id"] for node in found["successors"]] == ["new"]
    assert found["node"]["valid_to"].startswith("2026-02-01")
    shown = ecphora("history", "old").stdout
    assert "after" in shown
    assert "held until 1 Feb 2026" in shown
    assert ecphora("remember", "x", "--supersedes", "nobody").exit_code == 1


@pytest.mark.usefixtures("two_memories")
def test_forget_erases_by_id_and_lists_missing_ids() -> None:
    assert answer("forget", "a", "nobody", code=3) == {
        "episode_ids": ["a"],
        "entity_ids": ["entity:ana", "entity:porto"],
        "exchange_ids": [],
        "notices": [],
        "missing_ids": ["nobody"],
    }
    assert ecphora("history", "a").exit_code == 3
    assert answer("history", "a", code=3) is None


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_forget_by_filter_needs_confirmation() -> None:
    result = ecphora("forget", "--speaker", "Bo")
    assert result.exit_code == 2
    assert "1 memory;" in " ".join(result.stderr.split())
    assert "--yes" in result.stderr
    assert answer("forget", "--speaker", "Bo", "--yes")["episode_ids"] == ["b"]
    assert ecphora("forget", "--speaker", "Bo", "--yes").stdout.startswith("erased 0 memories")
    assert ecphora("forget", "--speaker", "Ana", "--yes").stdout.startswith(
        "erased 1 memory and 2 names that only it mentioned\n"
    )
    assert ecphora("forget").exit_code == 2
    assert ecphora("forget", "a", "--speaker", "Ana").exit_code == 2
    assert ecphora("forget", "a", "--everything").exit_code == 2


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_forget_with_dry_run_erases_nothing() -> None:
    assert ecphora("forget", "--everything", "--dry-run").stdout.startswith("would erase 2 memories and ")
    assert answer("forget", "--speaker", "Bo", "--dry-run")["episode_ids"] == ["b"]
    assert answer("forget", "--where", '{"n": {"$gte": 1}}', "--dry-run")["episode_ids"] == ["b"]
    unasked = ecphora("forget", "--everything")
    assert unasked.exit_code == 2
    assert "this would erase 2 memories; add --yes to confirm" in " ".join(unasked.stderr.split())
    assert answer("forget", "--everything", "--yes")["episode_ids"] == ["a", "b"]


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_forget_counts_the_exchanges_that_go_with_a_memory() -> None:
    with Memory("ecphora.db", embedder=HashingEmbedder()) as memory:
        id_ = memory.record_response(memory.recall("What did Bo say?"), "He said much.")
    assert answer("forget", "b", "--dry-run")["exchange_ids"] == [id_]
    assert "would erase 1 exchange with a response that may repeat it\n" in ecphora("forget", "b", "--dry-run").stdout
    assert "erased 1 exchange with a response that may repeat them\n" in ecphora("forget", "a", "b").stdout


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_export_and_import_round_trip() -> None:
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


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
@pytest.mark.parametrize("command", ["export", "backup"])
def test_error_names_an_unwritable_output_path(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path.cwd()
    target = str(Path("none", "copy"))
    assert ecphora(command, target).stderr == (
        f"error: {target} cannot be written: there is no folder {folder / 'none'}; make it, or name another file\n"
    )
    Path("none").mkdir()
    assert ecphora(command, "none").stderr == "error: none is a folder; name a file in it\n"
    with monkeypatch.context() as patched:
        patched.setattr("ecphora.cli.context.os.access", lambda *_: False)
        result = ecphora(command, "copy")
    assert result.stderr == (
        f"error: copy cannot be written: {folder} is read-only; change its rights, or name another file\n"
    )
    assert ecphora(command, target).exit_code == 0


def test_import_error_is_one_line() -> None:
    Path("bad.jsonl").write_text('{"ecphora": 2}\n{"node": {}}\n')
    result = ecphora("import", "bad.jsonl")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: line 2: id is missing\n"
    Path("bad.jsonl").write_bytes(b"\xff\xfe")
    assert "UTF-8" in ecphora("import", "bad.jsonl", "--format", "ecphora").stderr
    assert (
        "'bad.jsonl' has no known format; choose one with --format: ecphora, mcp"
        in ecphora("import", "bad.jsonl").stderr
    )
    assert ecphora("import", "none.jsonl").exit_code == 1


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_recall_uses_the_embedder_of_the_scope_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ECPHORA_EMBEDDER")
    assert answer("recall", "Porto")["hits"][0]["id"] == "a"
    result = ecphora("recall", "Porto", "--embedder", "minilm")
    assert result.exit_code == 1
    assert "hashing/256" in result.stderr


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_reembed_changes_the_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer("reembed", "--embedder", "hashing:32") == {"reembedded_count": 2}
    monkeypatch.delenv("ECPHORA_EMBEDDER")
    assert answer("scopes")[0]["embedder"] == "hashing/32"
    assert answer("recall", "Porto")["hits"][0]["id"] == "a"
    assert answer("reembed") == {"reembedded_count": 0}  # the scope's own embedder, which has none for English


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
@pytest.mark.usefixtures("simple_weights")
def test_reembed_rechunks_long_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "# Lock\n\n" + "It rains. " * 90 + "\n\n## Ropes\n\n" + "Bring one. " * 80
    (tmp_path / "manual.md").write_text(text, encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(documents, "split_into_chunks", lambda text, **_: (Chunk(0, text[:700]), Chunk(700, text[700:])))
        answer("remember", "--file", str(tmp_path / "manual.md"))
    monkeypatch.delenv("ECPHORA_EMBEDDER")  # the scope's own embedder is used
    assert answer("reembed", "--rechunk") == {"rechunked_count": 1}
    hit = answer("recall", "ropes")["hits"][0]
    assert (hit["heading"], text[hit["start"] :][: len(hit["text"])]) == ("Lock > Ropes", hit["text"])
    assert "Lock > Ropes" in ecphora("recall", "ropes").stdout
    assert "0 memories got other chunks" in ecphora("reembed", "--rechunk").stdout
    both = answer("reembed", "--rechunk", "--embedder", "hashing:32")
    assert (both["reembedded_count"] > 3, both["rechunked_count"]) == (True, 0)


@pytest.mark.medium
@pytest.mark.usefixtures("two_memories")
def test_doctor_reports_a_broken_file_and_exits_with_1() -> None:
    assert answer("doctor")["is_healthy"]
    assert "healthy" in ecphora("doctor").stdout
    Path("ecphora.db").write_bytes(b"broken" * 1000)
    result = ecphora("doctor")
    assert result.exit_code == 1
    assert "error" in result.stdout
    assert answer("doctor", code=1)["findings"][0]["severity"] == "error"
