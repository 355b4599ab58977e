"""What the baselines of SynapticRAG's paper keep of each memory: when it was last recalled, how often, and MyAgent's g.

Replayed from the access log, as the neurons are: every ``STIMULATED`` access is a recall. Time is in turns.
"""

from dataclasses import dataclass

import numpy as np

from ...model.graph.graph import Graph
from ...model.graph.grouping import rank_in_group
from ...model.types import AccessKind, Floats, Rows
from .turn_clock import Turns, access_turns, current_turn


@dataclass(frozen=True, slots=True)
class RetentionState:
    """The recalls of every row, one entry a row, before a query at turn ``now``.

    ``last`` is the turn of its last recall, at first the turn of its encoding, ``recalls`` their number, and ``g`` the
    decay constant that MyAgent consolidates at every recall, 1 at first.
    """

    now: int
    last: Turns
    recalls: Turns
    g: Floats

    def turns_since(self, rows: Rows) -> Floats:
        """Turns since the last recall of some rows."""
        since: Floats = (self.now - self.last[rows]).astype(np.float64)
        return since


def consolidate(g: Floats, t: Floats) -> Floats:
    """g_n = g_(n-1) + (1 - e^-t) / (1 + e^-t) (papers.md 1.6); the fraction is tanh(t / 2)."""
    consolidated: Floats = g + np.tanh(t / 2)
    return consolidated


def retention_state(graph: Graph, *, t_scale: float = 1.0) -> RetentionState:
    """The state of every row of a graph; ``t_scale`` multiplies the turns between the recalls that ``g`` counts."""
    return graph.derive(
        ("retention state", t_scale), lambda grown, _before: _replay(grown, t_scale), depends_on_log=True
    )


def _replay(graph: Graph, t_scale: float) -> RetentionState:
    n, accesses, turns = len(graph), graph.accesses, access_turns(graph, 0)
    last, recalls, g = np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n)
    rows = accesses["rows"].astype(np.intp)
    is_encoding = graph.has_access_kind(AccessKind.ENCODED) & (accesses["seq"] == graph.nodes["seq"][rows])
    last[rows[is_encoding]] = turns[is_encoding]
    events = np.flatnonzero(graph.has_access_kind(AccessKind.STIMULATED) & graph.episodes[rows])
    nth = _nth_of_row(rows[events])
    for round_ in range(int(nth.max(initial=-1)) + 1):
        chosen = events[nth == round_]
        row = rows[chosen]
        g[row] = consolidate(g[row], t_scale * (turns[chosen] - last[row]))
        last[row] = turns[chosen]
        recalls[row] += 1
    return RetentionState(current_turn(graph), last, recalls, g)


def _nth_of_row(rows: Rows) -> Rows:
    """For each event, how many earlier events its row has."""
    order = np.argsort(rows, kind="stable")
    nth = np.empty(len(rows), np.intp)
    nth[order] = rank_in_group(rows[order])
    return nth
