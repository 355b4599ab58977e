"""What is written down of a pool once it was looked at: all that ranking and knowing read, without the graph."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Rows, Scores
from . import signals
from .covering import Covering
from .touch import View

SORTS = ("spoken", "noted", "written")
"""The sorts of memories: a turn of a talk, which has a speaker; what was noted at a time; a text of no time."""
SPOKEN, NOTED, WRITTEN = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """A pool: its rows of the graph, their columns by name, and of which sort each is, as a place in :data:`SORTS`.

    ``meaning`` and ``words`` are cosine and BM25 as they are, ``covering`` says which words of the cue are held where.
    ``dated`` says that the cue names a time, ``strange`` that it names what no memory mentions.
    """

    rows: Rows
    columns: Mapping[str, Scores]
    sorts: Rows
    meaning: Scores
    words: Scores
    covering: Covering
    dated: bool
    strange: bool

    def __len__(self) -> int:
        return len(self.rows)


def sheet(view: View) -> Sheet:
    """Write down a view."""
    graph, cue, rows = view.graph, view.cue, view.rows
    return Sheet(
        rows=rows,
        columns=signals.columns(view),
        sorts=_sorts(view.graph, rows),
        meaning=view.direct.meaning.scores[rows],
        words=view.direct.words.scores[rows],
        covering=view.covering,
        dated=bool(cue.when),
        strange=len(graph.rows(cue.entities)) < len(cue.entities),
    )


def _sorts(graph: Graph, rows: Rows) -> Rows:
    nodes = graph.nodes
    noted = nodes["happened"][rows] != nodes["recorded"][rows]  # what came without a time happened when it was written
    return np.where(nodes["speakers"][rows] >= 0, SPOKEN, np.where(noted, NOTED, WRITTEN))
