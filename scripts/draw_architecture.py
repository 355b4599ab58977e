"""Draw which module of the package imports which, for docs/architecture.md.

    python scripts/draw_architecture.py    # writes docs/pictures/architecture.svg

The imports are read from the source. ``ROWS`` says which modules share a box and which boxes a row; the rows follow the
layers of the first import contract in pyproject.toml. An arrow is left out if other arrows lead the same way. Boxes are
placed by ``layered_layout.py``.
"""
# ruff: noqa: INP001  # a script

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import grimp
from layered_layout import Layout, Place

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"
PACKAGE = "ecphora"
PURE_CONTRACT = "The pure modules do no I/O, read no clock and draw no random number"

ROWS: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    ("command line", (("cli", "bench"),)),
    ("servers", (("server",),)),
    ("checks, settings", (("doctor",), ("pytest_plugin", "testing"), ("settings",))),
    ("clients, asyncio", (("client",), ("aio",))),
    ("wire format, threads", (("serialize", "deserialize", "wire_forms"), ("async_calls",))),
    ("facade", (("memory", "views"), ("reembedding", "rechunking", "scopes"))),
    (
        "one run",
        (
            ("answering", "function_tools", "told_texts"),
            ("consolidation_run",),
            ("access_log",),
            ("recall_steps", "candidate_reading"),
            ("replacement",),
        ),
    ),
    ("planning, writing", (("consolidation.plan",), ("scope_writer", "graph_cache", "graph_snapshot"))),
    (
        "strategies, adapters",
        (
            ("interchange",),
            ("explain", "recall", "lookup", "inclusions"),
            ("strategies",),
            ("learn",),
            ("stores",),
            ("embedders", "update_scorers", "readers", "extractors", "summarizers", "llms"),
        ),
    ),
    (
        "reading, weights",
        (
            (
                "store_as_query",
                "query_embedder",
                "english_vectors",
                "encode",
                "query",
                "feedback",
                "exchange",
                "erasure",
                "documents",
                "repeats",
                "messages",
                "relation_edges",
            ),
            ("weights",),
            ("reasons", "reason_clauses", "answer_clauses", "clause", "ranking"),
            ("model_http", "llamacpp_engine", "llm_runs", "llm_client"),
        ),
    ),
    ("consolidation", (("consolidation",),)),
    (
        "mechanisms",
        (("stages.fused",), ("stages.synaptic", "stages.synapse", "stages.eisa", "stages.ecphory", "stages.weave")),
    ),
    (
        "shared mechanisms",
        (("stages", "stages.retrieval"), ("recall_events", "recollection", "tool_replies", "prompts", "short_ids")),
    ),
    ("language", (("language",), ("validate", "media_checks", "tool_definitions", "zones", "memory_tools"))),
    (
        "data",
        (
            (
                "ports",
                "graph_updates",
                "forget",
                "graph",
                "media_spaces",
                "derived_columns",
                "vector_column",
                "columns",
                "quantization",
                "grouping",
                "model",
                "conditions",
                "condition_mappings",
            ),
            ("plugins",),
        ),
    ),
    (
        "foundation",
        (
            (
                "errors",
                "cached_property",
                "ids",
                "timeparse",
                "http_route",
                "http_answer",
                "reprs",
                "recollection_tables",
                "invisible_chars",
                "lazy_pattern",
                "text_format",
                "clock",
                "cancellation",
                "parallel",
                "same_parameters",
                "default_limits",
                "pickling",
                "llm_usage",
                "blocked_warning",
            ),
        ),
    ),
)
"""The rows from top to bottom: a label, and boxes of modules. A module stands for all below it that have no box."""

CHARACTER_WIDTH, LINE_HEIGHT, PADDING = 7.3, 16, 8
ROW_GAP, PORT_GAP = 40.0, 13.0
LABEL_WIDTH, MARGIN, LEGEND_HEIGHT = 150.0, 16.0, 54.0
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
    """Some modules that are drawn together."""

    row: int
    modules: tuple[str, ...]
    is_pure: bool

    @property
    def lines(self) -> list[str]:
        """What is written in it: folders end in a slash, and one that is here for its subfolder alone is left out."""
        hidden = {module.rpartition(".")[0] for module in self.modules}
        return [_path_of(module) for module in self.modules if module not in hidden]

    @property
    def width(self) -> float:
        """In pixels."""
        return max(map(len, self.lines)) * CHARACTER_WIDTH + 2 * PADDING

    @property
    def height(self) -> float:
        """In pixels."""
        return len(self.lines) * LINE_HEIGHT + 2 * PADDING - 3


def _path_of(module: str) -> str:
    path = module.replace(".", "/")
    return f"{path}/" if (ROOT / "src" / PACKAGE / path).is_dir() else path


def read_contracts() -> tuple[list[list[str]], set[str]]:
    """The layers of the first import contract, top to bottom, and the modules that are pure by contract."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    layers = [[_short(module) for module in layer.split("|")] for layer in contracts[0]["layers"]]
    pure = next(contract["source_modules"] for contract in contracts if contract["name"] == PURE_CONTRACT)
    return layers, {_short(module) for module in pure}


def _short(module: str) -> str:
    return module.strip().removeprefix(f"{PACKAGE}.")


def build_boxes(layers: Sequence[Sequence[str]], pure: set[str]) -> list[Box]:
    """The boxes of ``ROWS``; stops if their rows contradict the layers."""
    boxes = [
        Box(row, modules, all(_owner(module, pure) is not None for module in modules))
        for row, (_label, groups) in enumerate(ROWS)
        for modules in groups
    ]
    rows = {module: box.row for box in boxes for module in box.modules}
    least = 0
    for layer in layers:
        found = {module: rows[owner] for module in layer if (owner := _owner(module, rows)) is not None}
        if missing := sorted(set(layer) - found.keys()):
            raise SystemExit(f"ROWS in {Path(__file__).name} lacks {', '.join(missing)}")
        if wrong := [module for module, row in found.items() if row < least]:
            raise SystemExit(f"ROWS in {Path(__file__).name} has {', '.join(wrong)} above a module of a higher layer")
        least = max(found.values())
    return boxes


def _owner(module: str, modules: Iterable[str]) -> str | None:
    """The module among these that stands for a module: itself, or the nearest package around it."""
    known = set(modules)
    while module and module not in known:
        module = module.rpartition(".")[0]
    return module or None


def read_imports(boxes: Sequence[Box]) -> dict[Box, set[Box]]:
    """Which boxes each box imports; stops if one imports a box that is not below it."""
    by_module = {module: box for box in boxes for module in box.modules}
    found: dict[Box, set[Box]] = {box: set() for box in boxes}
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    for module in sorted(graph.modules - {PACKAGE}):
        for imported in sorted(graph.find_modules_directly_imported_by(module) - {PACKAGE}):
            owners = [_owner(name.partition(".")[2], by_module) for name in (module, imported)]
            if None in owners:
                raise SystemExit(f"ROWS in {Path(__file__).name} has no box for {module} or {imported}")
            upper, lower = (by_module[owner] for owner in owners if owner is not None)
            if upper is not lower and upper.row >= lower.row:
                raise SystemExit(f"{module} imports {imported}: put its box above the other in {Path(__file__).name}")
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
        for lower in sorted(imports[box], key=lambda lower: (lower.row, lower.modules))
        if not any(lower in reachable[other] for other in imports[box])
    ]


def draw(boxes: Sequence[Box], arrows: Sequence[tuple[Box, Box]]) -> str:
    """The picture, as SVG."""
    layout = Layout(boxes, arrows, left=LABEL_WIDTH + MARGIN)
    heights = [max(place.box.height for place in row if place.box) for row in layout.rows]
    tops = [LEGEND_HEIGHT + sum(heights[:row]) + row * ROW_GAP for row in range(len(heights))]
    width = max(place.x + place.width / 2 for row in layout.rows for place in row) + MARGIN
    size = f"{width:.0f} {tops[-1] + heights[-1] + MARGIN:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" {STYLE}><defs>{HEAD}</defs>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *_draw_legend(),
    ]
    for (label, _groups), top, height in zip(ROWS, tops, heights, strict=True):
        parts.append(
            f'<rect x="0" y="{top - 8:.1f}" width="{width:.0f}" height="{height + 16:.1f}" fill="{RULE}"/>'
            f'<text x="{MARGIN}" y="{top + height / 2 + 4:.1f}" fill="{GRAY}">{escape(label)}</text>'
        )
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
    lines = "".join(
        f'<text x="{x:.1f}" y="{top + PADDING + 11 + LINE_HEIGHT * at:.1f}">{escape(line)}</text>'
        for at, line in enumerate(box.lines)
    )
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6" fill="{fill}"'
        f' stroke="{border}"/><g font-family="monospace" text-anchor="middle">{lines}</g>'
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
    boxes = build_boxes(*read_contracts())
    return draw(boxes, reduce_transitively(read_imports(boxes)))


if __name__ == "__main__":
    PICTURE.write_text(architecture(), encoding="utf-8")
