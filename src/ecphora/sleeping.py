"""A night: consolidation plans, is probed, and is committed piece by piece as one batch that can be undone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from .errors import InvalidInput, StoreBusy
from .graph import LINKS, Graph
from .guest import Guest, Spent
from .model import Batch, Change, Cue, Kind, Link, NodeId
from .pen import Pen
from .ports import CrossEncoder, Left, Progress, Strategy
from .reprs import ShortRepr
from .stages import choose
from .validate import check_flag, check_number, check_optional_count, show

PROBES = 50
"""Past cues that are replayed: the latest with feedback."""
TOP = 10
"""Memories of a probe that count as brought back."""
POINT = 0.01
"""How much of the probes' recall a night may cost."""
SMALL = 256
"""Memories a piece has where time or tokens are limited."""
FIRST, LONGEST_PROBING = 0.1, 0.5
"""The part of a limited time that the access log may take to be written, and that replaying past cues once may take;
and the most seconds for the latter."""
RESERVE, LONGEST_RESERVE = 0.35, 1.0
"""The part of a limited time, at most so many seconds, that is kept for replaying and committing what is planned."""
GRACE = 0.75
"""Seconds that a piece may wait for another process's lock on top of the limit."""


@dataclass(frozen=True, slots=True, repr=False)
class Trigger(ShortRepr):
    """When a memory consolidates by itself, if it is to: after so many new memories, when a session has ended, or at
    the first memory after so long a pause."""

    turns: int | None = None
    session: bool = False
    pause: timedelta | None = None

    def __post_init__(self) -> None:
        check_optional_count("turns", self.turns)
        check_flag("session", self.session)
        if self.pause is not None and not (isinstance(self.pause, timedelta) and self.pause > timedelta(0)):
            raise InvalidInput(f"pause is {show(self.pause)}; give a timedelta above 0, or None")

    def due(self, graph: Graph, session: str | None, now: datetime) -> bool:
        """Whether to consolidate before a new memory of this session is written."""
        from . import consolidate  # noqa: PLC0415  # only who consolidates pays for it

        new = consolidate.due(graph)
        if not len(new):
            return False
        last = int(new[-1])
        if self.turns is not None and len(new) >= self.turns:
            return True
        number = int(graph.nodes["sessions"][last])
        if self.session and number >= 0 and graph.sessions.names[number] != session:
            return True
        return self.pause is not None and now.timestamp() - graph.nodes["recorded"][last] >= self.pause.total_seconds()


@dataclass(frozen=True, slots=True, repr=False)
class Consolidated(ShortRepr):
    """What a night did.

    ``batch`` is what it wrote, to be undone by its id; None where nothing was: because nothing was new, it was a dry
    run, or ``refused``. ``wrote`` counts by name what was written or, in a dry run, would be. ``left`` are the new
    memories that are still to be worked on. ``probes`` past cues were replayed; ``before`` and ``after`` are the parts
    of what was of use that they brought back. ``refused`` says that it would have cost recall and was taken back.
    ``spent`` is what a language model took.
    """

    batch: Batch | None = None
    wrote: Mapping[str, int] = field(default_factory=dict)
    left: int = 0
    probes: int = 0
    before: float = 0.0
    after: float = 0.0
    refused: bool = False
    spent: Spent = field(default_factory=Spent)

    def to_dict(self) -> dict[str, Any]:
        """What was done as JSON values."""
        plain = {name: getattr(self, name) for name in ("left", "probes", "before", "after", "refused")}
        batch = None if self.batch is None else self.batch.id
        return {"batch": batch, "wrote": dict(self.wrote), **plain, "spent": asdict(self.spent)}


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a night may be: in seconds and in tokens of the language model, None for no limit.

    The seconds count from when this is made, by ``clock``. They are divided: some for what comes first, then for
    planning, and the last ones, ``reserve``, for writing. What is begun in time may take ``GRACE`` longer.
    """

    seconds: float | None = None
    tokens: int | None = None
    clock: Callable[[], float] = perf_counter
    started: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        if self.seconds is not None:
            check_number("seconds", self.seconds, above=0)
        check_optional_count("tokens", self.tokens)
        object.__setattr__(self, "started", self.clock())

    @property
    def piece(self) -> int:
        """Memories that are worked on before their insights are drawn."""
        from . import consolidate  # noqa: PLC0415

        return consolidate.PIECE if self.seconds is None and self.tokens is None else SMALL

    def left(self) -> float:
        """The seconds that are left; infinite where there is no limit."""
        return inf if self.seconds is None else self.seconds - (self.clock() - self.started)

    @property
    def planning(self) -> Left | None:
        """What is left for planning a piece; None where there is no limit."""
        if self.seconds is None:
            return None
        reserve = min(RESERVE * self.seconds, LONGEST_RESERVE)
        return lambda: self.left() - reserve

    @property
    def writing(self) -> Left | None:
        """What is left for writing a piece that was planned in time; None where there is no limit."""
        return None if self.seconds is None else lambda: self.left() + GRACE

    def flushing(self) -> float:
        """The seconds that the access log may take to be written first."""
        return FIRST * self.left()

    def probing(self) -> Left:
        """What is left, from now on, for replaying past questions once."""
        if self.seconds is None:
            return self.left
        end = self.left() - min(FIRST * self.seconds, LONGEST_PROBING)
        return lambda: self.left() - end

    def over(self, spent: Spent) -> bool:
        """Whether it is time to stop."""
        late = self.planning is not None and self.planning() <= 0
        return late or (self.tokens is not None and spent.tokens_in + spent.tokens_out >= self.tokens)


def night(
    pen: Pen,
    now: datetime,
    cue: Callable[[str], Cue],
    *,
    comparer: CrossEncoder | None = None,
    guest: Guest | None = None,
    limits: Limits | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Consolidated:
    """Consolidate what is new; ``cue`` makes a cue of a past question, ``comparer`` reads what may replace what.

    Each piece is committed whole or not at all, and the next night goes on where this one stopped.
    """
    from . import consolidate  # noqa: PLC0415

    limits, graph = limits or Limits(), pen.graph()
    probes, before = _replayed(pen, graph, cue, limits.probing())
    after, whole = before, consolidate.pending(graph)
    id_ = f"night:{blake2b(f'{pen.scope}/{graph.revision}/{now.isoformat()}'.encode(), digest_size=8).hexdigest()}"
    wrote: dict[str, int] = {}
    kept, refused = False, False
    score = None if comparer is None else comparer.score
    floor = float(getattr(pen.embedder, "floor", 0.0))
    help_ = consolidate.Help(pen.embedded, floor, guest, score, limits.planning)
    while (plan := consolidate.plan(graph, pen.reader(graph), now, limits.piece, help_)) is not None:
        change = replace(plan.change, embedder=pen.embedder.name, batch=Batch(id_, now, plan.wrote))
        grown = consolidate.preview(graph, change)
        if change.nodes or change.edges:
            after = _recalled(pen.strategy, grown, probes)
        if after < before - POINT:
            refused = True
            break
        written = dry_run or _written(pen, change, limits)
        if written:
            kept, graph = not dry_run, grown if dry_run else pen.graph()
            wrote = {name: wrote.get(name, 0) + count for name, count in plan.wrote.items()}
            if progress is not None:
                progress(min(wrote["memories"], whole), whole)
        else:
            graph = pen.graph()
        if limits.over(Spent() if guest is None else guest.spent):
            break
    if refused and kept:
        pen.commit(lambda _graph: Change(undo=id_))
        kept, wrote, graph = False, {}, pen.graph()
    return Consolidated(
        batch=Batch(id_, now, wrote) if kept else None,
        wrote=wrote,
        left=consolidate.pending(graph),
        probes=len(probes),
        before=before,
        after=after,
        refused=refused,
        spent=Spent() if guest is None else guest.spent,
    )


def _written(pen: Pen, change: Change, limits: Limits) -> bool:
    """Whether a piece was committed: not if it was made from what is no longer so, or the lock was not free in time."""
    try:
        return pen.try_commit(change, limits.writing)
    except StoreBusy:
        if limits.seconds is None:
            raise
        return False


# ---- probes


@dataclass(frozen=True, slots=True)
class Probe:
    """A past cue, and the memories that were of use for it."""

    cue: Cue
    used: frozenset[NodeId]


def _replayed(pen: Pen, graph: Graph, cue: Callable[[str], Cue], left: Left) -> tuple[list[Probe], float]:
    """The past cues that there is time to replay, the latest at least, and what they bring back now."""
    probes, parts = list[Probe](), list[float]()
    for probe in _probes(pen, graph, cue):
        probes.append(probe)
        parts.append(_recalled(pen.strategy, graph, [probe]))
        if left() <= 0:
            break
    return probes[::-1], float(np.mean(parts[::-1])) if parts else 1.0


def _probes(pen: Pen, graph: Graph, cue: Callable[[str], Cue]) -> Iterator[Probe]:
    """The past cues with feedback, the latest first."""
    asked = np.flatnonzero(graph.of_kind(Kind.QUESTION))
    places, which = graph.edges_from(asked)
    used = (graph.edges["links"][places] == LINKS.index(Link.ANSWERED_BY)) & (graph.edges["weights"][places] > 0)
    by_question: dict[int, set[NodeId]] = {}
    for place, number in zip(places[used].tolist(), which[used].tolist(), strict=True):
        by_question.setdefault(int(asked[number]), set()).add(graph.id(int(graph.edges["dst"][place])))
    rows = sorted(by_question)[-PROBES:]
    for node in reversed(pen.reader(graph)(np.array(rows, np.intp))):
        row = graph.row(node.id)
        if row is not None:
            yield Probe(cue(node.text), frozenset(by_question[row]))


def _recalled(strategy: Strategy, graph: Graph, probes: Sequence[Probe]) -> float:
    """The part of what was of use that the probes bring back, without what feedback itself taught; 1 without probes."""
    unaided = getattr(strategy, "unaided", None)
    strategy = unaided() if unaided is not None else strategy
    found = []
    for probe in probes:
        scores = strategy.activate(probe.cue, graph).scores
        rows = choose.best(scores, choose.allowed(graph, probe.cue), TOP).tolist()
        found.append(len(probe.used & {graph.id(row) for row in rows}) / len(probe.used))
    return float(np.mean(found)) if found else 1.0
