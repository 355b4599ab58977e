"""Lessons for ``fused`` from labeled sets, and scores of the trained weights.

Lessons come of whole spaces, and of small parts of them. A small part is a memory that has just begun. A question whose
evidence lies in it can be answered from it, one whose evidence lies elsewhere in the space cannot: so every set tells
what it is like not to know, and a memory of five turns is no stranger to what was learned.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from ...learn.fused_training import FusedExample, FusedModel, make_example, train
from ...strategies.baselines import Dense
from ..datasets import Case, Question
from ..embedding_cache import CachingEmbedder
from ..query_spaces import QuerySpace, build_query_space
from ..recall import metrics
from ..recall.recall_run import Tick

PART_SIZES = (4, 16, 64)
"""Episodes of the parts of a space."""
QUESTIONS_PER_SIZE = 150
"""Questions asked of parts of one size, of a whole set: about so many that can be answered, so many that cannot."""
FOLDS = 5
"""Into how many folds spaces are dealt, or questions where a set has fewer than three spaces."""


@dataclass(frozen=True, slots=True)
class RankingScore:
    """How well weights do on the whole spaces of a set; ``auroc`` is None where every question can be answered."""

    questions: int
    recall_at_5: float
    recall_at_10: float
    recall_all_at_5: float
    auroc: float | None


# ---- lessons


def dataset_lessons(
    name: str, cases: Sequence[Case], embedder: CachingEmbedder, tick: Tick = lambda _steps: None
) -> list[FusedExample]:
    """The lessons of a set: of its whole spaces, one a question in their order, then of small parts."""
    found = [one for case in cases for one in space_lessons(name, build_query_space(case, Dense(), embedder, tick))]
    for size in PART_SIZES:
        for part in _thin(list(space_parts(cases, size)), QUESTIONS_PER_SIZE):
            found += space_lessons(
                f"{name} in parts of {size}", build_query_space(part, Dense(), embedder), is_whole=False
            )
    return found


def space_lessons(name: str, space: QuerySpace, *, is_whole: bool = True) -> Iterator[FusedExample]:
    """The lessons of a space, one a question."""
    for place, (question, query) in enumerate(zip(space.case.questions, space.queries, strict=True)):
        yield make_example(
            query,
            space.graph,
            dataset=name,
            space=space.case.space,
            question_id=question.id,
            document_numbers=space.document_numbers,
            gold=space.gold_documents(place).tolist(),
            is_answerable=question.is_answerable,
            is_full_space=is_whole,
        )


def space_parts(cases: Sequence[Case], size: int) -> Iterator[Case]:
    """Every part of so many episodes that holds all evidence of a question, and as many questions it cannot answer.

    A part keeps the name of its space, so that what is learned from a space can be left out of its own test.
    """
    for case in cases:
        places = {episode.id: place for place, episode in enumerate(case.episodes)}
        questions_by_part: defaultdict[int, list[Question]] = defaultdict(list)
        for question in case.questions:
            question_parts = {places[id_] // size for id_ in question.gold}
            if question.is_answerable and len(question_parts) == 1:
                questions_by_part[question_parts.pop()].append(question)
        all_questions = [question for part_questions in questions_by_part.values() for question in part_questions]
        for number, (part, questions) in enumerate(sorted(questions_by_part.items())):
            episodes = case.episodes[part * size : (part + 1) * size]
            start = number * 7 % len(all_questions)  # not those of the next part, which share its topic
            others = [other for other in (*all_questions[start:], *all_questions[:start]) if other not in questions]
            unanswerable = [
                replace(other, gold=frozenset(), is_answerable=False) for other in islice(others, len(questions))
            ]
            yield Case(case.space, tuple(episodes), (*questions, *unanswerable))


def _thin(parts: Sequence[Case], question_count: int) -> list[Case]:
    """Parts spread evenly, with about ``question_count`` answerable questions in total."""
    whole = sum(len(part.questions) // 2 for part in parts)
    return list(parts[:: max(1, round(whole / question_count))])


# ---- figures


LessonResult = tuple[FusedExample, tuple[int, ...], float]
"""A lesson, the documents that came back for it, best first, and the probability that the answer is there."""


def rank_lessons(lessons: Sequence[FusedExample], weights: FusedModel) -> list[LessonResult]:
    """What weights make of the whole lessons."""
    found = []
    for one in lessons:
        if one.is_full_space and len(one.matrix):
            weighed = weights.ranker.score(one.matrix)
            order = np.argsort(-weighed.scores, kind="stable")
            documents = one.document_numbers[order[weighed.scores[order] > 0]]
            ranked = tuple(dict.fromkeys(documents.tolist()))
            found.append((one, ranked, weights.answerability.probability(one.matrix, weighed)))
    return found


def cross_validate(
    lessons: Sequence[FusedExample], train_fold: Callable[[list[FusedExample]], FusedModel]
) -> list[LessonResult]:
    """What weights make of the whole lessons, for each fold those that were taught without it."""
    folds = assign_folds(lessons)
    found = []
    for fold in sorted(set(folds)):
        weights = train_fold([one for one, of in zip(lessons, folds, strict=True) if of != fold])
        found += rank_lessons([one for one, of in zip(lessons, folds, strict=True) if of == fold], weights)
    return found


def assign_folds(lessons: Sequence[FusedExample]) -> list[int]:
    """The fold of each lesson: that of its space, or where there are fewer than three, that of its question."""
    keys = [one.space for one in lessons]
    if len(set(keys)) < 3:
        keys = [f"{one.space} {one.question_id}" for one in lessons]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return [numbers[key] % FOLDS for key in keys]


def score_results(results: Sequence[LessonResult]) -> RankingScore:
    """The scores of some ranked lessons."""
    gold = [(tuple(map(str, ranked)), frozenset(map(str, one.gold))) for one, ranked, _ in results
            if one.is_answerable and one.gold]  # fmt: skip
    there = np.array([probability for one, _, probability in results if one.is_answerable])
    lacking = np.array([probability for one, _, probability in results if one.is_answerable is False])
    return RankingScore(
        questions=len(results),
        recall_at_5=float(np.mean([metrics.recall_at_k(ranked, wanted, 5) for ranked, wanted in gold])),
        recall_at_10=float(np.mean([metrics.recall_at_k(ranked, wanted, 10) for ranked, wanted in gold])),
        recall_all_at_5=float(np.mean([metrics.recall_all_at_k(ranked, wanted, 5) for ranked, wanted in gold])),
        auroc=metrics.auroc(there, lacking) if len(there) and len(lacking) else None,
    )


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """What training reached on one of its sets: on the training set, by cross-validation, and with the set held out.

    Where no other set holds memories of its sort, nothing is left that could be judged.
    """

    training: RankingScore
    cross_validation: RankingScore
    held_out: RankingScore | None


def evaluate_training(
    lessons_by_dataset: dict[str, list[FusedExample]], prior: FusedModel, weights: FusedModel
) -> Iterator[tuple[str, TrainingReport]]:
    """Measure what training reached, set by set; slow, as it trains anew for each fold and each set.

    A set is never judged by what was learned from another that asks of the same spaces.
    """
    for name, own in lessons_by_dataset.items():
        spaces = {one.space for one in own}
        others = [one for some in lessons_by_dataset.values() for one in some if one.space not in spaces]
        yield (
            name,
            TrainingReport(
                training=score_results(rank_lessons(own, weights)),
                cross_validation=score_results(
                    cross_validate(own, lambda some, rest=others: train([*rest, *some], prior))  # type: ignore[misc]
                ),
                held_out=score_results(rank_lessons(own, train(others, prior)))
                if _main_genre(own) in map(_genre_of, others)
                else None,
            ),
        )


def _main_genre(lessons: Sequence[FusedExample]) -> int:
    """The sort that most memories of some lessons are of."""
    return int(np.bincount([_genre_of(one) for one in lessons]).argmax())


def _genre_of(one: FusedExample) -> int:
    return int(np.bincount(one.matrix.genres, minlength=1).argmax())
