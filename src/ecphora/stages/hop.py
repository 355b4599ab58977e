"""Hops over engrams: the nearest to a cue, and the next ones near the centroid of those. EcphoryRAG, section 4.5.

An engram's vector is the unit mean of the memories that mention it (:mod:`.engrams`), so its cosine with anything is
the sum of its memories' cosines over the length of the sum of their vectors. The index keeps those lengths and no
engram vectors: a search costs the cosines of the memories, of which there are fewer, and one addition a mention.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..columns import Table
from ..graph import LINKS, Earlier, Graph
from ..model import MENTIONING, Kind, Link, Mask, Rows, Vector, Vectors
from . import choose

Similarities = NDArray[np.float32]
"""One number for each engram of an index."""

Cosines = NDArray[np.float32]
"""One number for each stored vector."""

BLOCK = 8192
"""Vectors that are added up at a time."""
TINY = 1e-6
"""Shorter vectors have no direction."""
_MENTIONING = np.array([LINKS.index(link) for link in MENTIONING])
_ABOUT = LINKS.index(Link.ABOUT)


@dataclass(frozen=True, slots=True)
class Index:
    """The engrams of a graph, by place: their ``rows``, ascending, and who mentions them.

    ``sources`` has an entry for each mention by a memory that has a vector: where that vector stands, ``at``, and the
    engram, ``of``. ``lengths`` are those of the sums of these vectors, 0 where there is none; ``mentions`` counts
    memories that mention an engram, and those that are about it once more, ``titles`` those that are about it.
    """

    rows: Rows
    sources: Table
    lengths: Similarities
    mentions: NDArray[np.int64]
    titles: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def places(self, rows: Rows) -> Rows:
        """Where the engrams of some rows stand here."""
        return np.searchsorted(self.rows, rows)


@dataclass(frozen=True, slots=True)
class Search:
    """An index as far as its memories may come back.

    ``at`` and ``of`` are the mentions of :class:`Index` that count; ``scale`` makes cosines of sums, 0 for an engram
    that nothing tells of.
    """

    index: Index
    at: Rows
    of: Rows
    scale: Similarities

    def similar(self, cosines: Cosines) -> Similarities:
        """The cosine of each engram with what the stored vectors have these ``cosines`` with, cut to 0..1."""
        sums = np.bincount(self.of, cosines[self.at], minlength=len(self.index))
        found: Similarities = np.clip(sums * self.scale, 0, 1).astype(np.float32)
        return found


def index(graph: Graph) -> Index:
    """The engrams of a graph, grown from those of the graph before at the cost of what is mentioned anew."""
    return graph.derived("engram index", _grown)


def search(graph: Graph, allowed: Mask) -> Search:
    """The engrams of a graph as the memories that may come back tell of them.

    Of an engram that other memories mention too, only these are heard; how well they agree is taken from all.
    """
    known = index(graph)
    at, of = known.sources["at"], known.sources["of"]
    scale = np.where(known.lengths > 0, 1 / np.maximum(known.lengths, TINY), 0).astype(np.float32)
    if not np.array_equal(allowed, graph.episodes):
        may = allowed[graph.vectored["rows"]][at]
        m, h = np.bincount(of, minlength=len(known)), np.bincount(of, may, minlength=len(known))
        # |sum of h|² = h + h (h - 1) times their mean cosine with each other, which is taken from all m.
        agreeing = (known.lengths**2 - m) / np.maximum(1, m * (m - 1))
        scale = np.where(h > 0, 1 / np.sqrt(np.maximum(TINY, h + h * (h - 1) * agreeing)), 0).astype(np.float32)
        at, of = at[may], of[may]
    return Search(known, at, of, scale)


def cosines(graph: Graph, vectors: Vectors) -> Cosines:
    """The cosine of each of some unit vectors with each stored one, shape ``(len(vectors), stored)``."""
    stored = graph.vectors.view
    if len(vectors) == 1:  # one alone does not wake the threads of BLAS; see seed.meaning
        return np.einsum("ij,j->i", stored, vectors[0])[None, :]
    found: Cosines = vectors @ stored.T
    return found


def summed(graph: Graph, rows: Rows, among: Mask) -> Vectors:
    """The sum of the vectors of the memories under a mask that mention each of some distinct entities."""
    vectors, places = graph.vectors.view, graph.vector_places
    sums = np.zeros((len(rows), vectors.shape[1]), np.float32)
    edges, which = graph.edges_to(rows)
    told = graph.edges["src"][edges]
    kept = np.isin(graph.edges["links"][edges], _MENTIONING) & (places[told] >= 0) & among[told]
    order = np.argsort(which[kept], kind="stable")
    which, at = which[kept][order], places[told[kept][order]]
    for start in range(0, len(which), BLOCK):
        part = which[start : start + BLOCK]
        first = np.flatnonzero(np.r_[True, part[1:] != part[:-1]])
        sums[part[first]] += np.add.reduceat(vectors[at[start : start + BLOCK]], first, axis=0)
    return sums


def vectors_of(graph: Graph, rows: Rows, among: Mask) -> Vectors:
    """The unit vectors of some distinct entities, as the memories under a mask tell of them; 0 where none does."""
    sums = summed(graph, rows, among)
    unit: Vectors = sums / np.maximum(np.linalg.norm(sums, axis=1), TINY)[:, None]
    return unit


def centroid(vectors: Vectors, weights: Similarities) -> Vector:
    """sum_i s_i h_i / sum_i s_i over the seeds' vectors h and weights s >= 0; 0 where all weights are."""
    whole = float(weights.sum())
    middle: Vector = (weights @ vectors / (whole if whole > 0 else 1.0)).astype(np.float32)
    return middle


def unit(vector: Vector) -> Vector:
    """A vector at length 1, one of length 0 as it is."""
    length = float(np.linalg.norm(vector))
    return vector if length < TINY else (vector / length).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Woken:
    """The engrams awake, by place: which, how all rank, and the row by which each was reached, -1 for the cue."""

    awake: Mask
    ranks: Similarities
    by: Rows

    @classmethod
    def none(cls, ranks: Similarities) -> "Woken":
        """Nothing is awake yet; ``ranks`` say how well each engram fits what is asked."""
        return cls(np.zeros(len(ranks), np.bool_), ranks, np.full(len(ranks), -1, np.intp))

    def plus(self, places: Rows, by: Rows | int = -1, strengths: Similarities | float = 0.0) -> "Woken":
        """Wake some distinct engrams; one that was reached more strongly than it ranks takes that rank and way."""
        better = ~self.awake[places] | (strengths > self.ranks[places])
        awake, ranks, ways = self.awake.copy(), self.ranks.copy(), self.by.copy()
        awake[places] = True
        ranks[places] = np.maximum(ranks[places], strengths)
        ways[places] = np.where(better, by, ways[places])
        return Woken(awake, ranks, ways)

    def best(self, k: int) -> Rows:
        """The places of the k awake engrams that rank highest, and above 0, best first."""
        places = np.flatnonzero(self.awake & (self.ranks > 0))
        return places[choose.top(self.ranks[places], k)]

    def nearest(self, similarities: Similarities, k: int) -> Rows:
        """The places of the k engrams of highest positive similarity that are not awake, best first."""
        places = np.flatnonzero(~self.awake & (similarities > 0))
        return places[choose.top(similarities[places], k)]


def _grown(graph: Graph, before: Earlier[Index] | None) -> Index:
    first, edge = (before.nodes, before.edges) if before is not None else (0, 0)
    known = before.value if before is not None else _NONE
    rows = np.concatenate([known.rows, np.flatnonzero(graph.of_kind(Kind.ENTITY)[first:]) + first])
    lengths, mentions, titles = (
        np.concatenate([column, np.zeros(len(rows) - len(column), column.dtype)])
        for column in (known.lengths, known.mentions, known.titles)
    )
    edges = graph.edges
    new = np.flatnonzero(np.isin(edges["links"][edge:], _MENTIONING)) + edge
    of, at = np.searchsorted(rows, edges["dst"][new]), graph.vector_places[edges["src"][new]]
    np.add.at(mentions, of, 1)
    np.add.at(titles, of[edges["links"][new] == _ABOUT], 1)
    touched = np.unique(of)
    for start in range(0, len(touched), BLOCK):
        some = touched[start : start + BLOCK]
        lengths[some] = np.linalg.norm(summed(graph, rows[some], graph.episodes), axis=1)
    return Index(rows, known.sources.plus(at=at[at >= 0], of=of[at >= 0]), lengths, mentions, titles)


_NONE = Index(
    rows=np.empty(0, np.intp),
    sources=Table.of(at=np.intp, of=np.intp),
    lengths=np.empty(0, np.float32),
    mentions=np.empty(0, np.int64),
    titles=np.empty(0, np.int64),
)
