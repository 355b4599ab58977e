"""``fused``: every signal of the five models as a column, weighed by a small trained ranker. The default.

A score is what speaks for a memory, in log-odds, as shares that add up to it; see :mod:`ecphora.stages.ranker`. What
the weights were trained on, and what they reach there and elsewhere, stands in ``weights/fused.json`` and
docs/evidence.md.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np

from .. import weights
from ..graph import Graph, seconds
from ..model import Cue, Mask, Scores
from ..ports import Activation, Trail
from ..reprs import ShortRepr
from ..stages import choose, experience, promotion, times
from ..stages.fading import Fading, archived, faintness, protected
from ..stages.knowing import Knowing
from ..stages.ranker import Ranker, Weighed
from ..stages.sheet import sheet
from ..stages.touch import View, look

USEFUL = "useful before"
"""The share of what feedback taught."""
TOGETHER = "used together"
"""The share of what was of use together with a memory that comes back."""
FADING, ARCHIVED = "fading", "archived"
"""The shares that take from a memory what it lost by age, and what sets it behind those that are not archived."""
BEHIND = 0.999
"""How far behind the last memory the first archived one stands, in parts of its score."""


@dataclass(frozen=True, slots=True, repr=False)
class Fused(ShortRepr):
    """``ranker`` weighs columns, ``knowing`` tells how sure it is; by default those that come with the package.

    ``useful`` is what a memory gains that answered the same question before, less for one less like it.
    ``outdated`` is the part of its score that a memory loses when it no longer holds at the time asked about.
    ``together`` is the part of its score that one of the best lends to what was of use together with it.
    ``faint`` is the part of its score that a memory loses once all of its importance has faded; without ``fading`` it
    loses none. What is archived comes after all else, and what is protected loses nothing by either.
    """

    ranker: Ranker = field(default_factory=lambda: weights.fused()[0])
    knowing: Knowing = field(default_factory=lambda: weights.fused()[1])
    useful: float = 3.0
    outdated: float = 0.5
    together: float = 0.3
    fading: Fading | None = None
    faint: float = 0.1
    name: str = "fused"

    def unaided(self) -> "Fused":
        """The same without what feedback taught: to see what a memory would bring back by itself."""
        return replace(self, useful=0.0, together=0.0)

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
        gained, trail = self._company(view, scores)
        if gained.any():
            shares[TOGETHER], trails[TOGETHER] = gained, trail
            scores = scores + gained
        if self.fading is not None:
            lost = scores * faintness(graph, self.fading, seconds(cue.as_of or cue.now))
            shares[FADING] = (-self.faint * lost).astype(np.float32)
            scores = scores + shares[FADING]
        # What no longer holds points to what holds instead, and steps back behind it.
        old = times.outdated(graph, cue)
        if old.any():
            shares["successor"], trails["successor"] = times.succeeded(graph, scores, old)
            scores = scores + shares["successor"] * view.allowed
            shares["outdated"] = (-self.outdated * scores * old).astype(np.float32)
            scores = scores + shares["outdated"]
        gained, trail = promotion.led(graph, cue, scores, view.allowed)
        if gained.any():
            shares["standing"], trails["standing"] = gained, trail
            scores = scores + gained
        back = _archived(graph, scores, view.allowed)
        if back.any():
            lowered = _behind(scores, back, view.allowed)
            shares[ARCHIVED], scores = lowered - scores, lowered
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

    def _company(self, view: View, scores: Scores) -> tuple[Scores, Trail]:
        """What may come back gains from the best memories with which it was of use together, and these as the way."""
        share, by = view.graph.zeros(), np.full(len(view.graph), -1, np.intp)
        if self.together:
            best = choose.best(scores, view.allowed, experience.COMPANIONS)
            found = experience.together(view.graph, best, scores[best])
            share[found.rows] = self.together * found.values * view.allowed[found.rows]
            by[found.rows] = found.by
        return share, Trail(by, np.full(len(by), -1, np.intp), one=True)


def _archived(graph: Graph, scores: Scores, allowed: Mask) -> Mask:
    """The active rows that are archived, and not protected."""
    return archived(graph) & ~protected(graph) & allowed & (scores > 0)


def _behind(scores: Scores, back: Mask, allowed: Mask) -> Scores:
    """Scores in which some active rows stand behind all others, in their order among each other."""
    front = allowed & (scores > 0) & ~back
    first, last = scores[back].max(), scores[front].min(initial=np.inf)
    lowered = scores.copy()
    if last <= first:
        lowered[back] *= BEHIND * float(last) / float(first)
    return lowered


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
