"""What is drawn in a terminal: recollections, nodes, progress. It decides nothing.

What would steer the terminal is replaced wherever it stands: :func:`make_console` makes the only consoles there are,
and :meth:`ecphora.cli.context.CommandContext.print_line` and ``note`` write the only lines.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    Group,
    RenderableType,
    RenderHook,
    RenderResult,
)
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ..explain import WhyNot
from ..invisible_chars import REPLACEMENT, single_line, strip_invisible
from ..memory import Memory
from ..model import (
    PRIOR,
    Contribution,
    Evidence,
    History,
    Hit,
    Kind,
    Mark,
    Node,
    NodeId,
    Recollection,
    Validity,
    Why,
)
from ..short_ids import abbreviate

if TYPE_CHECKING:
    from ..doctor import Report

NARROW_WIDTH = 76
"""Columns below which a hit's text stands under its line instead of beside it."""
MAX_TEXT_LINES = 6
"""Lines of a text that are shown before it is cut."""
SLOW_EMBED_MS = 50.0
"""Milliseconds of embedding from which they are shown apart."""
MAX_SHORTFALLS = 8
"""Parts of a shortfall that are shown."""
SCORE_COLUMN_WIDTH, SPEAKER_COLUMN_WIDTH = 21, 20
"""Columns for tick, rank, bar and score, and for date and speaker."""
BAND_STYLES = {Evidence.STRONG: ("green", "●●●"), Evidence.WEAK: ("yellow", "●●○"), Evidence.NONE: ("red", "○○○")}

NodeLabeler = Callable[[NodeId], str]
"""Gives the words by which a node of a path is shown."""


def sanitize(text: str) -> str:
    """A text without characters that would steer the terminal."""
    return strip_invisible(text, replacement=REPLACEMENT).replace("\t", "    ")


def make_console(*, stderr: bool = False) -> Console:
    """A console that shows no character that would steer the terminal, whoever draws on it."""
    made = Console(stderr=stderr, highlight=False)
    made.push_render_hook(_SanitizeHook())
    return made


class _SanitizeHook(RenderHook):
    """Wraps all that a console draws."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Each of them, made safe."""
        return [_SafeRenderable(one) for one in renderables]


@dataclass(frozen=True, slots=True)
class _SafeRenderable:
    """Something to draw, of which every piece of text is made safe."""

    renderable: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for piece in console.render(self.renderable, options):
            yield piece if piece.control else Segment(strip_invisible(piece.text, replacement=REPLACEMENT), piece.style)


def format_day(time: datetime) -> str:
    """A time as a day: 3 May 2026."""
    return f"{time.day} {time:%b} {time.year:04}"


def format_minute(time: datetime) -> str:
    """A time to the minute."""
    return f"{format_day(time)} {time:%H:%M}"


def band_label(recollection: Recollection) -> Text:
    """Evidence band and confidence, as lights."""
    colour, lights = BAND_STYLES[recollection.evidence]
    name = "no" if recollection.evidence == Evidence.NONE else recollection.evidence.value
    words = f"{name} evidence {recollection.confidence:.2f}"
    return Text.assemble((lights, colour), " ", (words, f"bold {colour}"))


def bar(fraction: float, width: int, color: str, *, ascii_only: bool = False) -> Text:
    """A bar filled to ``part`` of its width."""
    full = round(max(0.0, min(1.0, fraction)) * width)
    on, off = ("#", "-") if ascii_only else ("━", "╌")
    return Text.assemble((on * full, color), (off * (width - full), "bright_black"))


def print_recollection(
    console: Console,
    recollection: Recollection,
    *,
    explain: bool | None = None,
    label_node: NodeLabeler = str,
    ids: Mapping[NodeId, str] = MappingProxyType({}),
    gold: Collection[NodeId] = (),
    max_lines: int = MAX_TEXT_LINES,
    max_hits: int | None = None,
) -> None:
    """Draw the hits with their reasons, best first.

    ``gold`` are those to tick, ``ids`` the ids to show, by the whole ones. ``explain`` asks for every contribution
    too, False for no reasons. With ``max_hits`` only so many are drawn, and after them only what is ticked.
    """
    colour = BAND_STYLES[recollection.evidence][0]
    best = max((hit.score for hit in recollection), default=1.0)
    narrow = console.width < NARROW_WIDTH
    for rank, hit in enumerate(recollection, 1):
        if max_hits is not None and rank > max_hits and hit.id not in gold:
            continue
        part = hit.score / best if best > 0 else 0.0
        tick = ("✓ " if hit.id in gold else "  ", "bold green")
        meter = bar(part, 6 if narrow else 10, colour, ascii_only=console.options.ascii_only)
        head = Text.assemble(tick, (f"{rank:>2} ", "bold"), meter, (f" {hit.score:5.2f}", "bold"))
        id_ = "" if explain else single_line(ids.get(hit.id, hit.id))
        who = Text.assemble((format_day(hit.node.happened_at).rjust(11), "bright_black"))
        who.append(f" {single_line(hit.node.speaker or '')}", style="cyan")
        width = console.width - (5 if narrow else SCORE_COLUMN_WIDTH + SPEAKER_COLUMN_WIDTH + 2)
        beside = _hit_body(console, hit, explain=explain, label_node=label_node, max_lines=max_lines, width=width)
        if narrow:
            console.print(Text.assemble(head, " ", who, (f" {id_}", "bright_black")))
            console.print(Padding(beside, (0, 0, 0, 5)))
        else:
            grid = Table.grid(padding=(0, 1), expand=True)
            grid.add_column(width=SCORE_COLUMN_WIDTH, no_wrap=True)
            grid.add_column(width=SPEAKER_COLUMN_WIDTH, overflow="ellipsis", no_wrap=True)
            grid.add_column(ratio=1, overflow="fold")
            if len(id_) <= SPEAKER_COLUMN_WIDTH:
                who.append(f"\n{id_.rjust(11)}" if id_ else "", style="bright_black")
            else:
                beside = Group(beside, Text(id_, style="bright_black"))
            grid.add_row(head, who, beside)
            console.print(grid)


def _hit_body(
    console: Console, hit: Hit, *, explain: bool | None, label_node: NodeLabeler, max_lines: int, width: int
) -> RenderableType:
    """A hit's text, and under it why it came back."""
    rows = Table.grid(expand=True)
    rows.add_column(overflow="fold")
    if hit.node.title:
        rows.add_row(Text(single_line(hit.node.title), style="italic"))
    if hit.node.heading:
        rows.add_row(Text(single_line(hit.node.heading), style="italic"))
    rows.add_row(_shorten(hit.text, max_lines * max(20, width)))
    if hit.validity is not None:
        rows.add_row(Text(validity_text(hit.validity, label_node), style="yellow"))
    elif hit.node.valid_to is not None:
        rows.add_row(Text(f"held until {format_minute(hit.node.valid_to)}", style="yellow"))
    if explain is not False and hit.reason:
        rows.add_row(Text(single_line(hit.reason), style="bright_black"))
    if explain:
        rows.add_row(contribution_table(hit.why, hit.score, label_node, ascii_only=console.options.ascii_only))
        rows.add_row(Text(f"id {single_line(hit.id)}", style="bright_black"))
    return rows


def validity_text(validity: Validity, label_node: NodeLabeler = str) -> str:
    """The validity of a memory, in words."""
    parts = []
    if validity.valid_to is not None:
        parts.append(f"{'holds' if validity.is_valid else 'held'} until {format_minute(validity.valid_to)}")
    for what, ids in (("superseded by", validity.superseded_by), ("contradicted by", validity.contradicted_by)):
        if ids:
            parts.append(f"{what} {', '.join(map(label_node, ids))}")
    return single_line("; ".join(parts) or "no longer valid")


def contribution_table(why: Why, score: float, label_node: NodeLabeler, *, ascii_only: bool = False) -> Table:
    """Every contribution to a score with its path; the numbers shown add up to the score shown."""
    table = Table.grid(padding=(0, 1))
    table.add_column(style="bright_black")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold", style="bright_black")
    parts = list(why.ranked_contributions)
    most = max((abs(share.value) for share in parts), default=1.0)
    for share, value in zip(parts, _round_to_sum(parts, score), strict=True):
        meter = bar(abs(share.value) / most, 8, "green" if share.value >= 0 else "red", ascii_only=ascii_only)
        by = Text(" by " + " → ".join(single_line(label_node(node)) for node in share.path)) if share.path else Text("")
        table.add_row(share.feature, f"{value:+.3f}", meter + by)
    table.add_row("score", Text(f"{score:.3f}", style="bold"), "")
    return table


def print_why_not(console: Console, why_not: WhyNot, *, explain: bool = False) -> None:
    """Draw why a memory did not come back; ``explain`` adds the largest parts of its shortfall."""
    console.print(Text(single_line(str(why_not))))
    lacking = [] if not explain else [share for share in why_not.shortfall if share.feature != PRIOR][:MAX_SHORTFALLS]
    width = 8 if console.width < NARROW_WIDTH else 20
    table = Table.grid(padding=(0, 1))
    table.add_column(style="bright_black")
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for share in lacking:
        part = share.value / lacking[0].value
        meter = bar(part, width, "yellow", ascii_only=console.options.ascii_only)
        table.add_row(f"  {share.feature}", f"{share.value:.2f}", meter)
    if lacking:
        console.print(table)


def _round_to_sum(contributions: list[Contribution], score: float) -> list[float]:
    """The contributions, rounded so that they add up to the rounded score: the largest takes what is left."""
    rounded = [round(share.value, 3) for share in contributions]
    if rounded:
        rounded[0] = round(rounded[0] + round(score, 3) - sum(rounded), 3)
    return rounded


def node_labeler(memory: Memory) -> NodeLabeler:
    """Names the nodes of a path: a name as it is, a memory by its id, as short as it can be, and how it begins."""

    def name(id_: NodeId) -> str:
        node = memory.get(id_)
        short = single_line(abbreviate([id_], memory.graph())[id_])
        return (
            short if node is None else quote_node(node) if node.kind == Kind.ENTITY else f"{short} {quote_node(node)}"
        )

    return name


def quote_node(node: Node, length: int = 40) -> str:
    """A node in a few words: a name as it is, anything else as a quotation."""
    if node.kind == Kind.ENTITY:
        return single_line(node.text)
    words = " ".join(sanitize(node.text).split())
    return f"“{words[:length].rstrip()}{'…' if len(words) > length else ''}”"


def node_line(node: Node) -> Text:
    """A memory as one line: when, who, what."""
    who = (f"  {single_line(node.speaker)}", "cyan") if node.speaker else ""
    return Text.assemble(
        (format_minute(node.happened_at), "bright_black"), who, "  ", " ".join(sanitize(node.text).split())
    )


def _shorten(text: str, max_chars: int) -> Text:
    clean = sanitize(text).strip()
    if len(clean) <= max_chars + max_chars // 2:
        return Text(clean)
    return Text.assemble(
        clean[:max_chars].rsplit(" ", 1)[0], (f" … {len(clean) - max_chars:,} more characters", "bright_black")
    )


@contextmanager
def progress_bar(console: Console, label: str, *, is_shown: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar; nothing where it is not to be shown."""
    if not is_shown:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as running:
        task = running.add_task(label, total=None)
        yield lambda done, total: running.update(task, completed=done, total=total)


def table(columns: Mapping[str, str], rows: Iterable[tuple[str, ...]]) -> Table:
    """Plain columns under a heading; the values say how each is aligned: ``left`` or ``right``."""
    drawn = Table(box=None, padding=(0, 2, 0, 0), header_style="bright_black")
    for name, align in columns.items():
        drawn.add_column(name, justify="right" if align == "right" else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(single_line(value)) for value in row))
    return drawn


def recollection_heading(recollection: Recollection, question: str) -> Table:
    """The question, and beside it the evidence and the time it took."""
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_column(justify="right", no_wrap=True)
    embedding = recollection.cost.step_milliseconds.get("embed", 0.0)
    slow = embedding > SLOW_EMBED_MS  # the model was loaded, or asked over a network: not the time of recalling
    took = f"{recollection.cost.milliseconds - embedding:.0f} ms + {embedding:.0f} embedding" if slow else ""
    took = took or f"{recollection.cost.milliseconds:.0f} ms"
    grid.add_row(
        Text(sanitize(question), style="bold"), Text.assemble(band_label(recollection), "  ", (took, "bright_black"))
    )
    return grid


def print_history(console: Console, history: History) -> None:
    """Draw a memory's history, oldest first."""
    for node in history.predecessors:
        console.print(Text("  before  ", style="bright_black") + node_line(node))
    console.print(
        Text("▶ now     " if not history.successors else "▶ this    ", style="bold green") + node_line(history.node)
    )
    for node in history.successors:
        console.print(Text("  after   ", style="bright_black") + node_line(node))
    if history.node.valid_to is not None:
        console.print(f"          held until {format_minute(history.node.valid_to)}", style="yellow")
    console.print(f"          recorded {format_minute(history.node.recorded_at)}", style="bright_black")
    accesses = [access for access in history.accesses if not isinstance(access.kind, Mark)]
    counts: dict[str, int] = {}
    for access in accesses:
        counts[access.kind.value] = max(counts.get(access.kind.value, 0) + 1, access.nth)
    if counts:
        last = max(access.at for access in accesses)
        parts = ", ".join(f"{count}× {kind}" for kind, count in counts.items())
        console.print(f"          {parts}; last {format_minute(last)}", style="bright_black")


def print_report(console: Console, report: "Report") -> None:
    """Draw what an examination found, worst first."""
    from ..doctor import Severity  # noqa: PLC0415  # a recall examines nothing

    colours = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
    for finding in report.findings:
        word, colour = ("fixed", "green") if finding.is_fixed else (finding.severity.value, colours[finding.severity])
        console.print(Text.assemble((f"{word:>8}  ", f"bold {colour}"), sanitize(finding.problem)))
        if not finding.is_fixed:
            console.print(Padding(Text(sanitize(finding.hint), style="bright_black"), (0, 0, 0, 10)))
    scopes = "1 scope" if report.scope_count == 1 else f"{report.scope_count:,} scopes"
    looked = f"{report.text_count:,} texts in {scopes} of {report.path} were examined"
    if report.is_healthy:
        console.print(Text.assemble((" healthy  ", "bold green"), looked))
    else:
        console.print(Padding(Text(looked, style="bright_black"), (0, 0, 0, 10)))
