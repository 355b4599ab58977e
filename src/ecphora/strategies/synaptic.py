"""SynapticRAG: every memory is a neuron, and storing is querying.

Yuki Hou, Haruki Tamoto, Qinghua Zhao, Homei Miyashita, "SynapticRAG: Enhancing Temporal Memory Retrieval in Large
Language Models through Synaptic Mechanisms", Findings of ACL 2025, pp. 20422-20436, arXiv 2410.13553. Sections are
those of docs/papers.md, which has equations and constants from the authors' code.

A cue stimulates the memories like it, these pass a weakened stimulus on, and those whose membrane potential crosses a
threshold fire: they are what is recalled. Potential, current, time constant and spike train of each memory follow from
the access log (``stages/charge.py``); nothing but the stimuli is stored.
"""
# ruff: noqa: N803, N806  # the paper's symbols

import math
from dataclasses import dataclass, replace

import numpy as np

from ..graph import Graph
from ..model import Cue, Rows, Scores
from ..ports import Activation, Trail
from ..reprs import ShortRepr
from ..stages import choose, seed
from ..stages.background import background
from ..stages.charge import charged
from ..stages.neuron import Floats, Neuron, stimulated
from ..stages.spikes import Trains
from ..stages.stimulus import Bond, Delivered, Parents, Receivers, Wave, beside, strongest

TINY = float(np.finfo(np.float32).tiny)
"""A stimulus of 0 is none, even where ``stimulus_th`` is 0."""


@dataclass(frozen=True, slots=True, repr=False)
class Synaptic(ShortRepr):
    """The published constants (1.2), and what was made of them for use.

    Two memories are connected when cos >= ``cos_th``; None takes the ``quantile`` of the cosines of stored pairs. A
    stimulus below ``stimulus_th`` does not count. ``bond_scale`` damps every hop. A memory fires at ``v_th``; ``tau_*``
    and ``time_scale`` shape its time constant, ``v_rest`` and ``i_rest`` are the rest values of the published neuron.

    Ablations: without ``temporal`` the stimulus is the cosine, without ``dynamic`` time constants do not grow,
    ``stimulus_th=0`` controls no propagation, ``generations=1`` propagates nothing, ``version=1`` aligns spike trains
    as arXiv version 1 did.

    deviations of the practical mode, each switched off in ``FAITHFUL``: ``physiological``, the exact neuron at rest 0,
    for the published one fires after five turns whatever reaches it (1.6). ``timeless``, a cue has no spike of its own
    and T = 1 at the first hop, for there T is nothing but recency. ``by_stimulus``, memories are ranked by the stimulus
    that the cue sends them, whether it is enough to stir them or not. ``epsilon``, of what a cue reaches only the
    strongest is stirred, while it adds that part of what was added before (1.11.1). ``last`` and ``band``, spike trains
    and their tables are cut (1.11.2). ``beside``, what the cue stirs adds to what was told beside it, with this time
    constant in turns, for that of the neurons, 119 and more, tells nothing of the turns of one talk from each other.
    """

    cos_th: float | None = None
    v_th: float = 0.09965483747846116
    stimulus_th: float = 0.036644412598255786
    tau_init: float = 43.071022365235635
    tau_scale: float = 2.7037589108368674
    time_scale: float = 7.933361005067098
    bond_scale: float = 0.4636666711414976
    v_rest: float = 2.9030838107636145
    i_rest: float = -7.127504404013959
    temporal: bool = True
    dynamic: bool = True
    generations: float = math.inf
    version: int = 2
    physiological: bool = True
    timeless: bool = True
    by_stimulus: bool = True
    quantile: float = 0.95  # inferred: 1.11.3
    epsilon: float = 0.05  # inferred: 1.11.1
    last: int | None = 16  # inferred: 1.11.2
    band: int | None = 4  # inferred: 1.11.2
    beside: float = 3.0  # inferred: 1.11.3, the time scale of what is told together; 0 for none
    storing_is_querying: bool = True
    whole_log: bool = False  # `FAITHFUL` keeps every access; the last of each memory serve as well
    name: str = "synaptic"

    @property
    def neuron(self) -> Neuron:
        """The constants of every memory's neuron; its state is kept by them."""
        return Neuron(
            self.v_th, self.tau_init, self.tau_scale, self.time_scale, self.v_rest, self.i_rest,
            self.physiological, self.dynamic,
        )  # fmt: skip

    def activate(self, cue: Cue, graph: Graph, /) -> Activation:
        """Stimulate, generation by generation (1.4), and rank what was reached."""
        open_ = choose.allowed(graph, cue) & (graph.vector_places >= 0)
        if cue.vector is None or not open_.any():
            return Activation(graph.zeros())
        # SR-code, ablation: without T the stimulus is S_p cos, undamped.
        bond = Bond(self.bond_scale if self.temporal else 1, self.temporal, self.version, self.last, self.band)
        cos_th = background(graph, self.quantile) if self.cos_th is None else self.cos_th
        to = Receivers(graph, charged(graph, self.neuron), self.neuron, bond, cos_th)
        parents = Parents(
            np.array([-1]), cue.vector[None], np.ones(1), np.ones(1),
            Trains.single(np.array([float(to.state.now)])),
        )  # fmt: skip
        wave = Wave.over(graph)
        reached = self._first(to, parents, np.where(open_, seed.meaning(graph, cue), -1), wave)
        parents, generation = self._stir(to, parents, reached, wave), 1
        if self.beside and self.temporal and generation < self.generations:
            near = beside(graph, parents, scale=self.bond_scale, tau=self.beside)
            wave.beside[near.rows] = near.S * open_[near.rows]
            wave.beside_by[near.rows] = parents.rows[near.by]
        while len(parents) and generation < self.generations:
            open_[reached.rows] = False  # a memory is reached once
            reached = strongest(to, parents, open_, self._least(wave))
            parents, generation = self._stir(to, parents, reached, wave), generation + 1
        return self._ranked(wave, cue.meaning)

    def _least(self, wave: Wave) -> float:
        """What a stimulus must be to count: ``stimulus_th``, and ``epsilon`` of what was stirred so far (1.11.1)."""
        return max(self.stimulus_th, self.epsilon * float(wave.stimulus.sum()), TINY)

    def _first(self, to: Receivers, cue: Parents, cos: Scores, wave: Wave) -> Delivered:
        """What the cue sends to the memories like it."""
        if self.timeless:
            to = replace(to, bond=replace(to.bond, temporal=False))
        rows = np.flatnonzero(cos > 0 if self.by_stimulus else cos >= to.cos_th)
        S = to.passed(cue, np.zeros(len(rows), np.intp), rows, cos[rows].astype(np.float64))
        wave.S[rows] = S
        enough = np.flatnonzero((cos[rows] >= to.cos_th) & (self._least(wave) <= S))
        return Delivered(rows[enough], S[enough], np.zeros(len(enough), np.intp))

    def _stir(self, to: Receivers, parents: Parents, reached: Delivered, wave: Wave) -> Parents:
        """Stimulate what was reached; those stirred, fired or not, are the next parents."""
        taken = self._strong(reached.S, float(wave.stimulus.sum()))
        # What is logged is a 32-bit number: replaying it must give the same.
        rows, S = reached.rows[taken], reached.S[taken].astype(np.float32).astype(np.float64)
        outcome = stimulated(self.neuron, to.state.charge.of(rows), S, to.state.waited(rows))
        wave.stimulus[rows] = S
        wave.S[rows] = np.maximum(wave.S[rows], S)
        wave.fired[rows], wave.potential[rows] = outcome.fired, outcome.potential
        wave.by[rows] = parents.rows[reached.by[taken]]
        vectors = to.graph.vectors.view[to.graph.vector_places[rows]]
        return Parents(
            rows, vectors, S, outcome.charge.tau, to.state.trains(rows, last=self.last, spike=~outcome.fired)
        )

    def _strong(self, S: Floats, mass: float) -> Rows:
        """Those to stir, ascending: the strongest first, while each adds ``epsilon`` of the mass stirred before it."""
        order = np.argsort(-S, kind="stable")
        before = mass + np.cumsum(S[order]) - S[order]
        enough = S[order] >= self.epsilon * before
        return np.sort(order if enough.all() else order[: int(enough.argmin())])

    def _ranked(self, wave: Wave, read: float) -> Activation:
        """By stimulus, or in the published order (1.4): fired V + 1000, stimulated V + 100, others not at all.

        What stirs though the embedder does not ``read`` the cue's language is found, and not believed.
        """
        stirred = wave.stimulus > 0
        if self.by_stimulus:
            sent, shared = wave.S.astype(np.float32), wave.beside.astype(np.float32)
            scores = sent + shared
            shares = {"fired": np.where(wave.fired, sent, 0), "stimulus": np.where(wave.fired, 0, sent)}
            shares["told beside"] = shared
            highest = float(wave.S.max()) / math.e  # the potential that it causes in a memory at rest
        else:
            # As float32, V + 1000 keeps two digits of V: in place of V stands its rank, in 0..1, which keeps the order.
            potential = np.zeros(len(wave.S), np.float32)
            heights, rank = np.unique(wave.potential[stirred], return_inverse=True)
            potential[stirred] = (rank + 1) / (len(heights) + 1)
            shares = {"fired": wave.fired.astype(np.float32), "potential": potential}
            scores = shares["fired"] + potential
            highest = float(wave.potential[stirred].max(initial=0.0))
        nowhere = np.full(len(scores), -1, np.intp)
        trails = dict.fromkeys(shares, Trail(wave.by, nowhere)) | {"told beside": Trail(wave.beside_by, nowhere)}
        sure = float(np.clip(highest / (2 * self.v_th), 0, 1))  # inferred: 0.5 where something just fires
        return Activation(
            scores=scores,
            shares=shares,
            trails=trails,
            stimulus=wave.stimulus.astype(np.float32),
            confidence=read * sure,
        )


FAITHFUL = Synaptic(
    cos_th=0.26234455963372794,
    physiological=False,
    timeless=False,
    by_stimulus=False,
    epsilon=0,
    last=None,
    band=None,
    beside=0,
    whole_log=True,
    name="synaptic-faithful",
)
"""The published model with the constants of the authors' code."""
