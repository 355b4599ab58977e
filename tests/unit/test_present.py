"""The present: what was just stored is there as of now, however it is written, and a model is told which day it is."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ecphora import HashingEmbedder, Memory
from ecphora.testing import FakeClock

FAR_ZONES = ("Pacific/Kiritimati", "Etc/GMT+12")
"""The zones that are the most hours ahead of UTC and behind it: it is never the same day in both."""
PRESENT = """
import datetime as dt, sys
from ecphora import HashingEmbedder, Memory

FORMS = {
    "aware": lambda: dt.datetime.now(dt.UTC),
    "local": dt.datetime.now,
    "day": dt.date.today,
    "text": lambda: dt.datetime.now().isoformat(),
    "text of the day": lambda: dt.date.today().isoformat(),
    "text to the minute": lambda: dt.datetime.now().isoformat(timespec="minutes"),
    "text to the second": lambda: dt.datetime.now().isoformat(timespec="seconds"),
    "text to the millisecond": lambda: dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
}
memory = Memory(sys.argv[1], embedder=HashingEmbedder(16))
for name, now in FORMS.items():
    stored = memory.remember(f"I swam at dawn, {name}.").id
    for clock in ("as_of", "known_at"):
        if stored not in [hit.id for hit in memory.recall("Did I swim at dawn?", limit=20, **{clock: now()})]:
            print(name, clock)
"""


@pytest.mark.slow
@pytest.mark.parametrize("zone", FAR_ZONES)
def test_present_hides_nothing(tmp_path: Path, zone: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PRESENT, str(tmp_path / "m.db")],
        env={**os.environ, "TZ": zone},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == ""


def test_tool_says_which_day_it_is_where_the_user_is(tmp_path: Path) -> None:
    clock = FakeClock(datetime(2026, 5, 3, 12, 30, tzinfo=UTC))
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), clock=clock, zone="Pacific/Kiritimati") as memory:
        tools = memory.tools()
        tools.call("remember", {"texts": ["I swam."], "happened_at": "2026-05-04"})
        for arguments in ({}, {"after": "2026-05-05"}):
            reply = tools.call("recall", {"question": "Did I swim?", **arguments})
            assert "Today is 2026-05-04 02:30, Monday (Pacific/Kiritimati, UTC+14:00)." in reply
        assert "I swam." in tools.call("recall", {"question": "Did I swim?", "after": "2026-05-04"})
