"""Features of the turns next to a memory and of its session, after SynapticRAG's temporal association."""

import numpy as np

from ....model.types import Rows, Scores
from .. import session_features
from ..candidate_pool import CandidatePool


def compute(pool: CandidatePool) -> dict[str, Scores]:
    """Features of the turns around each row, by their first-stage scores.

    ``adjacent turn`` is the better of the two turns next to it, ``next turn`` the one after it, ``two turns away`` the
    better of the turns two away. ``follows question`` is the score of the turn before it if that asks a question.
    ``session score`` is the mean of the best three turns of its session, divided by the mean of the best session.
    """
    graph, rows, scores = pool.graph, pool.rows, pool.first_stage.combined
    previous, following = graph.previous_rows[rows], graph.next_rows[rows]
    before, after = _scores_at(scores, previous), _scores_at(scores, following)
    is_question = _scores_at(graph.nodes["is_question"], previous)
    two_away = np.maximum(
        _scores_at(scores, _neighbors_of(graph.previous_rows, previous)),
        _scores_at(scores, _neighbors_of(graph.next_rows, following)),
    )
    sessions = session_features.session_scores(graph, scores)
    return {
        "adjacent turn": np.maximum(before, after),
        "next turn": after,
        "two turns away": two_away,
        "follows question": before * is_question,
        "session score": sessions[graph.nodes["sessions"][rows]] / max(float(sessions.max()), 1e-6),
    }


def _scores_at(scores: Scores, rows: Rows) -> Scores:
    found: Scores = np.where(rows >= 0, scores[rows], 0).astype(np.float32)
    return found


def _neighbors_of(neighbors: Rows, rows: Rows) -> Rows:
    return np.where(rows >= 0, neighbors[rows], -1)
