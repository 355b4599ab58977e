"""Spreading activation as in SYNAPSE, §2.4, 2 and 3: iterations of propagation, lateral inhibition and a sigmoid.

Rows that are not active send nothing, and rows that are not reached stay at 0: an iteration looks at the frontier
alone.
"""
# ruff: noqa: N803  # the paper's symbols

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...model.graph.columns import best_of_group
from ...model.ports import ActivationPath
from ...model.types import Floats, Mask, Rows, Scores
from ...retrieval.fusion import top_k
from .layer_edges import EdgeList


@dataclass(frozen=True, slots=True)
class Dynamics:
    """The parameters of an iteration by the paper's symbols; ``use_fan_effect`` divides by the out-degree."""

    S: float
    delta: float
    beta: float
    M: int
    gamma: float
    theta: float
    use_fan_effect: bool = True


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


def initial_activation(anchors: Rows, cosine: Scores, alpha: float) -> Scores:
    """``a_i(0) = α · cos(h_i, h_q)`` for the anchors, 0 for the others."""
    activation = np.zeros_like(cosine)
    activation[anchors] = alpha * cosine[anchors]
    return activation


def initial(activation: Scores) -> Iteration:
    """The state before the first iteration."""
    return Iteration(activation, activation, activation, activation, np.full(len(activation), -1, np.intp))


def spread(
    activation: Scores,
    edges_from: Callable[[Rows], EdgeList],
    reachable: Mask,
    dynamics: Dynamics,
    *,
    T: int,
    floor: Scores,
) -> Iteration:
    """``T`` iterations from an initial activation, each of propagation, inhibition and activation in this order.

    ``edges_from`` gives all edges that leave some rows. No row is inhibited below its ``floor``.
    """
    iteration = initial(activation)
    for _ in range(T):
        edges = edges_from(np.flatnonzero(iteration.activation))
        iteration = propagate(
            iteration, edges, reachable, S=dynamics.S, delta=dynamics.delta, use_fan_effect=dynamics.use_fan_effect
        )
        iteration = inhibit_and_activate(iteration, dynamics, floor)
    return iteration


def inhibit_and_activate(iteration: Iteration, dynamics: Dynamics, floor: Scores) -> Iteration:
    """Inhibition and activation: the end of an iteration. No row is inhibited below its ``floor``."""
    u_hat = inhibit(iteration.u, beta=dynamics.beta, M=dynamics.M)
    u_hat = np.maximum(u_hat, np.minimum(iteration.u, floor))
    return apply_sigmoid(iteration, u_hat, gamma=dynamics.gamma, theta=dynamics.theta)


def propagate(
    iteration: Iteration,
    edges: EdgeList,
    reachable: Mask,
    *,
    S: float,
    delta: float,
    use_fan_effect: bool = True,
) -> Iteration:
    """``u_i = (1-δ)·a_i + Σ_{j→i} S · w_ji · a_j / fan(j)``: the activation that each row keeps, and receives.

    ``edges`` are all edges that leave active rows; only edges between rows under ``reachable`` transmit. Without
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
    """The row that first reached each row: for newly reached rows the strongest sender, the first of equal senders."""
    is_new = (flow > 0) & (iteration.activation[edges.dst] == 0) & (iteration.parent[edges.dst] < 0)
    src, dst, flow = edges.src[is_new], edges.dst[is_new], flow[is_new]
    best = best_of_group(dst, flow)
    parent = iteration.parent.copy()
    parent[dst[best]] = src[best]
    return parent


def inhibit(u: Scores, *, beta: float, M: int) -> Scores:
    """``û_i = max(0, u_i - β · Σ_{k in the M strongest} (u_k - u_i)·[u_k > u_i])``: lateral inhibition.

    The strongest rows have the highest ``u``; rows with equal ``u`` count in their order.
    """
    reached = np.flatnonzero(u > 0)
    strongest = reached[top_k(u[reached], M)]
    excess = np.maximum(0, u[strongest][:, None] - u[reached].astype(np.float64))
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


def activation_path(episodes: Mask, parent: Rows) -> ActivationPath:
    """The paths from episode to episode; the node between two, such as a concept, is ``via_entity``."""
    parent, via = parent.copy(), np.full(len(parent), -1, np.intp)
    while (is_between := (parent >= 0) & ~episodes[parent]).any():
        first = is_between & (via < 0)
        via[first] = parent[first]
        parent[is_between] = parent[parent[is_between]]
    return ActivationPath(parent, via)
