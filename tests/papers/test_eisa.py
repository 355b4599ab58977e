"""EISA: the README's chronology rule, the gate, the two banks, and stored questions. §: papers.md."""

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

from ecphora import RecallOptions
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Access, AccessKind, Episode, Filter, NodeId, Query, Vector, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval import filters
from ecphora.strategies.eisa import episodic_necessity, side_network, weights
from ecphora.strategies.eisa.banks import episodic_bank
from ecphora.strategies.eisa.chronology import chronology_weight
from ecphora.strategies.eisa.similarity_gate import MAX_SAMPLE_PAIRS, sample_pairs
from ecphora.strategies.eisa.strategy import FAITHFUL, Eisa
from ecphora.testing import NOON, FakeClock, StrategyContract, sample_batch, sample_graph, sample_node, sample_query

FREE = replace(FAITHFUL, necessity_classifier=None, theta_sim=0.3)
"""The faithful preset with one bank for everything, and a threshold that suits any embedder of words."""
TRAINED_NET = replace(side_network.identity(16), a=side_network.identity(16).b * 0.5)
STRATEGIES = (
    Eisa(),
    FAITHFUL,
    FREE,
    Eisa(kappa=1.0),
    Eisa(side_net=TRAINED_NET),
    Eisa(necessity_classifier=None, kappa=0.0),
)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=("practical", "faithful", "free", "product", "side-net", "plain"))
class TestEisa(StrategyContract):
    pass


# ---- §3.4, the chronology rule


def expected_order(order: Sequence[str], retrieved: Sequence[str], new: str) -> list[str]:
    """The README's rule as a list, oldest first: the position in it, from 1, is the weight.

    The new episode comes last, before it the retrieved ones in their previous order, before them all others in theirs.
    A repeated question is the same episode.
    """
    moved = [one for one in order if one in retrieved and one != new]
    return [*(one for one in order if one not in retrieved and one != new), *moved, new]


def chronology_order(graph: Graph) -> list[NodeId]:
    """The episodes by chronology weight, from 1 to n."""
    weight = chronology_weight(graph, graph.episodes)
    rows = np.flatnonzero(graph.episodes)
    n = len(rows)
    assert np.allclose(np.sort(weight[rows]) * n, np.arange(1, n + 1))
    return [graph.id(row) for row in rows[np.argsort(weight[rows])].tolist()]


def log_recalls(n: int, recalls: Sequence[tuple[Sequence[str], str]]) -> tuple[Graph, list[str]]:
    """A graph of n episodes after some recalls, logged as a memory does it, and the order by the rule."""
    nodes = [sample_node(f"e{number}", seq=number) for number in range(1, n + 1)]
    last_access: dict[str, int] = {node.id: node.seq for node in nodes}
    accesses: list[Access] = []
    seq, order = n, [node.id for node in nodes]
    for retrieved, new in recalls:
        for one in sorted(set(retrieved), key=last_access.__getitem__):
            last_access[one] = seq = seq + 1
            accesses.append(Access(one, NOON, AccessKind.RECALLED, 1.0, seq))
        is_known = new in last_access
        last_access[new] = seq = seq + 1
        if is_known:
            accesses.append(Access(new, NOON, AccessKind.ENCODED, 1.0, seq))
        else:
            nodes.append(sample_node(new, seq=seq))
        order = expected_order(order, retrieved, new)
    return apply_batch(Graph(), WriteBatch(nodes=tuple(nodes), accesses=tuple(accesses), revision=1)), order


def test_chronology_equals_the_worked_example() -> None:
    """e4 and e6 of six are retrieved, e7 is created: e7=7, e6=6, e4=5, e5=4, e3=3, e2=2, e1=1."""
    expected = ["e1", "e2", "e3", "e5", "e4", "e6", "e7"]
    assert expected_order(["e1", "e2", "e3", "e4", "e5", "e6"], ["e6", "e4"], "e7") == expected
    assert chronology_order(log_recalls(6, [(["e6", "e4"], "e7")])[0]) == expected


def test_memory_keeps_the_chronology_of_the_worked_example(tmp_path: Path) -> None:
    """The same in a real memory: hits come back best first, and move up in their previous order."""
    texts = ("grey stones", "tall trees", "cold rain", "ana sails boats", "loud trains", "ana sails boats ana sails")
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(256), strategy=FREE, clock=FakeClock()) as memory:
        for number, text in enumerate(texts, 1):
            memory.remember(text, id=f"e{number}")
        found = memory.recall("ana sails boats ana sails")
        assert [hit.id for hit in found] == ["e6", "e4"]
        new = chronology_order(memory.graph())[-1]
        assert chronology_order(memory.graph()) == ["e1", "e2", "e3", "e5", "e4", "e6", new]
        stored = memory.get(new)
        assert stored is not None
        assert (stored.text, stored.source) == ("ana sails boats ana sails", filters.RECALL_SOURCE)
        again = memory.recall("ana sails boats ana sails")
        assert again[0].id == new, "a stored question can be retrieved"
        assert len(memory) == len(texts) + 1, "the same question is the same episode"
        assert chronology_order(memory.graph())[-3:] == ["e4", "e6", new]


@pytest.mark.medium
def test_rank_by_last_access_equals_the_rule() -> None:
    """In 100 random histories, one counter and a sort give the same order as shifting the list."""
    rng = np.random.default_rng(3)  # noqa: TID251  # a fixed seed: always the same histories
    for _ in range(100):
        n = int(rng.integers(1, 8))
        recalls: list[tuple[list[str], str]] = []
        known = [f"e{number}" for number in range(1, n + 1)]
        for number in range(int(rng.integers(0, 9))):
            retrieved = rng.permutation(known)[: rng.integers(0, len(known) + 1)].tolist()
            new = f"q{number}" if rng.random() < 0.8 else str(rng.choice(known))
            recalls.append((retrieved, new))
            known = list(dict.fromkeys([*known, new]))
        graph, order = log_recalls(n, recalls)
        assert chronology_order(graph) == order, recalls


@pytest.mark.parametrize(
    ("kind", "first"), [(AccessKind.STIMULATED, "e3"), (AccessKind.RECALLED, "e1"), (AccessKind.USED, "e1")]
)
def test_only_recalled_or_used_memories_move_up(kind: AccessKind, first: NodeId) -> None:
    """§6.1: a memory that another model only stimulated keeps its place in the order."""
    graph, _ = log_recalls(3, [])
    grown = apply_batch(graph, WriteBatch(accesses=(Access("e1", NOON, kind, 1.0, 4),), revision=2))
    assert chronology_order(grown)[-1] == first


WORDS = ("ana", "boat", "river", "mia", "school", "porto")
texts_of_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


@pytest.mark.medium
@given(
    st.lists(texts_of_words, min_size=1, max_size=7, unique=True),
    st.lists(st.tuples(texts_of_words, st.sampled_from([None, "said"])), max_size=5),
)
def test_random_histories_of_a_memory_keep_the_rule(texts: list[str], actions: list[tuple[str, str | None]]) -> None:
    """Random questions, repeated questions, and new memories in between."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder, "m.db"), embedder=HashingEmbedder(64), strategy=FREE, clock=FakeClock()) as memory,
    ):
        order = [memory.remember(text).id for text in texts]
        for text, source in actions:
            if source:
                id_ = memory.remember(text, source=source).id
                order = expected_order(order, (), id_)
            else:
                found = [hit.id for hit in memory.recall(text)]
                question = memory.remember(text, source=filters.RECALL_SOURCE)
                assert question.existing, "the recall stored this episode"
                order = expected_order(order, found, question.id)
            assert chronology_order(memory.graph()) == order


# ---- §3.6, the score and the gate


def at(cosine: float) -> Vector:
    """A unit vector at this cosine to the cue."""
    return np.array([cosine, np.sqrt(1 - cosine**2)] + [0] * 14, np.float32)


def graph_with_cosines(*cosines: float, **fields: Any) -> tuple[Graph, Query]:
    """Episodes e1, e2, … stored in this order, at these cosines to the cue."""
    nodes = [sample_node(f"e{number}", seq=number, **fields) for number in range(1, len(cosines) + 1)]
    vectors = {node.id: at(cosine) for node, cosine in zip(nodes, cosines, strict=True)}
    return apply_batch(Graph(), sample_batch(*nodes, vectors=vectors, revision=1)), sample_query("ana?", vector=at(1.0))


def test_score_equals_values_computed_by_hand() -> None:
    """score = cos·(1−κ) + κ·cos·(w/n), as two contributions."""
    graph, query = graph_with_cosines(0.8, 0.6, 0.4)
    found = replace(FREE, kappa=0.2).activate(query, graph)
    assert found.scores == pytest.approx([0.8 * (0.8 + 0.2 / 3), 0.6 * (0.8 + 0.4 / 3), 0.4], abs=1e-6)
    assert found.contributions["dense similarity"] == pytest.approx([0.64, 0.48, 0.32], abs=1e-6)
    assert found.contributions["chronology"] == pytest.approx([0.16 / 3, 0.24 / 3, 0.08], abs=1e-6)
    assert replace(FREE, kappa=0.0).activate(query, graph).scores == pytest.approx([0.8, 0.6, 0.4], abs=1e-6)
    assert replace(FREE, kappa=1.0).activate(query, graph).scores == pytest.approx([0.8 / 3, 0.4, 0.4], abs=1e-6)


def test_recalled_memories_rank_higher_afterwards(tmp_path: Path) -> None:
    """Of two equal memories the later one ranks first, until the other one alone is recalled."""
    strategy = replace(FREE, store_query=False)
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(256), strategy=strategy, clock=FakeClock()) as memory:
        memory.remember("ana sails", id="old", source="a")
        memory.remember("ana sails", id="new", source="b")
        assert [hit.id for hit in memory.recall("ana sails", options=RecallOptions(log_access=False))] == ["new", "old"]
        memory.recall("ana sails", where=Filter(sources="a"))
        assert [hit.id for hit in memory.recall("ana sails", options=RecallOptions(log_access=False))] == ["old", "new"]


def test_gate_uses_the_raw_cosine() -> None:
    """Chronology lifts no memory over the threshold and presses none below it."""
    graph, query = graph_with_cosines(0.52, 0.9, 0.48)
    found = replace(FREE, theta_sim=0.5, kappa=0.5).activate(query, graph)
    assert found.scores[0] < 0.48  # its score is below the threshold, its cosine is not
    assert (found.scores > 0).tolist() == [True, True, False]
    assert found.confidence == pytest.approx(0.9)
    nothing = replace(FREE, theta_sim=0.95).activate(query, graph)
    assert not nothing.scores.any()
    assert nothing.confidence == 0


def test_faithful_returns_at_most_five_hits() -> None:
    graph, query = graph_with_cosines(*np.linspace(0.4, 0.9, 9).tolist())
    found = FREE.activate(query, graph)
    assert np.flatnonzero(found.scores).tolist() == [4, 5, 6, 7, 8]
    assert np.count_nonzero(replace(FREE, max_hits=0).activate(query, graph).scores) == 9


cosines = st.lists(st.floats(0.0625, 0.9375, width=32), min_size=1, max_size=12)


@given(cosines, st.floats(0, 0.99), st.floats(0.05, 0.9))
def test_practical_ranks_all_memories_below_the_gate_after_those_above(
    given_cosines: list[float], kappa: float, theta: float
) -> None:
    """All rows below the threshold follow those above it, and chronology lifts no row over its cosine."""
    graph, query = graph_with_cosines(*given_cosines)
    found = Eisa(necessity_classifier=None, kappa=kappa, theta_sim=theta).activate(query, graph).scores
    cosine = np.array(given_cosines, np.float32)
    above = cosine >= theta + 1e-5
    below = cosine < theta - 1e-5
    assert (found > 0).all()
    assert (found <= cosine + 1e-5).all()
    if above.any() and below.any():
        assert found[above].min() >= found[below].max() - 1e-5
    faithful = replace(FREE, kappa=kappa, theta_sim=theta, max_hits=0).activate(query, graph).scores
    assert faithful[above] == pytest.approx(found[above])
    assert not faithful[below].any()


def test_practical_counts_cosines_from_the_similarity_floor() -> None:
    """Of the embedder, or of the net if training measured one; the gate counts from it as well."""
    graph, query = graph_with_cosines(0.9, 0.8, 0.6)
    query = replace(query, similarity_floor=0.7)
    strategy = Eisa(kappa=0.5, theta_sim=0.5)
    floored = np.array([2 / 3, 1 / 3, 0])
    assert strategy.activate(query, graph).scores == pytest.approx(floored * [0.5 + 0.5 / 3, 0.5, 0], abs=1e-5)
    measured = replace(side_network.identity(16), similarity_floor=0.5)
    found = replace(strategy, side_net=measured, theta_sim=0.7).activate(query, graph).scores
    assert found == pytest.approx(np.array([0.8, 0.6, 0.2]) * [0.5 + 0.5 / 3, 0.5, 0.5], abs=1e-5)
    raw = replace(strategy, use_similarity_floor=False).activate(query, graph).scores
    assert raw == pytest.approx(np.array([0.9, 0.8, 0.6]) * [0.5 + 0.5 / 3, 0.5, 0.5], abs=1e-5)


def test_threshold_is_a_quantile_of_stored_pairs() -> None:
    """A few memories use all pairs; the threshold is at least the floor; a configured one is used as it is."""
    graph, _ = graph_with_cosines(0.1, 0.9, 0.95, 0.99)
    vectors = graph.vectors.view
    all_cosines = [float(a @ b) for a, b in combinations(vectors, 2)]
    assert Eisa(quantile=0.5).threshold(graph) == pytest.approx(np.quantile(all_cosines, 0.5), abs=1e-6)
    assert FAITHFUL.threshold(graph) == pytest.approx(np.quantile(all_cosines, 0.95), abs=1e-6)
    assert Eisa(quantile=0.0).threshold(graph) == pytest.approx(max(0.25, min(all_cosines)))
    assert Eisa().threshold(graph_with_cosines(0.5)[0]) == 0.25
    assert Eisa(theta_sim=0.1).threshold(graph) == 0.1
    floored = Eisa(quantile=0.5, min_threshold=-1).threshold(graph, floor=0.5)
    assert floored == pytest.approx(2 * np.quantile(all_cosines, 0.5) - 1, abs=1e-6)
    assert Eisa().threshold(graph_with_cosines(0.5)[0], floor=0.5) == 0.25


def test_sampled_pairs_cover_the_rows_evenly() -> None:
    """No row is paired with itself, both sides cover all rows, and the quantile is that of all pairs."""
    n = 500
    first, second = sample_pairs(n)
    assert len(first) > 0.99 * MAX_SAMPLE_PAIRS
    assert (first != second).all()
    for side in (first, second):
        counts = np.histogram(side, 10, (0, n))[0]
        assert counts.min() > 0.8 * MAX_SAMPLE_PAIRS / 10
    values = np.sin(np.arange(n) * 12.9898) * 43758.5453 % 1
    all_cosines = [abs(a - b) for a, b in combinations(values, 2)]
    assert np.quantile(np.abs(values[first] - values[second]), 0.95) == pytest.approx(
        np.quantile(all_cosines, 0.95), abs=0.02
    )


# ---- §3.1 and §3.2, the two banks

PARAGRAPH = "Entropy, a measure of arrangements. " + " ".join(f"word{number}" for number in range(150))


def banks() -> tuple[Graph, Query]:
    """Two turns and two paragraphs, all equally similar to the cue."""
    nodes = [
        sample_node("t1", "I sail.", seq=1, speaker="Ana"), sample_node("p1", PARAGRAPH, seq=2),
        sample_node("t2", "You sail.", seq=3, speaker="Ben"), sample_node("p2", PARAGRAPH, seq=4),
    ]  # fmt: skip
    vectors = {node.id: at(0.8) for node in nodes}
    return apply_batch(Graph(), sample_batch(*nodes, vectors=vectors, revision=1)), sample_query("ana?", vector=at(1.0))


def test_faithful_searches_one_bank() -> None:
    """A cue that needs episodes finds episodes, with w of n counted among them; another finds and stores nothing."""
    graph, query = banks()
    found = replace(FAITHFUL, theta_sim=0.3).activate(query, graph)
    assert found.scores == pytest.approx([0.8 * 0.9, 0, 0.8, 0], abs=1e-6)
    assert found.new_episode == Episode("ana?", source=filters.RECALL_SOURCE)
    factual = sample_query(PARAGRAPH, vector=at(1.0))
    assert not episodic_necessity.needs_episodes(factual, weights.load_necessity_classifier())
    found = FAITHFUL.activate(factual, graph)
    assert not found.scores.any()
    assert found.new_episode is None


def test_practical_has_one_bank() -> None:
    """Its preset does not classify: everything is an episode, whatever the question."""
    graph, query = banks()
    for asked in (query, sample_query(PARAGRAPH, vector=at(1.0))):
        found = Eisa(kappa=0.0).activate(asked, graph)
        assert found.scores == pytest.approx([0.8] * 4, abs=1e-6)
        assert not found.contributions["other bank"].any()


def test_other_bank_weight_ranks_the_other_bank_lower() -> None:
    """All memories are found, and a cue that needs no episodes swaps the banks."""
    graph, query = banks()
    practical = Eisa(
        theta_sim=0.3,
        kappa=0.0,
        other_bank_weight=0.5,
        necessity_classifier=weights.load_necessity_classifier(),
    )
    assert practical.activate(query, graph).scores == pytest.approx([0.8, 0.4, 0.8, 0.4], abs=1e-6)
    ordered = replace(practical, kappa=0.2)  # the order of accesses counts half in the other bank, too
    alike = replace(ordered, necessity_classifier=None).activate(query, graph).scores
    assert ordered.activate(query, graph).scores == pytest.approx(alike * [1, 0.5, 1, 0.5], abs=1e-6)
    swapped = practical.activate(sample_query(PARAGRAPH, vector=at(1.0)), graph)
    assert swapped.scores == pytest.approx([0.4, 0.8, 0.4, 0.8], abs=1e-6)
    assert swapped.new_episode is None
    assert replace(practical, necessity_classifier=None).activate(query, graph).scores == pytest.approx(
        [0.8] * 4, abs=1e-6
    )


def test_stored_question_belongs_to_the_episodic_bank() -> None:
    """Whatever its text: it was answered from episodes, so later questions find it in the episodic bank."""
    nodes = [
        sample_node("q", PARAGRAPH, seq=1, source=filters.RECALL_SOURCE),
        sample_node("p", PARAGRAPH, seq=2),
    ]
    graph = apply_batch(Graph(), sample_batch(*nodes, revision=1))
    assert episodic_bank(graph, weights.load_necessity_classifier()).tolist() == [True, False]


def test_practical_stores_no_question() -> None:
    for text in ("Where does Ana live?", PARAGRAPH):
        assert Eisa().activate(sample_query(text), sample_graph(7)).new_episode is None


# ---- memories that are not searched


def test_ineligible_memories_have_no_score() -> None:
    graph, _ = graph_with_cosines(0.9, 0.8, speaker="Ana")
    query = sample_query("ana?", vector=at(1.0), where=Filter(speakers="Ben"))
    assert not Eisa().activate(query, graph).scores.any()


def test_query_without_a_vector_finds_nothing() -> None:
    """EISA compares only vectors; a vector of a text that the embedder cannot read gives no confidence."""
    query = sample_query("Where does Ana live?")
    assert not Eisa().activate(replace(query, vector=None), sample_graph(7)).scores.any()
    unread = Eisa().activate(replace(query, embedder_coverage=0.0), sample_graph(7))
    assert unread.scores.any()
    assert unread.confidence == 0


def test_faithful_has_the_published_values() -> None:
    """The README's mechanisms; its numbers are inferred (§3.6)."""
    values: dict[str, object] = {
        "theta_sim": None,
        "quantile": 0.95,
        "min_threshold": 0.25,
        "kappa": 0.2,
        "max_hits": 5,
        "other_bank_weight": 0.0,
        "include_below_threshold": False,
        "store_query": True,
        "use_similarity_floor": False,
        "use_packaged_side_net": False,
        "side_net": None,
        "name": "eisa-faithful",
    }
    assert {name: getattr(FAITHFUL, name) for name in values} == values
    assert FAITHFUL.necessity_classifier is not None
