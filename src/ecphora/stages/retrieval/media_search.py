"""Search by media: what memories gain whose picture or sound is near to the one of the query.

Cosines of different models cannot be compared with each other, nor with scores of text. So a cosine counts by how far
it is above the other cosines in its own space, and what it adds is measured by the best score of the text.
"""

from dataclasses import replace

import numpy as np

from ...graph import Graph
from ...model import Mask, MediaQuery, Query, Scores
from ...ports import Activation
from . import filters

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
    """What each eligible row gains by its media; ``scores`` and ``confidence`` are those of the text.

    It is measured by the best score of the text, times the square of one minus the confidence: the surer the text, the
    less. A row that the text scores below the mean of what it finds, or does not find at all, is first lifted to that.
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
    """The activation with what the media add. The confidence stays that of the text: a near picture is no answer."""
    if query.media is None:
        return activation
    eligible = filters.eligible(graph, query) if activation.eligible is None else activation.eligible
    gain = media_gain(graph, query, activation.scores, eligible, activation.confidence)
    if not gain.any():
        return activation
    contributions = {**activation.contributions, MEDIA: gain}
    return replace(activation, scores=activation.scores + gain, contributions=contributions, eligible=eligible)
