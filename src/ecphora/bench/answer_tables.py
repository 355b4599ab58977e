"""Figures of answers as tables: Markdown for the documents, and text for the terminal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .figures import ALL, ANSWERS, Figure, Metric, Reading, Record, Run
from .report import bounds, number, state

PART = "answers"
"""The name of the part of a document that these tables are."""
PLUMBING = (
    "plumbing proof: the reader has less than a billion parameters, or is no model at all; its figures prove that "
    "everything works, and say nothing of how good answers can be"
)
WORDS = (
    "F1, exact: how right answers are, by the measure published with the set (LoCoMo's, which has no exact match, "
    "HotpotQA's or SQuAD's). all: with the unanswerable questions, where right is who says that "
    "there is no answer. tokens: of the context's texts, mean, estimated; full is the latest memories, as many as fit "
    "its budget. evidence: part of the gold that the context held. not held: the reader said that there is no answer; "
    "precision, recall and accuracy of that against unanswerable questions. In brackets: 95 % bootstrap intervals over "
    "questions."
)
RIGHTNESS = {"evidence": Metric.EVIDENCE, "F1": Metric.F1, "exact": Metric.EXACT}
NOT_HELD = {
    "not held: precision": Metric.NOT_HELD_PRECISION,
    "not held: recall": Metric.NOT_HELD_RECALL,
    "not held: accuracy": Metric.NOT_HELD_ACCURACY,
}
TAKEN = {
    "calls": Metric.CALLS,
    "failed": Metric.FAILED,
    "tokens in": Metric.TOKENS_IN,
    "tokens out": Metric.TOKENS_OUT,
    "seconds": Metric.SECONDS,
    "US $": Metric.MONEY,
}

Way = tuple[str, int | None]
"""A context and its budget."""
Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class Grid:
    """The figures of one set; of two figures of one place the later counts."""

    set: str
    places: Mapping[tuple[Way, str, Metric], Figure]

    @property
    def ways(self) -> list[Way]:
        """The contexts, in the order they were asked."""
        return list(dict.fromkeys(way for way, *_ in self.places))

    @property
    def categories(self) -> list[str]:
        """The categories that have a score: the answerable, then the set's own, then all."""
        named = dict.fromkeys(category for _, category, metric in self.places if metric is Metric.F1)
        return [*(one for one in named if one != ALL), *(one for one in named if one == ALL)]

    def of(self, way: Way, category: str, metric: Metric) -> Figure | None:
        """The figure of a place, None if there is none."""
        return self.places.get((way, category, metric))


def grids(figures: Iterable[Figure]) -> list[Grid]:
    """Figures of answers by set."""
    found: dict[str, dict[tuple[Way, str, Metric], Figure]] = {}
    for one in figures:
        if one.metric in ANSWERS:
            found.setdefault(one.set, {})[(one.strategy, one.k), one.category, one.metric] = one
    return [Grid(name, places) for name, places in found.items()]


def label(way: Way) -> str:
    """A context with its budget: ``dense, 1,000``."""
    name, budget = way
    return name if budget is None else f"{name}, {budget:,}"


# ---- rows, the same for both


def rightness(grid: Grid) -> tuple[list[str], Rows]:
    """How right answers are: the heads, and a row for each category and context."""
    rows = []
    for category in grid.categories:
        for way in grid.ways:
            found = [grid.of(way, category, metric) for metric in RIGHTNESS.values()]
            scored, spent = grid.of(way, category, Metric.F1), grid.of(way, category, Metric.TOKENS)
            if scored is not None:
                n, used = str(scored.n), "" if spent is None else f"{spent.value:,.0f}"
                rows.append([category, label(way), n, used, *map(_between, found)])
    return _filled(["category", "context, budget", "n", "tokens", *RIGHTNESS], rows)


def refusals(grid: Grid) -> tuple[list[str], Rows]:
    """When the reader said that there is no answer: the heads, and a row for each context."""
    rows = []
    for way in grid.ways:
        found = [grid.of(way, ALL, metric) for metric in NOT_HELD.values()]
        rows.append([label(way), _count(found), *map(_between, found)])
    return _filled(["context, budget", "n", *NOT_HELD], rows)


def taken(grid: Grid) -> tuple[list[str], Rows]:
    """What the reader took: the heads, and a row for each context."""
    rows = []
    for way in grid.ways:
        sums = [grid.of(way, ALL, metric) for metric in TAKEN.values()]
        rows.append([label(way), _count(sums), *map(_sum, sums)])
    return _filled(["context, budget", "n", *TAKEN], rows)


TABLES = (rightness, refusals, taken)
"""The tables of a set."""


def _count(found: Sequence[Figure | None]) -> str:
    return str(max((one.n for one in found if one is not None), default=""))


def _filled(heads: Sequence[str], rows: Rows) -> tuple[list[str], Rows]:
    """A table without the columns that hold nothing."""
    places = [place for place, _ in enumerate(heads) if any(row[place] for row in rows)]
    return [heads[place] for place in places], [[row[place] for place in places] for row in rows]


def _between(figure: Figure | None) -> str:
    return "" if figure is None else f"{number(figure.value)} ({bounds(figure)})"


def _sum(figure: Figure | None) -> str:
    if figure is None:
        return ""
    decimals = {Metric.MONEY: 4, Metric.SECONDS: 1}.get(figure.metric, 0)
    return f"{figure.value:,.{decimals}f}"


# ---- Markdown


def parts(records: Sequence[Record]) -> dict[str, str]:
    """The part of a document that tells of answers, by its name; nothing where there are none."""
    found = [one for one in records if grids(one.figures)]
    return {PART: "\n\n".join(text for one in found for text in _markdown(one)) + "\n"} if found else {}


def _markdown(record: Record) -> list[str]:
    """A record: who read what it was measured with, and the tables of each set."""
    told = [f"Measured {record.run.date} with {state(record.run)}.", f"```sh\n{record.run.command}\n```"]
    if record.run.reading is not None:
        told.insert(0, f"**Read by {reader(record.run.reading)}**")
    told.append(WORDS)
    for grid in grids(record.figures):
        told.append(f"### {grid.set}")
        told += ["\n".join(_lines(*rows(grid))) for rows in TABLES]
    return told


def _lines(heads: Sequence[str], rows: Rows) -> list[str]:
    words = sum(head in {"category", "context, budget"} for head in heads)
    marks = [*["---"] * words, *["---:"] * (len(heads) - words)]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (heads, marks, *escaped)]


def reader(reading: Reading) -> str:
    """Who read, by which prompt, with the label of what proves nothing of answers."""
    prompt = f"{reading.model}, prompt {reading.digest}"
    return f"{prompt} ({PLUMBING})" if reading.plumbing else prompt


# ---- the terminal


def printed(run: Run, figures: Sequence[Figure]) -> Group:
    """Who read, the figures as text tables, three for each set, and what they mean."""
    tables = [_table(grid.set, *rows(grid)) for grid in grids(figures) for rows in TABLES]
    return Group(*([f"read by {reader(run.reading)}"] if run.reading else []), *tables, WORDS)


def _table(title: str, heads: Sequence[str], rows: Rows) -> Table:
    table = Table(title=Text(title), box=SIMPLE_HEAD, padding=(0, 1), title_justify="left")
    for head in heads:
        words = head in {"category", "context, budget"}
        table.add_column(head, justify="left" if words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell.replace(" (", "\n(")) for cell in row))
    return table
