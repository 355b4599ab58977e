"""The turns next to a stimulated memory are stimulated too: our addition to SynapticRAG (papers.md 1.11.3).

The published time constant, 119 turns and more, does not distinguish the turns of one dialogue; this constant does.
"""
# ruff: noqa: N803, N806  # the paper's symbols

from dataclasses import dataclass

import numpy as np

from ...model.graph.graph import Graph
from ...model.types import Floats, Mask, Rows
from ...retrieval import dense
from .propagation import keep_strongest
from .temporal_association import temporal_score


@dataclass(frozen=True, slots=True)
class AdjacentStimuli:
    """The strongest stimulus of each row from a nearby turn, and the row that sent it, -1 for none."""

    S: Floats
    parent: Rows

    @classmethod
    def empty(cls, graph: Graph) -> "AdjacentStimuli":
        """No stimuli."""
        return cls(np.zeros(len(graph)), graph.no_rows())


def adjacent_stimuli(
    graph: Graph, rows: Rows, S: Floats, is_open: Mask, *, scale: float, tau: float, floor: float = 0.0
) -> AdjacentStimuli:
    """The strongest stimulus that some stimulated memories pass to memories of nearby turns: S_p cos T ``scale``.

    Here T = 2 σ(exp(-|A - B| / tau)) - 1 of the turns A and B of two memories; published T is never below 1/2, its
    value for unrelated spike trains. Beyond 5 ``tau`` turns nothing passes, and nothing to rows not under ``is_open``.
    Cosines count from ``floor``.
    """
    episodes = np.flatnonzero(graph.episodes)
    offsets = np.arange(-int(5 * tau), int(5 * tau) + 1)
    turns = np.searchsorted(episodes, rows)[:, None] + offsets
    p, step = np.nonzero((turns >= 0) & (turns < len(episodes)) & (offsets != 0))
    adjacent = episodes[turns[p, step]]
    p, step, adjacent = (column[graph.vector_positions[adjacent] >= 0] for column in (p, step, adjacent))
    vectors, positions = graph.vectors, graph.vector_positions
    cosines = np.vecdot(vectors.rows(positions[rows[p]]), vectors.rows(positions[adjacent]))
    cos = dense.above_floor(cosines, floor).astype(np.float64)
    T = 2 * temporal_score(np.exp(-np.abs(offsets[step]) / tau)) - 1
    best, senders = np.zeros(len(graph)), graph.no_rows()
    keep_strongest(best, senders, adjacent, S[p] * np.maximum(cos, 0) * T * scale, p)
    parent = graph.no_rows()
    parent[senders >= 0] = rows[senders[senders >= 0]]
    return AdjacentStimuli(best * is_open, parent)
