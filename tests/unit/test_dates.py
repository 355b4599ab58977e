"""``time_mentions``: tables of phrases and of look-alikes, and properties of any text."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.dates.mentions import time_mentions
from ecphora.model.types import Interval

REFERENCE_TIME = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)  # a Monday
FIRST_DAY, LAST_DAY = "0001-01-02", "9999-12-30"
NOW = "2023-05-08 13:56"

PHRASES = [
    # days
    ("yesterday", "2023-05-07", "2023-05-08"),
    ("today", "2023-05-08", "2023-05-09"),
    ("tomorrow", "2023-05-09", "2023-05-10"),
    ("the day before yesterday", "2023-05-06", "2023-05-07"),
    ("the day after tomorrow", "2023-05-10", "2023-05-11"),
    ("the other day", "2023-05-01", "2023-05-08"),
    ("last night", "2023-05-07 18:00", "2023-05-08 06:00"),
    ("this morning", "2023-05-08 05:00", "2023-05-08 12:00"),
    ("tonight", "2023-05-08 18:00", "2023-05-09 06:00"),
    ("yesterday morning", "2023-05-07 05:00", "2023-05-07 12:00"),
    ("tomorrow in the afternoon", "2023-05-09 12:00", "2023-05-09 18:00"),
    ("last Friday evening", "2023-05-05 17:00", "2023-05-06"),
    # weekdays
    ("last Saturday", "2023-05-06", "2023-05-07"),
    ("last Monday", "2023-05-01", "2023-05-02"),
    ("next Friday", "2023-05-19", "2023-05-20"),
    ("this Saturday", "2023-05-13", "2023-05-14"),
    ("this past Sunday", "2023-05-07", "2023-05-08"),
    ("the coming Friday", "2023-05-12", "2023-05-13"),
    ("we met on Saturday", "2023-05-06", "2023-05-07"),
    ("We'll meet on Saturday!", "2023-05-13", "2023-05-14"),
    ("on Sat", "2023-05-13", "2023-05-14"),
    ("see you Thursday", "2023-05-11", "2023-05-12"),
    ("Friday last week", "2023-05-05", "2023-05-06"),
    ("the Friday before 22 October 2023", "2023-10-20", "2023-10-21"),
    # weeks, months, years around the moment
    ("last week", "2023-05-01", "2023-05-08"),
    ("this week", "2023-05-08", "2023-05-15"),
    ("next week", "2023-05-15", "2023-05-22"),
    ("the week before last", "2023-04-24", "2023-05-01"),
    ("last weekend", "2023-05-06", "2023-05-08"),
    ("next weekend", "2023-05-20", "2023-05-22"),
    ("last month", "2023-04-01", "2023-05-01"),
    ("next month", "2023-06-01", "2023-07-01"),
    ("last year", "2022-01-01", "2023-01-01"),
    ("last quarter", "2023-01-01", "2023-04-01"),
    ("last July", "2022-07-01", "2022-08-01"),
    ("next July", "2023-07-01", "2023-08-01"),
    ("I went there in July", "2022-07-01", "2022-08-01"),
    ("we are going to move in July", "2023-07-01", "2023-08-01"),
    ("in July", "2023-07-01", "2023-08-01"),
    ("the 5th of last month", "2023-04-05", "2023-04-06"),
    ("last spring", "2022-03-01", "2022-06-01"),
    ("last summer", "2022-06-01", "2022-09-01"),
    ("last autumn", "2022-09-01", "2022-12-01"),
    ("last fall", "2022-09-01", "2022-12-01"),
    ("last winter", "2022-12-01", "2023-03-01"),
    ("this summer", "2023-06-01", "2023-09-01"),
    # counts
    ("3 days ago", "2023-05-05", "2023-05-06"),
    ("two weeks ago", "2023-04-24", "2023-05-01"),
    ("a couple of days ago", "2023-05-06", "2023-05-07"),
    ("a few days ago", "2023-05-03", "2023-05-07"),
    ("two or three days ago", "2023-05-05", "2023-05-07"),
    ("3 months ago", "2023-02-01", "2023-03-01"),
    ("ten years ago", "2013-01-01", "2014-01-01"),
    ("an hour ago", "2023-05-08 12:00", "2023-05-08 13:00"),
    ("in two weeks", "2023-05-22", "2023-05-29"),
    ("a month from now", "2023-06-01", "2023-07-01"),
    ("over the past three months", "2023-02-08", NOW),
    ("the next few days", NOW, "2023-05-14"),
    ("the week before 9 June 2023", "2023-05-29", "2023-06-05"),
    ("two days after May 3", "2023-05-05", "2023-05-06"),
    # dates
    ("2024-05-03", "2024-05-03", "2024-05-04"),
    ("5/3/2024", "2024-05-03", "2024-05-04"),
    ("25/3/2024", "2024-03-25", "2024-03-26"),
    ("3.5.2024", "2024-05-03", "2024-05-04"),
    ("2024-05-03T14:30", "2024-05-03 14:30", "2024-05-03 14:31"),
    ("2024-05-03T14:30:05+02:00", "2024-05-03 12:30:05", "2024-05-03 12:30:06"),
    ("May 3", "2023-05-03", "2023-05-04"),
    ("3rd of May 2024", "2024-05-03", "2024-05-04"),
    ("May 3rd, 2024", "2024-05-03", "2024-05-04"),
    ("Saturday, May 6, 2023", "2023-05-06", "2023-05-07"),
    ("May 3-5, 2024", "2024-05-03", "2024-05-06"),
    ("29 Feb", "2024-02-29", "2024-03-01"),
    ("July 2023", "2023-07-01", "2023-08-01"),
    ("May 2024", "2024-05-01", "2024-06-01"),
    ("May last year", "2022-05-01", "2022-06-01"),
    ("in 2019", "2019-01-01", "2020-01-01"),
    ("the 2019 conference", "2019-01-01", "2020-01-01"),
    ("the summer of 2021", "2021-06-01", "2021-09-01"),
    ("the 1990s", "1990-01-01", "2000-01-01"),
    ("the '90s", "1990-01-01", "2000-01-01"),
    ("the nineties", "1990-01-01", "2000-01-01"),
    # parts and stretches
    ("early March 2024", "2024-03-01", "2024-03-11"),
    ("mid-March 2024", "2024-03-11", "2024-03-21"),
    ("late March 2024", "2024-03-21", "2024-04-01"),
    ("in mid-2019", "2019-05-01", "2019-09-01"),
    ("by the end of May", "2023-05-21", "2023-06-01"),
    ("the week of 5 June", "2023-06-05", "2023-06-12"),
    ("the first weekend of August 2022", "2022-08-06", "2022-08-08"),
    ("the last Friday in May 2024", "2024-05-31", "2024-06-01"),
    ("since 2019", "2019-01-01", NOW),
    ("before 2010", FIRST_DAY, "2010-01-01"),
    ("after 2010", "2011-01-01", LAST_DAY),
    ("until 2010", FIRST_DAY, "2011-01-01"),
    ("from May to July 2024", "2024-05-01", "2024-08-01"),
    ("from November to February 2024", "2023-11-01", "2024-03-01"),
    ("between 2004 and 2005", "2004-01-01", "2006-01-01"),
    ("from 2004 to 2005", "2004-01-01", "2006-01-01"),
    ("in 2004-2005", "2004-01-01", "2006-01-01"),
    # Chinese
    ("昨天", "2023-05-07", "2023-05-08"),
    ("前天", "2023-05-06", "2023-05-07"),
    ("明天", "2023-05-09", "2023-05-10"),
    ("今天", "2023-05-08", "2023-05-09"),
    ("昨天晚上", "2023-05-07 18:00", "2023-05-08 06:00"),
    ("上周", "2023-05-01", "2023-05-08"),
    ("上周五", "2023-05-05", "2023-05-06"),
    ("下周一", "2023-05-15", "2023-05-16"),
    ("上个月", "2023-04-01", "2023-05-01"),
    ("下个月", "2023-06-01", "2023-07-01"),
    ("去年", "2022-01-01", "2023-01-01"),
    ("明年", "2024-01-01", "2025-01-01"),
    ("去年夏天", "2022-06-01", "2022-09-01"),
    ("三天前", "2023-05-05", "2023-05-06"),
    ("两周前", "2023-04-24", "2023-05-01"),
    ("2023年5月7日", "2023-05-07", "2023-05-08"),
    ("二〇二三年五月七日", "2023-05-07", "2023-05-08"),
    ("5月7日", "2023-05-07", "2023-05-08"),
    ("2023年", "2023-01-01", "2024-01-01"),
    ("从2004年到2005年", "2004-01-01", "2006-01-01"),
    ("2019年以来", "2019-01-01", NOW),
    ("九十年代", "1990-01-01", "2000-01-01"),
    # Japanese
    ("昨日", "2023-05-07", "2023-05-08"),
    ("一昨日", "2023-05-06", "2023-05-07"),
    ("明日", "2023-05-09", "2023-05-10"),
    ("今日", "2023-05-08", "2023-05-09"),
    ("先週", "2023-05-01", "2023-05-08"),
    ("来週", "2023-05-15", "2023-05-22"),
    ("先月", "2023-04-01", "2023-05-01"),
    ("来月", "2023-06-01", "2023-07-01"),
    ("昨年", "2022-01-01", "2023-01-01"),
    ("来年", "2024-01-01", "2025-01-01"),
    ("3日前", "2023-05-05", "2023-05-06"),
    ("二週間前", "2023-04-24", "2023-05-01"),
    ("先週の金曜日", "2023-05-05", "2023-05-06"),
    ("金曜日に会いました", "2023-05-05", "2023-05-06"),
    ("令和5年", "2023-01-01", "2024-01-01"),
    ("2004年から2005年まで", "2004-01-01", "2006-01-01"),
]

LOOK_ALIKES = [
    "I may go",
    "we went there",
    "We will see",
    "a march in town",
    "March on!",
    "they march 3 miles",
    "you may 2 things",
    "this may be",
    "the last may be first",
    "he sat down",
    "the sun is up",
    "sun and sat",
    "Mar",
    "a second place",
    "April is nice",
    "a letter from April with love",
    "fall down in spring water",
    "in 2000 steps",
    "between 1000 and 2000 people",
    "version 3.11.7",
    "open 24/7",
    "1/2 cup",
    "call 555-2019",
    "it cost $2019 or 2,019",
    "12,000 years ago",
    "in her 90s",
    "every Saturday",
    "Saturdays",
    "the last day",
    "the week",
    "he learned it in two weeks",
    "31 Feb",
    "31 Feb 2024",
    "2023-13-45",
    "0000-01-01",
    "in the year 99999",
    "99999-01-01",
    "999999 years ago",
    "每周五",
    "毎週金曜日",
    "日本に住む",
    "两个月",
    "以前天天",
    "2023年13月",
    "99999年",
]


def _interval(start: str, end: str) -> Interval:
    return Interval(*(datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (start, end)))


@pytest.mark.parametrize(("text", "start", "end"), PHRASES)
def test_phrase_gives_its_interval(text: str, start: str, end: str) -> None:
    assert time_mentions(text, REFERENCE_TIME) == (_interval(start, end),)


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_look_alike_gives_no_interval(text: str) -> None:
    assert time_mentions(text, REFERENCE_TIME) == ()


def test_intervals_are_in_order_and_unique() -> None:
    text = "Last week I ran. Yesterday I slept, and last week, on 2023-05-03, I rested."
    assert [mention.start.day for mention in time_mentions(text, REFERENCE_TIME)] == [1, 7, 3]


def test_chinese_and_english_phrases_may_mix() -> None:
    assert time_mentions("我昨天 saw it, 下周五 we go", REFERENCE_TIME) == (
        _interval("2023-05-07", "2023-05-08"),
        _interval("2023-05-19", "2023-05-20"),
    )


def test_tense_of_the_sentence_decides_on_past_or_future() -> None:
    assert time_mentions("I was ill. We will meet on Friday.", REFERENCE_TIME) == (
        _interval("2023-05-12", "2023-05-13"),
    )
    assert time_mentions("I'll rest. We talked on Friday.", REFERENCE_TIME) == (_interval("2023-05-05", "2023-05-06"),)


def test_time_zone_is_kept_and_written_zones_are_converted() -> None:
    zone = timezone(timedelta(hours=9))
    (mention,) = time_mentions("2024-05-03T23:30Z", REFERENCE_TIME.astimezone(zone))
    assert mention.start == datetime(2024, 5, 4, 8, 30, tzinfo=zone)
    assert mention.start.tzinfo is zone


def test_open_intervals_work_in_extreme_time_zones() -> None:
    for hours in (-12, 14):
        reference_time = REFERENCE_TIME.astimezone(timezone(timedelta(hours=hours)))
        mentions = time_mentions("before 2010, after 2010", reference_time)
        assert len(mentions) == 2
        assert all(mention.start.astimezone(UTC) < mention.end.astimezone(UTC) for mention in mentions)


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)])
def test_extreme_reference_times_are_valid(moment: datetime) -> None:
    for text, _, _ in PHRASES:
        for mention in time_mentions(text, moment):
            assert mention.start < mention.end


FRAGMENTS = sorted(
    {fragment for text, _, _ in PHRASES for fragment in re.findall(r"\w+|\W", text)} | {"31", "0", "99999", "\ud800"}
)
MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30))]))


@given(
    text=st.text(st.characters(), max_size=80) | st.lists(st.sampled_from(FRAGMENTS), max_size=25).map(" ".join),
    moment=MOMENTS,
)
def test_any_text_gives_valid_intervals(text: str, moment: datetime) -> None:
    for mention in time_mentions(text, moment):
        assert mention.start < mention.end
        assert mention.start.tzinfo is moment.tzinfo
        assert mention.end.tzinfo is moment.tzinfo


@given(fragments=st.lists(st.sampled_from(FRAGMENTS), max_size=25), moment=MOMENTS)
def test_any_joined_fragments_give_valid_intervals(fragments: list[str], moment: datetime) -> None:
    for mention in time_mentions("".join(fragments), moment):
        assert mention.start < mention.end


@given(moment=st.datetimes(datetime(1890, 1, 1), datetime(2110, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_days_weeks_months_and_years_are_adjacent(moment: datetime) -> None:
    for unit in ("week", "month", "year"):
        previous, current, next_ = (time_mentions(f"{turn} {unit}", moment)[0] for turn in ("last", "this", "next"))
        assert previous.end == current.start <= moment < current.end == next_.start
    (yesterday,), (today,), (tomorrow,) = (time_mentions(word, moment) for word in ("yesterday", "today", "tomorrow"))
    assert yesterday.end == today.start <= moment < today.end == tomorrow.start


@given(day=st.dates(date(1000, 1, 1), date(2199, 12, 30)))
def test_any_day_is_parsed_in_all_formats(day: date) -> None:
    name = f"{day:%B}"
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    for text in (
        f"{day:%Y-%m-%d}",
        f"{day.month}/{day.day}/{day.year:04}",
        f"{name} {day.day}, {day.year}",
        f"the {day.day} of {name} {day.year}",
        f"{day.year}年{day.month}月{day.day}日",
    ):
        assert time_mentions(text, REFERENCE_TIME) == (Interval(start, start + timedelta(days=1)),)


@pytest.mark.medium
@pytest.mark.parametrize(
    "fragment",
    [
        "in ",
        "1 ",
        "1",
        "a",
        "last ",
        " ",
        "two days before ",
        "from May ",
        "一",
        "三月",
        "on Sat ",
        "am 3. ",
        "vom Mai ",
        "el día ",
        "el lunes 3 ",
        "le 3 lundi ",
        "no dia ",
        "na segunda ",
    ],
)
def test_parsing_time_is_linear(fragment: str, cpu_growth: Callable[[Callable[[int], object]], float]) -> None:
    assert cpu_growth(lambda size: time_mentions(fragment * (size * 1_500 // len(fragment)), REFERENCE_TIME)) < 9


def test_turn_without_a_date_is_fast() -> None:
    text = "I really love how this team works together, and the food at that small place was just so good and cheap"

    def seconds() -> float:
        start = process_time()
        for _ in range(500):
            time_mentions(text, REFERENCE_TIME)
        return (process_time() - start) / 500

    assert min(seconds() for _ in range(5)) < 200e-6  # about 10 microseconds on an idle machine
