"""SynapticRAG, arXiv 2410.13553: its worked values (papers.md 1.5 to 1.7), its read path, and its replay from the
log.

This file is over 400 lines because the tests of one paper stand in one file, as its strategy does.
"""
# ruff: noqa: N803, N806, SIM300  # the paper's symbols

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import Filter, Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation, Strategy, WritesOnStore
from ecphora.model.types import Access, AccessKind, Kind, Node, Query, Vector, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies.baselines import Dense
from ecphora.strategies.synaptic import lif_neuron, temporal_association
from ecphora.strategies.synaptic.adjacent_turns import adjacent_stimuli
from ecphora.strategies.synaptic.lif_neuron import Neuron, NeuronState, StimulusOutcome, TimeConstant
from ecphora.strategies.synaptic.network_state import NetworkState, network_state
from ecphora.strategies.synaptic.spike_trains import SpikeTrains
from ecphora.strategies.synaptic.strategy import FAITHFUL, PublishedSynaptic, Synaptic
from ecphora.strategies.synaptic.threshold_calibration import cosine_quantile
from ecphora.testing import NOON, TURNS, FakeClock, StrategyContract, graph_differences, sample_node, sample_query

PAPERS = Path(__file__).parents[2] / "docs" / "explanation" / "papers.md"
PRACTICAL, REMEDIED = Synaptic(), PublishedSynaptic()
STIM = replace(
    FAITHFUL,
    use_temporal_score=False,
    cos_th=0.47610,
    v_th=0.13329,
    stimulus_th=0.11621,
    tau_init=45.845,
    tau_scale=1.18473,
    time_scale=3.80215,
    bond_scale=7.72244,
    v_rest=3.57921,
    i_rest=-3.34567,
    name="stim",
)
LIF = replace(
    FAITHFUL,
    use_dynamic_tau=False,
    cos_th=0.20524,
    v_th=0.16126,
    stimulus_th=0.16736,
    tau_init=45.606,
    tau_scale=0.51392,
    time_scale=4.09465,
    bond_scale=0.78514,
    v_rest=4.13581,
    i_rest=-2.21911,
    name="lif",
)
PROP = replace(
    FAITHFUL, stimulus_th=0.0, cos_th=0.45299, v_th=0.15450, tau_init=41.1390, tau_scale=4.24408, time_scale=0.73982,
    bond_scale=7.69490, v_rest=6.30719, i_rest=-6.74479, name="prop",
)  # fmt: skip
"""The ablations with the constants that were tuned for them (1.2)."""


@pytest.mark.parametrize("strategy", [PRACTICAL, REMEDIED, FAITHFUL], ids=lambda one: one.name)
class TestContract(StrategyContract):
    pass


def test_faithful_has_the_published_values() -> None:
    """1.2, the table; every deviation of the practical preset is off."""
    values = {
        "cos_th": 0.26234455963372794,
        "v_th": 0.09965483747846116,
        "stimulus_th": 0.036644412598255786,
        "tau_init": 43.071022365235635,
        "tau_scale": 2.7037589108368674,
        "time_scale": 7.933361005067098,
        "bond_scale": 0.4636666711414976,
        "v_rest": 2.9030838107636145,
        "i_rest": -7.127504404013959,
        "use_temporal_score": True,
        "use_dynamic_tau": True,
        "max_generations": math.inf,
        "alignment_version": 2,
        "is_physiological": False,
        "is_cue_timeless": False,
        "rank_by_stimulus": False,
        "epsilon": 0,
        "max_spikes": None,
        "band": None,
        "adjacency_tau": 0,
        "writes_on_store": True,
        "name": "synaptic-faithful",
    }
    assert {name: getattr(FAITHFUL, name) for name in values} == values


def test_defaults_are_the_values_of_the_published_table() -> None:
    """1.2: each class that holds some of them, and which."""
    section = PAPERS.read_text("utf-8").partition("### 1.2 ")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| `(\w+)` \| ([−.\d]+) \| [^|]+ \|$", section, re.MULTILINE)
    published = {name: float(value.replace("−", "-")) for name, value in rows}
    of_time_constant, of_neuron = {"tau_init", "tau_scale", "time_scale"}, {"v_th", "v_rest", "i_rest"}
    names_by_holder = {
        TimeConstant(): of_time_constant,
        Neuron(): of_neuron,
        PRACTICAL: {"bond_scale"},
        REMEDIED: {*of_time_constant, *of_neuron, "bond_scale", "stimulus_th"},  # cos_th is a quantile there
        FAITHFUL: {*of_time_constant, *of_neuron, "bond_scale", "stimulus_th", "cos_th"},
    }
    assert published.keys() == names_by_holder[FAITHFUL]
    for holder, names in names_by_holder.items():
        assert {name: getattr(holder, name) for name in names} == {name: published[name] for name in names}


# ---- 1.5 the temporal association score


@pytest.mark.parametrize(
    ("A", "B", "L", "T", "scaled"),
    [
        ([0], [0], 1.000000, 0.731059, 0.338967),
        ([0], [0, 10], 1.919502, 0.872083, 0.404356),
        ([0, 10], [0, 12], 1.983356, 0.879038, 0.407581),
        ([20], [0, 10, 15], 2.723894, 0.938422, 0.435115),
    ],
)
def test_temporal_score_equals_the_published_values(
    A: list[float], B: list[float], L: float, T: float, scaled: float
) -> None:
    tau = FAITHFUL.neuron.time_constant.of_pair(np.ones(1), np.ones(1))
    assert tau == pytest.approx([119.157419], abs=1e-6)
    found = temporal_association.cumulative_similarity(_train(A), _train(B), tau)
    assert found == pytest.approx([L], abs=1e-6)
    assert temporal_association.temporal_score(found) == pytest.approx([T], abs=1e-6)
    assert temporal_association.temporal_score(found) * FAITHFUL.bond_scale == pytest.approx([scaled], abs=1e-6)


@pytest.mark.medium
def test_temporal_score_of_one_spike_is_a_discounted_count(tmp_path: Path) -> None:
    """papers.md 6.1: the T of the first hop follows from the list of access times."""
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(32), strategy=FAITHFUL, clock=FakeClock()) as memory:
        memory.remember(TEXTS[:12])
        graph = memory.graph()
    state, times = network_state(graph, FAITHFUL.neuron), _logged_turns(graph)
    rows, now = np.arange(12), np.full(12, float(state.now))
    tau = FAITHFUL.neuron.time_constant.of_pair(np.ones(1), state.neurons.tau)
    since_firing = [
        turns[-int(count) :] for turns, count in zip(times, state.spikes.counts, strict=True)
    ]  # a neuron that fires drops its spikes
    assert max(map(len, times)) > 3
    assert temporal_association.discounted_count(now, state.spike_trains(rows), tau) == pytest.approx(
        [sum(math.exp(-(13 - t) / row_tau) for t in turns) for turns, row_tau in zip(since_firing, tau, strict=True)]
    )
    counted = temporal_association.discounted_count(
        now, state.spike_trains(rows), np.full(12, np.inf)
    )  # with a kernel of 1 it is a plain count
    assert counted.tolist() == [len(turns) for turns in since_firing]


# ---- 1.6 the neuron as published


@pytest.mark.parametrize("S", [0.0367, 0.1, 0.2, 0.3, 0.46])
def test_published_neuron_fires_after_five_turns_at_any_stimulus(S: float) -> None:
    after = {N: _stimulate_at_rest(FAITHFUL.neuron, S, N) for N in (0, 1, 4, 5, 6, 100)}
    assert [N for N, outcome in after.items() if outcome.has_fired[0]] == [5, 6, 100]
    assert 0.0989 <= round(float(after[4].potential[0]), 4) <= 0.0990
    assert 0.1242 <= round(float(after[5].potential[0]), 4) <= 0.1244
    assert after[100].potential == pytest.approx(after[5].potential)  # it fired at step 5 and stopped
    assert after[0].state.V[0] == after[0].state.I[0] == 0  # no turn, no step


@pytest.mark.parametrize("N", [0, 1, 2, 50])
def test_published_neuron_fires_again_after_firing(N: int) -> None:
    fired = _stimulate_at_rest(FAITHFUL.neuron, 0.1, 5)
    assert (fired.state.V[0], fired.state.I[0]) == (FAITHFUL.v_rest, FAITHFUL.i_rest)
    again = lif_neuron.stimulate(FAITHFUL.neuron, fired.state, np.array([0.04]), np.array([N]))
    assert again.has_fired[0] == (N >= 1)


def test_published_neuron_waits_again_where_no_potential_is_kept() -> None:
    fired = _stimulate_at_rest(replace(FAITHFUL, keeps_potential=False).neuron, 0.1, 5)
    assert fired.has_fired[0]
    assert (fired.state.V[0], fired.state.I[0]) == (0, 0)
    below = _stimulate_at_rest(FAITHFUL.neuron, 0.1, 4)
    assert not below.has_fired[0]
    assert 0 < below.state.V[0] < FAITHFUL.v_th  # as published, it is kept


def test_tau_grows_by_almost_one_per_stimulus() -> None:
    """papers.md 1.7: by 0.99928 after one turn."""
    one = FAITHFUL.neuron.time_constant.update(np.ones(1), np.array([1]))
    assert one - 1 == pytest.approx([0.99928], abs=1e-5)
    unchanged = FAITHFUL.neuron.time_constant.update(np.ones(1), np.array([0]))
    assert unchanged.tolist() == [1.0]
    assert LIF.neuron.time_constant.update(np.ones(1), np.array([9])) == pytest.approx([LIF.tau_init * LIF.tau_scale])


# ---- 1.6 the physiological neuron


def test_physiological_neuron_at_rest_fires_from_e_times_the_threshold() -> None:
    threshold = math.e * REMEDIED.v_th
    assert threshold == pytest.approx(0.2709, abs=1e-4)
    for N in (0, 1, 30, 10_000):  # after any number of turns
        assert not _stimulate_at_rest(REMEDIED.neuron, threshold - 1e-6, N).has_fired[0]
        assert _stimulate_at_rest(REMEDIED.neuron, threshold + 1e-6, N).has_fired[0]


def test_physiological_neuron_sums_stimuli_within_their_decay() -> None:
    first = _stimulate_at_rest(REMEDIED.neuron, 0.2, 10)
    assert not first.has_fired[0]
    fired = {
        N: bool(lif_neuron.stimulate(REMEDIED.neuron, first.state, np.array([0.2]), np.array([N])).has_fired[0])
        for N in (1, 60, 120, 1000)
    }
    assert fired == {1: True, 60: True, 120: True, 1000: False}
    again = lif_neuron.stimulate(REMEDIED.neuron, first.state, np.array([0.2]), np.array([1]))
    assert (again.state.V[0], again.state.I[0]) == (0, 0)  # it starts again at rest


# ---- 1.4 the read path, against the published loops


@dataclass
class Record:
    """A record of the reference implementation (1.1)."""

    id: int
    vector: Vector
    spike: list[int]
    v: float = 0.0
    i: float = 0.0
    tau: float = 1.0
    fire: float | None = None


def propagate(s: PublishedSynaptic, records: dict[int, Record], source: Record) -> dict[int, tuple[Record, float]]:
    """The reference implementation: the published loops of 1.4 to 1.6. Stimuli are rounded as the log rounds them."""
    parents, excluded = [(source, 1.0)], set[int]()
    reached: dict[int, tuple[Record, float]] = {}
    while parents:
        excluded |= {p.id for p, _ in parents}
        children: dict[int, tuple[Record, float]] = {}
        for p, S_p in parents:
            cosines = [(float(p.vector @ c.vector), c) for c in records.values() if c.id not in excluded]
            for cos, c in sorted(cosines, key=lambda pair: -pair[0]):
                S = S_p * cos * (_coupling(s, p, c) * s.bond_scale if s.use_temporal_score else 1)
                if cos < float(s.cos_th or 0) or S < s.stimulus_th or (c.id in children and children[c.id][1] > S):
                    continue
                S = float(np.float32(S))
                children[c.id] = (_stimulate_record(s, c, S, source.id), S)
        for id_, (record, _) in children.items():
            records[id_] = record
        reached |= children
        parents = list(children.values())
    return reached


def _coupling(s: PublishedSynaptic, p: Record, c: Record) -> float:
    tau = (0.5 * (p.tau + c.tau) + s.tau_init) * s.tau_scale
    L: dict[tuple[int, int], float] = {}
    for i, a in enumerate(p.spike):
        for j, b in enumerate(c.spike):
            previous = [L[cell] for cell in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if cell in L]
            L[i, j] = math.exp(-abs(a - b) / tau) + min(previous, default=0.0)
    return 1 / (1 + math.exp(-L[len(p.spike) - 1, len(c.spike) - 1]))


def _stimulate_record(s: PublishedSynaptic, c: Record, S: float, now: int) -> Record:
    N = now - c.spike[-1]
    tau = c.tau + (1 - math.exp(-N * s.time_scale)) / (1 + math.exp(-N * s.time_scale))
    t = (tau + s.tau_init) * s.tau_scale
    if not s.use_dynamic_tau:
        tau = t = s.tau_init * s.tau_scale
    v, i = c.v, c.i
    for j in range(N):
        i += (-i + (S if j == 0 else 0) - s.i_rest) / t
        v += (-(v - s.v_rest) + i) / t
        if v >= s.v_th:
            return Record(c.id, c.vector, [now], s.v_rest, s.i_rest, tau, v)
    return Record(c.id, c.vector, [*c.spike, now], v, i, tau)


VARIANTS = {
    "published": replace(FAITHFUL, cos_th=0.15),
    "never fires": replace(FAITHFUL, cos_th=0.1, v_rest=0.0, i_rest=0.0, stimulus_th=0.01),
    "without T": replace(STIM, cos_th=0.2),
    "constant tau": replace(LIF, cos_th=0.1, stimulus_th=0.02),
    "no control": replace(PROP, cos_th=0.2, bond_scale=0.9),
}
"""Lower thresholds than published, because the vectors of these tests come from few words."""


@pytest.mark.medium
@pytest.mark.parametrize("strategy", VARIANTS.values(), ids=VARIANTS.keys())
def test_storing_equals_the_published_loop(strategy: PublishedSynaptic) -> None:
    """Compares for every record the stimulus, the firing, the published order, and the state after it."""
    records: dict[int, Record] = {}
    hops = 0
    for turn, (graph, query, grown) in enumerate(_store_one_by_one(strategy, TEXTS[:16]), 1):
        source = Record(turn, _vector(query), [turn])
        reached = propagate(strategy, records, source)
        records[turn] = source
        activation = strategy.activate(query, graph)
        stimuli = np.flatnonzero(activation.stimulus).tolist()
        assert [row + 1 for row in stimuli] == sorted(reached)
        assert activation.stimulus[stimuli] == pytest.approx([reached[row + 1][1] for row in stimuli], rel=1e-5)
        potentials = {id_ - 1: _published_rank(record) for id_, (record, _) in reached.items()}
        ranked = [potentials[row] for row in np.argsort(-activation.scores, kind="stable") if row in potentials]
        assert ranked == pytest.approx(sorted(potentials.values(), reverse=True), abs=1e-6)
        state = network_state(grown, strategy.neuron)
        assert np.stack(state.neurons.columns(), 1) == pytest.approx(
            np.array([(r.v, r.i, r.tau) for r in records.values()]), abs=1e-6
        )
        assert _spikes(state) == [r.spike for r in records.values()]
        hops = max(hops, _depth(activation))
    assert hops >= 2


def test_stimulus_spreads_two_hops_at_cosines_of_six_tenths() -> None:
    """papers.md 1.4: damped by T and ``bond_scale``, the stimulus is below ``stimulus_th`` at the third hop."""
    graph, query = _circle(53.13, 3), _at(-53.13)
    activation = FAITHFUL.activate(query, graph)
    assert np.flatnonzero(activation.stimulus).tolist() == [0, 1]
    assert activation.paths["fired"].parent.tolist() == [-1, 0, -1, -1]
    assert _depth(replace(FAITHFUL, stimulus_th=0.0).activate(query, graph)) == 4
    assert np.flatnonzero(replace(FAITHFUL, max_generations=1).activate(query, graph).stimulus).tolist() == [0]


def test_faithful_ranks_fired_before_stimulated_and_leaves_out_the_rest() -> None:
    graph = _circle(20, 12)
    activation = FAITHFUL.activate(
        _at(200.0), graph
    )  # similar to some memories of five turns ago and to some later ones
    fired, is_stimulated = activation.contributions["fired"] > 0, activation.stimulus > 0
    assert fired.any()
    assert (is_stimulated & ~fired).any()
    assert activation.scores[fired].min() > 1 > activation.scores[is_stimulated & ~fired].max() > 0
    assert (activation.scores > 0).tolist() == is_stimulated.tolist()


# ---- replay: the state follows from the log


@pytest.mark.medium
def test_replay_of_the_log_equals_the_activations(tmp_path: Path) -> None:
    """In a real memory, stored and recalled in turns, the state follows from the log alone, reloaded or grown."""
    history = replace(PRACTICAL, writes_on_store=True)
    for strategy in (
        replace(FAITHFUL, cos_th=0.15),
        replace(REMEDIED, quantile=0.5, v_th=0.03),
        replace(history, keeps_potential=True, name="potential"),
        replace(history, counts_past_spikes=True, name="spikes"),
        replace(history, keeps_potential=True, counts_past_spikes=True, name="both"),
    ):
        clock, path = FakeClock(), tmp_path / f"{strategy.name}.db"
        predicted: list[Prediction] = []
        with Memory(
            path, embedder=HashingEmbedder(32), strategy=Spy(strategy, predicted.append), clock=clock
        ) as memory:
            for place, text in enumerate(TEXTS[:15]):
                memory.remember(text)
                predicted[-1].check(network_state(memory.graph(), strategy.neuron))
                clock.advance(minutes=1)
                if place % 5 == 4:
                    memory.recall(TEXTS[place - 3])
                    predicted[-1].check(network_state(memory.graph(), strategy.neuron))
                    clock.advance(minutes=1)
            grown = memory.graph()
        assert sum(one.outcome.has_fired.sum() for one in predicted) > 3
        with Memory(path, embedder=HashingEmbedder(32), strategy=strategy, clock=clock) as memory:
            again = memory.graph()
            assert graph_differences(grown, again) == []
            _assert_equal(network_state(again, strategy.neuron), network_state(grown, strategy.neuron))
            memory.forget(again.id(3))  # the log without it is replayed again
            assert len(network_state(memory.graph(), strategy.neuron).spikes.last_spikes) == len(memory.graph())


@dataclass
class Prediction:
    """The state that an activation predicts for the rows that it stimulates."""

    now: int
    rows: np.ndarray[tuple[int], np.dtype[np.intp]]
    outcome: StimulusOutcome

    def check(self, state: NetworkState) -> None:
        """Assert that the state from the log is the same."""
        for found, expected in zip(
            state.neurons.select(self.rows).columns(), self.outcome.state.columns(), strict=True
        ):
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)
        assert (state.spikes.access_turns.view[state.spikes.last_spikes[self.rows]] == self.now).all()
        assert (state.spikes.counts[self.rows] == 1).tolist() == self.outcome.has_fired.tolist()


@dataclass
class Spy:
    """A strategy that reports what it activates."""

    strategy: Synaptic | PublishedSynaptic
    report: Callable[[Prediction], None]
    writes_on_store: bool = True
    name: str = field(default="spy")

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Activate, and report the predicted state."""
        activation = self.strategy.activate(query, graph)
        rows = np.flatnonzero(activation.stimulus)
        state = network_state(graph, self.strategy.neuron)
        stimuli = activation.stimulus[rows].astype(np.float64)
        outcome = lif_neuron.stimulate(
            self.strategy.neuron, state.neurons.select(rows), stimuli, state.turns_since_spike(rows)
        )
        has_fired = activation.contributions.get("fired", graph.zeros())[rows] > 0
        # Where the cue sends nothing, a memory that fires by what is passed on has no contribution "fired".
        is_shown = has_fired | (activation.contributions.get("stimulus", np.ones(len(graph)))[rows] > 0)
        assert has_fired[is_shown].tolist() == outcome.has_fired[is_shown].tolist()
        self.report(Prediction(state.now, rows, outcome))
        return activation


def test_turn_clock_counts_episodes() -> None:
    """Stimuli of storing belong to the stored turn; stimuli of a recall come a turn after the newest."""
    nodes = [sample_node(f"t{seq}", seq=seq) for seq in (1, 2, 4)]
    late = NOON + timedelta(minutes=1)
    accesses = (
        Access("t1", NOON, AccessKind.STIMULATED, 0.1, seq=3),  # came with t2, which was recorded at noon
        Access("t1", late, AccessKind.STIMULATED, 0.1, seq=5),  # came a minute after t4
        Access("t2", late, AccessKind.RECALLED, 0.1, seq=6),  # not a stimulus
    )
    vectors = {node.id: _point(0) for node in nodes}
    graph = apply_batch(Graph(), WriteBatch(nodes=tuple(nodes), vectors=vectors, accesses=accesses, revision=1))
    never = Neuron(is_physiological=True, v_th=math.inf)
    state = network_state(graph, never)
    assert state.now == 4
    assert _spikes(state) == [[1, 2, 4], [2], [3]]
    assert _spikes(state, last=2) == [[2, 4], [2], [3]]


# ---- the practical preset


@pytest.mark.medium
def test_practical_without_adjacency_ranks_by_cosine(tmp_path: Path) -> None:
    """The rank does not depend on earlier accesses: the same questions are asked after stimuli."""
    strategy = replace(REMEDIED, adjacency_tau=0)
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(32), strategy=strategy, clock=FakeClock()) as memory:
        memory.remember(TEXTS)
        graph = memory.graph()
        for text in TEXTS[:8]:
            query = memory.build_query(text)
            dense, ours = Dense().activate(query, graph).scores, strategy.activate(query, graph).scores
            near = dense > 0.3
            assert np.argsort(-ours[near], kind="stable").tolist() == np.argsort(-dense[near], kind="stable").tolist()
            timed = replace(strategy, is_cue_timeless=False).activate(query, graph).scores
            assert np.abs(timed[near] / dense[near] - (timed[near] / dense[near])[0]).max() > 0.01


def test_practical_stimulates_few_and_faithful_all() -> None:
    """papers.md 1.11.1: of 101 similar memories a turn stimulates 20, since 1 is 0.05 of 20; as published, all."""
    graph, query = _circle(0.1, 100), _at(4.98)
    assert np.count_nonzero(FAITHFUL.activate(query, graph).stimulus) == 101
    practical = replace(REMEDIED, cos_th=0.5).activate(query, graph)
    assert np.count_nonzero(practical.stimulus) == 20
    assert np.count_nonzero(practical.scores) == 101
    sent = practical.scores - practical.contributions["adjacent turn"]
    assert np.count_nonzero(sent >= sent[practical.stimulus > 0].min()) == 20


def test_path_of_an_alignment_leaves_the_diagonal_by_at_most_four_spikes() -> None:
    """papers.md 1.11.2. The first memory passes the cue's stimulus on to the second, times T of their spike trains.

    τ is 2.1 turns: W is e^(-1/2.1) for the first spikes, at turns 1 and 2, 1 for the last, now, and about 0 for spikes
    20 turns apart. Both have ``count`` spikes at turn 23, and any two of these have W = 1. A path that leaves the
    diagonal by ``count`` cells meets no two of them; within a narrower band it meets two, which adds 1.
    """
    nodes = [sample_node(f"t{turn}", seq=turn + 1 if turn < 22 else turn + 21) for turn in range(42)]
    vectors = {node.id: _point(180) for node in nodes} | {"t0": _point(0), "t1": _point(40)}
    strategy = replace(REMEDIED, cos_th=0.6, v_th=math.inf, tau_init=1.1, tau_scale=1.0, time_scale=0.0)

    def temporal_score(strategy: PublishedSynaptic, count: int) -> float:
        stimulated = [("t0", 23 + place) for place in range(count)] + [("t1", 30 + place) for place in range(count)]
        accesses = tuple(
            Access(id_, NOON + timedelta(minutes=1), AccessKind.STIMULATED, 0.1, seq)
            for id_, seq in (*stimulated, ("t1", 63))
        )
        batch = WriteBatch(nodes=tuple(nodes), vectors=vectors, accesses=accesses, revision=1)
        sent, passed_on = strategy.activate(_at(-40), apply_batch(Graph(), batch)).stimulus[:2].tolist()
        return passed_on / (sent * math.cos(math.radians(40)) * strategy.bond_scale)

    without, with_one = (1 / (1 + math.exp(-math.exp(-1 / 2.1) - met)) for met in (1, 2))
    assert temporal_score(strategy, 4) == pytest.approx(without, abs=1e-3)
    assert temporal_score(strategy, 5) == pytest.approx(with_one, abs=1e-3)
    assert temporal_score(replace(strategy, band=None), 5) == pytest.approx(without, abs=1e-3)


def test_adjacent_turns_get_a_part_of_the_stimulus() -> None:
    """Computed by hand: the cue equals memory 4 of ten and stimulates no other."""
    angles = [90.0, 90, 90, 60, 0, 45, 90, 90, 90, 90]
    graph, strategy = _successive(angles), replace(REMEDIED, cos_th=0.9)
    found = strategy.activate(_at(0.0), graph)
    assert np.flatnonzero(found.stimulus).tolist() == [4]
    scale = strategy.bond_scale
    T = 2 / (1 + math.exp(-math.exp(-1 / 3))) - 1  # a turn away
    assert found.contributions["adjacent turn"][[3, 5]] == pytest.approx(
        [scale * scale * cos * T for cos in (0.5, 0.5**0.5)]
    )
    assert found.contributions["adjacent turn"][[0, 4, 9]] == pytest.approx([0, 0, 0])
    assert found.paths["adjacent turn"].parent[[3, 5]].tolist() == [4, 4]
    for without in ({"adjacency_tau": 0}, {"use_temporal_score": False}, {"max_generations": 1}):
        assert not replace(strategy, **without).activate(_at(0.0), graph).contributions["adjacent turn"].any()
    assert replace(strategy, max_generations=2).activate(_at(0.0), graph).contributions["adjacent turn"].any()


@pytest.mark.medium
@given(
    st.lists(st.integers(0, 359), min_size=2, max_size=30),
    st.sets(st.integers(0, 29), min_size=1, max_size=5),
    st.sampled_from([0.3, 1.0, 3.0]),
)
def test_adjacent_stimuli_equal_the_reference(angles: list[int], chosen: set[int], tau: float) -> None:
    graph = _successive(angles)
    rows = np.array(sorted({row % len(angles) for row in chosen}))
    S = np.linspace(0.1, 0.5, len(rows), dtype=np.float64)
    expected: dict[int, float] = {}
    for row, strength in zip(rows.tolist(), S.tolist(), strict=True):
        for other in range(len(angles)):
            away = abs(row - other)
            cos = float(graph.vectors.view[row] @ graph.vectors.view[other])
            T = 2 / (1 + math.exp(-math.exp(-away / tau))) - 1
            if 0 < away <= int(5 * tau) and cos > 0:
                expected[other] = max(expected.get(other, 0.0), strength * cos * T * 0.5)
    found = adjacent_stimuli(graph, rows, S, np.ones(len(graph), np.bool_), scale=0.5, tau=tau)
    got = {row: value for row, value in enumerate(found.S.tolist()) if value > 1e-9}
    assert got == pytest.approx({row: value for row, value in expected.items() if value > 1e-9}, abs=1e-6)


def test_dissimilar_memories_do_not_fire() -> None:
    graph = _circle(5, 10)
    near, far = REMEDIED.activate(_at(10.0), graph), replace(REMEDIED, cos_th=0.3).activate(_at(120.0), graph)
    assert (near.contributions["fired"] > 0).any()
    assert near.confidence > 0.5 > far.confidence > 0
    assert not (far.contributions["fired"] > 0).any()
    assert np.flatnonzero(far.stimulus).size > 0  # stimulated, but too weakly to fire


@pytest.mark.medium
def test_ineligible_memories_are_not_stimulated(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(32), strategy=REMEDIED, clock=FakeClock()) as memory:
        for speaker, session, text in TURNS:
            memory.remember(text, speaker=speaker, session=session)
        graph = memory.graph()
        ana = [row for row, (speaker, _, _) in enumerate(TURNS) if speaker == "Ana"]
        query = memory.build_query(f"Ben and Ana: {TURNS[ana[0]][2]}", where=Filter(speakers="Ana"))
        for strategy in (REMEDIED, replace(FAITHFUL, cos_th=0.0)):
            activation = strategy.activate(query, graph)
            episodes = np.flatnonzero(graph.episodes)
            assert set(np.flatnonzero(activation.stimulus)) <= set(episodes[ana])
            assert set() < set(np.flatnonzero(activation.scores)) <= set(episodes[ana])


def test_uncovered_text_keeps_its_scores_and_has_no_confidence() -> None:
    graph, query = _circle(5, 10), _at(10.0)
    for strategy in (REMEDIED, FAITHFUL):
        read, unread = (strategy.activate(replace(query, embedder_coverage=part), graph) for part in (1.0, 0.0))
        assert unread.scores.tolist() == read.scores.tolist()
        assert read.confidence > unread.confidence == 0


def test_cosine_threshold_is_a_quantile_of_sampled_pairs() -> None:
    graph = _circle(3, 29)
    cosines = graph.vectors.view @ graph.vectors.view.T
    among = cosines[:16, :16][np.triu_indices(16, 1)]  # the first 2^4 of 30
    assert cosine_quantile(graph, 0.95) == pytest.approx(np.quantile(among, 0.95))
    assert cosine_quantile(Graph(), 0.95) == 0
    assert cosine_quantile(_circle(180, 2), 0.5) == 0  # opposite vectors: the threshold is not negative


def test_faithful_writes_on_store_and_practical_does_not() -> None:
    """The practical preset has no stimuli of earlier cues (lab/models.md)."""
    assert isinstance(FAITHFUL, WritesOnStore)
    assert FAITHFUL.writes_on_store
    assert not PRACTICAL.writes_on_store
    strategy: Strategy = FAITHFUL
    assert strategy.name == "synaptic-faithful"


# ---- data and helpers

_WORDS = (
    "river",
    "boat",
    "school",
    "lunch",
    "porto",
    "ana",
    "mia",
    "june",
    "rain",
    "bridge",
    "song",
    "letter",
    "cat",
    "map",
)
TEXTS = [
    f"{_WORDS[a % 14]} {_WORDS[(a * a + 1) % 14]} {_WORDS[(3 * a + 2) % 14]} {_WORDS[(a // 2) % 14]} {a}"
    for a in range(30)
]
"""Turns, some of which share words."""


def _train(times: Sequence[float]) -> SpikeTrains:
    return SpikeTrains(np.array(times, float), np.array([0, len(times)]))


def _stimulate_at_rest(constants: Neuron, S: float, N: int) -> StimulusOutcome:
    return lif_neuron.stimulate(constants, NeuronState.initial(1), np.array([S]), np.array([N]))


def _store_one_by_one(strategy: PublishedSynaptic, texts: Sequence[str]) -> Iterator[tuple[Graph, Query, Graph]]:
    """Store texts one by one as a memory does; yields the graph before each, its cue, and the graph with it."""
    vectors = HashingEmbedder(32).embed(texts)
    graph, seq = Graph(), 0
    for turn, (text, vector) in enumerate(zip(texts, vectors, strict=True), 1):
        query = Query(text, NOON, vector=vector)
        grown, seq = _with(graph, sample_node(f"t{turn}", text), vector, strategy.activate(query, graph), seq)
        yield graph, query, grown
        graph = grown


def _with(graph: Graph, node: Node, vector: Vector, activation: Activation, seq: int) -> tuple[Graph, int]:
    rows = np.flatnonzero(activation.stimulus).tolist()
    stimuli = tuple(
        Access(graph.id(row), node.recorded_at, AccessKind.STIMULATED, float(activation.stimulus[row]), seq + 2 + place)
        for place, row in enumerate(rows)
    )
    batch = WriteBatch(
        nodes=(replace(node, seq=seq + 1),), vectors={node.id: vector}, accesses=stimuli, revision=graph.revision + 1
    )
    return apply_batch(graph, batch), seq + 1 + len(stimuli)


def _vector(query: Query) -> Vector:
    assert query.vector is not None
    return query.vector


def _published_rank(record: Record) -> float:
    return record.v + 100 if record.fire is None else record.fire + 1000


def _spikes(state: NetworkState, last: int | None = None) -> list[list[float]]:
    trains = state.spike_trains(np.arange(len(state.spikes.last_spikes)), max_spikes=last)
    return [trains.times[a:b].tolist() for a, b in zip(trains.starts[:-1], trains.starts[1:], strict=True)]


def _logged_turns(graph: Graph) -> list[list[int]]:
    """The turns of every row's accesses, counted by hand; all accesses of these tests come from storing."""
    episodes = graph.nodes["seq"][graph.of_kind(Kind.EPISODE)]
    return [
        [int((episodes <= access.seq).sum()) for access in graph.accesses_of(row)]
        for row in np.flatnonzero(graph.episodes).tolist()
    ]


def _depth(activation: Activation) -> int:
    parents = activation.paths["fired"].parent if activation.paths else np.empty(0, np.intp)
    depths = []
    for row in np.flatnonzero(activation.stimulus).tolist():
        depth, at = 1, row
        while (at := int(parents[at])) >= 0:
            depth += 1
        depths.append(depth)
    return max(depths, default=0)


def _assert_equal(a: NetworkState, b: NetworkState) -> None:
    assert np.stack(a.neurons.columns()) == pytest.approx(np.stack(b.neurons.columns()))
    assert _spikes(a) == _spikes(b)
    assert a.now == b.now


def _point(degrees: float) -> Vector:
    angle = math.radians(degrees)
    return np.array([math.cos(angle), math.sin(angle)], np.float32)


def _at(degrees: float) -> Query:
    return sample_query("?", vector=_point(degrees))


def _circle(step: float, count: int) -> Graph:
    """Memories around a circle, ``step`` degrees apart from 0 on, stored without stimulating each other."""
    return _successive([step * place for place in range(count + 1)])


def _successive(angles: Sequence[float]) -> Graph:
    """Successive memories with vectors at these angles, stored without stimulating each other."""
    nodes = [sample_node(f"t{place}", seq=place + 1) for place in range(len(angles))]
    vectors = {node.id: _point(angle) for node, angle in zip(nodes, angles, strict=True)}
    return apply_batch(Graph(), WriteBatch(nodes=tuple(nodes), vectors=vectors, revision=1))
