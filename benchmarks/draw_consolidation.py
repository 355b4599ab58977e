"""Draw the effect of consolidation for lab/consolidation.md.

The picture has one question on the demo's chat, before and after.

``python benchmarks/draw_consolidation.py docs/pictures/consolidation.svg``. The ``supersedes`` fields of the chat are
left out, so consolidation finds what is drawn; an update that it leaves pending is accepted. The recalls are without
the reranker.
"""

import argparse
import json
import tempfile
import textwrap
from html import escape
from importlib.resources import files
from pathlib import Path

from ecphora import Episode, Hit, Memory, RecallOptions
from ecphora.model.text_format import short_minute

QUESTION = "Which day in April 2026 is the wedding?"
SHOWN, WIDTH, ROW = 4, 460, 92
FONT = 'font-family="sans-serif" font-size="12"'


def episodes() -> list[Episode]:
    lines = files("ecphora.cli.demo").joinpath("conversation.jsonl").read_text(encoding="utf-8").splitlines()
    rows = map(json.loads, lines)
    return [Episode(r["text"], r["id"], r["speaker"], r["session"], r["happened_at"]) for r in rows]


def draw_hit(hit: Hit, rank: int, x: int, colors: dict[str, str]) -> str:
    y = 60 + rank * ROW
    color = colors.get(hit.id, "#cccccc")
    lines = textwrap.wrap(hit.text, 62)[:3]
    head = f"{rank + 1}.  {hit.score:.2f}   {hit.node.speaker}, {short_minute(hit.node.happened_at)}"
    if hit.validity is not None and hit.validity.valid_to is not None:
        head += f"   until {short_minute(hit.validity.valid_to)}"
    parts = [
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{ROW - 10}" fill="none" stroke="{color}" stroke-width="2"/>'
    ]
    parts.append(f'<text x="{x + 10}" y="{y + 18}" font-weight="bold">{escape(head)}</text>')
    parts += [f'<text x="{x + 10}" y="{y + 36 + 16 * n}">{escape(line)}</text>' for n, line in enumerate(lines)]
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="the SVG file that is written")
    file: Path = parser.parse_args().file
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "m.db", zone="UTC") as memory:
        memory.remember(episodes())
        before = memory.recall(QUESTION, options=RecallOptions(log_access=False), rerank="never")
        result = memory.consolidate()
        found_ids = {hit.id for hit in before}
        updates = [*memory.facts.updates(), *memory.facts.updates(pending=True)]
        update = max((one for one in updates if one.old.id in found_ids), key=lambda one: one.confidence)
        sureness = f"confidence {update.confidence:.2f}"
        if update in memory.facts.updates(pending=True):
            memory.facts.accept(update.old.id, update.new.id)
            sureness += ", so it was pending until it was accepted"
        after = memory.recall(QUESTION, options=RecallOptions(log_access=False), rerank="never")
    colors = {update.old.id: "#2b6cb0", update.new.id: "#b4232a"}
    pairs = result.counts["supersedes"]
    caption = f"The later message corrects the earlier one ({sureness}). Pairs found: {pairs}."
    width, height = 2 * WIDTH + 90, 110 + SHOWN * ROW
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {FONT}>']
    parts.append('<rect width="100%" height="100%" fill="#ffffff"/>')
    parts.append(f'<text x="20" y="24" font-size="15" font-weight="bold">{escape(QUESTION)}</text>')
    for x, title, found in ((20, "before consolidation", before), (WIDTH + 70, "after consolidation", after)):
        parts.append(f'<text x="{x}" y="50" fill="#555555">{title}</text>')
        parts += [draw_hit(hit, rank, x, colors) for rank, hit in enumerate(found.hits[:SHOWN])]
    parts.append(f'<text x="20" y="{height - 16}" fill="#555555">{escape(caption)}</text></svg>')
    file.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
