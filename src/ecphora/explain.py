"""The story of a score: which stages gave how much, by which way a memory was reached, where another fell behind."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np

from .graph import Graph
from .language.tokens import tokens
from .model import Cue, Filter, Hit, NodeId, Rows, Share, Why
from .observations import Ranking
from .ports import Activation, Reader, Trail
from .reasons import NEXT, Reasons, reasons
from .reprs import ShortRepr
from .stages import choose
from .stages.covering import covering
from .stages.seed import Postings
from .stages.standing import as_known, standing

LONGEST = 6
"""Nodes of the longest path told."""


class Fell(StrEnum):
    """How far a memory came on its way to coming back.

    ``ABSENT``: there is no such memory. ``FILTERED``: the filter, or the time asked about, does not let it through.
    ``UNTOUCHED``: neither the question nor a name led to it, so it has no score. ``UNLIKELY``: it was weighed, and more
    speaks against it than for it. ``OUTRANKED``: its place is beyond the limit. ``BUDGET``: it was within the limit,
    but its text did not fit into the budget. ``RETURNED``: it did come back.
    """

    ABSENT = "absent"
    FILTERED = "filtered"
    UNTOUCHED = "untouched"
    UNLIKELY = "unlikely"
    OUTRANKED = "outranked"
    BUDGET = "budget"
    RETURNED = "returned"


@dataclass(frozen=True, slots=True, repr=False)
class WhyNot(ShortRepr):
    """Why a memory did not come back.

    ``place`` is its rank, from 1, among the ``of`` that were active. ``score`` is the sum of its shares; ``needed`` and
    ``behind`` are score and place of the last that came back, None if nothing did. ``lacking`` is what the shares of
    that one have beyond this memory's, largest first: what would have lifted it. ``reason`` says in words what sets
    that one apart from it, as ``Hit.reason`` does. ``held`` names the conditions that keep it out, ``room`` is a budget
    that has room for it; both are there only where that is the reason.
    """

    id: NodeId
    stage: Fell
    place: int | None = None
    of: int = 0
    score: float = 0.0
    needed: float | None = None
    behind: int | None = None
    lacking: tuple[Share, ...] = ()
    reason: str = ""
    held: tuple[str, ...] = ()
    room: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON values, with the sentence that ``print`` shows."""
        plain = ("id", "stage", "place", "of", "score", "needed", "behind", "reason", "room")
        return {
            **{name: getattr(self, name) for name in plain},
            "held": list(self.held),
            "lacking": [{"stage": share.stage, "value": share.value} for share in self.lacking],
            "sentence": str(self),
        }

    def __str__(self) -> str:
        rank = f"{_nth(self.place)} of {self.of:,}"
        beyond = f" What the {_nth(self.behind)} has beyond it: {self.reason}." if self.reason else ""
        held = ", ".join(self.held).replace("_", " ")
        return {
            Fell.ABSENT: f"There is no memory {self.id!r}: it was never remembered, or it was forgotten.",
            Fell.FILTERED: f"It is there, but does not meet what was asked for: {held}. Ask without.",
            Fell.UNTOUCHED: f"Neither the question nor a name led to it.{beyond} Ask with words or names that it has.",
            Fell.UNLIKELY: f"More speaks against it than for it.{beyond} Ask in words nearer to its own.",
            Fell.OUTRANKED: f"It came {rank}.{beyond} Ask with a limit of {self.place}.",
            Fell.BUDGET: f"It came {rank}, but its text did not fit. Ask with a budget of {self.room} tokens.",
            Fell.RETURNED: f"It came back, {rank}.",
        }[self.stage]


@dataclass(frozen=True, slots=True)
class Answered:
    """A question as it was answered: ``found`` are the hits within the limit, with their reasons.

    ``read`` fetches nodes by their rows.
    """

    graph: Graph
    cue: Cue
    activation: Activation
    found: Sequence[Hit]
    budget: int | None
    read: Reader

    @property
    def hits(self) -> list[Hit]:
        """What came back, best first: as much of it as fits into the budget."""
        if self.budget is None:
            return list(self.found)
        return [self.found[place] for place in sorted(self.chosen(self.budget))]

    def chosen(self, budget: float) -> list[int]:
        """The places of what is chosen for a budget, in turn."""
        scores = np.array([hit.score for hit in self.found], np.float32)
        rows = self.graph.rows(hit.id for hit in self.found)
        held = covering(Postings.of(self.graph, self.cue), rows)
        return choose.within(scores, [tokens(hit.text) for hit in self.found], budget, held)


# ---- why


def why(graph: Graph, activation: Activation, row: int) -> Why:
    """The shares of a row's score, those of 0 left out; they add up to the score."""
    return _whys(graph, activation, np.array([row]))[0]


def _whys(graph: Graph, activation: Activation, rows: Rows) -> list[Why]:
    """The same of several rows."""
    stages, values = tuple(activation.shares), [shares[rows].tolist() for shares in activation.shares.values()]
    return [
        Why(
            tuple(
                Share(stage, value, _path(graph, activation.trails.get(stage), row))
                for stage, value in zip(stages, own, strict=True)
                if value
            )
        )
        for row, own in zip(rows.tolist(), zip(*values, strict=True) if stages else [()] * len(rows), strict=True)
    ]


def hits_of(graph: Graph, cue: Cue, activation: Activation, limit: int, read: Reader, *, explain: bool) -> list[Hit]:
    """The best as hits, best first, with the reasons if asked; ``read`` fetches nodes.

    Each is as it was known at the times that the cue names, and says how it stood then.
    """
    allowed = choose.allowed(graph, cue)
    order = choose.best(activation.scores, allowed, limit + NEXT)
    known = {node.id: node for node in read(order[:limit])}  # another process may have erased some
    rows = [row for row in order[:limit].tolist() if graph.id(row) in known]
    nodes = [known[graph.id(row)] for row in rows]
    whys, found = [Why(())] * len(rows), Reasons(("",) * len(rows))
    if explain:
        whys = _whys(graph, activation, np.array(rows, np.intp))
        ranking = Ranking.of(graph, cue, activation, allowed, order)
        found = Reasons(find=lambda: reasons(ranking, nodes, read))
    return [
        Hit(
            as_known(graph, row, node, cue),
            float(activation.scores[row]),
            whys[place],
            standing(graph, row, cue),
            partial(found.at, place),
        )
        for place, (row, node) in enumerate(zip(rows, nodes, strict=True))
    ]


def _path(graph: Graph, trail: Trail | None, row: int) -> tuple[NodeId, ...]:
    """The nodes from the one the cue touched to this row."""
    if trail is None:
        return ()
    path = [row]
    while len(path) < LONGEST and (before := int(trail.by[path[-1]])) >= 0 and before not in path:
        if (via := int(trail.via[path[-1]])) >= 0:
            path.append(via)
        path.append(before)
        if via >= 0 or trail.one:
            break
    return tuple(graph.id(step) for step in reversed(path)) if len(path) > 1 else ()


# ---- why not


def why_not(answered: Answered, node: NodeId, pieces: Iterable[NodeId]) -> WhyNot:
    """How far a memory came; of the nodes it was stored as, the one that came farthest counts."""
    graph, scores = answered.graph, answered.activation.scores
    rows = [row for row in graph.rows(pieces).tolist() if graph.episodes[row]]
    if not rows:
        return WhyNot(node, Fell.ABSENT)
    allowed = choose.allowed(graph, answered.cue)
    order = choose.best(scores, allowed, len(graph)).tolist()
    back = graph.rows(hit.id for hit in answered.hits).tolist()
    needed, behind = (float(scores[back[-1]]), order.index(back[-1]) + 1) if back else (None, None)
    said = WhyNot(node, Fell.FILTERED, of=len(order), needed=needed, behind=behind)
    may = [row for row in rows if allowed[row]]
    if not may:
        return replace(said, held=_held(graph, answered.cue, rows))
    row = min(may, key=lambda one: (one not in back, -scores[one]))
    place = order.index(row) + 1 if scores[row] > 0 else None
    said = replace(said, place=place, score=float(scores[row]))
    return replace(said, stage=Fell.RETURNED) if row in back else _fallen(answered, said, row)


def _fallen(answered: Answered, said: WhyNot, row: int) -> WhyNot:
    """The same for a row that may come back, and did not."""
    graph, found = answered.graph, answered.found
    ids = [hit.id for hit in found]
    if graph.id(row) in ids:
        turns = answered.chosen(np.inf)  # with room for all that is chosen before it, it is chosen too
        down_to_it = turns[: turns.index(ids.index(graph.id(row))) + 1]
        return replace(said, stage=Fell.BUDGET, room=sum(tokens(found[place].text) for place in down_to_it))
    own = why(graph, answered.activation, row)
    beyond = [share for hit in answered.hits[-1:] for share in differences(hit.why, own)]
    said = replace(said, lacking=tuple(share for share in beyond if share.value > 0), reason=_ahead(answered, row))
    if said.place is not None:
        return replace(said, stage=Fell.OUTRANKED)
    score = sum((share.value for share in own.shares), 0.0)  # where more speaks against it, a strategy may give it 0
    return replace(said, stage=Fell.UNLIKELY if own.shares else Fell.UNTOUCHED, score=score)


def _ahead(answered: Answered, row: int) -> str:
    """What sets the last hit that came back apart from a row, in words."""
    graph, last = answered.graph, answered.hits[-1:]
    allowed = choose.allowed(graph, answered.cue)
    pair = np.append(graph.rows(hit.id for hit in last), row)
    ranking = Ranking.of(graph, answered.cue, answered.activation, allowed, pair)
    return "".join(reasons(ranking, [hit.node for hit in last], answered.read))


def differences(other: Why, own: Why) -> tuple[Share, ...]:
    """What each share of another score has beyond one's own, most first; they add up to what that score has beyond."""
    beyond: dict[str, float] = {}
    for shares, sign in ((other.shares, 1), (own.shares, -1)):
        for share in shares:
            beyond[share.stage] = beyond.get(share.stage, 0.0) + sign * share.value
    return tuple(Share(stage, value) for stage, value in sorted(beyond.items(), key=lambda one: -one[1]) if value)


def _held(graph: Graph, cue: Cue, rows: Sequence[int]) -> tuple[str, ...]:
    """The conditions of a cue that, each alone, let none of some rows through."""
    bare = replace(cue, where=Filter(), as_of=None, known_at=None, retroactive=False)
    alone = {
        field.name: replace(bare, where=replace(bare.where, **{field.name: getattr(cue.where, field.name)}))
        for field in fields(Filter)
    }
    alone["as_of"] = replace(bare, as_of=cue.as_of, retroactive=cue.retroactive)
    alone["known_at"] = replace(bare, known_at=cue.known_at)
    return tuple(name for name, one in alone.items() if not choose.allowed(graph, one)[rows].any())


def _nth(place: int | None) -> str:
    """A place as an ordinal: 1st, 12th, 23rd."""
    if place is None:
        return "nowhere"
    ending = "th" if place % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place:,}{ending}"
