"""Adjustments of scores: what fits a goal gains, same texts lose, and a current fact ranks before what it supersedes.

Goals: candidates gain that also fit what the caller is working towards. EcphoryRAG leaves cues from an agent's goal
open (its Section 6.1). Here a goal is compared with the candidates that the question found. It adds none, and it does
not change the confidence: a goal asks nothing, so nothing answers it.

Same texts: what was said in the same words many times leaves room for what differs. "Took my tablet." of 28 days fills
the first 28 places, though each says what the first one says. All but the best few of them lose a little, so that a
memory comes before them that answers about as well. It is maximal marginal relevance for equal texts only: Jaime
Carbonell and Jade Goldstein, "The use of MMR, diversity-based reranking for reordering documents and producing
summaries", 1998.

Promotion: a current fact is ranked before the facts it supersedes, if the question asks about their topic. Tiers
promote too: literal evidence ranks before a model's opinion. Within a tier, the order stays.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...language.question import is_quantity_question, is_time_question
from ...model.graph.graph import Graph
from ...model.ports import ActivationPath
from ...model.types import Mask, Query, Rows, Scores
from ...retrieval import dense, fusion, speakers
from ...retrieval.validity import Supersessions, TermHashes, in_force, supersessions, visible_mask
from .candidate_pool import CandidatePool

GOAL = "goal"
"""The contribution of a goal."""
MIN_DOUBT = 0.2
"""The least doubt with which a goal counts: also of several sure answers, one may fit it better."""
SMALLEST_SPREAD = 0.02
"""Added to the standard deviation, so that cosines that are nearly equal do not become far apart."""
KEPT = 3
"""How many memories with the same text, the best, lose nothing."""
LOSS = 1.0
"""What each other memory with that text loses, in log-odds: little against a memory that answers worse."""
COMPARED = 64
"""How many of the best memories are compared."""


def goal_fit(pool: CandidatePool) -> Scores:
    """How well each candidate fits the goal, 0 to 1: how far its cosine with the goal is above the mean of the pool.

    It is 1 at the deviation that the largest of as many random numbers has, about ``sqrt(2 ln n)`` standard deviations:
    of many candidates, some are far above the mean by chance. Times the share of the goal's language that the embedder
    reads.
    """
    goal, count = pool.query.goal, len(pool.rows)
    if goal is None or goal.vector is None or count < 2:
        return np.zeros(count, np.float32)
    cosines = dense.above_floor(dense.cosine_with(pool.graph, goal.vector), pool.query.similarity_floor)[pool.rows]
    deviations = (cosines - cosines.mean()) / (cosines.std() + np.float32(SMALLEST_SPREAD))
    fit: Scores = np.clip(deviations / np.float32(np.sqrt(2 * np.log(count))), 0, 1)
    return np.float32(goal.embedder_coverage) * fit


def goal_doubt(confidence: float) -> float:
    """How much a goal counts, 0.2 to 1: the less sure the question is of its answer, the more."""
    return max(MIN_DOUBT, 1 - confidence)


def same_text_loss(pool: CandidatePool, scores: Scores) -> Scores:
    """What each row of the graph loses for having the text and speaker of :data:`KEPT` better rows; 0 or less.

    Texts are equal if their vectors are. Nothing is lost if the question asks when or how often: each memory is then an
    answer.
    """
    loss = pool.graph.zeros()
    if is_time_question(pool.query.text) or is_quantity_question(pool.query.text):
        return loss
    best = fusion.top_rows(scores, pool.eligible, COMPARED)
    _, groups, counts = np.unique(pool.first_stage.cosine.scores[best], return_inverse=True, return_counts=True)
    for group in np.flatnonzero(counts > KEPT).tolist():
        rows = best[groups == group]
        copies = rows[_says_the_same(pool.graph, rows)][KEPT:]
        loss[copies] = -np.minimum(LOSS, scores[copies])
    return loss


def _says_the_same(graph: Graph, rows: Rows) -> Mask:
    """Which rows have the vector and the speaker of the first one."""
    stored, speakers = graph.text_vectors(use_english=False), graph.nodes["speakers"][rows]
    positions = stored.positions[rows]
    if (positions < 0).any():  # without vectors all cosines are 0
        return np.zeros(len(rows), np.bool_)
    vectors = stored.values.rows(positions)
    same: Mask = (vectors == vectors[0]).all(axis=1) & (speakers == speakers[0])
    return same


MAX_PROMOTERS = 20
"""How many of the best memories may promote their successors."""
MAX_SEMANTIC_PROMOTERS = 3
"""How many of the best memories may do so by cosine alone, without a shared term."""
MIN_COSINE_RATIO = 0.5
"""The lowest cosine of a promoted memory, as a fraction of its predecessor's cosine."""
MAX_PROMOTIONS = 2
"""How many successors a memory may promote: the successors of highest confidence."""
PROMOTION_FACTOR = 1.001
"""The score of a promoted memory, as a multiple of its predecessor's score."""
CONTRADICTION_FACTOR = 0.95
"""The score of a contradicting memory, as a fraction of the contradicted one's score."""
TIER_STEP = 0.001
"""How far a tier ranks before the best of the tier below: this share of its score, and this at least."""


def promote_current(graph: Graph, query: Query, scores: Scores, eligible: Mask) -> tuple[Scores, ActivationPath]:
    """What a memory gains that is valid at the time asked about, if one it supersedes would rank before it.

    Applies only if the query asks about their topic and may see the supersession. So the newest fact comes first, or
    for a past time the fact valid then; the others lose nothing. A contradicting memory is raised next to the
    contradicted one. Returns the gains and the paths.
    """
    pairs = supersessions(graph)
    gain, parent = graph.zeros(), graph.no_rows()
    path = ActivationPath(parent, graph.no_rows(), single_hop=True)
    if not len(pairs):
        return gain, path
    query_terms = frozenset(query.term_hashes.tolist()) - speakers.speaker_index(graph).by_term.keys()
    context = _PromotionContext(graph, query, pairs, query_terms, visible_mask(pairs, query), in_force(pairs, query))
    promotion = _Promotion(scores.astype(np.float64), parent)
    ranked = np.where(eligible, scores, 0)
    for rank, row in enumerate(np.argsort(-ranked, kind="stable")[:MAX_PROMOTERS].tolist()):
        if ranked[row] > 0:
            _promote_chain(context, promotion, row, is_top=rank < MAX_SEMANTIC_PROMOTERS)
    gain[:] = np.where(eligible, promotion.scores - scores, 0)
    return gain, path


@dataclass(frozen=True, slots=True)
class _PromotionContext:
    """A query against the entries of ``supersessions``: which are visible to it, and which of them are in force.

    ``query_terms`` are its term hashes without the terms of speakers' names.
    """

    graph: Graph
    query: Query
    supersessions: Supersessions
    query_terms: TermHashes
    visible: Mask
    in_force: Mask

    def successors(self, row: int, *, is_top: bool) -> list[int]:
        """The rows that are valid instead of a memory, the latest last."""
        pairs = self.supersessions
        found: list[tuple[int, int]] = []
        for entry in pairs.by_row.get(row, ()):
            successor, predecessor = int(pairs.new[entry]), int(pairs.old[entry])
            if not self.in_force[entry]:
                successor, predecessor = predecessor, successor
            if predecessor == row and self.visible[entry] and not pairs.is_contradiction[entry]:
                found += [(entry, successor)] if self._is_on_topic(entry, successor, row, is_top=is_top) else []
        found.sort(key=lambda candidate: (-pairs.confidence[candidate[0]], -pairs.valid_from[candidate[0]]))
        return [
            successor
            for entry, successor in sorted(found[:MAX_PROMOTIONS], key=lambda candidate: pairs.valid_from[candidate[0]])
        ]

    def _is_on_topic(self, entry: int, successor: int, predecessor: int, *, is_top: bool) -> bool:
        """Whether the query asks about the topic of two memories, and about nothing else that the predecessor says."""
        pairs = self.supersessions
        off_topic = (pairs.old_off_topic_terms if pairs.old[entry] == predecessor else pairs.new_off_topic_terms)[entry]
        if off_topic is not None and self.query_terms & off_topic:
            return False
        if self.query_terms & pairs.topic_terms[entry]:
            return True
        return (
            is_top and off_topic is not None and self._cosine(successor) >= MIN_COSINE_RATIO * self._cosine(predecessor)
        )

    def _cosine(self, row: int) -> float:
        """The cosine of the query's vector with a memory, rescaled from the embedder's similarity floor."""
        position = self.graph.vector_positions[row]
        if position < 0 or self.query.vector is None:
            return 0.0
        cosine = np.vecdot(self.graph.vectors.rows(position), self.query.vector)
        return float(dense.above_floor(cosine, self.query.similarity_floor))

    def contradiction(self, row: int) -> int | None:
        """The row that contradicts a memory, of highest confidence; None without one."""
        pairs = self.supersessions
        entries = [
            entry for entry in pairs.by_row.get(row, ()) if pairs.is_contradiction[entry] and self.visible[entry]
        ]
        entries = [entry for entry in entries if self.query_terms & pairs.topic_terms[entry]]
        if not entries:
            return None
        entry = max(entries, key=lambda entry: pairs.confidence[entry])
        return int(pairs.new[entry] if pairs.old[entry] == row else pairs.old[entry])


@dataclass(frozen=True, slots=True)
class _Promotion:
    """Scores that are raised, and for each row the row that raised it."""

    scores: NDArray[np.float64]
    parent: Rows

    def raise_to(self, factor: float, row: int, other: int) -> None:
        """Raise a row to ``factor`` times the score of another row with a positive score."""
        if row != other and self.scores[other] > 0 and self.scores[row] < self.scores[other] * factor:
            self.scores[row], self.parent[row] = self.scores[other] * factor, other


def _promote_chain(context: _PromotionContext, promotion: _Promotion, row: int, *, is_top: bool) -> None:
    """Raise the contradiction of a memory next to it, and its successors, and their successors, before it."""
    if (other := context.contradiction(row)) is not None:
        promotion.raise_to(CONTRADICTION_FACTOR, other, row)
    waiting, seen = [row], {row}
    while waiting:
        last = waiting.pop(0)
        for successor in context.successors(last, is_top=is_top):
            promotion.raise_to(PROMOTION_FACTOR, successor, last)
            last = successor
            if successor not in seen:
                seen.add(successor)
                waiting.append(successor)


def raise_tiers(scores: Scores, eligible: Mask, tiers: Rows, times: NDArray[np.float64] | None = None) -> Scores:
    """Scores whose descending order is first by tier, then as before.

    Rows of tier 0 keep their scores, as do rows of higher tiers that rank before all lower ones already. An eligible
    row of a higher tier gets a positive score even if it had none. Rows that are not eligible stay as they are. If
    there are ``times``, rows of a higher tier that are equal otherwise are ordered by them, the earliest first.
    """
    raised = scores.copy()
    best = float(scores[eligible & (tiers <= 0)].max(initial=0.0))
    for tier in np.unique(tiers[eligible & (tiers > 0)]).tolist():
        rows = np.flatnonzero(eligible & (tiers == tier))
        ties = None if times is None else times[rows]
        worst, least = float(scores[rows].min()), best + TIER_STEP * max(best, 1.0)
        if worst < least or times is not None:
            raised[rows] = _shift(scores[rows], max(0.0, least - worst), ties)
        best = float(raised[rows].max())
    return raised


def _shift(scores: Scores, by: float, times: NDArray[np.float64] | None) -> Scores:
    """Scores plus a number; different scores stay different although rounding might make them equal.

    Nor are scores equal that differ in their ``times``: the later one is the lower.
    """
    keys = scores[None] if times is None else np.stack([scores, -times])
    (distinct, *_), rank = np.unique(keys, axis=1, return_inverse=True)
    bits = (distinct.astype(np.float64) + by).astype(np.float32).view(np.int32).astype(np.int64)
    steps = np.arange(len(distinct))
    apart = steps + np.maximum.accumulate(bits - steps)  # the bits of positive floats are in their order
    shifted: Scores = apart.astype(np.int32).view(np.float32)[rank]
    return shifted
