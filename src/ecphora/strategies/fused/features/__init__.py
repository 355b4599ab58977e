"""Features of the candidate pool, one number for each row of a :class:`~..candidate_pool.CandidatePool`.

Every group returns features by name. The value 0 is neutral, so a feature that does not apply has no effect.
"""

import numpy as np

from ....model.graph.graph import Graph
from ....model.times import EPOCH
from ....model.types import Query, Scores
from ..candidate_pool import CandidatePool, build_pool
from . import (
    asked_class,
    centroid,
    entities,
    identifier_match,
    lexical_dense,
    similarity,
    speaker,
    time_match,
    turn_context,
)

FEATURE_GROUPS = {
    "similarity": similarity.compute,
    "lexical and dense": lexical_dense.compute,
    "speaker and turn type": speaker.compute,
    "turn context": turn_context.compute,
    "time match": time_match.compute,
    "entities": entities.compute,
    "centroid and redundancy": centroid.compute,
    "asked class": asked_class.compute,
    "identifiers and quantities": identifier_match.compute,
}
"""The groups of features; an ablation leaves one out."""
STATEMENT_GROUPS = (
    "similarity",
    "speaker and turn type",
    "time match",
    "entities",
    "asked class",
    "identifiers and quantities",
)
"""The groups that rank statements. The turns next to a note say nothing of it, and what the words of a question and its
best memories have in common says less than the similarity of vectors: with all groups, statements rank worse."""
PLAIN_QUESTION, DIALOGUE = 24, 60
"""The distinct words of a question up to which all features count fully, and from which only similarity does: a whole
dialogue mentions its names and days in passing, and asks for none of them."""


def compute_features(pool: CandidatePool) -> dict[str, Scores]:
    """All features of a pool, by name; for a long question, all but the similarity features count less."""
    kept = np.float32(1 - similarity.length_share(pool, PLAIN_QUESTION, DIALOGUE))
    return {
        feature: values if name == "similarity" else kept * values
        for name, group in FEATURE_GROUPS.items()
        for feature, values in group(pool).items()
    }


def feature_names_by_group() -> dict[str, tuple[str, ...]]:
    """The names of the features of each group."""
    empty_pool = build_pool(Graph(), Query("", EPOCH))
    return {name: tuple(group(empty_pool)) for name, group in FEATURE_GROUPS.items()}
