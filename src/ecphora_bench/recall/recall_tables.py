"""Figures as tables: Markdown for lab/evidence.md, and text for the terminal."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ecphora.errors import InvalidInput

from .recall_run import EMBEDDING_SAMPLES, RECALL_LIMIT
from .run_records import ALL, ANSWER_METRICS, ANSWERABLE, UNANSWERABLE, Figure, Metric, Run, RunRecord

RANKING_COLUMNS: Mapping[str, tuple[Metric, int]] = {
    "recall@5": (Metric.RECALL, 5),
    "recall@10": (Metric.RECALL, 10),
    "recall@20": (Metric.RECALL, 20),
    "recall@30": (Metric.RECALL, 30),
    "any@1": (Metric.RECALL_ANY, 1),
    "any@3": (Metric.RECALL_ANY, 3),
    "any@5": (Metric.RECALL_ANY, 5),
    "all@5": (Metric.RECALL_ALL, 5),
    "nDCG@10": (Metric.NDCG, 10),
}
"""The columns of a ranking."""
CATEGORY_TABLES = ("recall@10", "any@1", "any@3")
"""The columns of a ranking that a report also has by category, a table for each."""
BANDS = (Metric.STRONG, Metric.WEAK, Metric.NONE)
"""The bands of evidence."""
EVIDENCE_COLUMNS = (
    *((category, band) for category in (ANSWERABLE, UNANSWERABLE) for band in BANDS),
    (ALL, Metric.CALIBRATION_ERROR),
    (ALL, Metric.BRIER),
)
"""The columns of the evidence, each a category and a metric."""
EVIDENCE_HEADINGS = {Metric.AUROC: "AUROC", Metric.CALIBRATION_ERROR: "ECE", Metric.BRIER: "Brier"}
"""The headings of metrics of all questions."""

LEGEND = (
    "recall@k: fraction of the gold evidence among the first k documents, mean over questions; any@k, all@k: fraction "
    "of the questions with any or all of it among the first k; AUROC: how often an answerable question has a higher "
    "confidence than an unanswerable one. In brackets or under a value: 95% bootstrap intervals over questions."
)
EVIDENCE_LEGEND = (
    "strong, weak, none: fraction of the questions with that band of evidence. The reliability has the mean confidence "
    "and the share of answerable questions in bins of equally many questions; ECE, the expected calibration error, is "
    "the mean distance of the two, and Brier the mean squared distance of the confidence from 1 for answerable and "
    "from 0 for unanswerable questions. In share, ECE and Brier, answerable and unanswerable questions have the same "
    "total weight: always .5 gives a Brier score of .250."
)
TIMING_LEGEND = (
    f"ms: one recall of {RECALL_LIMIT} memories, embedding included; embedding is timed on up to {EMBEDDING_SAMPLES} "
    "questions of a set, the other embeddings come from a cache. index s: the seconds that filling the memory took, "
    "with embeddings from the cache; strategies that only read share one memory."
)


@dataclass(frozen=True, slots=True)
class Grid:
    """The figures of one set, by key."""

    dataset: str
    figures: tuple[Figure, ...]

    @property
    def strategies(self) -> list[str]:
        """The strategies, in the order they ran."""
        return list(dict.fromkeys(figure.strategy for figure in self.figures))

    @property
    def categories(self) -> list[str]:
        """The set's own categories that have a ranking."""
        named = dict.fromkeys(figure.category for figure in self.figures if figure.metric is Metric.RECALL)
        return [category for category in named if category != ANSWERABLE]

    @property
    def has_evidence(self) -> bool:
        """Whether there are answerable and unanswerable questions, so that the confidence can be judged."""
        return any(figure.category == UNANSWERABLE for figure in self.figures)

    def reliability(self, strategy: str) -> list[Figure]:
        """The bins of a strategy's reliability curve, the lowest confidence first."""
        return [one for one in self.figures if (one.strategy, one.metric) == (strategy, Metric.RELIABILITY)]

    def figure(self, strategy: str, category: str, metric: Metric, k: int | None = None) -> Figure | None:
        """The figure of a key; None if there is none."""
        place = (strategy, category, metric, k)
        fitting = (one for one in self.figures if (one.strategy, one.category, one.metric, one.k) == place)
        return next(fitting, None)


def grids(figures: Iterable[Figure]) -> list[Grid]:
    """Figures by set, in the order of the sets; of two figures with the same key the later counts."""
    places: dict[tuple[str, str, str, Metric, int | None], Figure] = {}
    for one in figures:
        places[one.dataset, one.strategy, one.category, one.metric, one.k] = one
    sets = dict.fromkeys(one.dataset for one in places.values())
    return [Grid(name, tuple(one for one in places.values() if one.dataset == name)) for name in sets]


def format_number(value: float) -> str:
    """A value in 0..1 as shown in a table: ``.512``."""
    return f"{value:.3f}".removeprefix("0")


def format_interval(figure: Figure) -> str:
    """The interval of a value of 0..1 as shown in a table: ``.49-.54``, with a dash between."""
    return f"{figure.low:.2f}–{figure.high:.2f}".replace("0.", ".")


# ---- Markdown


def sections(records: Sequence[RunRecord]) -> dict[str, str]:
    """The section of lab/evidence.md, with an empty name; none if all runs are of ablations or answers."""
    plain = [RunRecord(one.run, [figure for figure in one.figures if _is_recall_figure(figure)]) for one in records]
    found = [one for one, whole in zip(plain, records, strict=True) if one.figures or not whole.figures]
    return {"": render_markdown(found)} if found else {}


def _is_recall_figure(figure: Figure) -> bool:
    return figure.model is None and figure.metric not in ANSWER_METRICS


def render_markdown(records: Sequence[RunRecord]) -> str:
    """The report of runs: for each state of code, model and machine its sets, one table of each and one by category."""
    states: dict[str, list[RunRecord]] = {}
    for record in records:
        states.setdefault(describe_setup(record.run), []).append(record)
    parts: list[str] = []
    for state_, same in states.items():
        commands = "\n".join(dict.fromkeys(record.run.command for record in same))
        dates = sorted({record.run.date for record in same})
        measured = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        shown = grids(figure for record in same for figure in record.figures)
        parts += [f"Measured {measured} with {state_}.", f"```sh\n{commands}\n```", legend(shown)]
        for grid in shown:
            parts += [f"### {grid.dataset}", _overall_table(grid), *_category_tables(grid)]
            parts += [_band_table(grid), _reliability_table(grid)] if grid.has_evidence else []
    return "\n\n".join(parts) + "\n"


def legend(shown: Iterable[Grid]) -> str:
    """What the columns of tables mean."""
    legends = [LEGEND, *([EVIDENCE_LEGEND] if any(grid.has_evidence for grid in shown) else []), TIMING_LEGEND]
    return " ".join(legends)


def describe_setup(run: Run) -> str:
    """The state of code, model and machine that a run was measured with, in words."""
    versions = dict(run.versions)
    commit = f" (commit {run.commit})" if run.commit else ""
    code = f"ecphora {versions.pop('ecphora', 'of unknown version')}{commit}, embedder {run.embedder}"
    others = ", ".join(f"{name} {number_}" for name, number_ in versions.items())
    return f"{code}, {others}, on {run.machine.platform} with {run.machine.cpus} CPUs"


def _overall_table(grid: Grid) -> str:
    columns: dict[str, list[Figure | None]] = {
        name: [grid.figure(strategy, ANSWERABLE, metric, k) for strategy in grid.strategies]
        for name, (metric, k) in RANKING_COLUMNS.items()
    }
    columns["AUROC"] = [grid.figure(strategy, ALL, Metric.AUROC) for strategy in grid.strategies]
    counts = [next((str(one.n) for one in row if one), "") for row in zip(*columns.values(), strict=True)]
    cells = {
        name: _cells(column, with_interval=name.startswith(("recall", "AUROC"))) for name, column in columns.items()
    }
    times = [grid.figure(strategy, ALL, Metric.MS_P50) for strategy in grid.strategies]
    indexing = [grid.figure(strategy, ALL, Metric.INDEX_S) for strategy in grid.strategies]
    ends = {"ms p50": times, "index s": indexing}
    cells = {"n": counts, **cells}
    cells |= {name: [f"{one.value:.1f}" if one else "" for one in column] for name, column in ends.items()}
    return _table(grid.strategies, {name: column for name, column in cells.items() if any(column)})


def _category_tables(grid: Grid) -> Iterator[str]:
    """Recall@10, any@1 and any@3 by category, for sets that have several."""
    for name in CATEGORY_TABLES if len(grid.categories) > 1 else ():
        cells: dict[str, list[str]] = {}
        for category in grid.categories:
            column = [grid.figure(strategy, category, *RANKING_COLUMNS[name]) for strategy in grid.strategies]
            n = next((one.n for one in column if one), 0)
            cells[f"{category} ({n})".replace("|", "\\|")] = _cells(column, with_interval=True)
        yield f"{name} by category:\n\n{_table(grid.strategies, cells)}"


def _band_table(grid: Grid) -> str:
    """The parts of answerable and unanswerable questions in each band of evidence, ECE and Brier score."""
    cells: dict[str, list[str]] = {}
    for category, metric in EVIDENCE_COLUMNS:
        column = [grid.figure(strategy, category, metric) for strategy in grid.strategies]
        if any(column):
            n = next(one.n for one in column if one)
            name = EVIDENCE_HEADINGS.get(metric, f"{category} ({n}) {metric}")
            cells[name] = ["" if one is None else format_number(one.value) for one in column]
    return f"evidence band, part of the questions:\n\n{_table(grid.strategies, cells)}"


def _reliability_table(grid: Grid) -> str:
    rows = list(_reliability_rows(grid))
    columns = {str(number + 1): [cells[number] for _, _, cells in rows] for number in range(len(rows[0][2]))}
    names = [f"{strategy}, {name}" for strategy, name, _ in rows]
    return f"reliability of the confidence:\n\n{_table(names, columns)}"


def _reliability_rows(grid: Grid) -> Iterator[tuple[str, str, list[str]]]:
    """Two rows a strategy, of equally many cells: the mean confidence of each bin, and the share of answerable ones."""
    curves = {strategy: grid.reliability(strategy) for strategy in grid.strategies}
    width = max(map(len, curves.values()))
    for strategy, bins in curves.items():
        empty = [""] * (width - len(bins))
        yield strategy, "confidence", [format_number(one.secondary_value or 0.0) for one in bins] + empty
        yield strategy, "share of answerable", [format_number(one.value) for one in bins] + empty


def _cells(column: Sequence[Figure | None], *, with_interval: bool) -> list[str]:
    """A column of values in 0..1: the best in bold, the intervals in brackets."""
    shown = ["" if one is None else format_number(one.value) for one in column]
    best = format_number(max((one.value for one in column if one is not None), default=0))
    bold = [f"**{text}**" if text == best and len(column) > 1 else text for text in shown]
    if not with_interval:
        return bold
    return [text if one is None else f"{text} ({format_interval(one)})" for text, one in zip(bold, column, strict=True)]


def _table(rows: Sequence[str], columns: Mapping[str, Sequence[str]]) -> str:
    lines = [["strategy", *columns], ["---", *("---:" for _ in columns)]]
    lines += [[row, *(column[index] for column in columns.values())] for index, row in enumerate(rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def insert_sections(path: Path, sections: Mapping[str, str]) -> None:
    """Replace the text between the markers of a file with the sections of a report."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read ({error})") from error
    for name, part in sections.items():
        start, end = (f"<!-- bench:{f'{name}:' if name else ''}{side} -->" for side in ("start", "end"))
        before, opened, rest = text.partition(start)
        _, closed, after = rest.partition(end)
        if not opened or not closed:
            raise InvalidInput(f"{path} has no place for the report; add the lines {start} and {end}, in this order")
        text = f"{before}{start}\n\n{part}\n{end}{after}"
    path.write_text(text, "utf-8")


# ---- the terminal


def terminal_tables(figures: Sequence[Figure]) -> Group:
    """All figures as text tables, at most 100 columns wide: for each set rankings by category, evidence, and times."""
    tables: list[Table] = []
    for grid in grids(figures):
        tables += [_ranking_table(grid)]
        tables += [_evidence_table(grid), _reliability_grid(grid)] if grid.has_evidence else []
        tables += [_timing_table(grid)]
    return Group(*(table for table in tables if table.row_count))


def _compact_table(title: str) -> Table:
    """An empty table with one space between its columns, after an empty line."""
    return Table(title=Text(f"\n{title}"), box=SIMPLE_HEAD, padding=0, show_edge=False, title_justify="left")


def _ranking_table(grid: Grid) -> Table:
    table = _compact_table(grid.dataset)
    table.add_column("category", overflow="fold")
    table.add_column("strategy")
    for name in ("n", *RANKING_COLUMNS):
        table.add_column(name.replace("@", "\n@"), justify="right")
    for category in (ANSWERABLE, *grid.categories):
        for strategy in grid.strategies:
            found = [grid.figure(strategy, category, metric, k) for metric, k in RANKING_COLUMNS.values()]
            n = next((str(one.n) for one in found if one), "")
            if n:
                name = category if strategy == grid.strategies[0] else ""
                table.add_row(Text(name), strategy, n, *(_cell(one, format_number, _short_interval) for one in found))
        table.add_section()
    return table


def _evidence_table(grid: Grid) -> Table:
    """The bands of answerable and of unanswerable questions, and how well the confidence tells them apart."""
    table = _compact_table(f"{grid.dataset}: evidence")
    table.add_column("strategy")
    keys = [*EVIDENCE_COLUMNS, (ALL, Metric.AUROC)]
    for category, metric in keys:
        n = next((one.n for one in grid.figures if (one.category, one.metric) == (category, metric)), 0)
        group = f"{category}\n{n}" if metric is BANDS[0] else "\n"
        table.add_column(EVIDENCE_HEADINGS.get(metric, f"{group}\n{metric}"), justify="right")
    for strategy in grid.strategies:
        table.add_row(strategy, *(_cell(grid.figure(strategy, *key), format_number, _short_interval) for key in keys))
    return table


def _reliability_grid(grid: Grid) -> Table:
    """The reliability curve of each strategy."""
    table = _compact_table(f"{grid.dataset}: reliability")
    rows = list(_reliability_rows(grid))
    for name in ("strategy", ""):
        table.add_column(name)
    for number in range(len(rows[0][2])):
        table.add_column(str(number + 1), justify="right")
    for strategy, name, cells in rows:
        table.add_row(strategy if name == rows[0][1] else "", name, *cells)
    return table


def _timing_table(grid: Grid) -> Table:
    table = _compact_table(f"{grid.dataset}: time")
    table.add_column("strategy")
    for name in ("n", "ms p50", "ms p95", "p50 without\nembedding", "p95 without\nembedding"):
        table.add_column(name, justify="right")
    for strategy in grid.strategies:
        times = [grid.figure(strategy, ALL, metric) for metric in (Metric.MS_P50, Metric.MS_P95)]
        table.add_row(
            strategy,
            next((str(one.n) for one in times if one), ""),
            *(_cell(one, lambda value: f"{value:.1f}", lambda it: f"{it.low:.1f}–{it.high:.1f}") for one in times),
            *("" if one is None or one.secondary_value is None else f"{one.secondary_value:.1f}" for one in times),
        )
    return table


def _short_interval(figure: Figure) -> str:
    """The interval of a value of 0..1 in at most seven characters: ``.87-1.0``, with a dash between."""
    return format_interval(figure).replace("1.00", "1.0")


def _cell(figure: Figure | None, value: Callable[[float], str], interval: Callable[[Figure], str]) -> Text:
    """A value with its interval under it, which the expected calibration error does not have."""
    if figure is None:
        return Text("")
    if figure.metric is Metric.CALIBRATION_ERROR:
        return Text(value(figure.value))
    return Text.assemble(value(figure.value), "\n", (interval(figure), "dim"))
