"""Where the user is: local times, days and prompts of a memory's zone, and the offset that a time keeps."""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from ecphora import AsyncMemory, Episode, Filter, HashingEmbedder, Memory
from ecphora.consolidation import plan
from ecphora.errors import InvalidTime, UnknownName
from ecphora.model.times import (
    SystemZone,
    check_zone,
    from_epoch_seconds,
    in_zone,
    local_seconds,
    local_zone,
    parse_time,
)
from ecphora.model.types import Kind
from ecphora.models.prompts import answer_prompt
from ecphora.recall.candidate_reranking import _known_day
from ecphora.testing import FakeClock
from ecphora.testing.samples import graph_differences, sample_node

AUCKLAND = ZoneInfo("Pacific/Auckland")
BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
AHEAD = timedelta(hours=13)
"""The offset of Auckland in summer."""
Open = Callable[..., Memory]


@pytest.fixture
def open_in(tmp_path: Path) -> Iterator[Open]:
    """Opens a memory in a zone, whose clock stands at a time in UTC."""
    opened: list[Memory] = []

    def open_memory(zone: str | tzinfo | None, now: str = "2026-03-01T12:00", file: str = "m.db") -> Memory:
        clock = FakeClock(datetime.fromisoformat(now).replace(tzinfo=UTC))
        opened.append(Memory(tmp_path / file, embedder=HashingEmbedder(16), clock=clock, zone=zone))
        return opened[-1]

    yield open_memory
    for memory in opened:
        memory.close()


@pytest.fixture
def set_tz(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Sets the zone of the machine."""
    before = os.environ["TZ"]

    def set_zone(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield set_zone
    monkeypatch.setenv("TZ", before)
    time.tzset()


# ---- local times


@pytest.mark.parametrize(
    ("value", "zone", "expected"),
    [
        ("2026-03-02T00:30", AUCKLAND, "2026-03-02T00:30:00+13:00"),
        ("2026-07-02", AUCKLAND, "2026-07-02T00:00:00+12:00"),
        (date(2026, 7, 2), BERLIN, "2026-07-02T00:00:00+02:00"),
        ("2026-10-25T02:30", BERLIN, "2026-10-25T02:30:00+02:00"),
        (datetime(2026, 10, 25, 2, 30, fold=1), BERLIN, "2026-10-25T02:30:00+01:00"),  # noqa: DTZ001
        (datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN), AUCKLAND, "2026-10-25T02:30:00+01:00"),
        ("2026-03-29T02:30", BERLIN, "2026-03-29T02:30:00+01:00"),  # left out by the clock
        ("2026-03-02T00:30-05:00", AUCKLAND, "2026-03-02T00:30:00-05:00"),
        ("2026-03-02T00:30Z", AUCKLAND, "2026-03-02T00:30:00+00:00"),
        ("1880-01-01", BERLIN, "1880-01-01T00:00:00+00:53"),  # 00:53:28, and ISO 8601 has no seconds there
        ("1880-01-01T00:00:00+00:53:28", BERLIN, "1879-12-31T23:59:32+00:53"),
    ],
)
def test_time_without_offset_is_local(value: object, zone: tzinfo, expected: str) -> None:
    assert parse_time(value, zone).isoformat() == expected


def test_equal_instants_are_equal_where_the_clock_goes_back() -> None:
    twice = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN)
    assert parse_time(twice) == parse_time("2026-10-25T01:30Z")


def test_last_instant_of_a_long_day_is_local() -> None:
    assert parse_time("2026-10-25", BERLIN, end_of_period=True).isoformat() == "2026-10-25T23:59:59.999999+01:00"


@pytest.mark.parametrize(("value", "zone"), [("0001-01-01", AUCKLAND), ("9999-12-31T23:00", NEW_YORK)])
def test_local_time_must_be_in_the_calendar_in_utc(value: str, zone: tzinfo) -> None:
    with pytest.raises(InvalidTime, match="is not a date of the years 1 to 9999 in UTC"):
        parse_time(value, zone)


def test_ends_of_the_calendar_stay_in_it() -> None:
    first = datetime.min.replace(tzinfo=UTC)
    assert in_zone(first, NEW_YORK) == from_epoch_seconds(-1e12, NEW_YORK) == first


def test_local_seconds_are_those_of_the_wall_clock() -> None:
    assert local_seconds(parse_time("1970-01-02T00:00", AUCKLAND)) == 86_400


# ---- zones


def test_zone_of_the_machine_is_that_of_tz(set_tz: Callable[[str], None]) -> None:
    set_tz(":Pacific/Auckland")
    assert local_zone() == check_zone(None) == AUCKLAND
    set_tz("/usr/share/zoneinfo/Europe/Berlin")
    assert local_zone() == BERLIN


def test_zone_without_a_name_follows_the_system(set_tz: Callable[[str], None]) -> None:
    set_tz("NZST-12NZDT,M9.5.0,M4.1.0/3")
    zone = local_zone()
    assert isinstance(zone, SystemZone)
    for month in (1, 7):
        local = datetime(2026, month, 1)  # noqa: DTZ001
        assert zone.utcoffset(local) == AUCKLAND.utcoffset(local)
    for minutes in range(-180, 180, 30):  # around the hour that comes twice
        utc = datetime(2026, 4, 4, 14, tzinfo=UTC) + timedelta(minutes=minutes)
        assert in_zone(utc, zone) == utc
        assert in_zone(utc, zone).utcoffset() == utc.astimezone(AUCKLAND).utcoffset()


def test_link_of_the_system_names_its_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TZ")
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    monkeypatch.setattr("ecphora.model.times.ZONE_LINK", link)
    assert local_zone() == BERLIN


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../../etc/passwd", "/etc/passwd", "europe"])
def test_unknown_zone_is_an_error_that_says_what_to_give(name: str, open_in: Open) -> None:
    with pytest.raises(UnknownName, match=r"no time zone is called .*; give a name of the tz database, such as"):
        open_in(name)


def test_zone_of_pytz_is_the_one_of_its_name() -> None:
    like_pytz: Any = SimpleNamespace(zone="Europe/Berlin", localize=lambda time: time)
    assert check_zone(like_pytz) == BERLIN


def test_zone_may_be_a_tzinfo(open_in: Open) -> None:
    memory = open_in(timezone(AHEAD))
    memory.remember("I ran.", id="run", happened_at="2026-03-02")
    assert memory.get("run").happened_at.isoformat() == "2026-03-02T00:00:00+13:00"  # type: ignore[union-attr]


@pytest.mark.medium
def test_async_memory_has_a_zone_too(tmp_path: Path) -> None:
    async def zone_of() -> tzinfo:
        async with AsyncMemory(tmp_path / "m.db", embedder=HashingEmbedder(16), zone="Pacific/Auckland") as memory:
            return memory.zone

    assert asyncio.run(zone_of()) == AUCKLAND


# ---- the offset is kept


def test_offset_survives_file_export_and_backup(open_in: Open, tmp_path: Path) -> None:
    memory = open_in("Europe/Berlin")
    memory.remember("I swam.", id="swim", happened_at="2026-03-02T00:30+13:00")
    memory.remember("I ran.", id="run")
    exported = StringIO()
    memory.export(exported)
    memory.backup(tmp_path / "copy.db")
    other = open_in("UTC", file="other.db")
    other.import_(StringIO(exported.getvalue()))
    for one in (memory, other, open_in("UTC"), open_in("UTC", file="copy.db")):
        swim, run = one.get("swim"), one.get("run")
        assert swim is not None
        assert run is not None
        assert (swim.happened_at.isoformat(), _known_day(swim)) == ("2026-03-02T00:30:00+13:00", date(2026, 3, 2))
        assert {run.happened_at.isoformat(), run.recorded_at.isoformat()} == {"2026-03-01T13:00:00+01:00"}
        graph = one.graph()
        assert graph.nodes["offsets"][graph.rows(["swim", "run"])].tolist() == [780, 60]


def test_file_of_earlier_versions_has_its_times_in_utc(open_in: Open, tmp_path: Path) -> None:
    open_in("UTC").remember("I swam.", id="swim", happened_at="2026-03-01T23:30")
    with closing(sqlite3.connect(tmp_path / "m.db")) as db:
        times = db.execute("SELECT happened_at FROM node WHERE id = 'swim'").fetchall()
    assert times == [("2026-03-01T23:30:00+00:00",)]  # as these versions wrote it
    node = open_in("Pacific/Auckland").get("swim")
    assert node is not None
    assert node.happened_at.utcoffset() == timedelta(0)


def test_one_instant_in_two_notations_is_one_memory(open_in: Open) -> None:
    memory = open_in("Pacific/Auckland")
    first = memory.remember("I swam.", happened_at="2026-03-02T00:30")
    again = memory.remember(
        [
            Episode("I swam.", happened_at="2026-03-01T11:30Z"),
            Episode("I swam.", happened_at=datetime(2026, 3, 2, 0, 30, tzinfo=AUCKLAND)),
        ]
    )
    assert (again.created, again.ids) == ((), first.ids * 2)
    assert first.ids == open_in("UTC", file="other.db").remember("I swam.", happened_at="2026-03-01T11:30").ids


def test_accesses_are_told_in_the_zone(open_in: Open) -> None:
    memory = open_in("Pacific/Auckland")
    memory.remember("I ran.", id="run")
    memory.recall("ran")
    history = memory.history("run")
    assert history is not None
    assert {str(access.at) for access in history.accesses} == {"2026-03-02 01:00:00+13:00"}


def test_message_is_of_the_day_of_the_zone(open_in: Open) -> None:
    memory = open_in("Pacific/Auckland")
    at = datetime(2026, 3, 1, 11, 30, tzinfo=UTC).timestamp()
    id_ = memory.remember({"role": "user", "content": "I swam.", "timestamp": at}).ids[0]
    assert memory.get(id_).happened_at.isoformat() == "2026-03-02T00:30:00+13:00"  # type: ignore[union-attr]
    id_ = memory.remember({"role": "user", "content": "I swim.", "created_at": "2026-03-02T00:30"}).ids[0]
    assert memory.get(id_).happened_at.isoformat() == "2026-03-02T00:30:00+13:00"  # type: ignore[union-attr]


def test_supersession_ends_a_memory_on_the_day_of_its_successor(open_in: Open) -> None:
    memory = open_in("Pacific/Auckland")
    memory.remember("The standup is at nine.", id="old", happened_at="2026-02-01")
    memory.remember("The standup is at ten.", id="new", happened_at="2026-03-01T00:30", supersedes="old")
    hit = next(hit for hit in memory.recall("standup") if hit.id == "old")
    assert hit.validity is not None
    assert hit.validity.valid_to is not None
    assert hit.validity.valid_to.isoformat() == "2026-03-01T00:30:00+13:00"
    assert "until 2026-03-01 00:30" in memory.recall("standup").to_prompt()


def test_update_at_a_local_time_may_be_repeated(open_in: Open) -> None:
    memory = open_in("Pacific/Auckland")
    memory.remember("The standup is at nine.", id="old", happened_at="2026-02-01")
    first, again = (
        memory.update("old", "The standup is at ten.", mode="supersede", happened_at="2026-03-01") for _ in range(2)
    )
    assert (again.ids, again.created) == (first.ids, ())


def test_end_of_a_memory_told_after_its_successor_is_local(open_in: Open) -> None:
    memory = open_in("UTC")
    memory.remember("The lake is deep.")
    memory.remember("The standup is at nine.", id="old", happened_at="2026-03-01T00:30+13:00")
    memory.remember("The standup is at ten.", happened_at="2026-02-01", supersedes="old")
    assert str(memory.get("old").valid_to) == "2026-03-01 00:30:00+13:00"  # type: ignore[union-attr]


def test_name_has_the_offset_of_the_first_memory_that_is_left(open_in: Open) -> None:
    memory = open_in("UTC")
    memory.remember("Ana Novak swims.", id="first", happened_at="2026-03-01T00:30+13:00")
    memory.remember("Ana Novak runs.", id="second", happened_at="2026-03-02T00:30-08:00")
    memory.forget("first")
    graph = memory.graph()
    assert graph_differences(graph, open_in("UTC").graph()) == []
    assert graph.nodes["offsets"].tolist() == [-480] * len(graph)
    assert graph.rows_of_kind(Kind.ENTITY).size


# ---- days


def test_memory_just_stored_is_of_today(open_in: Open) -> None:
    memory = open_in("Pacific/Auckland")  # where it is 2 March
    memory.remember("I ran.", id="run")
    found = [node.id for node in memory.find(where=Filter(after="2026-03-02", before="2026-03-03"))]
    assert found == ["run"]
    assert not memory.find(where=Filter(after="2026-03-03"))
    assert not memory.find(where=Filter(before="2026-03-02"))
    assert not memory.find(where=Filter(recorded_before="2026-03-02"))
    for as_of in ("2026-03-02", "2026-03-02T01:00", datetime(2026, 3, 1, 12, tzinfo=UTC)):
        assert [hit.id for hit in memory.recall("ran", as_of=as_of)] == ["run"]
    for as_of in ("2026-03-01", "2026-03-02T00:59"):
        assert not memory.recall("ran", as_of=as_of)
    assert memory.recall("ran", known_at="2026-03-02")
    assert not memory.recall("ran", known_at="2026-03-02T00:59")
    assert not memory.forget(where=Filter(before="2026-03-02")).episode_ids
    assert memory.forget(where=Filter(after="2026-03-02", before="2026-03-02T01:01")).episode_ids == ("run",)


@pytest.mark.parametrize(
    ("told", "zone", "asked", "is_inside"),
    [
        ("2026-07-11T23:30+12:00", "UTC", "11 July 2026", True),
        ("2026-07-11T23:30+12:00", "America/Los_Angeles", "11 July 2026", True),
        ("2026-07-12T00:30+12:00", "UTC", "11 July 2026", False),  # although it was the 11th in UTC
        ("2026-07-12T00:30+12:00", "UTC", "12 July 2026", True),
        ("2026-07-11T08:00-07:00", "Pacific/Auckland", "11 July 2026", True),  # the 12th in Auckland
        ("2026-07-11T08:00-07:00", "Pacific/Auckland", "12 July 2026", False),
    ],
)
def test_question_asks_about_the_day_of_whoever_told_it(
    told: str, zone: str, asked: str, is_inside: bool, open_in: Open
) -> None:
    memory = open_in(zone, now="2026-07-20T12:00")
    memory.remember("I swam in the lake.", id="swim", happened_at=told)
    assert _is_in_time(memory, f"What happened on {asked}?") is is_inside


@pytest.mark.parametrize(("asked", "is_inside"), [("10 July 2026", True), ("9 July 2026", False)])
def test_relative_date_is_that_of_where_it_was_told(asked: str, is_inside: bool, open_in: Open) -> None:
    told = "2026-07-11T23:30+12:00"
    open_in("UTC", now="2026-07-20T12:00").remember("I swam yesterday.", id="swim", happened_at=told)
    memory = open_in("America/Los_Angeles", now="2026-07-20T12:00")
    mentions = memory.graph().time_mentions
    assert from_epoch_seconds(mentions["starts"][0]) == datetime(2026, 7, 9, 12, tzinfo=UTC)
    assert _is_in_time(memory, f"What happened on {asked}?") is is_inside


@pytest.mark.medium
def test_range_up_to_now_holds_what_was_told_just_now_further_east(open_in: Open) -> None:
    memory = open_in("UTC", now="2026-07-20T12:00")
    memory.remember("I swam.", id="swim", happened_at="2026-07-20T23:59+12:00")  # a minute ago
    assert _is_in_time(memory, "What did I do in the past three days?")


def test_question_is_read_by_the_calendar_of_the_zone(open_in: Open) -> None:
    memory = open_in("Pacific/Auckland", now="2026-07-31T12:30")  # where it is 1 August, in winter
    (today,) = memory.build_query("What did I do today?").time_ranges
    assert [time.isoformat() for time in (today.start, today.end)] == [
        "2026-08-01T00:00:00+12:00", "2026-08-02T00:00:00+12:00",
    ]  # fmt: skip
    (january,) = memory.build_query("What did I do in January 2026?").time_ranges
    assert january.start.isoformat() == "2026-01-01T00:00:00+13:00"
    (eve,) = memory.build_query("What did I do yesterday?", as_of="2026-07-01T00:30+12:00").time_ranges
    assert eve.start.isoformat() == "2026-06-30T00:00:00+12:00"
    (eve,) = memory.build_query("What did I do yesterday?", as_of="2026-06-30T12:30Z").time_ranges
    assert eve.start.isoformat() == "2026-06-30T00:00:00+12:00"


def test_reason_names_the_day_of_whoever_told_it(open_in: Open) -> None:
    memory = open_in("UTC", now="2026-07-20T12:00")
    memory.remember("I swam in the lake.", id="swim", happened_at="2026-07-11T23:30+12:00")
    memory.remember("We swim tomorrow in the lake.", id="plan", happened_at="2026-07-10T23:30+12:00")
    memory.remember("The lake is deep.", id="deep", happened_at="2026-05-10")
    reasons = {hit.id: str(hit.reason) for hit in memory.recall("Who swam in the lake on 11 July 2026?")}
    assert "11 July 2026" in reasons["swim"]
    assert "speaks of 11 July 2026" in reasons["plan"]


def test_day_that_a_model_read_is_one_of_where_it_was_told() -> None:
    node = sample_node("a", offset=13)
    day = datetime(2026, 5, 1)  # noqa: DTZ001
    assert str(plan._local_day(day, node)) == "2026-05-01 00:00:00+13:00"
    assert plan._local_day(None, node) is None
    assert plan._local_day(datetime.min, node) is None  # noqa: DTZ901  # the year 0 in UTC


# ---- prompts


def test_prompts_name_the_day_and_the_zone(open_in: Open) -> None:
    memory = open_in("Pacific/Auckland", now="2026-11-28T01:30")
    memory.remember("I swam.", id="swim")
    assert "Today is 2026-11-28 14:30, Saturday (Pacific/Auckland, UTC+13:00)." in memory.recall("swam").to_prompt()
    then = memory.recall("swam", as_of="2026-11-28T01:30Z").to_prompt()
    assert "The memories are those as of 2026-11-28 14:30." in then
    assert 'date="2026-11-28 14:30"' in then


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        (UTC, "2026-05-03 12:00, Sunday (UTC)"),
        (ZoneInfo("UTC"), "2026-05-03 12:00, Sunday (UTC)"),
        (timezone(-timedelta(hours=3, minutes=30)), "2026-05-03 08:30, Sunday (UTC-03:30)"),
        (ZoneInfo("Asia/Kolkata"), "2026-05-03 17:30, Sunday (Asia/Kolkata, UTC+05:30)"),
    ],
)
def test_present_has_day_and_zone(zone: tzinfo, shown: str) -> None:
    now = in_zone(datetime(2026, 5, 3, 12, tzinfo=UTC), zone)
    assert f"Today is {shown}." in answer_prompt("Who?", [], today=now).user


def _is_in_time(memory: Memory, question: str) -> bool:
    """Whether the memory "swim" is of the time that a question names."""
    from ecphora.retrieval.temporal import is_in_query_time  # noqa: PLC0415

    graph = memory.graph()
    row = graph.row("swim")
    assert row is not None
    return bool(is_in_query_time(graph, memory.build_query(question))[row])
