"""Training examples for ``fused`` from labeled sets, and scores of the trained weights.

Examples are made from full spaces and from small parts of them, which stand for new memories. A part can answer the
questions whose evidence is in it and cannot answer those whose evidence is elsewhere in the space, so all sets give
unanswerable questions, and the weights also fit memories of a few turns.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from ...strategies.baselines import Dense
from ...strategies.fused.feature_matrix import Genre
from . import metrics
from .datasets import Case, Question
from .embedding_cache import CachingEmbedder
from .fused_training import FusedExample, FusedModel, make_example, train
from .query_spaces import QuerySpace, build_query_space
from .temporary_memory import LearningMemory, MemoryOpener, Tick

PART_SIZES = (4, 16, 64)
"""Episodes of the parts of a space."""
QUESTIONS_PER_SIZE = 150
"""The approximate number of answerable, and of unanswerable, questions of a set for parts of one size."""
FOLDS = 5
"""The number of folds of spaces, or of questions if a set has fewer than three spaces."""


@dataclass(frozen=True, slots=True)
class RankingScore:
    """The metrics of weights on the full spaces of a set; ``auroc`` is None if there are no unanswerable questions."""

    questions: int
    recall_at_5: float
    recall_at_10: float
    recall_all_at_5: float
    auroc: float | None


# ---- examples


def dataset_examples(
    open_memory: MemoryOpener[LearningMemory],
    name: str,
    cases: Sequence[Case],
    embedder: CachingEmbedder,
    *,
    tick: Tick = lambda _steps: None,
) -> list[FusedExample]:
    """The examples of a set: one for each question of its full spaces in their order, then the examples of small parts.

    ``open_memory`` opens the temporary memories that hold the spaces.
    """
    found = [
        example
        for case in cases
        for example in space_examples(name, build_query_space(open_memory, case, Dense(), embedder, tick=tick))
    ]
    for size in PART_SIZES:
        for part in _thin(list(space_parts(cases, size)), QUESTIONS_PER_SIZE):
            space = build_query_space(open_memory, part, Dense(), embedder)
            found += space_examples(f"{name} in parts of {size}", space, is_full_space=False)
    return found


def space_examples(name: str, space: QuerySpace, *, is_full_space: bool = True) -> Iterator[FusedExample]:
    """The examples of a space, one for each question."""
    for index, (question, query) in enumerate(zip(space.case.questions, space.queries, strict=True)):
        yield make_example(
            query,
            space.graph,
            dataset=name,
            space=space.case.space,
            question_id=question.id,
            document_numbers=space.document_numbers,
            gold=space.gold_documents(index).tolist(),
            is_answerable=question.is_answerable,
            is_full_space=is_full_space,
        )


def space_parts(cases: Sequence[Case], size: int) -> Iterator[Case]:
    """Parts of ``size`` episodes that contain all evidence of a question, with as many unanswerable questions.

    A part has the name of its space, so that all examples of a space are in one fold.
    """
    for case in cases:
        positions = {episode.id: index for index, episode in enumerate(case.episodes)}
        questions_by_part: defaultdict[int, list[Question]] = defaultdict(list)
        for question in case.questions:
            question_parts = {positions[id_] // size for id_ in question.gold}
            if question.is_answerable and len(question_parts) == 1:
                questions_by_part[question_parts.pop()].append(question)
        all_questions = [question for part_questions in questions_by_part.values() for question in part_questions]
        for number, (part, questions) in enumerate(sorted(questions_by_part.items())):
            episodes = case.episodes[part * size : (part + 1) * size]
            start = number * 7 % len(all_questions)  # not the questions of the next part, which has the same topic
            others = [other for other in (*all_questions[start:], *all_questions[:start]) if other not in questions]
            unanswerable = [
                replace(other, gold=frozenset(), is_answerable=False) for other in islice(others, len(questions))
            ]
            yield Case(case.space, tuple(episodes), (*questions, *unanswerable))


def _thin(parts: Sequence[Case], question_count: int) -> list[Case]:
    """Parts spread evenly, with about ``question_count`` answerable questions in total."""
    total = sum(len(part.questions) // 2 for part in parts)
    return list(parts[:: max(1, round(total / question_count))])


# ---- figures


ExampleResult = tuple[FusedExample, tuple[int, ...], float]
"""An example, its ranked documents, and the probability that it is answerable."""


def rank_examples(examples: Sequence[FusedExample], weights: FusedModel) -> list[ExampleResult]:
    """The results of weights on the examples of full spaces."""
    found = []
    for example in examples:
        if example.is_full_space and len(example.matrix):
            ranking = weights.ranker.score(example.matrix)
            order = np.argsort(-ranking.scores, kind="stable")
            documents = example.document_numbers[order[ranking.scores[order] > 0]]
            ranked = tuple(dict.fromkeys(documents.tolist()))
            found.append((example, ranked, weights.answerability.probability(example.matrix, ranking)))
    return found


def cross_validate(
    examples: Sequence[FusedExample], train_fold: Callable[[list[FusedExample]], FusedModel]
) -> list[ExampleResult]:
    """The results on the examples of full spaces, by fold, with weights trained on the other folds."""
    folds = assign_folds(examples)
    found = []
    for fold in sorted(set(folds)):
        weights = train_fold(
            [example for example, fold_of_example in zip(examples, folds, strict=True) if fold_of_example != fold]
        )
        found += rank_examples(
            [example for example, fold_of_example in zip(examples, folds, strict=True) if fold_of_example == fold],
            weights,
        )
    return found


def assign_folds(examples: Sequence[FusedExample]) -> list[int]:
    """The fold of each example, by its space, or by its question if there are fewer than three spaces."""
    keys = [example.space for example in examples]
    if len(set(keys)) < 3:
        keys = [f"{example.space} {example.question_id}" for example in examples]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return [numbers[key] % FOLDS for key in keys]


def score_results(results: Sequence[ExampleResult]) -> RankingScore:
    """The metrics of some results."""
    gold = [(tuple(map(str, ranked)), frozenset(map(str, example.gold))) for example, ranked, _ in results
            if example.is_answerable and example.gold]  # fmt: skip
    answerable = np.array([probability for example, _, probability in results if example.is_answerable])
    unanswerable = np.array([probability for example, _, probability in results if example.is_answerable is False])
    return RankingScore(
        questions=len(results),
        recall_at_5=float(np.mean([metrics.recall_at_k(ranked, gold_documents, 5) for ranked, gold_documents in gold])),
        recall_at_10=float(
            np.mean([metrics.recall_at_k(ranked, gold_documents, 10) for ranked, gold_documents in gold])
        ),
        recall_all_at_5=float(
            np.mean([metrics.recall_all_at_k(ranked, gold_documents, 5) for ranked, gold_documents in gold])
        ),
        auroc=metrics.auroc(answerable, unanswerable) if len(answerable) and len(unanswerable) else None,
    )


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """The metrics of one training set: on the training data, cross-validated, and with the set held out.

    ``held_out`` is None if no other set has memories of its main genre.
    """

    training: RankingScore
    cross_validation: RankingScore
    held_out: RankingScore | None


def evaluate_training(
    examples_by_dataset: dict[str, list[FusedExample]],
    prior: FusedModel,
    weights: FusedModel,
    genre: Genre | None = None,
) -> Iterator[tuple[str, TrainingReport]]:
    """The metrics of training, set by set; slow, as it trains again for each fold and each set.

    Examples of other sets with the same spaces are left out of the training for a set. With a genre, only the weights
    for it are trained, as in :func:`train`.
    """
    for name, own_examples in examples_by_dataset.items():
        spaces = {example.space for example in own_examples}
        others = [example for group in examples_by_dataset.values() for example in group if example.space not in spaces]
        yield (
            name,
            TrainingReport(
                training=score_results(rank_examples(own_examples, weights)),
                cross_validation=score_results(
                    cross_validate(own_examples, lambda group, rest=others: train([*rest, *group], prior, genre=genre))  # type: ignore[misc]
                ),
                held_out=score_results(rank_examples(own_examples, train(others, prior, genre=genre)))
                if _main_genre(own_examples) in map(_genre_of, others)
                else None,
            ),
        )


def _main_genre(examples: Sequence[FusedExample]) -> int:
    """The genre of most memories of some examples."""
    return int(np.bincount([_genre_of(example) for example in examples]).argmax())


def _genre_of(example: FusedExample) -> int:
    return int(np.bincount(example.matrix.genres, minlength=1).argmax())
