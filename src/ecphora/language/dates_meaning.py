"""What the phrases of the grammar of ``dates`` mean: calendar arithmetic, then one small function for each reading.

Not a reader of text: the patterns are in ``dates``, and a function here sees one match, the moment of speaking and, if
the phrase stands before another date ("the week before ..."), that one's span. What no calendar holds raises
``ValueError`` or ``OverflowError``, which ``dates`` turns into no date.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

from ..model import Interval
from ..patterns import lazy_pattern

_Match = re.Match[str]

STEPS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(1), "week": timedelta(7)}
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def begin(unit: str, moment: datetime, count: int = 0) -> datetime:
    """Give the start of the unit of time that is ``count`` after the one which holds the moment."""
    if size := MONTHS.get(unit):
        index = ((moment.year * 12 + moment.month - 1) // size + count) * size
        return midnight(moment).replace(year=index // 12, month=index % 12 + 1, day=1)
    start = midnight(moment)
    if unit in {"hour", "minute"}:
        start = start.replace(hour=moment.hour, minute=moment.minute if unit == "minute" else 0)
    elif unit == "week":
        start -= timedelta(days=moment.weekday())
    return start + STEPS[unit] * count


def units(unit: str, moment: datetime, first: int = 0, last: int | None = None) -> Interval:
    """Give the calendar units from the ``first`` to the ``last``, counted from the one which holds the moment."""
    last = first if last is None else last
    if unit == "weekend":
        return Interval(begin("week", moment, first) + timedelta(days=5), begin("week", moment, last + 1))
    return Interval(begin(unit, moment, first), begin(unit, moment, last + 1))


def on(moment: datetime, year: int, month: int, day: int = 1) -> datetime:
    return midnight(moment).replace(year=year, month=month, day=day)


def season(name: str, year: int, moment: datetime) -> Interval:
    return units("month", on(moment, year, SEASONS[name]), 0, 2)


def part(name: str, day: Interval) -> Interval:
    """Give the morning, afternoon, evening or night of a day; what is not one day stays as it is."""
    if day.end - day.start != timedelta(days=1):
        return day
    first, last = PARTS[name]
    return Interval(day.start + timedelta(hours=first), day.start + timedelta(hours=last))


def _try(make: Callable[[int], Interval], year: int) -> Interval | None:
    try:
        return make(year)
    except (ValueError, OverflowError):
        return None


def yearly(make: Callable[[int], Interval], said: datetime, lean: int) -> Interval | None:
    """Choose among a date's yearly returns the latest begun (-1), the first not over (1) or the nearest (0)."""
    spans: list[Interval] = []
    for reach in (1, 8):  # February 29 returns within eight years
        spans = [span for year in range(said.year - reach, said.year + reach + 1) if (span := _try(make, year))]
        if len(spans) == 3:
            break
    if lean < 0:
        return max((span for span in spans if span.start <= said), key=lambda span: span.start, default=None)
    if lean > 0:
        return min((span for span in spans if span.end > said), key=lambda span: span.start, default=None)
    return min(spans, key=lambda span: max(span.start - said, said - span.end), default=None)


def weekday(index: int, said: datetime, lean: int, *, today: bool = False) -> Interval:
    """Give the nearest such weekday before the day (-1) or else after it, or that day itself if ``today`` may count."""
    if today and said.weekday() == index:
        return units("day", said)
    if lean < 0:
        return units("day", said, -((said.weekday() - index - 1) % 7 + 1))
    return units("day", said, (index - said.weekday() - 1) % 7 + 1)


def turned(make: Callable[[int], Interval], said: datetime, current: int, turn: int) -> Interval | None:
    """Choose the latest that is over, this year's, or the first that has not begun."""
    if not turn:
        return make(current)
    spans = [make(year) for year in range(current - 2, current + 3)]
    if turn < 0:
        return max((span for span in spans if span.end <= said), key=lambda span: span.end)
    return min((span for span in spans if span.start > said), key=lambda span: span.start)


# Words ----------------------------------------------------------------------------------------------------------------

_COUNTING = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
NUMBERS = {"a": 1, "an": 1} | {word: value for value, word in enumerate(_COUNTING.split(), start=1)}
NUMBERS |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_FEW = {"couple": (2, 2), "few": (2, 5), "several": (3, 7)}
_TURNS = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "upcoming": 1}
_NTH = {"first": 0, "second": 1, "third": 2, "fourth": 3, "last": -1}
TENS = {"twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70, "eighties": 80}
TENS |= {"nineties": 90}
_MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTH_NUMBERS = {name: number for number, name in enumerate(_MONTH_NAMES.split(), start=1)}
_WEEKDAY_NAMES = "mon tue wed thu fri sat sun"
_WEEKDAY_NUMBERS = {name: number for number, name in enumerate(_WEEKDAY_NAMES.split())}
_THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_FIRST = datetime(1, 1, 2)  # noqa: DTZ001 - the zone comes with the moment
_LAST = datetime(9999, 12, 30)  # noqa: DTZ001

_AHEAD_WORDS = "will won't shall should gonna wanna plan plans planning hope hopes hoping let's upcoming booked"
_PAST_WORDS = (
    "was were did didn't had went got came saw made took met said told bought gave found left felt began ran won lost "
    "ate held kept led wrote sent spent taught thought brought built caught chose drove flew grew heard knew paid rode "
    "sang slept spoke stood swam threw understood woke wore became been born"
)
_PRESENT_WORDS = "need feed speed seed indeed exceed proceed bleed breed weed deed hundred sacred bed red shed"
_FUTURE = frozenset(_AHEAD_WORDS.split())
_PAST = frozenset(_PAST_WORDS.split())
_NOT_PAST = frozenset(_PRESENT_WORDS.split())
_AHEAD = lazy_pattern(r"going to |want(?:s|ing)? to |see you|looking forward|can't wait|'ll ")
_AHEAD_CJK = lazy_pattern(
    "[将將会會](?=[去来來再见見在有和跟到于要])|打算|计划|計畫|准备|つもり|予定|ましょう|でしょう"
)
_PAST_CJK = lazy_pattern("[了过過刚剛](?![去来解])|ました|でした|だった|った|んだ")
_WORD = lazy_pattern("[a-z']+")
_SENTENCE = lazy_pattern(r"[.!?\n。！？]")


def _lean(match: _Match) -> int:
    """Tell whether the words around a date speak of the past (-1), of the future (1) or do not say (0)."""
    before, after = (
        match.string[max(0, match.start() - 120) : match.start()],
        match.string[match.end() : match.end() + 120],
    )
    sentence = f"{_SENTENCE.split(before)[-1]} {_SENTENCE.split(after, maxsplit=1)[0]}"
    return _tense(sentence) or _tense(f"{before} {after}")


def _tense(text: str) -> int:
    text = text.lower().replace("’", "'")
    words = set(_WORD.findall(text))
    foreign = not text.isascii()
    if words & _FUTURE or _AHEAD.search(text) or (foreign and _AHEAD_CJK.search(text)):
        return 1
    past = words & _PAST or any(word.endswith("ed") and word not in _NOT_PAST for word in words)
    return -1 if past or (foreign and _PAST_CJK.search(text)) else 0


def _count(match: _Match) -> tuple[int, int]:
    """Read "3", "two or three", "a couple of" or "a few" as the least and the most that are meant."""
    words = (match["low"].lower(), (match["high"] or "").lower())
    for word, bounds in _FEW.items():
        if word in words[0]:
            return bounds
    low, high = (NUMBERS[word] if word in NUMBERS else int(word or 0) for word in words)
    return low, max(low, high)


def _unit(match: _Match) -> tuple[str, int]:
    """Read a unit of time, and of how many calendar units it consists."""
    unit = match["unit"].lower()
    return {"night": ("day", 1), "fortnight": ("week", 2)}.get(unit, (unit, 1))


def _turn(match: _Match) -> int:
    return _TURNS[match["which"].lower().split()[-1]]


def _month_number(text: str) -> int:
    return int(text) if text.isdigit() else _MONTH_NUMBERS[text[:3].lower()]


def _weekday_number(match: _Match) -> int:
    return _WEEKDAY_NUMBERS[match["weekday"][:3].lower()]


def _year_number(match: _Match, said: datetime) -> int | None:
    """Read "2024", "'24" or "last year"."""
    parts = match.groupdict()
    if text := parts.get("year"):
        year = int(text.strip("'’"))
        if len(text.strip("'’")) > 2:
            return year
        return year + (2000 if year <= said.year % 100 + 10 else 1900)
    if turn := parts.get("rel"):
        far = 2 if (parts.get("far") or "").lower().startswith("from") else -2
        return said.year + {"last": -1, "this": 0, "next": 1}.get(turn.lower(), far)
    return None


# Readings of a match alone --------------------------------------------------------------------------------------------


def nothing(_match: _Match, _said: datetime) -> None:
    return None


def named_day(match: _Match, said: datetime) -> Interval:
    word = match["day"].lower()
    day = units("day", said, {"yesterday": -1, "tomorrow": 1}.get(word, 0))
    return part("night", day) if word == "tonight" else day


def date(match: _Match, said: datetime) -> Interval | None:
    """Read a month, or a day or days of one, of a year that is named or to be guessed."""
    parts, year = match.groupdict(), _year_number(match, said)
    month, day, last = _month_number(match["month"]), int(parts.get("day") or 0), int(parts.get("until") or 0)
    if month > 12 and "/" in match[0] and "cut" not in parts:
        month, day = day, month

    def make(year: int) -> Interval:
        if not day:
            return units("month", on(said, year, month))
        return Interval(on(said, year, month, day), on(said, year, month, last or day) + timedelta(days=1))

    return yearly(make, said, _lean(match)) if year is None else make(year)


def instant(match: _Match, said: datetime) -> Interval:
    """Read an ISO 8601 date and time as the minute or the second it names."""
    clock = match["clock"]
    at = datetime.strptime(clock, "%H:%M:%S" if len(clock) > 5 else "%H:%M")  # noqa: DTZ007 - only the clock
    day = on(said, int(match["year"]), int(match["month"]), int(match["day"]))
    start = day.replace(hour=at.hour, minute=at.minute, second=at.second)
    if (zone := match["zone"]) and said.tzinfo:
        hours, minutes = (0, 0) if zone in "zZ" else (int(zone[:3]), int(zone[0] + zone[-2:]))
        start = start.replace(tzinfo=timezone(timedelta(hours=hours, minutes=minutes))).astimezone(said.tzinfo)
    return Interval(start, start + timedelta(seconds=1 if len(clock) > 5 else 60))


def year(match: _Match, said: datetime) -> Interval:
    return units("year", on(said, _year_number(match, said) or 0, 1))


def decade(match: _Match, said: datetime) -> Interval:
    word = match["decade"].lower()
    year = TENS.get(word) or int(word)
    if year < 100:
        year += said.year // 100 * 100
        year -= 100 * (year > said.year)
    return units("decade", on(said, year, 1))


def ago(match: _Match, said: datetime) -> Interval:
    (low, high), (unit, size) = _count(match), _unit(match)
    return units(unit, said, -high * size, -low * size)


def ahead(match: _Match, said: datetime) -> Interval:
    (low, high), (unit, size) = _count(match), _unit(match)
    return units(unit, said, low * size, high * size)


def within(match: _Match, said: datetime) -> Interval | None:
    """Read "in two weeks", which in the past is a length and no date."""
    return None if _lean(match) < 0 else ahead(match, said)


def rolling(match: _Match, said: datetime) -> Interval:
    """Read "the past three months" or "the next few days": from one day so far away up to now, or from now on."""
    (_, high), (unit, size) = _count(match) if match["low"] else (1, 1), _unit(match)
    turn = _turn(match)
    if unit in MONTHS:
        month = begin("month", said, turn * high * size * MONTHS[unit])
        far = month + timedelta(days=min(said.day, (begin("month", month, 1) - month).days) - 1)
    else:
        far = said + STEPS["week" if unit == "weekend" else unit] * (turn * high * size)
    far = far if unit in {"hour", "minute"} else midnight(far)
    return Interval(far, said) if turn < 0 else Interval(said, far + timedelta(days=1))


def turned_unit(match: _Match, said: datetime) -> Interval:
    return units(match["unit"].lower(), said, _turn(match))


def turned_twice(match: _Match, said: datetime) -> Interval:
    """Read "the week before last" or "the week after next"."""
    unit, _ = _unit(match)
    span = units(unit, said, -2 if match["side"].lower() == "before" else 2)
    return part("night", span) if match["unit"].lower() == "night" else span


def turned_part(match: _Match, said: datetime) -> Interval:
    return part(match["part"].lower(), units("day", said, _turn(match)))


def turned_weekday(match: _Match, said: datetime) -> Interval:
    index, which = _weekday_number(match), match["which"].lower()
    if which == "next":
        return units("day", begin("week", said, 1), index)
    if which == "this":
        return weekday(index, said, _lean(match), today=True)
    return weekday(index, said, _turn(match))


def turned_month(match: _Match, said: datetime) -> Interval | None:
    if _year_number(match, said) is not None:
        return date(match, said)
    month = _month_number(match["month"])
    return turned(lambda year: units("month", on(said, year, month)), said, said.year, _turn(match))


def turned_season(match: _Match, said: datetime) -> Interval | None:
    name = match["season"].lower()
    current = said.year - (name == "winter" and said.month < 3)
    return turned(lambda year: season(name, year, said), said, current, _turn(match))


def dated_season(match: _Match, said: datetime) -> Interval:
    return season(match["season"].lower(), _year_number(match, said) or 0, said)


def bare_weekday(match: _Match, said: datetime) -> Interval:
    return weekday(_weekday_number(match), said, _lean(match))


def weekday_of_week(match: _Match, said: datetime) -> Interval:
    far = -1 if match.groupdict().get("side", "").lower() == "ago" else 1
    weeks = _turn(match) if match["which"] else far * _count(match)[0]
    return units("day", begin("week", said, weeks), _weekday_number(match))


def day_of_month(match: _Match, said: datetime) -> Interval:
    month = begin("month", said, _turn(match))
    return units("day", month.replace(day=int(match["day"])))


def other_day(_match: _Match, said: datetime) -> Interval:
    return units("day", said, -7, -1)


# Readings of a match and of the date behind it ------------------------------------------------------------------------


def same(_match: _Match, inner: Interval, _said: datetime) -> Interval:
    return inner


def since(_match: _Match, inner: Interval, said: datetime) -> Interval:
    return Interval(inner.start, said)


def before(_match: _Match, inner: Interval, said: datetime) -> Interval:
    return Interval(_FIRST.replace(tzinfo=said.tzinfo), inner.start)


def after(_match: _Match, inner: Interval, said: datetime) -> Interval:
    return Interval(inner.end, _LAST.replace(tzinfo=said.tzinfo))


def until(match: _Match, inner: Interval, said: datetime) -> Interval:
    """Read "until": from now on if it lies ahead, else from ever."""
    return Interval(said, inner.end) if inner.end > said else before(match, Interval(inner.end, inner.end), said)


def third(match: _Match, inner: Interval, _said: datetime) -> Interval:
    """Give the early, middle or late third of at least a week; of a month the tens of days."""
    place = _THIRDS[(match["third"] or match["edge"]).lower()]
    days = (inner.end - inner.start).days
    months = (inner.end.year - inner.start.year) * 12 + inner.end.month - inner.start.month
    if months % 3 == 0 and months:
        step = months // 3
        return units("month", inner.start, place * step, (place + 1) * step - 1)
    if days < 7:
        return inner
    width = timedelta(days=10 if months == 1 else days // 3)
    return Interval(inner.start + place * width, inner.end if place == 2 else inner.start + (place + 1) * width)


def shifted(match: _Match, inner: Interval, _said: datetime) -> Interval:
    """Read "the week before May 3" or "two days after" it."""
    (low, high), (unit, size) = _count(match) if "low" in match.groupdict() else (1, 1), _unit(match)
    if match["side"].lower() == "before":
        return units(unit, inner.start, -high * size, -low * size)
    return units(unit, inner.end - timedelta(microseconds=1), low * size, high * size)


def weekday_beside(match: _Match, inner: Interval, _said: datetime) -> Interval:
    index = _weekday_number(match)
    if match["side"].lower() == "before":
        return weekday(index, inner.start, -1)
    return weekday(index, inner.end - timedelta(microseconds=1), 1)


def holding(match: _Match, inner: Interval, _said: datetime) -> Interval:
    """Read "the week of June 5"; of more than a day there is no one week."""
    one = inner.end - inner.start <= timedelta(days=1)
    return units(match["unit"].lower(), inner.start) if one else inner


def part_of(match: _Match, inner: Interval, _said: datetime) -> Interval:
    return part(match["part"].lower(), inner)


def nth(match: _Match, inner: Interval, _said: datetime) -> Interval | None:
    """Read "the first weekend of August" or "the last Friday in May 2024"."""
    place, unit = _NTH[match["nth"].lower()], (match["unit"] or "").lower()
    if unit in {"day", "week"}:
        width = timedelta(days=7 if unit == "week" else 1)
        start = inner.end - width if place < 0 else inner.start + place * width
        return Interval(start, start + width)
    index = 5 if unit else _weekday_number(match)
    if place < 0:
        start = weekday(index, inner.end, -1).start
    else:
        start = weekday(index, inner.start, 1, today=True).start + timedelta(days=7 * place)
    return Interval(start, start + timedelta(days=2 if unit else 1))
