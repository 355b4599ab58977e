"""The story of a score: which stages gave how much, by which way a memory was reached, where another fell behind."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np

from .graph import Graph
from .language.tokens import tokens
from .model import START, Cue, Filter, Hit, Node, NodeId, Share, Why
from .ports import Activation, Trail
from .reprs import ShortRepr
from .stages import choose
from .stages.covering import covering
from .stages.seed import Postings
from .stages.standing import as_known, standing

PRIORS = frozenset({"length", "asks", "dated", "names"})
"""Shares that do not depend on the question."""
LONGEST = 6
"""Nodes of the longest path told."""
TOLD = 3
"""Shares that a sentence names."""
LEAST = 0.005
"""The least share that a sentence names: any less would be told as 0.00."""


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
    that one have beyond this memory's, largest first: what would have lifted it. ``held`` names the conditions that
    keep it out, ``room`` is a budget that has room for it; both are there only where that is the reason.
    """

    id: NodeId
    stage: Fell
    place: int | None = None
    of: int = 0
    score: float = 0.0
    needed: float | None = None
    behind: int | None = None
    lacking: tuple[Share, ...] = ()
    held: tuple[str, ...] = ()
    room: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON values, with the sentence that ``print`` shows."""
        plain = ("id", "stage", "place", "of", "score", "needed", "behind", "room")
        return {
            **{name: getattr(self, name) for name in plain},
            "held": list(self.held),
            "lacking": [{"stage": share.stage, "value": share.value} for share in self.lacking],
            "sentence": str(self),
        }

    def __str__(self) -> str:
        rank = f"{_nth(self.place)} of {self.of:,}"
        gap = "" if self.needed is None else f", {self.needed - self.score:.2f} behind the {_nth(self.behind)}"
        told = [f"{share.stage} {share.value:.2f}" for share in _reasons(self.lacking)[:TOLD]]
        most = f"; most lacking: {', '.join(told)}" if told else ""
        held = ", ".join(self.held).replace("_", " ")
        return {
            Fell.ABSENT: f"There is no memory {self.id!r}: it was never remembered, or it was forgotten.",
            Fell.FILTERED: f"It is there, but does not meet what was asked for: {held}. Ask without.",
            Fell.UNTOUCHED: f"Neither the question nor a name led to it{gap}. Ask with words or names that it has.",
            Fell.UNLIKELY: f"More speaks against it than for it{gap}{most}. Ask in words nearer to its own.",
            Fell.OUTRANKED: f"It came {rank}{gap}{most}. Ask with a limit of {self.place}.",
            Fell.BUDGET: f"It came {rank}, but its text did not fit. Ask with a budget of {self.room} tokens.",
            Fell.RETURNED: f"It came back, {rank}.",
        }[self.stage]


@dataclass(frozen=True, slots=True)
class Answered:
    """A question as it was answered: ``found`` are the hits within the limit, with their reasons."""

    graph: Graph
    cue: Cue
    activation: Activation
    found: Sequence[Hit]
    budget: int | None

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
    return Why(
        tuple(
            Share(stage, float(values[row]), _path(graph, activation.trails.get(stage), row))
            for stage, values in activation.shares.items()
            if values[row] != 0
        )
    )


def hits_of(
    graph: Graph, activation: Activation, nodes: Iterable[Node], *, explain: bool, cue: Cue | None = None
) -> list[Hit]:
    """Nodes as hits, in their order, with the reasons if asked.

    Given a cue, each is as it was known at the times that the cue names, and says how it stood then.
    """
    return [
        Hit(
            node if cue is None else as_known(graph, row, node, cue),
            float(activation.scores[row]),
            reasons := why(graph, activation, row) if explain else Why(()),
            None if cue is None else standing(graph, row, cue),
            sentence(reasons) if explain else "",
        )
        for node in nodes
        if (row := graph.row(node.id)) is not None
    ]


def sentence(why: Why, naming: Callable[[NodeId], str] = str) -> str:
    """Why a memory came back, in one sentence; ``naming`` gives the words for a node of a path.

    What does not depend on the question is told only where too little else is.
    """
    reasons = sorted(_reasons(why.ranked), key=lambda share: share.stage in PRIORS)
    speaking = [share for share in reasons if share.value > 0]
    *most, last = [_told(share) for share in speaking[:TOLD]] or ["nothing in particular"]
    against = [f", in spite of {_told(share)}" for share in reasons if share.value < 0][:1]
    path = next((share.path for share in speaking if share.path), ())
    way = f", by way of {' → '.join(map(naming, path))}" if path else ""
    return f"It came back for {' and '.join(filter(None, (', '.join(most), last)))}{''.join(against)}{way}."


def _reasons(shares: Iterable[Share]) -> list[Share]:
    """The shares that say something of the memory, and are not too small to tell."""
    return [share for share in shares if share.stage != START and abs(share.value) >= LEAST]


def _told(share: Share) -> str:
    return f"{share.stage} ({share.value:+.2f})"


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
    said = replace(said, lacking=tuple(share for share in beyond if share.value > 0))
    if said.place is not None:
        return replace(said, stage=Fell.OUTRANKED)
    score = sum((share.value for share in own.shares), 0.0)  # where more speaks against it, a strategy may give it 0
    return replace(said, stage=Fell.UNLIKELY if own.shares else Fell.UNTOUCHED, score=score)


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
