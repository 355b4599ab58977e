"""EISA: the README's chronology rule, the gate, the two banks, and that asking is an episode. §: papers.md."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import weights
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import WrongVector
from ecphora.graph import Graph
from ecphora.memory import Memory
from ecphora.model import Access, AccessKind, Episode, Filter, NodeId, Query, Vector, WriteBatch
from ecphora.ports import Activation, Strategy
from ecphora.stages.eisa import chronology, necessity, side_network
from ecphora.stages.retrieval import filters
from ecphora.strategies.eisa import FAITHFUL, MAX_SAMPLE_PAIRS, Eisa, sample_pairs
from ecphora.testing import NOON, FakeClock, StrategyContract, sample_batch, sample_graph, sample_node, sample_query

FREE = replace(FAITHFUL, necessity_classifier=None, theta_sim=0.3)
"""The faithful one with everything in one bank, and a threshold that holds for any embedder of words."""
TURNED = replace(side_network.identity(16), a=side_network.identity(16).b * 0.5)
STRATEGIES = (
    Eisa(),
    FAITHFUL,
    FREE,
    Eisa(kappa=1.0),
    Eisa(side_net=TURNED),
    Eisa(necessity_classifier=None, kappa=0.0),
)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=("practical", "faithful", "free", "product", "turned", "plain"))
class TestEisa(StrategyContract):
    pass


# ---- §3.4, the chronology rule


def after(order: Sequence[str], retrieved: Sequence[str], new: str) -> list[str]:
    """The README's rule as a list, oldest first: the place in it, from 1, is the weight.

    The new episode comes last, before it the retrieved in their previous order, before them all others in theirs. A
    question asked before is the episode it was.
    """
    pushed = [one for one in order if one in retrieved and one != new]
    return [*(one for one in order if one not in retrieved and one != new), *pushed, new]


def ordered(graph: Graph) -> list[NodeId]:
    """The episodes by chronology weight, from 1 to n."""
    part = chronology.chronology_weight(graph, graph.episodes)
    rows = np.flatnonzero(graph.episodes)
    n = len(rows)
    assert np.allclose(np.sort(part[rows]) * n, np.arange(1, n + 1))
    return [graph.id(row) for row in rows[np.argsort(part[rows])].tolist()]


def logged(n: int, recalls: Sequence[tuple[Sequence[str], str]]) -> tuple[Graph, list[str]]:
    """A graph of n episodes after some recalls, logged as a memory logs them, and the order by the rule."""
    nodes = [sample_node(f"e{number}", seq=number) for number in range(1, n + 1)]
    touched: dict[str, int] = {node.id: node.seq for node in nodes}
    accesses: list[Access] = []
    seq, order = n, [node.id for node in nodes]
    for retrieved, new in recalls:
        for one in sorted(set(retrieved), key=touched.__getitem__):
            touched[one] = seq = seq + 1
            accesses.append(Access(one, NOON, AccessKind.RECALLED, 1.0, seq))
        touched_before = new in touched
        touched[new] = seq = seq + 1
        if touched_before:
            accesses.append(Access(new, NOON, AccessKind.ENCODED, 1.0, seq))
        else:
            nodes.append(sample_node(new, seq=seq))
        order = after(order, retrieved, new)
    return Graph().apply(WriteBatch(nodes=tuple(nodes), accesses=tuple(accesses), revision=1)), order


def test_the_worked_example() -> None:
    """e4 and e6 of six are retrieved, e7 is created: e7=7, e6=6, e4=5, e5=4, e3=3, e2=2, e1=1."""
    expected = ["e1", "e2", "e3", "e5", "e4", "e6", "e7"]
    assert after(["e1", "e2", "e3", "e4", "e5", "e6"], ["e6", "e4"], "e7") == expected
    assert ordered(logged(6, [(["e6", "e4"], "e7")])[0]) == expected


def test_the_worked_example_through_a_memory(tmp_path: Path) -> None:
    """The same, asked of a real memory: the answers come back best first, and are pushed in their previous order."""
    texts = ("grey stones", "tall trees", "cold rain", "ana sails boats", "loud trains", "ana sails boats ana sails")
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(256), strategy=FREE, clock=FakeClock()) as memory:
        for number, text in enumerate(texts, 1):
            memory.remember(text, id=f"e{number}")
        found = memory.recall("ana sails boats ana sails")
        assert [hit.id for hit in found] == ["e6", "e4"]
        new = ordered(memory.graph())[-1]
        assert ordered(memory.graph()) == ["e1", "e2", "e3", "e5", "e4", "e6", new]
        left = memory.get(new)
        assert left is not None
        assert (left.text, left.source) == ("ana sails boats ana sails", necessity.RECALL_SOURCE)
        again = memory.recall("ana sails boats ana sails")
        assert again[0].id == new, "what retrieval leaves can itself be retrieved"
        assert len(memory) == len(texts) + 1, "the same question is the same episode"
        assert ordered(memory.graph())[-3:] == ["e4", "e6", new]


def test_rank_of_the_last_touch_is_the_rule() -> None:
    """100 histories of 400 recalls: one counter and a sort give what shifting the list gives."""
    draw = np.random.default_rng(3)  # noqa: TID251  # a fixed seed: the histories are the same every time
    for _ in range(100):
        n = int(draw.integers(1, 8))
        recalls: list[tuple[list[str], str]] = []
        known = [f"e{number}" for number in range(1, n + 1)]
        for number in range(int(draw.integers(0, 9))):
            retrieved = draw.permutation(known)[: draw.integers(0, len(known) + 1)].tolist()
            new = f"q{number}" if draw.random() < 0.8 else str(draw.choice(known))
            recalls.append((retrieved, new))
            known = list(dict.fromkeys([*known, new]))
        graph, order = logged(n, recalls)
        assert ordered(graph) == order, recalls


@pytest.mark.parametrize(
    ("touch", "first"), [(AccessKind.STIMULATED, "e3"), (AccessKind.RECALLED, "e1"), (AccessKind.USED, "e1")]
)
def test_only_what_comes_back_is_touched(touch: AccessKind, first: NodeId) -> None:
    """§6.1: what another model merely stirred keeps its place in the order."""
    graph, _ = logged(3, [])
    grown = graph.apply(WriteBatch(accesses=(Access("e1", NOON, touch, 1.0, 4),), revision=2))
    assert ordered(grown)[-1] == first


WORDS = ("ana", "boat", "river", "mia", "school", "porto")
lines = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


@given(
    st.lists(lines, min_size=1, max_size=7, unique=True),
    st.lists(st.tuples(lines, st.sampled_from([None, "said"])), max_size=5),
)
def test_any_history_of_a_memory_keeps_the_rule(told: list[str], acts: list[tuple[str, str | None]]) -> None:
    """Whatever is asked, asked again, or told in between."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder, "m.db"), embedder=HashingEmbedder(64), strategy=FREE, clock=FakeClock()) as memory,
    ):
        order = [memory.remember(text).id for text in told]
        for text, said in acts:
            if said:
                told_now = memory.remember(text, source=said).id
                order = after(order, (), told_now)
            else:
                found = [hit.id for hit in memory.recall(text)]
                asked = memory.remember(text, source=necessity.RECALL_SOURCE)
                assert asked.existing, "the recall left this very episode behind"
                order = after(order, found, asked.id)
            assert ordered(memory.graph()) == order


# ---- §3.6, the score and the gate


def at(cosine: float) -> Vector:
    """A unit vector at this cosine to the cue."""
    return np.array([cosine, np.sqrt(1 - cosine**2)] + [0] * 14, np.float32)


def placed(*cosines: float, **fields: Any) -> tuple[Graph, Query]:
    """Episodes e1, e2, … stored in this order, at these cosines to the cue."""
    nodes = [sample_node(f"e{number}", seq=number, **fields) for number in range(1, len(cosines) + 1)]
    vectors = {node.id: at(cosine) for node, cosine in zip(nodes, cosines, strict=True)}
    return Graph().apply(sample_batch(*nodes, vectors=vectors, revision=1)), sample_query("ana?", vector=at(1.0))


def test_the_score_by_hand() -> None:
    """score = cos·(1−κ) + κ·cos·(w/n), and its two parts are told apart."""
    graph, cue = placed(0.8, 0.6, 0.4)
    found = replace(FREE, kappa=0.2).activate(cue, graph)
    assert found.scores == pytest.approx([0.8 * (0.8 + 0.2 / 3), 0.6 * (0.8 + 0.4 / 3), 0.4], abs=1e-6)
    assert found.contributions["dense similarity"] == pytest.approx([0.64, 0.48, 0.32], abs=1e-6)
    assert found.contributions["chronology"] == pytest.approx([0.16 / 3, 0.24 / 3, 0.08], abs=1e-6)
    assert replace(FREE, kappa=0.0).activate(cue, graph).scores == pytest.approx([0.8, 0.6, 0.4], abs=1e-6)
    assert replace(FREE, kappa=1.0).activate(cue, graph).scores == pytest.approx([0.8 / 3, 0.4, 0.4], abs=1e-6)


def test_recall_lifts_what_it_brings_back(tmp_path: Path) -> None:
    """Of two equal memories the later told comes first, until the other alone was brought back."""
    strategy = replace(FREE, store_query=False)
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(256), strategy=strategy, clock=FakeClock()) as memory:
        memory.remember("ana sails", id="old", source="a")
        memory.remember("ana sails", id="new", source="b")
        assert [hit.id for hit in memory.recall("ana sails", log_access=False)] == ["new", "old"]
        memory.recall("ana sails", where=Filter(sources="a"))
        assert [hit.id for hit in memory.recall("ana sails", log_access=False)] == ["old", "new"]


def test_the_gate_is_on_the_raw_cosine() -> None:
    """What order would lift over the threshold stays out, what order presses below it stays in."""
    graph, cue = placed(0.52, 0.9, 0.48)
    found = replace(FREE, theta_sim=0.5, kappa=0.5).activate(cue, graph)
    assert found.scores[0] < 0.48  # its score lies below the threshold, its cosine does not
    assert (found.scores > 0).tolist() == [True, True, False]
    assert found.confidence == pytest.approx(0.9)
    nothing = replace(FREE, theta_sim=0.95).activate(cue, graph)
    assert not nothing.scores.any()
    assert nothing.confidence == 0


def test_at_most_five_come_back() -> None:
    graph, cue = placed(*np.linspace(0.4, 0.9, 9).tolist())
    found = FREE.activate(cue, graph)
    assert np.flatnonzero(found.scores).tolist() == [4, 5, 6, 7, 8]
    assert np.count_nonzero(replace(FREE, max_hits=0).activate(cue, graph).scores) == 9


cosines = st.lists(st.floats(0.0625, 0.9375, width=32), min_size=1, max_size=12)


@given(cosines, st.floats(0, 0.99), st.floats(0.05, 0.9))
def test_practical_loses_nothing_and_keeps_the_gate(given_: list[float], kappa: float, theta: float) -> None:
    """Rows below the threshold follow, each; none passes one above it, and order lifts no row over its cosine."""
    graph, cue = placed(*given_)
    found = Eisa(necessity_classifier=None, kappa=kappa, theta_sim=theta).activate(cue, graph).scores
    cosine = np.array(given_, np.float32)
    above = cosine >= theta + 1e-5
    below = cosine < theta - 1e-5
    assert (found > 0).all()
    assert (found <= cosine + 1e-5).all()
    if above.any() and below.any():
        assert found[above].min() >= found[below].max() - 1e-5
    faithful = replace(FREE, kappa=kappa, theta_sim=theta, max_hits=0).activate(cue, graph).scores
    assert faithful[above] == pytest.approx(found[above])
    assert not faithful[below].any()


def test_the_threshold_is_a_quantile_of_stored_pairs() -> None:
    """All pairs of a few memories; at least the floor; a set one is taken as it is."""
    graph, _ = placed(0.1, 0.9, 0.95, 0.99)
    vectors = graph.vectors.view
    every = [float(a @ b) for a, b in combinations(vectors, 2)]
    assert Eisa(quantile=0.5).threshold(graph) == pytest.approx(np.quantile(every, 0.5), abs=1e-6)
    assert Eisa().threshold(graph) == pytest.approx(np.quantile(every, 0.95), abs=1e-6)
    assert Eisa(quantile=0.0).threshold(graph) == pytest.approx(max(0.25, min(every)))
    assert Eisa().threshold(placed(0.5)[0]) == 0.25
    assert Eisa(theta_sim=0.1).threshold(graph) == 0.1


def test_many_pairs_are_sampled_evenly() -> None:
    """No row with itself, every part of the rows in both places, and the quantile is that of all pairs."""
    n = 500
    first, second = sample_pairs(n)
    assert len(first) > 0.99 * MAX_SAMPLE_PAIRS
    assert (first != second).all()
    for side in (first, second):
        counts = np.histogram(side, 10, (0, n))[0]
        assert counts.min() > 0.8 * MAX_SAMPLE_PAIRS / 10
    values = np.sin(np.arange(n) * 12.9898) * 43758.5453 % 1
    every = [abs(a - b) for a, b in combinations(values, 2)]
    assert np.quantile(np.abs(values[first] - values[second]), 0.95) == pytest.approx(
        np.quantile(every, 0.95), abs=0.02
    )


# ---- §3.1 and §3.2, the two banks

MATTER = "Entropy, a measure of arrangements. " + " ".join(f"word{number}" for number in range(150))


def banks() -> tuple[Graph, Query]:
    """Two turns and two paragraphs, all equally near to the cue."""
    nodes = [
        sample_node("t1", "I sail.", seq=1, speaker="Ana"), sample_node("p1", MATTER, seq=2),
        sample_node("t2", "You sail.", seq=3, speaker="Ben"), sample_node("p2", MATTER, seq=4),
    ]  # fmt: skip
    vectors = {node.id: at(0.8) for node in nodes}
    return Graph().apply(sample_batch(*nodes, vectors=vectors, revision=1)), sample_query("ana?", vector=at(1.0))


def test_faithful_asks_one_bank() -> None:
    """A cue that needs episodes finds episodes, w of n counted among them; another finds nothing and leaves nothing."""
    graph, cue = banks()
    found = replace(FAITHFUL, theta_sim=0.3).activate(cue, graph)
    assert found.scores == pytest.approx([0.8 * 0.9, 0, 0.8, 0], abs=1e-6)
    assert found.new_episode == Episode("ana?", source=necessity.RECALL_SOURCE)
    matter = sample_query(MATTER, vector=at(1.0))
    assert not necessity.needs_episodes(matter, weights.load_necessity_classifier())
    found = FAITHFUL.activate(matter, graph)
    assert not found.scores.any()
    assert found.new_episode is None


def test_practical_asks_the_other_bank_after_it() -> None:
    """Nothing is lost, and a cue that needs no episodes turns the banks round."""
    graph, cue = banks()
    practical = Eisa(theta_sim=0.3, kappa=0.0, other_bank_weight=0.5)
    assert practical.activate(cue, graph).scores == pytest.approx([0.8, 0.4, 0.8, 0.4], abs=1e-6)
    turned = practical.activate(sample_query(MATTER, vector=at(1.0)), graph)
    assert turned.scores == pytest.approx([0.4, 0.8, 0.4, 0.8], abs=1e-6)
    assert turned.new_episode is None
    assert replace(practical, necessity_classifier=None).activate(cue, graph).scores == pytest.approx(
        [0.8] * 4, abs=1e-6
    )


def test_what_recalling_leaves_is_an_episode() -> None:
    """However it looks: it was answered from episodes, so later questions find it there."""
    nodes = [sample_node("q", MATTER, seq=1, source=necessity.RECALL_SOURCE), sample_node("p", MATTER, seq=2)]
    graph = Graph().apply(sample_batch(*nodes, revision=1))
    assert necessity.episodic_bank(graph, weights.load_necessity_classifier()).tolist() == [True, False]


def test_practical_leaves_nothing() -> None:
    for text in ("Where does Ana live?", MATTER):
        assert Eisa().activate(sample_query(text), sample_graph(7)).new_episode is None


# ---- what is not searched


def test_what_may_not_come_back_has_no_score() -> None:
    graph, _ = placed(0.9, 0.8, speaker="Ana")
    cue = sample_query("ana?", vector=at(1.0), where=Filter(speakers="Ben"))
    assert not Eisa().activate(cue, graph).scores.any()


def test_without_a_vector_nothing_is_found() -> None:
    """EISA compares vectors and nothing else; those of a text that the embedder cannot read are not believed."""
    cue = sample_query("Where does Ana live?")
    assert not Eisa().activate(replace(cue, vector=None), sample_graph(7)).scores.any()
    unread = Eisa().activate(replace(cue, embedder_coverage=0.0), sample_graph(7))
    assert unread.scores.any()
    assert unread.confidence == 0


def test_the_faithful_values() -> None:
    """The README's mechanisms; its numbers are inferred (§3.6)."""
    values = {
        "theta_sim": None,
        "quantile": 0.95,
        "min_threshold": 0.25,
        "kappa": 0.2,
        "max_hits": 5,
        "other_bank_weight": 0.0,
        "include_below_threshold": False,
        "store_query": True,
        "side_net": None,
        "name": "eisa-faithful",
    }
    assert {name: getattr(FAITHFUL, name) for name in values} == values
    assert FAITHFUL.necessity_classifier is not None


# ---- §3.2, the side network


def scored(strategy: Strategy) -> Activation:
    return strategy.activate(sample_query("Where does Ana live in Porto?"), sample_graph(7))


def test_an_untrained_side_network_changes_nothing() -> None:
    plain, with_net = scored(Eisa()), scored(Eisa(side_net=side_network.identity(16)))
    assert with_net.scores == pytest.approx(plain.scores, abs=1e-3)  # the samples are of length 1 to three digits


def test_a_trained_side_network_turns_the_scores() -> None:
    """The cosine is that of the mapped vectors, and so is the threshold."""
    graph, cue = sample_graph(7), sample_query("Where does Ana live in Porto?")
    found = Eisa(side_net=TURNED, necessity_classifier=None, kappa=0.0).activate(cue, graph)
    assert cue.vector is not None
    ours, theirs = (side_network.map_vectors(TURNED, vectors) for vectors in (cue.vector[None], graph.vectors.view))
    rows = graph.vector_rows["rows"]
    expected = np.where(filters.eligible(graph, cue)[rows], np.maximum(0, theirs @ ours[0]), 0)
    assert found.scores[rows] == pytest.approx(expected, abs=1e-5)
    assert np.abs(found.scores - scored(Eisa(necessity_classifier=None, kappa=0.0)).scores).max() > 0.01
    every = [float(a @ b) for a, b in combinations(theirs, 2)]
    assert Eisa(side_net=TURNED, min_threshold=-1).threshold(graph) == pytest.approx(np.quantile(every, 0.95), abs=1e-5)


def test_a_side_network_of_another_embedder_is_refused() -> None:
    with pytest.raises(WrongVector, match="384 numbers"):
        scored(Eisa(side_net=side_network.identity(384)))
