"""What is drawn in a terminal: recollections, nodes, progress. It decides nothing.

What would steer the terminal is replaced wherever it stands: :func:`console` makes the only consoles there are, and
:meth:`ecphora.desk.Desk.say` and ``remark`` write the only lines.
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

from .explain import WhyNot
from .memory import Memory
from .model import MARKING, START, Evidence, History, Hit, Kind, Node, NodeId, Recollection, Share, Standing, Why
from .short_ids import abbreviate
from .visible import REPLACEMENT, line, visible

if TYPE_CHECKING:
    from .doctor import Report

NARROW = 76
"""Columns below which a hit's text stands under its line instead of beside it."""
LINES = 6
"""Lines of a text that are shown before it is cut."""
SLOW = 50.0
"""Milliseconds of embedding from which they are shown apart."""
MOST = 8
"""Shares that are shown of what a memory lacks."""
HEAD, WHO = 21, 20
"""Columns for tick, rank, bar and score, and for date and speaker."""
BANDS = {Evidence.STRONG: ("green", "●●●"), Evidence.WEAK: ("yellow", "●●○"), Evidence.NONE: ("red", "○○○")}

Naming = Callable[[NodeId], str]
"""Gives the words by which a node of a path is shown."""


def safe(text: str) -> str:
    """A text without characters that would steer the terminal."""
    return visible(text, instead=REPLACEMENT).replace("\t", "    ")


def console(*, stderr: bool = False) -> Console:
    """A console that shows no character that would steer the terminal, whoever draws on it."""
    made = Console(stderr=stderr, highlight=False)
    made.push_render_hook(_Shown())
    return made


class _Shown(RenderHook):
    """Wraps all that a console draws."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Each of them, made safe."""
        return [_Safe(one) for one in renderables]


@dataclass(frozen=True, slots=True)
class _Safe:
    """Something to draw, of which every piece of text is made safe."""

    drawn: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for piece in console.render(self.drawn, options):
            yield piece if piece.control else Segment(visible(piece.text, instead=REPLACEMENT), piece.style)


def day(time: datetime) -> str:
    """A time as a day: 3 May 2026."""
    return f"{time.day} {time:%b} {time.year:04}"


def clock(time: datetime) -> str:
    """A time to the minute."""
    return f"{day(time)} {time:%H:%M}"


def band(found: Recollection) -> Text:
    """Evidence band and confidence, as lights."""
    colour, lights = BANDS[found.evidence]
    name = "no" if found.evidence == Evidence.NONE else found.evidence.value
    words = f"{name} evidence {found.confidence:.2f}"
    return Text.assemble((lights, colour), " ", (words, f"bold {colour}"))


def bar(part: float, width: int, colour: str, *, ascii_only: bool = False) -> Text:
    """A bar filled to ``part`` of its width."""
    full = round(max(0.0, min(1.0, part)) * width)
    on, off = ("#", "-") if ascii_only else ("━", "╌")
    return Text.assemble((on * full, colour), (off * (width - full), "bright_black"))


def recollection(
    console: Console,
    found: Recollection,
    *,
    explain: bool | None = None,
    naming: Naming = str,
    ids: Mapping[NodeId, str] = MappingProxyType({}),
    gold: Collection[NodeId] = (),
    lines: int = LINES,
    shown: int | None = None,
) -> None:
    """Draw the hits with their reasons, best first.

    ``gold`` are those to tick, ``ids`` the ids to show, by the whole ones. ``explain`` asks for every share of each
    score too, False for no reasons. With ``shown`` only so many are drawn, and after them only what is ticked.
    """
    colour = BANDS[found.evidence][0]
    best = max((hit.score for hit in found), default=1.0)
    narrow = console.width < NARROW
    for rank, hit in enumerate(found, 1):
        if shown is not None and rank > shown and hit.id not in gold:
            continue
        part = hit.score / best if best > 0 else 0.0
        tick = ("✓ " if hit.id in gold else "  ", "bold green")
        meter = bar(part, 6 if narrow else 10, colour, ascii_only=console.options.ascii_only)
        head = Text.assemble(tick, (f"{rank:>2} ", "bold"), meter, (f" {hit.score:5.2f}", "bold"))
        id_ = "" if explain else line(ids.get(hit.id, hit.id))
        who = Text.assemble((day(hit.node.happened_at).rjust(11), "bright_black"))
        who.append(f" {line(hit.node.speaker or '')}", style="cyan")
        width = console.width - (5 if narrow else HEAD + WHO + 2)
        beside = _said(console, hit, explain=explain, naming=naming, lines=lines, width=width)
        if narrow:
            console.print(Text.assemble(head, " ", who, (f" {id_}", "bright_black")))
            console.print(Padding(beside, (0, 0, 0, 5)))
        else:
            grid = Table.grid(padding=(0, 1), expand=True)
            grid.add_column(width=HEAD, no_wrap=True)
            grid.add_column(width=WHO, overflow="ellipsis", no_wrap=True)
            grid.add_column(ratio=1, overflow="fold")
            if len(id_) <= WHO:
                who.append(f"\n{id_.rjust(11)}" if id_ else "", style="bright_black")
            else:
                beside = Group(beside, Text(id_, style="bright_black"))
            grid.add_row(head, who, beside)
            console.print(grid)


def _said(
    console: Console, hit: Hit, *, explain: bool | None, naming: Naming, lines: int, width: int
) -> RenderableType:
    """A hit's text, and under it why it came back."""
    rows = Table.grid(expand=True)
    rows.add_column(overflow="fold")
    if hit.node.title:
        rows.add_row(Text(line(hit.node.title), style="italic"))
    if hit.node.heading:
        rows.add_row(Text(line(hit.node.heading), style="italic"))
    rows.add_row(_shortened(hit.text, lines * max(20, width)))
    if hit.standing is not None:
        rows.add_row(Text(stands(hit.standing, naming), style="yellow"))
    elif hit.node.valid_to is not None:
        rows.add_row(Text(f"held until {clock(hit.node.valid_to)}", style="yellow"))
    if explain is not False and hit.reason:
        rows.add_row(Text(line(hit.reason), style="bright_black"))
    if explain:
        rows.add_row(shares(hit.why, hit.score, naming, ascii_only=console.options.ascii_only))
        rows.add_row(Text(f"id {line(hit.id)}", style="bright_black"))
    return rows


def stands(standing: Standing, naming: Naming = str) -> str:
    """How a memory stands, in words."""
    parts = []
    if standing.until is not None:
        parts.append(f"{'holds' if standing.holds else 'held'} until {clock(standing.until)}")
    for what, ids in (("replaced by", standing.replaced_by), ("contradicted by", standing.contradicted_by)):
        if ids:
            parts.append(f"{what} {', '.join(map(naming, ids))}")
    return line("; ".join(parts) or "holds no more")


def shares(why: Why, score: float, naming: Naming, *, ascii_only: bool = False) -> Table:
    """Every share of a score with its path; the numbers shown add up to the score shown."""
    table = Table.grid(padding=(0, 1))
    table.add_column(style="bright_black")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold", style="bright_black")
    parts = list(why.ranked)
    most = max((abs(share.value) for share in parts), default=1.0)
    for share, value in zip(parts, _adding_up(parts, score), strict=True):
        meter = bar(abs(share.value) / most, 8, "green" if share.value >= 0 else "red", ascii_only=ascii_only)
        by = Text(" by " + " → ".join(line(naming(node)) for node in share.path)) if share.path else Text("")
        table.add_row(share.stage, f"{value:+.3f}", meter + by)
    table.add_row("score", Text(f"{score:.3f}", style="bold"), "")
    return table


def fallen(console: Console, found: WhyNot, *, explain: bool = False) -> None:
    """Draw why a memory did not come back; ``explain`` asks for the shares that it lacks most."""
    console.print(Text(line(str(found))))
    lacking = [] if not explain else [share for share in found.lacking if share.stage != START][:MOST]
    width = 8 if console.width < NARROW else 20
    table = Table.grid(padding=(0, 1))
    table.add_column(style="bright_black")
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for share in lacking:
        part = share.value / lacking[0].value
        meter = bar(part, width, "yellow", ascii_only=console.options.ascii_only)
        table.add_row(f"  {share.stage}", f"{share.value:.2f}", meter)
    if lacking:
        console.print(table)


def _adding_up(parts: list[Share], score: float) -> list[float]:
    """The shares rounded to thousandths so that they add up to the rounded score: the largest takes what is left."""
    rounded = [round(share.value, 3) for share in parts]
    if rounded:
        rounded[0] = round(rounded[0] + round(score, 3) - sum(rounded), 3)
    return rounded


def naming(memory: Memory) -> Naming:
    """Names the nodes of a path: a name as it is, a memory by its id, as short as it can be, and how it begins."""

    def name(id_: NodeId) -> str:
        node = memory.get(id_)
        short = line(abbreviate([id_], memory.graph())[id_])
        return short if node is None else quoted(node) if node.kind == Kind.ENTITY else f"{short} {quoted(node)}"

    return name


def quoted(node: Node, length: int = 40) -> str:
    """A node in a few words: a name as it is, anything else as a quotation."""
    if node.kind == Kind.ENTITY:
        return line(node.text)
    words = " ".join(safe(node.text).split())
    return f"“{words[:length].rstrip()}{'…' if len(words) > length else ''}”"


def told(node: Node) -> Text:
    """A memory as one line: when, who, what."""
    who = (f"  {line(node.speaker)}", "cyan") if node.speaker else ""
    return Text.assemble((clock(node.happened_at), "bright_black"), who, "  ", " ".join(safe(node.text).split()))


def _shortened(text: str, most: int) -> Text:
    clean = safe(text).strip()
    if len(clean) <= most + most // 2:
        return Text(clean)
    return Text.assemble(clean[:most].rsplit(" ", 1)[0], (f" … {len(clean) - most:,} more characters", "bright_black"))


@contextmanager
def progress(console: Console, what: str, *, shown: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar; nothing where it is not to be shown."""
    if not shown:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as running:
        task = running.add_task(what, total=None)
        yield lambda done, total: running.update(task, completed=done, total=total)


def table(columns: Mapping[str, str], rows: Iterable[tuple[str, ...]]) -> Table:
    """Plain columns under a heading; the values say how each is aligned: ``left`` or ``right``."""
    drawn = Table(box=None, padding=(0, 2, 0, 0), header_style="bright_black")
    for name, align in columns.items():
        drawn.add_column(name, justify="right" if align == "right" else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(line(value)) for value in row))
    return drawn


def heading(found: Recollection, question: str) -> Table:
    """The question, and beside it the evidence and the time it took."""
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_column(justify="right", no_wrap=True)
    embedding = found.cost.steps.get("embed", 0.0)
    slow = embedding > SLOW  # the model was loaded, or asked over a network: not the time of recalling
    took = f"{found.cost.milliseconds - embedding:.0f} ms + {embedding:.0f} embedding" if slow else ""
    took = took or f"{found.cost.milliseconds:.0f} ms"
    grid.add_row(Text(safe(question), style="bold"), Text.assemble(band(found), "  ", (took, "bright_black")))
    return grid


def history(console: Console, found: History) -> None:
    """Draw a memory's life, oldest first."""
    for node in found.earlier:
        console.print(Text("  before  ", style="bright_black") + told(node))
    console.print(Text("▶ now     " if not found.later else "▶ this    ", style="bold green") + told(found.node))
    for node in found.later:
        console.print(Text("  after   ", style="bright_black") + told(node))
    if found.node.valid_to is not None:
        console.print(f"          held until {clock(found.node.valid_to)}", style="yellow")
    console.print(f"          recorded {clock(found.node.recorded_at)}", style="bright_black")
    accesses = [access for access in found.accesses if access.touch not in MARKING]
    counts: dict[str, int] = {}
    for access in accesses:
        counts[access.touch.value] = max(counts.get(access.touch.value, 0) + 1, access.nth)
    if counts:
        last = max(access.at for access in accesses)
        parts = ", ".join(f"{count}× {touch}" for touch, count in counts.items())
        console.print(f"          {parts}; last {clock(last)}", style="bright_black")


def findings(console: Console, report: "Report") -> None:
    """Draw what an examination found, worst first."""
    from .doctor import Severity  # noqa: PLC0415  # a recall examines nothing

    colours = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
    for finding in report.findings:
        word, colour = ("fixed", "green") if finding.fixed else (finding.severity.value, colours[finding.severity])
        console.print(Text.assemble((f"{word:>8}  ", f"bold {colour}"), safe(finding.what)))
        if not finding.fixed:
            console.print(Padding(Text(safe(finding.mend), style="bright_black"), (0, 0, 0, 10)))
    scopes = "1 scope" if report.scopes == 1 else f"{report.scopes:,} scopes"
    looked = f"{report.texts:,} texts in {scopes} of {report.path} were looked through"
    if report.sound:
        console.print(Text.assemble(("   sound  ", "bold green"), looked))
    else:
        console.print(Padding(Text(looked, style="bright_black"), (0, 0, 0, 10)))
