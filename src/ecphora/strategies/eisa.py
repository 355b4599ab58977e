"""``eisa``: similarity above a threshold, weighted by the recency of the last access; a recall is itself an episode.

"Episodic Interaction Separation Architecture", GitHub ``shankarchawla1776/EISA`` at commit aa331ba: a README and some
code, no paper and no evaluation. Sections are those of docs/papers.md; what is marked inferred was not
published. (An older README, 00775ed, has the chance of retrieval go to 0 as the weight goes to 1, which among scores of
this form only κ = 1 gives; the newer one takes it back.)
"""

from dataclasses import dataclass, field

import numpy as np

from .. import weights
from ..errors import WrongVector
from ..graph import Graph
from ..model import Episode, Mask, Query, Rows, Scores
from ..ports import Activation
from ..reprs import ShortRepr
from ..stages.eisa import chronology, necessity, side_network
from ..stages.eisa.necessity import NecessityClassifier
from ..stages.eisa.side_network import SideNet
from ..stages.retrieval import dense, filters, top_k

MAX_SAMPLE_PAIRS = 2_048
"""How many pairs of stored vectors the threshold is set from."""
_PLASTIC_NUMBER = 1.32471795724474602596


@dataclass(frozen=True, slots=True, repr=False)
class Eisa(ShortRepr):
    """The parameters of EISA.

    ``necessity_classifier`` separates the episodic bank from the semantic one; without it everything is an episode.
    ``side_net`` maps vectors; without it the embedder's vectors are used. ``theta_sim`` is the threshold of the
    cosine; None takes the ``quantile`` of the cosines of stored pairs, at least ``min_threshold``. ``kappa``
    weighs the order of accesses. ``max_hits`` caps the number of hits, 0 does not. ``other_bank_weight`` is the
    factor of rows of the bank that was not asked, ``include_below_threshold`` whether rows below the threshold
    follow those above it, ``store_query`` whether a cue that needs episodes is stored as one.
    """

    theta_sim: float | None = None
    quantile: float = 0.95  # inferred: §3.6, the README has no number
    min_threshold: float = 0.25  # inferred: §3.6
    kappa: float = 0.2  # inferred: §3.6, κ = 0 is the plain cosine and κ = 1 the product
    max_hits: int = 0  # deviation: `FAITHFUL` has 5, which is inferred too (§3.6)
    other_bank_weight: float = 0.9  # deviation: `FAITHFUL` has 0; the bank not asked ranks lower, it is not lost
    include_below_threshold: bool = True  # deviation: `FAITHFUL` stops at the threshold
    store_query: bool = False  # deviation: `FAITHFUL` stores the cue; questions are no answers
    necessity_classifier: NecessityClassifier | None = field(default_factory=weights.load_necessity_classifier)
    side_net: SideNet | None = None
    needs_full_log: bool = False  # `FAITHFUL` keeps every access; the last of each memory serve as well
    name: str = "eisa"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """The read path of §3.3; a cue without a vector finds nothing."""
        if query.vector is None or not len(graph.vector_rows):
            return Activation(graph.zeros())
        needed = self.necessity_classifier is None or necessity.needs_episodes(query, self.necessity_classifier)
        bank = self._target_bank(graph, needed)
        searched = (
            graph.episodes if self.other_bank_weight else bank & needed
        )  # how the other bank is searched is not published
        eligible = filters.eligible(graph, query)
        cosine = np.maximum(0, self._cosine(query, graph)) * (searched & eligible)
        # v ← SideNet(input); R ← { episodes with cos(v, e.v) ≥ θ_sim }: the gate is on the raw cosine (§3.6).
        similar = cosine >= self.threshold(graph)
        # score = cos·(1−κ) + κ·cos·(w/n): order never lifts a row that is not similar (§3.6). Below the threshold
        # order does not count: such a row has at most (1−κ)·θ_sim, and none above the threshold has less.
        similarity = (1 - self.kappa) * cosine * (similar | self.include_below_threshold)
        order = self.kappa * cosine * chronology.chronology_weight(graph, searched) * similar
        other_bank = np.where(bank, 0, (self.other_bank_weight - 1) * (similarity + order))
        scores = (similarity + order + other_bank).astype(np.float32)
        if self.max_hits:
            top = top_k.top_rows(scores, graph.episodes, self.max_hits)
            scores[np.isin(np.arange(len(graph)), top, invert=True)] = 0
        contributions = {"dense similarity": similarity, "chronology": order, "other bank": other_bank}
        return Activation(
            scores=scores,
            contributions={stage: share.astype(np.float32) for stage, share in contributions.items()},
            new_episode=Episode(query.text, source=necessity.RECALL_SOURCE) if self.store_query and needed else None,
            confidence=float(query.embedder_coverage * np.clip(cosine[scores > 0].max(initial=0.0), 0, 1)),
            eligible=eligible,
        )

    def threshold(self, graph: Graph) -> float:
        """θ_sim: the configured one, or the quantile of the cosines of stored pairs, derived once per graph."""
        if self.theta_sim is not None:
            return self.theta_sim
        key = ("theta_sim", self.quantile, self.side_net)
        return max(self.min_threshold, graph.derive(key, lambda grown, _: self._sample_quantile(grown)))

    def _cosine(self, query: Query, graph: Graph) -> Scores:
        if self.side_net is None:
            return dense.cosine(graph, query)
        if query.vector is not None and len(query.vector) != self.side_net.dim:
            raise WrongVector(
                f"the side network maps {self.side_net.dim} numbers, the vectors have {len(query.vector)}; "
                "train one for this embedder, or use none"
            )
        return side_network.cosine(graph, query, self.side_net)

    def _target_bank(self, graph: Graph, needs_episodes: bool) -> Mask:
        """The bank that is searched: a cue that needs no episodes searches the other one; §3.1 says no more."""
        if self.necessity_classifier is None:
            return graph.episodes
        bank = necessity.episodic_bank(graph, self.necessity_classifier)
        return bank if needs_episodes else graph.episodes & ~bank

    def _sample_quantile(self, graph: Graph) -> float:
        positions = np.flatnonzero(graph.episodes[graph.vector_rows["rows"]])
        first, second = sample_pairs(len(positions))
        if not len(first):
            return self.min_threshold
        first_vectors, second_vectors = (
            side_network.map_vectors(self.side_net, graph.vectors.view[positions[indices]])
            for indices in (first, second)
        )
        return float(np.quantile(np.einsum("ij,ij->i", first_vectors, second_vectors), self.quantile))


def sample_pairs(count: int) -> tuple[Rows, Rows]:
    """Pairs of n items, spread evenly without randomness: all, or ``MAX_SAMPLE_PAIRS`` of a low-discrepancy sequence.

    Martin Roberts' R2: multiples of the powers of the inverse plastic number, modulo 1.
    """
    if count * (count - 1) // 2 <= MAX_SAMPLE_PAIRS:
        first, second = np.triu_indices(count, 1)
        return first, second
    steps = np.arange(1, MAX_SAMPLE_PAIRS + 1)
    first, second = (np.floor(steps * _PLASTIC_NUMBER**-power % 1 * count).astype(np.intp) for power in (1, 2))
    return first[first != second], second[first != second]


FAITHFUL = Eisa(
    max_hits=5,
    other_bank_weight=0.0,
    include_below_threshold=False,
    store_query=True,
    needs_full_log=True,
    name="eisa-faithful",
)
"""As the README specifies: one bank is searched, the threshold cuts, and every retrieval is an episode.

It has no numbers. The threshold, ``kappa`` and the cap of five are inferred (3.6), and the checker is ours."""
