"""Lessons for ``fused`` from labelled sets: whole spaces, and small parts of them.

A small part is a memory that has just begun. A question whose evidence lies in it can be answered from it; a question
whose evidence lies elsewhere in the space cannot: so every set tells what it is like not to know, and a memory of five
turns is no stranger to what was learned.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ..learn.ranking import Lesson, lesson
from ..strategies.baselines import Dense
from .ablate import space
from .cache import Cached
from .datasets import Case, Question
from .run import Tick
from .variants import Space

PARTS = (4, 16, 64)
"""How many episodes the parts of a space have."""
ASKED = 150
"""Questions that are asked of parts of one size, of a whole set: so many that can be answered, so many that cannot."""


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """A lesson with the question it came of."""

    lesson: Lesson
    question: Question


def taught(name: str, cases: Sequence[Case], embedder: Cached, tick: Tick = lambda _steps: None) -> list[Taught]:
    """The lessons of a set, one a question, in the order of the cases."""
    return [one for case in cases for one in _lessons(name, case.space, space(case, Dense(), embedder, tick))]


def in_parts(name: str, cases: Sequence[Case], embedder: Cached, tick: Tick = lambda _steps: None) -> list[Taught]:
    """The lessons of small parts of a set's spaces, for each of several sizes; their set is named after the size."""
    found: list[Taught] = []
    for size in PARTS:
        for part in _spread(list(parts(cases, size)), ASKED):
            found += _lessons(
                f"{name} in parts of {size}", part.space, space(part, Dense(), embedder, tick), whole=False
            )
    return found


def parts(cases: Sequence[Case], size: int) -> Iterator[Case]:
    """Every part of so many episodes that holds all evidence of a question, with as many questions that it cannot answer.

    A part keeps the name of its space, so that what is learned from a space can be left out of its own test.
    """
    for case in cases:
        places = {episode.id: place for place, episode in enumerate(case.episodes)}
        answered = defaultdict(list)
        for question in case.questions:
            where = {places[id_] // size for id_ in question.evidence}
            if question.answerable and len(where) == 1:
                answered[where.pop()].append(question)
        strangers = [question for some in answered.values() for question in some]
        for number, (part, questions) in enumerate(sorted(answered.items())):
            episodes = case.episodes[part * size : (part + 1) * size]
            start = number * 7 % len(strangers)  # not those of the next part: they would be of one matter
            others = [one for one in (*strangers[start:], *strangers[:start]) if one not in questions]
            lacking = [
                replace(one, id=f"{one.id} elsewhere", evidence=frozenset(), answerable=False)
                for one in islice(others, len(questions))
            ]
            yield Case(case.space, tuple(episodes), (*questions, *lacking))


def _spread(parts: Sequence[Case], asked: int) -> list[Case]:
    """Parts spread evenly, with about so many answerable questions together."""
    whole = sum(len(part.questions) // 2 for part in parts)
    return list(parts[:: max(1, round(whole / asked))])


def _lessons(name: str, space_: str, found: Space, *, whole: bool = True) -> Iterator[Taught]:
    for place, (question, cue) in enumerate(zip(found.case.questions, found.cues, strict=True)):
        gold = found.gold(place).tolist()
        yield Taught(
            lesson(
                *(name, space_, found.graph, cue, found.documents, gold),
                answerable=question.answerable,
                whole=whole,
            ),
            question,
        )
