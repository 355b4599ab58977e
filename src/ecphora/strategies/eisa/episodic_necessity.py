"""EISA's episodic necessity checker: whether a text belongs to the episodic bank or to the semantic one.

Published as a classifier over the text itself. A graph holds no text, so ours reads what a row has: its vector and a
few features. It is a logistic regression; ``training/train_necessity.py`` trains it and prints its error rate.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...language.question import is_question
from ...model.graph.graph import CachedDerivation, Graph
from ...model.types import Kind, Link, Mask, Query
from ...retrieval.bm25 import CHARACTERS_PER_WORD, is_character, is_mostly_characters, lacks_spaces
from ...retrieval.filters import RECALL_SOURCE

FEATURES = ("is question", "is utterance", "log term count", "has title", "mentions time")
"""The features besides the vector: ends with a question, has a speaker or a session, log(1 + distinct terms) if the
text has neither speaker nor session (an utterance may be long), has a title, mentions a time."""
THRESHOLD = 0.25
"""The lowest probability of an episode: a text is excluded only at odds of 3 to 1 against; inferred."""
MIN_EMBEDDER_COVERAGE = 0.5
"""A cue with less ``embedder_coverage`` is classified by its features alone."""
Floats32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """A logistic classifier: one weight for each of ``FEATURES``, and one for each dimension of a vector, or none."""

    bias: float
    feature_weights: tuple[float, ...]
    vector_weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class NecessityClassifier:
    """The checker: ``feature_model`` reads features; ``vector_model`` also the vectors of one embedder, if in use.

    Texts in scripts without spaces are always classified by ``feature_model``: the embedder of ``vector_model`` covers
    English. A text is an episode unless its probability is below ``threshold``: a false positive costs a search, a
    false negative is never found again.
    """

    feature_model: LogisticModel
    vector_model: LogisticModel | None = None
    threshold: float = THRESHOLD


def is_recall_question(graph: Graph) -> Mask:
    """The episodes that are stored recall questions."""
    code = graph.sources.code(RECALL_SOURCE)
    return graph.episodes & (code >= 0) & (graph.nodes["sources"] == code)


def episode_probabilities(graph: Graph, classifier: NecessityClassifier) -> Floats32:
    """The probability of each row that it is an episode, in 0..1; derived once per graph."""
    return graph.derive(("episode probabilities", classifier), lambda grown, _: _classify_rows(grown, classifier))


def needs_episodes(query: Query, classifier: NecessityClassifier) -> bool:
    """Whether a cue is to be answered from episodes."""
    return query_probability(query, classifier) >= classifier.threshold


def query_probability(query: Query, classifier: NecessityClassifier) -> float:
    """The probability that a cue is to be answered from episodes, in 0..1."""
    features, model = query_features(query), classifier.vector_model
    if (
        model is None
        or query.vector is None
        or len(query.vector) != len(model.vector_weights)
        or not is_vector_usable(query)
    ):
        return float(_sigmoid(_feature_logits(features, classifier.feature_model))[0])
    return float(_sigmoid(_feature_logits(features, model) + _vector_logits(query.vector[None], model))[0])


def query_features(query: Query) -> Floats32:
    """The features of a cue, shape ``(1, len(FEATURES))``, as if it were stored without speaker, session and title."""
    terms = np.unique(query.term_hashes)
    length = _log_length(np.array([len(terms)]), np.array([lacks_spaces(terms)]))[0]
    return np.array([[is_question(query.text), False, length, False, bool(query.time_ranges)]], np.float32)


def is_vector_usable(query: Query) -> bool:
    """Whether the vector of a cue may be used."""
    return query.embedder_coverage >= MIN_EMBEDDER_COVERAGE and not lacks_spaces(np.unique(query.term_hashes))


@dataclass(frozen=True, slots=True)
class RowFeatures:
    """The ``features`` of each row, shape ``(rows, len(FEATURES))``, and whether its vector may be used too."""

    features: Floats32
    is_vector_usable: Mask


def row_features(graph: Graph) -> RowFeatures:
    """The features of each row; for a grown graph only new rows and edges are read."""
    return graph.derive("necessity features", _extend_row_features)


def _extend_row_features(graph: Graph, cached: CachedDerivation[RowFeatures] | None) -> RowFeatures:
    start, first_edge = (cached.node_count, cached.edge_count) if cached is not None else (0, 0)
    nodes, new_count = graph.nodes, len(graph) - start
    is_utterance = (nodes["speakers"][start:] >= 0) | (nodes["sessions"][start:] >= 0)
    first = int(np.searchsorted(graph.terms["rows"], start))  # rows come in ascending order, here and below
    rows, terms = graph.terms["rows"][first:] - start, graph.terms["hashes"][first:]
    count = np.bincount(rows, minlength=new_count)
    has_no_spaces = is_mostly_characters(np.bincount(rows[is_character(terms)], minlength=new_count), count)
    mentions_time = np.zeros(new_count, np.bool_)
    mentions_time[graph.time_mentions["rows"][np.searchsorted(graph.time_mentions["rows"], start) :] - start] = True
    length = np.where(is_utterance, 0, _log_length(count, has_no_spaces))
    new_features = np.stack(
        [nodes["is_question"][start:], is_utterance, length, np.zeros(new_count), mentions_time], axis=1
    ).astype(np.float32)
    features, is_usable = new_features, ~has_no_spaces
    if cached is not None:
        features, is_usable = (
            np.concatenate([cached.value.features, new_features]),
            np.concatenate([cached.value.is_vector_usable, is_usable]),
        )
    titles = graph.edges_of_link(Link.ABOUT, first=first_edge)
    features[graph.edges["src"][titles], FEATURES.index("has title")] = 1
    return RowFeatures(features, is_usable)


def _log_length(word_counts: NDArray[np.int64], has_no_spaces: Mask) -> Floats32:
    return np.log1p(np.where(has_no_spaces, word_counts / CHARACTERS_PER_WORD, word_counts)).astype(np.float32)


def _classify_rows(graph: Graph, classifier: NecessityClassifier) -> Floats32:
    rows_read, model = row_features(graph), classifier.vector_model
    logits = _feature_logits(rows_read.features, classifier.feature_model)
    if model is not None and graph.vectors.dim == len(model.vector_weights):
        vector_logits = graph.derive(
            ("vector logits", model), lambda grown, before: _extend_vector_logits(grown, before, model)
        )
        rows = graph.vector_rows["rows"]
        logits[rows] = np.where(
            rows_read.is_vector_usable[rows],
            _feature_logits(rows_read.features[rows], model) + vector_logits,
            logits[rows],
        )
    logits[is_recall_question(graph) | graph.of_kind(Kind.EXCHANGE)] = np.inf
    return _sigmoid(logits)


def _extend_vector_logits(graph: Graph, cached: CachedDerivation[Floats32] | None, model: LogisticModel) -> Floats32:
    """The logits of the vectors, in order of ``graph.vectors``; for a grown graph only new vectors are read."""
    known = cached.value if cached is not None else np.zeros(0, np.float32)
    return np.concatenate([known, _vector_logits(graph.vectors.rows(slice(len(known), None)), model)])


def _feature_logits(features: Floats32, model: LogisticModel) -> Floats32:
    # einsum, not BLAS: a row's result does not depend on its neighbors, and no spurious floating-point warning comes.
    return np.einsum("ij,j->i", features, np.array(model.feature_weights, np.float32)) + np.float32(model.bias)


def _vector_logits(vectors: Floats32, model: LogisticModel) -> Floats32:
    return np.einsum("ij,j->i", vectors, np.array(model.vector_weights, np.float32))


def _sigmoid(values: Floats32) -> Floats32:
    return (1 / (1 + np.exp(-np.clip(values, -60, 60)))).astype(np.float32)
