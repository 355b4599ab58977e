"""The measures of answers, compared with values computed by hand from the scripts published with the sets."""

import pytest

from ecphora_bench.answers.answer_scores import (
    NO_ANSWER,
    AnswerScore,
    exact_match,
    hotpotqa_f1,
    locomo_score,
    score_answer,
    squad_f1,
)


@pytest.mark.parametrize(
    ("prediction", "gold", "expected"),
    [
        ("two dogs", "two dogs", 1),
        # she adopt two dog cat against two cat dog: 3 of 5 and 3 of 3
        ("She adopted two dogs and a cat.", "two cats, dogs", 2 * (3 / 5) / (3 / 5 + 1)),
        ("He was adopting.", "adoption", 0.5),  # he wa adopt against adopt: 1 of 3 and 1 of 1
        ("7 May, 2023", "7 may 2023", 1),  # commas and case do not count
        ("the lake and the hill", "lake hill", 1),  # nor do articles and and
        ("hill, hill, hill", "hill hill lake", 2 / 3),  # 2 of 3 and 2 of 3
        ("in 2021", "2022", 0),
        ("", "2022", 0),
        ("a, the", "the", 0),  # nothing is left of either
        ("twenty-one", "twenty one", 0),  # the hyphen goes and joins
    ],
)
def test_locomo_f1_of_single_answers(prediction: str, gold: str, expected: float) -> None:
    for category in ("temporal", "single-hop"):
        assert locomo_score(category, prediction, gold) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("prediction", "gold", "expected"),
    [
        ("pottery, camping", "camping, pottery", 1),
        ("camping, painting", "pottery, camping, swimming", 1 / 3),
        # no comma: pottery 0, camping 1 of 2 and 1 of 1, swimming 0
        ("camping painting", "pottery, camping, swimming", (2 / 3) / 3),
        ("running", "runs", 1),
        ("red boats, blue boats", "red boat, green boat", (1 + 1 / 2) / 2),
        ("", "red, green", 0),
    ],
)
def test_locomo_f1_of_answers_with_several_parts(prediction: str, gold: str, expected: float) -> None:
    assert locomo_score("multi-hop", prediction, gold) == pytest.approx(expected)


def test_open_domain_answer_ends_at_a_semicolon() -> None:
    assert locomo_score("open-domain", "Likely no", "Likely no; she has other plans") == 1
    assert locomo_score("single-hop", "Likely no", "Likely no; she has other plans") == 0.5  # 2 of 2 and 2 of 6


@pytest.mark.parametrize(
    ("prediction", "expected"),
    [
        ("No information available", 1),
        ("That is NOT MENTIONED in the conversation.", 1),
        ("I do not know.", 0),
        ("No", 0),
        ("", 0),
    ],
)
def test_adversarial_question_needs_a_refusal(prediction: str, expected: float) -> None:
    assert locomo_score("adversarial", prediction, "No") == expected


@pytest.mark.parametrize(
    ("prediction", "gold", "exact", "squad", "hotpotqa"),
    [
        ("The Eiffel Tower!", "eiffel  tower", 1, 1, 1),
        # old tower of london against tower of london: 3 of 4 and 3 of 3
        ("the old Tower of London", "Tower of London", 0, 6 / 7, 6 / 7),
        ("salt and pepper", "salt pepper", 0, 2 * 2 / 5, 2 * 2 / 5),  # "and" counts in these measures
        ("adopted", "adopting", 0, 0, 0),  # words are not stemmed
        ("yes", "Yes.", 1, 1, 1),
        ("yes it is", "yes", 0, 0.5, 0),  # all or nothing
        ("no", "no man's land", 0, 0.5, 0),
        ("", "", 1, 1, 0),
        ("", "Paris", 0, 0, 0),
        ("the", "a", 1, 1, 0),
    ],
)
def test_exact_match_and_f1_equal_worked_examples(
    prediction: str, gold: str, exact: float, squad: float, hotpotqa: float
) -> None:
    assert exact_match(prediction, gold) == exact
    assert squad_f1(prediction, gold) == pytest.approx(squad)
    assert hotpotqa_f1(prediction, gold) == pytest.approx(hotpotqa)


def score(
    set_: str, category: str, prediction: str, *answers: str, answered: bool = True, answerable: bool = True
) -> AnswerScore | None:
    return score_answer(set_, category, prediction, answered=answered, is_answerable=answerable, gold_answers=answers)


def test_dataset_selects_the_measure() -> None:
    assert score("locomo", "multi-hop", "tea, milk", "tea, rum") == AnswerScore(0.5)
    assert score("realtalk", "temporal", "adopted", "adopting") == AnswerScore(1.0)
    assert score("hotpotqa", "bridge", "yes it is", "yes") == AnswerScore(0.0, 0.0)
    assert score("2wikimultihopqa", "comparison", "no", "No") == AnswerScore(1.0, 1.0)
    assert score("musique", "2hop", "yes it is", "yes") == AnswerScore(0.5, 0.0)


def test_best_of_several_gold_answers_counts() -> None:
    assert score("musique", "2hop", "Porto", "Lisbon", "the city of Porto", "Porto") == AnswerScore(1.0, 1.0)
    assert score("hotpotqa", "bridge", "Porto city", "Lisbon", "Porto") == AnswerScore(2 / 3, 0.0)


def test_unanswered_is_correct_for_unanswerable_questions() -> None:
    assert score("timeqa", "x", "", answered=False, answerable=False) == AnswerScore(1.0, 1.0)
    assert score("timeqa", "x", "Porto", answerable=False) == AnswerScore(0.0, 0.0)
    assert score("timeqa", "x", NO_ANSWER, "No", answered=False) == AnswerScore(0.0, 0.0)  # an empty answer, not "no …"
    assert score("locomo", "adversarial", NO_ANSWER, answered=False, answerable=False) == AnswerScore(1.0)
    assert score("locomo", "adversarial", "Porto", "No") == AnswerScore(0.0)
    assert score("locomo", "temporal", NO_ANSWER, "2022", answered=False) == AnswerScore(0.0)


def test_score_without_gold_is_none() -> None:
    assert score("memorybank", "x", "Porto") is None
    assert score("locomo", "temporal", "Porto") is None
