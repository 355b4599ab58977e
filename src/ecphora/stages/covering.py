"""Which words of a cue some rows hold, themselves and together with what is told around them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import Graph
from ..model import Cue, Mask, Rows, Scores
from . import seed

AROUND = 3
"""How many turns before and after a row count as told around it."""


@dataclass(frozen=True, slots=True)
class Covering:
    """The distinct words of a cue against some rows.

    ``weights`` is the idf of each word, ``known`` says whether any memory holds it. ``own`` and ``around`` say which
    row holds it, itself or among the turns around it; both have shape ``(rows, words)``.
    """

    weights: NDArray[np.float64]
    known: Mask
    own: NDArray[np.bool_]
    around: NDArray[np.bool_]

    def part(self, held: NDArray[np.bool_]) -> Scores:
        """The part of the cue that is held, in 0..1, rare words counting more; one number for each row of ``held``."""
        found: Scores = (held @ self.weights / max(float(self.weights.sum()), 1e-6)).astype(np.float32)
        return found

    def rarest(self) -> Scores:
        """The weight of the rarest word that each row holds itself, in parts of the rarest of all."""
        highest = max(float(self.weights.max(initial=0)), 1e-6)
        return np.max(self.own * (self.weights / highest), axis=1, initial=0).astype(np.float32)


def covering(graph: Graph, cue: Cue, rows: Rows) -> Covering:
    """Look up the cue's words in some rows and in those told around them."""
    asked = np.unique(cue.words)
    places, which = graph.postings(asked)
    counts = np.bincount(which, minlength=len(asked))
    near = _around(graph, rows)
    wanted = np.unique(near[near >= 0])
    told = graph.words["rows"][places]
    at = np.searchsorted(wanted, told)
    here = at < len(wanted)
    here[here] = wanted[at[here]] == told[here]
    holds = np.zeros((len(wanted) + 1, len(asked)), np.bool_)  # its last stands for no row
    holds[at[here], which[here]] = True
    index = np.where(near >= 0, np.searchsorted(wanted, near), len(wanted))
    around = holds[index].any(axis=1)
    return Covering(seed.idf(graph, counts).astype(np.float64), counts > 0, holds[index[:, 0]], around)


def _around(graph: Graph, rows: Rows) -> Rows:
    """Each row and those told around it, -1 for none; shape ``(len(rows), 1 + 2 * AROUND)``."""
    near = [rows]
    for beside in (graph.previous, graph.following):
        step = rows
        for _ in range(AROUND):
            step = np.where(step >= 0, beside[step], -1)
            near.append(step)
    return np.stack(near, axis=1)
