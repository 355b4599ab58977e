"""What was just stored is there as of now, however a caller writes the present, wherever the machine is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
