"""How stimuli pass from memories to memories like them: the bond of two, and the strongest that reaches each.

SynapticRAG's propagation (papers.md 1.4) without its loop over all pairs. Only the strongest parent of a child counts:
pairs that cannot win, or cannot deliver enough to count, are told by a bound and left out. The result is exact.
"""
# ruff: noqa: N803, N806  # the paper's symbols

from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Mask, Rows, Vectors
from . import spikes
from .charge import Charged
from .neuron import Floats, Neuron, effective
from .spikes import Trains

BLOCK = 128
"""Parents whose cosines with all others are held at once."""
FEW = 1 << 14
"""Cosines that are quicker had on one thread."""
_SLACK = 1 + 1e-5
"""What a bound may be off by: cosines are 32-bit numbers."""


@dataclass(frozen=True, slots=True)
class Bond:
    """How much of a stimulus passes: cos T ``scale``, or without ``temporal`` cos ``scale``.

    ``version`` 2 is the accumulating table, 1 dynamic time warping. Trains are cut to the ``last`` spikes, ways through
    the table to a ``band`` around its diagonal, where these are given.
    """

    scale: float
    temporal: bool = True
    version: int = 2
    last: int | None = None
    band: int | None = None


@dataclass(frozen=True, slots=True)
class Parents:
    """Those that pass a stimulus S on, each with its row (-1 for the cue), vector, tau and spikes."""

    rows: Rows
    vectors: Vectors
    S: Floats
    tau: Floats
    trains: Trains

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, places: Rows) -> "Parents":
        """Some of them."""
        return Parents(
            self.rows[places], self.vectors[places], self.S[places], self.tau[places], self.trains.of(places)
        )


@dataclass(frozen=True, slots=True)
class Delivered:
    """What reached which rows, ascending, and from which parents, by their number."""

    rows: Rows
    S: Floats
    by: Rows


@dataclass(frozen=True, slots=True)
class Wave:
    """What a cue does, filled generation by generation: one entry a row.

    ``S`` is the stimulus sent, ``stimulus`` that which stirred; ``by`` the parent whose stimulus won. ``beside`` is
    what came from a memory told near it, ``beside_by`` from which.
    """

    S: Floats
    stimulus: Floats
    potential: Floats
    fired: Mask
    by: Rows
    beside: Floats
    beside_by: Rows

    @classmethod
    def over(cls, graph: Graph) -> "Wave":
        """Nothing yet."""
        n = len(graph)
        none = np.full(n, -1, np.intp)
        return cls(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.bool_), none, np.zeros(n), none.copy())


@dataclass(frozen=True, slots=True)
class Receivers:
    """A memory that stimuli reach: the graph, the state of its rows, their constants, and how they are bound.

    Two are bound where the cosine of their vectors is ``cos_th`` or more.
    """

    graph: Graph
    state: Charged
    neuron: Neuron
    bond: Bond
    cos_th: float

    def passed(self, parents: Parents, p: Rows, rows: Rows, cos: Floats) -> Floats:
        """The stimulus that each pair of a parent and a row passes: S_p P, P = cos T ``scale``."""
        passed: Floats = parents.S[p] * cos * self.bond.scale * self.temporal(parents, p, rows)
        return passed

    def temporal(self, parents: Parents, p: Rows, rows: Rows) -> Floats:
        """T of pairs of a parent and a row (papers.md 1.5)."""
        bond = self.bond
        if not bond.temporal:
            return np.ones(len(p))
        distinct, which = np.unique(rows, return_inverse=True)
        children = self.state.trains(distinct, last=bond.last).of(which)
        tau = effective(self.neuron, 0.5 * (parents.tau[p] + self.state.charge.tau[rows]))
        if bond.version == 1:
            return spikes.bond(spikes.warped(parents.trains.of(p), children, tau))
        return spikes.bond(spikes.similarity(parents.trains.of(p), children, tau, band=bond.band))

    def at_most(self, parents: Parents, rows: Rows) -> Floats:
        """What T cannot exceed for any of some parents: all spiked just now, and L is no more than one way's sum.

        That way is first the other spikes of the parent, at most 1 each, then the row of the spike just now.
        """
        bond, state = self.bond, self.state
        more = int(parents.trains.lengths.max()) - 1
        if not bond.temporal or (more and (bond.version == 1 or bond.band is not None)):
            return np.ones(len(rows))
        tau = effective(self.neuron, 0.5 * (parents.tau.max() + state.charge.tau[rows]))
        now = np.full(len(rows), float(state.now))
        return spikes.bond(more + spikes.discounted(now, state.trains(rows, last=bond.last), tau))


def strongest(to: Receivers, parents: Parents, open_: Mask, least: float) -> Delivered:
    """The strongest stimulus of at least ``least`` that reaches each open row; of equal ones the later parent's."""
    graph, scale = to.graph, to.bond.scale
    places, vectors = graph.vectored["rows"], graph.vectors.view
    best, by = np.zeros(len(graph)), np.full(len(graph), -1, np.intp)
    # The strongest first, so that the others seldom win; those with a single spike before all, their bound is close.
    order = np.lexsort((-parents.S, parents.trains.lengths > 1))
    order = order[parents.S[order] * scale * _SLACK >= least]
    for start in range(0, len(order), BLOCK):
        p = order[start : start + BLOCK]
        some = parents.of(p)
        cos = _cosines(some.vectors, vectors)
        near = (cos >= to.cos_th) & open_[places]
        near &= cos * (some.S * scale * _SLACK)[:, None] >= np.maximum(best[places], least)
        columns = np.flatnonzero(near.any(0))
        rows = places[columns].astype(np.intp)
        strength = np.where(near[:, columns], some.S[:, None] * cos[:, columns], 0)
        most = strength * scale * _SLACK * to.at_most(some, rows)
        # The likeliest parent of each row, then all those that might still deliver as much.
        likeliest = np.zeros(most.shape, np.bool_)
        likeliest[most.argmax(0), np.arange(len(columns))] = True
        for pairs in (likeliest, ~likeliest):
            i, j = np.nonzero(pairs & near[:, columns] & (most >= np.maximum(best[rows], least)))
            S = to.passed(parents, p[i], rows[j], cos[i, columns[j]].astype(np.float64))
            enough = least <= S
            _keep(best, by, rows[j[enough]], S[enough], p[i[enough]])
    reached = np.flatnonzero(by >= 0)
    return Delivered(reached, best[reached], by[reached])


def beside(graph: Graph, parents: Parents, *, scale: float, tau: float) -> Delivered:
    """The strongest stimulus that passes from some memories to those told beside them: S_p cos T ``scale``.

    Here T = 2 σ(exp(-|A - B| / tau)) - 1 of the turns A and B in which two were told; published T is never below 1/2,
    which holds for what has nothing to do with each other. Beyond 5 ``tau`` turns nothing passes.
    """
    told = np.flatnonzero(graph.episodes)
    away = np.arange(-int(5 * tau), int(5 * tau) + 1)
    at = np.searchsorted(told, parents.rows)[:, None] + away
    p, step = np.nonzero((at >= 0) & (at < len(told)) & (away != 0))
    rows = told[at[p, step]]
    p, step, rows = (column[graph.vector_places[rows] >= 0] for column in (p, step, rows))
    cos = np.einsum("ij,ij->i", parents.vectors[p], graph.vectors.view[graph.vector_places[rows]]).astype(np.float64)
    T = 2 * spikes.bond(np.exp(-np.abs(away[step]) / tau)) - 1
    best, by = np.zeros(len(graph)), np.full(len(graph), -1, np.intp)
    _keep(best, by, rows, parents.S[p] * np.maximum(cos, 0) * T * scale, p)
    reached = np.flatnonzero(by >= 0)
    return Delivered(reached, best[reached], by[reached])


def _cosines(some: Vectors, all_: Vectors) -> Vectors:
    """The cosine of each of some unit vectors with each of all."""
    if len(some) * len(all_) > FEW:
        return some @ all_.T
    return np.einsum("ij,kj->ik", some, all_)  # BLAS would wake a second thread: see seed.meaning


def _keep(best: Floats, by: Rows, rows: Rows, S: Floats, parents: Rows) -> None:
    """Keep the strongest stimulus of each row and its parent, of equal ones the later parent."""
    order = np.lexsort((parents, S, rows))
    order = order[np.r_[rows[order][1:] != rows[order][:-1], True]] if len(order) else order
    rows, S, parents = rows[order], S[order], parents[order]
    wins = (best[rows] < S) | ((best[rows] == S) & (parents > by[rows]))
    best[rows[wins]], by[rows[wins]] = S[wins], parents[wins]
