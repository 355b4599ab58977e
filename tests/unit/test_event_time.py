"""The known order of two texts; documents of unknown order supersede nothing."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import Episode, Memory
from ecphora.consolidation.facts.memory_statements import MIN_DOCUMENT_GAP, Timestamp, Timestamps
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MANUALS = {  # each contains some statements twice, in versions
    "pump.md": """
# Garden pump

## Version 1
The pump runs for 20 minutes. The filter is cleaned every 4 weeks. The fuse is rated at 6 amperes.

## Version 2
The pump now runs for 35 minutes. The filter is cleaned every 6 weeks. The fuse has changed: it is rated at 10 amperes.
""",
    "pump-old.md": """
# Garden pump

The pump runs for 15 minutes. The filter is cleaned every 2 weeks. The hose is 12 metres long, no longer 10 metres.
""",
    "server.md": """
Requests time out after 30 seconds.
The server listens on port 8080. The log is kept for 7 days.

Since 2.0 requests time out after 60 seconds instead of 30 seconds.
The server listens on port 9090 now. The log is kept for 14 days.
""",
    "house.txt": """
Quiet hours begin at ten. The bins go out on Tuesdays. The laundry is on the ground floor.

Correction: quiet hours begin at nine. The bins go out on Fridays. The laundry has moved to the cellar.
""",
    "bread.txt": "The dough takes 500 g of flour and rests for two hours.\n\n"
    "The dough takes 450 g of flour and rests for three hours.\n"
    + "\n".join(f"Tip {index}: let it cool for {index} minutes on the rack." for index in range(30)),
}


class AcceptingScorer:
    """A cross-encoder that accepts every pair as an update."""

    name = "accepting"

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        return np.full(len(pairs), 12.0)


def manuals(times: Sequence[datetime | None]) -> list[Episode]:
    return [
        Episode(text, name, source=name, happened_at=at)
        for (name, text), at in zip(MANUALS.items(), times, strict=True)
    ]


def consolidated_memory(
    path: Path, episodes: Sequence[Episode], *, update_scorer: AcceptingScorer | None, days: int = 0
) -> Memory:
    """A consolidated memory of texts, stored one by one if ``days`` between them are given."""
    clock = FakeClock(NOW)
    memory = Memory(path, embedder=HashingEmbedder(64), update_scorer=update_scorer, clock=clock)
    if days:
        for episode in episodes:
            memory.remember(episode)
            clock.advance(days=days)
    else:
        memory.remember(episodes)
    memory.consolidate()
    return memory


UNDATED: tuple[datetime | None, ...] = (None,) * 5
COPIED = tuple(NOW - timedelta(days=90) + timedelta(minutes=3 * index) for index in range(5))
REVISED = tuple(NOW - timedelta(days=900) + timedelta(days=100 * index) for index in (1, 0, 2, 3, 4))


@pytest.mark.medium
@pytest.mark.parametrize("update_scorer", [None, AcceptingScorer()], ids=["rules", "cross-encoder"])
@pytest.mark.parametrize(
    ("times", "days"),
    [(UNDATED, 0), (UNDATED, 30), ((NOW,) * 5, 0), (COPIED, 0)],
    ids=["together", "in turn", "one time", "copied"],
)
def test_documents_of_unknown_order_supersede_nothing(
    tmp_path: Path, update_scorer: AcceptingScorer | None, times: Sequence[datetime | None], days: int
) -> None:
    with consolidated_memory(tmp_path / "m.db", manuals(times), update_scorer=update_scorer, days=days) as memory:
        assert memory.facts.updates() == []


@pytest.mark.medium
def test_long_text_without_speaker_and_source_is_a_document(tmp_path: Path) -> None:
    episodes = [Episode(f"{MANUALS['bread.txt']}\nIt rests for {n} hours.", f"bread-{n}") for n in (4, 5)]
    with consolidated_memory(tmp_path / "m.db", episodes, update_scorer=AcceptingScorer(), days=30) as memory:
        assert memory.facts.updates() == []


@pytest.mark.medium
def test_documents_of_known_order_supersede(tmp_path: Path) -> None:
    with consolidated_memory(tmp_path / "m.db", manuals(REVISED), update_scorer=AcceptingScorer()) as memory:
        pairs = {(change.old.source, change.new.source) for change in memory.facts.updates()}
        assert ("pump-old.md", "pump.md") in pairs
        assert all(old != new for old, new in pairs)  # chunks of one document never supersede each other


@pytest.mark.medium
def test_later_utterance_supersedes_a_document(tmp_path: Path) -> None:
    episodes = [
        Episode("The pump runs for 20 minutes.", "manual", source="pump.md"),
        Episode("The pump runs for 35 minutes now.", "said", "Ana"),
    ]
    with consolidated_memory(tmp_path / "m.db", episodes, update_scorer=AcceptingScorer(), days=1) as memory:
        assert [(change.old.id, change.new.id) for change in memory.facts.updates()] == [("manual", "said")]
    with consolidated_memory(tmp_path / "n.db", episodes[::-1], update_scorer=AcceptingScorer(), days=1) as memory:
        assert memory.facts.updates() == []  # nobody knows when the manual was written


@pytest.mark.parametrize(
    ("later", "earlier", "is_after"),
    [
        (Timestamp(1.0), Timestamp(0.0), True),
        (Timestamp(0.0), Timestamp(0.0), False),
        (Timestamp(0.0), Timestamp(1.0), False),
        (Timestamp(1.0, is_document=True), Timestamp(0.0), True),
        (Timestamp(1.0, is_document=True, is_dated=False), Timestamp(0.0), False),
        (Timestamp(1.0), Timestamp(0.0, is_document=True, is_dated=False), True),
        (Timestamp(MIN_DOCUMENT_GAP, is_document=True), Timestamp(0.0, is_document=True), False),
        (Timestamp(MIN_DOCUMENT_GAP + 1, is_document=True), Timestamp(0.0, is_document=True, is_dated=False), True),
        (Timestamp(MIN_DOCUMENT_GAP + 1, is_document=True, is_dated=False), Timestamp(0.0, is_document=True), False),
    ],
)
def test_timestamp_is_after_an_earlier_one(later: Timestamp, earlier: Timestamp, is_after: bool) -> None:
    assert later.is_after(earlier) is is_after
    assert not (is_after and earlier.is_after(later))


def test_comparable_rows_are_those_of_known_order(tmp_path: Path) -> None:
    times = (None, "2026-01-01", "2026-01-01T09:00", "2026-01-03")
    episodes = [
        Episode(f"Text {index}.", f"t{index}", speaker, source=source, happened_at=at)
        for index, (speaker, source, at) in enumerate(product((None, "Ana"), (None, "a.md"), times))
    ]
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), clock=FakeClock(NOW)) as memory:
        memory.remember(episodes)
        graph = memory.graph()
        rows, times_of_rows = np.flatnonzero(graph.episodes), Timestamps(graph)
        for row in rows.tolist():
            timestamps = {other: times_of_rows.timestamp(other) for other in rows.tolist()}
            expected = [
                other
                for other, timestamp in timestamps.items()
                if timestamp.is_after(timestamps[row]) or timestamps[row].is_after(timestamp)
            ]
            assert times_of_rows.comparable_rows(row, rows).tolist() == expected
