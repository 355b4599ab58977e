"""Figures of answers as tables: Markdown for the documents, and text for the terminal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ..recall.recall_tables import describe_setup, format_interval, format_number
from ..recall.run_records import ALL, ANSWER_METRICS, AnswerSetup, Figure, Metric, Run, RunRecord

SECTION = "answers"
"""The name of the section of a document that holds these tables."""
SMALL_MODEL_NOTE = (
    "small model: the reader has less than a billion parameters, or is not a model; its figures show that everything "
    "works, and do not show how good answers can be"
)
LEGEND = (
    "F1, exact match: the correctness of answers by the measure published with the set (LoCoMo's, which has no exact "
    "match, HotpotQA's or SQuAD's). all: includes the unanswerable questions, where it is correct to say that there is "
    "no answer. context tokens: the estimated mean of its texts; full is the latest memories, as many as fit its "
    "budget. gold recall: fraction of the gold in the context. no answer: the reader said that there is none; "
    "precision, recall and accuracy of that on the unanswerable questions. In brackets: 95% bootstrap intervals over "
    "questions."
)
CORRECTNESS = {"gold recall": Metric.GOLD_RECALL, "F1": Metric.F1, "exact match": Metric.EXACT_MATCH}
NO_ANSWER = {
    "no answer: precision": Metric.NO_ANSWER_PRECISION,
    "no answer: recall": Metric.NO_ANSWER_RECALL,
    "no answer: accuracy": Metric.NO_ANSWER_ACCURACY,
}
COSTS = {
    "calls": Metric.CALLS,
    "failures": Metric.FAILURES,
    "tokens in": Metric.TOKENS_IN,
    "tokens out": Metric.TOKENS_OUT,
    "seconds": Metric.SECONDS,
    "US $": Metric.COST_USD,
}

ContextKey = tuple[str, int | None]
"""A context and its budget."""
Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class Grid:
    """The figures of one set; of two figures with the same key the later counts."""

    dataset: str
    figures_by_key: Mapping[tuple[ContextKey, str, Metric], Figure]

    @property
    def contexts(self) -> list[ContextKey]:
        """The contexts, in the order they were asked."""
        return list(dict.fromkeys(way for way, *_ in self.figures_by_key))

    @property
    def categories(self) -> list[str]:
        """The categories that have a score: the answerable, then the set's own, then all."""
        categories = dict.fromkeys(category for _, category, metric in self.figures_by_key if metric is Metric.F1)
        return [
            *(category for category in categories if category != ALL),
            *(category for category in categories if category == ALL),
        ]

    def figure(self, context: ContextKey, category: str, metric: Metric) -> Figure | None:
        """The figure of a key; None if there is none."""
        return self.figures_by_key.get((context, category, metric))


def grids(figures: Iterable[Figure]) -> list[Grid]:
    """Figures of answers by set."""
    found: dict[str, dict[tuple[ContextKey, str, Metric], Figure]] = {}
    for one in figures:
        if one.metric in ANSWER_METRICS:
            found.setdefault(one.dataset, {})[(one.strategy, one.k), one.category, one.metric] = one
    return [Grid(name, places) for name, places in found.items()]


def context_label(context: ContextKey) -> str:
    """A context with its budget: ``dense, 1,000``."""
    name, budget = context
    return name if budget is None else f"{name}, {budget:,}"


# ---- rows, the same for both


def correctness_table(grid: Grid) -> tuple[list[str], Rows]:
    """The correctness of answers: the heads, and a row for each category and context."""
    rows = []
    for category in grid.categories:
        for way in grid.contexts:
            found = [grid.figure(way, category, metric) for metric in CORRECTNESS.values()]
            score, token_count = (
                grid.figure(way, category, Metric.F1),
                grid.figure(way, category, Metric.CONTEXT_TOKENS),
            )
            if score is not None:
                n, tokens = str(score.n), "" if token_count is None else f"{token_count.value:,.0f}"
                rows.append([category, context_label(way), n, tokens, *map(_format_interval, found)])
    return _drop_empty_columns(["category", "context, budget", "n", "context tokens", *CORRECTNESS], rows)


def no_answer_table(grid: Grid) -> tuple[list[str], Rows]:
    """When the reader said that there is no answer: the heads, and a row for each context."""
    rows = []
    for way in grid.contexts:
        found = [grid.figure(way, ALL, metric) for metric in NO_ANSWER.values()]
        rows.append([context_label(way), _question_count(found), *map(_format_interval, found)])
    return _drop_empty_columns(["context, budget", "n", *NO_ANSWER], rows)


def cost_table(grid: Grid) -> tuple[list[str], Rows]:
    """The cost of the reader: the heads, and a row for each context."""
    rows = []
    for way in grid.contexts:
        sums = [grid.figure(way, ALL, metric) for metric in COSTS.values()]
        rows.append([context_label(way), _question_count(sums), *map(_format_sum, sums)])
    return _drop_empty_columns(["context, budget", "n", *COSTS], rows)


TABLES = (correctness_table, no_answer_table, cost_table)
"""The tables of a set."""


def _question_count(found: Sequence[Figure | None]) -> str:
    return str(max((one.n for one in found if one is not None), default=""))


def _drop_empty_columns(heads: Sequence[str], rows: Rows) -> tuple[list[str], Rows]:
    """A table without the columns that hold nothing."""
    places = [place for place, _ in enumerate(heads) if any(row[place] for row in rows)]
    return [heads[place] for place in places], [[row[place] for place in places] for row in rows]


def _format_interval(figure: Figure | None) -> str:
    return "" if figure is None else f"{format_number(figure.value)} ({format_interval(figure)})"


def _format_sum(figure: Figure | None) -> str:
    if figure is None:
        return ""
    decimals = {Metric.COST_USD: 4, Metric.SECONDS: 1}.get(figure.metric, 0)
    return f"{figure.value:,.{decimals}f}"


# ---- Markdown


def sections(records: Sequence[RunRecord]) -> dict[str, str]:
    """The section of a document on answers, by its name; empty if there are none."""
    found = [one for one in records if grids(one.figures)]
    return {SECTION: "\n\n".join(text for one in found for text in _markdown(one)) + "\n"} if found else {}


def _markdown(record: RunRecord) -> list[str]:
    """A record: its reader, what it was measured with, and the tables of each set."""
    blocks = [f"Measured {record.run.date} with {describe_setup(record.run)}.", f"```sh\n{record.run.command}\n```"]
    if record.run.answer_setup is not None:
        blocks.insert(0, f"**Read by {describe_reader(record.run.answer_setup)}**")
    blocks.append(LEGEND)
    for grid in grids(record.figures):
        blocks.append(f"### {grid.dataset}")
        blocks += ["\n".join(_markdown_rows(*rows(grid))) for rows in TABLES]
    return blocks


def _markdown_rows(heads: Sequence[str], rows: Rows) -> list[str]:
    words = sum(head in {"category", "context, budget"} for head in heads)
    marks = [*["---"] * words, *["---:"] * (len(heads) - words)]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (heads, marks, *escaped)]


def describe_reader(setup: AnswerSetup) -> str:
    """The reader and its prompt, labeled if the model is too small to prove anything about answers."""
    prompt = f"{setup.model}, prompt {setup.digest}"
    return f"{prompt} ({SMALL_MODEL_NOTE})" if setup.is_small_model else prompt


# ---- the terminal


def terminal_tables(run: Run, figures: Sequence[Figure]) -> Group:
    """The reader, the figures as text tables, three for each set, and a legend."""
    tables = [_table(grid.dataset, *rows(grid)) for grid in grids(figures) for rows in TABLES]
    return Group(*([f"read by {describe_reader(run.answer_setup)}"] if run.answer_setup else []), *tables, LEGEND)


def _table(title: str, heads: Sequence[str], rows: Rows) -> Table:
    table = Table(title=Text(title), box=SIMPLE_HEAD, padding=(0, 1), title_justify="left")
    for head in heads:
        words = head in {"category", "context, budget"}
        table.add_column(head, justify="left" if words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell.replace(" (", "\n(")) for cell in row))
    return table
