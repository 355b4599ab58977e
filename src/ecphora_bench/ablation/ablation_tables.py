"""Figures of ablations as tables: one of each model for lab/models.md, one of each model and set for the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ..recall.recall_tables import describe_setup, format_interval
from ..recall.run_records import ALL, ANSWERABLE, UNANSWERABLE, Difference, Figure, Metric, RunRecord
from .comparison import MULTI_HOP
from .synapse_metrics import LOW_COSINE, LOW_SIMILARITY, MAX_FALSE_REFUSALS

SETUP_SECTION = "models"
"""The section of a document that names the code, model and machine of each measurement."""

LEGEND = (
    "recall@k: the fraction of the gold evidence among the first k documents, averaged over the questions. The heading "
    "of a column has their number. all@k: fraction of the questions with all their evidence among the first k. AUROC: "
    "how often an answerable question has a higher confidence than an unanswerable one. Refusals: fraction of the "
    "questions with evidence `none`; false refusals are of answerable questions, true refusals of unanswerable "
    "questions. In brackets: 95% bootstrap intervals over questions. Where a cell has a difference, the interval is "
    "that of the difference; otherwise it is that of the value. Differences are to the first row; in rows that begin "
    "with `published,` they are to the row `as published`. Differences whose interval excludes 0 are bold; `=` is no "
    "difference. When documents without times were stored, they did not stimulate other documents."
)
PAPER_LEGEND = (
    "ERC: fraction of the gold among the first K documents, where K is how many fired for that question; precision: "
    "fraction of these K that are gold; ERC gain: the difference to the first K documents of dense; ERC-MG: like ERC, "
    "but the other strategies return at least as many documents as there are gold documents. Low similarity: questions "
    f"whose gold all has a cosine below {LOW_COSINE} with the question; loss: by how much their recall@30 is lower "
    "than that of all answerable questions, as a fraction of the latter. Gate threshold: the highest confidence below "
    f"which less than {100 * MAX_FALSE_REFUSALS:g}% of the answerable questions lie. Gate refusals: the fraction of "
    "the unanswerable questions below it."
)


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One kind of figure: its heading and its key."""

    heading: str
    metric: Metric
    k: int | None
    category: str


ROWS = (
    FigureRow("recall@5", Metric.RECALL, 5, ANSWERABLE),
    FigureRow("recall@10", Metric.RECALL, 10, ANSWERABLE),
    FigureRow("recall@30", Metric.RECALL, 30, ANSWERABLE),
    FigureRow("recall@10, multi-hop", Metric.RECALL, 10, MULTI_HOP),
    FigureRow("all@5", Metric.RECALL_ALL, 5, ANSWERABLE),
    FigureRow("AUROC", Metric.AUROC, None, ALL),
    FigureRow("false refusals", Metric.FALSE_REFUSAL, None, ANSWERABLE),
    FigureRow("true refusals", Metric.TRUE_REFUSAL, None, UNANSWERABLE),
    FigureRow("ERC", Metric.ERC, None, ANSWERABLE),
    FigureRow("ERC gain", Metric.ERC_GAIN, None, ANSWERABLE),
    FigureRow("ERC-MG", Metric.ERC_MG, None, ANSWERABLE),
    FigureRow("precision at K", Metric.PRECISION, None, ANSWERABLE),
    FigureRow("mean K", Metric.FIRED_COUNT, None, ANSWERABLE),
    FigureRow("recall@30, low similarity", Metric.RECALL, 30, LOW_SIMILARITY),
    FigureRow("loss, low similarity", Metric.LOSS, 30, LOW_SIMILARITY),
    FigureRow("gate threshold", Metric.THRESHOLD, None, ANSWERABLE),
    FigureRow("gate refusals", Metric.GATE_REFUSAL, None, UNANSWERABLE),
)
"""Every kind of figure, in the order of the tables."""
STANDARD_ROW_COUNT = 8
"""How many of these come first, in their own table: those measured for every model."""
PAPER_METRICS = frozenset(row.metric for row in ROWS[STANDARD_ROW_COUNT:]) - {Metric.RECALL}
"""The metrics that only papers' own measurements have, explained by ``PAPER_LEGEND``."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The figures of one model; of two figures with the same key the later counts."""

    model: str
    figures_by_key: Mapping[tuple[str, str, Metric, int | None, str], Figure]

    @property
    def datasets(self) -> list[str]:
        """The sets, in the order they ran."""
        return list(dict.fromkeys(set_ for set_, *_ in self.figures_by_key))

    @property
    def strategies(self) -> list[str]:
        """The model, its variants, the other strategies and the baselines, in the order they were compared."""
        return list(dict.fromkeys(strategy for _, strategy, *_ in self.figures_by_key))

    def figure(self, dataset: str, strategy: str, row: FigureRow) -> Figure | None:
        """The figure of a key; None if there is none."""
        return self.figures_by_key.get((dataset, strategy, row.metric, row.k, row.category))

    def strategies_with(self, row: FigureRow) -> list[str]:
        """The strategies that have such a figure in any set."""
        return [
            strategy for strategy in self.strategies if any(self.figure(set_, strategy, row) for set_ in self.datasets)
        ]


def grids(figures: Sequence[Figure]) -> list[Grid]:
    """The figures of ablations, by model."""
    found: dict[str, dict[tuple[str, str, Metric, int | None, str], Figure]] = {}
    for one in figures:
        if one.model is not None:
            found.setdefault(one.model, {})[one.dataset, one.strategy, one.metric, one.k, one.category] = one
    return [Grid(model, places) for model, places in found.items()]


# ---- Markdown


def sections(records: Sequence[RunRecord]) -> dict[str, str]:
    """The sections of lab/models.md by name: the setup of the measurements, then the table of each model."""
    found = grids([figure for record in records for figure in record.figures])
    return {SETUP_SECTION: _setup_section(records), **{grid.model: _markdown(grid) for grid in found}} if found else {}


def _setup_section(records: Sequence[RunRecord]) -> str:
    """Which models were measured on which sets with which code, the commands, and the legends of the tables."""
    figures = [(number, figure) for number, record in enumerate(records) for figure in record.figures if figure.model]
    latest = {(figure.model, figure.dataset): number for number, figure in figures}
    models_by_run: dict[tuple[str, str], dict[str, None]] = {}
    for number, record in enumerate(records):
        line = f"{record.run.date} with {describe_setup(record.run)}"
        for model in dict.fromkeys(figure.model for figure in record.figures if figure.model):
            sets = dict.fromkeys(figure.dataset for figure in record.figures if figure.model == model)
            if own := ", ".join(name for name in sets if latest[model, name] == number):
                models_by_run.setdefault((line, own), {})[model] = None
    sentences = [f"{', '.join(models)} on {own}: measured {line}." for (line, own), models in models_by_run.items()]
    commands = dict.fromkeys(records[number].run.command for number, _ in figures)
    legends = [LEGEND, PAPER_LEGEND] if any(figure.metric in PAPER_METRICS for _, figure in figures) else [LEGEND]
    return "\n\n".join([*sentences, "```sh\n" + "\n".join(commands) + "\n```", *legends]) + "\n"


def _markdown(grid: Grid) -> str:
    """A table of all kinds of figures, with a column for each set."""
    counts = {set_: grid.figure(set_, grid.strategies[0], ROWS[0]) for set_ in grid.datasets}
    heads = [set_ if one is None else f"{set_} ({one.n})" for set_, one in counts.items()]
    lines = [["", grid.model, *heads], ["---", "---", *("---:" for _ in heads)]]
    for row in ROWS:
        for place, strategy in enumerate(grid.strategies_with(row)):
            cells = [_cell(grid.figure(set_, strategy, row), counts[set_]) for set_ in grid.datasets]
            lines.append([row.heading if place == 0 else "", strategy.replace("|", "\\|"), *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(figure: Figure | None, question_count: Figure | None) -> str:
    """A value with its interval, or with its difference and the interval of that; ``=`` for no difference."""
    if figure is None:
        return ""
    difference = figure.difference
    if difference is not None:
        text = _format_difference(figure, difference)
        text = f"**{text}**" if _is_significant(difference) else text
        low, high = (_format_signed(figure, bound, 2) for bound in (difference.low, difference.high))
        return f"{_format_value(figure)} {text}" + ("" if _is_zero(difference) else f" ({low} to {high})")
    own_count = "" if question_count is not None and question_count.n == figure.n else f", n {figure.n}"
    return f"{_format_value(figure)} ({_format_interval(figure)}{own_count})"


def _is_zero(difference: Difference) -> bool:
    return difference.value == difference.low == difference.high == 0


def _is_significant(difference: Difference) -> bool:
    """Whether the interval of a difference excludes 0."""
    return difference.low > 0 or difference.high < 0


def _format_value(figure: Figure) -> str:
    return f"{figure.value:.1f}" if figure.metric is Metric.FIRED_COUNT else _strip_leading_zero(f"{figure.value:.3f}")


def _format_interval(figure: Figure) -> str:
    if figure.metric is Metric.FIRED_COUNT:
        return f"{figure.low:.1f}–{figure.high:.1f}"
    return (
        format_interval(figure)
        if figure.low >= 0
        else f"{_strip_leading_zero(f'{figure.low:.2f}')} to {_strip_leading_zero(f'{figure.high:.2f}')}"
    )


def _format_difference(figure: Figure, difference: Difference) -> str:
    return "=" if _is_zero(difference) else _format_signed(figure, difference.value, 3)


def _format_signed(figure: Figure, value: float, digits: int) -> str:
    """A difference with its sign, without one if it rounds to 0: ``−.052``."""
    if figure.metric is Metric.FIRED_COUNT:
        return f"{value:+.1f}".replace("-", "−")
    return _strip_leading_zero(f"{value:+.{digits}f}" if round(value, digits) else f"{0:.{digits}f}")


def _strip_leading_zero(text: str) -> str:
    """A number with a true minus sign, and without a 0 before its point."""
    for sign in ("", "+", "-"):
        if text.startswith(f"{sign}0."):
            text = sign + text[len(sign) + 1 :]
    return text.replace("-", "−")


# ---- the terminal


def terminal_tables(figures: Sequence[Figure]) -> Group:
    """The figures of one set as text tables: one for each model, and one for its paper's own measurements."""
    parts = (ROWS[:STANDARD_ROW_COUNT], ROWS[STANDARD_ROW_COUNT:])
    tables = [_table(grid, set_, rows) for grid in grids(figures) for set_ in grid.datasets for rows in parts]
    return Group(*(table for table in tables if table.row_count))


def _table(grid: Grid, dataset: str, rows: Sequence[FigureRow]) -> Table:
    rows = [row for row in rows if any(grid.figure(dataset, strategy, row) for strategy in grid.strategies)]
    table = Table(title=Text(f"{grid.model} on {dataset}"), box=SIMPLE_HEAD, padding=(0, 1), title_justify="left")
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_column(row.heading.replace("@", "\n@").replace(" ", "\n"), justify="right")
    for strategy in grid.strategies:
        figures = [grid.figure(dataset, strategy, row) for row in rows]
        if any(figures):
            table.add_row(Text(strategy), *map(_text_cell, figures))
    return table


def _text_cell(figure: Figure | None) -> Text:
    """A value with its interval or its difference below it."""
    if figure is None:
        return Text("")
    if figure.difference is None:
        return Text.assemble(_format_value(figure), "\n", (_format_interval(figure), "dim"))
    gap = _format_difference(figure, figure.difference)
    return Text.assemble(_format_value(figure), "\n", (gap, "bold" if _is_significant(figure.difference) else "dim"))
