"""``fused``: the signals of the five models as features of a small trained ranker. The default.

A score is a sum of contributions in log-odds; see :mod:`ecphora.strategies.fused.ranker`. The training data of the
weights and their results are in ``weights/fused.json`` and lab/evidence.md.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from ...model.graph.graph import Graph, archived_mask, epoch_seconds, pinned_mask
from ...model.ports import Activation, ActivationPath, RowReranker
from ...model.reprs import ShortRepr
from ...model.types import Mask, Query, Scores
from ...retrieval import fusion, temporal
from ...retrieval.dense import MEDIA, join_media, media_gain
from ...retrieval.importance import DecayPolicy, decay
from ...retrieval.temporal import THEN
from . import boosts, feedback_boost, weights
from .answerability import AnswerabilityModel
from .boosts import GOAL, goal_doubt, goal_fit, raise_tiers, same_text_loss
from .candidate_pool import CandidatePool, build_pool
from .feature_matrix import FeatureMatrix, build_feature_matrix
from .ranker import RankedPool, Ranker
from .reranking import RerankPolicy

SIMILAR_QUESTION = "similar question feedback"
"""The contribution of feedback on similar questions."""
CO_USE = "co-use"
"""The contribution of memories used together with a recalled one."""
SAME_TEXT = "same text"
"""The negative contribution of what was said in the same words too often."""
ASKED_IDENTIFIER = "asked identifier"
"""The contribution that ranks the holders of an identifier in the question before all others."""
ASKED_TIME = "asked time"
"""The contribution that ranks the memories of a time first if the question asks for nothing else."""
ASKED_TIME_CONFIDENCE = 0.9
"""The least confidence if there are such memories: the memory holds what was told or happened then."""
DECAY, ARCHIVED = "decay", "archived"
"""The negative contributions of decay, and of ranking an archived memory behind all others."""
ARCHIVED_FACTOR = 0.999
"""The score of the first archived memory, as a fraction of the last other memory's score."""


@dataclass(frozen=True, slots=True, repr=False)
class Fused(ShortRepr):
    """``ranker`` scores features, ``answerability`` gives the confidence, ``reranking`` has a reranker change both.

    None stands for the packaged model; of the first two, for the model trained with the vectors of the query's
    embedder.

    ``feedback_weight`` is what a memory gains that answered the same question before, less for a less similar question.
    ``expired_penalty`` is the fraction of its score that a memory loses if it is not valid at the time asked about.
    ``co_use_weight`` is the fraction of its score that a memory among the best adds to memories used together with it.
    ``goal_weight`` is what a memory gains in log-odds that fits the goal best, if the question is sure of no answer.
    ``decay_weight`` is the fraction of its score that a memory loses once its importance has decayed to the base;
    without ``decay_policy`` it loses nothing. Archived memories rank last; pinned memories lose nothing by either.
    """

    ranker: Ranker | None = None
    answerability: AnswerabilityModel | None = None
    reranking: RerankPolicy | None = None
    feedback_weight: float = 3.0
    expired_penalty: float = 0.5
    co_use_weight: float = 0.3
    goal_weight: float = 8.0
    decay_policy: DecayPolicy | None = None
    decay_weight: float = 0.1
    name: str = "fused"

    @property
    def joins_media(self) -> bool:
        """True: media count before validity and decay, so that expired and archived memories stay behind."""
        return True

    def without_feedback(self) -> "Fused":
        """The same strategy without the boosts of feedback."""
        return replace(self, feedback_weight=0.0, co_use_weight=0.0)

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score the memories of the pool, and their successors."""
        return self._activate(query, graph, None)

    def activate_with_reranker(self, query: Query, graph: Graph, reranker: RowReranker, /) -> Activation:
        """Score the memories of the pool, and their successors; the best are read if they are in doubt."""
        return self._activate(query, graph, reranker)

    def _activate(self, query: Query, graph: Graph, reranker: RowReranker | None) -> Activation:
        if not graph.episodes.any() or not len((pool := build_pool(graph, query)).rows):
            return join_media(graph, query, Activation(graph.zeros()))
        ranked_pool, confidence = self._rank(pool, build_feature_matrix(pool), reranker)
        return self._score(pool, ranked_pool, confidence)

    def _score(self, pool: CandidatePool, ranked_pool: RankedPool, confidence: float) -> Activation:
        """The scores of all rows: the scores of the ranked pool, and what changes them afterwards."""
        graph, query = pool.graph, pool.query
        contributions = _expand_contributions(graph, pool, ranked_pool)
        scores = graph.zeros()
        scores[pool.rows] = np.maximum(0, ranked_pool.scores)
        paths = _activation_paths(pool, contributions)
        if (loss := same_text_loss(pool, scores)).any():
            contributions[SAME_TEXT] = loss
            scores = scores + loss
        if (gain := media_gain(graph, query, scores, pool.eligible, confidence)).any():
            contributions[MEDIA] = gain
            scores = scores + gain
        if (gain := self._goal_boost(pool, scores, confidence)).any():
            contributions[GOAL] = gain
            scores = scores + gain
        if len(pool.similar_question_boost.rows):
            contributions[SIMILAR_QUESTION], paths[SIMILAR_QUESTION] = self._similar_question_boost(pool, scores)
            scores += contributions[SIMILAR_QUESTION]
        gain, path = self._co_use_boost(pool, scores)
        if gain.any():
            contributions[CO_USE], paths[CO_USE] = gain, path
            scores = scores + gain
        if self.decay_policy is not None:
            decayed = scores * decay(graph, self.decay_policy, epoch_seconds(query.as_of or query.now))
            contributions[DECAY] = (-self.decay_weight * decayed).astype(np.float32)
            scores = scores + contributions[DECAY]
        # Expired memories pass their score to their successors, and rank behind them.
        expired = temporal.expired_mask(graph, query)
        if expired.any():
            contributions["successor"], paths["successor"] = temporal.successor_boost(graph, scores, expired)
            scores = scores + contributions["successor"] * pool.eligible
            contributions["expired"] = (-self.expired_penalty * scores * expired).astype(np.float32)
            scores = scores + contributions["expired"]
        gain, path = boosts.promote_current(graph, query, scores, pool.eligible)
        if gain.any():
            contributions["current fact"], paths["current fact"] = gain, path
            scores = scores + gain
        scores = _rank_asked_time_first(pool, scores, contributions)
        scores = _rank_holders_first(pool, scores, contributions, paths)
        archived_rows = _demoted_mask(graph, scores, pool.eligible)
        if archived_rows.any():
            lowered = _rank_last(scores, archived_rows, pool.eligible)
            contributions[ARCHIVED], scores = lowered - scores, lowered
        return Activation(
            scores=scores,
            contributions=contributions,
            paths=paths,
            confidence=max(confidence, ASKED_TIME_CONFIDENCE) if THEN in pool.time_tiers else confidence,
            eligible=pool.eligible,
        )

    def _rank(
        self, pool: CandidatePool, matrix: FeatureMatrix, reranker: RowReranker | None
    ) -> tuple[RankedPool, float]:
        """The ranked pool and the confidence; with a reranker, after it has read the best candidates."""
        packaged_ranker, packaged_answerability = weights.load_fused_model(pool.query.embedder)
        ranker, answerability = self.ranker or packaged_ranker, self.answerability or packaged_answerability
        ranked_pool = ranker.score(matrix)
        confidence = answerability.probability(matrix, ranked_pool)
        if reranker is None:
            return ranked_pool, confidence
        policy = self.reranking or RerankPolicy(weights.load_recency_preferences())
        after = policy.rerank(pool, matrix, ranked_pool, ranker, answerability, confidence, reranker)
        if after is matrix:
            return ranked_pool, confidence
        ranked_pool = ranker.score(after)
        return ranked_pool, answerability.probability(after, ranked_pool)

    def _goal_boost(self, pool: CandidatePool, scores: Scores, confidence: float) -> Scores:
        """The gains of active candidates that fit the goal: the less the question says by itself, the more."""
        gain = pool.graph.zeros()
        if pool.query.goal is not None:
            gain[pool.rows] = self.goal_weight * goal_doubt(confidence) * goal_fit(pool) * (scores[pool.rows] > 0)
        return gain

    def _similar_question_boost(self, pool: CandidatePool, scores: Scores) -> tuple[Scores, ActivationPath]:
        """The gains of active memories that answered a similar question, and that question as their path."""
        gain, parents = pool.graph.zeros(), pool.graph.no_rows()
        boost = pool.similar_question_boost
        gain[boost.rows] = self.feedback_weight * boost.strengths * (scores[boost.rows] > 0)
        parents[boost.rows] = boost.parent
        return gain, ActivationPath(parents, pool.graph.no_rows(), single_hop=True)

    def _co_use_boost(self, pool: CandidatePool, scores: Scores) -> tuple[Scores, ActivationPath]:
        """The gains of eligible memories from the best memories used together with them, and these as their paths."""
        gain, parents = pool.graph.zeros(), pool.graph.no_rows()
        if self.co_use_weight:
            best = fusion.top_rows(scores, pool.eligible, feedback_boost.CO_USE_SEEDS)
            boost = feedback_boost.co_use_boost(pool.graph, best, scores[best])
            gain[boost.rows] = self.co_use_weight * boost.strengths * pool.eligible[boost.rows]
            parents[boost.rows] = boost.parent
        return gain, ActivationPath(parents, pool.graph.no_rows(), single_hop=True)


def _rank_asked_time_first(pool: CandidatePool, scores: Scores, contributions: dict[str, Scores]) -> Scores:
    """Scores with the memories of the time asked about first, if there is a tier of them."""
    if not pool.time_tiers.any():  # the usual case
        return scores
    raised = raise_tiers(scores, pool.eligible, pool.time_tiers, pool.graph.nodes["happened"])
    contributions[ASKED_TIME] = raised - scores
    return raised


def _rank_holders_first(
    pool: CandidatePool,
    scores: Scores,
    contributions: dict[str, Scores],
    paths: Mapping[str, ActivationPath],
) -> Scores:
    """Scores with the holders of the asked identifiers first; what they gained is added to the contributions.

    What replaced a holder, and has no other identifier of the kind, stays with it.
    """
    if not pool.identifier_tiers.any():  # the usual case
        return scores
    tiers = pool.identifier_tiers.copy()
    look_alikes = np.concatenate([one.look_alikes for one in pool.identifier_holders])
    for name in ("successor", "current fact"):
        if name in paths:
            parents = paths[name].parent
            rows = np.setdiff1d(np.flatnonzero((parents >= 0) & (contributions[name] > 0)), look_alikes)
            tiers[rows] = np.maximum(tiers[rows], tiers[parents[rows]])
    raised = raise_tiers(scores, pool.eligible, tiers)
    contributions[ASKED_IDENTIFIER] = raised - scores
    return raised


def _demoted_mask(graph: Graph, scores: Scores, eligible: Mask) -> Mask:
    """The active rows that are archived and not pinned."""
    archived_rows = archived_mask(graph)
    if not archived_rows.any():  # the usual case
        return archived_rows
    return archived_rows & ~pinned_mask(graph) & eligible & (scores > 0)


def _rank_last(scores: Scores, archived_rows: Mask, eligible: Mask) -> Scores:
    """Scores with the archived rows ranked behind all others, in their own order."""
    is_other = eligible & (scores > 0) & ~archived_rows
    best_archived, worst_other = scores[archived_rows].max(), scores[is_other].min(initial=np.inf)
    lowered = scores.copy()
    if worst_other <= best_archived:
        lowered[archived_rows] *= ARCHIVED_FACTOR * float(worst_other) / float(best_archived)
    return lowered


def _expand_contributions(graph: Graph, pool: CandidatePool, ranked_pool: RankedPool) -> dict[str, Scores]:
    """The pool's contributions for all rows, 0 for rows without a positive score; all-zero ones are left out."""
    of_pool = np.stack(list(ranked_pool.contributions.values())) * (ranked_pool.scores > 0)
    is_nonzero: Mask = np.logical_or.reduce(of_pool, axis=1)
    expanded = np.zeros((int(is_nonzero.sum()), len(graph)), np.float32)
    expanded[:, pool.rows] = of_pool[is_nonzero]
    return dict(zip(compress(ranked_pool.contributions, is_nonzero), expanded, strict=True))


def _activation_paths(pool: CandidatePool, features: Collection[str]) -> dict[str, ActivationPath]:
    """The paths of the ``features`` that lead from one memory to another."""
    graph = pool.graph
    links = {
        "title link": pool.title_links,
        "shared entities": pool.shared_entities,
        "entity 1-hop": pool.one_hop,
        "entity 2-hop": pool.two_hop,
    }
    adjacent = {"follows question": graph.previous_rows, "next turn": graph.next_rows}
    no_entity = np.broadcast_to(np.intp(-1), len(graph))
    paths = {feature: reached.activation_path(graph) for feature, reached in links.items() if feature in features}
    return paths | {
        feature: ActivationPath(parents, no_entity, single_hop=True)
        for feature, parents in adjacent.items()
        if feature in features
    }
