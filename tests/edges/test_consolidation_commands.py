"""The commands of consolidation and maintenance: output and exit codes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora.cli.main import main

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def two_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory in which a fact was updated."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("ECPHORA_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    monkeypatch.setenv("COLUMNS", "100")
    ecphora("remember", "--id", "old", "--speaker", "Ana", "--happened-at", "2026-01-05", "I live in Lisbon.")
    ecphora("remember", "--id", "new", "--speaker", "Ana", "--happened-at", "2026-05-03", "I moved to Porto.")


def ecphora(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, args)
    assert result.exit_code == code, result.output
    return result


def answer(*args: str, code: int = 0) -> Any:
    return json.loads(ecphora(*args, "--json", code=code).stdout)


def test_consolidate_and_undo() -> None:
    dry = answer("consolidate", "--dry-run")
    assert (dry["undo_batch"], dry["counts"]["supersedes"]) == (None, 1)
    result = ecphora("consolidate")
    assert "wrote 1 updated fact" in result.output
    assert "ecphora undo consolidate:" in result.stderr
    hit = answer("recall", "Where does Ana live?")["hits"][1]
    assert (hit["id"], hit["validity"]["superseded_by"], hit["validity"]["is_valid"]) == ("old", ["new"], False)
    assert "held until 3 May 2026" in ecphora("recall", "Where does Ana live?").output
    assert "no new memories" in ecphora("consolidate").output
    assert answer("undo")["counts"]["supersedes"] == 1
    assert answer("recall", "Where does Ana live?")["hits"][0]["validity"] is None


@pytest.mark.parametrize("command", ["updates", "insights"])
def test_note_on_finding_nothing_is_true_after_a_consolidation(command: str) -> None:
    ecphora("remember", "I like rye bread.", "--db", "one.db")
    note = f"no {command}; ecphora consolidate looks for them in new memories\n"
    assert ecphora(command, "--db", "one.db", code=3).stderr == note
    assert "processed 1 new memory; wrote" in ecphora("consolidate", "--db", "one.db").output
    assert ecphora(command, "--db", "one.db", code=3).stderr == note


def test_retroactive_includes_later_messages_about_the_time() -> None:
    ecphora(
        "remember", "--id", "late", "--speaker", "Ana", "--happened-at", "2026-05-20", "I moved to Ghent on 10 May."
    )
    ecphora("consolidate")
    options = ("Where does Ana live?", "--as-of", "2026-05-12")
    assert {hit["id"] for hit in answer("recall", *options)["hits"]} == {"old", "new"}
    assert {hit["id"] for hit in answer("recall", *options, "--retroactive")["hits"]} == {"old", "new", "late"}
    assert answer("why-not", *options, "late")["failed_filters"] == ["as_of"]
    assert answer("why-not", *options, "--retroactive", "late")["miss_reason"] == "none"
    assert answer("ask", *options)["cited_ids"] == ["new"]
    assert answer("ask", *options, "--retroactive")["cited_ids"] == ["late"]
    assert "as_of" in ecphora("recall", "Where does Ana live?", "--retroactive", code=1).stderr


def test_update_is_listed_and_rejected() -> None:
    assert "ecphora consolidate" in ecphora("updates", code=3).stderr
    ecphora("consolidate")
    (found,) = answer("updates")
    assert (found["old"]["id"], found["new"]["id"], found["relation"]) == ("old", "new", "supersedes")
    assert found["valid_from"].startswith("2026-05-03")
    assert 0 < found["confidence"] <= 1
    assert "ecphora reject old new" in ecphora("updates").output
    assert "rejected: new does not change old" in ecphora("reject", "old", "new").output
    assert answer("updates", code=3) == []
    assert all(hit["validity"] is None for hit in answer("recall", "Where does Ana live?")["hits"])
    assert "facts.updates() and" in ecphora("reject", "new", "old", code=1).stderr
    assert answer("undo")["counts"] == {"rejected": 1}
    assert len(answer("updates")) == 1


def test_undo_without_a_matching_batch_is_an_error() -> None:
    assert "has no consolidation, import, merge" in ecphora("undo", code=1).stderr
    ecphora("consolidate")
    assert "is not the latest batch" in ecphora("undo", "consolidate:never", code=1).stderr


def test_insights_are_printed_with_their_sources() -> None:
    assert "ecphora consolidate" in ecphora("insights", code=3).stderr
    told = ("bubbles", "smells of apples", "needs rye", "came from Graz", "sleeps in the fridge", "fills two jars")
    for n, text in enumerate((*told, "likes warm water", "made good bagels") * 3):
        ecphora("remember", "--session", f"s{n}", f"My sourdough starter {text}.")
    ecphora("consolidate")
    found = answer("insights")
    assert found
    assert {"id", "text", "level", "is_valid", "sources"} < set(found[0])
    assert len(found[0]["sources"]) >= 3
    assert "memories:" in ecphora("insights", "sourdough").output


def test_pin_and_archive_mark_memories(tmp_path: Path) -> None:
    assert "pinned: old" in ecphora("pin", "old").output
    assert answer("unpin", "old") == {"unpinned_ids": ["old"]}
    assert answer("archive", "new") == {"archived_ids": ["new"]}
    assert [hit["id"] for hit in answer("recall", "Porto Lisbon")["hits"]] == ["old", "new"]
    assert "unarchived: new" in ecphora("unarchive", "new").output
    assert "there is no memory 'gone'" in ecphora("archive", "new", "gone", code=1).stderr
    assert answer("decayed") == []


def test_consolidated_memory_is_exported_and_imported() -> None:
    ecphora("consolidate")
    ecphora("export", "found.jsonl")
    ecphora("reject", "old", "new")
    ecphora("export", "rejected.jsonl")
    ecphora("undo")
    ecphora("import", "--db", "rejected.db", "rejected.jsonl")
    assert answer("updates", "--db", "rejected.db", code=3) == []
    ecphora("export", "all.jsonl")
    assert Path("all.jsonl").read_text().splitlines()[1:] == Path("found.jsonl").read_text().splitlines()[1:]
    ecphora("import", "--db", "copy.db", "all.jsonl")
    hit = answer("recall", "--db", "copy.db", "Where does Ana live?")["hits"][1]
    assert hit["validity"]["superseded_by"] == ["new"]
