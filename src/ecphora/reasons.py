"""Why a memory came back, in words: what sets it apart from the memories ranked after it.

The shares of its score are compared with the mean of those of the next ones. What is told are the one or two
observations (:mod:`ecphora.reason_clauses`) whose shares are furthest ahead.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import EcphoraError
from .model import Kind, Node, NodeId
from .ports import NodeReader
from .ranking import Comparison, Ranking
from .reason_clauses import CLAUSE_BUILDERS, Clause, ClauseBuilder, collapse_whitespace, text_clause
from .short_ids import abbreviate

COMPARISON_SIZE = 3
"""How many of the memories ranked after one it is compared with."""
MAX_CLAUSES = 2
"""How many observations are told."""
MIN_LEAD_RATIO = 0.25
"""What the second one must be worth, in parts of the first."""


class LazyReasons:
    """The reasons of some hits, found when the first of them is asked for; a copy has them found."""

    def __init__(self, texts: Sequence[str] = (), *, build: Callable[[], Sequence[str]] | None = None) -> None:
        self._texts, self._build = texts, build

    def get(self, index: int) -> str:
        """The reason of one hit by its place, from 0."""
        if (find := self._build) is not None:
            self._texts, self._build = find(), None  # what it was found in is let go
        return self._texts[index]

    def __reduce__(self) -> tuple[Any, ...]:
        if self._build is not None:
            self.get(0)
        return type(self), (self._texts,)


def build_reasons(ranking: Ranking, nodes: Sequence[Node], read_nodes: NodeReader) -> list[str]:
    """The reason of each of some nodes that are ranked; ``read`` fetches others that are quoted.

    Empty where there is nothing to tell: of a memory that is alone, or that nothing sets apart.
    """
    graph = ranking.graph
    places = {graph.id(row): place for place, row in enumerate(ranking.order.tolist())}
    told = [_node_clauses(ranking, places[node.id], node) for node in nodes]
    clauses = [clause for one in told for clause in one]
    texts = {node.id: node for node in nodes}
    shown = {clause.quoted_row for clause in clauses if clause.quoted_row >= 0}
    missing = sorted(row for row in shown if graph.id(row) not in texts)
    texts |= {node.id: node for node in _fetch_nodes(read_nodes, missing)}
    ids = abbreviate({graph.id(clause.other_row) for clause in clauses if clause.other_row >= 0}, graph)
    return [
        "; ".join(_clause_text(ranking, places[node.id], clause, texts, ids) for clause in one)
        for node, one in zip(nodes, told, strict=True)
    ]


def _fetch_nodes(read_nodes: NodeReader, rows: Sequence[int]) -> Sequence[Node]:
    """The nodes of some rows; none where the memory was closed meanwhile: then they are named and not quoted."""
    try:
        return read_nodes(np.array(rows, np.intp)) if rows else ()
    except EcphoraError:
        return ()


def _node_clauses(ranking: Ranking, index: int, node: Node) -> list[Clause]:
    """What sets a memory apart from the next ones, or if it is the last from those before it; else what it has."""
    after = range(index + 1, min(index + 1 + COMPARISON_SIZE, len(ranking.order)))
    others = after or range(max(0, index - COMPARISON_SIZE), index)
    return (
        (
            _select_clauses(Comparison(ranking, index, node, others))
            or _select_clauses(Comparison(ranking, index, node, ()))
        )
        if others
        else []
    )


def _select_clauses(comparison: Comparison) -> list[Clause]:
    """What is told of a memory: the observations whose shares are furthest ahead."""
    seen: dict[ClauseBuilder, Clause | None] = {}
    ahead: dict[ClauseBuilder, float] = {}
    for stage, value in comparison.contribution_leads.items():
        for observe in CLAUSE_BUILDERS.get(stage, ()):
            if observe not in seen:
                seen[observe] = observe(comparison)
            if seen[observe] is not None:
                ahead[observe] = ahead.get(observe, 0.0) + value
                break
    found: dict[str | int, Clause] = {}
    least = 0.0
    for observe in sorted(ahead, key=lambda one: -ahead[one]):
        if ahead[observe] > least and (clause := seen[observe]) is not None:
            found.setdefault(clause.text if clause.other_row < 0 else clause.other_row, clause)
            least = least or MIN_LEAD_RATIO * ahead[observe]
    if len(found) < MAX_CLAUSES and (clause := text_clause(comparison)):
        found.setdefault(clause.text, clause)
    return list(found.values())[:MAX_CLAUSES]


def _clause_text(
    ranking: Ranking, index: int, clause: Clause, nodes: Mapping[NodeId, Node], ids: Mapping[NodeId, str]
) -> str:
    """A clause as it is read."""
    said = clause.text if clause.other_row < 0 else f"{clause.text} {ids[ranking.graph.id(clause.other_row)]}"
    node = nodes.get(ranking.graph.id(clause.quoted_row)) if clause.quoted_row >= 0 else None
    if node is None:
        return said
    if node.kind == Kind.ENTITY:
        return (
            f"{said}, which names “{collapse_whitespace(node.text)}”"
            if clause.other_row >= 0
            else f"{said} “{collapse_whitespace(node.text)}”"
        )
    quoted = ranking.quote(
        node.text, ranking.quotable_idf * ~ranking.matches_term[0, index]
    )  # what the memory does not say itself
    return f"{said}, which says {quoted}" if quoted else said
