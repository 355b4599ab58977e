"""Features of the candidate pool, one number for each row of a :class:`~..candidate_pool.CandidatePool`.

Every group returns features by name. The value 0 is neutral, so a feature that does not apply has no effect.
"""

from ....graph import Graph
from ....model import Query, Scores
from ....timeparse import EPOCH
from ..candidate_pool import CandidatePool, build_pool
from . import (
    asked_class,
    centroid,
    entities,
    identifier_match,
    lexical_dense,
    similarity,
    speaker,
    term_similarity,
    time_match,
    turn_context,
)

FEATURE_GROUPS = {
    "similarity": similarity.compute,
    "lexical and dense": lexical_dense.compute,
    "term similarity": term_similarity.compute,
    "speaker and turn type": speaker.compute,
    "turn context": turn_context.compute,
    "time match": time_match.compute,
    "entities": entities.compute,
    "centroid and redundancy": centroid.compute,
    "asked class": asked_class.compute,
    "identifiers and quantities": identifier_match.compute,
}
"""The groups of features; an ablation leaves one out."""


def compute_features(pool: CandidatePool) -> dict[str, Scores]:
    """All features of a pool, by name."""
    return {name: values for group in FEATURE_GROUPS.values() for name, values in group(pool).items()}


def feature_names_by_group() -> dict[str, tuple[str, ...]]:
    """The names of the features of each group."""
    empty_pool = build_pool(Graph(), Query("", EPOCH))
    return {name: tuple(group(empty_pool)) for name, group in FEATURE_GROUPS.items()}
