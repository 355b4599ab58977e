"""Reading: what a reader's scores change in the ranking and in the confidence.

A reader scores each of the best candidates together with the question, as a cross-encoder does (Rodrigo Nogueira and
Kyunghyun Cho, "Passage Re-ranking with BERT", 2019, arXiv:1901.04085). Both the ranker and the reader give log-odds
that a memory is relevant, so their weighted sum ranks. A memory that updates another gains from it, unless the question
asks for a former state (:mod:`.newer_answers`). The confidence is a logistic regression over the reader's
probabilities, except for questions that name a speaker.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ...graph import Graph
from ...language.terms import extract_terms
from ...model import Query, Rows, Scores
from ...ports import RowReader
from ...reprs import ShortRepr
from ..retrieval import dense, top_k
from ..retrieval.linear import LinearModel
from ..retrieval.validity import supersessions
from .candidate_pool import CandidatePool
from .feature_matrix import genres
from .newer_answers import (
    CandidatePairs,
    NewerAnswerModel,
    Preferences,
    comparable_pairs,
    standardize_cosines,
    time_order,
)
from .ranker import RankedPool
from .recency_preference import RecencyPreferences, recency_preference_by_words

READING, NEWER_ANSWER = "reading", "newer answer"
"""The contributions of a reader, and of being newer or older than another answer."""
MAX_LOG_ODDS = 8.0
"""Log-odds of a reader are cut to this in both directions, so that one passage cannot outweigh all else."""
NAMED_SPEAKER_PREFERENCE = 0.5
"""How much of the preference for newer or older answers counts if the question names a speaker: "What does Ana like?"
asks more often for several turns of a conversation than for the newest.
"""
REREAD_LEAD = 3.0
"""How far behind the best after reading, in log-odds, a candidate is at most that is read again."""
CONFIDENCE_FEATURES = ("log sum of readings", "log count")
"""The features of the confidence: the logarithm of the sum of the probabilities that the reader gives, and that of the
number of candidates."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReadCandidates(ShortRepr):
    """The indices in the pool of the candidates that were read, and the log-odds that each answers the question.

    ``unread_count`` candidates were not read, because of a deadline or a failure. ``is_clear`` says whether the ranking
    before was clear, see :class:`ReadingPolicy`.
    """

    indices: Rows
    log_odds: Scores
    unread_count: int = 0
    is_clear: bool = False

    @property
    def unread_log_odds(self) -> float:
        """What the reader would have said of one that it did not read: the median of the worse half of those it did."""
        worse_half = np.sort(self.log_odds)[: (len(self.log_odds) + 1) // 2]
        return float(np.median(worse_half))


@dataclass(frozen=True, slots=True, repr=False)
class ReadingModel(ShortRepr):
    """The weights of a reader's log-odds in the ranking, the models of newer answers and of the confidence.

    ``reading`` has a weight for each :class:`Genre`, in this order: few questions about notes and conversations need a
    memory that does not answer them, and many about passages do. ``recency_preferences`` are by the beginning of an
    embedder's name.
    """

    reading: tuple[float, ...]
    newer_answers: NewerAnswerModel
    confidence: LinearModel
    recency_preferences: Mapping[str, RecencyPreferences]

    def preferences(self, query: Query, factor: float) -> Preferences:
        """Whether the newest of several answers is meant or an older one, times a factor."""
        found = (models for name, models in self.recency_preferences.items() if query.embedder.startswith(name))
        models = next(found, None)
        if models is None:
            return Preferences(*[factor * recency_preference_by_words(query)] * 2)
        return Preferences(factor * models.compared.value(query), factor * models.uncompared.value(query))


@dataclass(frozen=True, slots=True, repr=False)
class ReadingPolicy(ShortRepr):
    """How ``fused`` uses a reader, and how much work that is.

    At most ``max_candidates`` are read, the best ``max_reread`` of them again by a reader with two models, and each two
    of the best ``max_compared`` are compared by the update scorer. The work is bounded by these counts and not by time,
    so equal recalls give equal results on any machine (docs/decisions/0100-no-clock.md).

    A ranking is clear if the best leads the second by more than ``clear_lead`` in
    log-odds, and the confidence is at least ``clear_confidence``. Unless reading is mandatory, none is read if the
    ranking is clear and no candidate is newer than the best, or older if a former state is asked for: an outdated
    statement often has the very words of the question. ``model`` says what the reader's scores change.
    """

    model: ReadingModel
    max_candidates: int = 24
    max_reread: int = 4
    max_compared: int = 4
    clear_lead: float = 3.0
    clear_confidence: float = 0.9

    def read_candidates(
        self, pool: CandidatePool, ranked_pool: RankedPool, answerability: float, read: RowReader
    ) -> ReadCandidates | None:
        """Have the best candidates read; None if none was, as there is no doubt or the reader failed.

        ``answerability`` is the confidence without reading.
        """
        best = top_k.top_rows(ranked_pool.scores, ranked_pool.scores > 0, self.max_candidates)
        if not len(best):
            return None
        is_clear = self._is_clear(ranked_pool.log_odds[best], answerability)
        if is_clear and not read.is_mandatory and not self._has_rival_in_time(pool, pool.rows[best]):
            return None
        log_odds = read(pool.rows[best], pool.eligible)
        is_read = np.isfinite(log_odds)
        if not is_read.any():
            return None
        indices, found = best[is_read], np.clip(log_odds[is_read], -MAX_LOG_ODDS, MAX_LOG_ODDS)
        weights = np.array(self.model.reading, np.float32)[genres(pool.graph, pool.rows[indices])]
        again = reread_places(ranked_pool.log_odds[indices] + weights * found, self.max_reread)
        found[again] = np.clip(read.reread(pool.rows[indices[again]], found[again]), -MAX_LOG_ODDS, MAX_LOG_ODDS)
        return ReadCandidates(indices, found, int((~is_read).sum()), is_clear)

    def _is_clear(self, log_odds: Scores, answerability: float) -> bool:
        """Whether the ranking is clear; ``log_odds`` are those of the candidates, best first."""
        has_clear_lead = len(log_odds) == 1 or bool(log_odds[0] - log_odds[1] > self.clear_lead)
        return has_clear_lead and answerability >= self.clear_confidence

    def _has_rival_in_time(self, pool: CandidatePool, rows: Rows) -> bool:
        """Whether the best of some rows, the first, may pass its chance to one that is newer, or older."""
        order, preferences = time_order(pool.graph, rows), self.model.preferences(pool.query, 1.0)
        later = order - order[0]
        return bool(
            (later * np.sign(preferences.compared) > 0).any() or (later * np.sign(preferences.uncompared) > 0).any()
        )

    def rerank(
        self, pool: CandidatePool, ranked_pool: RankedPool, candidates: ReadCandidates, read: RowReader
    ) -> RankedPool:
        """Add the reader's log-odds, and what newer answers gain from older ones, as contributions.

        ``read`` compares the best of them, which of two updates the other.

        A candidate that was not read is taken to be as bad as the worse half of those that were, and gains 0, as does
        one whose genre has a weight of 0.
        """
        reading, newer = np.zeros((2, len(ranked_pool.scores)), np.float32)
        weights = np.array(self.model.reading, np.float32)[genres(pool.graph, pool.rows[candidates.indices])]
        is_used = weights > 0
        indices, readings = candidates.indices[is_used], candidates.log_odds[is_used]
        reading[indices] = weights[is_used] * (readings - np.float32(candidates.unread_log_odds))
        log_odds = ranked_pool.log_odds[indices] + reading[indices]
        factor = NAMED_SPEAKER_PREFERENCE if _names_speaker(pool, candidates) else 1.0
        preferences = self.model.preferences(pool.query, factor)
        if preferences.compared or preferences.uncompared:
            pairs = _compare(pool, pool.rows[indices], log_odds, read, self.max_compared)
            newer[indices] = self.model.newer_answers.gains(log_odds, readings, pairs, preferences)
        gains = reading + newer
        contributions = {**ranked_pool.contributions, READING: reading, NEWER_ANSWER: newer}
        return RankedPool(contributions, ranked_pool.scores + gains, ranked_pool.log_odds + gains)

    def confidence(self, pool: CandidatePool, answerability: float, candidates: ReadCandidates) -> float:
        """The probability that the memory holds the answer; ``answerability`` is the one without reading.

        It stays as it is if the ranking was clear, or if the question names a speaker: the ranker knows better who said
        what. Candidates that were not read count as in :meth:`rerank`, so a deadline gives no more confidence.
        """
        if candidates.is_clear or _names_speaker(pool, candidates):
            return answerability
        unread = np.full(candidates.unread_count, candidates.unread_log_odds, np.float32)
        values = confidence_features(np.concatenate([candidates.log_odds, unread]))
        weights = np.array([self.model.confidence.weights.get(name, 0.0) for name in CONFIDENCE_FEATURES])
        log_odds = self.model.confidence.bias + float(values @ weights)
        return float(1 / (1 + np.exp(-np.clip(log_odds, -30, 30))))


def _compare(pool: CandidatePool, rows: Rows, log_odds: Scores, read: RowReader, limit: int) -> CandidatePairs:
    """What is known of each two candidates; the best ``limit`` are compared by the update scorer.

    Not those of which consolidation has found that one updates the other: it knows too which topic the update is about,
    and :mod:`.promotion` ranks them by that.
    """
    graph = pool.graph
    similarities = pool.query.embedder_coverage * standardize_cosines(dense.pairwise_cosines(graph, rows, rows))
    order = time_order(graph, rows)
    updates = np.full((len(rows), len(rows)), np.nan, np.float32)
    if pairs := comparable_pairs(log_odds, similarities, order, limit, _known_updates(graph, rows)):
        earlier, later = np.array(pairs).T
        found = read.score_updates(rows[earlier], rows[later])
        updates[earlier, later] = np.clip(found, -MAX_LOG_ODDS, MAX_LOG_ODDS)
    return CandidatePairs(similarities, order, updates)


def _known_updates(graph: Graph, rows: Rows) -> set[tuple[int, int]]:
    """The pairs (earlier, later) of rows, as places in ``rows``, that consolidation has found."""
    known = supersessions(graph)
    places = {row: place for place, row in enumerate(rows.tolist())}
    entries = {entry for row in places for entry in known.by_row.get(row, ())}
    found = ((places.get(int(known.old[entry])), places.get(int(known.new[entry]))) for entry in entries)
    return {(old, new) for old, new in found if old is not None and new is not None}


def _names_speaker(pool: CandidatePool, candidates: ReadCandidates) -> bool:
    """Whether the question names a speaker of the candidates."""
    codes = np.unique(pool.graph.nodes["speakers"][pool.rows[candidates.indices]]).tolist()
    return does_name_speaker(pool.query.text, [pool.graph.speakers.names[code] for code in codes if code >= 0])


def does_name_speaker(question: str, speakers: Iterable[str]) -> bool:
    """Whether a question has a word in common with the name of a speaker."""
    words = frozenset(extract_terms(question))
    return not all(words.isdisjoint(extract_terms(speaker)) for speaker in speakers)


def reread_places(log_odds: Scores, limit: int) -> Rows:
    """The places of the candidates that are read again, the best first; ``log_odds`` are those after reading."""
    best = np.argsort(-log_odds, kind="stable")[:limit]
    found: Rows = best[log_odds[best] >= log_odds[best[0]] - REREAD_LEAD]
    return found


def confidence_features(readings: Scores) -> Scores:
    """The values of :data:`CONFIDENCE_FEATURES`, from the reader's log-odds."""
    sum_of_probabilities = np.sum(1 / (1 + np.exp(-readings)))
    return np.array([np.log(sum_of_probabilities + 1e-4), np.log(len(readings))])
