"""SideNet: a trainable linear map over a frozen embedder's vectors, EISA's side network.

Published as a word2vec mean with a small network beside it, sizes and training not given. Here the map is the identity
plus a correction of low rank, W = I + A Bᵀ, as in Edward J. Hu et al., "LoRA: Low-Rank Adaptation of Large Language
Models", 2021, arXiv:2106.09685; A starts at 0, so an untrained net changes nothing. It is trained contrastively on
(cue, used memory) against (cue, recalled but unused memory) by InfoNCE: Aäron van den Oord et al., "Representation
Learning with Contrastive Predictive Coding", 2018, arXiv:1807.03748, equation 4. This module has one step; the
training loop is in :mod:`ecphora.learn`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...graph import CachedDerivation, Graph
from ...model import Query, Scores, Vector, Vectors
from ...reprs import ShortRepr

RANK = 8
"""The rank of the correction."""
TEMPERATURE = 0.05
"""The divisor of cosines in the InfoNCE softmax."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SideNet(ShortRepr):
    """W = I + ``a`` ``b``ᵀ; both have shape ``(dim, rank)``."""

    a: Vectors
    b: Vectors

    @property
    def dim(self) -> int:
        """The length of the vectors it maps."""
        return len(self.a)

    @property
    def rank(self) -> int:
        """The rank of the correction."""
        return self.a.shape[1]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContrastiveExample(ShortRepr):
    """The feedback on one recall: the cue's vector, those of the used memories, and those of the unused ones."""

    query: Vector
    positives: Vectors
    negatives: Vectors


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gradient(ShortRepr):
    """An InfoNCE loss and its derivatives by ``a`` and ``b``."""

    loss: float
    a: Floats
    b: Floats


def identity(dim: int, rank: int = RANK) -> SideNet:
    """An untrained net: W = I. Its ``b`` has the first cosines of the discrete cosine transform, not random numbers.

    ``b`` must differ from 0 for training to begin; which directions it has matters little, as an embedder's dimensions
    have no order.
    """
    places, waves = np.arange(dim) + 0.5, np.arange(1, rank + 1)
    basis = np.sqrt(2 / dim) * np.cos(np.pi / dim * np.outer(places, waves))
    return SideNet(np.zeros((dim, rank), np.float32), basis.astype(np.float32))


def map_vectors(net: SideNet | None, vectors: Vectors) -> Vectors:
    """Vectors mapped by the net, unit rows; without a net, unchanged."""
    if net is None or not len(vectors):
        return vectors
    mapped = vectors + (vectors @ net.b) @ net.a.T
    unit: Vectors = (mapped / np.maximum(np.linalg.norm(mapped, axis=1, keepdims=True), 1e-12)).astype(np.float32)
    return unit


def cosine(graph: Graph, query: Query, net: SideNet) -> Scores:
    """Cosine of the cue with each row's vector, both mapped by the net; 0 for rows without a vector.

    No mapped vector is stored: (Wq)·(Wd) = (Wq)·d + (Aᵀ Wq)·(Bᵀ d), so a row costs ``rank + 1`` numbers more.
    """
    scores, vectors = graph.zeros(), graph.vectors.view
    if query.vector is None or not len(vectors):
        return scores
    mapped = map_vectors(net, query.vector[None])[0]
    projections = graph.derive(
        ("side network projections", net), lambda grown, before: _extend_projections(grown, before, net)
    )
    dots = np.einsum("ij,j->i", vectors, mapped) + np.einsum("ij,j->i", projections.inner, net.a.T @ mapped)
    scores[graph.vector_rows["rows"]] = dots / projections.lengths
    return scores


def gradient(net: SideNet, example: ContrastiveExample, temperature: float = TEMPERATURE) -> Gradient:
    """The mean over the used memories of -log(e^(c₊/τ) / (e^(c₊/τ) + Σ e^(c₋/τ))), and its gradient."""
    a, b, q = net.a.astype(np.float64), net.b.astype(np.float64), example.query.astype(np.float64)
    d = np.concatenate([example.positives, example.negatives]).astype(np.float64)
    positives = len(example.positives)
    u, x = q + a @ (b.T @ q), d + (d @ b) @ a.T  # Wq, Wd
    lu, lx = np.linalg.norm(u), np.linalg.norm(x, axis=1)
    c = x @ u / (lu * lx)
    # One row for each used memory: that one against all unused ones.
    logits = np.column_stack([c[:positives], np.tile(c[positives:], (positives, 1))]) / temperature
    logits -= logits.max(axis=1, keepdims=True)
    part = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    by_c = np.concatenate([part[:, 0] - 1, part[:, 1:].sum(axis=0)]) / (positives * temperature)
    # dc/du = x/(|u||x|) - c u/|u|², and likewise dc/dx; then u = Wq, x = Wd, and W = I + A Bᵀ.
    by_u = (by_c / lx) @ x / lu - (by_c @ c) * u / lu**2
    by_x = (by_c / (lu * lx))[:, None] * u - (by_c * c / lx**2)[:, None] * x
    return Gradient(
        loss=float(-np.log(part[:, 0]).mean()),
        a=np.outer(by_u, b.T @ q) + by_x.T @ (d @ b),
        b=np.outer(q, a.T @ by_u) + d.T @ (by_x @ a),
    )


def gradient_step(
    net: SideNet,
    examples: Sequence[ContrastiveExample],
    *,
    learning_rate: float,
    temperature: float = TEMPERATURE,
    weight_decay: float = 0.0,
) -> tuple[SideNet, float]:
    """One gradient-descent step on some examples; returns the net and their mean loss before the step.

    ``weight_decay`` pulls ``a`` to 0, that is the net to the identity. Examples without a used or without an unused
    memory are skipped.
    """
    gradients = [gradient(net, one, temperature) for one in examples if len(one.positives) and len(one.negatives)]
    if not gradients:
        return net, 0.0
    a = net.a * (1 - learning_rate * weight_decay) - learning_rate * np.mean([one.a for one in gradients], axis=0)
    b = net.b - learning_rate * np.mean([one.b for one in gradients], axis=0)
    return SideNet(a.astype(np.float32), b.astype(np.float32)), float(np.mean([one.loss for one in gradients]))


@dataclass(frozen=True, slots=True, eq=False)
class _Projections:
    """Bᵀ d of each vector d, shape ``(vectors, rank)``, and |W d|."""

    inner: Vectors
    lengths: Scores


def _extend_projections(graph: Graph, cached: CachedDerivation[_Projections] | None, net: SideNet) -> _Projections:
    old = (
        cached.value
        if cached is not None
        else _Projections(np.zeros((0, net.rank), np.float32), np.zeros(0, np.float32))
    )
    vectors = graph.vectors.view[len(old.lengths) :]
    outer, inner = vectors @ net.a, vectors @ net.b
    # |Wd|² = |d|² + 2 (Aᵀd)·(Bᵀd) + |A Bᵀd|², without a second matrix of vectors.
    squares = np.einsum("ij,ij->i", vectors, vectors) + 2 * np.einsum("ij,ij->i", outer, inner)
    squares += np.einsum("ij,ij->i", inner @ (net.a.T @ net.a), inner)
    lengths = np.sqrt(np.maximum(squares, 1e-12))
    return _Projections(np.concatenate([old.inner, inner]), np.concatenate([old.lengths, lengths]))
