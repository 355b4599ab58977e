"""The input of ``ecphora remember``: arguments, files, folders, patterns, and prose from stdin."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora import Memory
from ecphora.cli.main import main
from ecphora.model.types import Node
from ecphora.models.embedders.hashing import HashingEmbedder

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with notes in it."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("ECPHORA_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write("notes/a.md", "# Porto\n\nAna moved\nto Porto.\n")
    write("notes/sub/b.TXT", "Bo likes rain.")
    write("notes/.hidden/c.md", "Hidden.")
    write("notes/empty.txt", " \n")
    Path("notes/d.png").write_bytes(PNG)
    return tmp_path


def write(path: str, text: str | bytes, *, day: int = 3) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    time = datetime(2024, 5, day, 12, tzinfo=UTC).timestamp()
    os.utime(file, (time, time))
    return file


def ecphora(*args: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin)


def answer(*args: str) -> Any:
    result = ecphora(*args, "--json")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return json.loads(result.stdout)


def stored_memories() -> list[Node]:
    """Every memory, long ones reassembled."""
    with Memory("ecphora.db", embedder=HashingEmbedder()) as memory:
        graph = memory.graph()
        ids = dict.fromkeys(graph.id(row).partition("#")[0] for row in graph.episodes.nonzero()[0].tolist())
        return [node for node in map(memory.get, ids) if node is not None]


# ---- arguments


@pytest.mark.parametrize("name", ["notes/a.md", "notes", "./notes/a.md", "~/notes/a.md", "ABSOLUTE"])
def test_argument_that_names_a_file_is_an_error(name: str, folder: Path) -> None:
    name = str(folder / "notes" / "a.md") if name == "ABSOLUTE" else name
    result = ecphora("remember", "A text.", name)
    assert (result.exit_code, result.stdout) == (2, "")
    message = " ".join(result.stderr.split())
    assert repr(name) in message
    assert "--file" in message
    assert "--text" in message
    assert not Path("ecphora.db").exists()


def test_text_option_remembers_names_of_files_as_texts() -> None:
    assert ecphora("remember", "--text", "notes/a.md", "--text", "notes", "More.").exit_code == 0
    assert {node.text for node in stored_memories()} == {"notes/a.md", "notes", "More."}


@pytest.mark.parametrize("text", ["No file.", "x" * 5_000, "~nobody-of-that-name", "a\nb", "notes.", "*"])
def test_other_arguments_are_texts(text: str) -> None:
    assert ecphora("remember", text).exit_code == 0
    assert [node.text for node in stored_memories()] == [text]


@pytest.mark.parametrize(
    "args",
    [
        ["--file", "notes/a.md", "A text."],
        ["--file", "notes/a.md", "--text", "A text."],
        ["--file", "notes/a.md", "--whole"],
        ["--recursive"],
        ["--lines", "A text."],
        ["--lines", "--whole"],
        ["--jsonl", "--lines", "-"],
    ],
)
def test_conflicting_options_are_usage_errors(args: list[str]) -> None:
    result = ecphora("remember", *args, stdin="x")
    assert (result.exit_code, result.stdout) == (2, "")
    assert not Path("ecphora.db").exists()


# ---- files


def test_file_becomes_one_memory_with_path_title_and_time() -> None:
    assert answer("remember", "--file", "notes/a.md", "--speaker", "Ana")["created"]
    (node,) = stored_memories()
    assert node.text == "# Porto\n\nAna moved\nto Porto.\n"
    assert (node.source, node.title, node.speaker, node.session) == ("notes/a.md", "a.md", "Ana", None)
    assert node.happened_at == datetime(2024, 5, 3, 12, tzinfo=UTC)


def test_options_override_the_fields_of_a_file() -> None:
    options = [
        "--happened-at",
        "2020-01-01",
        "--title",
        "T",
        "--source",
        "S",
        "--session",
        "s",
        "--id",
        "mine",
        "--metadata",
        "n=1",
    ]
    assert answer("remember", "--file", "notes/a.md", *options)["created"] == ["mine"]
    (node,) = stored_memories()
    assert (node.title, node.source, node.session, node.happened_at.year) == ("T", "S", "s", 2020)
    assert node.metadata == {"n": 1}


@pytest.mark.medium
def test_file_with_equal_text_exists_and_changed_text_is_new() -> None:
    first = answer("remember", "--file", "notes/a.md")
    write("notes/a.md", "# Porto\r\n\r\nAna moved\r\nto Porto.\r\n", day=9)
    again = answer("remember", "--file", "notes/a.md")
    assert (again["existing"], again["created"]) == (first["created"], [])
    assert stored_memories()[0].happened_at.day == 3
    write("notes/a.md", "Ana moved to Rome.", day=10)
    assert len(answer("remember", "--file", "notes/a.md")["created"]) == 1
    assert ecphora("forget", first["created"][0]).exit_code == 0
    write("notes/a.md", "# Porto\n\nAna moved\nto Porto.\n", day=11)
    assert answer("remember", "--file", "notes/a.md")["blocked"] == first["created"]


@pytest.mark.parametrize(
    "args",
    [
        ["--file", "notes", "--recursive"],
        ["--file", "~/notes", "--recursive"],
        ["--file", "notes/**/*"],
        ["--file", "notes/*", "--recursive"],
        ["--file", "notes/a.md", "--file", "notes/sub/*.TXT", "--file", "notes/?.md"],
    ],
)
def test_folders_and_patterns_are_searched_for_texts(args: list[str]) -> None:
    result = ecphora("remember", *args)
    assert (result.exit_code, result.stdout) == (0, "2 remembered\n"), result.stderr
    assert [Path(str(node.source)).name for node in stored_memories()] == ["a.md", "b.TXT"]


def test_skipped_files_are_counted_on_stderr() -> None:
    result = ecphora("remember", "--file", "notes", "--recursive")
    assert "other kinds: 1; --file reads files named .md" in result.stderr
    assert "empty files: 1" in result.stderr


def test_folder_without_recursive_is_an_error() -> None:
    result = ecphora("remember", "--file", "notes")
    assert result.exit_code == 1
    assert "add --recursive" in result.stderr


@pytest.mark.medium
def test_links_in_a_folder_are_not_followed(folder: Path) -> None:
    secret = write("outside/secret.md", "A secret.")
    try:
        Path("notes/link.md").symlink_to(folder / secret)
        Path("notes/round").symlink_to(folder / "notes", target_is_directory=True)
    except OSError:
        pytest.skip("no links here")
    for args in (["notes", "--recursive"], ["notes/**/*"], ["notes/*", "--recursive"]):
        assert ecphora("remember", "--file", *args).exit_code == 0
    assert len(stored_memories()) == 2
    assert ecphora("remember", "--file", "notes/link.md").exit_code == 0, "named explicitly"


def test_existing_file_name_with_pattern_characters_is_a_name() -> None:
    write("notes/[1]*.md", "One.")
    write("notes/1x.md", "Two.")
    assert ecphora("remember", "--file", "notes/[1]*.md").exit_code == 0
    assert [node.text for node in stored_memories()] == ["One."]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.png", PNG, "'d.png' is of another kind: --file reads files named .md, .markdown, .txt, .text"),
        ("noname", b"text", "'noname' is of another kind"),
        ("latin.txt", b"caf\xe9", "latin.txt is not UTF-8 at byte 3"),
        ("zero.txt", b"a\0b", "zero.txt is not a text"),
        ("empty.md", b"\n", "empty.md: no text in it"),
        ("long.md", b"x" * 1_000_001, "long.md: a text of 1,000,001 characters is too long"),
        ("vast.md", b"x" * 4_000_001, "vast.md has 4,000,001 bytes"),
        ("none.md", None, "there is no file 'none.md'"),
        ("none*.md", None, "no file matches 'none*.md'"),
        ("a**b.md", None, "a**b.md"),
    ],
)
def test_unreadable_file_is_named_and_nothing_is_written(name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    other_options = ["--file", "notes/a.md"] if content != b"\n" else []
    result = ecphora("remember", *other_options, "--file", name)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("ecphora.db").exists()


def test_file_without_permission_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", deny)
    result = ecphora("remember", "--file", "notes", "--recursive")
    assert result.exit_code == 1
    assert "a.md cannot be read (Permission denied); nothing was remembered" in result.stderr
    assert not Path("ecphora.db").exists()


def test_one_id_for_several_files_is_an_error() -> None:
    result = ecphora("remember", "--file", "notes", "--recursive", "--id", "x")
    assert result.exit_code == 1
    assert "one id, 'x', for 2 texts" in result.stderr


# ---- stdin


def test_stdin_is_split_into_paragraphs() -> None:
    prose = "Ana moved\nto Porto.\n\nTo buy:\n- milk\n- bread\n"
    assert ecphora("remember", stdin=prose).stdout == "2 remembered\n"
    assert [node.text for node in stored_memories()] == ["Ana moved to Porto.", "To buy:\n- milk\n- bread"]
