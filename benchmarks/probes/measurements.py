"""Probes about series of near-equal entries: the latest, the first, and the one of a date."""

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random

from ecphora_bench.probes.probe import Form, Half, Kind

from .dates import write_day
from .draw import Draw
from .lists import Lists
from .worlds import FIRST_DAY, SPAN, Draft

GROWING = frozenset({"mileage", "electricity", "tomato", "water", "sunflower"})
"""The series whose values only rise."""
SERIES = 4
"""The series of a world; questions about the others have no answer."""


def make(half: Half, worlds: int, rng: Random) -> Iterator[Draft]:
    """The worlds of this kind, in pairs: what one measures the other does not."""
    lists = Lists(half, ("names", "around", "measurements"))
    for form in Form:
        for number in range(0, worlds, 2):
            series = rng.sample(names := lists.names("range"), len(names))
            pair = [
                Draft(f"measurements-{half}-{form}-{number + place}", Kind.MEASUREMENTS, form, half, Draw(rng, lists))
                for place in range(2)
            ]
            latest: dict[str, tuple[str, str]] = {}
            for draft, part in zip(pair, (series[:SERIES], series[-SERIES:]), strict=True):
                for name in part:
                    latest[name] = _probe_series(draft, name)
            for draft, part in zip(pair, (series[SERIES:], series[:-SERIES]), strict=True):
                for name in part:
                    draft.ask("not measured", latest[name][1], resembles=latest[name][0])
                draft.surround()
            yield from pair


def _probe_series(draft: Draft, name: str) -> tuple[str, str]:
    """Tell a series and ask about it; returns the id and the text of a question about the latest entry or a date."""
    draw = draft.draw
    days = _days(draw.rng)
    values = _values(name, len(days) - 1, draw)
    gap = days.pop(draw.rng.randrange(2, len(days) - 2))
    keys = []
    for day, value in zip(days, values, strict=True):
        text = draw.pick(f"{name} statement").replace("<v>", value)
        if draft.form is Form.STRINGS:
            text = f"{write_day(draw.pick('stated'), day)} {text}"
        keys.append(
            draft.tell(
                text if not draft.has_told(text) else f"{text} Again.",
                FIRST_DAY.replace(hour=19) + (day - FIRST_DAY.date()),
            )
        )
    asked: list[tuple[str, str]] = []

    def ask(what: str, place: int) -> None:
        question = draw.pick(f"{name} {what}").replace("<date>", write_day(draw.pick("notation"), days[place]))
        asked.append((draft.ask(what, question, [keys[place]]), question))

    if draft.form is not Form.STRINGS:
        ask("latest", -1)
        ask("first", 0)
    for place in draw.rng.sample(range(1, len(days) - 1), 5 if draft.form is Form.STRINGS else 3):
        ask("dated", place)
    absent = draw.pick(f"{name} dated").replace("<date>", write_day(draw.pick("notation"), gap))
    draft.ask("dated", absent, resembles=asked[-1][0])
    return asked[0]


def _days(rng: Random) -> list[date]:
    """Nine to sixteen days at uneven distances, the last of them near the end."""
    count = rng.randrange(9, 17)
    return [FIRST_DAY.date() + timedelta(days=day) for day in sorted(rng.sample(range(SPAN.days), count))]


def _values(name: str, count: int, draw: Draw) -> list[str]:
    """Distinct values, written with their decimals, rising if the series does."""
    low, high, step, decimals, *second = map(float, draw.lists.get(f"{name} range"))
    places = draw.rng.sample(range(int((high - low) / step) + 1), count)
    numbers = [low + step * place for place in (sorted(places) if name in GROWING else places)]
    written = [f"{number:.{int(decimals)}f}" for number in numbers]
    if second:
        written = [f"{value}/{draw.rng.randrange(int(second[0]), int(second[1]))}" for value in written]
    return written
