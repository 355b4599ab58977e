"""Short ids at the command line: printed short, and accepted by every command that takes an id."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora.cli.main import main

pytestmark = pytest.mark.medium

OLD, NEW, SAME_PREFIX = (f"{start:0<32}" for start in ("aaaa1111", "bbbb2222", "aaaa3333"))


@pytest.fixture(autouse=True)
def two_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two memories with ids as Ecphora makes them; the second updates the first."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("ECPHORA_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    monkeypatch.setenv("COLUMNS", "100")
    ecphora("remember", "--id", OLD, "--speaker", "Ana", "--happened-at", "2026-01-05", "I live in Lisbon.")
    ecphora("remember", "--id", NEW, "--speaker", "Ana", "--happened-at", "2026-05-03", "I moved to Porto.")


def ecphora(*args: str, code: int = 0, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(main, args, input=stdin)
    assert result.exit_code == code, result.output
    return result


def answer(*args: str, code: int = 0) -> Any:
    return json.loads(ecphora(*args, "--json", code=code).stdout)


def test_recall_prints_ids_that_other_commands_accept() -> None:
    shown = ecphora("recall", "Where does Ana live?").stdout
    assert "aaaa1111" in shown
    assert OLD not in shown
    assert f"id {OLD}" in ecphora("recall", "Where does Ana live?", "--explain").stdout
    assert {hit["id"] for hit in answer("recall", "Where does Ana live?")["hits"]} == {OLD, NEW}
    ecphora("remember", "--id", "aaaa1112".ljust(32, "0"), "I like Lisbon.")
    assert "aaaa1111" in ecphora("recall", "Where does Ana live?").stdout


@pytest.mark.parametrize("width", ["30", "76", "200"])
def test_given_id_is_printed_in_full(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    given_id = "a-name-of-more-letters-than-fit"
    ecphora("remember", "--id", given_id, "Zebulon sails.")
    shown = ecphora("recall", "Zebulon", "--limit", "1").stdout
    assert given_id in "".join(shown.split())
    assert max(map(len, shown.splitlines())) <= int(width)


def test_history_and_why_not_accept_short_ids() -> None:
    assert answer("history", "aaaa")["node"]["id"] == OLD
    assert answer("why-not", "Where does Ana live?", "bbbb2")["id"] == NEW


def test_supersedes_pin_and_archive_accept_short_ids() -> None:
    ecphora("remember", "I live in Rome.", "--id", "rome", "--supersedes", "bbbb")
    assert [node["id"] for node in answer("history", NEW)["successors"]] == ["rome"]
    assert answer("pin", "aaaa", "bbbb") == {"pinned_ids": [OLD, NEW]}
    assert answer("archive", "aaaa") == {"archived_ids": [OLD]}


def test_reject_and_undo_accept_short_ids() -> None:
    batch = answer("consolidate")["undo_batch"]["id"]
    rejected = answer("reject", "aaaa", "bbbb")
    assert (rejected["id"][:7], rejected["counts"]) == ("reject:", {"rejected": 1})
    assert answer("undo", "reje")["id"] == rejected["id"]
    assert answer("undo", batch[:10])["id"] == batch


def test_forget_accepts_short_ids_of_digests_only() -> None:
    assert answer("forget", "aaaa", "bbb", code=3)["missing_ids"] == ["bbb"]
    assert answer("history", OLD, code=3) is None
    ecphora("remember", "A note.", "--id", "note-one")
    assert answer("forget", "note", code=3) == {
        "episode_ids": [],
        "entity_ids": [],
        "exchange_ids": [],
        "missing_ids": ["note"],
        "notices": [],
    }


def test_ambiguous_prefix_is_an_error_and_changes_nothing() -> None:
    ecphora("remember", "--id", SAME_PREFIX, "Another text.")
    for command in (
        ["forget", "bbbb", "aaaa"],
        ["history", "aaaa"],
        ["pin", "bbbb", "aaaa"],
        ["reject", "aaaa", "b"],
    ):
        result = ecphora(*command, code=1)
        assert result.stderr == f"error: 2 ids begin with 'aaaa': {OLD}, {SAME_PREFIX}\n"
    assert answer("history", NEW)["accesses"][-1]["kind"] == "encoded"
    assert len(answer("recall", "text Lisbon Porto")["hits"]) == 3


def test_answers_print_short_ids() -> None:
    assert "  bbbb2222  3 May 2026" in ecphora("ask", "Who moved to Porto?").stdout
