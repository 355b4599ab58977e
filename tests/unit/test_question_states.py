"""The questions about a present or a former state: their form and their counts."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

QUESTIONS = Path(__file__).parents[2] / "training" / "data" / "question_states.jsonl"
STATES = ("former", "present", "other")


def read_lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]


def test_question_has_a_language_and_a_state() -> None:
    lines = read_lines()
    for line in lines:
        assert tuple(line) == ("lang", "question", "state")
        assert line["state"] in STATES
        assert line["question"].strip() == line["question"] != ""
    assert len({line["question"] for line in lines}) == len(lines)
    assert "fr" not in {line["lang"] for line in lines}


def test_statement_of_the_questions_has_their_counts() -> None:
    statement = QUESTIONS.with_suffix(".md").read_text("utf-8")
    counts = Counter((line["lang"], line["state"]) for line in read_lines())
    for language in sorted({lang for lang, _ in counts}):
        row = " | ".join(str(counts[language, state]) for state in STATES)
        assert f"| {language} | {row} |" in statement
    totals = Counter(line["state"] for line in read_lines())
    assert f"| all | {' | '.join(str(totals[state]) for state in STATES)} |" in statement
