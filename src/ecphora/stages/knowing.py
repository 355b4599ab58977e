"""Knowing: the probability that a memory holds the answer, from what came back for a question. SYNAPSE's gate, learned.

Not from one raw score: from how far the best stand out, how much of the question they cover, and whether they fit the
person and the time asked about. The hard case is the same event told of somebody else: then the best memory of the
person meant falls behind that of the others, with the person left out of both scores.
"""

from dataclasses import dataclass

import numpy as np

from ..model import Scores
from ..reprs import ShortRepr
from .ranker import Weighed
from .seed import K1
from .sheet import SPOKEN, Sheet

BEST = 5
"""How many of the best memories are asked."""
TENTH = 10
"""The place that the best is compared with."""
PERSON = ("speaker", "other speaker", "one of them")
"""The columns by which a person counts."""
SIGNS = (
    "odds of the best", "odds together", "ahead of the tenth", "meaning", "words", "covered by the best",
    "covered around one", "covered together", "held around one", "unknown words", "words asked", "person",
    "right person", "date asked", "date met", "unknown name", "looked at",
)  # fmt: skip
"""What :func:`signs` tells, in its order."""


@dataclass(frozen=True, slots=True, repr=False)
class Knowing(ShortRepr):
    """Logistic regressions over :data:`SIGNS`, for talk and for texts; a memory of both is between them.

    A question of which half of all askers would get an answer is the even start: ``bias`` is set so that 0.5 means that
    it is as likely there as not.
    """

    talk: tuple[float, ...]
    talk_bias: float
    text: tuple[float, ...]
    text_bias: float

    def probability(self, sheet: Sheet, weighed: Weighed) -> float:
        """The probability that the memory holds the answer, in 0..1; 0 where nothing came back."""
        if not (weighed.scores > 0).any():
            return 0.0
        found = signs(sheet, weighed)
        told = float((sheet.sorts == SPOKEN).mean())
        odds = told * (self.talk_bias + found @ np.array(self.talk))
        odds += (1 - told) * (self.text_bias + found @ np.array(self.text))
        return float(1 / (1 + np.exp(-np.clip(odds, -30, 30))))


def signs(sheet: Sheet, weighed: Weighed) -> Scores:
    """What tells whether the answer is there, an entry for each of :data:`SIGNS`; the pool is not empty."""
    odds, covering = weighed.odds, sheet.covering
    order = np.argsort(-odds, kind="stable")
    best, first = order[:BEST], order[:1]
    tenth = odds[order[min(TENTH, len(order)) - 1]]
    most = max(float(covering.weights.sum()), 1e-6)
    return np.array(
        [
            odds[first[0]],
            np.log(np.sum(1 / (1 + np.exp(-odds.astype(np.float64)))) + 1e-4),
            odds[first[0]] - tenth,
            sheet.meaning[best].max(),
            sheet.words[best].max() / (most * (K1 + 1)),
            covering.part(covering.own[first])[0],
            covering.part(covering.around[best]).max(),
            covering.part(np.logical_or.reduce(covering.own[best], axis=0, keepdims=True))[0],
            np.log1p((covering.own | covering.around)[best] @ covering.weights).max(),
            covering.weights[~covering.known].sum() / most,
            len(covering.weights),
            *_person(sheet, weighed),
            sheet.dated,
            sheet.columns["date"][best].max(),
            sheet.strange,
            np.log1p(len(sheet)),
        ],
        np.float32,
    )


def _person(sheet: Sheet, weighed: Weighed) -> tuple[float, float]:
    """Whether one person is meant, and how far their best memory is ahead of the best of the others, person apart."""
    theirs, others = sheet.columns["speaker"] > 0, sheet.columns["other speaker"] > 0
    if not (theirs.any() or others.any()):
        return 0.0, 0.0
    without = weighed.odds - np.sum([weighed.shares[name] for name in PERSON if name in weighed.shares], axis=0)
    least = float(without.min())
    return 1.0, float(without[theirs].max(initial=least) - without[others].max(initial=least))
