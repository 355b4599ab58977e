"""Lessons for ``fused`` from labelled sets, and how well what was learned does.

Lessons come of whole spaces, and of small parts of them. A small part is a memory that has just begun. A question whose
evidence lies in it can be answered from it, one whose evidence lies elsewhere in the space cannot: so every set tells
what it is like not to know, and a memory of five turns is no stranger to what was learned.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from ..learn.ranking import Lesson, Trained, lesson, train
from ..strategies.baselines import Dense
from . import metrics
from .cache import Cached
from .datasets import Case, Question
from .run import Tick
from .spaces import Space, space

PARTS = (4, 16, 64)
"""How many episodes the parts of a space have."""
ASKED = 150
"""Questions asked of parts of one size, of a whole set: about so many that can be answered, so many that cannot."""
FOLDS = 5
"""Into how many folds spaces are dealt, or questions where a set has fewer than three spaces."""


@dataclass(frozen=True, slots=True)
class Score:
    """How well weights do on the whole spaces of a set; ``auroc`` is None where every question can be answered."""

    questions: int
    fraction5: float
    fraction10: float
    all5: float
    auroc: float | None


# ---- lessons


def lessons(name: str, cases: Sequence[Case], embedder: Cached, tick: Tick = lambda _steps: None) -> list[Lesson]:
    """The lessons of a set: of its whole spaces, one a question in their order, then of small parts."""
    found = [one for case in cases for one in of_space(name, space(case, Dense(), embedder, tick))]
    for size in PARTS:
        for part in _spread(list(parts(cases, size)), ASKED):
            found += of_space(f"{name} in parts of {size}", space(part, Dense(), embedder), whole=False)
    return found


def of_space(name: str, asked: Space, *, whole: bool = True) -> Iterator[Lesson]:
    """The lessons of a space, one a question."""
    for place, (question, cue) in enumerate(zip(asked.case.questions, asked.cues, strict=True)):
        yield lesson(
            cue,
            asked.graph,
            set_=name,
            space=asked.case.space,
            question=question.id,
            documents=asked.documents,
            gold=asked.gold(place).tolist(),
            answerable=question.answerable,
            whole=whole,
        )


def parts(cases: Sequence[Case], size: int) -> Iterator[Case]:
    """Every part of so many episodes that holds all evidence of a question, and as many questions it cannot answer.

    A part keeps the name of its space, so that what is learned from a space can be left out of its own test.
    """
    for case in cases:
        places = {episode.id: place for place, episode in enumerate(case.episodes)}
        answered: defaultdict[int, list[Question]] = defaultdict(list)
        for question in case.questions:
            where = {places[id_] // size for id_ in question.evidence}
            if question.answerable and len(where) == 1:
                answered[where.pop()].append(question)
        strangers = [question for some in answered.values() for question in some]
        for number, (part, questions) in enumerate(sorted(answered.items())):
            episodes = case.episodes[part * size : (part + 1) * size]
            start = number * 7 % len(strangers)  # not those of the next part: they would be of one matter
            others = [one for one in (*strangers[start:], *strangers[:start]) if one not in questions]
            lacking = [replace(one, evidence=frozenset(), answerable=False) for one in islice(others, len(questions))]
            yield Case(case.space, tuple(episodes), (*questions, *lacking))


def _spread(found: Sequence[Case], asked: int) -> list[Case]:
    """Parts spread evenly, with about so many answerable questions together."""
    whole = sum(len(part.questions) // 2 for part in found)
    return list(found[:: max(1, round(whole / asked))])


# ---- figures


Answer = tuple[Lesson, tuple[int, ...], float]
"""A lesson, the documents that came back for it, best first, and the probability that the answer is there."""


def answered(asked: Sequence[Lesson], weights: Trained) -> list[Answer]:
    """What weights make of the whole lessons."""
    found = []
    for one in asked:
        if one.whole and len(one.sheet):
            weighed = weights.ranker.weigh(one.sheet)
            order = np.argsort(-weighed.scores, kind="stable")
            documents = one.documents[order[weighed.scores[order] > 0]]
            ranked = tuple(dict.fromkeys(documents.tolist()))
            found.append((one, ranked, weights.knowing.probability(one.sheet, weighed)))
    return found


def crossed(asked: Sequence[Lesson], teach: Callable[[list[Lesson]], Trained]) -> list[Answer]:
    """What weights make of the whole lessons, for each fold those that were taught without it."""
    folds = folded(asked)
    found = []
    for fold in sorted(set(folds)):
        weights = teach([one for one, of in zip(asked, folds, strict=True) if of != fold])
        found += answered([one for one, of in zip(asked, folds, strict=True) if of == fold], weights)
    return found


def folded(asked: Sequence[Lesson]) -> list[int]:
    """The fold of each lesson: that of its space, or where there are fewer than three, that of its question."""
    keys = [one.space for one in asked]
    if len(set(keys)) < 3:
        keys = [f"{one.space} {one.question}" for one in asked]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return [numbers[key] % FOLDS for key in keys]


def scored(found: Sequence[Answer]) -> Score:
    """How good some answers are."""
    gold = [(tuple(map(str, ranked)), frozenset(map(str, one.gold))) for one, ranked, _ in found
            if one.answerable and one.gold]  # fmt: skip
    there = np.array([probability for one, _, probability in found if one.answerable])
    lacking = np.array([probability for one, _, probability in found if one.answerable is False])
    return Score(
        questions=len(found),
        fraction5=float(np.mean([metrics.fraction(ranked, wanted, 5) for ranked, wanted in gold])),
        fraction10=float(np.mean([metrics.fraction(ranked, wanted, 10) for ranked, wanted in gold])),
        all5=float(np.mean([metrics.all_(ranked, wanted, 5) for ranked, wanted in gold])),
        auroc=metrics.auroc(there, lacking) if len(there) and len(lacking) else None,
    )


@dataclass(frozen=True, slots=True)
class Report:
    """What training reached on one of its sets: seen, crosswise within all, and with the whole set left out.

    Where no other set holds memories of its sort, nothing is left that could be judged.
    """

    seen: Score
    crossed: Score
    left_out: Score | None


def report(taught: dict[str, list[Lesson]], prior: Trained, weights: Trained) -> Iterator[tuple[str, Report]]:
    """Measure what training reached, set by set; slow, as it trains anew for each fold and each set.

    A set is never judged by what was learned from another that asks of the same spaces.
    """
    for name, own in taught.items():
        spaces = {one.space for one in own}
        others = [one for some in taught.values() for one in some if one.space not in spaces]
        yield (
            name,
            Report(
                seen=scored(answered(own, weights)),
                crossed=scored(crossed(own, lambda some, rest=others: train([*rest, *some], prior))),  # type: ignore[misc]
                left_out=scored(answered(own, train(others, prior))) if _sort(own) in map(_sort_of, others) else None,
            ),
        )


def _sort(asked: Sequence[Lesson]) -> int:
    """The sort that most memories of some lessons are of."""
    return int(np.bincount([_sort_of(one) for one in asked]).argmax())


def _sort_of(one: Lesson) -> int:
    return int(np.bincount(one.sheet.sorts, minlength=1).argmax())
