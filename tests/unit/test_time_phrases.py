"""``time_mentions`` in seven languages: every phrase of ``time_phrases/`` at three reference times.

``intervals.txt`` has a line for each meaning, with its interval at each of ``REFERENCE_TIMES``. The file of a language
has a line for each meaning, with texts that name exactly that time.
"""

from datetime import datetime
from pathlib import Path

import pytest

from ecphora.language.dates import time_mentions
from ecphora.model import Interval

FOLDER = Path(__file__).parent / "time_phrases"
REFERENCE_TIMES = tuple(
    map(datetime.fromisoformat, ("2026-03-18T10:00+00:00", "2025-01-05T22:15+09:00", "2024-07-01T08:00-05:00"))
)  # a Wednesday, a Sunday and a Monday
LANGUAGES = ("de", "en", "es", "fr", "ja", "pt", "zh")


def rows(name: str) -> dict[str, list[str]]:
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return {key: cells.split(" | ") for key, _, cells in (line.partition(": ") for line in lines)}


INTERVALS = rows("intervals")
PHRASES = [(language, key, text) for language in LANGUAGES for key, texts in rows(language).items() for text in texts]


def interval(text: str, reference_time: datetime) -> Interval:
    start, end = (datetime.fromisoformat(day).replace(tzinfo=reference_time.tzinfo) for day in text.split(" to "))
    return Interval(start, end)


@pytest.mark.parametrize(("language", "key", "text"), PHRASES)
def test_phrase_gives_its_interval_in_the_zone_of_the_reference_time(language: str, key: str, text: str) -> None:
    for reference_time, expected in zip(REFERENCE_TIMES, INTERVALS[key], strict=True):
        assert time_mentions(text, reference_time) == (interval(expected, reference_time),)
