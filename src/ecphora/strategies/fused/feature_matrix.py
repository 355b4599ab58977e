"""The feature matrix: all that the ranker and the answerability model read of a pool, without the graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from ...model.graph.graph import Graph
from ...model.types import Rows, Scores
from ...retrieval.bm25 import TermCoverage, word_counts
from ...retrieval.temporal import titled_mask
from .candidate_pool import CandidatePool
from .features import compute_features
from .session_features import session_counts

LONG_TURN_WORDS = 60
"""The words of a turn, on average over a session and without stop words, from which its turns are long."""
MIN_KNOWN_TERMS = 0.3
"""The fraction of the query's terms that memories must contain for long texts without a speaker to be long turns."""


class Genre(IntEnum):
    """The genre of a memory.

    An utterance is a turn of a conversation: at least two speak in its session, and mostly one turn follows another. A
    long turn is a turn, short or long, of a session whose turns have ``LONG_TURN_WORDS`` words or more on average, as
    in a chat with an assistant that answers in paragraphs; other texts of so many words are ranked like it, unless the
    memories lack most terms of the query, as memories in another language do: long turns are ranked by terms. A passage
    has a title, and neither a speaker nor a time that the caller gave. All others are statements: what one person
    tells, notes, plain texts.
    """

    UTTERANCE = 0
    STATEMENT = 1
    PASSAGE = 2
    LONG_TURN = 3

    @property
    def label(self) -> str:
        """The name in files of weights."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMatrix:
    """The rows of a pool, their features by name, and the genre of each as a :class:`Genre`.

    ``cosine``, ``english_cosine`` (of the English vectors, 0 without) and ``bm25`` are not normalized;
    ``term_coverage`` says which query terms each row contains. ``readings`` are the log-odds of a reranker, NaN for a
    row that was not read. They are the lowest there are for a row that states nothing that could answer, whatever the
    reranker says: it is about others, no fact, or over (``statement_features.may_answer``). ``has_query_date`` is True
    if the query names a time, ``has_unknown_entity`` if it names an entity that no memory mentions.
    """

    rows: Rows
    features: Mapping[str, Scores]
    genres: Rows
    cosine: Scores
    english_cosine: Scores
    bm25: Scores
    term_coverage: TermCoverage
    has_query_date: bool
    has_unknown_entity: bool
    readings: Scores

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_read(self) -> bool:
        """Whether a reranker has read any row."""
        return bool(np.isfinite(self.readings).any())


def build_feature_matrix(pool: CandidatePool) -> FeatureMatrix:
    """Compute the feature matrix of a pool."""
    graph, query, rows = pool.graph, pool.query, pool.rows
    english = pool.first_stage.english_cosine
    return FeatureMatrix(
        rows=rows,
        features=compute_features(pool),
        genres=genres(pool.graph, rows, knows_terms=_knows_terms(pool.term_coverage)),
        cosine=pool.first_stage.cosine.scores[rows],
        english_cosine=np.zeros(len(rows), np.float32) if english is None else english.scores[rows],
        bm25=pool.first_stage.bm25.scores[rows],
        term_coverage=pool.term_coverage,
        has_query_date=bool(query.time_ranges),
        has_unknown_entity=len(graph.rows(query.entity_ids)) < len(query.entity_ids),
        readings=np.full(len(rows), np.nan, np.float32),
    )


def _knows_terms(coverage: TermCoverage) -> bool:
    """Whether the memories contain enough of the query's terms to rank by them."""
    return bool(coverage.in_corpus.sum() >= MIN_KNOWN_TERMS * len(coverage.in_corpus))


def genres(graph: Graph, rows: Rows, *, knows_terms: bool = True) -> Rows:
    """The genre of each row as a :class:`Genre`; ``knows_terms`` is False if the memories lack the query's terms."""
    nodes = graph.nodes
    has_time = nodes["happened"][rows] != nodes["recorded"][rows]  # without a given time, ``happened`` is ``recorded``
    counts, sessions = session_counts(graph), nodes["sessions"][rows] + 1
    has_long_turns = counts.words[sessions] >= LONG_TURN_WORDS * np.maximum(counts.turns[sessions], 1)
    follow = 2 * counts.following[sessions] >= counts.chunks[sessions]
    is_conversation = (counts.speaker_counts[sessions] >= 2) & follow
    is_passage = ~has_time & titled_mask(graph)[rows]
    spoken = np.where(has_long_turns, Genre.LONG_TURN, np.where(is_conversation, Genre.UTTERANCE, Genre.STATEMENT))
    is_long = (word_counts(graph)[rows] >= LONG_TURN_WORDS) & knows_terms
    told = np.where(is_passage, Genre.PASSAGE, np.where(is_long, Genre.LONG_TURN, Genre.STATEMENT))
    return np.where(nodes["speakers"][rows] >= 0, spoken, told)


def passage_share(genres_of_rows: Rows) -> float:
    """The fraction of the rows that are passages."""
    return float((genres_of_rows == Genre.PASSAGE).mean())


def dialogue_share(genres_of_rows: Rows) -> float:
    """The fraction of the rows that are turns of a conversation."""
    return float(np.isin(genres_of_rows, (Genre.UTTERANCE, Genre.LONG_TURN)).mean())
