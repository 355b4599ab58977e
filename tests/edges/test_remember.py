"""What ``ecphora remember`` takes: arguments that are no files, files, folders, patterns, and prose from stdin."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora import Memory
from ecphora.cli.main import main
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.model import Node

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


def remembered() -> list[Node]:
    """Every memory, a long one whole."""
    with Memory("ecphora.db", embedder=HashingEmbedder()) as memory:
        graph = memory.graph()
        ids = dict.fromkeys(graph.id(row).partition("#")[0] for row in graph.episodes.nonzero()[0].tolist())
        return [node for node in map(memory.get, ids) if node is not None]


# ---- arguments


@pytest.mark.parametrize("name", ["notes/a.md", "notes", "./notes/a.md", "~/notes/a.md", "ABSOLUTE"])
def test_an_argument_that_names_a_file_is_an_error_that_offers_both(name: str, folder: Path) -> None:
    name = str(folder / "notes" / "a.md") if name == "ABSOLUTE" else name
    result = ecphora("remember", "A text.", name)
    assert (result.exit_code, result.stdout) == (2, "")
    said = " ".join(result.stderr.split())
    assert repr(name) in said
    assert "--file" in said
    assert "--text" in said
    assert not Path("ecphora.db").exists()


def test_words_that_name_a_file_are_remembered_if_said_so() -> None:
    assert ecphora("remember", "--text", "notes/a.md", "--text", "notes", "More.").exit_code == 0
    assert {node.text for node in remembered()} == {"notes/a.md", "notes", "More."}


@pytest.mark.parametrize("text", ["No file.", "x" * 5_000, "~nobody-of-that-name", "a\nb", "notes.", "*"])
def test_other_words_are_words(text: str) -> None:
    assert ecphora("remember", text).exit_code == 0
    assert [node.text for node in remembered()] == [text]


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
def test_what_does_not_go_together_is_wrong_usage(args: list[str]) -> None:
    result = ecphora("remember", *args, stdin="x")
    assert (result.exit_code, result.stdout) == (2, "")
    assert not Path("ecphora.db").exists()


# ---- files


def test_a_file_is_one_memory_with_its_path_name_and_time() -> None:
    assert answer("remember", "--file", "notes/a.md", "--speaker", "Ana")["created"]
    (node,) = remembered()
    assert node.text == "# Porto\n\nAna moved\nto Porto.\n"
    assert (node.source, node.title, node.speaker, node.session) == ("notes/a.md", "a.md", "Ana", None)
    assert node.happened_at == datetime(2024, 5, 3, 12, tzinfo=UTC)


def test_what_the_options_say_comes_before_what_the_file_says() -> None:
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
    (node,) = remembered()
    assert (node.title, node.source, node.session, node.happened_at.year) == ("T", "S", "s", 2020)
    assert node.metadata == {"n": 1}


def test_a_file_that_was_only_touched_is_known_and_one_that_changed_is_new() -> None:
    first = answer("remember", "--file", "notes/a.md")
    write("notes/a.md", "# Porto\r\n\r\nAna moved\r\nto Porto.\r\n", day=9)
    again = answer("remember", "--file", "notes/a.md")
    assert (again["existing"], again["created"]) == (first["created"], [])
    assert remembered()[0].happened_at.day == 3
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
def test_folders_and_patterns_mean_the_texts_in_them(args: list[str]) -> None:
    result = ecphora("remember", *args)
    assert (result.exit_code, result.stdout) == (0, "2 remembered\n"), result.stderr
    assert [Path(str(node.source)).name for node in remembered()] == ["a.md", "b.TXT"]


def test_what_is_left_out_of_a_folder_is_counted_on_stderr() -> None:
    result = ecphora("remember", "--file", "notes", "--recursive")
    assert "other kinds: 1; --file reads files named .md" in result.stderr
    assert "empty files: 1" in result.stderr


def test_a_folder_needs_to_be_asked_for() -> None:
    result = ecphora("remember", "--file", "notes")
    assert result.exit_code == 1
    assert "add --recursive" in result.stderr


def test_links_in_a_folder_are_not_followed(folder: Path) -> None:
    secret = write("outside/secret.md", "A secret.")
    try:
        Path("notes/link.md").symlink_to(folder / secret)
        Path("notes/round").symlink_to(folder / "notes", target_is_directory=True)
    except OSError:
        pytest.skip("no links here")
    for args in (["notes", "--recursive"], ["notes/**/*"], ["notes/*", "--recursive"]):
        assert ecphora("remember", "--file", *args).exit_code == 0
    assert len(remembered()) == 2
    assert ecphora("remember", "--file", "notes/link.md").exit_code == 0, "asked for by name"


def test_a_name_with_signs_of_a_pattern_is_a_name() -> None:
    write("notes/[1]*.md", "One.")
    write("notes/1x.md", "Two.")
    assert ecphora("remember", "--file", "notes/[1]*.md").exit_code == 0
    assert [node.text for node in remembered()] == ["One."]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.png", PNG, "'d.png' is of another kind: --file reads files named .md, .markdown, .txt, .text"),
        ("noname", b"text", "'noname' is of another kind"),
        ("latin.txt", b"caf\xe9", "latin.txt is not UTF-8 at byte 3"),
        ("zero.txt", b"a\0b", "zero.txt is no text"),
        ("empty.md", b"\n", "empty.md: no text in it"),
        ("long.md", b"x" * 1_000_001, "long.md: a text of 1,000,001 characters is too long"),
        ("vast.md", b"x" * 4_000_001, "vast.md has 4,000,001 bytes"),
        ("none.md", None, "there is no file 'none.md'"),
        ("none*.md", None, "no file matches 'none*.md'"),
        ("a**b.md", None, "a**b.md"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_nothing_is_written(
    name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    beside = ["--file", "notes/a.md"] if content != b"\n" else []
    result = ecphora("remember", *beside, "--file", name)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("ecphora.db").exists()


def test_a_file_that_may_not_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refused)
    result = ecphora("remember", "--file", "notes", "--recursive")
    assert result.exit_code == 1
    assert "a.md cannot be read (Permission denied); nothing was remembered" in result.stderr
    assert not Path("ecphora.db").exists()


def test_one_id_is_for_one_file() -> None:
    result = ecphora("remember", "--file", "notes", "--recursive", "--id", "x")
    assert result.exit_code == 1
    assert "one id, 'x', for 2 texts" in result.stderr


# ---- stdin


def test_prose_is_read_by_paragraph() -> None:
    prose = "Ana moved\nto Porto.\n\nTo buy:\n- milk\n- bread\n"
    assert ecphora("remember", stdin=prose).stdout == "2 remembered\n"
    assert [node.text for node in remembered()] == ["Ana moved to Porto.", "To buy:\n- milk\n- bread"]
