"""Tables of what came back, as plain text and as HTML, made from its JSON values. They are printable anywhere."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .visible import REPLACEMENT, visible

TEXT = 72
"""Characters of a memory's text in a line of plain text."""
REASON = 160
"""Characters of a reason there."""
WHO = 16
"""Characters of a speaker's name there."""

Json = Mapping[str, Any]


def text_table(found: Json) -> str:
    """A recollection as lines: question, evidence and cost, then a line a hit and below it its reason."""
    lines = [head(found)]
    widest = max((len(_line(hit["speaker"] or "", WHO)) for hit in found["hits"]), default=0)
    for hit in found["hits"]:
        who = f"  {_line(hit['speaker'] or '', WHO).ljust(widest)}" if widest else ""
        stands = f"  [{_line(standing(hit), TEXT)}]" if standing(hit) else ""
        cells = f"{hit['rank']:>3}  {hit['score']:>6.2f}  {day(hit['happened_at'])}{who}"
        lines.append(f"{cells}  {_line(hit['text'], TEXT)}{stands}")
        if hit["reason"]:
            lines.append(f"{' ' * len('  1  ')}{_line(hit['reason'], REASON)}")
    return "\n".join(lines)


def html_table(found: Json) -> str:
    """A recollection as an HTML table; every text is escaped."""
    names = ("", "score", "date", "speaker", "text", "reason", "standing")
    rows = "".join(_row(hit) for hit in found["hits"])
    return (
        f"<table><caption>{escape(head(found))}</caption>"
        f"<thead><tr>{''.join(f'<th>{name}</th>' for name in names)}</tr></thead><tbody>{rows}</tbody></table>"
    )


def head(found: Json) -> str:
    """The question, with how sure it is and what it cost."""
    count = len(found["hits"])
    parts = [
        f"evidence {found['evidence']} ({found['confidence']:.2f})",
        "1 memory" if count == 1 else f"{count:,} memories",
        f"{found['tokens']:,} tokens",
        f"{found['milliseconds']:.1f} ms",
        found["strategy"],
    ]
    return f"{_line(found['question'], TEXT)}  {', '.join(parts)}"


def standing(hit: Json) -> str:
    """How a hit stands at the time asked about, in words; nothing where nothing bounds it."""
    found: Json = hit["standing"] or {}
    parts: list[str] = []
    if found.get("until"):
        parts.append(f"{'holds' if found['holds'] else 'held'} until {day(found['until'])}")
    for what, ids in (("replaced by", "replaced_by"), ("contradicted by", "contradicted_by")):
        if found.get(ids):
            parts.append(f"{what} {_ids(found[ids])}")
    return "; ".join(parts)


def day(time: str) -> str:
    """The day of an ISO 8601 time."""
    return time[: len("2026-05-03")]


def _row(hit: Json) -> str:
    texts = (hit["speaker"] or "", hit["text"], hit["reason"], standing(hit))
    shown = (visible(text, instead=REPLACEMENT) for text in texts)
    cells = [str(hit["rank"]), f"{hit['score']:.2f}", day(hit["happened_at"]), *shown]
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(_line(id_, 40) for id_ in ids)


def _line(text: str, most: int) -> str:
    """A text as part of a line: white space as single spaces, shortened."""
    line = " ".join(visible(text, instead=REPLACEMENT).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
