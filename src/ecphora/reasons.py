"""The reason of a hit in words: what sets it apart from the memories ranked after it.

The contributions to its score are compared with their mean over the next memories. The reason has the one or two
clauses (:mod:`ecphora.reason_clauses`) whose contributions lead most.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .clause import Clause, ClauseBuilder
from .errors import EcphoraError
from .model import Kind, Node, NodeId
from .ports import NodeReader
from .ranking import Comparison, Ranking
from .reason_clauses import CLAUSE_BUILDERS, goal_clause, relation_clause, text_clause
from .short_ids import abbreviate
from .text_format import collapse_whitespace

COMPARISON_SIZE = 3
"""How many of the memories ranked after a hit it is compared with."""
MAX_CLAUSES = 2
"""The most clauses of a reason."""
MIN_LEAD_RATIO = 0.25
"""The smallest lead of the second clause, as a fraction of the first clause's lead."""


class LazyReasons:
    """The reasons of some hits, built when the first of them is read; pickling builds them."""

    def __init__(self, texts: Sequence[str] = (), *, build: Callable[[], Sequence[str]] | None = None) -> None:
        self._texts, self._build = texts, build

    def get(self, index: int) -> str:
        """The reason of one hit by its index, from 0."""
        if (build := self._build) is not None:
            self._texts, self._build = build(), None  # releases the ranking
        return self._texts[index]

    def __reduce__(self) -> tuple[Any, ...]:
        if self._build is not None:
            self.get(0)
        return type(self), (self._texts,)


def build_reasons(ranking: Ranking, nodes: Sequence[Node], read_nodes: NodeReader) -> list[str]:
    """The reason of each of some ranked nodes; ``read_nodes`` fetches other nodes that are quoted.

    A reason is empty if the memory is the only one, or if nothing sets it apart.
    """
    graph = ranking.graph
    index_by_id = {graph.id(row): index for index, row in enumerate(ranking.order.tolist())}
    clauses_by_node = [_node_clauses(ranking, index_by_id[node.id], node) for node in nodes]
    clauses = [clause for node_clauses in clauses_by_node for clause in node_clauses]
    known = {node.id: node for node in nodes}
    quoted_rows = {clause.quoted_row for clause in clauses if clause.quoted_row >= 0}
    missing = sorted(row for row in quoted_rows if graph.id(row) not in known)
    known |= {node.id: node for node in _fetch_nodes(read_nodes, missing)}
    ids = abbreviate({graph.id(clause.other_row) for clause in clauses if clause.other_row >= 0}, graph)
    return [
        "; ".join(_clause_text(ranking, index_by_id[node.id], clause, known, ids) for clause in node_clauses)
        for node, node_clauses in zip(nodes, clauses_by_node, strict=True)
    ]


def _fetch_nodes(read_nodes: NodeReader, rows: Sequence[int]) -> Sequence[Node]:
    """The nodes of some rows; none if the memory was closed meanwhile: then they are named but not quoted."""
    try:
        return read_nodes(np.array(rows, np.intp)) if rows else ()
    except EcphoraError:
        return ()


def _node_clauses(ranking: Ranking, index: int, node: Node) -> list[Clause]:
    """The clauses that set a memory apart from the next ones, or the last one from those before; else its own
    clauses."""
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
    """The clauses of a memory whose contributions lead most, best first."""
    clauses: dict[ClauseBuilder, Clause | None] = {}
    leads: dict[ClauseBuilder, float] = {}
    for feature, value in comparison.contribution_leads.items():
        for build in CLAUSE_BUILDERS.get(feature, ()):
            if build not in clauses:
                clauses[build] = comparison.once(build)
            if clauses[build] is not None:
                leads[build] = leads.get(build, 0.0) + value
                break
    found: dict[str | int, Clause] = {}
    if comparison.is_raised_by_goal and (clause := comparison.once(goal_clause)) is not None:
        found[clause.text] = clause
    min_lead = 0.0
    for build in sorted(leads, key=lambda builder: -leads[builder]):
        if leads[build] > min_lead and (clause := clauses[build]) is not None:
            found.setdefault(clause.text if clause.other_row < 0 else clause.other_row, clause)
            min_lead = min_lead or MIN_LEAD_RATIO * leads[build]
    for build in (relation_clause, text_clause):
        if len(found) < MAX_CLAUSES and (clause := comparison.once(build)):
            found.setdefault(clause.text if clause.other_row < 0 else clause.other_row, clause)
    return list(found.values())[:MAX_CLAUSES]


def _clause_text(
    ranking: Ranking, index: int, clause: Clause, nodes: Mapping[NodeId, Node], ids: Mapping[NodeId, str]
) -> str:
    """A clause as a text."""
    text = clause.text if clause.other_row < 0 else f"{clause.text} {ids[ranking.graph.id(clause.other_row)]}"
    node = nodes.get(ranking.graph.id(clause.quoted_row)) if clause.quoted_row >= 0 else None
    if node is None:
        return text
    if node.kind == Kind.ENTITY:
        return (
            f"{text}, which names “{collapse_whitespace(node.text)}”"
            if clause.other_row >= 0
            else f"{text} “{collapse_whitespace(node.text)}”"
        )
    quoted = ranking.quote(
        node.text, ranking.quotable_idf * ~ranking.matches_term[0, index]
    )  # words that the hit does not contain itself
    return f"{text}, which says {quoted}" if quoted else text
