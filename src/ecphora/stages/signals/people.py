"""The person meant against the person who speaks, and what kind of turn it is."""

import numpy as np

from ...model import Scores
from .. import people, priors
from ..links import NAMING
from ..touch import View


def columns(view: View) -> dict[str, Scores]:
    """Columns of persons and of the kind of turn.

    ``speaker`` is 1 where the one person meant speaks, ``other speaker`` where somebody else does, ``one of them`` where
    one of several meant does, ``spoken of`` where somebody else names a person meant. Of spoken turns only: ``length``
    is how much one says, ``asks`` marks one that ends by asking, ``dated`` one that speaks of a time, and ``names`` is
    the logarithm of how many names one mentions.
    """
    graph, rows = view.graph, view.rows
    meant = people.meant(graph, view.cue)
    speakers = graph.nodes["speakers"][rows]
    spoken = speakers >= 0
    theirs = np.isin(speakers, meant)
    edges, which = graph.edges_from(rows)
    naming = np.isin(graph.edges["links"][edges], NAMING)
    names = np.bincount(which[naming], minlength=len(rows))
    found = {
        "speaker": theirs & (len(meant) == 1),
        "other speaker": ~theirs & spoken & (len(meant) == 1),
        "one of them": theirs & (len(meant) > 1),
        "spoken of": people.spoken_of(graph, view.cue)[rows],
        "length": priors.length(graph)[rows] * spoken,
        "asks": graph.nodes["questions"][rows] & spoken,
        "dated": np.isin(rows, graph.told["rows"]) & spoken,
        "names": np.log1p(names) * spoken,
    }
    return {name: values.astype(np.float32) for name, values in found.items()}
