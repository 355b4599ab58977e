"""Times given by callers."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from ecphora.errors import InvalidTime
from ecphora.model.times import from_epoch_seconds, parse_time

LISBON = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-05-03", datetime(2026, 5, 3, tzinfo=UTC)),
        (" 2026-05-03\n", datetime(2026, 5, 3, tzinfo=UTC)),
        ("2026-05-03T14:30", datetime(2026, 5, 3, 14, 30, tzinfo=UTC)),
        ("2026-05-03 14:30:05.25", datetime(2026, 5, 3, 14, 30, 5, 250_000, tzinfo=UTC)),
        ("2026-05-03T14:30Z", datetime(2026, 5, 3, 14, 30, tzinfo=UTC)),
        ("2026-05-03T14:30+01:00", datetime(2026, 5, 3, 14, 30, tzinfo=LISBON)),
        (date(2026, 5, 3), datetime(2026, 5, 3, tzinfo=UTC)),
        (datetime(2026, 5, 3, 14), datetime(2026, 5, 3, 14, tzinfo=UTC)),  # noqa: DTZ001  # what is tested
        (datetime(2026, 5, 3, 14, tzinfo=LISBON), datetime(2026, 5, 3, 14, tzinfo=LISBON)),
        ("0001-01-01", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31", datetime(9999, 12, 31, tzinfo=UTC)),
    ],
)
def test_times_are_parsed(value: object, expected: datetime) -> None:
    parsed = parse_time(value)
    assert parsed == expected
    assert parsed.utcoffset() == expected.utcoffset()


@pytest.mark.parametrize("day", ["2026-05-03", "9999-12-31", date(2026, 5, 3), date.max])
def test_end_of_a_day_is_its_last_instant(day: str | date) -> None:
    last = parse_time(day, end_of_period=True)
    assert last - parse_time(day) == timedelta(days=1) - timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("2026-05-03T14", "2026-05-03T14:59:59.999999"),
        ("2026-05-03T14:30", "2026-05-03T14:30:59.999999"),
        ("20260503T1430", "2026-05-03T14:30:59.999999"),
        ("2026-05-03 14:30-05:00", "2026-05-03T14:30:59.999999-05:00"),
        ("2026-05-03T14:30:05", "2026-05-03T14:30:05.999999"),
        ("2026-05-03T143005+0530", "2026-05-03T14:30:05.999999+05:30"),
        ("2026-05-03T14:30:05.250Z", "2026-05-03T14:30:05.250999Z"),
        ("2026-05-03T14:30:05,2", "2026-05-03T14:30:05.299999"),
        ("2026-05-03T14:30:05.250000", "2026-05-03T14:30:05.250000"),
        ("2026-05-03T14:30:05.123456789Z", "2026-05-03T14:30:05.123456Z"),
        ("2026-W18-7T14:30", "2026-05-03T14:30:59.999999"),
        ("9999-12-31T23:59Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_end_of_a_text_is_the_last_instant_that_it_names(text: str, last: str) -> None:
    assert parse_time(text, end_of_period=True) == parse_time(last)


def test_end_of_a_datetime_is_that_instant() -> None:
    noon = datetime(2026, 5, 3, 12, tzinfo=UTC)
    assert parse_time(noon, end_of_period=True) == noon


INVALID = (
    "", " ", "yesterday", "2026", "2026-05", "2026-5-3", "2026-02-30", "2025-02-29", "2026-13-01", "0000-01-01",
    "10000-01-01", "-0001-01-01", "03.05.2026", "5/3/2026", "2026-05-03T25:00", "2026-05-03T14:60",
    "2026-05-03T14:30+25:00", "2026-05-03\0", "\ud800", "x" * 100_000, "2026-05-03T14:30 Lisbon", 0, 1_777_777_777, 1.5,
    True, b"2026-05-03", (2026, 5, 3), timedelta(1), float("nan"), object,
)  # fmt: skip


@pytest.mark.parametrize("value", INVALID, ids=lambda value: ascii(value)[:30])
def test_invalid_time_is_rejected(value: object) -> None:
    with pytest.raises(InvalidTime, match=r"(?s)is not a date.*(write|give) "):
        parse_time(value)


@pytest.mark.parametrize(
    "value",
    [
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:00:00-12:00",
        datetime(9999, 12, 31, 23, 30, tzinfo=timezone(timedelta(hours=-1))),
    ],
)
def test_time_must_be_in_the_calendar_in_utc(value: object) -> None:
    with pytest.raises(InvalidTime, match=r"^\d\S+ is not a date of the years 1 to 9999 in UTC; give one"):
        parse_time(value)


@pytest.mark.parametrize(
    "value", ["0001-01-01T14:00+14:00", "0001-01-01", "9999-12-31T23:59:59.999999", "9999-12-31T11:59:59-12:00"]
)
def test_time_of_a_float_stays_in_the_calendar(value: str) -> None:
    parsed = parse_time(value)
    assert abs(from_epoch_seconds(parsed.timestamp()) - parsed) < timedelta(milliseconds=1)
    assert from_epoch_seconds(-1e12) == parse_time("0001-01-01")
