"""Memories, the chunks of the paper: C_0 by the question itself, and their rank by the engrams that they mention.

EcphoryRAG, 4.5 and 4.11: half of a memory's score is the score of its best engram, half its own similarity to the
question.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...model.graph.columns import best_of_group
from ...model.graph.graph import Graph
from ...model.types import Link, Mask, Query, Rows, Scores
from ...retrieval import bm25, dense, fusion
from .engram_index import EngramIndex, Similarities, specificity

COMPONENT_WEIGHT = np.float32(0.5)
"""The weight of engrams, and of the memory itself, in a memory's score. Inferred, 4.11."""


@dataclass(frozen=True, slots=True)
class BestMentions:
    """The best engram that each row mentions: its score and its row; 0 and -1 where there is none."""

    scores: Scores
    engram_rows: Rows


def direct_scores(
    graph: Graph,
    query: Query,
    cosines: Scores,
    eligible: Mask,
    *,
    use_lexical_backoff: bool,
    similarity_floor: float,
) -> dict[str, Scores]:
    """C_0, without a cutoff: half the cosine of question and memory (4.11), counted from ``similarity_floor``.

    With ``use_lexical_backoff`` half of cosine and BM25, each divided by its best.
    """
    cosines = np.maximum(0, dense.above_floor(cosines, similarity_floor))
    if not use_lexical_backoff:
        return {"dense similarity": (COMPONENT_WEIGHT * query.embedder_coverage * cosines).astype(np.float32)}
    lexical = bm25.bm25(graph, query) * eligible
    contributions = {
        "dense similarity": query.embedder_coverage * fusion.max_normalize(cosines),
        "bm25": fusion.max_normalize(lexical),
    }
    best = max(float(fusion.sum_contributions(contributions).max()), 1e-6)
    return {stage: (COMPONENT_WEIGHT / best * share).astype(np.float32) for stage, share in contributions.items()}


def best_mentions(
    graph: Graph, index: EngramIndex, places: Rows, engram_scores: Similarities, *, use_specificity: bool
) -> BestMentions:
    """The best of some engrams that each memory mentions; ``engram_scores`` has an entry for each engram.

    With ``use_specificity`` a mention counts times the specificity of the engram, and in full only if the memory is
    about it.
    """
    rows = index.rows[places]
    edges, engram_index = graph.edges_to(rows)
    scores = engram_scores[engram_index]
    if use_specificity:
        is_about = graph.has_link(Link.ABOUT, edges=edges)
        scores = np.where(is_about, scores, scores * specificity(graph, index.mention_counts[places])[engram_index])
    memories = graph.edges["src"][edges]
    best = best_of_group(memories, scores, ties=-np.arange(len(edges)))
    result = BestMentions(graph.zeros(), graph.no_rows())
    result.scores[memories[best]] = scores[best]
    result.engram_rows[memories[best]] = rows[engram_index[best]]
    return result


def chunk_contributions(mentions: BestMentions, direct: Mapping[str, Scores], eligible: Mask) -> dict[str, Scores]:
    """The score of each memory: half the score of the best engram that it mentions, and its direct scores (4.11)."""
    return {"engrams": COMPONENT_WEIGHT * mentions.scores * eligible, **direct}
