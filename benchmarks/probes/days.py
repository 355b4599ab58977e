"""Probes about days: a chat of many days and a diary, asked by their days, in seven languages."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import cycle
from random import Random

from ecphora_bench.probes.probe import Form, Half, Kind

from .dates import write_day, write_days_ago, write_last_weekday
from .draw import Draw
from .lists import Entries, Lists, read_sections
from .worlds import Draft

LANGUAGES = ("en", "de", "es", "fr", "pt", "zh", "ja")
CHAT_DAYS, MESSAGES = 60, 3
DIARY_DAYS = 175
GAPS = 0.1
"""The part of the days on which nothing is told."""
TOPIC_DAYS = 13
"""The days on which the diary is about a topic."""
EXTRAS = 0.5
"""The part of the entries that have a second sentence."""


@dataclass(slots=True)
class Diary:
    """A world of days: what was told on which, and what a day's question has no answer."""

    draft: Draft
    words: Entries
    last: date
    told: dict[date, list[int]] = field(default_factory=dict)
    topics: dict[str, dict[date, int]] = field(default_factory=dict)
    earlier: dict[date, int] = field(default_factory=dict)
    entries: set[str] = field(default_factory=set)

    @property
    def draw(self) -> Draw:
        """The draws of the world."""
        return self.draft.draw

    @property
    def space(self) -> str:
        """What stands between two sentences."""
        return "" if self.draft.language in {"zh", "ja"} else " "

    @property
    def now(self) -> datetime:
        """The time of the questions: the evening of the last day."""
        return datetime.combine(self.last, time(22), UTC)

    def tell(self, day: date, text: str, hour: int = 20) -> int:
        """Tell something on a day, stating it in the text if the form has no times."""
        if self.draft.form is Form.STRINGS:
            text = f"{write_day(self.draw.pick('stated'), day, self.draft.language)}{self.space}{text}"
        elif self.draft.form is Form.MCP:
            text = f"{self.draw.lists.get('user')[0]}{self.space}{text}"
        if self.draft.language == "es":
            text = text.replace(" de el ", " del ").replace(" a el ", " al ")
        when = datetime.combine(day, time(hour, self.draw.rng.randrange(60)), UTC)
        return self.draft.tell(text, when)

    def entry(self) -> str:
        """Something that may happen on a day, not told before."""
        while True:
            text = self.draw.fill(self.draw.pick("diary"))
            if self.draw.chance(EXTRAS):
                text = f"{text}{self.space}{self.draw.rng.choice(self.draw.lists.get('extra'))}"
            if text not in self.entries:
                self.entries.add(text)
                return text

    def ask(self, sort: str, when: str, gold: list[int], resembles: str | None = None, topic: str = "") -> str:
        """Ask about a time as the language writes it."""
        question = self.draw.pick(f"topic {topic} question" if topic else "question").replace("<when>", when)
        return self.draft.ask(sort, question[:1].upper() + question[1:], gold, self.now, resembles)

    def on(self, day: date) -> str:
        """A day in one of the notations."""
        return write_day(self.draw.pick("date"), day, self.draft.language)


def make(half: Half, worlds: int, rng: Random) -> Iterator[Draft]:
    """The worlds of this kind: of each language a chat and a diary, in one form after the other."""
    chat_forms, diary_forms = cycle((Form.EPISODES, Form.MCP, Form.MESSAGES)), cycle(Form)
    for number in range(worlds):
        for language in LANGUAGES:
            yield _chat(_start(f"chat-{number}", language, next(chat_forms), half, rng))
            yield _diary(_start(f"diary-{number}", language, next(diary_forms), half, rng))
        next(chat_forms), next(diary_forms)  # another form for each language


def _start(name: str, language: str, form: Form, half: Half, rng: Random) -> Diary:
    draw = Draw(rng, Lists(half, ("names", f"days.{language}")))
    draft = Draft(f"days-{half}-{language}-{form}-{name}", Kind.DAYS, form, half, draw, language)
    monday = date(2026, 6, 1) + timedelta(weeks=rng.randrange(26))
    return Diary(draft, read_sections(f"days.{language}"), monday + timedelta(days=rng.randrange(2)))


def _chat(diary: Diary) -> Draft:
    """Several messages on each day; asked what was told on a day."""
    draw = diary.draw
    days = [diary.last - timedelta(days=back) for back in range(CHAT_DAYS + 10, -1, -1)]
    gaps = draw.rng.sample(days[2:-2], 10)
    for day in days:
        if day not in gaps:
            diary.told[day] = [diary.tell(day, diary.entry(), hour) for hour in (9, 13, 19)[:MESSAGES]]
    asked = [diary.ask("told", diary.on(day), diary.told[day]) for day in draw.rng.sample(sorted(diary.told), 9)]
    for gap in gaps[:4]:
        diary.ask("told", diary.on(gap), [], asked[0])
    return diary.draft


def _diary(diary: Diary) -> Draft:
    """An entry a day; asked by all ways to name a time."""
    _write_diary(diary)
    asked = _ask_by_date(diary)
    if diary.draft.form is not Form.STRINGS:
        _ask_from_today(diary, asked)
        for day, key in diary.earlier.items():
            diary.ask("told later", diary.on(day), [key])
    _ask_by_topic(diary, asked)
    return diary.draft


def _write_diary(diary: Diary) -> None:
    draw = diary.draw
    days = [diary.last - timedelta(days=back) for back in range(DIARY_DAYS, -1, -1)]
    gaps = set(draw.rng.sample(days[5:-14], int(GAPS * len(days))))
    later = draw.rng.sample([gap for gap in sorted(gaps) if gap + timedelta(days=1) not in gaps], 3)
    topics = sorted({name.split()[1] for name in diary.words if name.endswith(f"x {diary.draft.half}")})
    free = [day for day in days if day not in gaps and day - timedelta(days=1) not in later]
    chosen = draw.rng.sample(free, TOPIC_DAYS * len(topics))
    diary.topics = {topic: {} for topic in topics}
    for day in days:
        if day in gaps:
            continue
        if (before := day - timedelta(days=1)) in later and diary.draft.form is not Form.STRINGS:
            key = diary.earlier[before] = diary.tell(day, draw.pick("before"))
        elif day in chosen:
            topic = topics[chosen.index(day) % len(topics)]
            key = diary.topics[topic][day] = diary.tell(day, _topic_entry(diary, topic))
        else:
            key = diary.tell(day, diary.entry())
        diary.told[day] = [key]


def _topic_entry(diary: Diary, topic: str) -> str:
    """An entry about a topic; the same thing may come again, with another second sentence."""
    draw = diary.draw
    text = draw.fill(draw.pick(f"topic {topic} statement"), x=draw.pick(f"topic {topic} x"))
    while text in diary.entries:
        text = f"{text}{diary.space}{draw.pick('extra')}"
    diary.entries.add(text)
    return text


def _ask_by_date(diary: Diary) -> str:
    """Ask by a date, a range of days, and for days on which nothing was told; returns the id of the first."""
    draw, told = diary.draw, diary.told
    after_gap = {day for day in told if day - timedelta(days=1) in diary.earlier}
    plain = [day for day in sorted(told) if day not in after_gap]
    ids = [diary.ask("date", diary.on(day), told[day]) for day in draw.rng.sample(plain, 6)]
    gaps = [day for day in _span(plain[0], plain[-1]) if day not in told and day not in diary.earlier]
    for gap in draw.rng.sample(gaps, 4):
        diary.ask("date", diary.on(gap), [], ids[0])
    starts = [day for day in plain if day.day <= 22 and day < diary.last - timedelta(days=8)]
    for start in draw.rng.sample(starts, 2):
        end = start + timedelta(days=draw.rng.randrange(2, 5))
        gold = [key for day in _span(start, end) for key in told.get(day, [])]
        when = write_day(draw.pick("range"), start, diary.draft.language, until=end)
        diary.ask("range", when, gold)
    return ids[0]


def _ask_from_today(diary: Diary, asked: str) -> None:
    """Ask by yesterday, days ago, a weekday, last week and a month."""
    draw, told, words = diary.draw, diary.told, diary.words
    today, language = diary.last, diary.draft.language
    if (yesterday := today - timedelta(days=1)) in told:
        diary.ask("yesterday", words["yesterday"][0], told[yesterday])
    for back in draw.rng.sample(range(2, 11), 3):
        gold = told.get(today - timedelta(days=back), [])
        diary.ask("days ago", write_days_ago(words, draw.pick("ago"), back), gold, None if gold else asked)
    monday = today - timedelta(days=7 + today.weekday())
    for ahead in draw.rng.sample(range(today.weekday() + 1, 6), 2):
        day = monday + timedelta(days=ahead)
        gold = told.get(day, [])
        diary.ask("weekday", write_last_weekday(words, day), gold, None if gold else asked)
    week = [key for day in _span(monday, monday + timedelta(days=6)) for key in told.get(day, [])]
    diary.ask("week", words["last week"][0], week)
    month = (today.replace(day=1) - timedelta(days=40)).replace(day=1)
    in_month = [key for day, keys in told.items() if (day.year, day.month) == (month.year, month.month) for key in keys]
    diary.ask("month", write_day(words["in month"][0], month, language), in_month)


def _ask_by_topic(diary: Diary, asked: str) -> None:
    """Ask about a topic on a day; and on a day with an entry about something else."""
    draw = diary.draw
    for topic, entries in diary.topics.items():
        id_ = asked
        for day in draw.rng.sample(sorted(entries), 3):
            id_ = diary.ask("topic", diary.on(day), [entries[day]], topic=topic)
        others = [day for day in sorted(diary.told) if not any(day in days for days in diary.topics.values())]
        diary.ask("topic", diary.on(draw.rng.choice(others)), [], id_, topic)


def _span(first: date, last: date) -> list[date]:
    return [first + timedelta(days=day) for day in range((last - first).days + 1)]
