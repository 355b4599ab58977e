"""Imports as they are read: batches, what is stored already, what is left out, and an import that was killed."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ecphora import Episode, HashingEmbedder, Memory
from ecphora.errors import IdCollision, InvalidInput
from ecphora.maintenance.interchange import streaming
from ecphora.maintenance.interchange.streaming import ImportOptions, ImportReport, import_episodes, summarize
from ecphora.model.types import Omission

AT = datetime(2026, 1, 10, 9, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(16), reranker=None, zone="UTC") as opened:
        yield opened


def episodes(count: int, start: int = 0) -> list[Episode]:
    return [
        Episode(f"Message {n}", f"x:{n}", speaker="Ana", session=f"s{n % 3}", happened_at=AT, source="x")
        for n in range(start, start + count)
    ]


def counts(report: ImportReport) -> tuple[int, int, int]:
    return report.created, report.existing, report.blocked


def test_report_counts_what_was_found_stored_and_left_out(memory: Memory) -> None:
    items: list[Episode | Omission] = [
        *episodes(3),
        *(Omission("a picture", f"line {n}") for n in range(5)),
        Omission("a sound"),
    ]
    items.append(Episode("Earlier", speaker="Bo", happened_at="2025-01-01", source="x"))
    report = import_episodes(memory, items)
    assert counts(report) == (4, 0, 0)
    assert report.to_dict() == {
        "created": 4,
        "existing": 0,
        "blocked": 0,
        "dry_run": False,
        "messages": 4,
        "conversations": 3,
        "first": "2025-01-01T00:00:00+00:00",
        "last": "2026-01-10T09:00:00+00:00",
        "speakers": {"Ana": 3, "Bo": 1},
        "omitted": {"a picture": 5, "a sound": 1},
        "places": {"a picture": ["line 0", "line 1", "line 2"], "a sound": []},
    }
    assert summarize(items, UTC) == report.found


def test_batches_are_committed_while_the_file_is_read(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BATCH_SIZE", 4)
    seen: list[int] = []

    def items() -> Iterator[Episode]:
        for episode in episodes(10):
            seen.append(len(memory))
            yield episode

    assert counts(import_episodes(memory, items())) == (10, 0, 0)
    assert seen == [0, 0, 0, 0, 4, 4, 4, 4, 8, 8]


def test_import_that_broke_off_goes_on(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BATCH_SIZE", 4)

    def broken() -> Iterator[Episode]:
        yield from episodes(6)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_episodes(memory, broken())
    assert len(memory) == 4
    assert counts(import_episodes(memory, episodes(10))) == (6, 4, 0)
    assert counts(import_episodes(memory, episodes(10))) == (0, 10, 0)


def test_what_is_stored_leaves_no_trace_when_it_is_imported_again(memory: Memory) -> None:
    import_episodes(memory, episodes(3))
    revision = memory.graph().revision
    import_episodes(memory, episodes(3))
    assert memory.graph().revision == revision


def test_what_was_changed_in_the_other_program_stays_as_it_is(memory: Memory) -> None:
    import_episodes(memory, episodes(1))
    changed = Episode("Edited", "x:0", title="New title", source="x")
    assert counts(import_episodes(memory, [changed, changed])) == (0, 2, 0)
    stored = memory.get("x:0")
    assert stored is not None
    assert stored.text == "Message 0"
    with pytest.raises(IdCollision):
        import_episodes(memory, [Episode("Another", "x:0", source="y")])


def test_what_was_forgotten_is_blocked_unless_it_is_restored(memory: Memory) -> None:
    import_episodes(memory, episodes(2))
    memory.forget(["x:0"])
    assert counts(import_episodes(memory, episodes(2))) == (0, 1, 1)
    assert counts(import_episodes(memory, episodes(2), restore=True)) == (1, 1, 0)


def test_dry_run_counts_as_the_import_would_and_writes_nothing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BATCH_SIZE", 2)
    import_episodes(memory, episodes(2))
    items = [*episodes(5), *episodes(2, 3), Episode("Next", "x:9", source="x", supersedes="x:4")]
    dry = import_episodes(memory, items, dry_run=True)
    assert (counts(dry), len(memory)) == ((4, 4, 0), 2)
    assert counts(import_episodes(memory, items)) == counts(dry)


def test_repeats_without_a_time_are_numbered_through_the_whole_file(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["yes", "no", "yes", "no", "no", "yes"]
    with Memory(tmp_path / "list.db", embedder=HashingEmbedder(16), zone="UTC") as other:
        ids = other.remember([Episode(text) for text in texts]).created
    monkeypatch.setattr(streaming, "BATCH_SIZE", 2)
    assert counts(import_episodes(memory, map(Episode, texts))) == (5, 1, 0)
    assert {node.id for node in memory.find()} == set(ids)
    assert counts(import_episodes(memory, map(Episode, texts))) == (0, 6, 0)


def test_options_set_the_trust_and_the_user(memory: Memory) -> None:
    options = ImportOptions(trust=0.5, user="Ana")
    report = import_episodes(memory, [*episodes(1), Episode("Hi", "x:b", speaker="Bo", source="x")], options=options)
    assert report.found.speakers == {"user": 1, "Bo": 1}
    assert [(node.speaker, node.trust) for node in memory.find(order="recorded_at")] == [("user", 0.5), ("Bo", 0.5)]
    for wrong in ({"trust": 2}, {"trust": "x"}, {"user": ""}):
        with pytest.raises(InvalidInput):
            ImportOptions(**wrong)


def test_episode_that_cannot_be_stored_is_left_out(memory: Memory) -> None:
    items = [Episode(" "), Episode("x", happened_at="never"), Episode("x" * 1_000_001), *episodes(1)]
    report = import_episodes(memory, items)
    assert (report.created, report.found.omitted) == (1, {"a memory that cannot be stored": 3})
    assert "the text is empty" in report.found.places["a memory that cannot be stored"][0]


def test_local_time_is_of_the_zone_of_the_memory(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(16), zone="Asia/Tokyo") as memory:
        report = import_episodes(memory, [Episode("Hi", "x:1", happened_at="2026-01-10T09:00", source="x")])
    assert json.dumps(report.to_dict()["first"]) == '"2026-01-10T09:00:00+09:00"'


def test_progress_grows_to_the_total(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BATCH_SIZE", 4)
    reports: list[tuple[int, int]] = []
    import_episodes(memory, episodes(10), progress=lambda done, total: reports.append((done, total)), total=10)
    assert reports == [(4, 10), (8, 10), (10, 10)]
    import_episodes(memory, episodes(10), progress=lambda done, total: reports.append((done, total)))
    assert reports[3:] == [(4, 4), (8, 8), (10, 10)]


def test_id_that_a_file_has_twice_is_stored_once_with_its_first_text(memory: Memory) -> None:
    first, second = (Episode(text, "x:1", happened_at=AT, source="x") for text in ("First.", "Second."))
    assert counts(import_episodes(memory, [first, second])) == (1, 1, 0)
    node = memory.get("x:1")
    assert node is not None
    assert node.text == "First."
