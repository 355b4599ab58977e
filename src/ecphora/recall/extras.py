"""What a recall returns besides the memories, if asked to: engrams, insights and earlier exchanges.

None of them is a memory, and none is shown that could repeat a memory which the recall may not return.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ..model.graph.graph import Graph
from ..model.ports import Activation, NodeSource
from ..model.types import (
    MENTION_LINKS,
    EngramHit,
    ExchangeHit,
    Hit,
    Include,
    InsightHit,
    Link,
    Mask,
    Node,
    Query,
    Rows,
    Scores,
)
from ..retrieval import dense, filters, fusion, insight_index
from ..retrieval.entity_links import unit_vectors


@dataclass(frozen=True, slots=True)
class Extras:
    """What came back besides the memories, each best first; empty where it was not asked for."""

    engrams: tuple[EngramHit, ...] = ()
    insights: tuple[InsightHit, ...] = ()
    exchanges: tuple[ExchangeHit, ...] = ()


NO_EXTRAS = Extras()


def find_extras(  # noqa: PLR0917
    graph: Graph,
    query: Query,
    activation: Activation,
    eligible: Mask,
    hits: Sequence[Hit],
    limit: int,
    read_nodes: NodeSource,
    *,
    include: Collection[Include],
) -> Extras:
    """At most ``limit`` of each kind in ``include``, for a recall that returned ``hits``.

    A strategy's own scores rank them, where it has any; otherwise the similarity to the question.
    """
    if not include:
        return NO_EXTRAS
    finder = _Finder(graph, query, activation.context_scores, eligible, hits, limit, read_nodes)
    return Extras(
        finder.engrams() if Include.ENGRAMS in include else (),
        finder.insights() if Include.INSIGHTS in include else (),
        finder.exchanges() if Include.EXCHANGES in include else (),
    )


@dataclass(frozen=True, slots=True)
class _Finder:
    """The arguments of :func:`find_extras`."""

    graph: Graph
    query: Query
    context_scores: Scores
    eligible: Mask
    hits: Sequence[Hit]
    limit: int
    read_nodes: NodeSource

    # ---- engrams

    def engrams(self) -> tuple[EngramHit, ...]:
        """The engrams that the hits mention."""
        graph, hit_rows = self.graph, self.graph.rows(hit.id for hit in self.hits)
        edges, hit_index = graph.edges_from(hit_rows, *MENTION_LINKS)
        rows = np.unique(graph.edges["dst"][edges]).astype(np.intp)
        best, scores = self._best(rows, self._engram_similarity)
        described = self._read(np.array(list((by_engram := self._descriptions(best, hit_rows)).values()), np.intp))
        ids: dict[int, dict[str, None]] = {}
        for place, row in sorted(zip(hit_index.tolist(), graph.edges["dst"][edges].tolist(), strict=True)):
            ids.setdefault(row, {})[graph.id(int(hit_rows[place]))] = None
        nodes = self._read(best)
        return tuple(
            _engram_hit(nodes[row], float(score), tuple(ids[row]), described.get(by_engram.get(row, -1)))
            for row, score in zip(best.tolist(), scores, strict=True)
            if row in nodes
        )

    def _engram_similarity(self, rows: Rows) -> Scores:
        """The similarity of the question to the memories that mention each; 1 for an engram that it names."""
        graph, vector = self.graph, self.query.vector
        vectors = unit_vectors(graph, rows, self.eligible)
        similarity = (
            np.zeros(len(rows), np.float32)
            if vector is None or not vectors.shape[1]
            else self._above_floor(np.einsum("ij,j->i", vectors, vector))
        )
        similarity[np.isin(rows, graph.rows(self.query.entity_ids))] = 1
        return similarity

    def _descriptions(self, engrams: Rows, hit_rows: Rows) -> dict[int, int]:
        """For each engram, the row of the description that the best hit with one gives of it."""
        graph, rank = self.graph, {row: place for place, row in enumerate(hit_rows.tolist())}
        describing, of_engram = graph.edges_to(engrams, Link.DESCRIBES)
        rows = graph.edges["src"][describing].astype(np.intp)
        engram_by_row = dict(zip(rows.tolist(), engrams[of_engram].tolist(), strict=True))
        in_memory, index = graph.edges_from(rows, Link.DESCRIBED_IN)
        found: dict[int, tuple[int, int]] = {}
        for row, memory in zip(rows[index].tolist(), graph.edges["dst"][in_memory].tolist(), strict=True):
            if memory in rank:
                engram, candidate = engram_by_row[row], (rank[memory], row)
                found[engram] = min(found.get(engram, candidate), candidate)
        return {engram: row for engram, (_, row) in found.items()}

    # ---- insights and exchanges

    def insights(self) -> tuple[InsightHit, ...]:
        """The insights nearest to the question, of those whose sources may all be returned."""
        graph = self.graph
        records = {record.row: record for record in insight_index.eligible_insights(graph, self.query, self.eligible)}
        best, scores = self._best(np.array(list(records), np.intp), self._similarity)
        nodes = self._read(best)
        return tuple(
            InsightHit(
                nodes[row].id,
                nodes[row].text,
                float(score),
                tuple(graph.id(source) for source in records[row].sources.tolist()),
                records[row].level,
            )
            for row, score in zip(best.tolist(), scores, strict=True)
            if row in nodes
        )

    def exchanges(self) -> tuple[ExchangeHit, ...]:
        """The exchanges whose prompt is nearest to the question."""
        graph = self.graph
        rows = np.flatnonzero(filters.eligible_exchanges(graph, self.query, self.eligible))
        best, scores = self._best(rows, self._similarity)
        nodes = self._read(best)
        edges, index = graph.edges_from(best, Link.BASED_ON)
        found = []
        for place, (row, score) in enumerate(zip(best.tolist(), scores, strict=True)):
            if row not in nodes:
                continue
            own = edges[index == place]
            sources = [graph.id(source) for source in graph.edges["dst"][own].tolist()]
            is_used = (graph.edges["weights"][own] > 0).tolist()
            used = tuple(source for source, used in zip(sources, is_used, strict=True) if used)
            found.append(_exchange_hit(nodes[row], float(score), tuple(sources), used))
        return tuple(found)

    # ---- ranking and reading

    def _best(self, rows: Rows, similarity: Callable[[Rows], Scores]) -> tuple[Rows, list[float]]:
        """The best of some rows with a positive score, best first, and their scores, from 0 to 1."""
        if not len(rows):
            return rows, []
        own = self.context_scores[rows] if len(self.context_scores) else np.zeros(len(rows), np.float32)
        scores = own if own.any() else similarity(rows)
        order = fusion.top_k(scores, min(self.limit, int((scores > 0).sum())))
        return rows[order], np.clip(scores[order], 0, 1).tolist()

    def _similarity(self, rows: Rows) -> Scores:
        """The similarity of the question to each row's vector, 0 for unrelated texts."""
        return self._above_floor(dense.cosine(self.graph, self.query)[rows])

    def _above_floor(self, cosines: Scores) -> Scores:
        similarity: Scores = np.clip(dense.above_floor(cosines, self.query.similarity_floor), 0, 1)
        return similarity

    def _read(self, rows: Rows) -> dict[int, Node]:
        """The nodes by row; another process may have forgotten some."""
        nodes = {node.id: node for node in self.read_nodes(rows)} if len(rows) else {}
        return {row: nodes[self.graph.id(row)] for row in rows.tolist() if self.graph.id(row) in nodes}


def _engram_hit(node: Node, score: float, ids: tuple[str, ...], description: Node | None) -> EngramHit:
    """An engram, with what the best hit that describes it says of it."""
    if description is None:
        return EngramHit(node.id, node.text, score, ids)
    type_, importance = (description.metadata.get(name) for name in ("type", "importance"))
    _name, _, text = description.text.partition(": ")
    return EngramHit(
        node.id,
        node.text,
        score,
        ids,
        type_ if isinstance(type_, str) else None,
        text or None,
        float(importance) if isinstance(importance, int | float) else None,
    )


def _exchange_hit(node: Node, score: float, source_ids: tuple[str, ...], used_ids: tuple[str, ...]) -> ExchangeHit:
    prompt = node.title or ""
    return ExchangeHit(
        node.id, prompt, node.text, node.happened_at, score, source_ids, used_ids, node.source, node.session
    )
