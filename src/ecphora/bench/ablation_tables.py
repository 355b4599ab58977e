"""Figures of ablations as tables: one of each model for docs/models.md, one of each model and set for the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .comparison import LOST, LOW, LOW_SIMILARITY, MULTI_HOP
from .figures import ALL, ANSWERABLE, UNANSWERABLE, Difference, Figure, Metric, Record
from .report import bounds, state

STATE = "models"
"""The part of a document that says what was measured on what."""

WORDS = (
    "fraction@k: part of the gold evidence among the first k documents, mean over the questions whose number stands "
    "beside the set. all@k: part of the questions with all their evidence there. AUROC: how often an answerable "
    "question has more confidence than an unanswerable one. Refusals: part of the questions with evidence `none`, "
    "false ones of answerable, right ones of unanswerable questions. In brackets: 95 % bootstrap intervals over "
    "questions, of the value where it stands alone, else of the difference beside it: to the first row, after "
    "`published,` to the row `as published`. Differences whose interval leaves out 0 are bold. Where documents were "
    "told at no time, storing them stirred nothing."
)
SPECIAL_WORDS = (
    "ERC: part of all gold among the first K documents, K being how many fired for that question; mean K and precision "
    "(hits in parts of K) beside it; ERC gain: over the first K documents of dense; ERC-MG: rivals take at least as "
    f"many as there is gold. Low similarity: all gold has a cosine below {LOW} with the question; loss: by how much "
    "fraction@30 is less there than over all answerable questions, in parts of these. Gate: the largest confidence "
    f"below which less than {100 * LOST:g} % of the answerable questions lie, and the part of the unanswerable ones "
    "below it."
)


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of figure: how it is headed, and where it is found."""

    heading: str
    metric: Metric
    k: int | None
    category: str


ROWS = (
    Row("fraction@5", Metric.FRACTION, 5, ANSWERABLE),
    Row("fraction@10", Metric.FRACTION, 10, ANSWERABLE),
    Row("fraction@30", Metric.FRACTION, 30, ANSWERABLE),
    Row("fraction@10, multi-hop", Metric.FRACTION, 10, MULTI_HOP),
    Row("all@5", Metric.ALL, 5, ANSWERABLE),
    Row("AUROC", Metric.AUROC, None, ALL),
    Row("false refusals", Metric.FALSE_REFUSAL, None, ANSWERABLE),
    Row("right refusals", Metric.RIGHT_REFUSAL, None, UNANSWERABLE),
    Row("ERC", Metric.ERC, None, ANSWERABLE),
    Row("ERC gain", Metric.ERC_GAIN, None, ANSWERABLE),
    Row("ERC-MG", Metric.ERC_MG, None, ANSWERABLE),
    Row("precision at K", Metric.PRECISION, None, ANSWERABLE),
    Row("mean K", Metric.FIRED, None, ANSWERABLE),
    Row("fraction@30, low similarity", Metric.FRACTION, 30, LOW_SIMILARITY),
    Row("loss, low similarity", Metric.LOSS, 30, LOW_SIMILARITY),
    Row("gate at", Metric.THRESHOLD, None, ANSWERABLE),
    Row("gate refuses rightly", Metric.REFUSED, None, UNANSWERABLE),
)
"""Every kind of figure, in the order of the tables."""
USUAL = 8
"""How many of these stand first, in a table of their own: what is measured of every model."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The figures of one model; of two figures of one place the later counts."""

    model: str
    places: Mapping[tuple[str, str, Metric, int | None, str], Figure]

    @property
    def sets(self) -> list[str]:
        """The sets, in the order they ran."""
        return list(dict.fromkeys(set_ for set_, *_ in self.places))

    @property
    def strategies(self) -> list[str]:
        """The model, its variants, its rivals and the baselines, in the order they were compared."""
        return list(dict.fromkeys(strategy for _, strategy, *_ in self.places))

    def of(self, set_: str, strategy: str, row: Row) -> Figure | None:
        """The figure of a place, None if there is none."""
        return self.places.get((set_, strategy, row.metric, row.k, row.category))

    def held(self, row: Row) -> list[str]:
        """The strategies that have such a figure in any set."""
        return [strategy for strategy in self.strategies if any(self.of(set_, strategy, row) for set_ in self.sets)]


def grids(figures: Sequence[Figure]) -> list[Grid]:
    """The figures of ablations, by model."""
    found: dict[str, dict[tuple[str, str, Metric, int | None, str], Figure]] = {}
    for one in figures:
        if one.model is not None:
            found.setdefault(one.model, {})[one.set, one.strategy, one.metric, one.k, one.category] = one
    return [Grid(model, places) for model, places in found.items()]


# ---- Markdown


def parts(records: Sequence[Record]) -> dict[str, str]:
    """The parts of docs/models.md by name: what was measured on what, then the table of each model."""
    found = grids([figure for record in records for figure in record.figures])
    return {STATE: _measured(records), **{grid.model: _markdown(grid) for grid in found}} if found else {}


def _measured(records: Sequence[Record]) -> str:
    lines: dict[str, dict[str, None]] = {}
    commands: dict[str, None] = {}
    for record in records:
        models = [figure.model for figure in record.figures if figure.model is not None]
        if models:
            lines.setdefault(f"{record.run.date} with {state(record.run)}", {}).update(dict.fromkeys(models))
            commands[record.run.command] = None
    told = [f"{', '.join(models)}: measured {line}." for line, models in lines.items()]
    return "\n\n".join([*told, "```sh\n" + "\n".join(commands) + "\n```", WORDS, SPECIAL_WORDS]) + "\n"


def _markdown(grid: Grid) -> str:
    """A table of all kinds of figures, one column a set."""
    counts = {set_: grid.of(set_, grid.strategies[0], ROWS[0]) for set_ in grid.sets}
    heads = [set_ if one is None else f"{set_} ({one.n})" for set_, one in counts.items()]
    lines = [["", grid.model, *heads], ["---", "---", *("---:" for _ in heads)]]
    for row in ROWS:
        for place, strategy in enumerate(grid.held(row)):
            cells = [_cell(grid.of(set_, strategy, row), counts[set_]) for set_ in grid.sets]
            lines.append([row.heading if place == 0 else "", strategy.replace("|", "\\|"), *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(figure: Figure | None, counted: Figure | None) -> str:
    """A value with its interval, or with its difference and the interval of that; ``=`` where there is none."""
    if figure is None:
        return ""
    against = figure.against
    if against is not None:
        gap = f"**{_gap(figure, against)}**" if _clear(against) else _gap(figure, against)
        low, high = (_signed(figure, bound, 2) for bound in (against.low, against.high))
        return f"{_value(figure)} {gap}" + ("" if _none(against) else f" ({low} to {high})")
    own = "" if counted is not None and counted.n == figure.n else f", n {figure.n}"
    return f"{_value(figure)} ({_bounds(figure)}{own})"


def _none(against: Difference) -> bool:
    return against.value == against.low == against.high == 0


def _clear(against: Difference) -> bool:
    """Whether the interval of a difference leaves out 0."""
    return against.low > 0 or against.high < 0


def _value(figure: Figure) -> str:
    return f"{figure.value:.1f}" if figure.metric is Metric.FIRED else _short(f"{figure.value:.3f}")


def _bounds(figure: Figure) -> str:
    if figure.metric is Metric.FIRED:
        return f"{figure.low:.1f}–{figure.high:.1f}"
    return bounds(figure) if figure.low >= 0 else f"{_short(f'{figure.low:.2f}')} to {_short(f'{figure.high:.2f}')}"


def _gap(figure: Figure, against: Difference) -> str:
    return "=" if _none(against) else _signed(figure, against.value, 3)


def _signed(figure: Figure, value: float, digits: int) -> str:
    """A difference with its sign, and none where it is 0 as far as it is told: ``−.052``."""
    if figure.metric is Metric.FIRED:
        return f"{value:+.1f}".replace("-", "−")
    return _short(f"{value:+.{digits}f}" if round(value, digits) else f"{0:.{digits}f}")


def _short(text: str) -> str:
    """A number with a true minus sign, and without a 0 before its point."""
    for sign in ("", "+", "-"):
        if text.startswith(f"{sign}0."):
            text = sign + text[len(sign) + 1 :]
    return text.replace("-", "−")


# ---- the terminal


def tables(figures: Sequence[Figure]) -> Group:
    """The figures of one set as text tables, one of each model, and one of its paper's own measurements."""
    parts = (ROWS[:USUAL], ROWS[USUAL:])
    made = [_table(grid, set_, rows) for grid in grids(figures) for set_ in grid.sets for rows in parts]
    return Group(*(table for table in made if table.row_count))


def _table(grid: Grid, set_: str, kinds: Sequence[Row]) -> Table:
    rows = [row for row in kinds if any(grid.of(set_, strategy, row) for strategy in grid.strategies)]
    table = Table(title=Text(f"{grid.model} on {set_}"), box=SIMPLE_HEAD, padding=(0, 1), title_justify="left")
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_column(row.heading.replace("@", "\n@").replace(" ", "\n"), justify="right")
    for strategy in grid.strategies:
        figures = [grid.of(set_, strategy, row) for row in rows]
        if any(figures):
            table.add_row(Text(strategy), *map(_text, figures))
    return table


def _text(figure: Figure | None) -> Text:
    """A value, under it its interval or its difference."""
    if figure is None:
        return Text("")
    if figure.against is None:
        return Text.assemble(_value(figure), "\n", (_bounds(figure), "dim"))
    gap = _gap(figure, figure.against)
    return Text.assemble(_value(figure), "\n", (gap, "bold" if _clear(figure.against) else "dim"))
