"""The words of the cue by their meaning: a memory may say in other words what one of them says, "pets" for "my dog"."""

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph
from ...model import Cue, Rows, Scores
from ..touch import View, above
from .direct import OUT

SAMPLE = 512
"""Of how many vectors, spread evenly, mean and deviation are taken."""
HELD = 4.0
"""What a word counts that is held as it is; one that is not counts the deviations that its meaning stands out by."""


def columns(view: View) -> dict[str, Scores]:
    """Columns of the words of the cue, rare ones counting more.

    ``like words`` is what a row has of those that it does not hold, ``likest word`` the most of one, ``least word``
    the least of any, and ``words met`` what it holds, or it or a turn beside it has.
    """
    graph, rows, covering = view.graph, view.rows, view.covering
    vectors = view.cue.terms
    if vectors is None or not len(vectors) or not len(rows):
        return dict.fromkeys(("like words", "likest word", "least word", "words met"), np.zeros(len(rows), np.float32))
    asked = np.flatnonzero(vectors.any(axis=1))
    if not len(asked):  # in a script without spaces, or too many: there are only the words as they are
        asked = np.arange(len(vectors))
    groups = (rows, graph.previous[rows], graph.following[rows])
    own, before, after = standing_out(graph, view.cue, vectors[asked], groups)
    weights = covering.weights[asked]
    weights = weights / max(1e-6, float(weights.sum()))
    held = covering.own[:, asked]
    lacking = weights * np.where(held, 0, own)
    standing = np.where(held, HELD, own)
    found = {
        "like words": lacking.sum(axis=1),
        "likest word": lacking.max(axis=1),
        "least word": standing.min(axis=1),
        "words met": np.max([standing, before, after], axis=0) @ weights,
    }
    return {name: values.astype(np.float32) for name, values in found.items()}


def standing_out(graph: Graph, cue: Cue, asked: NDArray[np.float32], groups: tuple[Rows, ...]) -> list[Scores]:
    """How far the rows of each group stand out in likeness to the vectors asked, shape ``(rows, len(asked))``.

    A row is -1 for none; one without a vector has 0.
    """
    stored, places = graph.vectors.view, graph.vector_places
    known, of = np.unique(np.concatenate(groups), return_inverse=True)
    there = places[graph.episodes]
    there = there[there >= 0]
    standing = np.zeros((len(known), len(asked)), np.float32)
    if len(there):
        sample = above(np.vecdot(stored[there[:: max(1, len(there) // SAMPLE)]][:, None], asked), cue.floor)
        has = (known >= 0) & (places[known] >= 0)
        like = above(np.vecdot(stored[places[known[has]]][:, None], asked), cue.floor)
        out = (like - sample.mean(axis=0)) / np.maximum(sample.std(axis=0), 1e-6)
        standing[has] = cue.meaning * np.clip(out, 0, OUT)
    return np.split(standing[of], np.cumsum([len(group) for group in groups])[:-1])
