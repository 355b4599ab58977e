"""What is known of the order of two texts, and that documents of no known order replace nothing."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import Episode, Memory
from ecphora.consolidation.facts.event_time import MIN_DOCUMENT_GAP, Timestamp, Timestamps
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MANUALS = {  # each says some things twice, in versions
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
    + "\n".join(f"Tip {place}: let it cool for {place} minutes on the rack." for place in range(30)),
}


class Certain:
    """A cross-encoder that takes every pair for a change."""

    name = "certain"

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        return np.full(len(pairs), 12.0)


def manuals(times: Sequence[datetime | None]) -> list[Episode]:
    return [
        Episode(text, name, source=name, happened_at=at)
        for (name, text), at in zip(MANUALS.items(), times, strict=True)
    ]


def remembered(path: Path, told: Sequence[Episode], *, comparer: Certain | None, days: int = 0) -> Memory:
    """A memory that was handed texts, one after another with so many days between."""
    clock = FakeClock(NOW)
    memory = Memory(path, embedder=HashingEmbedder(64), update_scorer=comparer, clock=clock)
    if days:
        for episode in told:
            memory.remember(episode)
            clock.advance(days=days)
    else:
        memory.remember(told)
    memory.consolidate()
    return memory


UNDATED: tuple[datetime | None, ...] = (None,) * 5
COPIED = tuple(NOW - timedelta(days=90) + timedelta(minutes=3 * place) for place in range(5))
REVISED = tuple(NOW - timedelta(days=900) + timedelta(days=100 * place) for place in (1, 0, 2, 3, 4))


@pytest.mark.parametrize("comparer", [None, Certain()], ids=["rules", "reading"])
@pytest.mark.parametrize(
    ("times", "days"),
    [(UNDATED, 0), (UNDATED, 30), ((NOW,) * 5, 0), (COPIED, 0)],
    ids=["together", "in turn", "one time", "copied"],
)
def test_documents_of_no_known_order_replace_nothing(
    tmp_path: Path, comparer: Certain | None, times: Sequence[datetime | None], days: int
) -> None:
    with remembered(tmp_path / "m.db", manuals(times), comparer=comparer, days=days) as memory:
        assert memory.facts.updates() == []


def test_a_long_text_that_nobody_speaks_is_a_document_without_a_source(tmp_path: Path) -> None:
    told = [Episode(f"{MANUALS['bread.txt']}\nIt rests for {n} hours.", f"bread-{n}") for n in (4, 5)]
    with remembered(tmp_path / "m.db", told, comparer=Certain(), days=30) as memory:
        assert memory.facts.updates() == []


def test_documents_of_known_order_do(tmp_path: Path) -> None:
    with remembered(tmp_path / "m.db", manuals(REVISED), comparer=Certain()) as memory:
        pairs = {(change.old.source, change.new.source) for change in memory.facts.updates()}
        assert ("pump-old.md", "pump.md") in pairs
        assert all(old != new for old, new in pairs)  # never a piece of a document another


def test_what_somebody_says_replaces_what_a_document_says(tmp_path: Path) -> None:
    told = [
        Episode("The pump runs for 20 minutes.", "manual", source="pump.md"),
        Episode("The pump runs for 35 minutes now.", "said", "Ana"),
    ]
    with remembered(tmp_path / "m.db", told, comparer=Certain(), days=1) as memory:
        assert [(change.old.id, change.new.id) for change in memory.facts.updates()] == [("manual", "said")]
    with remembered(tmp_path / "n.db", told[::-1], comparer=Certain(), days=1) as memory:
        assert memory.facts.updates() == []  # nobody knows when the manual was written


@pytest.mark.parametrize(
    ("later", "earlier", "after"),
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
def test_which_text_is_known_to_be_later(later: Timestamp, earlier: Timestamp, after: bool) -> None:
    assert later.is_after(earlier) is after
    assert not (after and earlier.is_after(later))


def test_the_rows_of_known_order_are_those_of_which_one_is_after_the_other(tmp_path: Path) -> None:
    times = (None, "2026-01-01", "2026-01-01T09:00", "2026-01-03")
    told = [
        Episode(f"Text {place}.", f"t{place}", speaker, source=source, happened_at=at)
        for place, (speaker, source, at) in enumerate(product((None, "Ana"), (None, "a.md"), times))
    ]
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), clock=FakeClock(NOW)) as memory:
        memory.remember(told)
        graph = memory.graph()
        rows, moments = np.flatnonzero(graph.episodes), Timestamps(graph)
        for row in rows.tolist():
            of = {other: moments.timestamp(other) for other in rows.tolist()}
            known = [other for other, one in of.items() if one.is_after(of[row]) or of[row].is_after(one)]
            assert moments.comparable_rows(row, rows).tolist() == known
