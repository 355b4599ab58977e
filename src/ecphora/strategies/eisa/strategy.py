"""``eisa``: similarity above a threshold, weighted by the recency of the last access; a recall is itself an episode.

"Episodic Interaction Separation Architecture", GitHub ``shankarchawla1776/EISA`` at commit aa331ba: a README and some
code, no paper and no evaluation. Section numbers refer to docs/explanation/papers.md; what is marked inferred was not
published. (An older README, 00775ed, has the chance of retrieval go to 0 as the weight goes to 1, which among scores of
this form only κ = 1 gives; the newer README takes it back.)
"""

from dataclasses import dataclass

import numpy as np

from ...model.graph.graph import Graph
from ...model.ports import Activation
from ...model.reprs import ShortRepr
from ...model.types import Episode, Query
from ...retrieval import dense, filters, fusion
from . import banks, episodic_necessity, side_network, similarity_gate, weights
from .chronology import chronology_weight
from .episodic_necessity import NecessityClassifier
from .side_network import SideNet


@dataclass(frozen=True, slots=True, repr=False)
class Eisa(ShortRepr):
    """The parameters of EISA.

    ``necessity_classifier`` separates the episodic bank from the semantic one; None makes everything an episode.
    ``side_net`` maps vectors; without it the embedder's vectors are used, or with ``use_packaged_side_net`` the net
    that was trained for the embedder, if there is one. ``theta_sim`` is the threshold of the cosine; None takes the
    ``quantile`` of the cosines of stored pairs, at least ``min_threshold``; all three count from the cosine of two
    unrelated texts. ``kappa`` weighs the order of accesses. ``max_hits`` caps the number of hits, 0 does not.
    ``other_bank_weight`` is the factor of rows of the bank that was not asked, ``include_below_threshold`` whether rows
    below the threshold follow those above it, ``store_query`` whether a cue that needs episodes is stored as an
    episode. ``use_similarity_floor``: the cosines of scores count from the cosine of two unrelated texts.
    """

    theta_sim: float | None = None
    quantile: float = 0.5  # deviation: `FAITHFUL` has .95, itself inferred, which few answers in a conversation reach
    min_threshold: float = 0.25  # inferred (§3.6)
    kappa: float = 0.02  # deviation: `FAITHFUL` has .2, which costs recall where the order says nothing
    max_hits: int = 0  # deviation: no cap; the cap of 5 of `FAITHFUL` is inferred (§3.6), the README has none
    other_bank_weight: float = 0.9  # deviation: `FAITHFUL` has 0, which loses the bank that was not asked
    include_below_threshold: bool = True  # deviation: `FAITHFUL` stops at the threshold
    store_query: bool = False  # deviation: `FAITHFUL` stores the cue; questions are no answers
    use_similarity_floor: bool = True  # deviation: `FAITHFUL` counts cosines from 0
    necessity_classifier: NecessityClassifier | None = None  # deviation: in `FAITHFUL` it parts facts from episodes
    side_net: SideNet | None = None
    use_packaged_side_net: bool = True  # deviation: `FAITHFUL` has none; no trained weights are published
    needs_full_log: bool = False  # `FAITHFUL` keeps every access; the last of each memory serve as well
    name: str = "eisa"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """The read path of §3.3; a cue without a vector finds nothing."""
        if query.vector is None or not len(graph.vector_rows):
            return Activation(graph.zeros())
        # need(input); a cue that needs no episodes searches the other bank, how is not published
        needed = self.necessity_classifier is None or episodic_necessity.needs_episodes(
            query, self.necessity_classifier
        )
        bank = banks.target_bank(graph, self.necessity_classifier, needs_episodes=needed)
        searched = banks.all_episodes(graph) if self.other_bank_weight else bank & needed
        # v ← SideNet(input); R ← { episodes with cos(v, e.v) ≥ θ_sim }
        net = self._side_net(query)
        eligible = filters.eligible(graph, query)
        is_memory = eligible & ~episodic_necessity.is_recall_question(graph)
        eligible |= filters.eligible_exchanges(graph, query, eligible)
        cosine = np.maximum(0, side_network.cosine(graph, query, net)) * (searched & eligible)
        floor = side_network.similarity_floor(query, net)
        above_floor = dense.above_floor(cosine, floor)
        similar = similarity_gate.is_similar(above_floor, self.threshold(graph, net, floor))
        # score = cos·(1−κ) + κ·cos·(w/n): order never lifts a row that is not similar (§3.6). Below the threshold
        # order does not count: such a row has at most (1−κ)·θ_sim, and none above the threshold has less.
        if self.use_similarity_floor:
            cosine = np.maximum(0, above_floor)
        similarity = (1 - self.kappa) * cosine * (similar | self.include_below_threshold)
        order = self.kappa * cosine * chronology_weight(graph, searched) * similar
        other_bank = np.where(bank, 0, (self.other_bank_weight - 1) * (similarity + order))
        scores = (similarity + order + other_bank).astype(np.float32)
        if self.max_hits:
            top = fusion.top_rows(scores, eligible, self.max_hits)
            scores[np.isin(np.arange(len(graph)), top, invert=True)] = 0
        contributions = {"dense similarity": similarity, "chronology": order, "other bank": other_bank}
        return Activation(
            scores=scores,
            contributions={stage: share.astype(np.float32) for stage, share in contributions.items()},
            new_episode=Episode(query.text, source=filters.RECALL_SOURCE) if self.store_query and needed else None,
            # of memories alone: a question or a response says nothing of whether the memory holds the answer; by the
            # embedder's own cosine, whose scale is known
            confidence=query.embedder_coverage
            * dense.confidence(dense.cosine(graph, query)[(scores > 0) & is_memory], query),
            eligible=eligible,
        )

    def _side_net(self, query: Query) -> SideNet | None:
        if self.side_net is None and self.use_packaged_side_net:
            return weights.load_side_network(query.embedder)
        return self.side_net

    def threshold(self, graph: Graph, net: SideNet | None = None, floor: float = 0.0) -> float:
        """θ_sim, counted from ``floor``: the configured one, or the quantile of stored pairs, both mapped by a net."""
        if self.theta_sim is not None:
            return self.theta_sim
        found = np.asarray(similarity_gate.cosine_quantile(graph, self.quantile, net), np.float32)
        return max(self.min_threshold, float(dense.above_floor(found, floor)))


FAITHFUL = Eisa(
    quantile=0.95,  # inferred (§3.6): the README says "a certain threshold" and has no number
    kappa=0.2,  # inferred (§3.6): κ = 0 is the plain cosine and κ = 1 the product
    max_hits=5,
    other_bank_weight=0.0,
    include_below_threshold=False,
    store_query=True,
    use_similarity_floor=False,
    necessity_classifier=weights.load_necessity_classifier(),
    use_packaged_side_net=False,
    needs_full_log=True,
    name="eisa-faithful",
)
"""As the README specifies: one bank is searched, the threshold cuts, and every retrieval is an episode.

It has no numbers. ``quantile``, ``min_threshold``, ``kappa`` and the cap of five are inferred (3.6), the checker and
its threshold are ours, and there is no side network, since no weights are published."""
