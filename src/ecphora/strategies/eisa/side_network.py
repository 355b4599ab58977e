"""SideNet: a trainable linear map over a frozen embedder's vectors, EISA's side network.

Published as a word2vec mean with a small network next to it, sizes and training not given. Here the map is Wx + c: the
identity plus a correction of low rank, W = I + A Bᵀ, as in Edward J. Hu et al., "LoRA: Low-Rank Adaptation of Large
Language Models", 2021, arXiv:2106.09685, and a bias c. A and c start at 0, so an untrained net changes nothing. It is
trained in :mod:`ecphora.maintenance.learn`.
"""

from dataclasses import dataclass, field

import numpy as np

from ...errors import WrongVector
from ...model.graph.graph import CachedDerivation, Graph
from ...model.reprs import ShortRepr
from ...model.types import Query, Scores, Vector, Vectors
from ...retrieval import dense

RANK = 8
"""The rank of the correction."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SideNet(ShortRepr):
    """Wx + c: W = I + ``a`` ``b``ᵀ, both of shape ``(dim, rank)``; c is ``bias``, shape ``(dim,)``, by default 0.

    ``similarity_floor``, below 1: the cosine of two unrelated texts after the map, measured by training; 0 before.
    """

    a: Vectors
    b: Vectors
    bias: Vector = field(default_factory=lambda: np.zeros(0, np.float32))
    similarity_floor: float = 0.0

    def __post_init__(self) -> None:
        if not len(self.bias):
            object.__setattr__(self, "bias", np.zeros(len(self.a), np.float32))

    @property
    def dim(self) -> int:
        """The length of the vectors it maps."""
        return len(self.a)

    @property
    def rank(self) -> int:
        """The rank of the correction."""
        return self.a.shape[1]


def identity(dim: int, rank: int = RANK) -> SideNet:
    """An untrained net: W = I and c = 0.

    Its ``b`` has the first cosines of the discrete cosine transform, not random numbers. ``b`` must differ from 0 for
    training to begin; which directions it has matters little, as an embedder's dimensions have no order.
    """
    places, waves = np.arange(dim) + 0.5, np.arange(1, rank + 1)
    basis = np.sqrt(2 / dim) * np.cos(np.pi / dim * np.outer(places, waves))
    return SideNet(np.zeros((dim, rank), np.float32), basis.astype(np.float32))


def map_vectors(net: SideNet | None, vectors: Vectors) -> Vectors:
    """Vectors mapped by the net, unit rows; without a net, unchanged."""
    if net is None or not len(vectors):
        return vectors
    mapped = vectors + (vectors @ net.b) @ net.a.T + net.bias
    unit: Vectors = (mapped / np.maximum(np.linalg.norm(mapped, axis=1, keepdims=True), 1e-12)).astype(np.float32)
    return unit


def cosine(graph: Graph, query: Query, net: SideNet | None) -> Scores:
    """Cosine of the cue with each row's vector, both mapped by the net, if there is one; 0 for rows without a vector.

    No mapped vector is stored: with u = Wq + c, u·(Wd + c) = u·d + (Aᵀu)·(Bᵀd) + u·c, so a row costs ``rank + 1``
    numbers more.
    """
    if net is None:
        return dense.cosine(graph, query)
    scores, vectors = graph.zeros(), graph.vectors
    if query.vector is None or not len(vectors):
        return scores
    if len(query.vector) != net.dim:
        raise WrongVector(
            f"the side network maps {net.dim} numbers, the vectors have {len(query.vector)}; "
            "train one for this embedder, or use none"
        )
    mapped = map_vectors(net, query.vector[None])[0]
    projections = graph.derive(
        ("side network projections", net), lambda grown, before: _extend_projections(grown, before, net)
    )
    dots = vectors.dot(mapped) + np.einsum("ij,j->i", projections.inner, net.a.T @ mapped)
    dots += np.float32(net.bias @ mapped)
    scores[graph.vector_rows["rows"]] = dots / projections.lengths
    return scores


def similarity_floor(query: Query, net: SideNet | None) -> float:
    """The cosine of two unrelated texts by the net, or by the embedder without a net."""
    return query.similarity_floor if net is None else net.similarity_floor


@dataclass(frozen=True, slots=True, eq=False)
class _Projections:
    """Bᵀ d of each vector d, shape ``(vectors, rank)``, and |W d + c|."""

    inner: Vectors
    lengths: Scores


def _extend_projections(graph: Graph, cached: CachedDerivation[_Projections] | None, net: SideNet) -> _Projections:
    old = (
        cached.value
        if cached is not None
        else _Projections(np.zeros((0, net.rank), np.float32), np.zeros(0, np.float32))
    )
    vectors = graph.vectors.rows(slice(len(old.lengths), None))
    outer, inner = vectors @ net.a, vectors @ net.b
    # |Wd|² = |d|² + 2 (Aᵀd)·(Bᵀd) + |A Bᵀd|², without a second matrix of vectors; |Wd + c|² = |Wd|² + 2 c·Wd + |c|².
    squares = np.einsum("ij,ij->i", vectors, vectors) + 2 * np.einsum("ij,ij->i", outer, inner)
    squares += np.einsum("ij,ij->i", inner @ (net.a.T @ net.a), inner)
    squares += 2 * (vectors @ net.bias + inner @ (net.a.T @ net.bias)) + net.bias @ net.bias
    lengths = np.sqrt(np.maximum(squares, 1e-12))
    return _Projections(np.concatenate([old.inner, inner]), np.concatenate([old.lengths, lengths]))
