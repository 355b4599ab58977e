"""``training/sentence_set.py``: sentences as documents, and answers that are missing."""

import gzip
import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TRAINING = Path(__file__).parents[2] / "training"

pytestmark = pytest.mark.medium  # the first to import the script


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module."""
    monkeypatch.syspath_prepend(TRAINING)
    return importlib.import_module("sentence_set")


def write_set(folder: Path, documents: list[dict[str, Any]], questions: list[dict[str, Any]]) -> None:
    """Write documents and questions as the set jsquad."""
    for part, lines in (("docs", documents), ("questions", questions)):
        with gzip.open(folder / f"jsquad.{part}.jsonl.gz", "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(line) + "\n" for line in lines)


def test_sentence_set_asks_for_the_one_sentence_that_answers(script: ModuleType, tmp_path: Path) -> None:
    """Answers in several sentences, in none and in another paragraph are left out."""
    texts = {
        "a0.p0": "The bridge is red. It opened in 1932. It is long.",
        "a0.p1": "Ferries ran before. Ferries were slow.",
    }
    documents = [{"space": "jsquad", "id": id_, "text": text, "title": "The_bridge"} for id_, text in texts.items()]
    asked = (
        ("When?", "1932"),
        ("What did it do?", "IT OPENED"),
        ("Which word?", " is "),
        ("What ran?", "ferries"),
        ("Who?", "Ana"),
        ("How fast?", "slow"),
    )
    questions = [
        {
            "space": "jsquad",
            "id": text,
            "question": text,
            "answers": [answer],
            "evidence": ["a0.p0"],
            "answerable": True,
        }
        for text, answer in asked
    ]
    write_set(tmp_path, documents, questions)
    (article,) = script.read_articles(tmp_path, "jsquad")
    assert [one["text"] for one in article.documents][:2] == ["The bridge is red.", "It opened in 1932."]
    assert {one["title"] for one in article.documents} == {"The bridge"}
    found = {one["question"]: one["evidence"] for one in article.questions}
    assert found == {"When?": ["a0.p0.1"], "What did it do?": ["a0.p0.1"]}


def test_sentence_set_makes_questions_without_their_sentence_unanswerable(script: ModuleType) -> None:
    """The sentence of every fifth question is missing, and all questions that it answers are unanswerable."""
    documents = [{"id": f"a0.p0.{place}"} for place in range(6)]
    evidence = [0, 1, 2, 3, 0, 4, 5]
    questions = [{"evidence": [f"a0.p0.{place}"], "answers": ["x"], "answerable": True} for place in evidence]
    found = script.without_answers(script.Article("jsquad:a0", documents, questions))
    assert [one["id"] for one in found.documents] == ["a0.p0.1", "a0.p0.2", "a0.p0.3", "a0.p0.5"]
    assert [one["answerable"] for one in found.questions] == [False, True, True, True, False, False, True]
    assert not any(one["evidence"] or one["answers"] for one in found.questions if not one["answerable"])


def test_sentence_set_keeps_an_article_apart_in_all_its_languages(script: ModuleType, tmp_path: Path) -> None:
    """The set's name and the article decide, not the space."""
    documents = [
        {"space": space, "id": "a0.p0", "text": "It opened in 1932.", "title": None} for space in ("set-en", "set-zh")
    ]
    questions = [
        {
            "space": space,
            "id": space,
            "question": "When?",
            "answers": ["1932"],
            "evidence": ["a0.p0"],
            "answerable": True,
        }
        for space in ("set-en", "set-zh")
    ]
    write_set(tmp_path, documents, questions)
    english, chinese = script.read_articles(tmp_path, "jsquad")
    assert english.documents[0]["space"] != chinese.documents[0]["space"]
    assert english.name == chinese.name
