"""Sleep: what the memory makes of what is new. Plans a Change, piece by piece; it commits nothing and asks nobody."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from . import prompts, weights
from .graph import Graph
from .guest import Guest
from .model import Change, Kind, Node, Rows, Vectors
from .ports import Reader
from .prompts import replies
from .stages import aliases, facts, insights
from .stages.claiming import Claiming, Claims
from .stages.rivals import Score

Embed = Callable[[Sequence[str]], Vectors]
"""Makes vectors of texts."""
MARK = "sleep"
"""The name under which the memory keeps how far consolidation has come."""
AT_ONCE = 8
"""Statements that a language model reads at a time."""
PIECE = 4096
"""Memories that are worked on and committed together."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A piece of consolidation: what it would write, and how many new memories it has worked on.

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


@dataclass(frozen=True, slots=True)
class Help:
    """What a piece may ask: ``embed`` makes vectors of a ``floor``, ``guest`` is a language model.

    ``score`` reads two texts at once, to tell whether one replaces the other; without it rules decide.
    """

    embed: Embed
    floor: float = 0.0
    guest: Guest | None = None
    score: Score | None = None


def plan(graph: Graph, read: Reader, now: datetime, most: int, help_: Help) -> Plan | None:
    """The next piece of work; None where nothing is new.

    Insights are drawn from the graph with its claims: none tells of a fact and its successor side by side.
    """
    new = due(graph)[:most]
    if not len(new):
        return None
    judge = None if help_.score is None else weights.changes()
    claims = Claiming(graph, read, judge, help_.score, help_.embed).of(new)
    told_facts = Claims() if help_.guest is None else facts.claimed(graph, _asked(help_.guest, read(new)))
    nodes = {**claims.nodes, **told_facts.nodes}
    fresh = tuple(node for id_, node in nodes.items() if graph.row(id_) is None)
    change = Change(
        nodes=fresh,
        edges=(*claims.edges, *told_facts.edges, *aliases.merged(graph, new, read)),
        marks={MARK: int(graph.nodes["seq"][new[-1]])},
    )
    write = None if help_.guest is None else _writer(help_.guest, help_)
    told = insights.drawn(preview(graph, change), new, read, now, write)
    return Plan(
        replace(change, nodes=(*change.nodes, *told.nodes), edges=(*change.edges, *told.edges)),
        seen=len(new),
        refused=told.refused,
    )


def _asked(guest: Guest, nodes: Sequence[Node]) -> list[facts.Fact]:
    """The facts that a language model finds in memories, some at a time; where it fails, none."""
    parts = [nodes[start : start + AT_ONCE] for start in range(0, len(nodes), AT_ONCE)]
    size = max(map(len, parts), default=0)
    replies_ = guest.ask_all([prompts.claims(part) for part in parts], lambda text: replies.claimed(text, size))
    return [
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
        for part, found in zip(parts, replies_, strict=True)
        for one in found or ()
        if one.statement <= len(part)
    ]


def preview(graph: Graph, change: Change) -> Graph:
    """The graph as it would be with a change, for looking at only."""
    first = int(graph.nodes["seq"][-1]) + 1
    nodes = tuple(replace(node, seq=first + place) for place, node in enumerate(change.nodes))
    return graph.plus(replace(change, nodes=nodes, revision=graph.revision + 1))


def _writer(guest: Guest, help_: Help) -> insights.Writer:
    def write(sources: Sequence[Node]) -> str | None:
        return guest.ask(prompts.insight(sources), replies.told)

    return insights.Writer(write, help_.embed, help_.floor)
