"""Builds hits with their reasons from ranked rows, within a token budget."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..language.classes import asked_nouns, find_instances
from ..language.terms import estimate_tokens
from ..model.graph.graph import Graph
from ..model.ports import Activation, ActivationPath, NodeSource
from ..model.types import Contribution, Hit, HitGroup, Mask, NodeId, Query, Rows, Scores, Why
from ..retrieval import filters, fusion
from ..retrieval.bm25 import Postings, TermCoverage, term_coverage
from ..retrieval.validity import nodes_at_cutoffs
from .ranking import NEIGHBOR_COUNT, Ranking
from .reasons import LazyReasons, build_reasons

COVERAGE_BONUS = 0.15
"""The bonus for covering all query terms not covered yet, as a fraction of the best score's lead over the tenth."""

SPREAD_RANK = 9
"""The rank, from 0, of the score that the lead is measured to: the tenth."""


def select_within(scores: Scores, sizes: Sequence[int], budget: float, coverage: TermCoverage) -> list[int]:
    """Choose hits greedily so that the sum of their sizes fits into a budget; returns indices in order of choice.

    ``scores`` are in descending order. Each step takes the best hit that still fits; a hit that covers query terms not
    covered yet is preferred to a hit that scores a little higher. ``coverage`` has the terms of each hit.
    """
    indices = np.arange(len(scores))
    spread = float(scores[0] - scores[: SPREAD_RANK + 1][-1]) if len(scores) else 0.0
    size, left = np.asarray(sizes, np.float64), float(budget)
    is_open, covered = np.ones(len(indices), np.bool_), np.zeros(len(coverage.idf), np.bool_)
    chosen: list[int] = []
    while (fits := indices[is_open & (size <= left)]).size:
        newly_covered = coverage.weighted_fraction(coverage.in_row[fits] & ~covered)
        index = int(fits[np.argmax(scores[fits] + COVERAGE_BONUS * spread * newly_covered)])
        chosen.append(index)
        is_open[index] = False
        covered |= coverage.in_row[index]
        left -= size[index]
    return chosen


MAX_PATH_NODES = 6
"""The most nodes of a path."""


@dataclass(frozen=True, slots=True)
class RankedHits:
    """The result of a query: ``top_hits`` are the hits within the limit, best first.

    ``eligible`` are the rows that the query may return; ``read_nodes`` reads nodes by their rows.
    """

    graph: Graph
    query: Query
    activation: Activation
    eligible: Mask
    top_hits: Sequence[Hit]
    budget: int | None
    read_nodes: NodeSource

    @property
    def hits(self) -> list[Hit]:
        """The hits that fit into the budget, best first."""
        if self.budget is None:
            return list(self.top_hits)
        return [self.top_hits[place] for place in sorted(self.select_within_budget(self.budget))]

    def select_within_budget(self, budget: float) -> list[int]:
        """The places of the hits chosen for a budget, in the order of choice."""
        scores = np.array([hit.score for hit in self.top_hits], np.float32)
        rows = self.graph.rows(hit.id for hit in self.top_hits)
        coverage = term_coverage(Postings.for_query(self.graph, self.query), rows)
        return select_within(scores, [estimate_tokens(hit.text) for hit in self.top_hits], budget, coverage)


def rank(  # noqa: PLR0917
    graph: Graph,
    query: Query,
    activation: Activation,
    limit: int,
    budget: int | None,
    read_nodes: NodeSource,
    *,
    explain: bool,
) -> RankedHits:
    """Rank what a strategy activated: the best ``limit`` hits, with their reasons if asked."""
    eligible = filters.eligible(graph, query) if activation.eligible is None else activation.eligible
    hits = _build_hits(graph, query, activation, eligible, limit, read_nodes, explain=explain)
    return RankedHits(graph, query, activation, eligible, hits, budget, read_nodes)


def group_by_instance(question: str, hits: Sequence[Hit]) -> tuple[HitGroup, ...]:
    """The hits by the instances that they mention of the classes that a question asks for."""
    if next(asked_nouns(question), None) is None:  # the usual case
        return ()
    labels: dict[str, str] = {}
    members: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        for instance in find_instances(hit.text, question):
            labels.setdefault(instance.key, instance.text)
            members[instance.key].append(hit)
    return tuple(HitGroup(labels[key], tuple(group)) for key, group in members.items())


def why(graph: Graph, activation: Activation, row: int) -> Why:
    """The contributions to a row's score, without contributions of 0; they add up to the score."""
    return _whys(graph, activation, np.array([row]))[0]


def _whys(graph: Graph, activation: Activation, rows: Rows) -> list[Why]:
    """The same for several rows."""
    features, paths = list(activation.contributions), activation.paths
    columns = [activation.contributions[feature][rows] for feature in features]
    values = np.array(columns).reshape(len(features), len(rows)).T
    shares: list[list[Contribution]] = [[] for _ in rows]
    for place, number in zip(*(axis.tolist() for axis in values.nonzero()), strict=True):
        feature, path = features[number], paths.get(features[number])
        found = () if path is None else _path(graph, path, int(rows[place]))
        shares[place].append(Contribution(feature, float(values[place, number]), found))
    return [Why(tuple(share)) for share in shares]


def _build_hits(  # noqa: PLR0917
    graph: Graph,
    query: Query,
    activation: Activation,
    eligible: Mask,
    limit: int,
    read_nodes: NodeSource,
    *,
    explain: bool,
) -> list[Hit]:
    """Return the best rows as hits, best first, with the reasons if asked.

    Each hit shows its node, and its validity, as known at the times that the query names.
    """
    order = fusion.top_rows(activation.scores, eligible, limit + NEIGHBOR_COUNT)
    known = {node.id: node for node in read_nodes(order[:limit])}  # another process may have forgotten some
    rows = [row for row in order[:limit].tolist() if graph.id(row) in known]
    nodes = [known[graph.id(row)] for row in rows]
    whys, reasons = [Why(())] * len(rows), LazyReasons(("",) * len(rows))
    if explain:
        whys = _whys(graph, activation, np.array(rows, np.intp))
        ranking = Ranking.from_activation(graph, query, activation, eligible, order)
        reasons = LazyReasons(build=lambda: build_reasons(ranking, nodes, read_nodes))
    return [
        Hit(node, float(activation.scores[row]), whys[place], validity, partial(reasons.get, place))
        for place, (row, (node, validity)) in enumerate(
            zip(rows, nodes_at_cutoffs(graph, rows, nodes, query), strict=True)
        )
    ]


def _path(graph: Graph, activation_path: ActivationPath, row: int) -> tuple[NodeId, ...]:
    """The nodes from the node that the query activated to this row."""
    path = [row]
    while len(path) < MAX_PATH_NODES and (parent := int(activation_path.parent[path[-1]])) >= 0 and parent not in path:
        if (via := int(activation_path.via_entity[path[-1]])) >= 0:
            path.append(via)
        path.append(parent)
        if via >= 0 or activation_path.single_hop:
            break
    return tuple(graph.id(step) for step in reversed(path)) if len(path) > 1 else ()
