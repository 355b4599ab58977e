"""Strand traversal: the strands of some particles, and support along them. Cognitive Weave, 5.3 and 5.4."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.graph.columns import best_of_group, join_by_key
from ...model.graph.graph import Graph
from ...model.ports import ActivationPath
from ...model.types import MENTION_LINKS, Link, Mask, Rows, Scores
from ...retrieval import fusion
from ...retrieval.entity_links import mention_counts, rarity
from .strand_evidence import later_evidence, strengthen
from .strand_types import STORED_LINKS, TYPE_CODES, StrandType

MAX_FRONTIER = 256
"""How many particles a hop starts from: the strongest. It bounds the work of a recall."""
MAX_MENTIONS = 50
"""A name with more mentions joins nothing: thematic strands are of rare names."""


@dataclass(frozen=True, slots=True)
class Strands:
    """Strands that leave some rows: the index of the row, the row at the other end, strength, type, shared name.

    ``entities`` has the shared name of a thematic strand, -1 for the other types.
    """

    index: Rows
    rows: Rows
    strengths: NDArray[np.float32]
    types: NDArray[np.int8]
    entities: Rows


def stored_strands(graph: Graph, rows: Rows, type_: StrandType, evidence_weight: float = 0.0) -> Strands:
    """The stored strands of one type of some distinct rows, whichever way they point.

    ``evidence_weight`` is what later evidence for the strands counts in equation 8.
    """
    link, edges = STORED_LINKS[type_], graph.edges
    outgoing, of_outgoing = graph.edges_from(rows, link)
    incoming, of_incoming = graph.edges_to(rows, link)
    others = np.concatenate([edges["dst"][outgoing], edges["src"][incoming]])
    places = np.concatenate([outgoing, incoming])
    strengths = edges["weights"][places]
    if evidence_weight:
        strengths = strengthen(strengths, later_evidence(graph)[places], evidence_weight)
    return _strands(np.concatenate([of_outgoing, of_incoming]), others, strengths, type_)


def temporal_strands(graph: Graph, rows: Rows) -> Strands:
    """The strands of some rows to the turns before and after them; they follow from the order of turns."""
    adjacent = np.concatenate([graph.previous_rows[rows], graph.next_rows[rows]])
    index = np.tile(np.arange(len(rows)), 2)[adjacent >= 0]
    return _strands(index, adjacent[adjacent >= 0], np.ones(len(index), np.float32), StrandType.TEMPORAL)


def thematic_strands(graph: Graph, rows: Rows, asked: Rows) -> Strands:
    """The strands of some distinct rows to rows that share a rare name with them, one strand for each name.

    A strand is as strong as the name is rare if either row is about it, else that squared. Names that the query has
    (``asked``, entity rows) lead nowhere: rows with these names are similar to the query already.
    """
    out_edges, of_row = graph.edges_from(rows, *MENTION_LINKS)
    to = graph.edges["dst"][out_edges]
    counts = mention_counts(graph)
    is_open = (counts[to] <= MAX_MENTIONS) & (counts[to] > 1) & ~np.isin(to, asked)
    entities, entity_index = np.unique(to[is_open], return_inverse=True)
    in_edges, in_entity = graph.edges_to(entities, *MENTION_LINKS)
    first, last = join_by_key(entity_index, in_entity, len(entities))
    index, others = of_row[is_open][first], graph.edges["src"][in_edges][last]
    is_about = graph.has_link(Link.ABOUT, edges=out_edges[is_open])[first]
    is_about |= graph.has_link(Link.ABOUT, edges=in_edges)[last]
    rare = rarity(counts[entities], max(2, graph.episode_count))[entity_index[first]]
    is_other = others != rows[index]
    strengths = np.where(is_about, rare, rare * rare)[is_other].astype(np.float32)
    found = _strands(index[is_other], others[is_other], strengths, StrandType.THEMATIC)
    return Strands(found.index, found.rows, strengths, found.types, entities[entity_index[first]][is_other])


def _strands(index: Rows, rows: NDArray[np.integer], strengths: NDArray[np.float32], type_: StrandType) -> Strands:
    return Strands(
        index.astype(np.intp),
        rows.astype(np.intp),
        strengths.astype(np.float32),
        np.full(len(index), TYPE_CODES[type_], np.int8),
        np.full(len(index), -1, np.intp),
    )


def join_strands(*parts: Strands) -> Strands:
    """All strands of several."""
    names = ("index", "rows", "strengths", "types", "entities")
    return Strands(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, slots=True)
class StrandSupport:
    """The support of each row along strands, and the row it comes from."""

    scores: Scores
    path: ActivationPath


def strand_support(
    graph: Graph,
    seeds: Rows,
    scores: Scores,
    strands_of: Callable[[Rows], Strands],
    *,
    through: Mask,
    max_hops: int,
    min_path_strength: float,
) -> StrandSupport:
    """The strongest path to each row: the score of a seed times the strengths of the strands from it.

    Paths of up to ``max_hops`` strands count while the product of their strengths is ``min_path_strength`` or more and
    every row on them is under the mask ``through``. ``strands_of`` are the strands of some distinct rows; at each hop
    the ``MAX_FRONTIER`` strongest rows have theirs followed, along every path to them that may still be the best.
    """
    best = np.zeros(len(graph), np.float32)
    parents, entities = graph.no_rows(), graph.no_rows()
    paths = _Paths(seeds, scores[seeds], np.ones(len(seeds), np.float32))
    for _ in range(max_hops):
        rows, row_index = np.unique(paths.rows, return_inverse=True)
        strands = strands_of(rows)
        of_path, of_strand = join_by_key(row_index, strands.index, len(rows))
        targets, sources = strands.rows[of_strand], paths.rows[of_path]
        products = paths.products[of_path] * strands.strengths[of_strand]
        is_kept = (products >= min_path_strength) & through[targets]
        values = paths.values[of_path] * strands.strengths[of_strand]
        strongest = best_of_group(targets[is_kept], values[is_kept], ties=sources[is_kept])
        strongest = np.flatnonzero(is_kept)[strongest]
        improved = strongest[values[strongest] > best[targets[strongest]]]
        best[targets[improved]], parents[targets[improved]] = values[improved], sources[improved]
        entities[targets[improved]] = strands.entities[of_strand[improved]]
        kept = targets[strongest[fusion.top_k(values[strongest], MAX_FRONTIER)]]
        is_kept &= np.isin(targets, kept)
        paths = _Paths(targets[is_kept], values[is_kept], products[is_kept]).without_dominated()
    return StrandSupport(best, ActivationPath(parents, entities))


@dataclass(frozen=True, slots=True)
class _Paths:
    """Paths: the row where each ends, its value (the score of its seed times its product), and its product."""

    rows: Rows
    values: Scores
    products: Scores

    def without_dominated(self) -> "_Paths":
        """The paths that no other path to the same row equals or exceeds in both value and product.

        A path of a lower value and a higher product may lead further: the product decides where a path ends.
        """
        order = np.lexsort((-self.products, -self.values, self.rows))
        _, group = np.unique(self.rows[order], return_inverse=True)
        step = 1.0 + float(self.products.max(initial=0.0))  # so that a later group is higher throughout
        height = step * group + self.products[order]
        before = np.maximum.accumulate(np.append(-1.0, height))[:-1]
        kept = order[height > before]
        return _Paths(self.rows[kept], self.values[kept], self.products[kept])
