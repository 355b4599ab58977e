"""Questions about the present state have the new fact first, even if the outdated one has their very words."""

from pathlib import Path

import pytest

from ecphora import Memory


@pytest.mark.medium
@pytest.mark.parametrize(
    ("outdated", "new", "question"),
    [
        ("I live in Lisbon.", "I moved to Porto.", "Where do I live?"),
        ("My dentist is Dr. Wu.", "I switched to another dentist, Dr. Ames.", "Who is my dentist?"),
        ("我的车是红色的高尔夫。", "高尔夫卖了，买了一辆雅力士。", "我的车是什么？"),
    ],
)
def test_new_fact_ranks_before_the_outdated_one(tmp_path: Path, outdated: str, new: str, question: str) -> None:
    with Memory(tmp_path / "m.db") as memory:
        for month, text in enumerate(("I had soup.", outdated, "It rained all day.", new, "My back hurts."), 1):
            memory.remember(text, happened_at=f"2026-{month:02}-01")
        found = memory.recall(question)
        assert next(hit.text for hit in found if hit.text in {outdated, new}) == new
        former = memory.recall(question, as_of="2026-03-15")
        assert former[0].text == outdated
