"""``ecphora import`` of files of other programs: recognizes them, says what they hold, and imports them once."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora import HashingEmbedder, Memory
from ecphora.cli.main import main
from ecphora.errors import InvalidInput, UnknownName
from ecphora.maintenance.interchange import formats
from ecphora.model.ports import FormatImporter

pytestmark = pytest.mark.medium

CHAT = "31/12/25, 23:59 - Ana: I moved to Porto.\n1/1/26, 00:05 - Bo: <Media omitted>\n1/1/26, 00:06 - Bo: Nice!\n"


@pytest.fixture(autouse=True)
def clean_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder, a cheap embedder, and no settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("ECPHORA_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    monkeypatch.setenv("ECPHORA_ZONE", "Europe/Lisbon")
    Path("WhatsApp Chat with Ana.txt").write_text(CHAT, encoding="utf-8")


def ecphora(*args: str, stdin: str | None = None, code: int = 0) -> Result:
    result = CliRunner().invoke(main, args, input=stdin)
    assert result.exit_code == code, result.output
    return result


def answer(*args: str, **more: Any) -> Any:
    return json.loads(ecphora(*args, "--json", **more).stdout)


def test_file_is_recognized_described_and_imported_once() -> None:
    result = ecphora("import", "WhatsApp Chat with Ana.txt")
    assert result.stdout.splitlines() == [
        "format: whatsapp (WhatsApp, an exported chat: the .txt, its ZIP or folder)",
        "found: 2 messages in 1 conversation, 2025-12-31 23:59 to 2026-01-01 00:06",
        "speakers: Ana (1), Bo (1)",
        "speaker: the name before the colon",
        "happened_at: date and time of the message, local time of --zone",
        "session: the name of the chat, from the name of the file",
        "left out: 1 × a picture, sound, video or file (WhatsApp Chat with Ana.txt, line 2)",
        "imported 2 memories; 0 existed already, 0 were blocked because they were forgotten here",
    ]
    again = answer("import", "WhatsApp Chat with Ana.txt")
    assert (again["format"], again["created"], again["existing"]) == ("whatsapp", 0, 2)
    found = answer("find", "--order", "happened_at")["memories"]
    assert [(one["speaker"], one["session"], one["source"]) for one in found] == [
        ("Ana", "whatsapp:Ana", "whatsapp"),
        ("Bo", "whatsapp:Ana", "whatsapp"),
    ]
    assert found[0]["happened_at"] == "2025-12-31T23:59:00+00:00"


def test_dry_run_writes_nothing() -> None:
    result = ecphora("import", "WhatsApp Chat with Ana.txt", "--dry-run")
    assert "would import 2 memories; 0 existed already" in result.stdout
    assert not Path("ecphora.db").exists()
    ecphora("remember", "Hello.")
    ecphora("import", "WhatsApp Chat with Ana.txt")
    dry = answer("import", "WhatsApp Chat with Ana.txt", "--dry-run")
    assert (dry["created"], dry["existing"], dry["dry_run"]) == (0, 2, True)
    other = answer("import", "WhatsApp Chat with Ana.txt", "--dry-run", "--scope", "other")
    assert other["created"] == 2
    assert [one["name"] for one in answer("scopes")] == ["default"]


def test_dry_run_counts_what_is_there_twice_once() -> None:
    """A session of Claude Code that was resumed repeats its lines in another file."""
    line = '{"type": "user", "sessionId": "s", "uuid": "u", "message": {"content": "Hi"}}\n'
    for name in ("a.jsonl", "b.jsonl"):
        Path("sessions").mkdir(exist_ok=True)
        Path("sessions", name).write_text(line)
    dry = answer("import", "sessions", "--dry-run")
    assert (dry["messages"], dry["created"], dry["existing"]) == (2, 1, 1)
    done = answer("import", "sessions")
    assert (done["messages"], done["created"], done["existing"]) == (2, 1, 1)


def test_trust_and_user_are_options() -> None:
    ecphora("import", "WhatsApp Chat with Ana.txt", "--trust", "0.5", "--as", "Ana")
    found = answer("find", "--order", "happened_at")["memories"]
    assert [(one["speaker"], one["trust"]) for one in found] == [("user", 0.5), ("Bo", 0.5)]
    result = ecphora("import", "WhatsApp Chat with Ana.txt", "--as", "Cy")
    assert "note: nothing in the file is said by 'Cy'" in result.stderr
    assert "0 memories; 2 existed" in result.stdout, "it is the same whoever is the user"
    assert ecphora("import", "x", "--trust", "2", code=2)


def test_columns_of_a_table_are_named() -> None:
    Path("notes.csv").write_text('Body,From,Created,"Where, exactly"\nI moved.,Ana,2026-05-03 14:30,Porto\n')
    result = ecphora("import", "notes.csv", "--columns", "text=Body,time=Created,speaker=From")
    assert result.stdout.splitlines() == [
        "format: csv (CSV or TSV with a header)",
        "found: 1 message in 0 conversations, 2026-05-03 14:30 to 2026-05-03 14:30",
        "speakers: Ana (1)",
        "text: column Body",
        "speaker: column From",
        "happened_at: column Created",
        "metadata: column Where, exactly",
        "imported 1 memory; 0 existed already, 0 were blocked because they were forgotten here",
    ]
    (node,) = answer("find")["memories"]
    assert (node["text"], node["speaker"], node["happened_at"]) == ("I moved.", "Ana", "2026-05-03T14:30:00+01:00")
    quoted = answer("import", "notes.csv", "--columns", 'text=Body,"title=Where, exactly"', "--db", "b.db")
    assert quoted["created"] == 1
    assert answer("find", "--db", "b.db")["memories"][0]["title"] == "Porto"


@pytest.mark.parametrize(
    ("columns", "code", "message"),
    [
        ("text=Text", 1, "'notes.csv' has no column 'Text' for text; it has Body, From"),
        ("speaker=From", 0, "column Body"),
        ("mood=From", 1, "'mood' is no field; give some of text, speaker, time, session, title, id"),
        ("text", 2, "--columns has 'text'; give FIELD=COLUMN"),
        ("=Body", 2, "--columns has ''; give FIELD=COLUMN"),
    ],
)
def test_columns_that_cannot_be_used(columns: str, code: int, message: str) -> None:
    Path("notes.csv").write_text("Body,From\nI moved.,Ana\n")
    assert message in ecphora("import", "notes.csv", "--dry-run", "--columns", columns, code=code).output


def test_columns_are_for_tables_alone() -> None:
    wrong = ["import", "WhatsApp Chat with Ana.txt", "--columns", "text=Body"]
    assert "columns are for CSV files, not for 'whatsapp'" in ecphora(*wrong, "--format", "whatsapp", code=1).stderr
    Path("a.csv").write_text("x,y\n1,2\n")
    assert "as --columns text=NAME" in ecphora("import", "a.csv", "--format", "csv", code=1).stderr


def test_own_formats_are_recognized() -> None:
    ecphora("remember", "I moved to Porto.")
    out = ecphora("export").stdout
    ecphora("export", "all.jsonl")
    assert ecphora("import", "all.jsonl", "--db", "a.db").stdout.startswith("imported 2 nodes")
    assert ecphora("import", "-", "--db", "b.db", stdin=out).stdout.startswith("imported 2 nodes")
    graph = '{"type":"entity","name":"Ana","entityType":"person","observations":["likes rain"]}\n'
    assert ecphora("import", "-", "--db", "c.db", stdin=graph).stdout.startswith("imported 1 entity")
    for option in (["--dry-run"], ["--trust", "1"], ["--as", "Ana"], ["--columns", "text=a"]):
        for more in ([], ["--format", "ecphora"]):
            assert "are for files of other programs" in ecphora("import", "all.jsonl", *option, *more, code=2).stderr
    wrong = ["import", "WhatsApp Chat with Ana.txt", "--change-existing"]
    assert "is for exports of ecphora" in ecphora(*wrong, code=2).stderr
    assert "is for exports of ecphora" in ecphora("import", "-", "--change-existing", stdin=graph, code=2).stderr


def test_file_that_no_format_or_several_recognize_is_an_error() -> None:
    Path("notes.bin").write_bytes(b"\x00\xff")
    error = ecphora("import", "notes.bin", code=1).stderr
    assert error.startswith("error: 'notes.bin' has no known format; choose one with --format: ecphora, mcp, chatgpt, ")
    assert "there is no file 'gone.zip'" in ecphora("import", "gone.zip", code=1).stderr
    Path("both").mkdir()
    Path("both", "_chat.txt").write_text(CHAT)
    Path("both", "s.jsonl").write_text(
        '{"type": "user", "sessionId": "s", "uuid": "u", "message": {"content": "Hi"}}\n'
    )
    assert "looks like several formats: claude-code, whatsapp; choose one with --format" in (
        ecphora("import", "both", code=1).stderr
    )
    assert "imported 1 memory" in ecphora("import", "both", "--format", "claude-code").stdout
    assert not Path("notes.db").exists()


def test_broken_file_writes_nothing_at_all() -> None:
    Path("conversations.json").write_text('[{"mapping": {"a": {"children": []}}')
    assert "conversations.json ends too early" in ecphora("import", "conversations.json", code=1).stderr
    assert not Path("ecphora.db").exists()


@pytest.mark.parametrize("name", list(formats.BUILT_IN))
def test_built_in_format_describes_itself(name: str) -> None:
    found = formats.find_format(".", name)
    assert isinstance(found.importer, FormatImporter)
    assert found.importer.name == name
    assert found.title
    assert set(found.fields) <= {"speaker", "happened_at", "session", "title", "source"}
    for path in ("nowhere", ".", "WhatsApp Chat with Ana.txt"):
        assert found.importer.matches(path) in {True, False}
    with pytest.raises(InvalidInput, match="there is no file"):
        list(found.read("nowhere"))


def test_formats_are_imported_only_when_they_are_needed() -> None:
    modules = {f"ecphora.maintenance.interchange.{target.partition(':')[0]}" for target in formats.BUILT_IN.values()}
    code = f"import sys, ecphora.cli.interchange; print({modules!r} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == "set()\n"


def test_unknown_name_names_the_formats() -> None:
    with pytest.raises(UnknownName, match=r"no importer is called 'icq'; give ecphora, mcp, .* or .*, or the name of"):
        formats.find_format("x", "icq")


def test_folder_of_markdown_is_exported_and_imported(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    with Memory(tmp_path / "a.db", embedder=HashingEmbedder()) as memory:
        memory.remember("I moved to Porto.", speaker="Ana", happened_at="2026-05-03", session="s1")
        memory.remember("The rent is 700 euros.", speaker="Ana", happened_at="2026-05-04", session="s1")
    folder = tmp_path / "notes"
    written = ecphora("export", str(folder), "--format", "okf", "--db", str(tmp_path / "a.db"))
    assert written.output == f"wrote 2 memories to {folder}\n"
    assert len(list(folder.rglob("*.md"))) == 3  # and the index
    ecphora("import", str(folder), "--db", str(tmp_path / "b.db"), "--embedder", "hashing")
    with Memory(tmp_path / "b.db", embedder=HashingEmbedder()) as memory:
        found = [(node.text, node.speaker, node.session) for node in memory.find(order="happened_at")]
    assert found == [("I moved to Porto.", "Ana", "s1"), ("The rent is 700 euros.", "Ana", "s1")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-", "--format", "okf"), "--format okf writes a folder"),
        (("notes", "--format", "okf", "--vectors"), "--vectors is for exports of ecphora"),
        (("notes", "--format", "okf", "--scope", "nobody"), "no scope is called 'nobody'"),
    ],
)
def test_folder_that_cannot_be_exported(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", embedder=HashingEmbedder()) as memory:
        memory.remember("I moved to Porto.")
    result = CliRunner().invoke(main, ["export", *words, "--db", str(tmp_path / "a.db")])
    assert result.exit_code != 0
    assert message in result.output
