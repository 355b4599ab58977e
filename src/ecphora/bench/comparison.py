"""Variants of a model compared over the same questions: every resample draws the same, so differences are of pairs.

Beside the part of the gold evidence among the first k documents there are

- refusals: the part of the questions whose evidence band is NONE, false ones of answerable questions and right ones of
  unanswerable questions;
- SynapticRAG's equal recall count (ERC): K is how many documents fired, every rival returns its first K, and the hits
  of all questions are divided by all their gold; ERC-MG gives rivals at least as many as there is gold;
- SYNAPSE's low-similarity stress test: fraction@30 where all gold is farther from the question than a cosine of 0.3,
  and how much less that is than over all answerable questions, in parts of these;
- SYNAPSE's gate: the largest threshold of confidence below which less than 2.5 % of the answerable questions lie, and
  the part of the unanswerable ones below it. It is chosen on the questions it is measured on, as published.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..model import Evidence, Mask
from ..stages import gate
from . import metrics
from .ablations import BASELINES, DENSE, rivals
from .figures import ALL, ANSWERABLE, UNANSWERABLE, Difference, Figure, Metric
from .metrics import Numbers
from .variants import Model, Special, Variant

CUTS = (5, 10, 30)
"""The cuts of a ranking."""
LOW = 0.3
"""The cosine below which gold evidence has little to do with its question."""
LOST = 0.025
"""The part of answerable questions that a gate may refuse, and does not reach."""
FEW = 10
"""Questions of low similarity that a set must have for the stress test."""
LOW_SIMILARITY = "low similarity"
MULTI_HOP = "multi-hop"
"""Categories of figures, as ``answerable`` and ``all`` are."""


@dataclass(frozen=True, slots=True)
class Replies:
    """What a strategy made of all questions of a set, in their order; the columns are aligned."""

    places: tuple[tuple[float, ...], ...]
    confidence: Numbers
    fired: Numbers
    caught: Numbers

    def hits(self, counts: Numbers) -> Numbers:
        """How much gold is among the first so many documents of each question."""
        pairs = zip(self.places, counts.tolist(), strict=True)
        return np.array([sum(place <= count for place in places) for places, count in pairs], np.float64)


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a set, as columns: which are answerable, how much gold each has, and which lie far from it.

    ``several`` are those of the category multi-hop, as some sets call what needs several pieces of evidence.
    """

    answerable: Mask
    gold: Numbers
    far: Mask
    several: Mask

    @property
    def ranked(self) -> Mask:
        """The questions that have a ranking: answerable, with evidence."""
        return self.answerable & (self.gold > 0)


@dataclass(frozen=True, slots=True)
class Measured:
    """A value over some questions and what it is in every resample of them."""

    value: float
    samples: Numbers
    n: int


Place = tuple[Metric, int | None, str]
"""What is measured, at which cut, of which category of questions."""


def compared(name: str, model: Model, replies: Mapping[Variant, Replies], asked: Asked) -> Iterator[Figure]:
    """The figures of a model's table, each with its difference to the base: the whole model, if nothing else."""
    others = rivals(model)
    found: dict[Variant, dict[Place, Measured]] = {}
    for way in (*model.ways, *others, *BASELINES):
        if way not in replies:
            continue
        found[way] = {} if way in others else dict(_usual(replies[way], asked))
        for special in sorted(model.specials):
            found[way].update(_SPECIAL[special](way, model, replies, asked))
        base = way.base or model.full
        for (metric, k, category), one in found[way].items():
            low, high = metrics.middle(one.samples)
            whole = None if way is base else found[base].get((metric, k, category))
            against = None if whole is None else _difference(base, one, whole)
            yield Figure(
                *(name, way.label, category, metric, k, one.n, one.value, low, high), model=model.name, against=against
            )


def _difference(base: Variant, one: Measured, whole: Measured) -> Difference:
    return Difference(base.label, one.value - whole.value, *metrics.middle(one.samples - whole.samples))


def _usual(replies: Replies, asked: Asked) -> Iterator[tuple[Place, Measured]]:
    """Fractions of the gold, AUROC and refusals."""
    for k in CUTS if asked.ranked.any() else ():
        yield (Metric.FRACTION, k, ANSWERABLE), _mean(_fractions(replies, asked, k)[asked.ranked])
    if asked.ranked.any():
        yield (Metric.ALL, CUTS[0], ANSWERABLE), _mean(1.0 * (_fractions(replies, asked, CUTS[0]) == 1)[asked.ranked])
    if (several := asked.ranked & asked.several).any():
        yield (Metric.FRACTION, CUTS[1], MULTI_HOP), _mean(_fractions(replies, asked, CUTS[1])[several])
    none = np.array([gate.band(value) is Evidence.NONE for value in replies.confidence], np.float64)
    for metric, category, mask in (
        (Metric.FALSE_REFUSAL, ANSWERABLE, asked.answerable),
        (Metric.RIGHT_REFUSAL, UNANSWERABLE, ~asked.answerable),
    ):
        if mask.any():
            yield (metric, None, category), _mean(none[mask])
    positives, negatives = replies.confidence[asked.answerable], replies.confidence[~asked.answerable]
    if len(positives) and len(negatives):
        area = metrics.auroc(positives, negatives)
        yield (Metric.AUROC, None, ALL), Measured(area, metrics.areas(positives, negatives), len(asked.answerable))


def _fractions(replies: Replies, asked: Asked, k: int) -> Numbers:
    counts = np.full(len(asked.gold), k, np.float64)
    return np.divide(replies.hits(counts), asked.gold, out=np.zeros(len(counts)), where=asked.gold > 0)


def _mean(values: Numbers) -> Measured:
    return Measured(float(values.mean()), metrics.resampled(values), len(values))


def _ratio(over: Numbers, under: Numbers) -> Measured:
    whole = float(under.sum())
    return Measured(float(over.sum()) / whole if whole else 0.0, metrics.ratios(over, under), len(over))


def _equal_count(
    way: Variant, model: Model, replies: Mapping[Variant, Replies], asked: Asked
) -> Iterator[tuple[Place, Measured]]:
    """SynapticRAG's ERC: the model and its variants by what fired in them, all others by as many as fired in the model.

    The gain is over as many documents of ``dense`` as fired.
    """
    ours, here = replies[way], asked.ranked
    own = way in model.ways
    fired = (ours if own else replies[model.full]).fired
    if not here.any() or not fired[here].any():
        return
    gold = asked.gold[here]
    hits = (ours.caught if own else ours.hits(fired))[here]
    yield (Metric.ERC, None, ANSWERABLE), _ratio(hits, gold)
    most = hits if own else ours.hits(np.maximum(fired, asked.gold))[here]
    yield (Metric.ERC_MG, None, ANSWERABLE), _ratio(most, gold)
    yield (Metric.PRECISION, None, ANSWERABLE), _ratio(hits, fired[here])
    if own:
        yield (Metric.FIRED, None, ANSWERABLE), _mean(fired[here])
        yield (Metric.ERC_GAIN, None, ANSWERABLE), _ratio(hits - replies[DENSE].hits(fired)[here], gold)


def _low_similarity(
    way: Variant, _model: Model, replies: Mapping[Variant, Replies], asked: Asked
) -> Iterator[tuple[Place, Measured]]:
    """SYNAPSE's stress test: fraction@30 where the gold is far from the question, and what is lost there."""
    here = asked.ranked
    far = asked.far[here].astype(np.float64)
    if far.sum() < FEW:
        return
    found = _fractions(replies[way], asked, CUTS[-1])[here]
    there = Measured(float(found[far > 0].mean()), metrics.ratios(found * far, far), int(far.sum()))
    yield (Metric.FRACTION, CUTS[-1], LOW_SIMILARITY), there
    overall = metrics.resampled(found)
    kept = np.divide(there.samples, overall, out=np.ones_like(overall), where=overall > 0)
    loss = 1 - there.value / float(found.mean()) if found.any() else 0.0
    yield (Metric.LOSS, CUTS[-1], LOW_SIMILARITY), Measured(loss, 1 - kept, there.n)


def _gate(
    way: Variant, _model: Model, replies: Mapping[Variant, Replies], asked: Asked
) -> Iterator[tuple[Place, Measured]]:
    """SYNAPSE's gate where it refuses less than 2.5 % of the answerable questions, and what else it refuses there."""
    confidence = replies[way].confidence
    positives, negatives = confidence[asked.answerable], confidence[~asked.answerable]
    if not len(positives) or not len(negatives):
        return
    at = float(gate.calibrated(positives, LOST))
    drawn = metrics.resampled(positives, lambda samples: gate.calibrated(samples, LOST))
    yield (Metric.THRESHOLD, None, ANSWERABLE), Measured(at, drawn, len(positives))
    refused = metrics.refused(positives, negatives, LOST)
    yield (Metric.REFUSED, None, UNANSWERABLE), Measured(float((negatives < at).mean()), refused, len(negatives))


_SPECIAL = {
    Special.EQUAL_COUNT: _equal_count,
    Special.LOW_SIMILARITY: _low_similarity,
    Special.GATE: _gate,
}
