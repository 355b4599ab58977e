"""The person meant against the person who speaks, and what kind of turn it is."""

import numpy as np

from ...model import Scores
from .. import people, priors, times
from ..touch import View


def columns(view: View) -> dict[str, Scores]:
    """Columns of persons and of the kind of turn.

    ``speaker`` is 1 where the one person meant speaks, ``other speaker`` where somebody else does, ``one of them``
    where one of several meant does. Of spoken turns only: ``length`` is how much one says, ``asks`` marks one that ends
    by asking, ``dated`` one that speaks of a time, and ``names`` is the logarithm of how many names one mentions.
    """
    graph, rows = view.graph, view.rows
    meant = people.meant(graph, view.cue)
    speakers = graph.nodes["speakers"][rows]
    spoken = speakers >= 0
    theirs = (speakers[:, None] == meant).any(axis=1)
    names = np.bincount(view.naming.of, minlength=len(rows))
    found = {
        "speaker": theirs & (len(meant) == 1),
        "other speaker": ~theirs & spoken & (len(meant) == 1),
        "one of them": theirs & (len(meant) > 1),
        "length": priors.length(graph, rows) * spoken,
        "asks": graph.nodes["questions"][rows] & spoken,
        "dated": times.dated(graph, rows) & spoken,
        "names": np.log1p(names) * spoken,
    }
    return {name: values.astype(np.float32) for name, values in found.items()}
