"""Why a memory came back, in words: what sets it apart from the memories ranked after it.

The shares of its score are compared with the mean of those of the next ones. What is told are the one or two
observations (:mod:`ecphora.observations`) whose shares are furthest ahead.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import EcphoraError
from .model import Kind, Node, NodeId
from .observations import OBSERVATIONS, Case, Clause, Observe, Ranking, one_line, says
from .ports import Reader
from .short_ids import abbreviate

NEXT = 3
"""How many of the memories ranked after one it is compared with."""
CLAUSES = 2
"""How many observations are told."""
LEAST = 0.25
"""What the second one must be worth, in parts of the first."""


class Reasons:
    """The reasons of some hits, found when the first of them is asked for; a copy has them found."""

    def __init__(self, found: Sequence[str] = (), *, find: Callable[[], Sequence[str]] | None = None) -> None:
        self._found, self._find = found, find

    def at(self, place: int) -> str:
        """The reason of one hit by its place, from 0."""
        if (find := self._find) is not None:
            self._found, self._find = find(), None  # what it was found in is let go
        return self._found[place]

    def __reduce__(self) -> tuple[Any, ...]:
        if self._find is not None:
            self.at(0)
        return type(self), (self._found,)


def reasons(ranking: Ranking, nodes: Sequence[Node], read: Reader) -> list[str]:
    """The reason of each of some nodes that are ranked; ``read`` fetches others that are quoted.

    Empty where there is nothing to tell: of a memory that is alone, or that nothing sets apart.
    """
    graph = ranking.graph
    places = {graph.id(row): place for place, row in enumerate(ranking.order.tolist())}
    told = [_observed(ranking, places[node.id], node) for node in nodes]
    clauses = [clause for one in told for clause in one]
    texts = {node.id: node for node in nodes}
    shown = {clause.shown for clause in clauses if clause.shown >= 0}
    missing = sorted(row for row in shown if graph.id(row) not in texts)
    texts |= {node.id: node for node in _read(read, missing)}
    ids = abbreviate({graph.id(clause.other) for clause in clauses if clause.other >= 0}, graph)
    return [
        "; ".join(_words(ranking, places[node.id], clause, texts, ids) for clause in one)
        for node, one in zip(nodes, told, strict=True)
    ]


def _read(read: Reader, rows: Sequence[int]) -> Sequence[Node]:
    """The nodes of some rows; none where the memory was closed meanwhile: then they are named and not quoted."""
    try:
        return read(np.array(rows, np.intp)) if rows else ()
    except EcphoraError:
        return ()


def _observed(ranking: Ranking, place: int, node: Node) -> list[Clause]:
    """What sets a memory apart from the next ones, or if it is the last from those before it; else what it has."""
    after = range(place + 1, min(place + 1 + NEXT, len(ranking.order)))
    others = after or range(max(0, place - NEXT), place)
    return (_clauses(Case(ranking, place, node, others)) or _clauses(Case(ranking, place, node, ()))) if others else []


def _clauses(case: Case) -> list[Clause]:
    """What is told of a memory: the observations whose shares are furthest ahead."""
    seen: dict[Observe, Clause | None] = {}
    ahead: dict[Observe, float] = {}
    for stage, value in case.ahead.items():
        for observe in OBSERVATIONS.get(stage, ()):
            if observe not in seen:
                seen[observe] = observe(case)
            if seen[observe] is not None:
                ahead[observe] = ahead.get(observe, 0.0) + value
                break
    found: dict[str | int, Clause] = {}
    least = 0.0
    for observe in sorted(ahead, key=lambda one: -ahead[one]):
        if ahead[observe] > least and (clause := seen[observe]) is not None:
            found.setdefault(clause.head if clause.other < 0 else clause.other, clause)
            least = least or LEAST * ahead[observe]
    if len(found) < CLAUSES and (clause := says(case)):
        found.setdefault(clause.head, clause)
    return list(found.values())[:CLAUSES]


def _words(
    ranking: Ranking, place: int, clause: Clause, texts: Mapping[NodeId, Node], ids: Mapping[NodeId, str]
) -> str:
    """A clause as it is read."""
    said = clause.head if clause.other < 0 else f"{clause.head} {ids[ranking.graph.id(clause.other)]}"
    node = texts.get(ranking.graph.id(clause.shown)) if clause.shown >= 0 else None
    if node is None:
        return said
    if node.kind == Kind.ENTITY:
        return (
            f"{said}, which names “{one_line(node.text)}”" if clause.other >= 0 else f"{said} “{one_line(node.text)}”"
        )
    quoted = ranking.quote(node.text, ranking.rarity * ~ranking.held[0, place])  # what the memory does not say itself
    return f"{said}, which says {quoted}" if quoted else said
