"""Of several memories that supersede the same one in one call, the earliest ends it, in whatever order they come."""

from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path

from ecphora import Episode, HashingEmbedder, Memory

OLD = Episode("Ana lives in Porto.", id="old", happened_at=datetime(2026, 1, 1, tzinfo=UTC))
NEW = [
    Episode(f"Ana lives in {place}.", id=place, happened_at=datetime(2026, month, 1, tzinfo=UTC), supersedes="old")
    for place, month in (("Lisbon", 5), ("Braga", 3), ("Faro", 7))
]


def test_the_earliest_successor_ends_a_memory(tmp_path: Path) -> None:
    for number, order in enumerate(permutations(NEW)):
        with Memory(tmp_path / f"{number}.db", embedder=HashingEmbedder(16), zone="UTC") as memory:
            memory.remember([OLD, *order])
            old = memory.get("old")
            assert old is not None
            assert old.valid_to == datetime(2026, 3, 1, tzinfo=UTC)
