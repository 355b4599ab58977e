"""Writes days as people of a language do."""

from datetime import date

from .lists import Entries, read_sections

ENGLISH_ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


def write_day(template: str, day: date, language: str = "en", *, until: date | None = None) -> str:
    """A day in a notation, such as ``<d>. <month> <yyyy>``; ``<d2>`` and ``<d2th>`` are of ``until``."""
    words = read_sections(f"days.{language}")
    last = until or day
    values = {
        "d": str(day.day),
        "dd": f"{day.day:02}",
        "d2": str(last.day),
        "dth": f"{day.day}{ENGLISH_ENDINGS.get(day.day, 'th')}",
        "d2th": f"{last.day}{ENGLISH_ENDINGS.get(last.day, 'th')}",
        "m": str(day.month),
        "mm": f"{day.month:02}",
        "month": words["months"][day.month - 1],
        "mon": words["months"][day.month - 1][:3],
        "monthword": words["day words"][day.month - 1],
        "yyyy": str(day.year),
        "word": words["day words"][day.day - 1],
        "weekday": words["weekdays"][day.weekday()],
    }
    for name, value in values.items():
        template = template.replace(f"<{name}>", value)
    return template


def write_last_weekday(words: Entries, day: date) -> str:
    """The weekday of a day of last week: "last Tuesday"."""
    entries = words["last weekday"]
    return entries[day.weekday() % len(entries)].replace("<weekday>", words["weekdays"][day.weekday()])


def write_days_ago(words: Entries, template: str, days: int) -> str:
    """A number of days, 2 to 10, ago, in figures or in words."""
    return template.replace("<nword>", words["number words"][days - 2]).replace("<n>", str(days))
