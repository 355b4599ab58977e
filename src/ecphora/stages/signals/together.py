"""What the best memories say together: EcphoryRAG's centroid, and SYNAPSE's inhibition by what is said better."""

import numpy as np

from ...model import Scores
from ..touch import View

CLOSE, LEADING = 3, 8
"""How many of the best make the centroid, and how many may have said a part of what is asked."""


def columns(view: View) -> dict[str, Scores]:
    """Columns of the pool as a whole.

    ``close centroid`` is the cosine with the centroid of the best three, weighted by their scores; ``said better`` the
    highest cosine with one of the best that scores higher; ``further meaning`` what a row has of the cue's meaning
    beside one of the best eight.
    """
    if not len(view.rows):
        return dict.fromkeys(("close centroid", "said better", "further meaning"), view.strength)
    strength = view.strength
    better = strength[view.leaders][None, :] > strength[:, None]
    return {
        "close centroid": _centroid(view, CLOSE),
        "said better": np.max(view.alike * better, axis=1, initial=0).astype(np.float32),
        "further meaning": _further(view, LEADING),
    }


def _centroid(view: View, k: int) -> Scores:
    """The cosine of each row with the weighted sum of the best k, from the cosines with each of them."""
    leaders = view.leaders[:k]
    weights = view.strength[leaders]
    inner = view.alike[leaders, :k].copy()
    own = np.arange(len(leaders))
    inner[own, own] = 1
    length = float(np.sqrt(max(float(weights @ inner @ weights), 1e-12)))
    with_self = view.alike[:, :k].copy()
    with_self[leaders, own] = 1
    return (with_self @ weights / length).astype(np.float32)


def _further(view: View, k: int) -> Scores:
    """The highest cosine with what is left of the cue when the part that one of the best k says is taken out."""
    meaning = view.direct.meaning.scores[view.rows]
    leaders = view.leaders[:k]
    said = meaning[leaders]
    left = (meaning[:, None] - view.alike[:, :k] * said) / np.sqrt(np.maximum(1 - said**2, 1e-3))
    left[leaders, np.arange(len(leaders))] = 0
    return np.max(left * view.strength[leaders], axis=1, initial=0).astype(np.float32)
