"""Training of ``fused``: what columns and signs are worth, from questions whose evidence is known.

Logistic regression over the rows of the pools. Every weight keeps a sign, so that no share can say the opposite of what
its column means, and is drawn to what was known before: to 0, or to the weights that come with the package.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Cue, Mask, Rows
from ..stages.knowing import SIGNS, Knowing, signs
from ..stages.ranker import Head, Ranker
from ..stages.sheet import SPOKEN, Sheet, sheet
from ..stages.touch import look
from .regression import Numbers, bounded

AGAINST = frozenset({"other speaker", "asks", "said better"})
"""Columns that can only speak against a memory."""
EITHER = frozenset({"names", "dated"})
"""Columns that may speak for or against."""
COUNT = 1000.0
"""How many questions a set counts for, whatever its size."""
RIDGE = 30.0
"""What draws a weight, in standard deviations of its column, to what was known before."""
GATE_RIDGE = 10.0
"""The same for the weights of signs, for a set that counts for :data:`GATE_COUNT` questions."""
GATE_COUNT = 300.0
PART = 0.2
"""What a set of small parts counts, against a set of whole spaces."""
LEAST = 0.004
"""A weight that moves a score by less than this, in standard deviations of its column, is left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """A question with its pool, and what is known of it; ``question`` is its id, the same wherever it is asked.

    ``whole`` is false for a small part of a space, from which only knowing is learned. ``documents`` numbers the
    document of each row of the pool; a text that is stored in pieces is one. ``gold`` are the numbers of those that
    hold the answer, in the pool or not. ``answerable`` is None where that is not known.
    """

    set: str
    space: str
    question: str
    whole: bool
    sheet: Sheet
    documents: Rows
    gold: frozenset[int]
    answerable: bool | None

    @property
    def teaches(self) -> bool:
        """Whether it tells what belongs to the question from what does not."""
        return bool(self.whole and self.answerable is not False and self.gold.intersection(self.documents.tolist()))


def lesson(
    cue: Cue,
    graph: Graph,
    *,
    set_: str,
    space: str,
    question: str,
    documents: Rows,
    gold: Iterable[int],
    answerable: bool | None,
    whole: bool = True,
) -> Lesson:
    """Look at a cue and write down what there is to learn from; ``documents`` has an entry a row of the graph."""
    found = sheet(look(graph, cue))
    return Lesson(set_, space, question, whole, found, documents[found.rows], frozenset(gold), answerable)


@dataclass(frozen=True, slots=True)
class Trained:
    """What training gives: the two parts of ``fused`` that are learned."""

    ranker: Ranker
    knowing: Knowing


_NOTHING = (0.0,) * len(SIGNS)
UNTAUGHT = Trained(Ranker(Head(-8.0, {}), Head(-8.0, {}), Head(-8.0, {})), Knowing(_NOTHING, 0.0, _NOTHING, 0.0))
"""Where training begins that builds on nothing: no column is worth anything."""


def train(lessons: Sequence[Lesson], prior: Trained, *, ridge: float = RIDGE) -> Trained:
    """Train both parts; a part that the lessons say nothing of stays as it was."""
    taught = ranker(lessons, prior.ranker, ridge=ridge)
    return Trained(taught, knowing(lessons, taught, prior.knowing))


# ---- the ranker


def ranker(lessons: Sequence[Lesson], prior: Ranker, *, ridge: float = RIDGE) -> Ranker:
    """Train each head on the rows of its sort."""
    return Ranker(*(_head(lessons, head, ridge, sort) for sort, head in enumerate(prior.heads)))


def _head(lessons: Sequence[Lesson], prior: Head, ridge: float, sort: int) -> Head:
    kept = [(one, *_labelled(one, sort)) for one in lessons if one.teaches]
    kept = [(one, rows, labels) for one, rows, labels in kept if labels.any()]
    if not kept:
        return prior
    names = tuple(kept[0][0].sheet.columns)
    sizes = _sizes(one.set for one, _, _ in kept)
    features = np.concatenate([_features(one.sheet, names)[rows] for one, rows, _ in kept])
    labels = np.concatenate([labels for _, _, labels in kept]).astype(np.float64)
    counts = np.concatenate([np.full(len(labels), COUNT / sizes[one.set]) for one, _, labels in kept])
    scale = np.maximum(features.std(axis=0), 1e-9)
    known = np.array([prior.weights.get(name, 0.0) for name in names])
    weights = bounded(
        np.column_stack([features / scale, np.ones(len(features))]),
        labels,
        counts,
        ridge=np.append(np.full(len(names), ridge), 1e-6),
        sign=np.append([_sign(name) for name in names], 0.0),
        prior=np.append(known * scale, prior.bias),
    )
    told = {
        name: round(float(weight / scale[i]), 4)
        for i, (name, weight) in enumerate(zip(names, weights, strict=False))
        if abs(weight) >= LEAST
    }
    return Head(round(float(weights[-1]), 4), told)


def _labelled(one: Lesson, sort: int) -> tuple[Rows, Mask]:
    """The rows to learn from and which of them belong to the question.

    Of a document that does and is stored in pieces only the piece that the cue touches best is taken: not all of them
    hold the answer, and which of the others do is not known.
    """
    rank = one.sheet.columns["rank"]
    gold = np.isin(one.documents, list(one.gold))
    best = np.zeros(len(rank), np.bool_)
    for document in one.gold.intersection(one.documents.tolist()):
        pieces = np.flatnonzero(one.documents == document)
        best[pieces[np.argmax(rank[pieces])]] = True
    rows = np.flatnonzero((~gold | best) & (one.sheet.sorts == sort))
    return rows, best[rows]


def _features(sheet: Sheet, names: Sequence[str]) -> Numbers:
    return np.stack([sheet.columns[name] for name in names], axis=1).astype(np.float64)


def _sign(name: str) -> float:
    return 0.0 if name in EITHER else -1.0 if name in AGAINST else 1.0


def _sizes(sets: Iterable[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name in sets:
        sizes[name] = sizes.get(name, 0) + 1
    return sizes


# ---- knowing


def knowing(lessons: Sequence[Lesson], ranker: Ranker, prior: Knowing) -> Knowing:
    """Train the gates of talk and of texts on the questions of which it is known whether they have an answer."""
    asked = [one for one in lessons if one.answerable is not None and len(one.sheet)]
    talk, text = _gate(asked, ranker, told=True), _gate(asked, ranker, told=False)
    return Knowing(
        talk=talk[:-1] if talk else prior.talk,
        talk_bias=talk[-1] if talk else prior.talk_bias,
        text=text[:-1] if text else prior.text,
        text_bias=text[-1] if text else prior.text_bias,
    )


def _gate(asked: Sequence[Lesson], ranker: Ranker, *, told: bool) -> tuple[float, ...]:
    """The weights of the signs and the bias behind them; nothing if there is nothing to tell apart.

    Each set counts the same, and in it what can be answered and what cannot count the same.
    """
    some = [one for one in asked if (np.mean(one.sheet.sorts == SPOKEN) >= 0.5) == told]
    both = {one.set for one in some if one.answerable} & {one.set for one in some if not one.answerable}
    some = [one for one in some if one.set in both]
    if not some:
        return ()
    found = np.stack([signs(one.sheet, ranker.weigh(one.sheet)) for one in some]).astype(np.float64)
    labels = np.array([one.answerable for one in some], np.float64)
    sizes = _sizes(f"{one.set} {one.answerable}" for one in some)
    counts = np.array(
        [GATE_COUNT * (1 if one.whole else PART) / 2 / sizes[f"{one.set} {one.answerable}"] for one in some]
    )
    middle, scale = found.mean(axis=0), np.maximum(found.std(axis=0), 1e-9)
    free = np.zeros(len(SIGNS) + 1)
    weights = bounded(
        np.column_stack([(found - middle) / scale, np.ones(len(found))]),
        labels,
        counts,
        ridge=np.append(np.full(len(SIGNS), GATE_RIDGE), 1e-6),
        sign=free,
        prior=free,
    )
    raw = np.where(found.std(axis=0) > 1e-6, weights[:-1] / scale, 0)
    return (*(round(float(weight), 4) for weight in raw), round(float(weights[-1] - raw @ middle), 4))
