"""Spreading activation as in SYNAPSE: travel along edges, lateral inhibition, a sparse sigmoid. It makes no edges.

Scores in, scores out. What is not active sends nothing, and what nothing reaches stays at 0: an iteration looks at the
frontier alone.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..model import Mask, Rows, Scores
from ..ports import Trail
from .choose import top

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ways:
    """Directed edges, ``src[i] -> dst[i]`` with ``weights[i]`` in 0..1."""

    src: Rows
    dst: Rows
    weights: Scores

    def __len__(self) -> int:
        return len(self.src)

    def plus(self, *others: "Ways") -> "Ways":
        """These edges and others."""
        parts = (self, *others)
        return Ways(
            np.concatenate([ways.src for ways in parts]),
            np.concatenate([ways.dst for ways in parts]),
            np.concatenate([ways.weights for ways in parts]),
        )

    def only(self, kept: Mask | Rows) -> "Ways":
        """Some of the edges: those under a mask, or those in these places in their order."""
        return Ways(self.src[kept], self.dst[kept], self.weights[kept])

    def fan(self, size: int) -> NDArray[np.intp]:
        """How many of the edges leave each row: the out-degree of those whose edges are all here."""
        return np.bincount(self.src, minlength=size)


@dataclass(frozen=True, slots=True)
class Wave:
    """An iteration: the activation before it, ``u``, ``û`` (here ``held``) and the activation after it.

    ``by`` is the row from which each row was first reached, -1 for none.
    """

    before: Scores
    u: Scores
    held: Scores
    active: Scores
    by: Rows


def still(active: Scores) -> Wave:
    """Activation before it has spread."""
    return Wave(active, active, active, active, np.full(len(active), -1, np.intp))


def travel(wave: Wave, ways: Ways, awake: Mask, *, S: float, delta: float, divided: bool = True) -> Wave:  # noqa: N803
    """``u_i = (1-δ)·a_i + Σ_{j→i} S · w_ji · a_j / fan(j)``: what each row keeps, and what comes to it.

    ``ways`` are all edges that leave active rows; those that join rows under ``awake`` carry. Where it is not
    ``divided``, a hub gives every neighbour all it has.
    """
    active, size = wave.active, len(wave.active)
    fan = ways.fan(size)
    ways = ways.only(awake[ways.src] & awake[ways.dst])
    sent = S * (ways.weights.astype(np.float64) * active[ways.src].astype(np.float64))
    if divided:
        sent /= fan[ways.src]
    u = ((1 - delta) * active + np.bincount(ways.dst, sent, minlength=size)).astype(np.float32)
    return Wave(active, u, u, u, _first(wave, ways, sent))


def _first(wave: Wave, ways: Ways, sent: Numbers) -> Rows:
    """Who reached each row first: for those not reached before, the strongest sender, of equal ones the first."""
    new = (sent > 0) & (wave.active[ways.dst] == 0) & (wave.by[ways.dst] < 0)
    src, dst, sent = ways.src[new], ways.dst[new], sent[new]
    order = np.lexsort((-np.arange(len(sent)), sent))  # the strongest is written last
    by = wave.by.copy()
    by[dst[order]] = src[order]
    return by


def inhibit(u: Scores, *, beta: float, M: int, damped: Numbers | None = None) -> Scores:  # noqa: N803
    """``û_i = max(0, u_i - β · Σ_{k in the M strongest} (u_k - u_i)·[u_k > u_i])``: the strongest hold down the others.

    The strongest are those of the highest ``u``, equal ones in order of rows. ``damped`` divides what each row does.
    """
    reached = np.flatnonzero(u > 0)
    strongest = reached[top(u[reached], M)]
    over = np.maximum(0, u[strongest][:, None] - u[reached].astype(np.float64))
    if damped is not None:
        over /= damped[strongest][:, None]
    held = np.zeros_like(u)
    held[reached] = np.maximum(0, u[reached] - beta * over.sum(axis=0))
    return held


def fire(wave: Wave, held: Scores, *, gamma: float, theta: float) -> Wave:
    """``a_i = σ(γ·(û_i - θ))`` for each row that is reached or was active before; the others stay at 0.

    Sparse on purpose: σ(-γθ) is not 0, and a background of it in every row would feed itself.
    """
    active = np.zeros_like(held)
    awake = np.flatnonzero((held > 0) | (wave.before > 0))
    active[awake] = 1 / (1 + np.exp(-gamma * (held[awake].astype(np.float64) - theta)))
    return replace(wave, held=held, active=active)


def tunnelling(anchors: Rows, listed: Rows, wave: Wave) -> float:
    """The part of the anchors that lost more than half to inhibition and are missing from what is listed, in 0..1.

    SYNAPSE's cognitive tunnelling, hubs that drown a detail, as a number.
    """
    if not len(anchors):
        return 0.0
    lost = wave.u[anchors] - wave.held[anchors]
    return float(((lost > wave.u[anchors] / 2) & ~np.isin(anchors, listed)).mean())


def trail(episodes: Mask, by: Rows) -> Trail:
    """The ways from episode to episode; what lies between, such as a concept, is what one came by."""
    by, via = by.copy(), np.full(len(by), -1, np.intp)
    while (through := (by >= 0) & ~episodes[by]).any():
        first = through & (via < 0)
        via[first] = by[first]
        by[through] = by[by[through]]
    return Trail(by, via)
