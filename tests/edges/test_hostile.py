"""A memory with control characters: no command prints them to the terminal, and JSON returns them unchanged."""

import ast
import json
import os
import re
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ecphora import Memory, RecallOptions
from ecphora.cli.main import main
from ecphora.models.embedders.hashing import HashingEmbedder

pytestmark = pytest.mark.medium

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
DIRT = f"\x1b[31m\x1b]0;title\x07\x9b2J\x7f\u202e\u2066\u200b{TAGS}\rspoof: 1\nspoof: 2\u2028spoof: 3"
FAMILY, SCOTLAND, KEYCAP = (
    "👨\u200d👩\u200d👧",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "1\ufe0f\u20e3",
)
KEPT = f"{FAMILY} {SCOTLAND} {KEYCAP}"
OLD, NEW, SEA = f"old{DIRT}", f"new{DIRT}", f"sea{DIRT}"
SCOPE = f"scope{DIRT}"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2066-\u2069]")

COMMANDS: dict[str, list[str]] = {
    "remember": ["remember", "--id", f"third{DIRT}", "--text", f"It rains.{DIRT}"],
    "remember collision": ["remember", "--id", OLD, "--text", "Another text."],
    "remember refused": ["remember", "--id", f"gone{DIRT}", "--text", "Gone."],
    "remember file": ["remember", f"file{DIRT}"],
    "remember no file": ["remember", "--file", f"none{DIRT}"],
    "supersedes": ["remember", "--supersedes", f"nobody{DIRT}", "--text", "x"],
    "recall": ["recall", "Where does Ana live?"],
    "recall explain": ["recall", f"Where does Ana live?{DIRT}", "--explain"],
    "recall bare": ["recall", "Where does Ana live?", "--no-explain"],
    "why-not": ["why-not", "Where does Ana live?", OLD, "--limit", "1"],
    "why-not absent": ["why-not", "Where does Ana live?", f"nobody{DIRT}"],
    "forget": ["forget", OLD, f"nobody{DIRT}"],
    "forget chosen": ["forget", "--speaker", f"Bo{DIRT}", "--yes"],
    "forget unasked": ["forget", "--speaker", f"Bo{DIRT}"],
    "history": ["history", SEA],
    "history absent": ["history", f"nobody{DIRT}"],
    "scopes": ["scopes"],
    "no such scope": ["recall", "x", "--scope", f"nobody{DIRT}"],
    "no such file": ["scopes", "--db", f"nobody{DIRT}"],
    "doctor": ["doctor"],
    "ask": ["ask", "Where does Ana live?"],
    "ask prompt": ["ask", "Where does Ana live?", "--show-prompt"],
    "consolidate": ["consolidate"],
    "updates": ["updates"],
    "reject": ["reject", OLD, NEW],
    "reject nothing": ["reject", NEW, OLD],
    "undo": ["undo"],
    "undo nothing": ["undo", f"night{DIRT}"],
    "insights": ["insights"],
    "decayed": ["decayed"],
    "pin": ["pin", OLD, NEW],
    "pin absent": ["pin", f"nobody{DIRT}"],
    "unpin": ["unpin", OLD],
    "archive": ["archive", OLD],
    "unarchive": ["unarchive", OLD],
    "export": ["export"],
    "reembed": ["reembed", "--embedder", "hashing:32"],
    "rechunk": ["reembed", "--rechunk"],
    "wrong option": ["recall", "x", f"--none{DIRT}"],
    "wrong value": ["recall", "x", "--limit", f"1{DIRT}"],
    "wrong argument": ["scopes", f"more{DIRT}"],
    "wrong strategy": ["recall", "x", "--strategy", f"x{DIRT}"],
    "wrong embedder": ["recall", "x", "--embedder", f"x{DIRT}"],
    "wrong date": ["recall", "x", "--after", f"x{DIRT}"],
    "wrong command": [f"none{DIRT}"],
}


@pytest.fixture(scope="module")
def template_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the memory and a file, made once per module."""
    folder = tmp_path_factory.mktemp("hostile")
    options = [
        "--metadata",
        f"k{DIRT}=v{DIRT}",
        "--source",
        f"s{DIRT}",
        "--session",
        f"s{DIRT}",
        "--title",
        f"Home {KEPT}{DIRT}",
    ]
    with pytest.MonkeyPatch.context() as patch:
        set_environment(patch, folder)
        for id_, day, text in ((OLD, "2026-01-05", "I live in Lisbon."), (NEW, "2026-05-03", "I moved to Porto.")):
            ecphora(
                "remember", *options, "--id", id_, "--speaker", "Ana", "--happened-at", day, "--text", f"{text} {KEPT}"
            )
        fields = ["--id", SEA, "--speaker", f"Bo{DIRT}", "--text", f"Ana swims in the sea at Porto. {KEPT}{DIRT}"]
        ecphora("remember", *options, *fields)
        ecphora("remember", "--id", f"gone{DIRT}", "--text", "Gone.")
        ecphora("forget", f"gone{DIRT}")
        assert "1 updated fact" in ecphora("consolidate").stdout
    if os.name != "nt":
        (folder / f"file{DIRT}").write_text("x")
    return folder


@pytest.fixture(autouse=True)
def working_folder(template_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of that folder as working folder."""
    shutil.copytree(template_folder, tmp_path, dirs_exist_ok=True)
    set_environment(monkeypatch, tmp_path)


def set_environment(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.chdir(folder)
    for name in list(os.environ):
        if name.startswith(("ECPHORA_", "OPENAI_")):
            patch.delenv(name)
    patch.setenv("ECPHORA_EMBEDDER", "hashing")
    patch.setenv("ECPHORA_SCOPE", SCOPE)
    patch.setenv("COLUMNS", "1000")  # wide, since lines that a terminal wraps are not lines of the text


def ecphora(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin)


def without_valid_emoji(text: str) -> str:
    return text.replace(FAMILY, "").replace(SCOTLAND, "").replace(KEYCAP, "")


def assert_harmless(text: str) -> None:
    rest = without_valid_emoji(text)
    assert STEERING.findall(rest) == []
    assert [letter for letter in rest if "\U000e0000" <= letter <= "\U000e0fff"] == []


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
def test_commands_print_no_control_characters(command: list[str]) -> None:
    result = ecphora(*command)
    assert result.exit_code in {0, 1, 2, 3, 4}
    assert "Traceback" not in result.output
    assert "(unexpected: " not in result.output
    assert_harmless(result.stdout)
    assert_harmless(result.stderr)
    if command[0] not in {"ask", "recall", "export"}:  # these print texts, which may have several lines
        assert not re.search("^spoof", result.output, re.MULTILINE), "an id, a name or a message has one line"


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
def test_json_output_escapes_control_characters(command: list[str]) -> None:
    result = ecphora(*command, "--json")
    assert_harmless(result.stdout)
    assert_harmless(result.stderr)
    for line in result.stdout.splitlines():
        json.loads(line)


def test_json_output_returns_every_field_exactly() -> None:
    node = json.loads(ecphora("history", SEA, "--json").stdout)["node"]
    assert (node["id"], node["speaker"], node["source"], node["session"], node["title"], node["text"]) == (
        SEA, f"Bo{DIRT}", f"s{DIRT}", f"s{DIRT}", f"Home {KEPT}{DIRT}", f"Ana swims in the sea at Porto. {KEPT}{DIRT}",
    )  # fmt: skip
    assert node["metadata"] == {f"k{DIRT}": f"v{DIRT}"}
    assert [scope["name"] for scope in json.loads(ecphora("scopes", "--json").stdout)] == [SCOPE]
    out = ecphora("export").stdout
    assert ecphora("import", "-", "--db", "copy.db", stdin=out).exit_code == 0
    assert ecphora("export", "--db", "copy.db").stdout.splitlines()[1:] == out.splitlines()[1:]


@pytest.mark.parametrize(
    "command", [["recall", "Where does Ana live?"], ["history", OLD], ["updates"], ["ask", "Ana?"]]
)
def test_valid_emoji_are_printed(command: list[str]) -> None:
    shown = ecphora(*command).stdout
    assert all(emoji in shown for emoji in (FAMILY, SCOTLAND, KEYCAP))


def test_printed_recollection_has_no_control_characters() -> None:
    with Memory("ecphora.db", scope=SCOPE, embedder=HashingEmbedder()) as memory:
        found = memory.recall(f"Where does Ana live?{DIRT}", options=RecallOptions(log_access=False))
        reasons = sum(bool(hit.reason) for hit in found)
    assert len(str(found).splitlines()) == 1 + len(found) + reasons
    for shown in (str(found), found._repr_html_(), repr(found), repr(found[0])):
        assert_harmless(shown)
    assert all(emoji in str(found) and emoji in found._repr_html_() for emoji in (FAMILY, SCOTLAND, KEYCAP))


def test_id_in_a_suggested_command_is_quoted() -> None:
    ecphora("remember", "--id", "x; rm -rf ~", "--speaker", "Bo", "--happened-at", "2026-01-05", "I live in Lisbon.")
    ecphora("remember", "--id", "y", "--speaker", "Bo", "--happened-at", "2026-05-03", "I moved to Porto.")
    ecphora("consolidate")
    assert "ecphora reject 'x; rm -rf ~' y\n" in ecphora("updates").stdout


@pytest.mark.parametrize("module", ["main", "consolidation", "recall", "remember_input", "corrections", "demo.show"])
def test_only_the_command_context_writes_lines(module: str) -> None:
    *folders, name = module.split(".")
    source = files("ecphora.cli").joinpath(*folders, f"{name}.py").read_text(encoding="utf-8")
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    assert not {ast.unparse(call) for call in calls} & {"print", "click.echo", "click.secho", "Console"}
