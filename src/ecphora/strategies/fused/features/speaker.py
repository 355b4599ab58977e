"""Features of the speaker against the person asked about, and of the turn itself."""

import numpy as np

from ....model.graph.graph import Graph
from ....model.types import Rows, Scores
from ....retrieval import temporal
from ....retrieval.speakers import named_speakers
from ..candidate_pool import CandidatePool

SATURATION_LENGTH = 60
"""The length in terms from which a longer turn says no more."""


def compute(pool: CandidatePool) -> dict[str, Scores]:
    """Features of the speaker and of the turn.

    ``named speaker`` is the fraction of others' turns if the one person meant speaks: who speaks all the time is no
    evidence. ``other speaker`` is 1 if somebody else speaks, and ``one of named speakers`` if one of several persons
    meant speaks. For utterances only: ``turn length`` is how much the turn says, the logarithm of its length in terms,
    scaled to 0..1; ``is question`` marks a turn that ends with a question, ``mentions time`` one that mentions a time,
    and ``entity count`` is log(1 + number of entities mentioned).
    """
    graph, rows = pool.graph, pool.rows
    named = named_speakers(graph, pool.query)
    speakers = graph.nodes["speakers"][rows]
    is_utterance = speakers >= 0
    is_named = (speakers[:, None] == named).any(axis=1)
    entity_counts = np.bincount(pool.mentions.row_index, minlength=len(rows))
    lengths = np.minimum(graph.nodes["lengths"][rows], SATURATION_LENGTH)
    features = {
        "named speaker": (is_named & (len(named) == 1)) * _share_of_others(graph, named),
        "other speaker": ~is_named & is_utterance & (len(named) == 1),
        "one of named speakers": is_named & (len(named) > 1),
        "turn length": np.log1p(lengths) / np.log1p(SATURATION_LENGTH) * is_utterance,
        "is question": graph.nodes["is_question"][rows] & is_utterance,
        "mentions time": temporal.mentions_time(graph, rows) & is_utterance,
        "entity count": np.log1p(entity_counts) * is_utterance,
    }
    return {name: values.astype(np.float32) for name, values in features.items()}


def _share_of_others(graph: Graph, named: Rows) -> float:
    """The fraction of the turns of others than the one speaker meant."""
    speakers = graph.nodes["speakers"][graph.episodes]
    return 1 - float(np.mean(speakers == named[0])) if len(named) == 1 else 0.0
