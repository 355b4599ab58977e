"""The reason of a hit in words: what sets it apart from the memories ranked after it.

The contributions to its score are compared with their mean over the next memories. The reason has the one or two
clauses (:mod:`ecphora.reason_clauses`) whose contributions lead most. A general clause, which names nothing of the
memory, must lead each memory ranked near it clearly, those before it too: else they would have the same reason.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .clause import Clause, ClauseBuilder
from .errors import EcphoraError
from .model import Kind, Node, NodeId
from .ports import NodeReader
from .ranking import NEIGHBOR_COUNT, Comparison, Ranking
from .reason_clauses import CLAUSE_BUILDERS, goal_clause, relation_clause, text_clause
from .short_ids import abbreviate
from .text_format import collapse_whitespace

MAX_CLAUSES = 2
"""The most clauses of a reason."""
MIN_LEAD_RATIO = 0.25
"""The smallest lead of the second clause, as a fraction of the first clause's lead; and that of a general clause over
the memories near it, as a fraction of its lead over the mean of the next ones."""
GENERAL_WEIGHT = 0.5
"""How much the lead of a general clause counts, beside that of one that names a word, a date or another memory."""


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
    """The clauses that set a memory apart from the next ones, or the last one from those before; else its own clauses,
    else general ones in which a memory before it leads it."""
    after = range(index + 1, min(index + 1 + NEIGHBOR_COUNT, len(ranking.order)))
    others = after or range(max(0, index - NEIGHBOR_COUNT), index)
    if not others:
        return []
    comparison = Comparison(ranking, index, node, others)
    return (
        _select_clauses(comparison)
        or _select_clauses(Comparison(ranking, index, node, ()))
        or _select_clauses(comparison, is_lead_clear=False)
    )


def _select_clauses(comparison: Comparison, *, is_lead_clear: bool = True) -> list[Clause]:
    """The clauses of a memory whose contributions lead most, best first.

    If ``is_lead_clear``, a general clause must lead each memory ranked near it clearly.
    """
    clauses: dict[ClauseBuilder, Clause | None] = {}
    leads: dict[ClauseBuilder, float] = {}
    features: dict[ClauseBuilder, list[str]] = {}
    for feature, value in comparison.contribution_leads.items():
        for build in CLAUSE_BUILDERS.get(feature, ()):
            if build not in clauses:
                clauses[build] = comparison.once(build)
            if clauses[build] is not None:
                leads[build] = leads.get(build, 0.0) + value
                features.setdefault(build, []).append(feature)
                break
    if is_lead_clear:
        for build, clause in clauses.items():
            if clause is not None and clause.is_general:
                leads[build] = _general_lead(comparison, features[build], leads[build])
    return _leading_clauses(comparison, clauses, leads)


def _general_lead(comparison: Comparison, features: Sequence[str], lead: float) -> float:
    """What the lead of a general clause over the mean of the next memories counts; 0 if it does not lead clearly."""
    clear_lead = comparison.lead_over_neighbors(features)
    return GENERAL_WEIGHT * clear_lead if clear_lead >= MIN_LEAD_RATIO * lead else 0.0


def _leading_clauses(
    comparison: Comparison, clauses: Mapping[ClauseBuilder, Clause | None], leads: Mapping[ClauseBuilder, float]
) -> list[Clause]:
    """The clauses with the largest leads, best first; and those of words if there is room."""
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
