"""Draw which module of the package imports which, for docs/explanation/architecture.md.

    python scripts/draw_architecture.py    # writes docs/pictures/architecture.svg

The imports are read from the source. The rows are the layers of the first import contract in pyproject.toml, with a box
for each room. An arrow is left out if other arrows lead the same way. Boxes are placed by ``layered_layout.py``.
"""
# ruff: noqa: INP001  # a script

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import grimp
from layered_layout import Layout, Place

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"
PACKAGE = "ecphora"
PURE_CONTRACT = "The pure rooms do no I/O, read no clock and draw no random number"

CHARACTER_WIDTH, LINE_HEIGHT, PADDING = 7.3, 16, 8
ROW_GAP, PORT_GAP = 40.0, 13.0
MARGIN, LEGEND_HEIGHT = 16.0, 54.0
INK, GRAY, RULE = "#1f2933", "#697586", "#eef1f4"
STYLE = f'font-family="sans-serif" font-size="12" fill="{INK}"'
HEAD = (
    '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    f'<path d="M0,0.8L7,4L0,7.2z" fill="{GRAY}"/></marker>'
)
PURE, ACTING = ("#e8f3ec", "#4f9268"), ("#fdf1e3", "#c98636")
"""Fill and border of a box."""


@dataclass(frozen=True)
class Box:
    """A room of the package, or a module beside the rooms."""

    row: int
    name: str
    is_pure: bool

    @property
    def text(self) -> str:
        """What is written in it: a folder ends in a slash."""
        return f"{self.name}/" if (ROOT / "src" / PACKAGE / self.name).is_dir() else self.name

    @property
    def width(self) -> float:
        """In pixels."""
        return len(self.text) * CHARACTER_WIDTH + 2 * PADDING

    @property
    def height(self) -> float:
        """In pixels."""
        return LINE_HEIGHT + 2 * PADDING - 3


def read_boxes() -> list[Box]:
    """The rooms that the layers of the first import contract name, from top to bottom."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    pure = next(contract["source_modules"] for contract in contracts if contract["name"] == PURE_CONTRACT)
    layers = [[module.strip() for module in layer.split("|")] for layer in contracts[0]["layers"]]
    layers = [[module for module in layer if module.startswith(f"{PACKAGE}.")] for layer in layers]
    return [
        Box(row, module.removeprefix(f"{PACKAGE}."), module in pure)
        for row, layer in enumerate(filter(None, layers))
        for module in layer
    ]


def read_imports(boxes: Sequence[Box]) -> dict[Box, set[Box]]:
    """Which boxes each box imports; stops if one imports a box that is not below it."""
    by_name = {box.name: box for box in boxes}
    found: dict[Box, set[Box]] = {box: set() for box in boxes}
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    for module in sorted(graph.modules - {PACKAGE}):
        for imported in sorted(graph.find_modules_directly_imported_by(module) - {PACKAGE}):
            rooms = [name.split(".")[1] for name in (module, imported)]
            if unknown := set(rooms) - by_name.keys():
                raise SystemExit(f"no layer of the first import contract names {PACKAGE}.{min(unknown)}")
            upper, lower = (by_name[room] for room in rooms)
            if upper is not lower and upper.row >= lower.row:
                raise SystemExit(f"{module} imports {imported}, whose room is not below it")
            if upper is not lower:
                found[upper].add(lower)
    return found


def reduce_transitively(imports: dict[Box, set[Box]]) -> list[tuple[Box, Box]]:
    """The imports that no chain of other imports implies."""
    reachable: dict[Box, set[Box]] = {}
    for box in sorted(imports, key=lambda box: -box.row):
        reachable[box] = imports[box].union(*(reachable[lower] for lower in imports[box]))
    return [
        (box, lower)
        for box in imports
        for lower in sorted(imports[box], key=lambda lower: (lower.row, lower.name))
        if not any(lower in reachable[other] for other in imports[box])
    ]


def draw(boxes: Sequence[Box], arrows: Sequence[tuple[Box, Box]]) -> str:
    """The picture, as SVG."""
    layout = Layout(boxes, arrows, left=MARGIN)
    heights = [max(place.box.height for place in row if place.box) for row in layout.rows]
    tops = [LEGEND_HEIGHT + sum(heights[:row]) + row * ROW_GAP for row in range(len(heights))]
    width = max(place.x + place.width / 2 for row in layout.rows for place in row) + MARGIN
    size = f"{width:.0f} {tops[-1] + heights[-1] + MARGIN:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" {STYLE}><defs>{HEAD}</defs>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *_draw_legend(),
    ]
    for top, height in zip(tops, heights, strict=True):
        parts.append(f'<rect x="0" y="{top - 8:.1f}" width="{width:.0f}" height="{height + 16:.1f}" fill="{RULE}"/>')
    parts += _draw_arrows(layout, tops, heights)
    for place in (place for row in layout.rows for place in row):
        if place.box is not None:
            parts.append(_draw_box(place.box, place.x, tops[place.row] + heights[place.row] / 2))
    return "\n".join([*parts, "</svg>", ""])


def _draw_legend() -> Iterator[str]:
    x = MARGIN
    kinds = ((PURE, "pure by contract: no I/O, no clock, no random number"), (ACTING, "other modules"))
    for (fill, border), text in kinds:
        yield f'<rect x="{x}" y="14" width="18" height="12" rx="3" fill="{fill}" stroke="{border}"/>'
        yield f'<text x="{x + 25}" y="24">{text}</text>'
        x += 55 + len(text) * 6
    yield f'<path d="M{x},20h26" stroke="{GRAY}" marker-end="url(#head)"/>'
    yield f'<text x="{x + 33}" y="24">imports; not drawn where other arrows lead the same way</text>'


def _draw_box(box: Box, x: float, middle: float) -> str:
    fill, border = PURE if box.is_pure else ACTING
    left, top = x - box.width / 2, middle - box.height / 2
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6" fill="{fill}"'
        f' stroke="{border}"/><text x="{x:.1f}" y="{top + PADDING + 11:.1f}"'
        f' font-family="monospace" text-anchor="middle">{escape(box.text)}</text>'
    )


def _draw_arrows(layout: Layout[Box], tops: Sequence[float], heights: Sequence[float]) -> Iterator[str]:
    """Each link is upright within a row and curves between two."""
    style = f'fill="none" stroke="{GRAY}" stroke-width="1.1"'
    for here in (place for row in layout.rows for place in row):
        middle, bottom = tops[here.row] + heights[here.row] / 2, tops[here.row] + heights[here.row]
        for there in layout.below[here]:
            x, to_x = _port(here, there, layout.below), _port(there, here, layout.above)
            start = middle + here.box.height / 2 if here.box else tops[here.row]
            top = tops[there.row]
            end = f"V{top + (heights[there.row] - there.box.height) / 2:.1f}" if there.box else ""
            half = (bottom + top) / 2
            curve = f"C{x:.1f},{half:.1f} {to_x:.1f},{half:.1f} {to_x:.1f},{top:.1f}"
            head = ' marker-end="url(#head)"' if there.box else ""
            yield f'<path d="M{x:.1f},{start:.1f}V{bottom:.1f}{curve}{end}" {style}{head}/>'


def _port(place: Place[Box], other: Place[Box], beside: dict[Place[Box], list[Place[Box]]]) -> float:
    """Where the link to another place leaves this one: links stand side by side, in the order of their other ends."""
    if place.box is None:
        return place.x
    others = sorted(beside[place], key=lambda place: place.x)
    gap = min(PORT_GAP, (place.width - 2 * PADDING) / max(1, len(others) - 1))
    return place.x + (others.index(other) - (len(others) - 1) / 2) * gap


def architecture() -> str:
    """The picture of the package as it is."""
    boxes = read_boxes()
    return draw(boxes, reduce_transitively(read_imports(boxes)))


if __name__ == "__main__":
    PICTURE.write_text(architecture(), encoding="utf-8")
