"""The feature matrix: all that the ranker and the answerability model read of a pool, without the graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from ...graph import Graph
from ...model import Rows, Scores
from ..retrieval.term_coverage import TermCoverage
from .candidate_pool import CandidatePool
from .features import compute_features
from .features.speaker import SATURATION_LENGTH


class Genre(IntEnum):
    """The genre of a memory: an utterance has a speaker; a note has a time; a passage has neither.

    A long utterance, such as an assistant's reply of several sentences, has at least ``SATURATION_LENGTH`` terms.
    """

    UTTERANCE = 0
    NOTE = 1
    PASSAGE = 2
    LONG_UTTERANCE = 3

    @property
    def label(self) -> str:
        """The name in files of weights."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMatrix:
    """The rows of a pool, their features by name, and the genre of each as a :class:`Genre`.

    ``cosine`` and ``bm25`` are not normalized; ``term_coverage`` says which query terms each row contains.
    ``has_query_date`` is True if the query names a time, ``has_unknown_entity`` if it names an entity that no memory
    mentions.
    """

    rows: Rows
    features: Mapping[str, Scores]
    genres: Rows
    cosine: Scores
    bm25: Scores
    term_coverage: TermCoverage
    has_query_date: bool
    has_unknown_entity: bool

    def __len__(self) -> int:
        return len(self.rows)


def build_feature_matrix(pool: CandidatePool) -> FeatureMatrix:
    """Compute the feature matrix of a pool."""
    graph, query, rows = pool.graph, pool.query, pool.rows
    return FeatureMatrix(
        rows=rows,
        features=compute_features(pool),
        genres=genres(pool.graph, rows),
        cosine=pool.first_stage.cosine.scores[rows],
        bm25=pool.first_stage.bm25.scores[rows],
        term_coverage=pool.term_coverage,
        has_query_date=bool(query.time_ranges),
        has_unknown_entity=len(graph.rows(query.entity_ids)) < len(query.entity_ids),
    )


def genres(graph: Graph, rows: Rows) -> Rows:
    """The genre of each row as a :class:`Genre`."""
    nodes = graph.nodes
    has_time = nodes["happened"][rows] != nodes["recorded"][rows]  # without a given time, ``happened`` is ``recorded``
    is_long = nodes["lengths"][rows] >= SATURATION_LENGTH
    utterance = np.where(is_long, Genre.LONG_UTTERANCE, Genre.UTTERANCE)
    return np.where(nodes["speakers"][rows] >= 0, utterance, np.where(has_time, Genre.NOTE, Genre.PASSAGE))


def dialogue_share(genres_of_rows: Rows) -> float:
    """The fraction of the rows that are utterances, long ones too."""
    return float(np.isin(genres_of_rows, (Genre.UTTERANCE, Genre.LONG_UTTERANCE)).mean())
