"""Speed as a table for each size, and as curves."""

import math
from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from ..ablation.charts import Chart, render_svg
from .speed_run import SpeedRow

COLUMNS: Mapping[str, str] = {
    "ms_p50": ".2f",
    "ms_p99": ".2f",
    "cpu_p50": ".2f",
    "bytes_per_memory": ",.0f",
    "hot_mb": ",.0f",
    "open_ms": ",.0f",
    "first_ms": ",.0f",
    "write_ms": ".1f",
    "build_s": ",.1f",
    "rebuild_s": ",.2f",
    "vector_recall": ".3f",
}
"""The columns, and how their numbers are written."""
LEGEND = (
    "ms_p50, ms_p99: a recall of 10 memories, embedding apart, nothing reranked; cpu_p50: the same in milliseconds of "
    "the processor. hot_mb: growth of the process by opening and all recalls. open_ms, first_ms: opening and the first "
    "recall, imports apart. write_ms: one more memory. build_s: writing all memories. rebuild_s: building what is "
    "derived, the graph of Ecphora or the index of words of a peer; –: not apart from the rest. vector_recall: "
    "recall@10 of the vector search against exact cosines."
)
ENGINES_OF_CHART = 4
FILE = "speed.svg"


def speed_table(memories: int, rows: Sequence[SpeedRow]) -> Table:
    """The figures of the engines with a number of memories."""
    table = Table(box=SIMPLE_HEAD, title=f"{memories:,} memories", title_justify="left", pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(row.engine, *(_cell(row, name, form) for name, form in COLUMNS.items()))
    return table


def _cell(row: SpeedRow, name: str, form: str) -> str:
    value = row.build_s if name == "build_s" else getattr(row.speed, name, None)
    return "–" if value is None else format(value, form)


def errors(rows: Sequence[SpeedRow]) -> list[str]:
    """A line for each engine that failed."""
    return [f"{row.engine}, {row.memories:,} memories: {row.error}" for row in rows if row.error is not None]


def curves(rows: Sequence[SpeedRow]) -> str:
    """The median time of a recall by the number of memories, both logarithmic, as SVG."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row.speed is not None:
            point = (math.log10(row.memories), math.log10(max(row.speed.ms_p50, 1e-3)))
            lines.setdefault(row.engine, []).append(point)
    heights = [y for points in lines.values() for _, y in points] or [0.0]
    marks = {float(power): f"{10.0**power:g}" for power in range(math.floor(min(heights)), math.ceil(max(heights)) + 1)}
    sizes = {math.log10(row.memories): f"{row.memories:,}" for row in rows}
    names = list(lines)
    groups = [names[start : start + ENGINES_OF_CHART] for start in range(0, len(names), ENGINES_OF_CHART)]
    return render_svg(
        [Chart("ms of a recall, by memories", {name: lines[name] for name in group}, sizes, marks) for group in groups]
    )
