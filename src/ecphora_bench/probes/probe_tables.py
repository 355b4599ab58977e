"""What came of probes: figures, and the table of them."""

from collections.abc import Iterator, Sequence
from enum import StrEnum

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecphora.maintenance.learn import metrics
from ecphora.maintenance.learn.regression import Numbers
from ecphora.model.types import Evidence

from ..recall import intervals
from ..recall.run_records import ALL, UNANSWERABLE, Figure, Metric
from .probe import Probe
from .probe_run import ProbeResult

CUTS = (1, 3, 5, 10)
RIGHT_FIRST = "right first"
"""The category of the answerable probes whose first hit is right."""
BANDS = (
    (UNANSWERABLE, Metric.STRONG, "no answer,\nstrong"),
    (UNANSWERABLE, Metric.NONE, "no answer,\nnone"),
    (RIGHT_FIRST, Metric.NONE, "right first,\nnone"),
)
"""The parts of some probes that fall into a band of evidence, with their headings."""


class Grouping(StrEnum):
    """What a kind is divided by."""

    SORT = "sort"
    LANGUAGE = "language"
    FORM = "form"

    def of(self, probe: Probe) -> str:
        """The group of a probe."""
        return {Grouping.SORT: probe.sort, Grouping.LANGUAGE: probe.language, Grouping.FORM: str(probe.form)}[self]


def measure(results: Sequence[ProbeResult], grouping: Grouping | None = None) -> list[Figure]:
    """The figures of results, by kind and strategy, and in each kind by a grouping.

    A figure's ``dataset`` is the kind, with the group after a slash. Probes without answer are in the bands only.
    """
    figures: list[Figure] = []
    groups: dict[tuple[str, str], list[ProbeResult]] = {}
    for result in results:
        kind = str(result.probe.kind)
        names = (kind, f"{kind}/{grouping.of(result.probe)}") if grouping else (kind,)
        for name in names:
            groups.setdefault((name, result.strategy), []).append(result)
    order = {name: place for place, name in enumerate(dict.fromkeys(name for name, _ in groups))}
    for name, strategy in sorted(groups, key=lambda group: (group[0].partition("/")[0], order[group[0]])):
        figures += _group_figures(name, strategy, groups[name, strategy])
    return figures


def _group_figures(name: str, strategy: str, results: Sequence[ProbeResult]) -> Iterator[Figure]:
    answerable = [result for result in results if result.probe.is_answerable]
    for k in CUTS if answerable else ():
        values = np.array([metrics.recall_any_at_k(result.ranked, result.probe.gold, k) for result in answerable])
        yield _figure(name, strategy, ALL, Metric.RECALL_ANY, values, k=k)
    parts = {
        UNANSWERABLE: [result for result in results if not result.probe.is_answerable],
        RIGHT_FIRST: [result for result in answerable if result.is_right_first],
    }
    for category, metric, _ in BANDS:
        some = parts[category]
        values = np.array([float(result.evidence is Evidence(metric.value)) for result in some])
        if some:
            yield _figure(name, strategy, category, metric, values)


def _figure(
    name: str, strategy: str, category: str, metric: Metric, values: Numbers, *, k: int | None = None
) -> Figure:
    low, high = intervals.bootstrap_interval(values)
    return Figure(name, strategy, category, metric, k, len(values), float(values.mean()), low, high)


def probe_table(figures: Sequence[Figure]) -> Table:
    """The figures as a table: a row for each kind or group and strategy, in percent."""
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    for name in ("probes", "strategy", "n", "first", "@3", "@5", "@10", "n no\nanswer", *(head for *_, head in BANDS)):
        table.add_column(name, justify="left" if name in {"probes", "strategy"} else "right", overflow="fold")
    rows: dict[tuple[str, str], dict[tuple[str, Metric, int | None], Figure]] = {}
    for figure in figures:
        row = rows.setdefault((figure.dataset, figure.strategy), {})
        row[figure.category, figure.metric, figure.k] = figure
    before = ""
    for (name, strategy), row in rows.items():
        cells = [row.get((ALL, Metric.RECALL_ANY, k)) for k in CUTS]
        bands = [row.get((category, metric, None)) for category, metric, _ in BANDS]
        counts = [str(one.n) if one else "" for one in (cells[0], bands[0])]
        if name != before:
            table.add_section()
        percents = [_percent(one) for one in cells], [_percent(one) for one in bands]
        table.add_row(Text(name if name != before else ""), strategy, counts[0], *percents[0], counts[1], *percents[1])
        before = name
    return table


def _percent(figure: Figure | None) -> str:
    return "" if figure is None else f"{100 * figure.value:.0f}"


def misses(results: Sequence[ProbeResult], strategy: str) -> Iterator[str]:
    """The answerable probes whose first hit is wrong by a strategy, each as a few lines to read."""
    for result in results:
        probe = result.probe
        if result.strategy != strategy or not probe.is_answerable or result.is_right_first:
            continue
        texts = {memory.id: memory.text for memory in probe.memories}
        places = [place for place, id_ in enumerate(result.ranked, 1) if id_ in probe.gold]
        place = f"at {places[0]}" if places else "not among the hits"
        got = texts.get(result.ranked[0], "?") if result.ranked else "nothing"
        yield (
            f"{probe.id} ({probe.sort}, {probe.language}, {probe.form}): {probe.question}\n"
            f"  right, {place}: {texts[min(probe.gold)]}\n  first, evidence {result.evidence}: {got}"
        )
