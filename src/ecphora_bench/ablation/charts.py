"""Charts of figures as self-contained SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from ..recall.run_records import Figure, Metric
from .extraction_noise import Noise
from .open_questions import CUTOFF, MEMORIES

WIDTH, HEIGHT = 300, 210
"""The size of one chart, in pixels."""
LEFT, TOP, RIGHT, BOTTOM = 36, 26, 10, 30
"""The margins of a chart."""
COLORS = {"fused": "#b4232a", "dense": "#2b6cb0", "bm25": "#2f855a", "rrf": "#6b46c1"}
"""The color of each strategy, and the strategies that a chart of growth shows."""
DEFAULT_COLOR = "#555555"

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over ranges of x and y that are labelled at some places; those of y are from the first to the last."""

    title: str
    lines: Mapping[str, Points]
    ticks: Mapping[float, str]
    y_ticks: Mapping[float, str] = field(default_factory=lambda: {0.0: "0", 0.5: ".5", 1.0: "1"})
    has_diagonal: bool = False


def svg_files(figures: Sequence[Figure]) -> dict[str, str]:
    """All charts that there are figures for, by file name."""
    sets = list(dict.fromkeys(figure.dataset for figure in figures))
    found = {
        "growth.svg": [_growth_chart(name, _figures_of(figures, name)) for name in sets],
        "names.svg": [_names_chart(name, _figures_of(figures, name)) for name in sets],
        "reliability.svg": [_reliability_chart(name, _figures_of(figures, name)) for name in sets],
    }
    whole = {file: [chart for chart in charts if chart.lines] for file, charts in found.items()}
    return {file: render_svg(charts) for file, charts in whole.items() if charts}


def _figures_of(figures: Sequence[Figure], dataset: str) -> list[Figure]:
    return [figure for figure in figures if figure.dataset == dataset]


def _growth_chart(name: str, figures: Sequence[Figure]) -> Chart:
    """recall@5 by the size of the memory, doubling from mark to mark."""
    lines: dict[str, list[tuple[float, float]]] = {}
    marks: dict[float, str] = {}
    for figure in figures:
        if figure.metric is Metric.RECALL and figure.category.startswith(MEMORIES) and figure.strategy in COLORS:
            size = int(figure.category.removeprefix(MEMORIES))
            x = float(size.bit_length() - 1)
            lines.setdefault(figure.strategy, []).append((x, figure.value))
            if x % 2 == 0:
                marks[x] = f"{size:,}"
    return Chart(f"{name}: recall@5, memories", lines, marks)


def _names_chart(name: str, figures: Sequence[Figure]) -> Chart:
    """recall@5 of ``fused`` by the rate of each kind of noise."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for figure in figures:
        if (figure.metric, figure.k, figure.strategy) != (Metric.RECALL, CUTOFF, "fused"):
            continue
        kind, _, level = figure.category.rpartition(" ")
        if kind in set(Noise):
            lines.setdefault(kind, []).append((float(level.removesuffix("%")), figure.value))
    return Chart(f"{name}: recall@5 of fused", lines, {0: "0", 25: "25%", 50: "50%"})


def _reliability_chart(name: str, figures: Sequence[Figure]) -> Chart:
    """The share of answerable questions, by confidence."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for figure in figures:
        if figure.metric is Metric.RELIABILITY:
            lines.setdefault(figure.strategy, []).append((figure.secondary_value or 0.0, figure.value))
    return Chart(f"{name}: answer there, by confidence", lines, {0.0: "0", 0.5: ".5", 1.0: "1"}, has_diagonal=True)


# ---- SVG


def render_svg(charts: Sequence[Chart]) -> str:
    """Charts beside and below each other, three in a row."""
    columns = min(3, len(charts))
    rows = -(-len(charts) // columns)
    body = "\n".join(
        f'<g transform="translate({place % columns * WIDTH},{place // columns * HEIGHT})">{_chart_svg(chart)}</g>'
        for place, chart in enumerate(charts)
    )
    size = f'width="{columns * WIDTH}" height="{rows * HEIGHT}"'
    style = 'font-family="sans-serif" font-size="10" fill="#222"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _chart_svg(chart: Chart) -> str:
    xs = [x for points in chart.lines.values() for x, _ in points] + list(chart.ticks)
    first, last = min(xs), max(xs)
    lowest, highest = min(chart.y_ticks), max(chart.y_ticks)

    def x_of(x: float) -> float:
        return round(LEFT + (x - first) / max(last - first, 1e-9) * (WIDTH - LEFT - RIGHT), 1)

    def y_of(y: float) -> float:
        return round(TOP + (highest - y) / max(highest - lowest, 1e-9) * (HEIGHT - TOP - BOTTOM), 1)

    parts = [f'<text x="{LEFT}" y="14" font-weight="bold">{escape(chart.title)}</text>']
    for y, label in chart.y_ticks.items():
        parts.append(f'<path d="M{LEFT},{y_of(y)}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y_of(y) + 3}" text-anchor="end">{label}</text>')
    for x, label in chart.ticks.items():
        parts.append(f'<text x="{x_of(x)}" y="{HEIGHT - 14}" text-anchor="middle">{escape(label)}</text>')
    if chart.has_diagonal:
        parts.append(f'<path d="M{x_of(0)},{y_of(0)}L{x_of(1)},{y_of(1)}" stroke="#999" stroke-dasharray="3"/>')
    palette = dict(zip(chart.lines, ("#b4232a", "#2b6cb0", "#2f855a", "#6b46c1"), strict=False))
    for place, (name, points) in enumerate(chart.lines.items()):
        colour = COLORS.get(name, palette.get(name, DEFAULT_COLOR))
        path = "L".join(f"{x_of(x)},{y_of(y)}" for x, y in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        parts += [f'<circle cx="{x_of(x)}" cy="{y_of(y)}" r="2" fill="{colour}"/>' for x, y in points]
        x = LEFT + 4 + 62 * place
        parts.append(f'<text x="{x}" y="{HEIGHT - 2}" fill="{colour}">{escape(name)}</text>')
    return "".join(parts)
