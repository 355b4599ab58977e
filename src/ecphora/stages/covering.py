"""Which words of a cue some rows hold, themselves and together with what is told around them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import Graph
from ..model import Mask, Rows, Scores
from .seed import Postings

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


def covering(postings: Postings, rows: Rows) -> Covering:
    """Look up which words some rows hold, and those told around them."""
    graph = postings.graph
    near = around(graph, rows)
    place = np.full(len(graph) + 1, -1, np.intp)  # its last stands for no row
    place[near.ravel()] = np.arange(near.size)
    place[-1] = near.size
    at = place[postings.rows]
    here = at >= 0
    holds = np.zeros((near.size + 1, len(postings.weights)), np.bool_)
    holds[at[here], postings.which[here]] = True
    held = holds[place[near]]
    return Covering(postings.weights, postings.known, held[0], np.logical_or.reduce(held, axis=0))


def around(graph: Graph, rows: Rows) -> Rows:
    """Each row, those told before it, then those after it, nearest first; -1 for none.

    Its shape is ``(1 + 2 * AROUND, len(rows))``.
    """
    near = [rows]
    for beside in (graph.previous, graph.following):
        step = rows
        for _ in range(AROUND):
            step = np.where(step >= 0, beside[step], -1)
            near.append(step)
    return np.stack(near)
