"""Time and number asked against time and number told: EISA's chronology as far as a question speaks of it."""

import numpy as np

from ...language import asked
from ...model import Scores
from .. import times
from ..touch import View


def columns(view: View) -> dict[str, Scores]:
    """Columns of time.

    ``date`` marks what happened in, or speaks of, a time the cue names; ``date alone`` the same, the less the more rows
    do. ``when`` marks what speaks of a time where the cue asks when, ``number`` what holds a number where it asks how
    many. ``latest`` is how late a row was told, in 0..1, where the cue asks how things stand now.
    """
    graph, rows, text = view.graph, view.rows, view.cue.text
    found = {name: np.zeros(len(rows), np.float32) for name in ("date", "date alone", "when", "number", "latest")}
    if view.cue.when:
        then = times.told_then(graph, view.cue)
        found["date"] = then[rows]
        found["date alone"] = (then[rows] / max(1.0, float(then[graph.episodes].sum())) ** 0.5).astype(np.float32)
    if asked.when(text):
        found["when"] = times.dated(graph, rows).astype(np.float32)
    if asked.how_many(text):
        places, _ = graph.postings(asked.numbers())
        found["number"] = np.isin(rows, graph.words["rows"][places]).astype(np.float32)
    if asked.now(text):
        happened = graph.nodes["happened"]
        first, last = happened[graph.episodes].min(), happened[graph.episodes].max()
        found["latest"] = ((happened[rows] - first) / max(1.0, last - first)).astype(np.float32)
    return found
