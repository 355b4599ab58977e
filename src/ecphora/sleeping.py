"""A night: consolidation plans, is probed, and is committed piece by piece as one batch that can be undone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from time import perf_counter
from typing import Any

import numpy as np

from . import consolidate, encode
from .errors import InvalidInput
from .graph import LINKS, Graph
from .guest import Guest, Spent
from .model import Batch, Change, Cue, Kind, Link, NodeId
from .pen import Pen
from .ports import CrossEncoder, Progress, Strategy
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
    """How long a night may be: in seconds and in tokens of the language model, None for no limit."""

    seconds: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None:
            check_number("seconds", self.seconds, above=0)
        check_optional_count("tokens", self.tokens)

    @property
    def piece(self) -> int:
        """Memories worked on between two looks at the clock."""
        return consolidate.PIECE if self.seconds is None and self.tokens is None else SMALL

    def over(self, started: float, spent: Spent) -> bool:
        """Whether it is time to stop."""
        late = self.seconds is not None and perf_counter() - started >= self.seconds
        return late or (self.tokens is not None and spent.tokens_in + spent.tokens_out >= self.tokens)


NO_LIMITS = Limits()


def night(
    pen: Pen,
    now: datetime,
    cue: Callable[[str], Cue],
    *,
    comparer: CrossEncoder | None = None,
    guest: Guest | None = None,
    limits: Limits = NO_LIMITS,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Consolidated:
    """Consolidate what is new; ``cue`` makes a cue of a past question, ``comparer`` reads what may replace what.

    Each piece is committed whole or not at all, and the next night goes on where this one stopped.
    """
    started, graph = perf_counter(), pen.graph()
    probes = list(_probes(pen, graph, cue))
    before = after = _recalled(pen.strategy, graph, probes)
    whole = len(consolidate.due(graph))
    id_ = f"night:{blake2b(f'{pen.scope}/{graph.revision}/{now.isoformat()}'.encode(), digest_size=8).hexdigest()}"
    wrote: dict[str, int] = {}
    kept, refused = False, False
    score = None if comparer is None else comparer.score
    help_ = consolidate.Help(pen.embedded, float(getattr(pen.embedder, "floor", 0.0)), guest, score)
    while (plan := consolidate.plan(graph, pen.reader(graph), now, limits.piece, help_)) is not None:
        change = _whole(pen, plan.change, Batch(id_, now, plan.wrote))
        grown = consolidate.preview(graph, change)
        after = _recalled(pen.strategy, grown, probes)
        if after < before - POINT:
            refused = True
            break
        if dry_run:
            graph = grown
        elif pen.committed(change):
            kept, graph = True, pen.graph()
        else:
            graph = pen.graph()
            continue
        wrote = {name: wrote.get(name, 0) + count for name, count in plan.wrote.items()}
        if progress is not None:
            progress(whole - len(consolidate.due(graph)), whole)
        if limits.over(started, Spent() if guest is None else guest.spent):
            break
    if refused and kept:
        pen.commit(lambda _graph: Change(undo=id_))
        kept, wrote = False, {}
    return Consolidated(
        batch=Batch(id_, now, wrote) if kept else None,
        wrote=wrote,
        left=len(consolidate.due(pen.graph() if not dry_run else graph)),
        probes=len(probes),
        before=before,
        after=after,
        refused=refused,
        spent=Spent() if guest is None else guest.spent,
    )


def _whole(pen: Pen, change: Change, batch: Batch) -> Change:
    """A planned change with the vectors of its insights."""
    told = [node for node in change.nodes if node.kind == Kind.INSIGHT]
    vectors = pen.embedded(map(encode.spoken, told)) if told else ()
    known = dict(zip((node.id for node in told), vectors, strict=True))
    return replace(change, vectors=known, embedder=pen.embedder.name, batch=batch)


# ---- probes


@dataclass(frozen=True, slots=True)
class Probe:
    """A past cue, and the memories that were of use for it."""

    cue: Cue
    used: frozenset[NodeId]


def _probes(pen: Pen, graph: Graph, cue: Callable[[str], Cue]) -> Iterator[Probe]:
    asked = np.flatnonzero(graph.of_kind(Kind.QUESTION))
    places, which = graph.edges_from(asked)
    used = (graph.edges["links"][places] == LINKS.index(Link.ANSWERED_BY)) & (graph.edges["weights"][places] > 0)
    by_question: dict[int, set[NodeId]] = {}
    for place, number in zip(places[used].tolist(), which[used].tolist(), strict=True):
        by_question.setdefault(int(asked[number]), set()).add(graph.id(int(graph.edges["dst"][place])))
    rows = sorted(by_question)[-PROBES:]
    for node in pen.reader(graph)(np.array(rows, np.intp)):
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
