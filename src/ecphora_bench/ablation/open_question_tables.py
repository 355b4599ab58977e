"""Tables of the figures of open questions: a table a question, a row a strategy."""

from collections.abc import Iterator, Sequence

from rich.box import MARKDOWN
from rich.table import Table

from ..recall.run_records import ANSWERABLE, Difference, Figure, Metric
from .tunneling_metrics import CONDITIONS

LEGEND = (
    "Behind a value: its difference to the first column, or for recall to the first row; bold if the 95% interval over"
    " questions excludes 0. tunneling: the share of the best anchors that lose more than half to inhibition and are"
    " missing from the first 30 hits; missing_anchors: the share of those that are missing for whatever reason."
)
WHOLE_NUMBERS = frozenset({Metric.FIRED_COUNT, Metric.HIT_TOKENS})
"""The metrics that are no parts in 0..1."""


def question_tables(figures: Sequence[Figure]) -> Iterator[Table]:
    """A table for each condition and metric; its columns are the levels of the condition, or the cuts."""
    grids: dict[str, dict[str, dict[str, Figure]]] = {}
    for figure in figures:
        title, column = title_and_column(figure)
        grids.setdefault(title, {}).setdefault(figure.strategy, {})[column] = figure
    for title, rows in grids.items():
        columns = sorted({column: None for row in rows.values() for column in row}, key=_condition_order)
        n = max(figure.n for row in rows.values() for figure in row.values())
        table = Table(f"{title} (n {n})", *columns, box=MARKDOWN, padding=(0, 1))
        for name, row in rows.items():
            table.add_row(name, *(_cell(row[column]) if column in row else "" for column in columns))
        yield table


def title_and_column(figure: Figure) -> tuple[str, str]:
    """The table of a figure and its column there."""
    cut = "" if figure.k is None else f"@{figure.k}"
    if figure.category == ANSWERABLE:
        return figure.metric.value, cut
    condition, _, level = figure.category.rpartition(" ")
    if level[:1].isdigit():
        return f"{figure.metric.value}{cut}, {condition}", level
    if figure.category in CONDITIONS:
        return f"{figure.metric.value}{cut}, by inhibition", figure.category
    return figure.category, f"{figure.metric.value}{cut}"


def _condition_order(column: str) -> int:
    return CONDITIONS.index(column) if column in CONDITIONS else -1


def _cell(figure: Figure) -> str:
    if figure.metric in WHOLE_NUMBERS:
        return f"{figure.value:.0f}"
    return f"{_fraction(figure.value)}{_change(figure.difference)}"


def _change(difference: Difference | None) -> str:
    if difference is None:
        return ""
    text = f"{'+' if difference.value >= 0 else '−'}{_fraction(abs(difference.value))}"
    return f" **{text}**" if difference.low > 0 or difference.high < 0 else f" {text}"


def _fraction(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")
