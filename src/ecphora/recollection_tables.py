"""Tables of recollections as plain text and as HTML, made from their JSON values. They are printable anywhere."""

from collections.abc import Mapping
from html import escape
from typing import Any

from .invisible_chars import REPLACEMENT, strip_invisible
from .text_format import collapse_whitespace, count_noun, describe_validity, iso_day, truncate

TEXT_WIDTH = 72
"""Characters shown of a memory's text in a line of plain text."""
REASON_WIDTH = 160
"""Characters shown of a reason."""
SPEAKER_WIDTH = 16
"""Characters shown of a speaker's name."""
ID_WIDTH = 40
"""Characters shown of an id."""

Json = Mapping[str, Any]


def text_table(recollection: Json) -> str:
    """Return a recollection as lines: question, evidence and cost, then a line per hit with its reason below it."""
    lines = [summary(recollection), *recollection["notices"]]
    widest = max((len(_truncate_line(hit["speaker"] or "", SPEAKER_WIDTH)) for hit in recollection["hits"]), default=0)
    for hit in recollection["hits"]:
        speaker = f"  {_truncate_line(hit['speaker'] or '', SPEAKER_WIDTH).ljust(widest)}" if widest else ""
        validity = f"  [{_truncate_line(validity_text(hit), TEXT_WIDTH)}]" if validity_text(hit) else ""
        cells = f"{hit['rank']:>3}  {hit['score']:>6.2f}  {iso_day(hit['happened_at'])}{speaker}"
        lines.append(f"{cells}  {_truncate_line(hit['text'], TEXT_WIDTH)}{validity}")
        if hit["reason"]:
            lines.append(f"{' ' * len('  1  ')}{_truncate_line(hit['reason'], REASON_WIDTH)}")
    return "\n".join(lines)


def html_table(recollection: Json) -> str:
    """Return a recollection as an HTML table; every text is escaped."""
    names = ("", "score", "date", "speaker", "text", "reason", "validity")
    rows = "".join(_html_row(hit) for hit in recollection["hits"])
    caption = "<br>".join(map(escape, (summary(recollection), *recollection["notices"])))
    return (
        f"<table><caption>{caption}</caption>"
        f"<thead><tr>{''.join(f'<th>{name}</th>' for name in names)}</tr></thead><tbody>{rows}</tbody></table>"
    )


def summary(recollection: Json) -> str:
    """Return a line with the question, the evidence band, the confidence and the cost."""
    parts = [
        f"evidence {recollection['evidence']} ({recollection['confidence']:.2f})",
        count_noun(len(recollection["hits"]), "memory", "memories"),
        f"{recollection['tokens']:,} tokens",
        f"{recollection['milliseconds']:.1f} ms",
        recollection["strategy"],
    ]
    return f"{_truncate_line(recollection['question'], TEXT_WIDTH)}  {', '.join(parts)}"


def validity_text(hit: Json) -> str:
    """Return the validity of a hit at the time asked about, in words; empty where nothing bounds it."""
    found: Json = hit["validity"] or {}
    superseded_by, contradicted_by = (
        [_truncate_line(id_, ID_WIDTH) for id_ in found.get(name, ())] for name in ("superseded_by", "contradicted_by")
    )
    return describe_validity(
        is_valid=found.get("is_valid", True),
        valid_to=iso_day(found["valid_to"]) if found.get("valid_to") else None,
        superseded_by=superseded_by,
        contradicted_by=contradicted_by,
    )


def _html_row(hit: Json) -> str:
    texts = (hit["speaker"] or "", hit["text"], hit["reason"], validity_text(hit))
    shown = (strip_invisible(text, replacement=REPLACEMENT) for text in texts)
    cells = [str(hit["rank"]), f"{hit['score']:.2f}", iso_day(hit["happened_at"]), *shown]
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _truncate_line(text: str, max_chars: int) -> str:
    """Return a text as part of a line: white space as single spaces, shortened."""
    return truncate(collapse_whitespace(strip_invisible(text, replacement=REPLACEMENT)), max_chars)
