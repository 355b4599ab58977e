"""Draw one recall, from a question to its hits, for the README.

    python scripts/draw_recall.py    # writes docs/pictures/recall.svg; a test fails if it is out of date

The picture takes its colors from the reranker's light or dark mode.
"""
# ruff: noqa: INP001  # a script

from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "recall.svg"
STEPS = (
    ("question", ("“Where does Ana live?”",)),
    ("analyze", ("vectors, words,", "names, dates")),
    ("find candidates", ("alike in meaning,", "same words, same", "names, next turns")),
    ("rank", ("one score from", "all these signals")),
    ("rerank", ("if in doubt, a small", "model reads the best", "with the question")),
)
HITS = (
    ("1", "I moved to Porto.", "is newer than another answer"),
    ("2", "I live in Lisbon.", "valid until 3 May 2026"),
)
EVIDENCE = "evidence: strong"
FONT = "font-family: system-ui, sans-serif"
STYLE = f"""
  .page {{ fill: #ffffff }} .box {{ fill: #eef3f8; stroke: #7f93a8 }} .hit {{ fill: #e6f4ea; stroke: #5b9a6d }}
  .title {{ {FONT}; font-size: 14px; font-weight: 600; fill: #14202b }}
  .text {{ {FONT}; font-size: 12px; fill: #3a4855 }}
  .arrow {{ stroke: #7f93a8; stroke-width: 2; fill: none; marker-end: url(#head) }} .head {{ fill: #7f93a8 }}
  @media (prefers-color-scheme: dark) {{
    .page {{ fill: #0d1117 }} .box {{ fill: #1c2733; stroke: #6b8096 }} .hit {{ fill: #16301f; stroke: #5b9a6d }}
    .title {{ fill: #f0f4f8 }} .text {{ fill: #c3ced9 }}
  }}
"""
HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
    '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>'
)
BOX_WIDTH, BOX_HEIGHT, GAP, MARGIN, TOP = 152, 92, 26, 16, 16
HIT_TOP, HIT_HEIGHT = TOP + BOX_HEIGHT + 44, 52


def recall() -> str:
    """The picture as SVG."""
    width = 2 * MARGIN + len(STEPS) * BOX_WIDTH + (len(STEPS) - 1) * GAP
    height = HIT_TOP + HIT_HEIGHT + MARGIN
    described = (
        "A recall: the question is analyzed, candidates are found, ranked and reranked; hits come back with evidence"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{described}">',
        f"<style>{STYLE}</style>",
        HEAD,
        f'<rect class="page" width="{width}" height="{height}" rx="8"/>',
    ]
    for number, (title, lines) in enumerate(STEPS):
        left = MARGIN + number * (BOX_WIDTH + GAP)
        parts += _box("box", (left, TOP, BOX_WIDTH, BOX_HEIGHT), title, lines)
        if number:
            middle = TOP + BOX_HEIGHT // 2
            parts.append(f'<path class="arrow" d="M{left - GAP + 2} {middle}H{left - 2}"/>')
    last = MARGIN + (len(STEPS) - 1) * (BOX_WIDTH + GAP) + BOX_WIDTH // 2
    parts.append(f'<path class="arrow" d="M{last} {TOP + BOX_HEIGHT + 2}V{HIT_TOP - 2}"/>')
    hit_width = (width - 2 * MARGIN - 2 * GAP) // 3
    for number, (rank, text, reason) in enumerate(HITS):
        left = MARGIN + number * (hit_width + GAP)
        parts += _box("hit", (left, HIT_TOP, hit_width, HIT_HEIGHT), f"{rank}  {text}", (reason,))
    left = MARGIN + 2 * (hit_width + GAP)
    parts += _box("hit", (left, HIT_TOP, hit_width, HIT_HEIGHT), EVIDENCE, ("or weak, or none",))
    return "\n".join([*parts, "</svg>", ""])


def _box(kind: str, place: tuple[int, int, int, int], title: str, lines: tuple[str, ...]) -> list[str]:
    left, top, width, height = place
    texts = [
        f'<text class="text" x="{left + 12}" y="{top + 42 + 17 * n}">{escape(one)}</text>'
        for n, one in enumerate(lines)
    ]
    return [
        f'<rect class="{kind}" x="{left}" y="{top}" width="{width}" height="{height}" rx="6"/>',
        f'<text class="title" x="{left + 12}" y="{top + 22}">{escape(title)}</text>',
        *texts,
    ]


if __name__ == "__main__":
    PICTURE.write_text(recall(), encoding="utf-8")
