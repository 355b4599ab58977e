"""``fused``: every signal of the five models as a column, weighed by a small trained ranker. The default.

A score is what speaks for a memory, in log-odds, as shares that add up to it; see :mod:`ecphora.stages.ranker`. What the
weights were trained on, and what they reach there and elsewhere, stands in ``weights/fused.json`` and docs/evidence.md.
"""

from dataclasses import dataclass, field

import numpy as np

from .. import weights
from ..graph import Graph
from ..model import Cue, Scores
from ..ports import Activation, Trail
from ..stages import times
from ..stages.knowing import Knowing
from ..stages.ranker import Ranker
from ..stages.sheet import sheet
from ..stages.touch import View, look


@dataclass(frozen=True, slots=True)
class Fused:
    """``ranker`` weighs columns, ``knowing`` tells how sure it is; by default those that come with the package.

    ``outdated`` is the part of its score that a memory loses when it no longer holds at the time asked about.
    """

    ranker: Ranker = field(default_factory=lambda: weights.fused()[0])
    knowing: Knowing = field(default_factory=lambda: weights.fused()[1])
    outdated: float = 0.5
    name: str = "fused"

    def activate(self, cue: Cue, graph: Graph, /) -> Activation:
        """Score the memories of the pool, and what replaced them."""
        if not graph.episodes.any():
            return Activation(graph.zeros())
        view = look(graph, cue)
        if not len(view.rows):
            return Activation(graph.zeros())
        pool = sheet(view)
        weighed = self.ranker.weigh(pool)
        shares = {stage: _whole(graph, view, values) for stage, values in weighed.shares.items() if values.any()}
        scores = _whole(graph, view, np.maximum(0, weighed.scores))
        # What no longer holds points to what holds instead, and steps back behind it.
        old = times.outdated(graph, cue)
        trails = _trails(graph, view)
        if old.any():
            shares["successor"], trails["successor"] = times.succeeded(graph, scores, old)
            scores = scores + shares["successor"] * view.allowed
            shares["outdated"] = (-self.outdated * scores * old).astype(np.float32)
            scores = scores + shares["outdated"]
        return Activation(
            scores=scores,
            shares=shares,
            trails=trails,
            confidence=self.knowing.probability(pool, weighed),
        )


def _whole(graph: Graph, view: View, values: Scores) -> Scores:
    """Numbers of the pool as numbers of all rows, 0 elsewhere."""
    scores = graph.zeros()
    scores[view.rows] = values
    return scores


def _trails(graph: Graph, view: View) -> dict[str, Trail]:
    """By which memories and names the columns came that lead from one memory to another."""
    before, after = graph.previous, graph.following
    return {
        "link": view.about.trail,
        "shared names": view.sharing.trail,
        "met names": view.met.trail,
        "met again": view.again.trail,
        "answers": _along(before),
        "before": _along(before),
        "after": _along(after),
    }


def _along(by: np.ndarray) -> Trail:
    return Trail(by, np.full(len(by), -1, np.intp))
