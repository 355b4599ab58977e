"""Features of what the best candidates state: who did what to whom, about whom, and whether it is stated as a fact."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...language.argument_roles import role_agreement
from ...language.factuality import asks_for_facts, factuality
from ...language.roles import Role, has_first_person
from ...language.statement_subject import name_coverage, subject_agreement
from ...model import Mask, Query, Rows, Scores
from ...ports import Passage
from .feature_matrix import Genre

ROLE_AGREEMENT, SUBJECT_AGREEMENT, MISSING_NAMES = "role agreement", "subject agreement", "missing names"
NOT_A_FACT, FORMER_STATE = "not a fact", "former state"
STATEMENT_FEATURES = (ROLE_AGREEMENT, SUBJECT_AGREEMENT, MISSING_NAMES, NOT_A_FACT, FORMER_STATE)
"""The features of candidates whose text was read; 0 for all others."""


def statement_features(query: Query, passages: Sequence[Passage], genres: Rows, preference: float) -> dict[str, Scores]:
    """The features of ``n`` candidates of some genres, each of shape ``(n,)``; all but the first are of statements.

    What is said in a conversation or a long text hangs on what was said before, and its words tell less of it.

    ``role agreement`` is 1 if who does what to whom is as in the question, -1 if it is reversed; it counts if it is
    reversed in one. ``subject agreement`` is 1 if a candidate is about the person whom the question asks about, -1 if
    it is about others; it counts if one is about others. ``missing names`` is the part of the question's names that a
    candidate does not mention, if another one mentions one. ``not a fact`` is 1 for what is asked, supposed, advised
    or reported, unless the question may ask for that. ``former state`` is ``preference`` for a state that is over: 1 if
    the newest of several answers is meant, -1 if an older one.
    """
    question = query.search_text
    roles = [query_role_agreement(query, one.text, one.speaker) for one in passages]
    subjects = [subject_agreement(query.text, one.text, one.speaker) for one in passages]
    covered = [name_coverage(question, one.text, one.speaker) for one in passages]
    meant = [factuality(one.text) for one in passages]
    wants_facts = asks_for_facts(query.text)
    features = {
        ROLE_AGREEMENT: roles if min(roles, default=0) < 0 else np.zeros(len(roles)),
        SUBJECT_AGREEMENT: subjects if min(subjects, default=0) < 0 else np.zeros(len(subjects)),
        MISSING_NAMES: 1 - np.array(covered) if any(covered) else np.zeros(len(covered)),
        NOT_A_FACT: [wants_facts and not one.is_fact for one in meant],
        FORMER_STATE: preference * np.array([one.is_former for one in meant]),
    }
    found = {name: np.array(values, np.float32) for name, values in features.items()}
    is_statement = genres == Genre.STATEMENT
    return {name: values if name == ROLE_AGREEMENT else values * is_statement for name, values in found.items()}


def query_role_agreement(query: Query, text: str, speaker: str | None) -> float:
    """Whether the names of a question have the same parts in a text; "I" in the question is who says nearly all."""
    question = query.reading_text
    is_user = speaker is not None and speaker == query.main_speaker and has_first_person(question)
    return role_agreement(question, text, Role.USER if is_user else speaker)


def may_answer(features: Mapping[str, Scores]) -> Mask:
    """Which candidates state, as a fact of now, something of the person whom a question asks about."""
    return (
        (features[ROLE_AGREEMENT] >= 0)
        & (features[SUBJECT_AGREEMENT] >= 0)
        & (features[NOT_A_FACT] == 0)
        & (features[FORMER_STATE] <= 0)
    )
