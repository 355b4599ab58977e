"""SYNAPSE: what a question touches activates what belongs to it, over turns and concepts.

Jiang et al. (11 authors), "SYNAPSE", arXiv 2601.02744, January 2026 (v3 February 2026). Neither its full text nor its
code could be had: the equations come from secondary sources; sections (§) are those of docs/papers.md. Not
"Synapse: Trajectory-as-Exemplar Prompting", another paper. No semantic node is written: the layer of concepts follows
from the graph, see :mod:`ecphora.stages.layers`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Cue, Kind, Mask, Scores
from ..ports import Activation
from ..reprs import ShortRepr
from ..stages import choose, fuse, gate, spread, trigger
from ..stages.dormancy import dormant
from ..stages.layers import Layer, Plan, layer
from ..stages.trigger import Touched

PLAN = Plan(tau_dup=1.0, lag=0.02)
"""``N``, ``K``, ``rho`` as published. deviation: no concepts merge, for means of what is said of two names come close.
deviation: a memory of more than 500 turns consolidates less often, when a fiftieth of it is new at the latest."""
NODES = 10
"""A graph of fewer nodes is too small to refuse by, or to spread in: the paper's cold start."""
E0 = 30
"""Edges around the anchors from which a graph is trusted wholly. inferred: §2.10, 1."""
DROWNED = 0.2
"""The tunnelling index from which the last iteration is done again, with half of β, and of each inhibitor's part by
``1 + ln fan`` less. inferred: §2.10, 2."""
LISTED = 30
"""What counts as listed where nothing is cut: the paper's top-k."""
LATEST = 0.1
"""How much being the last turn counts in a memory too small to spread in. inferred."""


@dataclass(frozen=True, slots=True, repr=False)
class Synapse(ShortRepr):
    """The symbols of the paper with its values, and below them what is ours; each can be switched off.

    ``tau_gate`` 0 switches the gate off, ``W`` 0 dormancy, ``T`` 0 spreading; ``top_k`` 0 returns all that is active.
    ``anchors`` are taken by each trigger; ``fan`` divides by the out-degree. ``context``: both triggers also read each
    turn together with the turn before it. ``by_words``: the words that make an anchor count in its score, as half of
    how near it is. ``unreached``: what nothing reached is scored too. ``protected``: no anchor of both triggers is
    inhibited below its cosine, and where anchors drown the last iteration is done gently. ``gradual``: the fewer edges
    there are, the less they count. ``grounded``: above the gate, confidence asks what the best memories say.
    """

    alpha: float = 1.0  # inferred: from an implementation alone
    delta: float = 0.5
    S: float = 0.8
    T: int = 3
    beta: float = 0.15
    M: int = 7
    gamma: float = 5.0
    theta: float = 0.5
    lambda1: float = 0.5
    lambda2: float = 0.3
    lambda3: float = 0.2
    epsilon: float = 0.01
    W: int = 0  # deviation: off, for no retrieval is logged row by row; published 10
    top_k: int = 0  # deviation: the caller's limit cuts; published 30
    tau_gate: float = 0.1  # recalibrated by `gate.calibrated`, on musique; published .12
    anchors: int = 10  # inferred: §2.8
    lexical: bool = True
    fan: bool = True
    plan: Plan = PLAN
    context: bool = True
    by_words: bool = True
    unreached: bool = True
    protected: bool = True
    gradual: bool = True
    grounded: bool = True
    whole_log: bool = False  # `FAITHFUL` keeps every access; the last of each memory serve as well
    name: str = "synapse"

    def activate(self, cue: Cue, graph: Graph, /) -> Activation:
        """Let the activation of the anchors spread, and score every episode that it reaches."""
        allowed = choose.allowed(graph, cue)
        if not allowed.any():
            return Activation(graph.zeros())
        touched = trigger.touched(
            graph, cue, allowed, self.anchors, lexical=self.lexical, context=self.context, by_words=self.by_words
        )
        web = layer(graph, self.plan)
        wave = self._spread(graph, touched, web, allowed)
        shares = self._shares(graph, touched, wave, web, allowed)
        if self.protected and self._tunnels(touched, wave, shares, allowed):  # §2.10, 2
            fan = web.leaving(graph, np.flatnonzero(wave.u)).fan(len(graph))
            wave = self._fired(wave, touched, self.beta / 2, 1 + np.log(np.maximum(1, fan)))
            shares = self._shares(graph, touched, wave, web, allowed)
        scores = fuse.summed(shares)
        if self.top_k:  # §2.4, 5
            listed = choose.best(scores, allowed, self.top_k)
            scores *= np.isin(np.arange(len(graph)), listed)
        felt = np.where(graph.episodes & (wave.active >= self.epsilon), wave.active, 0)
        return Activation(
            scores=scores,
            shares=shares,
            trails={"activation": spread.trail(graph.episodes, wave.by)},
            stimulus=felt if self.W else np.zeros(0, np.float32),
            confidence=self._confidence(cue, graph, touched, scores, float(wave.active.max())),
        )

    def _spread(self, graph: Graph, touched: Touched, web: Layer, allowed: Mask) -> spread.Wave:
        """§2.4, 2 and 3: T iterations from the anchors."""
        awake = allowed | ~graph.episodes
        if self.W:  # §2.5: what sleeps has left the graph, but may still be an anchor
            awake &= ~dormant(graph, self.W)
        active = graph.zeros()
        active[touched.anchors] = self.alpha * touched.start[touched.anchors]
        wave = spread.still(active)
        for _ in range(self.T):
            ways = web.leaving(graph, np.flatnonzero(wave.active))
            wave = spread.travel(wave, ways, awake, S=self.S, delta=self.delta, divided=self.fan)
            wave = self._fired(wave, touched, self.beta)
        return wave

    def _fired(
        self, wave: spread.Wave, touched: Touched, beta: float, damped: spread.Numbers | None = None
    ) -> spread.Wave:
        """Inhibition and sigmoid, the end of an iteration."""
        held = spread.inhibit(wave.u, beta=beta, M=self.M, damped=damped)
        if self.protected:
            both = np.intersect1d(touched.lexical, touched.dense)
            held[both] = np.maximum(held[both], np.minimum(wave.u[both], touched.start[both]))
        return spread.fire(wave, held, gamma=self.gamma, theta=self.theta)

    def _shares(
        self, graph: Graph, touched: Touched, wave: spread.Wave, web: Layer, allowed: Mask
    ) -> dict[str, Scores]:
        """§2.4, 4: the parts of the score, of episodes that are anchors, are reached, or are near."""
        scored = wave.active > 0
        scored[touched.anchors] = True
        if self.unreached:
            scored |= touched.near > 0
        rank = graph.zeros()
        rank[: len(web.rank)] = web.rank
        g = self._trust(graph, touched, web) if self.gradual else 1.0
        shares = {
            "near": g * self.lambda1 * touched.near + (1 - g) * touched.near,
            "activation": g * self.lambda2 * wave.active,
            "importance": g * self.lambda3 * rank,
        }
        shares = {part: (share * (scored & allowed)).astype(np.float32) for part, share in shares.items()}
        if self.gradual and _small(graph):
            rows = np.flatnonzero(allowed)
            shares["last turns"] = graph.zeros()
            shares["last turns"][rows] = LATEST * np.arange(1, len(rows) + 1) / len(rows)
        return shares

    def _trust(self, graph: Graph, touched: Touched, web: Layer) -> float:
        """g of §2.10, 1: counted are the edges that leave the anchors and their neighbours, none in a small graph."""
        around = np.union1d(touched.anchors, web.leaving(graph, touched.anchors).dst)
        return 0.0 if _small(graph) else min(1.0, len(web.leaving(graph, around)) / E0)

    def _tunnels(self, touched: Touched, wave: spread.Wave, shares: Mapping[str, Scores], allowed: Mask) -> bool:
        best = np.union1d(touched.lexical[:5], touched.dense[:5])
        listed = choose.best(fuse.summed(shares), allowed, self.top_k or LISTED)
        return spread.tunnelling(best, listed, wave) > DROWNED

    def _confidence(self, cue: Cue, graph: Graph, touched: Touched, scores: Scores, highest: float) -> float:
        """§2.4, 6: below the gate there is no evidence, whatever else speaks for it."""
        if not (scores > 0).any():
            return 0.0
        gated = gate.banded(highest, 0.0 if _small(graph) else self.tau_gate)
        if not self.grounded:
            return gated
        sure = gate.confidence(graph, cue, scores, touched.cosine, fuse.of_best(touched.near))
        return sure if gated >= gate.WEAK else min(sure, gated)


def _small(graph: Graph) -> bool:
    """Whether a graph has too few nodes; a question that was asked is none of them."""
    return len(graph) - int(graph.of_kind(Kind.QUESTION).sum()) < NODES


FAITHFUL = Synapse(
    W=10, top_k=30, tau_gate=0.12, plan=Plan(whole_window=True), context=False, by_words=False, unreached=False,
    protected=False, gradual=False, grounded=False, whole_log=True, name="synapse-faithful",
)  # fmt: skip
"""The paper as far as secondary sources tell; where they give no number the constant is inferred (2.8)."""
