"""Memories of the first and the last days of the calendar: no call fails because a date would lie beyond it."""

from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest

from ecphora import Episode, Memory
from ecphora.language.dates.mentions import time_mentions
from ecphora.language.statements.validity_phrases import validity_interval
from ecphora.model.times import parse_time
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.reasons import format_interval
from ecphora.testing import FakeClock

TIMES = ("9999-12-31T23:59:59.999999", "9999-12-31", "9999-12-01", "9999-12-31T11:00-12:00", "9998-12-31",
         "0001-01-01", "0001-01-01T14:00+14:00", "0001-03-01")  # fmt: skip
SENTENCES = (
    "Ana lives in Rome until March.", "Ana lives in Rome until the 5th.", "Ana lives in Rome until the 31st.",
    "The office will be closed until 3 January.", "From 3 January we will meet in Rome.", "Ana is away until tonight.",
    "From 3 to 10 May Ana is in Rome.", "I live in Bonn for the rest of the year.", "I am here for three weeks.",
    "Ana has lived in Bonn since last week.", "We met the night before May 3.", "I moved to Rome two weeks ago.",
    "I will move to Rome in two weeks.", "until the end of the century we stay", "We met on the last Friday in May.",
    "He lived here before 3 May.", "I lived in Rome for the past three months.", "I saw Ana today in the evening.",
    "We will stay through December.", "I live in Rome from the week after next.", "The shop reopens on Friday.",
)  # fmt: skip


@pytest.mark.parametrize("time", TIMES)
def test_dates_end_with_the_calendar(time: str) -> None:
    moment = parse_time(time)
    for sentence in SENTENCES:
        validity_interval(sentence, moment)
        for span in time_mentions(sentence, moment):
            assert format_interval(span.start.timestamp(), span.end.timestamp())


def test_validity_has_no_end_beyond_the_calendar() -> None:
    last = datetime(9999, 12, 30, 12, tzinfo=UTC)
    assert validity_interval("Ana lives in Rome until March.", last) == (None, None)
    assert validity_interval("Ana lives in Rome until the 5th.", last) == (None, None)
    assert validity_interval("Ana lives in Rome until the 31st.", last) == (None, None)
    assert validity_interval("Ana lives in Rome until the 30th.", last.replace(day=29))[1] == last.replace(
        day=31, hour=0
    )


@pytest.mark.medium
@pytest.mark.parametrize("time", TIMES)
def test_memories_at_the_ends_of_the_calendar_are_usable(tmp_path: Path, time: str) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as memory:
        ids = memory.remember([Episode(text, None, "Ana", "s", time) for text in SENTENCES]).ids
        memory.consolidate()
        memory.remember("Ana lives in Oslo.", supersedes=ids[0])
        new = memory.update(ids[1], "Ana lives in Ghent since yesterday.", mode="supersede", happened_at=time)
        memory.update(ids[2], "Ana lives in Turin until March.", mode="replace")
        memory.consolidate()
        for as_of in (None, time):
            found = memory.recall("Where does Ana live today?", as_of=as_of, limit=50)
            assert found[0].reason
        assert memory.history(ids[1]).successors[0].id == new.id  # type: ignore[union-attr]
        memory.facts.updates()
        memory.forget(new.id)
        out = StringIO()
        memory.export(out)
        with Memory(tmp_path / "other.db", embedder=HashingEmbedder(64), clock=FakeClock()) as other:
            other.import_(out.getvalue().splitlines())
            assert len(other) == len(memory)
