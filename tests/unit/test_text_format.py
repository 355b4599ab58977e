"""Dates, counts and texts formatted for output."""

from datetime import UTC, datetime

import pytest

from ecphora.model import text_format

AFTERNOON = datetime(2026, 9, 3, 14, 5, tzinfo=UTC)


def test_days_and_minutes_are_written_out() -> None:
    assert text_format.long_day(AFTERNOON) == "3 September 2026"
    assert text_format.short_day(AFTERNOON) == "3 Sep 2026"
    assert text_format.short_minute(AFTERNOON) == "3 Sep 2026 14:05"
    assert text_format.iso_day(AFTERNOON.isoformat()) == "2026-09-03"
    assert text_format.short_day(datetime(812, 5, 1, tzinfo=UTC)) == "1 May 0812"


def test_iso_minute_leaves_out_midnight() -> None:
    assert text_format.iso_minute(AFTERNOON) == "2026-09-03 14:05"
    assert text_format.iso_minute(AFTERNOON.replace(hour=0)) == "2026-09-03 00:05"
    assert text_format.iso_minute(AFTERNOON.replace(hour=0, minute=0)) == "2026-09-03"


@pytest.mark.parametrize(("count", "text"), [(0, "0 memories"), (1, "1 memory"), (1200, "1,200 memories")])
def test_count_has_the_form_of_its_noun(count: int, text: str) -> None:
    assert text_format.count_noun(count, "memory", "memories") == text


@pytest.mark.parametrize(
    ("text", "shown"), [("", ""), ("12345", "12345"), ("123456", "1234…"), ("123 56", "123…"), ("     6", "…")]
)
def test_truncated_text_ends_with_an_ellipsis(text: str, shown: str) -> None:
    assert text_format.truncate(text, 5) == shown


def test_white_space_collapses_to_single_spaces() -> None:
    assert text_format.collapse_whitespace(" a\n\t b  c ") == "a b c"


def test_validity_description_names_its_bounds() -> None:
    unbounded = text_format.describe_validity(is_valid=True, valid_to=None, superseded_by=(), contradicted_by=())
    assert unbounded == ""
    valid = text_format.describe_validity(is_valid=True, valid_to="May", superseded_by=(), contradicted_by=["c"])
    assert valid == "holds until May; contradicted by c"
    ended = text_format.describe_validity(is_valid=False, valid_to="May", superseded_by=["a", "b"], contradicted_by=())
    assert ended == "held until May; superseded by a, b"
