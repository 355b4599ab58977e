"""MyAgent and MemoryBank, the baselines of SynapticRAG's paper: they rank by the time since a memory's last recall.

MyAgent: Yuki Hou, Haruki Tamoto, Homei Miyashita, "My agent understands me better", CHI EA 2024. MemoryBank: Wanjun
Zhong et al., "MemoryBank: Enhancing Large Language Models with Long-Term Memory", AAAI 2024. Both as in the benchmark
of SynapticRAG's authors (docs/explanation/papers.md 1.2 and 1.6), where a stored turn is a query too, and time is
counted in turns.
The presets ``*_ADAPTED`` have the constants that the authors tuned for them. They are not among the built-in
strategies, but can be chosen by name.

What the baselines of SynapticRAG's paper keep of each memory: when it was last recalled, how often, and MyAgent's g.

Replayed from the access log, as the neurons are: every ``STIMULATED`` access is a recall. Time is in turns.
"""

from dataclasses import dataclass

import numpy as np

from ...model.graph.columns import rank_in_group
from ...model.graph.graph import Graph
from ...model.ports import Activation
from ...model.types import AccessKind, Floats, Query, Rows
from ...retrieval import dense, filters
from .spike_trains import Turns, access_turns, current_turn


@dataclass(frozen=True, slots=True)
class RetentionState:
    """The recalls of every row, one entry a row, before a query at turn ``now``.

    ``last`` is the turn of its last recall, at first the turn of its encoding, ``recalls`` their number, and ``g`` the
    decay constant that MyAgent consolidates at every recall, 1 at first.
    """

    now: int
    last: Turns
    recalls: Turns
    g: Floats

    def turns_since(self, rows: Rows) -> Floats:
        """Turns since the last recall of some rows."""
        since: Floats = (self.now - self.last[rows]).astype(np.float64)
        return since


def consolidate(g: Floats, t: Floats) -> Floats:
    """g_n = g_(n-1) + (1 - e^-t) / (1 + e^-t) (papers.md 1.6); the fraction is tanh(t / 2)."""
    consolidated: Floats = g + np.tanh(t / 2)
    return consolidated


def retention_state(graph: Graph, *, t_scale: float = 1.0) -> RetentionState:
    """The state of every row of a graph; ``t_scale`` multiplies the turns between the recalls that ``g`` counts."""
    return graph.derive(
        ("retention state", t_scale), lambda grown, _before: _replay(grown, t_scale), depends_on_log=True
    )


def _replay(graph: Graph, t_scale: float) -> RetentionState:
    n, accesses, turns = len(graph), graph.accesses, access_turns(graph, 0)
    last, recalls, g = np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n)
    rows = accesses["rows"].astype(np.intp)
    is_encoding = graph.has_access_kind(AccessKind.ENCODED) & (accesses["seq"] == graph.nodes["seq"][rows])
    last[rows[is_encoding]] = turns[is_encoding]
    events = np.flatnonzero(graph.has_access_kind(AccessKind.STIMULATED) & graph.episodes[rows])
    nth = _nth_of_row(rows[events])
    for round_ in range(int(nth.max(initial=-1)) + 1):
        chosen = events[nth == round_]
        row = rows[chosen]
        g[row] = consolidate(g[row], t_scale * (turns[chosen] - last[row]))
        last[row] = turns[chosen]
        recalls[row] += 1
    return RetentionState(current_turn(graph), last, recalls, g)


def _nth_of_row(rows: Rows) -> Rows:
    """For each event, how many earlier events its row has."""
    order = np.argsort(rows, kind="stable")
    nth = np.empty(len(rows), np.intp)
    nth[order] = rank_in_group(rows[order])
    return nth


MAX_EXPONENT = 700.0
"""Exponents are cut here, so that no constant overflows."""


@dataclass(frozen=True, slots=True)
class MyAgent:
    """p = (1 - exp(-r e^(-t/g))) / (1 - e^-1) of relevance r, the cosine, and t turns since the last recall.

    Memories whose cosine is ``cos_th`` or more come first; the memory among them with the highest p is recalled, which
    sets t to 0 and makes g grow. The scales multiply r, t and g.
    """

    cos_th: float = 0.29789779752986595
    r_scale: float = 1.0
    t_scale: float = 1.0
    g_scale: float = 1.0
    writes_on_store: bool = True
    needs_full_log: bool = True
    name: str = "myagent"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score every memory with a vector by p, plus 1 if it is similar; the first memory is recalled."""
        eligible = filters.eligible(graph, query)
        rows = np.flatnonzero(eligible & (graph.vector_positions >= 0))
        if query.vector is None or not len(rows):
            return Activation(graph.zeros(), eligible=eligible)
        r = dense.cosine(graph, query)[rows].astype(np.float64)
        is_similar, p = r >= self.cos_th, self.recall_probability(graph, rows, r)
        contributions = {"recall probability": graph.zeros(), "similar": graph.zeros()}
        contributions["recall probability"][rows] = p
        contributions["similar"][rows] = is_similar
        stimulus = graph.zeros()
        if is_similar.any() and (best := np.where(is_similar, p, 0)).max() > 0:
            stimulus[rows[int(best.argmax())]] = 1
        scores = np.add(contributions["recall probability"], contributions["similar"])
        confidence = query.embedder_coverage * float(np.where(is_similar, p, 0).max())
        return Activation(scores, contributions, stimulus=stimulus, confidence=min(1.0, confidence), eligible=eligible)

    def recall_probability(self, graph: Graph, rows: Rows, r: Floats) -> Floats:
        """The probability p of recalling some rows, of relevance ``r``; 0 where r is negative or g is 0."""
        state = retention_state(graph, t_scale=self.t_scale)
        t = self.t_scale * state.turns_since(rows)
        g = self.g_scale * consolidate(state.g[rows], t)
        decay = np.exp(np.clip(np.divide(-t, g, out=np.full(len(g), -np.inf), where=g != 0), None, MAX_EXPONENT))
        p: Floats = (1 - np.exp(-self.r_scale * np.maximum(r, 0) * decay)) / (1 - np.exp(-1))
        return p


@dataclass(frozen=True, slots=True)
class MemoryBank:
    """Retention exp(-t / (5 s)), t turns since the last recall; the strength s is 1 and grows by 1 at every recall.

    In the authors' benchmark the question takes no part in the ranking. At each query, the ``top_k`` best retained
    memories are recalled, among memories whose retention is at least ``forget_th``.

    deviations: the benchmark's code writes exp(-t / 5 * s), which is another function; and it compares the retention
    with a random number, where this compares it with 1/2 (the adapted preset has a threshold in the code too).
    """

    top_k: int = 6
    forget_th: float = 0.5  # inferred
    t_scale: float = 1.0
    s_scale: float = 5.0
    s_init: float = 0.0
    writes_on_store: bool = True
    needs_full_log: bool = True
    name: str = "memorybank"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score every episode by its retention; the best are recalled."""
        eligible = filters.eligible(graph, query)
        rows = np.flatnonzero(eligible)
        scores, stimulus = graph.zeros(), graph.zeros()
        retention = self.retention(graph, rows)
        scores[rows] = retention
        best = rows[np.argsort(-retention, kind="stable")[: self.top_k]]
        stimulus[best[scores[best] >= self.forget_th]] = 1
        return Activation(scores, {"retention": scores}, stimulus=stimulus, eligible=eligible)

    def retention(self, graph: Graph, rows: Rows) -> Floats:
        """The retention of some rows."""
        state = retention_state(graph)
        strength = self.s_scale * (1 + state.recalls[rows] + self.s_init)
        retention: Floats = np.exp(-self.t_scale * state.turns_since(rows) / strength)
        return retention


MYAGENT_ADAPTED = MyAgent(
    cos_th=0.4883045193285688,
    r_scale=10.065875376215798,
    t_scale=-1.7206431501722226,
    g_scale=-2.051249524639003,
    name="myagent-adapted",
)
"""MyAgent(Adt), with the constants that were tuned for the benchmark."""

MEMORYBANK_ADAPTED = MemoryBank(
    top_k=7,
    forget_th=0.1228678247013086,
    t_scale=13.822352233638473,
    s_scale=9.061441851888521,
    s_init=0.04955758686562217,
    name="memorybank-adapted",
)
"""MemoryBank(Adt), with the constants that were tuned for the benchmark."""
