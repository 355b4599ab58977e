"""What is told beside a memory and in the same session: SynapticRAG's bond of what was told together."""

import numpy as np

from ...model import Rows, Scores
from .. import company
from ..touch import View


def columns(view: View) -> dict[str, Scores]:
    """Columns of the turns beside each row, by their direct scores.

    ``neighbour`` is the better of the two beside it, ``after`` the one told after it, ``two turns away`` the better of
    those beyond. ``answers`` is the score of a turn before it that asks. ``session`` is the mean of the best three
    of its session, in parts of the best session.
    """
    graph, rows, direct = view.graph, view.rows, view.direct.whole
    previous, following = graph.previous[rows], graph.following[rows]
    before, after = _of(direct, previous), _of(direct, following)
    asks = _of(graph.nodes["questions"], previous)
    beyond = np.maximum(
        _of(direct, _of_rows(graph.previous, previous)), _of(direct, _of_rows(graph.following, following))
    )
    sessions = company.sessions(graph, direct)
    return {
        "neighbour": np.maximum(before, after),
        "after": after,
        "two turns away": beyond,
        "answers": before * asks,
        "session": sessions[graph.nodes["sessions"][rows]] / max(float(sessions.max()), 1e-6),
    }


def _of(scores: Scores, rows: Rows) -> Scores:
    found: Scores = np.where(rows >= 0, scores[rows], 0).astype(np.float32)
    return found


def _of_rows(beside: Rows, rows: Rows) -> Rows:
    return np.where(rows >= 0, beside[rows], -1)
