"""Experience: what was of use for a question like this one. Learned from feedback, at once, and where it belongs alone.

A question with feedback is kept beside the memories that answered it. One that comes close to it in meaning lifts these
memories; any other lifts nothing, so what was learned of one matter cannot harm another. Nothing is trained for it.
"""

from dataclasses import dataclass

import numpy as np

from ..graph import LINKS, Graph
from ..model import Kind, Link, Rows, Scores

NEAR = 0.8
"""The cosine from which a question is like another one; at 1 it is the same."""
_ANSWERED = LINKS.index(Link.ANSWERED_BY)


@dataclass(frozen=True, slots=True)
class Useful:
    """Rows that were of use before, each once, and how much like this one the question was, in 0..1."""

    rows: Rows
    values: Scores
    by: Rows


def useful(graph: Graph, meaning: Scores) -> Useful:
    """What answered questions like this one; ``meaning`` is the cosine of the cue with each row."""
    asked = np.flatnonzero(graph.of_kind(Kind.QUESTION))
    asked = asked[meaning[asked] > NEAR]
    edges, which = graph.edges_from(asked)
    used = (graph.edges["links"][edges] == _ANSWERED) & (graph.edges["weights"][edges] > 0)
    rows, by = graph.edges["dst"][edges[used]].astype(np.intp), asked[which[used]]
    values = np.minimum(1, (meaning[by] - NEAR) / (1 - NEAR)).astype(np.float32)
    order = np.lexsort((-values, rows))  # of each memory the question most like this one first
    first = order[np.r_[True, np.diff(rows[order]) != 0]] if len(order) else order
    return Useful(rows[first], values[first], by[first])
