"""``fused``: every signal of the five models as a column, weighed by a small trained ranker. The default.

A score is what speaks for a memory, in log-odds, as shares that add up to it; see :mod:`ecphora.stages.ranker`. What
the weights were trained on, and what they reach there and elsewhere, stands in ``weights/fused.json`` and
docs/evidence.md.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import compress

import numpy as np

from .. import weights
from ..graph import Graph
from ..model import Cue, Mask, Scores
from ..ports import Activation, Trail
from ..stages import times
from ..stages.knowing import Knowing
from ..stages.ranker import Ranker, Weighed
from ..stages.sheet import sheet
from ..stages.touch import View, look

USEFUL = "useful before"
"""The share of what feedback taught."""


@dataclass(frozen=True, slots=True)
class Fused:
    """``ranker`` weighs columns, ``knowing`` tells how sure it is; by default those that come with the package.

    ``useful`` is what a memory gains that answered the same question before, less for one less like it.
    ``outdated`` is the part of its score that a memory loses when it no longer holds at the time asked about.
    """

    ranker: Ranker = field(default_factory=lambda: weights.fused()[0])
    knowing: Knowing = field(default_factory=lambda: weights.fused()[1])
    useful: float = 3.0
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
        shares = _whole(graph, view, weighed)
        scores = graph.zeros()
        scores[view.rows] = np.maximum(0, weighed.scores)
        trails = _trails(view, shares)
        if len(view.useful.rows):
            shares[USEFUL], trails[USEFUL] = self._useful(view, scores)
            scores += shares[USEFUL]
        # What no longer holds points to what holds instead, and steps back behind it.
        old = times.outdated(graph, cue)
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

    def _useful(self, view: View, scores: Scores) -> tuple[Scores, Trail]:
        """What active memories gain that answered a question like this one, and that question as the way to them."""
        share, by = view.graph.zeros(), np.full(len(view.graph), -1, np.intp)
        known = view.useful
        share[known.rows] = self.useful * known.values * (scores[known.rows] > 0)
        by[known.rows] = known.by
        return share, Trail(by, np.full(len(by), -1, np.intp), one=True)


def _whole(graph: Graph, view: View, weighed: Weighed) -> dict[str, Scores]:
    """Shares of the pool as shares of all rows, 0 where nothing speaks for a row; those of 0 alone are left out."""
    pool = np.stack(list(weighed.shares.values())) * (weighed.scores > 0)
    told: Mask = np.logical_or.reduce(pool, axis=1)
    whole = np.zeros((int(told.sum()), len(graph)), np.float32)
    whole[:, view.rows] = pool[told]
    return dict(zip(compress(weighed.shares, told), whole, strict=True))


def _trails(view: View, stages: Collection[str]) -> dict[str, Trail]:
    """By which memories and names the columns came that lead from one memory to another, as far as they are shares."""
    graph = view.graph
    ways = {"link": view.about, "shared names": view.sharing, "met names": view.met, "met again": view.again}
    beside = {"answers": graph.previous, "after": graph.following}
    no_name = np.broadcast_to(np.intp(-1), len(graph))
    led = {stage: way.trail(graph) for stage, way in ways.items() if stage in stages}
    return led | {stage: Trail(by, no_name, one=True) for stage, by in beside.items() if stage in stages}
