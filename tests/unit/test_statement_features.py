"""Features of what candidates state, and which of them may answer."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from ecphora.model.ports import Passage
from ecphora.model.types import Query, Scores
from ecphora.strategies.fused.feature_matrix import (
    FORMER_STATE,
    MISSING_NAMES,
    NOT_A_FACT,
    ROLE_AGREEMENT,
    STATEMENT_FEATURES,
    SUBJECT_AGREEMENT,
    Genre,
    may_answer,
    statement_features,
)
from ecphora.testing import sample_query


def features_of(question: str | Query, *texts: str | Passage, preference: float = 1.0) -> dict[str, list[float]]:
    passages = [Passage(one) if isinstance(one, str) else one for one in texts]
    query = sample_query(question) if isinstance(question, str) else question
    found = statement_features(query, passages, np.full(len(passages), Genre.STATEMENT), preference)
    assert tuple(found) == STATEMENT_FEATURES
    assert all(one.shape == (len(texts),) and one.dtype == np.float32 for one in found.values())
    return {name: values.tolist() for name, values in found.items()}


def test_no_candidates_have_no_features() -> None:
    assert features_of("Where do I live?") == {name: [] for name in STATEMENT_FEATURES}
    assert may_answer(statement_features(sample_query("Where do I live?"), [], np.zeros(0, np.intp), 1.0)).shape == (0,)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("Jonas lent Mira the drill.", "It rained."), [0, 0]),
        (("Jonas lent Mira the drill.", "Mira lent Jonas the drill."), [1, -1]),
        (("It rained.", "Mira gave Jonas the drill."), [0, -0.5]),
    ],
)
def test_roles_count_if_one_is_reversed(texts: Sequence[str], expected: list[float]) -> None:
    assert features_of("Who lent Mira the drill?", *texts)[ROLE_AGREEMENT] == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("I live in Ghent.", "It rained."), [0, 0]),
        (("I live in Ghent.", "My brother lives in Ulm."), [1, -1]),
        (("It rained.", "My brother lives in Ulm."), [0, -1]),
    ],
)
def test_subjects_count_if_one_is_about_others(texts: Sequence[str], expected: list[float]) -> None:
    assert features_of("Where do I live?", *texts)[SUBJECT_AGREEMENT] == expected


def test_i_in_a_candidate_is_its_speaker() -> None:
    own, other = Passage("I live in Ghent.", speaker="Ana"), Passage("I live in Ulm.", speaker="Leo")
    found = features_of("Where does Ana live?", own, other)
    assert found[SUBJECT_AGREEMENT] == [1, -1]
    assert found[MISSING_NAMES] == [0, 1]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("It rained.", "It snowed."), [0, 0]),  # names tell nothing apart
        (("Ana met Leo in Ghent.", "Ana moved to Ghent.", "It rained."), [0, 0.5, 1]),
    ],
)
def test_missing_names_count_if_one_has_any(texts: Sequence[str], expected: list[float]) -> None:
    assert features_of("Where did Ana meet Leo?", *texts)[MISSING_NAMES] == expected


def test_names_for_relations_count_as_names() -> None:
    """``search_text`` has the name of "my sister"; the person asked about is that of the question as it was asked."""
    query = replace(sample_query("Where does my sister live?"), named_text="Where does Ida live?")
    assert features_of(query, "Ida lives in Ulm.", "Leo lives in Bonn.")[MISSING_NAMES] == [0, 1]
    assert features_of(query, "My sister lives in Ulm.", "My brother lives in Bonn.")[SUBJECT_AGREEMENT] == [1, -1]


FACT, FORMER = "I live in Ghent.", "I used to live in Ulm."
NOT_FACTS = ("I wish I lived in Rome.", "You should consider moving to Rome.", "They say that Rome is the best place.")


def test_text_that_is_supposed_advised_or_reported_is_no_fact() -> None:
    assert features_of("Where do I live?", FACT, *NOT_FACTS, FORMER)[NOT_A_FACT] == [0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    "question", ["What did you suggest to me?", "Where would I like to live?", "What do people say?"]
)
def test_question_may_ask_for_more_than_facts(question: str) -> None:
    assert features_of(question, FACT, *NOT_FACTS)[NOT_A_FACT] == [0, 0, 0, 0]


@pytest.mark.parametrize("preference", [1.0, 0.4, 0.0, -0.6, -1.0])
def test_former_state_is_the_preference_for_the_newest(preference: float) -> None:
    found = features_of("Where do I live?", FACT, FORMER, preference=preference)[FORMER_STATE]
    assert found == pytest.approx([0, preference])


def may_answer_with(
    role: float = 0.0, subject: float = 0.0, names: float = 0.0, fact: float = 0.0, former: float = 0.0
) -> bool:
    values = (role, subject, names, fact, former)
    features: dict[str, Scores] = {
        name: np.array([value], np.float32) for name, value in zip(STATEMENT_FEATURES, values, strict=True)
    }
    found = may_answer(features)
    assert found.shape == (1,)
    return bool(found[0])


def test_only_a_fact_of_now_about_the_person_asked_about_may_answer() -> None:
    assert may_answer_with()
    assert may_answer_with(role=1, subject=1)
    assert may_answer_with(names=1)
    assert may_answer_with(former=-1)  # an older state is asked for
    assert not may_answer_with(role=-0.5)
    assert not may_answer_with(subject=-0.2)
    assert not may_answer_with(fact=1)
    assert not may_answer_with(former=0.3)
    assert not may_answer_with(role=-1, subject=1)
    assert not may_answer_with(role=1, subject=-1)


def test_conversations_and_long_turns_have_agreements_of_roles_alone() -> None:
    query = sample_query("Whom did Mira invite? I would like to know where I live.")
    passages = [Passage("Mira invited Jonas."), Passage("Jonas invited Mira."), Passage("Ojalá viviera en Kiel.")]
    for genre in (Genre.UTTERANCE, Genre.PASSAGE, Genre.LONG_TURN):
        found = statement_features(query, passages, np.full(3, genre), 1.0)
        assert found[ROLE_AGREEMENT].tolist() == [1, -1, 0]
        assert not any(found[name].any() for name in STATEMENT_FEATURES if name != ROLE_AGREEMENT)
