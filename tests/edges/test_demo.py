"""The demo: its output, its totals, and its treatment of existing files."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora.cli.demo import show
from ecphora.cli.main import main
from ecphora.memory import Memory

pytestmark = pytest.mark.slow


def demo(*args: str) -> Result:
    return CliRunner().invoke(main, ["demo", "--embedder", "hashing", *args], env={"COLUMNS": "100"})


def test_evidence_of_every_question_is_in_the_conversation() -> None:
    known_ids = {episode.id for episode in show.load_conversation()}
    questions = show.load_questions()
    assert len(known_ids) == len(show.load_conversation())
    assert all(known_ids.issuperset(question.gold) for question in questions)
    assert {question.kind for question in questions} <= show.QUESTION_KINDS.keys()
    assert all(bool(question.gold) == (question.kind != "unanswerable") for question in questions)


def test_demo_prints_every_question_and_the_totals() -> None:
    result = demo()
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    shown = " ".join(result.stdout.split())
    for question in show.load_questions():
        assert " ".join(question.answer.split()) in shown
    found = json.loads(demo("--json").stdout)
    assert f"{found['complete_count']} of {found['answerable_count']} answerable questions" in shown
    missed = sum(len(question["missed_ids"]) for question in found["questions"])
    assert shown.count("✗ not found") == missed
    assert "ecphora remember --db my.db" in shown


def test_complete_question_has_all_evidence_among_five_hits() -> None:
    found = json.loads(demo("--json").stdout)
    for question in found["questions"]:
        hit_ids = [hit["id"] for hit in question["hits"]]
        assert len(hit_ids) <= 5
        assert question["missed_ids"] == [id_ for id_ in question["gold"] if id_ not in hit_ids]
    complete = [q for q in found["questions"] if q["gold"] and not q["missed_ids"]]
    assert found["complete_count"] == len(complete)


def test_demo_keeps_its_file_and_rejects_an_existing_one(tmp_path: Path) -> None:
    path = tmp_path / "demo.db"
    result = demo("--db", str(path))
    assert f"--db {path}" in result.stdout
    before = path.read_bytes()
    again = demo("--db", str(path))
    assert again.exit_code == 1
    assert "is there already" in again.stderr
    assert path.read_bytes() == before


@pytest.fixture(scope="module")
def default_demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The file and the JSON of the demo with the default embedder."""
    path = tmp_path_factory.mktemp("demo") / "demo.db"
    return path, json.loads(CliRunner().invoke(main, ["demo", "--db", str(path), "--json"]).stdout)


def test_demo_gives_no_general_reason_to_neighboring_hits(default_demo: tuple[Path, dict[str, Any]]) -> None:
    _, found = default_demo
    general = {"is likelier to answer, says the reranker", "is nearer in meaning to the question"}
    reasons = [[set(hit["reason"].split("; ")) for hit in question["hits"]] for question in found["questions"]]
    assert sum("says the reranker" in "".join(hits[0]) for hits in reasons) <= len(reasons) / 2
    for hits in reasons:
        for one, other in pairwise(hits):
            assert not general & one & other


def test_demo_with_the_default_embedder_is_fast_and_finds_evidence(default_demo: tuple[Path, dict[str, Any]]) -> None:
    path, found = default_demo
    assert found["seconds"] < 30
    assert found["complete_count"] >= 3
    with Memory(path) as memory:
        assert len(memory) == len(show.load_conversation())
