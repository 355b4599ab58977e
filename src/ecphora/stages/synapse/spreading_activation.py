"""Spreading activation as in SYNAPSE: propagation along edges, lateral inhibition, a sparse sigmoid.

Rows that are not active send nothing, and rows that are not reached stay at 0: an iteration looks at the frontier
alone.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...grouping import best_of_group
from ...model import Mask, Rows, Scores
from ...ports import ActivationPath
from ..retrieval.top_k import top_k

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EdgeList:
    """Directed edges, ``src[i] -> dst[i]`` with ``weights[i]`` in 0..1."""

    src: Rows
    dst: Rows
    weights: Scores

    def __len__(self) -> int:
        return len(self.src)

    def concat(self, *others: "EdgeList") -> "EdgeList":
        """These edges followed by others."""
        parts = (self, *others)
        return EdgeList(
            np.concatenate([edges.src for edges in parts]),
            np.concatenate([edges.dst for edges in parts]),
            np.concatenate([edges.weights for edges in parts]),
        )

    def select(self, places: Mask | Rows) -> "EdgeList":
        """The edges under a mask, or those at the given places in that order."""
        return EdgeList(self.src[places], self.dst[places], self.weights[places])

    def fan(self, size: int) -> NDArray[np.intp]:
        """The number of these edges that leave each row: its out-degree if all its edges are here."""
        return np.bincount(self.src, minlength=size)


@dataclass(frozen=True, slots=True)
class Iteration:
    """An iteration: the activation before it, ``u``, ``û`` (``u_hat``) and the activation after it.

    ``parent`` is the row from which each row was first reached, -1 for none.
    """

    previous: Scores
    u: Scores
    u_hat: Scores
    activation: Scores
    parent: Rows


def initial(activation: Scores) -> Iteration:
    """The state before the first iteration."""
    return Iteration(activation, activation, activation, activation, np.full(len(activation), -1, np.intp))


def propagate(
    iteration: Iteration,
    edges: EdgeList,
    reachable: Mask,
    *,
    S: float,  # noqa: N803
    delta: float,
    use_fan_effect: bool = True,
) -> Iteration:
    """``u_i = (1-δ)·a_i + Σ_{j→i} S · w_ji · a_j / fan(j)``: what each row keeps, and what it receives.

    ``edges`` are all edges that leave active rows; only those between rows under ``reachable`` transmit. Without
    ``use_fan_effect`` nothing is divided by fan(j): a hub sends its full activation to every neighbor.
    """
    active, size = iteration.activation, len(iteration.activation)
    fan = edges.fan(size)
    edges = edges.select(reachable[edges.src] & reachable[edges.dst])
    sent = S * (edges.weights.astype(np.float64) * active[edges.src].astype(np.float64))
    if use_fan_effect:
        sent /= fan[edges.src]
    u = ((1 - delta) * active + np.bincount(edges.dst, sent, minlength=size)).astype(np.float32)
    return Iteration(active, u, u, u, _first_senders(iteration, edges, sent))


def _first_senders(iteration: Iteration, edges: EdgeList, flow: Floats) -> Rows:
    """The row that first reached each row: for newly reached rows the strongest sender, the first of equal ones."""
    is_new = (flow > 0) & (iteration.activation[edges.dst] == 0) & (iteration.parent[edges.dst] < 0)
    src, dst, flow = edges.src[is_new], edges.dst[is_new], flow[is_new]
    best = best_of_group(dst, flow)
    parent = iteration.parent.copy()
    parent[dst[best]] = src[best]
    return parent


def inhibit(u: Scores, *, beta: float, M: int, divisor: Floats | None = None) -> Scores:  # noqa: N803
    """``û_i = max(0, u_i - β · Σ_{k in the M strongest} (u_k - u_i)·[u_k > u_i])``: lateral inhibition.

    The strongest are those of the highest ``u``, equal ones in order of rows. ``divisor`` divides each row's
    inhibition of others.
    """
    reached = np.flatnonzero(u > 0)
    strongest = reached[top_k(u[reached], M)]
    excess = np.maximum(0, u[strongest][:, None] - u[reached].astype(np.float64))
    if divisor is not None:
        excess /= divisor[strongest][:, None]
    u_hat = np.zeros_like(u)
    u_hat[reached] = np.maximum(0, u[reached] - beta * excess.sum(axis=0))
    return u_hat


def apply_sigmoid(iteration: Iteration, u_hat: Scores, *, gamma: float, theta: float) -> Iteration:
    """``a_i = σ(γ·(û_i - θ))`` for each row that is reached or was active before; the others stay at 0.

    Sparse on purpose: σ(-γθ) is not 0, and if every row had it, it would amplify itself.
    """
    active = np.zeros_like(u_hat)
    rows = np.flatnonzero((u_hat > 0) | (iteration.previous > 0))
    active[rows] = 1 / (1 + np.exp(-gamma * (u_hat[rows].astype(np.float64) - theta)))
    return replace(iteration, u_hat=u_hat, activation=active)


def tunneling_index(anchors: Rows, results: Rows, iteration: Iteration) -> float:
    """The share of anchors that lost more than half to inhibition and are missing from the results, in 0..1.

    A measure of SYNAPSE's cognitive tunneling: hubs that suppress a detail.
    """
    if not len(anchors):
        return 0.0
    loss = iteration.u[anchors] - iteration.u_hat[anchors]
    return float(((loss > iteration.u[anchors] / 2) & ~np.isin(anchors, results)).mean())


def activation_path(episodes: Mask, parent: Rows) -> ActivationPath:
    """The paths from episode to episode; the node between two, such as a concept, is ``via_entity``."""
    parent, via = parent.copy(), np.full(len(parent), -1, np.intp)
    while (is_between := (parent >= 0) & ~episodes[parent]).any():
        first = is_between & (via < 0)
        via[first] = parent[first]
        parent[is_between] = parent[parent[is_between]]
    return ActivationPath(parent, via)
