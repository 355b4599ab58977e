"""Cues: the parts of a question, each matched against the engrams by itself. EcphoryRAG, sections 4.5 and 4.11."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.graph.graph import Graph
from ...model.types import Mask, Query, Rows, Scores
from ...retrieval.entity_links import unit_vectors
from .engram_index import EngramSearch, Similarities, cosines, specificity

NAME_WEIGHT, QUESTION_WEIGHT = 1.0, 0.7
"""The weights of a name in the question and of the whole question. Inferred, section 4.11."""


@dataclass(frozen=True, slots=True)
class CueMatches:
    """How well each engram matches a question, by place, in 0..1.

    ``scores`` is the maximum over the cues of weight times cosine; ``question_similarity`` the cosine with the whole
    question alone, times ``query.embedder_coverage``. ``name_places`` are the places of the names that were cues.
    ``memory_cosine`` has the cosine of the question with each eligible memory, clipped to 0..1.
    """

    scores: Similarities
    question_similarity: Similarities
    name_places: Rows
    memory_cosine: Scores


def match_cues(
    graph: Graph,
    query: Query,
    search: EngramSearch,
    eligible: Mask,
    *,
    name_weight: float,
    question_weight: float,
    use_specificity: bool,
) -> CueMatches:
    """Search by every cue and merge: an engram's score is the maximum over the cues of weight times cosine.

    A name's cue is its own engram, so that engram has cosine 1 with it. ``use_specificity`` weighs a name by its
    specificity: a name that every memory mentions says little about the question.
    """
    scores = np.zeros(len(search.index), np.float32)
    question_similarity, memory_cosine = scores, graph.zeros()
    if query.vector is not None and len(graph.vector_rows):
        cosine = cosines(graph, query.vector[None, :])[0]
        question_similarity = (query.embedder_coverage * search.similarities(cosine)).astype(np.float32)
        scores = (question_weight * question_similarity).astype(np.float32)
        memory_cosine[graph.vector_rows["rows"]] = np.maximum(0, cosine)
        memory_cosine *= eligible
    name_places, weights = _match_names(
        graph, query, search, eligible, name_weight=name_weight, use_specificity=use_specificity
    )
    if len(name_places):
        name_vectors = unit_vectors(graph, search.index.rows[name_places], search.sources)
        for place, weight, cosine in zip(name_places, weights, cosines(graph, name_vectors), strict=True):
            similarity = search.similarities(cosine)
            similarity[place] = 1
            scores = np.maximum(scores, weight * similarity)
    return CueMatches(scores, question_similarity, name_places, memory_cosine)


def _match_names(
    graph: Graph,
    query: Query,
    search: EngramSearch,
    eligible: Mask,
    *,
    name_weight: float,
    use_specificity: bool,
) -> tuple[Rows, NDArray[np.float32]]:
    """The names in the question that an eligible memory mentions, and the weight of each."""
    rows = np.unique(graph.rows(query.entity_ids))
    edges, name_index = graph.edges_to(rows)
    mentioned = np.unique(name_index[eligible[graph.edges["src"][edges]]])
    places = search.index.places(rows[mentioned])
    weights = np.full(len(places), name_weight, np.float32)
    return places, weights * specificity(graph, search.index.mention_counts[places]) if use_specificity else weights
