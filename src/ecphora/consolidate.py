"""Sleep: what the memory makes of what is new. Plans a Change, piece by piece; it commits nothing and asks nobody."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from . import encode, prompts, weights
from .graph import Graph
from .guest import Guest
from .model import Change, Kind, Node, NodeId, Rows, Vector, Vectors
from .ports import Left, Reader
from .prompts import replies
from .stages import aliases, facts, insights
from .stages.claiming import Claiming
from .stages.pace import steps
from .stages.rivals import Score

Embed = Callable[[Sequence[str]], Vectors]
"""Makes vectors of texts."""
MARK = "sleep"
"""The name under which the memory keeps how far consolidation has come."""
CLAIMED = "sleep/claims"
"""The same for claims and names alone, where the time ran out in the middle of a piece: ahead of ``MARK`` then."""
AT_ONCE = 8
"""Statements that a language model reads at a time."""
TOLD_AT_ONCE = 16
"""Insights that are embedded between two looks at the clock."""
PIECE = 4096
"""Memories that are worked on and committed together."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A piece of consolidation: what it would write, and how many new memories it has looked for claims in.

    ``refused`` insights were written by a language model, and were not better than quoting, or without a source.
    """

    change: Change
    seen: int
    refused: int = 0

    @property
    def wrote(self) -> dict[str, int]:
        """How much of what it would write, by name."""
        kinds = [node.kind for node in self.change.nodes]
        links = [edge.link.value for edge in self.change.edges]
        named = {"claims": kinds.count(Kind.CLAIM), "insights": kinds.count(Kind.INSIGHT)}
        named |= {name: links.count(name) for name in ("supersedes", "contradicts", "alias")}
        return named | {"refused": self.refused, "memories": self.seen}


def due(graph: Graph) -> Rows:
    """The memories that consolidation has not seen, oldest first."""
    first = int(np.searchsorted(graph.nodes["seq"], graph.marks.get(MARK, 0), "right"))
    return np.flatnonzero(graph.episodes[first:]) + first


def unread(graph: Graph, new: Rows) -> Rows:
    """Those of some new memories that were not looked for claims in."""
    return new[graph.nodes["seq"][new] > graph.marks.get(CLAIMED, 0)]


def pending(graph: Graph) -> int:
    """How many memories consolidation has still to look at; if insights alone are missing, of how many memories."""
    new = due(graph)
    return len(unread(graph, new)) or len(new)


@dataclass(frozen=True, slots=True)
class Help:
    """What a piece may ask: ``embed`` makes vectors of a ``floor``, ``guest`` is a language model.

    ``score`` reads two texts at once, to tell whether one replaces the other; without it rules decide. ``left`` bounds
    the time of a piece.
    """

    embed: Embed
    floor: float = 0.0
    guest: Guest | None = None
    score: Score | None = None
    left: Left | None = None


def plan(graph: Graph, read: Reader, now: datetime, most: int, help_: Help) -> Plan | None:
    """The next piece of work, of ``most`` memories at most; None where nothing is new.

    Insights are drawn from the graph with its claims: none tells of a fact and its successor side by side. Where the
    time is limited, a plan has the claims of some of these memories, as many as there is time for, at least one; once
    all are done, the next plan has their names and insights, as many as there is time for, at least one.
    """
    new = due(graph)[:most]
    if not len(new):
        return None
    waiting, seq = unread(graph, new), graph.nodes["seq"]
    claims, seen = _claims(graph, waiting, new, read, help_)
    if seen and help_.left is not None:
        return Plan(replace(claims, marks={CLAIMED: int(seq[waiting[seen - 1]])}), seen)
    claims = replace(claims, edges=(*claims.edges, *aliases.merged(graph, new, read)))
    write = None if help_.guest is None else _writer(help_.guest, help_)
    told = insights.drawn(preview(graph, claims), new, read, now, write, left=help_.left)
    vectors = _embedded(told.nodes, help_)
    whole = told.whole and len(vectors) == len(told.nodes)
    change = replace(
        claims,
        nodes=(*claims.nodes, *(node for node in told.nodes if node.id in vectors)),
        edges=(*claims.edges, *(edge for edge in told.edges if edge.src in vectors)),
        vectors=vectors,
        marks={MARK if whole else CLAIMED: int(seq[new[-1]])},
    )
    return Plan(change, seen, told.refused)


def _claims(graph: Graph, waiting: Rows, piece: Rows, read: Reader, help_: Help) -> tuple[Change, int]:
    """The claims of some memories of a piece, and of how many memories there was time to find them."""
    if not len(waiting):
        return Change(), 0
    told: list[list[facts.Fact]] = []
    if help_.guest is not None:
        told = _asked(help_.guest, read(waiting), help_.left)
        if help_.left is not None:
            waiting = waiting[: max(1, len(told)) * AT_ONCE]
    judge = None if help_.score is None else weights.changes()
    claiming = Claiming(graph, read, judge, help_.score, help_.embed)
    claims = claiming.of(waiting, piece=piece, left=help_.left)
    rows = waiting[: claims.seen]
    ids = {graph.id(row) for row in rows.tolist()}
    told_facts = facts.claimed(graph, [fact for part in told for fact in part if fact.source.id in ids])
    nodes = {**claims.nodes, **told_facts.nodes}
    change = Change(
        nodes=tuple(node for id_, node in nodes.items() if graph.row(id_) is None),
        edges=(*claims.edges, *told_facts.edges),
    )
    return change, claims.seen


def _asked(guest: Guest, nodes: Sequence[Node], left: Left | None) -> list[list[facts.Fact]]:
    """The facts that a language model finds in memories, some at a time; where it fails, none.

    It may take half of the time that is ``left``; then those of the first memories come back alone.
    """
    parts = [nodes[start : start + AT_ONCE] for start in range(0, len(nodes), AT_ONCE)]
    size = max(map(len, parts), default=0)
    replies_ = guest.ask_all(
        [prompts.claims(part) for part in parts],
        lambda text: replies.claimed(text, size),
        left=None if left is None else _half(left),
    )
    return [
        [
            facts.Fact(
                part[one.statement - 1],
                one.subject,
                one.attribute,
                one.value,
                one.polarity,
                one.since,
                one.until,
                one.single,
            )
            for one in found or ()
            if one.statement <= len(part)
        ]
        for part, found in zip(parts, replies_, strict=False)  # out of time: fewer
    ]


def _half(left: Left) -> Left:
    """Half of the time that is left now."""
    kept = left() / 2
    return lambda: left() - kept


def _embedded(told: Sequence[Node], help_: Help) -> dict[NodeId, Vector]:
    """The vectors of insights, or of the first of them if the time runs out."""
    found: dict[NodeId, Vector] = {}
    for place in steps(len(told), TOLD_AT_ONCE, help_.left):
        some = told[place]
        if some:
            vectors = help_.embed([encode.spoken(node) for node in some])
            found.update(zip((node.id for node in some), vectors, strict=True))
    return found


def preview(graph: Graph, change: Change) -> Graph:
    """The graph as it would be with a change, for looking at only."""
    first = int(graph.nodes["seq"][-1]) + 1
    nodes = tuple(replace(node, seq=first + place) for place, node in enumerate(change.nodes))
    return graph.plus(replace(change, nodes=nodes, revision=graph.revision + 1))


def _writer(guest: Guest, help_: Help) -> insights.Writer:
    def write(sources: Sequence[Node]) -> str | None:
        return next(iter(guest.ask_all([prompts.insight(sources)], replies.told, left=help_.left)), None)

    return insights.Writer(write, help_.embed, help_.floor)
