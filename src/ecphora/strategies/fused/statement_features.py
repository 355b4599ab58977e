"""Features of what the best candidates state: who did what to whom, about whom, and whether it is stated as a fact."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...language.statements.factuality import asks_for_facts, asks_for_stay, factuality, is_stay
from ...language.statements.subject import name_coverage, subject_agreement
from ...model.ports import Passage
from ...model.types import Mask, Query, Rows, Scores
from ...retrieval.speakers import query_role_agreement
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
    covered = np.array([name_coverage(question, one.text, one.speaker) for one in passages])
    statements = np.flatnonzero(genres == Genre.STATEMENT).tolist()
    subjects, supposed, former = np.zeros((3, len(passages)), np.float32)
    wants_facts = asks_for_facts(query.text)
    for place in statements:  # the analysis of a text takes a tenth of a millisecond
        text, meant = passages[place].text, factuality(passages[place].text)
        subjects[place] = subject_agreement(query.text, text, passages[place].speaker)
        supposed[place], former[place] = wants_facts and not meant.is_fact, preference * meant.is_former
    missing = np.where(genres == Genre.STATEMENT, 1 - covered, 0) if covered.any() else np.zeros(len(passages))
    return {
        ROLE_AGREEMENT: np.array(roles if min(roles, default=0) < 0 else np.zeros(len(roles)), np.float32),
        SUBJECT_AGREEMENT: subjects if subjects.min(initial=0) < 0 else np.zeros(len(subjects), np.float32),
        MISSING_NAMES: missing.astype(np.float32),
        NOT_A_FACT: supposed,
        FORMER_STATE: former,
    }


def stay_mask(query: Query, passages: Sequence[Passage]) -> Mask:
    """Which candidates tell where somebody is for a while; none if a question may ask for that."""
    if asks_for_stay(query.text):
        return np.zeros(len(passages), np.bool_)
    return np.array([is_stay(one.text) for one in passages], np.bool_)


def may_answer(features: Mapping[str, Scores]) -> Mask:
    """Which candidates state, as a fact of now, something of the person whom a question asks about."""
    return (
        (features[ROLE_AGREEMENT] >= 0)
        & (features[SUBJECT_AGREEMENT] >= 0)
        & (features[NOT_A_FACT] == 0)
        & (features[FORMER_STATE] <= 0)
    )
