"""The conversations of training/data/conversations.jsonl: their form, their evidence and their counts."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[2] / "training" / "data"
KINDS = ("follow_up", "new_topic")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


CONVERSATIONS = lines(DATA / "conversations.jsonl")


def test_conversation_has_two_or_three_different_messages_and_a_kind() -> None:
    for number, one in enumerate(CONVERSATIONS, 1):
        assert set(one) == {"id", "lang", "space", "kind", "messages", "evidence"}
        assert one["id"] == f"c{number:02}"
        assert len(set(one["messages"])) == len(one["messages"]) in {2, 3}, one["id"]
        assert all(message == message.strip() != "" for message in one["messages"]), one["id"]
        assert one["kind"] in KINDS, one["id"]


@pytest.mark.medium
def test_evidence_is_in_the_space_of_the_conversation() -> None:
    for lang in sorted({one["lang"] for one in CONVERSATIONS}):
        entries = {(entry["space"], entry["id"]) for entry in lines(DATA / "memories" / f"{lang}.docs.jsonl")}
        for one in CONVERSATIONS:
            if one["lang"] == lang:
                assert one["evidence"], one["id"]
                assert entries.issuperset((one["space"], id_) for id_ in one["evidence"]), one["id"]


def test_data_statement_has_the_counts() -> None:
    statement = (DATA / "conversations.md").read_text("utf-8")
    counts = Counter((one["lang"], one["kind"]) for one in CONVERSATIONS)
    counts += Counter(("all", one["kind"]) for one in CONVERSATIONS)
    for lang in {lang for lang, _ in counts}:
        follow_ups, new_topics = (counts[lang, kind] for kind in KINDS)
        assert f"| {lang} | {follow_ups} | {new_topics} | {follow_ups + new_topics} |" in statement
