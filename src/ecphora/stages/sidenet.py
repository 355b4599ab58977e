"""SideNet: one linear map over a frozen embedder's vectors, that training can turn. EISA's trainable side network.

Published as a word2vec mean with a small network beside it, sizes and training not given. Here the map is the identity
plus a correction of low rank, W = I + A Bᵀ, as in Edward J. Hu et al., "LoRA: Low-Rank Adaptation of Large Language
Models", 2021, arXiv:2106.09685; A starts at 0, so an untrained net changes nothing. It is trained contrastively on
(cue, used memory) against (cue, brought back but unused) by InfoNCE: Aäron van den Oord et al., "Representation
Learning with Contrastive Predictive Coding", 2018, arXiv:1807.03748, equation 4. Pure: one step here, the loop in
:mod:`ecphora.learn`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import Earlier, Graph
from ..model import Cue, Scores, Vector, Vectors
from ..reprs import ShortRepr

RANK = 8
"""How many directions the correction has."""
TEMPERATURE = 0.05
"""What cosines are divided by before they compete."""

Numbers = NDArray[np.float64]


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
        """How many directions the correction has."""
        return self.a.shape[1]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Example(ShortRepr):
    """What came of one recall: the cue's vector, those of the memories used, and of those brought back in vain."""

    cue: Vector
    used: Vectors
    unused: Vectors


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gradient(ShortRepr):
    """An InfoNCE loss and its derivatives by ``a`` and ``b``."""

    loss: float
    a: Numbers
    b: Numbers


def identity(dim: int, rank: int = RANK) -> SideNet:
    """An untrained net: W = I. Its directions ``b`` are the first cosines of the discrete cosine transform, no chance.

    A direction must differ from 0 for training to begin; which ones they are matters little, as an embedder's numbers
    have no order.
    """
    places, waves = np.arange(dim) + 0.5, np.arange(1, rank + 1)
    basis = np.sqrt(2 / dim) * np.cos(np.pi / dim * np.outer(places, waves))
    return SideNet(np.zeros((dim, rank), np.float32), basis.astype(np.float32))


def apply(net: SideNet | None, vectors: Vectors) -> Vectors:
    """Vectors as the net sees them, unit rows; without a net, as they are."""
    if net is None or not len(vectors):
        return vectors
    mapped = vectors + (vectors @ net.b) @ net.a.T
    unit: Vectors = (mapped / np.maximum(np.linalg.norm(mapped, axis=1, keepdims=True), 1e-12)).astype(np.float32)
    return unit


def meaning(graph: Graph, cue: Cue, net: SideNet) -> Scores:
    """Cosine of the cue with each row's vector, both as the net sees them; 0 for rows without a vector.

    No mapped vector is kept: (Wq)·(Wd) = (Wq)·d + (Aᵀ Wq)·(Bᵀ d), so a row costs ``rank + 1`` numbers more.
    """
    scores, vectors = graph.zeros(), graph.vectors.view
    if cue.vector is None or not len(vectors):
        return scores
    seen = apply(net, cue.vector[None])[0]
    sides = graph.derived(("side net", net), lambda grown, before: _grown(grown, before, net))
    dots = np.einsum("ij,j->i", vectors, seen) + np.einsum("ij,j->i", sides.inner, net.a.T @ seen)
    scores[graph.vectored["rows"]] = dots / sides.lengths
    return scores


def gradient(net: SideNet, example: Example, temperature: float = TEMPERATURE) -> Gradient:
    """The mean over the used memories of -log(e^(c₊/τ) / (e^(c₊/τ) + Σ e^(c₋/τ))), and how it changes with the net."""
    a, b, q = net.a.astype(np.float64), net.b.astype(np.float64), example.cue.astype(np.float64)
    d = np.concatenate([example.used, example.unused]).astype(np.float64)
    positives = len(example.used)
    u, x = q + a @ (b.T @ q), d + (d @ b) @ a.T  # Wq, Wd
    lu, lx = np.linalg.norm(u), np.linalg.norm(x, axis=1)
    c = x @ u / (lu * lx)
    # One row for each used memory: itself against all unused ones.
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


def step(
    net: SideNet, examples: Sequence[Example], *, rate: float, temperature: float = TEMPERATURE, decay: float = 0.0
) -> tuple[SideNet, float]:
    """One step down the mean gradient of some examples, and their mean loss before it.

    ``decay`` draws ``a`` back to 0, that is the net back to the identity. Examples without a used and an unused memory
    teach nothing and are left out.
    """
    found = [gradient(net, one, temperature) for one in examples if len(one.used) and len(one.unused)]
    if not found:
        return net, 0.0
    a = net.a * (1 - rate * decay) - rate * np.mean([one.a for one in found], axis=0)
    b = net.b - rate * np.mean([one.b for one in found], axis=0)
    return SideNet(a.astype(np.float32), b.astype(np.float32)), float(np.mean([one.loss for one in found]))


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """Bᵀ d of each vector d, shape ``(vectors, rank)``, and |W d|."""

    inner: Vectors
    lengths: Scores


def _grown(graph: Graph, before: Earlier[_Sides] | None, net: SideNet) -> _Sides:
    known = before.value if before is not None else _Sides(np.zeros((0, net.rank), np.float32), np.zeros(0, np.float32))
    vectors = graph.vectors.view[len(known.lengths) :]
    outer, inner = vectors @ net.a, vectors @ net.b
    # |Wd|² = |d|² + 2 (Aᵀd)·(Bᵀd) + |A Bᵀd|², without a second matrix of vectors.
    squares = np.einsum("ij,ij->i", vectors, vectors) + 2 * np.einsum("ij,ij->i", outer, inner)
    squares += np.einsum("ij,ij->i", inner @ (net.a.T @ net.a), inner)
    lengths = np.sqrt(np.maximum(squares, 1e-12))
    return _Sides(np.concatenate([known.inner, inner]), np.concatenate([known.lengths, lengths]))
