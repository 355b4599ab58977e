"""What the best memories say together: EcphoryRAG's centroid, SYNAPSE's spreading and inhibition, within the pool."""

import numpy as np

from ...model import Scores
from ..touch import View

SENDERS = 15
"""How many of the best begin to spread."""
ASSOCIATED = 0.4
"""The cosine from which two memories are associated."""
BESIDE = 0.8
"""How strongly two turns told one after the other are."""
DELTA, S, BETA, M, T = 0.5, 0.8, 0.15, 7, 3
"""SYNAPSE's decay, scale, inhibition, number of inhibitors and iterations, as published; see docs/papers.md, section 2."""


def columns(view: View) -> dict[str, Scores]:
    """Columns of the pool as a whole.

    ``centroid`` is the cosine with the centroid of the best eight, ``close centroid`` of the best three, weighted by
    their scores; ``activation`` what spreads to a row; ``said better`` the highest cosine with one of the best that
    scores higher; ``further meaning`` what a row has of the cue's meaning beside one of the best eight.
    """
    count = len(view.rows)
    if not count:
        return dict.fromkeys(
            ("centroid", "close centroid", "activation", "said better", "further meaning"), view.strength
        )
    strength = view.strength
    better = strength[view.leaders][None, :] > strength[:, None]
    return {
        "centroid": _centroid(view, 8),
        "close centroid": _centroid(view, 3),
        "activation": _activation(view),
        "said better": np.max(view.alike * better, axis=1, initial=0).astype(np.float32),
        "further meaning": _further(view, 8),
    }


def _centroid(view: View, k: int) -> Scores:
    """The cosine of each row with the weighted sum of the best k, from the cosines with each of them."""
    leaders = view.leaders[:k]
    weights = view.strength[leaders]
    inner = view.alike[leaders, :k].copy()
    own = np.arange(len(leaders))
    inner[own, own] = 1
    length = float(np.sqrt(max(weights @ inner @ weights, 1e-12)))
    with_self = view.alike[:, :k].copy()
    with_self[leaders, own] = 1
    return (with_self @ weights / length).astype(np.float32)


def _activation(view: View) -> Scores:
    """Activation after three iterations from the best, in parts of the highest; only the leaders send."""
    strength, leaders = view.strength, view.leaders
    ways = np.maximum(0, view.alike - ASSOCIATED)
    at = np.searchsorted(view.rows, view.rows[leaders])
    for beside in (view.graph.previous, view.graph.following):
        other = beside[view.rows[leaders]]
        place = np.minimum(np.searchsorted(view.rows, other), len(view.rows) - 1)
        there = (other >= 0) & (view.rows[place] == other)
        ways[place[there], np.flatnonzero(there)] = np.maximum(ways[place[there], np.flatnonzero(there)], BESIDE)
    ways /= np.maximum(1, ways.sum(axis=0))  # the fan effect
    active = np.zeros(len(view.rows), np.float32)
    active[at[:SENDERS]] = strength[at[:SENDERS]]
    for _ in range(T):
        u = (1 - DELTA) * active + S * (ways @ active[leaders])
        highest = np.sort(u)[-M:]
        active = np.maximum(0, u - BETA / M * np.maximum(0, highest[:, None] - u).sum(axis=0)).astype(np.float32)
    return (active / max(float(active.max(initial=0)), 1e-6)).astype(np.float32)


def _further(view: View, k: int) -> Scores:
    """The highest cosine with what is left of the cue when the part that one of the best k says is taken out."""
    meaning = view.direct.meaning[view.rows]
    leaders = view.leaders[:k]
    said = meaning[leaders]
    left = (meaning[:, None] - view.alike[:, :k] * said) / np.sqrt(np.maximum(1 - said**2, 1e-3))
    left[leaders, np.arange(len(leaders))] = 0
    return np.max(left * view.strength[leaders], axis=1, initial=0).astype(np.float32)
