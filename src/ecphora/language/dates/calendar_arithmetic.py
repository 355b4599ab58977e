"""Calendar arithmetic on intervals: units of time, parts of a day, seasons, weekdays and yearly recurrences."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from ...model.types import Interval

UNIT_LENGTHS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(1), "week": timedelta(7)}
UNIT_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
DAY_PART_HOURS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
SEASON_MONTHS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def unit_start(unit: str, moment: datetime, count: int = 0) -> datetime:
    """The start of the unit of time ``count`` units after the unit that contains the moment."""
    if size := UNIT_MONTHS.get(unit):
        index = ((moment.year * 12 + moment.month - 1) // size + count) * size
        return midnight(moment).replace(year=index // 12, month=index % 12 + 1, day=1)
    start = midnight(moment)
    if unit in {"hour", "minute"}:
        start = start.replace(hour=moment.hour, minute=moment.minute if unit == "minute" else 0)
    elif unit == "week":
        start -= timedelta(days=moment.weekday())
    return start + UNIT_LENGTHS[unit] * count


def unit_range(unit: str, moment: datetime, first: int = 0, last: int | None = None) -> Interval:
    """The interval of the calendar units ``first`` to ``last``, counted from the unit that contains the moment."""
    last = first if last is None else last
    if unit == "weekend":
        return Interval(unit_start("week", moment, first) + timedelta(days=5), unit_start("week", moment, last + 1))
    return Interval(unit_start(unit, moment, first), unit_start(unit, moment, last + 1))


def on_date(moment: datetime, year: int, month: int, day: int = 1) -> datetime:
    return midnight(moment).replace(year=year, month=month, day=day)


def month_range(moment: datetime, month: int, first: int, last: int, year: int) -> Interval:
    """The days ``first`` to ``last`` of a month of a year; the whole month if ``first`` is 0."""
    if not first:
        return unit_range("month", on_date(moment, year, month))
    return Interval(on_date(moment, year, month, first), on_date(moment, year, month, last) + timedelta(days=1))


def season_range(name: str, year: int, moment: datetime) -> Interval:
    return unit_range("month", on_date(moment, year, SEASON_MONTHS[name]), 0, 2)


def day_part(name: str, day: Interval) -> Interval:
    """The morning, afternoon, evening or night of a day; an interval that is not one day is returned unchanged."""
    if day.end - day.start != timedelta(days=1):
        return day
    first, last = DAY_PART_HOURS[name]
    return Interval(day.start + timedelta(hours=first), day.start + timedelta(hours=last))


def _make_or_none(make: Callable[[int], Interval], count: int) -> Interval | None:
    try:
        return make(count)
    except (ValueError, OverflowError):
        return None


def resolve_yearly(make: Callable[[int], Interval], reference_time: datetime, tense: int) -> Interval | None:
    """Choose among a date's yearly recurrences the latest begun (-1), the first not over (1) or the nearest (0)."""
    year = reference_time.year
    near = range(year - 1, year + 2)
    is_yearly = all(_make_or_none(make, count) for count in near)
    # February 29 recurs within eight years
    return resolve_recurrence(make, reference_time, near if is_yearly else range(year - 8, year + 9), tense)


def resolve_recurrence(
    make: Callable[[int], Interval], reference_time: datetime, counts: Iterable[int], tense: int
) -> Interval | None:
    """Choose among recurrences the latest begun (-1), the first not over (1) or the nearest (0).

    For the nearest, time that has passed counts twice: what is long over is told in the past tense.
    """
    spans = [span for count in counts if (span := _make_or_none(make, count))]
    if tense < 0:
        return max((span for span in spans if span.start <= reference_time), key=lambda span: span.start, default=None)
    if tense > 0:
        return min((span for span in spans if span.end > reference_time), key=lambda span: span.start, default=None)
    return min(spans, key=lambda span: max(span.start - reference_time, 2 * (reference_time - span.end)), default=None)


def nearest_weekday(index: int, reference_time: datetime, tense: int, *, include_today: bool = False) -> Interval:
    """The nearest such weekday before the day (-1) or else after it, or the day itself if ``include_today``."""
    if include_today and reference_time.weekday() == index:
        return unit_range("day", reference_time)
    if tense < 0:
        return unit_range("day", reference_time, -((reference_time.weekday() - index - 1) % 7 + 1))
    return unit_range("day", reference_time, (index - reference_time.weekday() - 1) % 7 + 1)


def resolve_relative(
    make: Callable[[int], Interval], reference_time: datetime, current: int, offset: int
) -> Interval | None:
    """Choose the latest recurrence that is over (-1), the current year's (0), or the first that has not begun (1)."""
    if not offset:
        return make(current)
    spans = [make(year) for year in range(current - 2, current + 3)]
    if offset < 0:
        return max((span for span in spans if span.end <= reference_time), key=lambda span: span.end)
    return min((span for span in spans if span.start > reference_time), key=lambda span: span.start)
