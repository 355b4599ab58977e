"""Reranking: the features that a reranker gives the ranker for the best candidates.

A reranker scores each of the best candidates together with the question, as a cross-encoder does (Rodrigo Nogueira and
Kyunghyun Cho, "Passage Re-ranking with BERT", 2019, arXiv:1901.04085). Its scores, and what follows from them for newer
and older answers (:mod:`.newer_answers`), are features like all others; the ranker weighs them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...language.dates.asked_time import asked_end
from ...language.question import is_current_state_question
from ...language.statements.asked_facts import may_state
from ...model.ports import RowReranker
from ...model.reprs import ShortRepr
from ...model.types import Mask, Query, Rows, Scores, Vector
from ...retrieval import fusion
from ...retrieval.bm25 import question_word_count
from ...retrieval.temporal import time_order
from .answerability import AnswerabilityModel
from .candidate_pool import CandidatePool
from .feature_matrix import (
    STATEMENT_FEATURES,
    SUBJECT_AGREEMENT,
    FeatureMatrix,
    Genre,
    acknowledgement_mask,
    lacking_mask,
    may_answer,
    statement_features,
    stating_mask,
    stay_mask,
)
from .features import SIMILARITY
from .newer_answers import NEWER_ANSWER, OLDER_ANSWER, SERIES_END, answer_pairs, newer_answer_features
from .ranker import RankedPool, Ranker

RERANKING, RERANKING_NOT_ENGLISH, SECOND_RERANKING = "reranking", "reranking, not English", "second reranking"
"""The features of the first score, of the same unless question and candidate are English, and of what the second score
says more."""
RERANKING_FEATURES = (
    RERANKING,
    RERANKING_NOT_ENGLISH,
    SECOND_RERANKING,
    NEWER_ANSWER,
    OLDER_ANSWER,
    SERIES_END,
    *STATEMENT_FEATURES,
)
"""The features of candidates that were read; 0 for all others."""
MAX_LOG_ODDS = 8.0
"""Log-odds of a reranker are cut to this in both directions, so that one passage cannot outweigh all else."""

OTHERS_LOSS = 2.0
"""What a turn of a conversation loses in log-odds that is about others than the question, or lacks what it asks for:
about as much as a statement loses by its features."""
STATED_LOG_ODDS = 1.0
"""The least log-odds of what states what is asked (:class:`~ecphora.language.statements.asked_facts.AskedFact`)."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecencyPreference(ShortRepr):
    """Whether a question asks for the present state of a matter or for a former one.

    "Where does Ana live?" wants the newest statement that answers it, "Where did she live as a student?" an older one;
    for "Who wrote the letter?" neither matters. A linear regression over the question's vector tells them apart, so in
    every language of the embedder. It has ``weights`` of an embedder's vectors, shape ``(dim,)``, and a ``bias``.
    """

    bias: float
    weights: Vector

    def value(self, query: Query) -> float:
        """Whether the newest of several answers is meant, 1, or an older one, -1; 0 leaves it open."""
        if query.vector is None or query.vector.shape != self.weights.shape:
            return recency_preference_by_words(query)
        return self.value_of(query.vector)

    def value_of(self, vector: Vector) -> float:
        """The same for the vector of a question."""
        return float(np.clip(self.bias + float(vector @ self.weights), -1, 1))


def recency_preference_by_words(query: Query) -> float:
    """The same from words such as "now", for questions without a vector: 1, or 0 without such a word."""
    return float(is_current_state_question(query.text))


@dataclass(frozen=True, slots=True, repr=False)
class RerankPolicy(ShortRepr):
    """How ``fused`` uses a reranker, and how much work that is.

    At most ``max_candidates`` are scored, as many as the reranker takes at once. A reranker with two models scores the
    best ``max_rescore`` of them again if reranking is mandatory or the confidence is then in ``doubt``: at least the
    first number, and less than the second. If the question or memories are not English, one in four is chosen for the
    similarity of its vector alone: where the two have no words in common, the ranker can overlook what the vectors
    find. The work is bounded by these counts and not by time, so equal recalls give equal results on any machine
    (docs/decisions/0008-bounded-by-counts.md).

    A question of more than ``max_question_words`` distinct words, such as a whole dialogue, is not reranked unless
    reranking is mandatory: a reranker sees its beginning only. A ranking is clear if the best leads the second by more
    than ``clear_lead`` in log-odds, and the confidence is at least ``clear_confidence``. Unless reranking is mandatory,
    none is scored if the ranking is clear and no candidate is newer than the best, or older if a former state is asked
    for: an outdated statement often has the very words of the question. ``preferences`` are by the beginning of an
    embedder's name.
    """

    preferences: Mapping[str, RecencyPreference]
    max_candidates: int = 24
    max_rescore: int = 1
    doubt: tuple[float, float] = (0.35, 0.8)
    max_question_words: int = 24
    clear_lead: float = 3.0
    clear_confidence: float = 0.9

    def preference(self, query: Query) -> float:
        """Whether the newest of several answers is meant, 1, or an older one, -1, between them in doubt."""
        end = asked_end(query.text)
        if end:
            return float(end)
        found = (model for name, model in self.preferences.items() if query.embedder.startswith(name))
        model = next(found, None)
        return recency_preference_by_words(query) if model is None else model.value(query)

    def rerank(  # noqa: PLR0917
        self,
        pool: CandidatePool,
        matrix: FeatureMatrix,
        ranked_pool: RankedPool,
        ranker: Ranker,
        answerability: AnswerabilityModel,
        confidence: float,
        reranker: RowReranker,
    ) -> FeatureMatrix:
        """The feature matrix with what a reranker says of the best candidates; as it is if none was read.

        ``confidence`` is the confidence without the reranker. Candidates that were not read, because of a deadline or a
        failure, are taken to be as bad as the worse half of the candidates that were read, as are all beyond the best.
        """
        best = self.candidates(matrix, ranked_pool.scores)
        is_too_long = question_word_count(pool.query.term_hashes) > self.max_question_words
        if not len(best) or (is_too_long and not reranker.is_mandatory):
            return matrix
        is_clear = self._is_clear(ranked_pool.log_odds[best], confidence)
        if is_clear and not reranker.is_mandatory and not self._has_rival_in_time(pool, pool.rows[best]):
            return matrix
        log_odds = reranker(pool.rows[best], pool.eligible)
        indices, first = best[np.isfinite(log_odds)], _cut(log_odds[np.isfinite(log_odds)])
        if not len(indices):
            return matrix
        passages, preference = reranker.passages(pool.rows[indices]), self.preference(pool.query)
        statements = statement_features(pool.query, passages, matrix.genres[indices], preference)
        silent = acknowledgement_mask(passages)
        stating = stating_mask(pool.query, passages) & ~silent
        lacking = lacking_mask(pool.query, passages)
        answering = may_answer(statements) & ~silent & ~lacking
        is_of_others = (statements[SUBJECT_AGREEMENT] < 0) | lacking
        first = _correct(first, silent, is_of_others & (matrix.genres[indices] != Genre.STATEMENT), stating)
        lead = first - np.float32(unread_log_odds(first if silent.all() else first[~silent]))
        reranked = {RERANKING: lead, RERANKING_NOT_ENGLISH: np.where(pool.is_english[indices], 0, lead), **statements}
        stays, alike = stay_mask(pool.query, passages), stating_mask(pool.query, passages, may_state)
        pairs = answer_pairs(pool.graph, pool.query, pool.rows[indices], stays, alike)

        def complete(second: Scores) -> FeatureMatrix:
            answers = np.where(answering, second, -MAX_LOG_ODDS)
            newer = newer_answer_features(pairs, answers, preference, asked_end(pool.query.text))
            return with_features(matrix, indices, {**reranked, SECOND_RERANKING: second - first, **newer}, answers)

        read_once = complete(first)
        ranked_once = ranker.score(read_once)
        confidence = answerability.probability(read_once, ranked_once)
        if not (reranker.is_mandatory or self.doubt[0] <= confidence < self.doubt[1]):
            return read_once
        again, second = fusion.top_k(ranked_once.log_odds[indices], self.max_rescore), first.copy()
        second[again] = _cut(reranker.rescore(pool.rows[indices[again]], first[again]))
        return complete(np.where(silent | stating, first, second))

    def candidates(self, matrix: FeatureMatrix, scores: Scores) -> Rows:
        """The places of the candidates that are read: the best, best first, each three followed by the most similar."""
        limit, similarity = self.max_candidates, matrix.features[SIMILARITY]  # it is 0 if all is English
        best = fusion.top_rows(scores, scores > 0, limit).tolist()
        closest = fusion.top_rows(similarity, (scores > 0) & (similarity > 0), limit).tolist()
        chosen: dict[int, None] = {}
        for place, row in enumerate(best, 1):
            chosen[row] = None
            if place % 3 == 0 and (others := [other for other in closest if other not in chosen]):
                chosen[others[0]] = None
        return np.array(list(chosen)[:limit], np.intp)

    def _is_clear(self, log_odds: Scores, confidence: float) -> bool:
        """Whether the ranking is clear; ``log_odds`` has the candidates' log-odds, best first."""
        has_clear_lead = len(log_odds) == 1 or bool(log_odds[0] - log_odds[1] > self.clear_lead)
        return has_clear_lead and confidence >= self.clear_confidence

    def _has_rival_in_time(self, pool: CandidatePool, rows: Rows) -> bool:
        """Whether the best of some rows, the first, may pass its chance to a newer row, or an older one."""
        order = time_order(pool.graph, rows)
        return bool(((order - order[0]) * np.sign(self.preference(pool.query)) > 0).any())


def with_features(
    matrix: FeatureMatrix, indices: Rows, values: Mapping[str, Scores], reranker_scores: Scores
) -> FeatureMatrix:
    """A feature matrix with values of features at some places, 0 elsewhere, and the reranker's log-odds there."""
    features, log_odds = dict(matrix.features), np.full(len(matrix), np.nan, np.float32)
    log_odds[indices] = reranker_scores
    for name, of_read in values.items():
        features[name] = np.zeros(len(matrix), np.float32)
        features[name][indices] = of_read
    return replace(matrix, features=features, reranker_scores=log_odds)


def _correct(log_odds: Scores, silent: Mask, turns_of_others: Mask, stating: Mask) -> Scores:
    """A reranker's log-odds, corrected by what the rules know of the candidates.

    What is ``silent`` states nothing, and ``turns_of_others`` lose ``OTHERS_LOSS``. All under ``stating`` state what is
    asked: they answer as well as the best, and well.
    """
    corrected: Scores = log_odds - np.float32(OTHERS_LOSS) * turns_of_others.astype(np.float32)
    if stating.any():
        corrected[stating] = max(STATED_LOG_ODDS, log_odds[~silent].max())
    corrected[silent] = -MAX_LOG_ODDS
    return corrected


def unread_log_odds(log_odds: Scores) -> float:
    """The log-odds assumed for a candidate that was not read: the median of the worse half of ``log_odds``."""
    worse_half = np.sort(log_odds)[: (len(log_odds) + 1) // 2]
    return float(np.median(worse_half))


def _cut(log_odds: Scores) -> Scores:
    return np.clip(log_odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)
