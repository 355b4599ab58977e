"""A whole memory that is asked for a day and nothing else: evidence, filters, archived memories and reasons."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from ecphora import Episode, Evidence, Filter, Memory
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies.fused.strategy import ASKED_TIME
from ecphora.testing import FakeClock

DIARY = {
    "10": "Rain, watched two films.", "11": "Planted tomatoes.", "12": "Took the car to the garage.",
    "13": "Choir, we sang Fauré.", "14": "Lost my keys.", "15": "Saw a kingfisher.", "16": "Started a novel.",
    "17": "Baked rye bread.", "18": "Met Jonas at the hall.", "19": "The neighbors had a party.",
}  # fmt: skip
"""An entry for each day of July 2026, with the day as its id."""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 7, 20, 21, tzinfo=UTC))


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), clock=clock, update_scorer=None, zone="UTC") as opened:
        yield opened


@pytest.fixture
def keep_diary(memory: Memory) -> Callable[..., None]:
    def write(*without: str) -> None:
        memory.remember(
            [Episode(text, id=day, happened_at=f"2026-07-{day}") for day, text in DIARY.items() if day not in without]
        )

    return write


def test_evidence_is_strong_if_something_is_of_the_time_and_else_not(
    memory: Memory, keep_diary: Callable[..., None]
) -> None:
    keep_diary("14")
    assert memory.recall("What did I tell you on 12 July?").evidence is Evidence.STRONG
    assert memory.recall("What did I tell you on 14 July?").evidence is not Evidence.STRONG


def test_time_is_unknown_to_any_strategy_and_below_any_band(memory: Memory, keep_diary: Callable[..., None]) -> None:
    keep_diary("14")
    found = memory.recall("When did I bake rye bread on 14 July?", strategy="dense")
    assert found.evidence is not Evidence.STRONG
    assert memory.recall("When did I bake rye bread on 17 July?", strategy="dense").evidence is Evidence.STRONG


def test_memory_that_is_left_out_never_comes_in(memory: Memory, keep_diary: Callable[..., None]) -> None:
    keep_diary()
    question = "What happened on 12 July?"
    filtered = memory.recall(question, where=Filter(before="2026-07-12"), limit=20)
    assert "12" not in [hit.id for hit in filtered]
    assert filtered.evidence is not Evidence.STRONG
    assert "12" not in [hit.id for hit in memory.recall(question, as_of=date(2026, 7, 11), limit=20)]
    memory.forget("12")
    assert "12" not in [hit.id for hit in memory.recall(question, limit=20)]


def test_archived_memory_ranks_last_and_expired_one_first(memory: Memory, keep_diary: Callable[..., None]) -> None:
    keep_diary()
    question = "What happened on 12 July?"
    memory.maintenance.archive("12")
    assert [hit.id for hit in memory.recall(question, limit=20)][-1] == "12"
    memory.maintenance.unarchive("12")
    memory.remember([Episode("The car is at home.", id="new", supersedes="12", happened_at="2026-07-16")])
    assert memory.recall(question)[0].id == "12"


def test_reason_names_the_time(memory: Memory, keep_diary: Callable[..., None]) -> None:
    keep_diary()
    question = "What did I tell you on 12 July?"
    memory.remember([Episode(f"{text} What did I tell you in 2026?", happened_at="2026-07-15") for text in "ab"])
    hit = memory.recall(question)[0]
    assert "is of 12 July 2026, the time asked about" in hit.reason
    assert ASKED_TIME in [part.feature for part in hit.why.contributions]
