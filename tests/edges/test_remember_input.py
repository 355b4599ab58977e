"""``remember`` takes JSON Lines with fields of other names, and says when a file looks like an exported chat."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora.cli.main import main

pytestmark = pytest.mark.usefixtures("clean_environment")

LINE = json.dumps({"message": "Ana moved to Porto.", "user": "Ana", "score": 3, "metadata": {"by": "hand"}})
MAPPING = ("--field", "message=text", "--field", "user=speaker")
CHATS = {
    "brackets": "[12.03.24, 18:22:11] Ana: Hello\n[12.03.24, 18:23:11] Bo: Hi\n[13.03.24, 09:01:00] Ana: Well?\n",
    "dashes": "12/03/2024, 6:22 PM - Ana: Hello\n12/03/2024, 6:23 PM - Bo: Hi\n13/03/2024, 9:01 AM - Ana: Well?\n",
}


def ecphora(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin)


def remember(*args: str) -> dict[str, Any]:
    result = ecphora("remember", "--jsonl", *args, "--json", stdin=LINE)
    assert result.exit_code == 0, result.output
    (id_,) = json.loads(result.stdout)["created"]
    node: dict[str, Any] = json.loads(ecphora("history", id_, "--json").stdout)["node"]
    return node


@pytest.mark.medium
@pytest.mark.parametrize(("others", "metadata"), [("skip", {"by": "hand"}), ("metadata", {"by": "hand", "score": 3})])
def test_fields_of_other_names_are_mapped_skipped_or_kept(others: str, metadata: dict[str, object]) -> None:
    node = remember(*MAPPING, "--other-fields", others)
    assert (node["text"], node["speaker"], node["metadata"]) == ("Ana moved to Porto.", "Ana", metadata)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (MAPPING, "line 1: there is no field 'score'; there are text, id,"),
        (MAPPING, "name it with --field, or give --other-fields skip or metadata"),
        (("--field", "message=body"), "--field names body; a memory has text"),
        ((*MAPPING, "--field", "score=text"), "line 1: 'score' and another field both are the text"),
    ],
)
def test_error_names_the_field_and_the_mend(args: tuple[str, ...], message: str) -> None:
    result = ecphora("remember", "--jsonl", *args, stdin=LINE)
    assert result.exit_code == 1
    assert message in result.stderr


def test_field_options_need_json_lines() -> None:
    result = ecphora("remember", "A text.", *MAPPING)
    assert result.exit_code == 2
    assert "add --jsonl" in result.stderr


@pytest.mark.medium
@pytest.mark.parametrize("name", CHATS)
def test_exported_chat_is_told(name: str, tmp_path: Path) -> None:
    file = tmp_path / "chat.txt"
    file.write_text(CHATS[name], "utf-8")
    result = ecphora("remember", "--file", str(file), "--embedder", "hashing")
    assert "chat.txt looks like an exported chat, and becomes one memory" in result.stderr


@pytest.mark.medium
def test_notes_with_dates_are_no_chat(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("2024-03-12 Walked.\n2024-03-13 18:00 Swam.\nTo buy: milk\n12.03.2024: Ana called.\n", "utf-8")
    assert "chat" not in ecphora("remember", "--file", str(file), "--embedder", "hashing").stderr


@pytest.mark.parametrize("command", [("recall", "x", "--db"), ("export", "--db")])
def test_path_that_is_too_long_is_named_with_the_mend(command: tuple[str, ...], tmp_path: Path) -> None:
    place = str(tmp_path / ("a" * 300) / "memory.db")
    result = ecphora(*command, place, *(("out.jsonl",) if command[0] == "export" else ()))
    assert result.exit_code == 1
    assert "the name is too long; give a shorter path" in result.stderr
    assert "Errno" not in result.stderr
