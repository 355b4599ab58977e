"""``eisa``: what is similar enough, the more the later it was touched last; asking is itself an episode.

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
from ..model import Cue, Episode, Mask, Rows, Scores
from ..ports import Activation
from ..reprs import ShortRepr
from ..stages import choose, chronology, need, seed, sidenet
from ..stages.need import Encm
from ..stages.sidenet import SideNet

PAIRS = 2_048
"""Stored pairs of which the cosine is looked at to set the threshold."""
_PLASTIC = 1.32471795724474602596


@dataclass(frozen=True, slots=True, repr=False)
class Eisa(ShortRepr):
    """``encm`` parts episodes from other matter, ``sidenet`` vectorises, ``theta_sim`` gates, ``kappa`` weighs order.

    Without ``encm`` everything is an episode; without ``sidenet`` vectors are taken as the embedder made them.
    ``theta_sim`` of None is the ``quantile`` of the cosines of stored pairs, at least ``floor``. ``top`` caps what
    comes back, 0 does not. ``other_bank`` is what a row counts in the bank that was not asked, ``below`` whether rows
    below the threshold follow those above it, ``leaves`` whether a cue that needs episodes becomes one.
    """

    theta_sim: float | None = None
    quantile: float = 0.95  # inferred: §3.6, the README has no number
    floor: float = 0.25  # inferred: §3.6
    kappa: float = 0.2  # inferred: §3.6, κ = 0 is the plain cosine and κ = 1 the product
    top: int = 0  # deviation: `FAITHFUL` has 5, which is inferred too (§3.6)
    other_bank: float = 0.9  # deviation: `FAITHFUL` has 0; a bank not asked steps back, it is not lost
    below: bool = True  # deviation: `FAITHFUL` stops at the threshold
    leaves: bool = False  # deviation: `FAITHFUL` leaves the cue behind; questions are not what is asked for
    encm: Encm | None = field(default_factory=weights.encm)
    sidenet: SideNet | None = None
    whole_log: bool = False  # `FAITHFUL` keeps every access; the last of each memory serve as well
    name: str = "eisa"

    def activate(self, cue: Cue, graph: Graph, /) -> Activation:
        """The read path of §3.3; a cue without a vector finds nothing."""
        if cue.vector is None or not len(graph.vectored):
            return Activation(graph.zeros())
        needed = self.encm is None or need.need(cue, self.encm)
        asked = self._asked(graph, needed)
        searched = graph.episodes if self.other_bank else asked & needed  # the other bank's own use is not published
        cosine = np.maximum(0, self._meaning(cue, graph)) * (searched & choose.allowed(graph, cue))
        # v ← SideNet(input); R ← { episodes with cos(v, e.v) ≥ θ_sim }: the gate is on the raw cosine (§3.6).
        similar = cosine >= self.threshold(graph)
        # score = cos·(1−κ) + κ·cos·(w/n): order can never lift what is not similar (§3.6). Below the threshold order
        # does not count: such a row has at most (1−κ)·θ_sim, and none above the threshold has less.
        meaning = (1 - self.kappa) * cosine * (similar | self.below)
        order = self.kappa * cosine * chronology.rank(graph, searched) * similar
        other = np.where(asked, 0, (self.other_bank - 1) * (meaning + order))
        scores = (meaning + order + other).astype(np.float32)
        if self.top:
            kept = choose.best(scores, graph.episodes, self.top)
            scores[np.isin(np.arange(len(graph)), kept, invert=True)] = 0
        shares = {"meaning": meaning, "chronology": order, "other bank": other}
        return Activation(
            scores=scores,
            shares={stage: share.astype(np.float32) for stage, share in shares.items()},
            leaves=Episode(cue.text, source=need.RECALL) if self.leaves and needed else None,
            confidence=float(cue.meaning * np.clip(cosine[scores > 0].max(initial=0.0), 0, 1)),
        )

    def threshold(self, graph: Graph) -> float:
        """θ_sim: the one that is set, or the quantile of the cosines of stored pairs, derived once a graph."""
        if self.theta_sim is not None:
            return self.theta_sim
        key = ("theta_sim", self.quantile, self.sidenet)
        return max(self.floor, graph.derived(key, lambda grown, _: self._quantile(grown)))

    def _meaning(self, cue: Cue, graph: Graph) -> Scores:
        if self.sidenet is None:
            return seed.meaning(graph, cue)
        if cue.vector is not None and len(cue.vector) != self.sidenet.dim:
            raise WrongVector(
                f"the side network maps {self.sidenet.dim} numbers, the vectors have {len(cue.vector)}; "
                "train one for this embedder, or use none"
            )
        return sidenet.meaning(graph, cue, self.sidenet)

    def _asked(self, graph: Graph, needed: bool) -> Mask:
        """The bank that is asked: a cue that needs no episodes asks the other one, of which §3.1 says no more."""
        if self.encm is None:
            return graph.episodes
        bank = need.bank(graph, self.encm)
        return bank if needed else graph.episodes & ~bank

    def _quantile(self, graph: Graph) -> float:
        places = np.flatnonzero(graph.episodes[graph.vectored["rows"]])
        first, second = pairs(len(places))
        if not len(first):
            return self.floor
        ours, theirs = (sidenet.apply(self.sidenet, graph.vectors.view[places[some]]) for some in (first, second))
        return float(np.quantile(np.einsum("ij,ij->i", ours, theirs), self.quantile))


def pairs(n: int) -> tuple[Rows, Rows]:
    """Pairs of n things, spread evenly without chance: all of them, or up to ``PAIRS`` of a low-discrepancy sequence.

    Martin Roberts' R2: multiples of the powers of the inverse plastic number, modulo 1.
    """
    if n * (n - 1) // 2 <= PAIRS:
        first, second = np.triu_indices(n, 1)
        return first, second
    steps = np.arange(1, PAIRS + 1)
    first, second = (np.floor(steps * _PLASTIC**-power % 1 * n).astype(np.intp) for power in (1, 2))
    return first[first != second], second[first != second]


FAITHFUL = Eisa(top=5, other_bank=0.0, below=False, leaves=True, whole_log=True, name="eisa-faithful")
"""As the README specifies: one bank is asked, the threshold cuts, and every retrieval is an episode.

It prints no number. The threshold, ``kappa`` and the cap of five are inferred (3.6), and the checker is ours."""
