"""The commands that read, change and copy without a question: find, count, get, update, rename-scope, clone-scope."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora.cli.main import main

pytestmark = [pytest.mark.usefixtures("two_memories"), pytest.mark.medium]


def ecphora(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin)


def answer(*args: str, stdin: str | None = None, code: int = 0) -> Any:
    result = ecphora(*args, "--json", stdin=stdin)
    assert (result.exit_code, result.stderr) == (code, ""), result.output
    return json.loads(result.stdout)


def found_ids(*args: str, code: int = 0) -> list[str]:
    return [memory["id"] for memory in answer("find", *args, code=code)["memories"]]


def test_find_lists_a_page_and_its_cursor_leads_on() -> None:
    first = answer("find", "--limit", "1")
    assert [memory["id"] for memory in first["memories"]] == ["b"]
    second = answer("find", "--limit", "1", "--cursor", first["cursor"])
    assert ([memory["id"] for memory in second["memories"]], second["cursor"]) == (["a"], None)
    assert found_ids("--order", "happened_at") == ["a", "b"]
    assert found_ids("--order=-recorded_at") == ["b", "a"]
    wrong = ecphora("find", "--order", "recorded_at", "--cursor", first["cursor"])
    assert (wrong.exit_code, wrong.stderr.startswith("error: after is a cursor in the order")) == (1, True)


def test_find_prints_a_line_for_each_memory() -> None:
    long_id = answer("remember", "It rains\n\x1b[2Jin " + "the north " * 30)["created"][0]
    result = ecphora("find", "--limit", "2")
    head, first, second = result.stdout.splitlines()
    assert head.split() == ["id", "happened", "speaker", "text"]
    assert first.startswith(f"{long_id[:8]}  ")
    assert first.rstrip().endswith("…")
    assert second.split() == ["b", "4", "May", "2026", "00:00", "Bo", "Bo", "likes", "rain", "in", "Lisbon."]
    assert second.index("Bo likes") == head.index("text") == first.index("It rains")
    assert "\x1b" not in result.stdout
    assert "for the next page, add --cursor " in result.stderr
    assert "speaker" not in ecphora("find", "--limit", "1").stdout


def test_find_without_a_match_exits_with_3() -> None:
    assert found_ids("--speaker", "Zoe", code=3) == []
    result = ecphora("find", "--speaker", "Zoe")
    assert (result.exit_code, result.stdout, result.stderr) == (3, "", "no speaker 'Zoe'\nno memory was found\n")
    assert ecphora("find", "--limit", "0").exit_code == 2
    assert ecphora("find", "--order", "newest").exit_code == 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--speaker", "Ana"), ["a"]),
        (("--not-speaker", "Ana"), ["b"]),
        (("--not-speaker", "Ana", "--not-speaker", "Bo"), []),
        (("--not-session", "s"), ["b"]),
        (("--not-source", "mail"), ["b", "a"]),
        (("--speaker", "Ana", "--not-session", "s"), []),
        (("--where", '{"n": {"$gte": 1}}'), ["b"]),
    ],
)
def test_filters_of_find_and_count_select_the_same(options: tuple[str, ...], expected: list[str]) -> None:
    assert found_ids(*options, code=0 if expected else 3) == expected
    assert answer("count", *options) == {"count": len(expected)}
    assert ecphora("count", *options).stdout == f"{len(expected)}\n"


def test_get_shows_the_text_as_stored_and_all_fields() -> None:
    text = "# Lock\n\n" + "It turns twice. " * 80 + "Done."
    id_ = answer("remember", "--text", text, "--source", "manual", "--title", "Keys")["created"][0]
    (memory,) = answer("get", id_[:8])["memories"]
    assert (memory["text"], memory["source"]) == (text, "manual")
    shown = ecphora("get", id_[:8]).stdout
    assert memory["text"] in shown
    for line in (f"id        {id_}", "title     Keys", "source    manual"):
        assert line in shown
    assert 'metadata  {"n": 1}' in ecphora("get", "b").stdout


def test_get_names_unknown_ids_and_shows_the_others() -> None:
    found = answer("get", "a", "nobody", "b", code=3)
    assert [memory["id"] for memory in found["memories"]] == ["a", "b"]
    assert found["missing_ids"] == ["nobody"]
    result = ecphora("get", "nobody", "a")
    assert "Ana moved to Porto." in result.stdout
    assert (result.exit_code, result.stderr) == (3, "unknown: nobody\n")


def test_update_supersedes_or_replaces() -> None:
    moved = answer("update", "a", "Ana moved to Ghent.", "--mode", "supersede", "--happened-at", "2026-06-01")
    assert [node["id"] for node in answer("history", "a")["successors"]] == moved["created"]
    result = ecphora("update", moved["ids"][0][:8], "-", "--mode", "replace", stdin="Ana is here.\n")
    assert result.stdout == f"replaced: {moved['ids'][0]}\n"
    (memory,) = answer("get", moved["ids"][0])["memories"]
    assert (memory["text"], memory["happened_at"][:10]) == ("Ana is here.", "2026-06-01")
    again = ecphora("update", moved["ids"][0], "Ana is here.", "--mode", "replace")
    assert again.stdout == f"unchanged: {moved['ids'][0]}\n"
    shown = ecphora("update", "b", "Bo likes sun.", "--mode", "supersede").stdout
    assert shown.startswith("superseded: b -> ")


def test_update_that_erases_takes_no_abbreviation_of_an_id_that_was_given() -> None:
    answer("remember", "A note.", "--id", "note-of-monday")
    result = ecphora("update", "note-of", "Another.", "--mode", "replace")
    assert (result.exit_code, result.stderr) == (3, "there is no memory 'note-of'\n")
    assert answer("get", "note-of-monday")["memories"][0]["text"] == "A note."
    assert answer("update", "note-of", "Another.", "--mode", "supersede")["created"]


def test_update_without_a_mode_or_with_an_unknown_id_changes_nothing() -> None:
    assert ecphora("update", "a", "x").exit_code == 2
    wrong = ecphora("update", "a", "x", "--mode", "replace", "--happened-at", "2026-01-01")
    assert (wrong.exit_code, "--happened-at goes with --mode supersede" in wrong.stderr) == (2, True)
    assert answer("update", "nobody", "x", "--mode", "replace", code=3) is None
    assert ecphora("update", "a", " ", "--mode", "replace").exit_code == 1
    assert answer("count") == {"count": 2}
    assert answer("get", "a")["memories"][0]["text"] == "Ana moved to Porto."


def test_update_to_a_forgotten_text_says_that_it_is_blocked() -> None:
    forgotten = answer("remember", "Ana moved to Rome.", "--speaker", "Ana", "--session=s", "--happened-at=2026-07-01")
    answer("forget", *forgotten["created"])
    result = ecphora("update", "a", "Ana moved to Rome.", "--mode", "supersede", "--happened-at=2026-07-01")
    assert result.stdout.startswith("blocked: ")
    assert "forgotten or replaced before" in result.stderr


def test_rename_scope_and_clone_scope() -> None:
    assert ecphora("rename-scope", "default", "ana").stdout == "renamed: default -> ana\n"
    assert answer("clone-scope", "ana", "trial") == {"scope": "ana", "new_name": "trial"}
    answer("forget", "--everything", "--yes", "--scope", "trial")
    assert [(scope["name"], scope["episodes"]) for scope in answer("scopes")] == [("ana", 2), ("trial", 0)]
    for arguments in (("rename-scope", "nobody", "x"), ("clone-scope", "ana", "trial"), ("rename-scope", "ana", "")):
        result = ecphora(*arguments)
        assert (result.exit_code, result.stderr.startswith("error: ")) == (1, True), arguments
    assert ecphora("rename-scope", "ana").exit_code == 2
    missing = ecphora("clone-scope", "ana", "x", "--db", "none.db")
    assert (missing.exit_code, "there is no memory at none.db" in missing.stderr) == (1, True)


def test_evidence_bands_of_the_command_line_set_the_band(monkeypatch: pytest.MonkeyPatch) -> None:
    confidence = answer("recall", "Where did Ana move?", code=0)["confidence"]
    assert 0 < confidence < 1
    strong = f"{confidence / 2},0"
    assert answer("recall", "Where did Ana move?", "--evidence-bands", strong)["evidence"] == "strong"
    monkeypatch.setenv("ECPHORA_EVIDENCE_BANDS", "1,1")
    assert answer("recall", "Where did Ana move?", code=3)["evidence"] == "none"
    assert answer("recall", "Where did Ana move?", "--evidence-bands", strong)["evidence"] == "strong"
    assert answer("ask", "Where did Ana move?", "--evidence-bands", strong)["evidence"] == "strong"
    for text in ("x", "0.5", "0.2,0.8", "2,1", "nan,nan", ""):
        result = ecphora("recall", "Where did Ana move?", "--evidence-bands", text)
        assert (result.exit_code, result.stderr.startswith("error: ")) == (1, True), text


def test_dates_of_options_are_days_of_the_zone_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    answer("remember", "We ran.", "--id", "run", "--happened-at", "2026-07-02T00:30", "--zone", "Pacific/Auckland")
    assert found_ids("--after", "2026-07-02", code=3) == []  # 1 July in UTC
    assert found_ids("--after", "2026-07-02", "--zone", "Pacific/Auckland") == ["run"]
    monkeypatch.setenv("ECPHORA_ZONE", "Pacific/Auckland")
    assert found_ids("--after", "2026-07-02") == ["run"]
    assert ["run", "2", "Jul", "2026", "00:30", "We", "ran."] in [
        line.split() for line in ecphora("find").stdout.splitlines()
    ]
    wrong = ecphora("find", "--zone", "Mars/Olympus")
    assert (wrong.exit_code, "no time zone is called 'Mars/Olympus'; give a name" in wrong.stderr) == (1, True)
