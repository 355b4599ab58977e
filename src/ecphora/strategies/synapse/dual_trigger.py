"""The dual trigger: anchors found by BM25 and by cosine. SYNAPSE, §2.4, 1."""

from dataclasses import dataclass

import numpy as np

from ...model.graph.graph import Graph
from ...model.types import Mask, Query, Rows, Scores
from ...retrieval import bm25, dense, fusion
from .concepts import Concepts


@dataclass(frozen=True, slots=True)
class TriggerResult:
    """The result of the dual trigger, a number for each row.

    ``cosine`` is the cosine with the query, ``initial_activation`` the activation a row has if it is an anchor, and
    ``similarity`` its similarity to the query, both in 0..1. ``lexical_anchors`` and ``dense_anchors`` are the anchors
    of the two triggers, best first; among the dense ones may be concepts.
    """

    cosine: Scores
    initial_activation: Scores
    similarity: Scores
    lexical_anchors: Rows
    dense_anchors: Rows

    @property
    def anchors(self) -> Rows:
        """All anchors, ascending."""
        return np.union1d(self.lexical_anchors, self.dense_anchors)


def find_anchors(
    graph: Graph,
    query: Query,
    eligible: Mask,
    per_trigger: int,
    *,
    use_lexical_trigger: bool,
    use_previous_turn: bool,
    use_lexical_similarity: bool,
    use_similarity_floor: bool,
    concepts: Concepts | None = None,
) -> TriggerResult:
    """The best ``per_trigger`` eligible rows by each trigger.

    Without ``use_lexical_trigger`` BM25 finds no anchors. With ``use_previous_turn`` both triggers also read each turn
    together with the turn before it. With ``use_lexical_similarity`` BM25 is half of a row's similarity; without, the
    similarity is the cosine. With ``use_similarity_floor`` cosines count from the cosine of two unrelated texts. With
    ``concepts`` the dense trigger finds the best of rows and concepts. BM25 finds no concepts: a name has no terms of
    its own.
    """
    coverage = query.embedder_coverage if query.vector is not None else 0.0
    cosine = dense.cosine(graph, query)
    dense_scores, lexical_scores = [cosine], [bm25.bm25(graph, query)]
    candidates = eligible
    if concepts is not None and query.vector is not None:
        dense_scores, candidates = [cosine.copy()], eligible.copy()
        rows, concept_cosines = concepts.cosines(query.vector)
        dense_scores[0][rows], candidates[rows] = concept_cosines, True
    if use_previous_turn:
        dense_scores.append(dense.with_previous_turn(graph, cosine))
        lexical_scores.append(bm25.bm25_with_previous_turn(graph, query))
    if use_similarity_floor:
        dense_scores = [dense.above_floor(scores, query.similarity_floor) for scores in dense_scores]
    dense_scores = [
        np.maximum(0, scores * candidates) for scores in dense_scores
    ]  # inferred: §2.8, no negative anchors
    lexical_scores = [scores * eligible for scores in lexical_scores]
    # Where the embedder does not cover the query, BM25 stands in for the cosine. deviation: the paper has no such case.
    uncovered = np.where(graph.vector_positions >= 0, 1 - coverage, 1)
    initial = coverage * dense_scores[0] + uncovered * fusion.max_normalize(lexical_scores[0])
    similarity = coverage / 2 * np.mean([fusion.max_normalize(scores * eligible) for scores in dense_scores], axis=0)
    similarity += (1 - coverage / 2) * np.mean([fusion.max_normalize(scores) for scores in lexical_scores], axis=0)
    lexical_count, dense_count = per_trigger * use_lexical_trigger, per_trigger * (coverage > 0)
    return TriggerResult(
        cosine=cosine,
        initial_activation=initial.astype(np.float32),
        similarity=(similarity if use_lexical_similarity else initial).astype(np.float32),
        lexical_anchors=np.concatenate([fusion.top_rows(scores, eligible, lexical_count) for scores in lexical_scores]),
        dense_anchors=np.concatenate([fusion.top_rows(scores, candidates, dense_count) for scores in dense_scores]),
    )
