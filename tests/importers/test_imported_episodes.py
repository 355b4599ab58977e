"""Values of any file as the names, times and metadata of memories, and ids that follow from them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from ecphora.maintenance.interchange.imported_episodes import (
    EMPTY_TEXT,
    LONG_TEXT,
    UNREADABLE_TIME,
    Entry,
    as_metadata,
    as_name,
    as_text,
    as_time,
    build_episode,
    find_fields,
)
from ecphora.model.types import Episode, Omission

ENTRY = Entry("a.txt, line 1", "1", "I live in Porto.", speaker="Ana", happened_at="2026-05-03")


def build(**changes: Any) -> list[Episode | Omission]:
    return list(build_episode("test", replace(ENTRY, **changes)))


def id_of(**changes: Any) -> str | None:
    (episode,) = build(**changes)
    assert isinstance(episode, Episode)
    return episode.id


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-05-03", "2026-05-03 00:00:00"), (" 2026-05-03T10:00:00Z ", "2026-05-03 10:00:00+00:00"),
        ("1767225600", "2026-01-01 00:00:00+00:00"), ("1767225600.5", "2026-01-01 00:00:00.500000+00:00"),
        (1767225600000, "2026-01-01 00:00:00+00:00"), (datetime(2026, 5, 3, tzinfo=UTC), "2026-05-03 00:00:00+00:00"),
        ("soon", "None"), (True, "None"), ([], "None"), (float("nan"), "None"), (1e300, "None"), (None, "None"),
        ("0001-01-01", "None"), ("9999-12-31", "None"),
    ],
)  # fmt: skip
def test_times(value: object, expected: str) -> None:
    assert str(as_time(value)) == expected


def test_time_without_an_offset_is_in_the_zone_of_the_file() -> None:
    assert str(as_time("2026-05-03 10:00", UTC)) == "2026-05-03 10:00:00+00:00"
    assert str(as_time("2026-05-03 10:00+02:00", UTC)) == "2026-05-03 10:00:00+02:00"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (" Ana \n Sá ", "Ana Sá"), ("", None), ("\u200b", None), (7, "7"), (True, None), (["a"], None), (None, None),
        ("x" * 600, "x" * 512),
    ],
)  # fmt: skip
def test_names(value: object, expected: str | None) -> None:
    assert as_name(value) == expected


def test_number_that_is_too_long_is_no_name() -> None:
    assert as_name(10**5000) is None


def test_surrogates_are_joined_or_replaced() -> None:
    assert as_text("\ud83d\ude00 \ud83d") == "😀 \ufffd"


def test_metadata_keeps_plain_values_and_writes_others_as_json() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    values = {"a": 1, "b": [1, "x\ud83d"], 3: {"c": [2]}, "d": float("inf"), "e": [[1]], "f": 2**2000, "g": cycle}
    assert as_metadata(values) == {
        "a": 1, "b": [1, "x\ufffd"], "3": '{"c": [2]}', "d": "Infinity", "e": "[[1]]", "f": str(2**2000), "g": "a list",
    }  # fmt: skip


def test_what_cannot_be_remembered_is_an_omission() -> None:
    assert build(text=" \u200b") == [Omission(EMPTY_TEXT, "a.txt, line 1")]
    assert build(text="x" * 1_000_001) == [Omission(LONG_TEXT, "a.txt, line 1")]
    omission, episode = build(happened_at="soon")
    assert omission == Omission(UNREADABLE_TIME, "a.txt, line 1")
    assert isinstance(episode, Episode)
    assert episode.happened_at is None


def test_id_changes_with_all_that_makes_a_memory_another() -> None:
    other = {
        "key": "2", "text": "I live in Lisbon.", "speaker": "Ben", "session": "s", "title": "t",
        "happened_at": "2026-05-04",
    }  # fmt: skip
    ids = [id_of(), *(id_of(**{name: value}) for name, value in other.items())]
    assert len(set(ids)) == len(ids)
    assert id_of(metadata={"a": 1}, origin="elsewhere") == ids[0]
    assert id_of(happened_at="2026-05-03T02:00:00+02:00") == id_of(happened_at="2026-05-03T00:00:00Z")


def test_surest_name_of_a_field_wins() -> None:
    assert find_fields(["Created At", "Content", "Text", "Author", "x"]) == {
        "text": "Text", "speaker": "Author", "happened_at": "Created At",
    }  # fmt: skip
