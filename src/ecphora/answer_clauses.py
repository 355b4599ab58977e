"""The clauses of what is read for a reason: that a memory answers, of whom, and as the answer that is meant."""

import numpy as np

from .clause import Clause
from .language.statement_subject import subject_agreement
from .ranking import Comparison
from .stages.fused.newer_answers import NEWER_ANSWER, OLDER_ANSWER, SERIES_END, asked_end, time_order
from .stages.fused.reading import ANSWER_FEATURES
from .stages.fused.statement_features import query_role_agreement


def reading_clause(comparison: Comparison) -> Clause | None:
    lead = sum(comparison.contribution_leads.get(name, 0.0) for name in ANSWER_FEATURES)
    return Clause("is likelier to answer, says the reader", is_general=True) if lead > 0 else None


def role_clause(comparison: Comparison) -> Clause | None:
    node = comparison.node
    agreement = query_role_agreement(comparison.ranking.query, node.text, node.speaker)
    return Clause("says who did it and to whom as the question does", is_general=True) if agreement > 0 else None


def subject_clause(comparison: Comparison) -> Clause | None:
    node = comparison.node
    agreement = subject_agreement(comparison.ranking.query.text, node.text, node.speaker)
    return Clause("is about the person asked about", is_general=True) if agreement > 0 else None


def answer_time_clause(comparison: Comparison) -> Clause | None:
    """That it gains from being newer than another answer; or from being older, if a former state is meant."""
    newer, older = (
        comparison.ranking.contributions[name][comparison.index] if name in comparison.ranking.contributions else 0.0
        for name in (NEWER_ANSWER, OLDER_ANSWER)
    )
    if newer > 0:
        return Clause("is newer than another answer", is_general=True)
    return (
        Clause("is older than another answer, and a former state is asked for", is_general=True) if older > 0 else None
    )


def series_clause(comparison: Comparison) -> Clause | None:
    """That it is the latest, or the first, of several answers, if the question asks for that one."""
    ranking, end = comparison.ranking, asked_end(comparison.ranking.query.text)
    others = np.flatnonzero(ranking.contributions[SERIES_END] < 0)
    if not end or not len(others):
        return None
    order = end * time_order(ranking.graph, ranking.order[np.append(others, comparison.index)])
    if order[-1] <= order[:-1].max():
        return None
    return Clause(f"is the {'latest' if end > 0 else 'first'} of several answers")
