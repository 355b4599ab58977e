"""The demo: it runs, it is honest, and it touches no file that is there."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ecphora.cli.demo import show
from ecphora.cli.main import main
from ecphora.memory import Memory

pytestmark = pytest.mark.slow


def demo(*args: str) -> Result:
    return CliRunner().invoke(main, ["demo", "--embedder", "hashing", *args], env={"COLUMNS": "100"})


def test_the_evidence_of_every_question_is_in_the_conversation() -> None:
    there = {episode.id for episode in show.load_conversation()}
    asked = show.load_questions()
    assert len(there) == len(show.load_conversation())
    assert all(there.issuperset(question.gold) for question in asked)
    assert {question.kind for question in asked} <= show.QUESTION_KINDS.keys()
    assert all(bool(question.gold) == (question.kind != "unanswerable") for question in asked)


def test_it_draws_every_question_and_sums_up_what_it_drew() -> None:
    result = demo()
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    drawn = " ".join(result.stdout.split())
    for question in show.load_questions():
        assert " ".join(question.answer.split()) in drawn
    found = json.loads(demo("--json").stdout)
    assert f"{found['complete_count']} of {found['answerable_count']} answerable questions" in drawn
    missed = sum(len(question["missed_ids"]) for question in found["questions"])
    assert drawn.count("✗ not found") == missed
    assert "ecphora remember --db my.db" in drawn


def test_what_counts_as_found_is_all_of_the_evidence_among_the_first_five() -> None:
    found = json.loads(demo("--json").stdout)
    for question in found["questions"]:
        first = [hit["id"] for hit in question["hits"]]
        assert len(first) <= 5
        assert question["missed_ids"] == [id_ for id_ in question["gold"] if id_ not in first]
    whole = [q for q in found["questions"] if q["gold"] and not q["missed_ids"]]
    assert found["complete_count"] == len(whole)


def test_it_refuses_a_file_that_is_there_and_keeps_one_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "demo.db"
    result = demo("--db", str(path))
    assert f"--db {path}" in result.stdout
    before = path.read_bytes()
    again = demo("--db", str(path))
    assert again.exit_code == 1
    assert "is there already" in again.stderr
    assert path.read_bytes() == before


@pytest.mark.slow
def test_with_the_default_embedder_it_takes_seconds_and_finds_some(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["demo", "--db", str(tmp_path / "demo.db"), "--json"])
    found = json.loads(result.stdout)
    assert found["seconds"] < 30
    assert found["complete_count"] >= 3
    with Memory(tmp_path / "demo.db") as memory:
        assert len(memory) == len(show.load_conversation())
