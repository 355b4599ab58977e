"""Terminal output: recollections, nodes, progress.

Characters that would control the terminal are always replaced: :func:`make_console` makes every console, and
:meth:`ecphora.cli.context.CommandContext.print_line` and ``note`` write every other line.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, ConsoleRenderable, Group, RenderableType, RenderHook, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ..memory import Memory
from ..model.text_format import (
    REPLACEMENT,
    collapse_whitespace,
    count_noun,
    describe_validity,
    short_day,
    short_minute,
    single_line,
    strip_invisible,
    truncate,
)
from ..model.types import (
    PRIOR,
    Contribution,
    Evidence,
    History,
    Hit,
    Kind,
    LLMEstimate,
    Mark,
    Node,
    NodeId,
    Validity,
    Why,
)
from ..recall.explain import WhyNot
from ..recall.lookup import abbreviate
from ..recall.recollection import Recollection

if TYPE_CHECKING:
    from ..maintenance.doctor import Report
    from ..recall.recollection import Recollection


NARROW_WIDTH = 76
"""Width in columns below which a hit's text is printed under its line instead of beside it."""
MAX_TEXT_LINES = 6
"""Lines of a text to show before cutting it."""
SLOW_EMBED_MS = 50.0
"""Embedding time in milliseconds above which it is shown separately."""
MAX_SHORTFALLS = 8
"""Parts of a shortfall to show."""
SCORE_COLUMN_WIDTH, SPEAKER_COLUMN_WIDTH = 21, 20
"""Columns for tick, rank, bar and score, and for date and speaker."""
BAND_STYLES = {Evidence.STRONG: ("green", "●●●"), Evidence.WEAK: ("yellow", "●●○"), Evidence.NONE: ("red", "○○○")}

NodeLabeler = Callable[[NodeId], str]
"""Returns the label of a node in a path."""


def sanitize(text: str) -> str:
    """A text without characters that would control the terminal; tabs become four spaces."""
    return strip_invisible(text, replacement=REPLACEMENT).replace("\t", "    ")


def make_console(*, stderr: bool = False) -> Console:
    """A console that replaces every character that would control the terminal."""
    console = Console(stderr=stderr, highlight=False)
    console.push_render_hook(_SanitizeHook())
    return console


class _SanitizeHook(RenderHook):
    """Sanitizes everything that a console prints."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Wrap each renderable."""
        return [_SafeRenderable(renderable) for renderable in renderables]


@dataclass(frozen=True, slots=True)
class _SafeRenderable:
    """A renderable whose text segments are sanitized."""

    renderable: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for piece in console.render(self.renderable, options):
            yield piece if piece.control else Segment(strip_invisible(piece.text, replacement=REPLACEMENT), piece.style)


def band_label(recollection: Recollection) -> Text:
    """Evidence band and confidence, with one to three lights."""
    color, lights = BAND_STYLES[recollection.evidence]
    name = "no" if recollection.evidence == Evidence.NONE else recollection.evidence.value
    words = f"{name} evidence {recollection.confidence:.2f}"
    return Text.assemble((lights, color), " ", (words, f"bold {color}"))


def bar(fraction: float, width: int, color: str, *, ascii_only: bool = False) -> Text:
    """A bar filled to ``fraction`` of its width."""
    filled = round(max(0.0, min(1.0, fraction)) * width)
    on, off = ("#", "-") if ascii_only else ("━", "╌")
    return Text.assemble((on * filled, color), (off * (width - filled), "bright_black"))


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

    Hits in ``gold`` are ticked; ``ids`` maps full ids to those shown. ``explain`` adds every contribution; False leaves
    out the reasons. Beyond ``max_hits`` only ticked hits are drawn.
    """
    color = BAND_STYLES[recollection.evidence][0]
    best = max((hit.score for hit in recollection), default=1.0)
    narrow = console.width < NARROW_WIDTH
    for rank, hit in enumerate(recollection, 1):
        if max_hits is not None and rank > max_hits and hit.id not in gold:
            continue
        fraction = hit.score / best if best > 0 else 0.0
        tick = ("✓ " if hit.id in gold else "  ", "bold green")
        meter = bar(fraction, 6 if narrow else 10, color, ascii_only=console.options.ascii_only)
        head = Text.assemble(tick, (f"{rank:>2} ", "bold"), meter, (f" {hit.score:5.2f}", "bold"))
        id_ = "" if explain else single_line(ids.get(hit.id, hit.id))
        date_and_speaker = Text.assemble((short_day(hit.node.happened_at).rjust(11), "bright_black"))
        date_and_speaker.append(f" {single_line(hit.node.speaker or '')}", style="cyan")
        width = console.width - (5 if narrow else SCORE_COLUMN_WIDTH + SPEAKER_COLUMN_WIDTH + 2)
        body = _hit_body(console, hit, explain=explain, label_node=label_node, max_lines=max_lines, width=width)
        if narrow:
            console.print(Text.assemble(head, " ", date_and_speaker, (f" {id_}", "bright_black")))
            console.print(Padding(body, (0, 0, 0, 5)))
        else:
            grid = Table.grid(padding=(0, 1), expand=True)
            grid.add_column(width=SCORE_COLUMN_WIDTH, no_wrap=True)
            grid.add_column(width=SPEAKER_COLUMN_WIDTH, overflow="ellipsis", no_wrap=True)
            grid.add_column(ratio=1, overflow="fold")
            if len(id_) <= SPEAKER_COLUMN_WIDTH:
                date_and_speaker.append(f"\n{id_.rjust(11)}" if id_ else "", style="bright_black")
            else:
                body = Group(body, Text(id_, style="bright_black"))
            grid.add_row(head, date_and_speaker, body)
            console.print(grid)


def print_extras(console: Console, recollection: Recollection) -> None:
    """List what came back besides the memories, a line each under the name of its kind."""

    def line(score: float, text: str) -> Text:
        return Text.assemble("  ", (f"{score:5.2f}  ", "bold"), single_line(collapse_whitespace(sanitize(text))))

    groups = {
        "engrams": [
            line(one.score, f"{one.name}{f' ({one.type})' if one.type else ''} {one.description or ''}".strip())
            for one in recollection.engrams
        ],
        "insights": [line(one.score, one.text) for one in recollection.insights],
        "exchanges": [line(one.score, f"{one.prompt} → {one.response}") for one in recollection.exchanges],
    }
    for name, lines in groups.items():
        for text in (Text(name, style="bold"), *lines) if lines else ():
            console.print(text)


def _hit_body(
    console: Console, hit: Hit, *, explain: bool | None, label_node: NodeLabeler, max_lines: int, width: int
) -> RenderableType:
    """A hit's text, and the reasons below it."""
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
        rows.add_row(Text(f"held until {short_minute(hit.node.valid_to)}", style="yellow"))
    if explain is not False and hit.reason:
        rows.add_row(Text(single_line(hit.reason), style="bright_black"))
    if explain:
        rows.add_row(contribution_table(hit.why, hit.score, label_node, ascii_only=console.options.ascii_only))
        rows.add_row(Text(f"id {single_line(hit.id)}", style="bright_black"))
    return rows


def validity_text(validity: Validity, label_node: NodeLabeler = str) -> str:
    """The validity of a memory, in words."""
    found = describe_validity(
        is_valid=validity.is_valid,
        valid_to=None if validity.valid_to is None else short_minute(validity.valid_to),
        superseded_by=[label_node(id_) for id_ in validity.superseded_by],
        contradicted_by=[label_node(id_) for id_ in validity.contradicted_by],
    )
    return single_line(found or "no longer valid")


def contribution_table(why: Why, score: float, label_node: NodeLabeler, *, ascii_only: bool = False) -> Table:
    """Every contribution to a score with its path; the numbers shown add up to the score shown."""
    table = Table.grid(padding=(0, 1))
    table.add_column(style="bright_black")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold", style="bright_black")
    parts = list(why.ranked_contributions)
    most = max((abs(contribution.value) for contribution in parts), default=1.0)
    for contribution, value in zip(parts, _round_to_sum(parts, score), strict=True):
        meter = bar(
            abs(contribution.value) / most, 8, "green" if contribution.value >= 0 else "red", ascii_only=ascii_only
        )
        by = (
            Text(" by " + " → ".join(single_line(label_node(node)) for node in contribution.path))
            if contribution.path
            else Text("")
        )
        table.add_row(contribution.feature, f"{value:+.3f}", meter + by)
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
    """The contributions, rounded to add up to the rounded score: the largest takes the remainder."""
    rounded = [round(share.value, 3) for share in contributions]
    if rounded:
        rounded[0] = round(rounded[0] + round(score, 3) - sum(rounded), 3)
    return rounded


def node_labeler(memory: Memory) -> NodeLabeler:
    """A function that labels nodes: an entity by its name, a memory by its abbreviated id and its first words."""

    def label(id_: NodeId) -> str:
        node = memory.get(id_)
        short = single_line(abbreviate([id_], memory.graph())[id_])
        return (
            short if node is None else quote_node(node) if node.kind == Kind.ENTITY else f"{short} {quote_node(node)}"
        )

    return label


def quote_node(node: Node, max_chars: int = 41) -> str:
    """A node in a few words: an entity by its name, anything else as a quotation."""
    if node.kind == Kind.ENTITY:
        return single_line(node.text)
    return f"“{truncate(collapse_whitespace(sanitize(node.text)), max_chars)}”"


def node_line(node: Node) -> Text:
    """A memory as one line: when, who, what."""
    who = (f"  {single_line(node.speaker)}", "cyan") if node.speaker else ""
    return Text.assemble(
        (short_minute(node.happened_at), "bright_black"), who, "  ", collapse_whitespace(sanitize(node.text))
    )


def print_node(console: Console, node: Node) -> None:
    """Print all that is stored of a memory: its fields, a line each, and its whole text."""
    times = {
        "happened": node.happened_at,
        "recorded": node.recorded_at,
        "valid from": node.valid_from,
        "valid to": node.valid_to,
    }
    fields = {
        "id": node.id,
        **{name: getattr(node, name) for name in ("speaker", "session", "title", "source", "document", "heading")},
        **{name: None if time is None else short_minute(time) for name, time in times.items()},
        "trust": None if node.trust == 1 else f"{node.trust:g}",
        "metadata": json.dumps(dict(node.metadata), ensure_ascii=False) if node.metadata else None,
    }
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bright_black")
    grid.add_column(overflow="fold")
    for name, value in fields.items():
        if value:
            grid.add_row(name, Text(single_line(value)))
    console.print(grid)
    console.print()
    console.print(Text(sanitize(node.text)), soft_wrap=True)


def _shorten(text: str, max_chars: int) -> Text:
    clean = sanitize(text).strip()
    if len(clean) <= max_chars + max_chars // 2:
        return Text(clean)
    return Text.assemble(
        clean[:max_chars].rsplit(" ", 1)[0], (f" … {len(clean) - max_chars:,} more characters", "bright_black")
    )


@contextmanager
def progress_bar(console: Console, label: str, *, is_shown: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar; yields the function that updates it, None if it is not shown."""
    if not is_shown:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def table(columns: Mapping[str, str], rows: Iterable[tuple[str, ...]]) -> Table:
    """A plain table; ``columns`` maps each heading to its alignment, ``left`` or ``right``."""
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="bright_black")
    for name, align in columns.items():
        grid.add_column(name, justify="right" if align == "right" else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(single_line(value)) for value in row))
    return grid


def recollection_heading(recollection: Recollection, question: str) -> Table:
    """The question, and beside it the evidence band and the time taken."""
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_column(justify="right", no_wrap=True)
    embedding = recollection.cost.step_milliseconds.get("embed", 0.0)
    slow = embedding > SLOW_EMBED_MS  # loading or calling the model, not recalling
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
        console.print(f"          held until {short_minute(history.node.valid_to)}", style="yellow")
    console.print(f"          recorded {short_minute(history.node.recorded_at)}", style="bright_black")
    accesses = [access for access in history.accesses if not isinstance(access.kind, Mark)]
    counts: dict[str, int] = {}
    for access in accesses:
        counts[access.kind.value] = max(counts.get(access.kind.value, 0) + 1, access.count)
    if counts:
        last = max(access.at for access in accesses)
        parts = ", ".join(f"{count}× {kind}" for kind, count in counts.items())
        console.print(f"          {parts}; last {short_minute(last)}", style="bright_black")


def print_report(console: Console, report: "Report") -> None:
    """Draw the findings of a doctor report, worst first."""
    from ..maintenance.doctor import Severity  # noqa: PLC0415  # not needed by a recall

    colors = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
    for finding in report.findings:
        word, color = ("fixed", "green") if finding.is_fixed else (finding.severity.value, colors[finding.severity])
        console.print(Text.assemble((f"{word:>8}  ", f"bold {color}"), sanitize(finding.problem)))
        if not finding.is_fixed:
            console.print(Padding(Text(sanitize(finding.hint), style="bright_black"), (0, 0, 0, 10)))
    scopes = count_noun(report.scope_count, "scope", "scopes")
    summary = f"{report.text_count:,} texts in {scopes} of {report.path} were examined"
    if report.is_healthy:
        console.print(Text.assemble((" healthy  ", "bold green"), summary))
    else:
        console.print(Padding(Text(summary, style="bright_black"), (0, 0, 0, 10)))


def estimate_text(estimate: LLMEstimate, prices: tuple[float, float] | None) -> str:
    """What a language model would consume, in words; in dollars if there are prices."""
    text = (
        f"the language model would get {count_noun(estimate.calls, 'prompt', 'prompts')} of about "
        f"{estimate.tokens_in:,} tokens; with repeated prompts at most {estimate.max_calls:,} calls, "
        f"{estimate.max_tokens_in:,} tokens in and {estimate.max_tokens_out:,} tokens out"
    )
    return text if prices is None else f"{text}, which is ${estimate.max_cost_usd(prices):.4f}"
