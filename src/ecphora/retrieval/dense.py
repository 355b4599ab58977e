"""Dense retrieval: cosines with the query's vector, of each row alone and with its previous turn, and their scale.

Terms of the query are matched by vector too, as a memory may say "my dog" for "pets"; reasons name such terms.

Memories gain whose picture or sound is near to the one of the query. Cosines of different models cannot be compared
with each other, nor with scores of text. So a cosine counts by how far it is above the other cosines in its own space,
and its gain is measured by the best score of the text.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..model.graph.graph import CachedDerivation, Graph, TextVectors, changed_rows
from ..model.ports import Activation
from ..model.types import Mask, MediaQuery, Query, Rows, Scores, Vector, Vectors
from . import filters

PREVIOUS_TURN_WEIGHT = 0.4
"""The weight of the previous row's vector in a row's context vector. Measured: see decision 0012."""


def cosine(graph: Graph, query: Query) -> Scores:
    """Cosine of the query with each row's vector; 0 for rows without a vector."""
    return cosine_with(graph, query.vector)


def cosine_with(graph: Graph, vector: Vector | None, *, use_english: bool = False) -> Scores:
    """Cosine of a vector with each row's vector; 0 for rows without one, and everywhere if ``vector`` is None.

    With ``use_english`` the rows' vectors are the English ones, here and below.
    """
    scores = graph.zeros()
    stored = graph.text_vectors(use_english=use_english)
    if vector is not None and len(stored.values):
        scores[stored.rows] = stored.values.dot(vector)
    return scores


def pairwise_cosines(graph: Graph, rows: Rows, others: Rows, *, use_english: bool = False) -> Scores:
    """The cosines of some rows with others, shape ``(len(rows), len(others))``; 0 where one has no vector."""
    stored = graph.text_vectors(use_english=use_english)
    # A matrix product may start a second thread.
    cosines: Scores = np.vecdot(_row_vectors(stored, rows)[:, None], _row_vectors(stored, others))
    return cosines


def _row_vectors(stored: TextVectors, rows: Rows) -> Vectors:
    if not len(stored.values):
        return np.zeros((len(rows), 1), np.float32)
    positions = stored.positions[rows]
    vectors = stored.values.rows(positions)
    vectors[positions < 0] = 0
    return vectors


def above_floor(cosines: Scores, floor: float) -> Scores:
    """Cosines rescaled from ``floor``, the embedder's cosine of two unrelated texts: 0 at the floor, 1 at 1."""
    if not floor:
        return cosines
    rescaled: Scores = np.maximum(-1, (cosines - np.float32(floor)) / np.float32(1 - floor))
    return rescaled


def confidence(cosines: Scores, query: Query) -> float:
    """The highest of some cosines as a confidence in 0..1: 0 at the embedder's similarity floor, 1 at 1."""
    return float(np.clip(above_floor(cosines, query.similarity_floor).max(initial=0.0), 0, 1))


def with_previous_turn(
    graph: Graph, scores: Scores, *, weight: float = PREVIOUS_TURN_WEIGHT, use_english: bool = False
) -> Scores:
    """Cosine of the query with each row's vector plus ``weight`` times the vector of the row before it.

    Computed from the rows' own cosines: (d_i + s d_p) / |v_i + s v_p|, |v_i + s v_p|² = 1 + s² + 2 s cos(i, p). So no
    second vector is stored, and a turn that is backfilled later changes the context of the turn after it.
    """
    key, compute = ("context lengths", weight, use_english), partial(_context_lengths, weight, use_english)
    context = graph.derive(key, compute)
    with_previous = (scores + weight * scores[graph.previous_rows]) / context.lengths
    return np.where(context.has_previous, with_previous, scores)


@dataclass(frozen=True, slots=True, eq=False)
class _ContextLengths:
    """Which rows have a vector, and one before them; and the length of each row's vector with the one before it.

    ``previous_rows`` are the graph's.
    """

    has_previous: Mask
    lengths: Scores
    previous_rows: Rows


def _context_lengths(
    weight: float, use_english: bool, graph: Graph, known: CachedDerivation[_ContextLengths] | None
) -> _ContextLengths:
    previous, positions = graph.previous_rows, graph.text_vectors(use_english=use_english).positions
    cosine = graph.english_previous_cosine if use_english else graph.previous_cosine
    has_previous, lengths, rows = np.zeros(len(graph), np.bool_), graph.zeros(), np.arange(len(graph))
    if known is not None:
        start = known.node_count
        has_previous[:start], lengths[:start] = known.value.has_previous, known.value.lengths
        rows = changed_rows(previous, known.value.previous_rows)
    before = previous[rows]
    has_previous[rows] = (before >= 0) & (positions[rows] >= 0) & (positions[before] >= 0)
    lengths[rows] = np.sqrt(np.maximum((1 - weight) ** 2, 1 + weight * weight + 2 * weight * cosine[rows]))
    return _ContextLengths(has_previous, lengths, previous)


SAMPLE_SIZE = 512
"""The size of the evenly spread sample of vectors that mean and deviation are taken from."""
MAX_ZSCORE = 6.0
"""The cap of z-scores."""


def term_zscores(
    graph: Graph, query: Query, word_vectors: NDArray[np.float32], row_groups: tuple[Rows, ...]
) -> list[Scores]:
    """The z-scores of each group's rows in similarity to the word vectors, shape ``(rows, len(word_vectors))``.

    A row of -1, or one without a vector, has 0.
    """
    positions = graph.vector_positions
    distinct, group_index = np.unique(np.concatenate(row_groups), return_inverse=True)
    zscores = np.zeros((len(distinct), len(word_vectors)), np.float32)
    sample_vectors = graph.derive("sample of vectors", _sample_vectors)
    if len(sample_vectors):
        sample = above_floor(np.vecdot(sample_vectors[:, None], word_vectors), query.similarity_floor)
        has = (distinct >= 0) & (positions[distinct] >= 0)
        similarity = above_floor(
            np.vecdot(graph.vectors.rows(positions[distinct[has]])[:, None], word_vectors), query.similarity_floor
        )
        raw = (similarity - sample.mean(axis=0)) / np.maximum(sample.std(axis=0), 1e-6)
        zscores[has] = query.embedder_coverage * np.clip(raw, 0, MAX_ZSCORE)
    return np.split(zscores[group_index], np.cumsum([len(group) for group in row_groups])[:-1])


def _sample_vectors(graph: Graph, _: object) -> Vectors:
    """The vectors of an evenly spread sample of the episodes."""
    positions = graph.vector_positions[graph.episodes]
    positions = positions[positions >= 0]
    return graph.vectors.rows(positions[:: max(1, len(positions) // SAMPLE_SIZE)])


MEDIA = "media"
"""The contribution of media."""
SMALLEST_SPREAD = 0.02
"""Added to the standard deviation, so that cosines that are nearly equal do not become far apart."""
SAME_COSINE = 0.99
"""From this cosine on two vectors are of the same medium, and it fits whatever the others are."""
MEDIA_WEIGHT = 1.1
"""What the best fit adds if the text is sure of no answer, in best scores of the text: a little more than all text."""
MIN_MEDIA_WEIGHT = 0.3
"""The same if the text is sure of its answer."""


def media_fit(graph: Graph, query: MediaQuery) -> Scores:
    """How well the media of each row fit the query, 0 to 1; of several media of a row, the best one.

    It is how far the cosine is above the mean of its space, 1 at ``sqrt(2 ln n)`` standard deviations, which the
    largest of as many random numbers has, or at the largest of them if that is more. A cosine of 0 or less fits not at
    all, the same medium fully. A vector that is alone in its space has nothing to be compared with; its cosine is its
    fit.
    """
    fit = graph.zeros()
    space = graph.media_spaces.get(query.model)
    vector = np.array(query.vector, np.float32)
    if space is None or space.vectors.view.shape[1:] != vector.shape:  # forgotten since the query was checked
        return fit
    cosines = np.einsum("ij,j->i", space.vectors.view, vector)
    count = len(cosines)
    if count < 2:
        fits = np.clip(cosines, 0, 1)
    else:
        deviations = (cosines - cosines.mean()) / (cosines.std() + np.float32(SMALLEST_SPREAD))
        largest = max(np.sqrt(2 * np.log(count)), deviations.max())
        fits = np.clip(deviations / np.float32(largest), 0, 1) * (cosines > 0)
    fits[cosines >= SAME_COSINE] = 1
    np.maximum.at(fit, space.places["rows"], fits)
    return fit


def media_gain(graph: Graph, query: Query, scores: Scores, eligible: Mask, confidence: float) -> Scores:
    """What each eligible row gains by its media; ``scores`` and ``confidence`` come from the text.

    The gain is measured by the best score of the text, times the square of one minus the confidence: the surer the
    text, the less. A row that the text scores below the mean of the rows that it finds, or does not find at all, is
    first lifted to that mean.
    """
    if query.media is None:
        return graph.zeros()
    active = scores[eligible & (scores > 0)]
    best, mean = (float(active.max()), float(active.mean())) if len(active) else (1.0, 0.0)
    weight = max(MIN_MEDIA_WEIGHT, MEDIA_WEIGHT * (1 - confidence) ** 2)
    lift = np.maximum(0, np.float32(mean) - scores)
    gain: Scores = (np.float32(best * weight) + lift) * media_fit(graph, query.media) * eligible
    return gain


def join_media(graph: Graph, query: Query, activation: Activation) -> Activation:
    """The activation with what the media add. The confidence stays the text's: a near picture is no answer."""
    if query.media is None:
        return activation
    eligible = filters.eligible(graph, query) if activation.eligible is None else activation.eligible
    gain = media_gain(graph, query, activation.scores, eligible, activation.confidence)
    if not gain.any():
        return activation
    contributions = {**activation.contributions, MEDIA: gain}
    return replace(activation, scores=activation.scores + gain, contributions=contributions, eligible=eligible)
