"""SYNAPSE, arXiv 2601.02744: its score, its gate, the effect of spreading, and our remedies.

``tests/unit/test_spreading_activation.py`` has the equations of spreading to their printed digits,
``tests/unit/test_layer_consolidation.py`` the graph of turns and concepts.

This file is over 400 lines because the tests of one paper stand in one file, as its strategy does.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecphora import Episode, Filter, Memory
from ecphora.language.names.mentions import entity_id
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation
from ecphora.model.types import Access, AccessKind, Edge, Evidence, Link, Mark, Query, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.recall import why
from ecphora.retrieval import dense, fusion
from ecphora.retrieval.confidence import DEFAULT_BANDS, heuristic_confidence
from ecphora.strategies.synapse.confidence_gate import calibrate_gate, from_activation
from ecphora.strategies.synapse.layer_consolidation import LayerConfig, consolidated_layer
from ecphora.strategies.synapse.strategy import FAITHFUL, Synapse
from ecphora.testing import (
    NOON,
    FakeClock,
    StrategyContract,
    sample_batch,
    sample_entity,
    sample_graph,
    sample_node,
    sample_query,
)

BARE = replace(FAITHFUL, layer_config=LayerConfig(is_bidirectional=True), W=0)
"""The equations on the simplest graph: time edges in both directions, and concepts with the turns that name them."""


@pytest.mark.parametrize(
    "strategy",
    [
        Synapse(),
        FAITHFUL,
        replace(Synapse(), T=0, W=2, top_k=3, beta=0.0, use_fan_effect=False, use_lexical_trigger=False),
    ],
    ids=["practical", "faithful", "mixed"],
)
class TestContract(StrategyContract):
    pass


def test_faithful_has_the_published_values() -> None:
    """§2.2, the table."""
    published = {
        "alpha": 1.0, "delta": 0.5, "S": 0.8, "T": 3, "beta": 0.15, "M": 7, "gamma": 5.0, "theta": 0.5,
        "lambda1": 0.5, "lambda2": 0.3, "lambda3": 0.2, "top_k": 30, "tau_gate": 0.12, "epsilon": 0.01, "W": 10,
    }  # fmt: skip
    assert {symbol: getattr(FAITHFUL, symbol) for symbol in published} == published
    config = FAITHFUL.layer_config
    assert config.use_concept_anchors
    assert (config.N, config.K, config.tau_dup, config.rho, config.is_bidirectional, config.link_whole_window) == (
        5,
        15,
        0.92,
        0.01,
        False,
        True,
    )


# ---- conversations made by hand


def axis(*numbers: float) -> NDArray[np.float32]:
    vector = np.zeros(16, np.float32)
    vector[: len(numbers)] = numbers
    return vector


def at(cosine: float, other: int = 1) -> NDArray[np.float32]:
    """A unit vector at this cosine to the question, which lies on the first axis."""
    vector = axis(cosine)
    vector[other] = (1 - cosine**2) ** 0.5
    return vector


Turn = tuple[str, float, str]
"""The text of a turn, its cosine to the question, and the names in it."""


def conversation(*turns: Turn, session: str | None = "s", speakers: Sequence[str | None] = ("Ana",)) -> Graph:
    nodes = [
        sample_node(f"t{place}", text, minutes=place, speaker=speakers[place % len(speakers)], session=session)
        for place, (text, _, _) in enumerate(turns)
    ]
    names = [sample_entity(name) for name in dict.fromkeys(name for _, _, names in turns for name in names.split())]
    edges = [
        Edge(node.id, entity_id(name), Link.MENTIONS)
        for node, (_, _, names) in zip(nodes, turns, strict=True)
        for name in names.split()
    ]
    batch = sample_batch(*nodes, *names, edges=tuple(edges))
    vectors = {
        node.id: at(cosine, 1 + place % 15)
        for place, (node, (_, cosine, _)) in enumerate(zip(nodes, turns, strict=True))
    }
    numbered = tuple(replace(node, seq=seq) for seq, node in enumerate(batch.nodes, 1))
    return apply_batch(Graph(), replace(batch, nodes=numbered, vectors=vectors, revision=1))


def query(text: str = "question", **fields: Any) -> Query:
    return sample_query(text, vector=axis(1.0), **fields)


def row(graph: Graph, node: str) -> int:
    found = graph.row(node)
    assert found is not None
    return found


def hike_conversation(*, chained: bool = False) -> Graph:
    """A conversation: one turn is about a hike, and a later one, with the same name in it, says that it rained.

    Unless ``chained``, the name is the only edge.
    """
    return conversation(
        ("we went hiking", 0.9, "Kendall"),
        *[("so it goes", 0.05, "")] * 12,
        ("it rained all day", 0.0, "Kendall"),
        *[("anyway then", 0.02, "")] * 13,
        session="s" if chained else None, speakers=("Ana",) if chained else (None,),
    )  # fmt: skip


# ---- the read path


def test_score_is_the_sum_of_similarity_activation_and_pagerank() -> None:
    """§2.4, 4, for every episode that was reached or is an anchor."""
    graph = hike_conversation(chained=True)
    found = BARE.activate(query("hiking"), graph)
    active = np.flatnonzero(found.scores)
    activation = replace(BARE, lambda1=0.0, lambda2=1.0, lambda3=0.0).activate(query("hiking"), graph).scores
    cosine, rank = dense.cosine(graph, query()), consolidated_layer(graph, BARE.layer_config).pagerank
    assert len(active) > 5
    assert found.scores[active] == pytest.approx((0.5 * cosine + 0.3 * activation + 0.2 * rank)[active], abs=1e-6)


def test_anchors_come_from_both_triggers_and_start_with_their_cosine() -> None:
    """§2.4, 1 and 2: one anchor of each kind, without spreading."""
    graph = conversation(*[("far away", 0.1, "")] * 10, ("a zither", 0.05, ""), ("quite near", 0.8, ""))
    strategy = replace(FAITHFUL, T=0, anchors_per_trigger=1)
    found = strategy.activate(query("zither"), graph)
    assert set(np.flatnonzero(found.scores)) == {10, 11}
    assert found.contributions["activation"][[10, 11]] == pytest.approx([0.3 * 0.05, 0.3 * 0.8], abs=1e-6)
    assert np.flatnonzero(
        replace(strategy, use_lexical_trigger=False).activate(query("zither"), graph).scores
    ).tolist() == [11]


def test_concept_may_be_a_dense_anchor() -> None:
    """§2.4, 1: the dense trigger looks among all nodes. Ana's mean, of two turns at .6, is at .73 to the question."""
    graph = conversation(*[("so it goes", 0.1, "")] * 10, ("one", 0.6, "Ana"), ("two", 0.6, "Ana"), ("far", 0.7, ""))
    layer = LayerConfig(N=1, use_concept_anchors=True)
    strategy = replace(FAITHFUL, T=0, anchors_per_trigger=1, use_lexical_trigger=False, layer_config=layer)
    without = replace(strategy, layer_config=LayerConfig(N=1))
    assert np.flatnonzero(without.activate(query(), graph).scores).tolist() == [12]
    assert not strategy.activate(query(), graph).scores.any()  # the concept took the place of the turn
    spread = replace(strategy, T=1, beta=0.0, lambda1=0.0, lambda2=1.0, lambda3=0.0).activate(query(), graph).scores
    assert np.flatnonzero(spread).tolist() == [10, 11]
    mean = 2 * 0.6 / (4 * 0.6**2 + 2 * (1 - 0.6**2)) ** 0.5
    assert spread[10] == pytest.approx(1 / (1 + np.exp(-5 * (0.8 * mean / 2 - 0.5))), abs=1e-5)
    similar = [
        replace(one, use_lexical_similarity=True, include_unreached=True)
        .activate(query(), graph)
        .contributions["dense similarity"]
        for one in (without, strategy)
    ]
    assert similar[1] == pytest.approx(similar[0])


def test_suppressed_concept_is_no_missing_anchor() -> None:
    """A turn at .9 suppresses the concept at .73, which could not be a result in any case."""
    graph = conversation(*[("so it goes", 0.1, "")] * 10, ("one", 0.6, "Ana"), ("two", 0.6, "Ana"), ("near", 0.9, ""))
    layer = LayerConfig(N=1, use_concept_anchors=True)
    strategy = replace(FAITHFUL, T=1, beta=5.0, anchors_per_trigger=2, use_lexical_trigger=False, layer_config=layer)
    assert strategy.tunneling_index(query(), graph) == 0


def test_similarity_counts_from_the_cosine_of_unrelated_texts() -> None:
    """A cosine of .8 above a floor of .6 is .5; at the floor it is 0."""
    graph = conversation(*[("far away", 0.6, "")] * 10, ("quite near", 0.8, ""))
    strategy = replace(
        FAITHFUL, T=0, anchors_per_trigger=11, use_lexical_trigger=False, alpha=1.0, use_similarity_floor=True
    )
    found = strategy.activate(query(similarity_floor=0.6), graph).contributions["activation"]
    assert found[:11] == pytest.approx([0.0] * 10 + [0.3 * 0.5], abs=1e-6)
    without = replace(strategy, use_similarity_floor=False).activate(query(similarity_floor=0.6), graph)
    assert without.contributions["activation"][:11] == pytest.approx([0.3 * 0.6] * 10 + [0.3 * 0.8], abs=1e-6)


def test_alpha_scales_the_initial_activation() -> None:
    """§2.4, 2: a_i(0) = α · cos, here .4 · .8, of which the score has λ2 = .3."""
    graph = conversation(*[("far away", 0.0, "")] * 10, ("quite near", 0.8, ""))
    strategy = replace(FAITHFUL, T=0, anchors_per_trigger=1, use_lexical_trigger=False, alpha=0.4)
    assert strategy.activate(query(), graph).contributions["activation"][10] == pytest.approx(0.3 * 0.4 * 0.8, abs=1e-6)


def test_delta_is_the_loss_of_an_anchor_per_iteration() -> None:
    """One iteration without edges and inhibition, δ = .2: σ(γ (.8 · .8 - θ))."""
    graph = conversation(*[("far away", 0.0, "")] * 10, ("quite near", 0.8, ""), session=None, speakers=(None,))
    one = replace(
        FAITHFUL,
        T=1,
        anchors_per_trigger=1,
        use_lexical_trigger=False,
        beta=0.0,
        delta=0.2,
        lambda1=0.0,
        lambda2=1.0,
        lambda3=0.0,
    )
    expected = 1 / (1 + np.exp(-5.0 * (0.8 * 0.8 - 0.5)))
    assert one.activate(query(), graph).scores[10] == pytest.approx(expected, abs=1e-6)


def test_negative_cosines_inject_nothing() -> None:
    graph = conversation(*[("zither", -0.5, "")] * 12)
    found = FAITHFUL.activate(query("zither"), graph)
    assert found.contributions["activation"].min() == found.contributions["dense similarity"].max() == 0


def test_spreading_finds_evidence_through_a_shared_concept() -> None:
    """The evidence has cosine 0 and no word in common with the question, so vectors and words alone miss it."""
    graph = hike_conversation()
    evidence = row(graph, "t13")
    strategy = replace(BARE, anchors_per_trigger=3)
    found = strategy.activate(query("hiking"), graph)
    assert found.scores[evidence] > 0
    assert replace(strategy, T=0).activate(query("hiking"), graph).scores[evidence] == 0
    assert (
        replace(strategy, layer_config=replace(BARE.layer_config, K=0))
        .activate(query("hiking"), graph)
        .scores[evidence]
        == 0
    )
    contributions = why(graph, found, evidence).contributions
    spreading = next(contribution for contribution in contributions if contribution.feature == "activation")
    assert spreading.path == ("t0", entity_id("Kendall"), "t13")


def test_inhibition_suppresses_evidence_two_steps_away() -> None:
    """With the turns of a session chained, the same path is found without inhibition, but not with the published β.

    Two steps carry u = .12, which is less than the inhibition of four stronger rows, β · Σ (u_k - u) = .14. The paper
    does not mention this; it is why spreading adds little in our measurements.
    """
    graph = hike_conversation(chained=True)
    evidence, strategy = row(graph, "t13"), replace(BARE, anchors_per_trigger=3)
    assert strategy.activate(query("hiking"), graph).scores[evidence] == 0
    assert replace(strategy, beta=0.0).activate(query("hiking"), graph).scores[evidence] > 0


def test_spreading_finds_the_turn_after_the_anchor() -> None:
    """The turn before the anchor is found only with time edges in both directions."""
    graph = conversation(*[("so it goes", 0.0, "")] * 10, ("where is it", 0.9, ""), *[("in the attic", 0.0, "")] * 10)
    forward, both = (
        replace(BARE, anchors_per_trigger=1, layer_config=LayerConfig(is_bidirectional=back))
        .activate(query(), graph)
        .scores
        > 0
        for back in (False, True)
    )
    assert (forward[11], forward[9]) == (True, False)
    assert (both[11], both[9]) == (True, True)


def test_fan_effect_weakens_paths_through_common_names() -> None:
    """The fan effect: two names lead from the anchor to one turn each, but many turns mention one of the names."""
    graph = conversation(
        ("we went hiking", 0.9, "Hub Rare"),
        ("rare words", 0.0, "Rare"),
        ("hub words", 0.0, "Hub"),
        *[("more of it", 0.0, "Hub")] * 12,
        session=None, speakers=("Ana",),
    )  # fmt: skip
    strategy = replace(
        BARE,
        anchors_per_trigger=1,
        beta=0.0,
        lambda1=0.0,
        lambda3=0.0,
        layer_config=LayerConfig(rho=1e9, is_bidirectional=True),
    )
    divided = strategy.activate(query("hiking"), graph).scores
    undivided = replace(strategy, use_fan_effect=False).activate(query("hiking"), graph).scores
    assert divided[1] > divided[2] > 0
    assert undivided[1] == pytest.approx(undivided[2], abs=1e-3)


def test_ineligible_memories_pass_no_activation_on() -> None:
    graph = conversation(
        ("we went hiking", 0.9, ""), ("said by Ben", 0.0, ""), ("and then", 0.0, ""), *[("else", 0.0, "")] * 9,
        speakers=("Ana", "Ben"),
    )  # fmt: skip
    strategy = replace(BARE, anchors_per_trigger=1)
    assert strategy.activate(query(), graph).scores[2] > 0
    only = query(where=Filter(speakers="Ana"))
    assert np.flatnonzero(strategy.activate(only, graph).scores).tolist() == [0]
    early = query(as_of=NOON + timedelta(minutes=1))
    assert np.flatnonzero(strategy.activate(early, graph).scores).tolist() == [0, 1]


def test_top_k_limits_the_scored_memories() -> None:
    graph = sample_graph(120)
    cue = sample_query("Where does Ana live in Porto?")
    limited, unlimited = (
        replace(FAITHFUL, include_unreached=True, top_k=k).activate(cue, graph).scores for k in (30, 0)
    )
    assert (limited > 0).sum() == 30 < (unlimited > 0).sum()
    assert (
        fusion.top_rows(limited, graph.episodes, 30).tolist() == fusion.top_rows(unlimited, graph.episodes, 30).tolist()
    )


def test_query_without_usable_vector_recalls_by_words() -> None:
    graph = hike_conversation()
    for cue in (query("rained", embedder_coverage=0.0), replace(query("rained"), vector=None)):
        for strategy in (Synapse(), FAITHFUL):
            assert graph.id(int(strategy.activate(cue, graph).scores.argmax())) == "t13"


# ---- what the practical preset adds


def test_practical_preset_has_every_addition() -> None:
    additions = (
        "use_previous_turn",
        "use_lexical_similarity",
        "include_unreached",
        "protect_anchors",
        "blend_cold_start",
        "ground_confidence",
    )
    assert {name: (getattr(Synapse(), name), getattr(FAITHFUL, name)) for name in additions} == dict.fromkeys(
        additions, (True, False)
    )


def test_initial_activation_is_the_cosine_of_the_turn_alone() -> None:
    """Also where anchors are found by a turn together with the one before it."""
    graph = conversation(("far away", 0.1, ""), ("quite near", 0.8, ""), ("after it", 0.2, ""), ("another", 0.4, ""))
    asked = query("zither")
    found = Synapse(T=0, blend_cold_start=False, lambda2=1.0).activate(asked, graph)
    rows = np.flatnonzero(graph.episodes)
    assert found.contributions["activation"][rows] == pytest.approx(dense.cosine(graph, asked)[rows], abs=1e-5)


def test_turn_is_similar_by_the_turn_before_it() -> None:
    graph = conversation(*[("so it goes", 0.0, "")] * 10, ("we went hiking", 0.9, ""), ("it rained all day", 0.0, ""))
    alone = replace(FAITHFUL, T=0, lambda3=0.0, include_unreached=True, use_lexical_similarity=True)
    similar = replace(alone, use_previous_turn=True).activate(query(), graph).scores
    assert similar[11] > similar[9] == 0
    assert alone.activate(query(), graph).scores[11] == 0


def test_terms_are_half_of_the_similarity() -> None:
    graph = conversation(("we went hiking", 0.4, ""), ("it rained all day", 0.8, ""), session=None, speakers=(None,))
    alone = replace(FAITHFUL, T=0, lambda3=0.0, include_unreached=True)
    by_vectors = alone.activate(query("hiking"), graph).contributions["dense similarity"]
    assert by_vectors.tolist() == pytest.approx([0.5 * 0.4, 0.5 * 0.8], abs=1e-6)
    both = replace(alone, use_lexical_similarity=True)
    by_both = both.activate(query("hiking"), graph).contributions["dense similarity"]
    assert by_both.tolist() == pytest.approx([0.5 * (0.5 + 1) / 2, 0.5 * (1 + 0) / 2], abs=1e-6)


def test_memory_that_is_not_reached_keeps_its_similarity() -> None:
    graph = conversation(*[("so it goes", 0.3, "")] * 12, ("we went hiking", 0.9, ""), session=None, speakers=(None,))
    few = replace(FAITHFUL, anchors_per_trigger=1, use_lexical_trigger=False, top_k=0, lambda3=0.0)
    assert np.flatnonzero(few.activate(query(), graph).scores).tolist() == [12]
    found = replace(few, include_unreached=True).activate(query(), graph).scores
    assert found[:12] == pytest.approx(0.5 * 0.3, abs=1e-6)


def test_confidence_above_the_gate_is_that_of_the_best_memories() -> None:
    graph = hike_conversation(chained=True)
    strategy = replace(FAITHFUL, ground_confidence=True, tau_gate=0.0)
    found = strategy.activate(query(), graph)
    cosine = dense.cosine(graph, query())
    expected = heuristic_confidence(graph, query(), found.scores, cosine, cosine.clip(0) / cosine.max())
    assert found.confidence == pytest.approx(expected, abs=1e-6)
    assert replace(strategy, ground_confidence=False).activate(query(), graph).confidence != found.confidence


# ---- the gate


def is_refused(found: Activation) -> bool:
    return DEFAULT_BANDS.band(found.confidence) is Evidence.NONE


def test_gate_refuses_isolated_anchors_and_accepts_connected_ones() -> None:
    """The gate checks whether anchors support each other: .9 alone is too little, .3 with links is enough."""
    isolated = conversation(*[("so it goes", 0.9, "")] * 12, session=None, speakers=("Ana",))
    without_time_edges = replace(BARE, anchors_per_trigger=1, layer_config=LayerConfig(rho=1e9))
    assert is_refused(without_time_edges.activate(query(), isolated))
    connected = conversation(*[("so it goes", 0.3, "Ana")] * 12)
    assert not is_refused(replace(BARE, anchors_per_trigger=1).activate(query(), connected))


def test_confidence_comes_from_the_highest_node_not_the_mean() -> None:
    """One turn is highly active and the others hardly; the confidence is that of the one."""
    graph = conversation(("quite near", 0.9, ""), *[("so it goes", 0.2, "")] * 12, session=None, speakers=(None,))
    found = replace(FAITHFUL, T=0, anchors_per_trigger=13, epsilon=0.0).activate(query(), graph)
    highest, mean = float(found.stimulus.max()), float(found.stimulus[found.stimulus > 0].mean())
    assert mean < highest / 2
    assert found.confidence == pytest.approx(from_activation(highest, 0.12), abs=1e-6)


def test_refused_recall_still_has_hits() -> None:
    found = FAITHFUL.activate(query(), conversation(*[("so it goes", 0.2, "")] * 12, session=None, speakers=("Ana",)))
    strict = replace(FAITHFUL, tau_gate=0.99).activate(query(), hike_conversation())
    assert found.scores.max() > 0
    assert is_refused(strict)
    assert strict.scores.max() > 0
    assert not is_refused(replace(FAITHFUL, tau_gate=0.0).activate(query(), hike_conversation()))


def test_gate_never_refuses_a_small_graph() -> None:
    """Below ten nodes it is the paper's cold start."""
    strict = replace(FAITHFUL, tau_gate=0.99)
    turn = ("so it goes", 0.3, "")
    assert not is_refused(strict.activate(query(), conversation(*[turn] * 9)))
    assert is_refused(strict.activate(query(), conversation(*[turn] * 10)))


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_confidence_rises_with_activation_and_is_none_below_the_gate(a: float, b: float, tau: float) -> None:
    low, high = sorted((a, b))
    assert 0 <= from_activation(low, tau) <= from_activation(high, tau) <= 1
    assert (DEFAULT_BANDS.band(from_activation(a, tau)) is Evidence.NONE) == (a < tau)


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=60), st.sampled_from([0.025, 0.1, 0.3]))
def test_calibrated_gate_is_the_largest_within_the_refusal_limit(values: list[float], fraction: float) -> None:
    """Less than the given fraction of the answerable questions is refused; the next larger gate would refuse more."""
    tau = float(calibrate_gate(np.array(values), fraction))
    assert sum(value < tau for value in values) < fraction * len(values) or tau == min(values)
    assert sum(value <= tau for value in values) >= fraction * len(values)


@pytest.mark.parametrize(
    ("confidence", "fraction", "expected"),
    [
        ([0.1, 0.2, 0.3, 0.4], 0.25, 0.1),  # one of four below 0.2 would reach the limit
        ([0.1, 0.2, 0.3, 0.4], 0.26, 0.2),
        ([0.1, 0.2, 0.3, 0.4], 0.75, 0.3),
        ([0.4, 0.1, 0.1, 0.1], 0.5, 0.1),  # a tie: above it three would be refused
        ([0.5], 0.025, 0.5),
    ],
)
def test_calibrated_gate_equals_values_computed_by_hand(
    confidence: list[float], fraction: float, expected: float
) -> None:
    assert float(calibrate_gate(np.array(confidence), fraction)) == expected


def test_calibrated_gate_on_two_hundred_questions() -> None:
    values = [0.01 * place for place in range(200)]
    assert float(calibrate_gate(np.array(values))) == pytest.approx(0.04)  # 4 of 200 are 2%, 5 would be 2.5%


# ---- remedies


def airport_conversation() -> Graph:
    """Many turns about an airport support each other; both triggers find one turn about a green jacket."""
    return conversation(
        *[("at the airport again", 0.75, "Airport")] * 14,
        ("a jacket, green", 0.45, ""),
        *[("so it goes", 0.05, "")] * 10,
        session=None, speakers=("Ana",),
    )  # fmt: skip


@pytest.mark.parametrize("is_protected", [False, True])
def test_anchor_protection_keeps_a_detail_next_to_a_hub(is_protected: bool) -> None:
    """Without protection the turn about the jacket loses all activation; with it, inhibition does not lower it."""
    graph = airport_conversation()
    strategy = replace(
        BARE,
        anchors_per_trigger=20,
        protect_anchors=is_protected,
        lambda1=0.0,
        lambda3=0.0,
        lambda2=1.0,
        layer_config=LayerConfig(rho=1e9),
    )
    found = strategy.activate(query("green jacket"), graph)
    alone = replace(strategy, beta=0.0).activate(query("green jacket"), graph)
    jacket = row(graph, "t14")
    assert alone.scores[jacket] > 0.09
    assert (found.scores[jacket] == pytest.approx(alone.scores[jacket])) == is_protected


def test_graph_contributions_shrink_with_the_number_of_edges() -> None:
    """Passages without speakers and shared names have no graph, so they rank by similarity."""
    passages = conversation(
        *[(f"word{place}", 0.1 + place / 20, "") for place in range(14)], session=None, speakers=(None,)
    )
    found = Synapse().activate(query("word3"), passages)
    assert found.contributions["activation"].max() == found.contributions["pagerank"].max() == 0
    assert found.scores == pytest.approx(found.contributions["dense similarity"])
    chat = conversation(*[("we went hiking", 0.9, "Kendall"), ("so it goes", 0.1, "Ana")] * 20)
    with_graph = Synapse().activate(query("hiking"), chat)
    assert with_graph.contributions["dense similarity"].max() == pytest.approx(0.5, abs=1e-6)
    assert with_graph.contributions["activation"].max() > 0
    few_edges = Synapse().activate(query("hiking"), hike_conversation())  # 3 edges of 30
    assert few_edges.contributions["dense similarity"].max() == pytest.approx(3 / 30 * 0.5 + 27 / 30, abs=1e-6)


# ---- dormancy


def log_stimuli(graph: Graph, found: Activation, minute: int) -> Graph:
    rows = np.flatnonzero(found.stimulus).tolist()
    moment, seq = NOON + timedelta(minutes=minute), 10_000 + 100 * minute
    accesses = (
        Access(graph.id(row), moment, AccessKind.STIMULATED, float(found.stimulus[row]), seq + row) for row in rows
    )
    return apply_batch(graph, WriteBatch(accesses=tuple(accesses), revision=graph.revision + 1))


def test_dormant_turns_wake_when_they_become_anchors() -> None:
    """§2.5: after ten retrievals without access the turn leaves the graph; a question about it still finds it."""
    graph = hike_conversation()
    strategy = replace(FAITHFUL, anchors_per_trigger=1, layer_config=LayerConfig(is_bidirectional=True))
    evidence, other = row(graph, "t13"), replace(query("else"), vector=at(0.0, 9))
    fresh = strategy.activate(query("hiking"), graph)
    assert fresh.scores[evidence] > 0
    for minute in range(10):
        graph = log_stimuli(graph, replace(strategy, T=0).activate(other, graph), minute)
    dormant = strategy.activate(query("hiking"), graph)
    assert dormant.scores[evidence] == 0
    assert dormant.scores[0] > 0
    awake = strategy.activate(replace(query("rained"), vector=at(0.0, 14)), graph)
    assert awake.scores[evidence] > 0
    assert awake.stimulus[evidence] > strategy.epsilon
    graph = log_stimuli(graph, awake, 11)
    assert strategy.activate(query("hiking"), graph).scores[0] > 0


def test_stimulus_below_epsilon_is_no_access() -> None:
    """§2.5: a retrieval accesses the rows with an activation of ε or more."""
    graph = hike_conversation(chained=True)
    unlimited, limited = (replace(FAITHFUL, epsilon=epsilon).activate(query("hiking"), graph) for epsilon in (0.0, 0.2))
    accesses = unlimited.stimulus[unlimited.stimulus > 0]
    assert accesses.min() < 0.2 <= accesses.max()
    assert limited.stimulus == pytest.approx(np.where(unlimited.stimulus >= 0.2, unlimited.stimulus, 0))


@pytest.mark.medium
def test_stimuli_are_logged_by_faithful_only(tmp_path: Path) -> None:
    def logged(strategy: Synapse) -> list[AccessKind | Mark]:
        with Memory(
            tmp_path / f"{strategy.name}.db", embedder=HashingEmbedder(16), strategy=strategy, clock=FakeClock()
        ) as memory:
            memory.remember([Episode(f"Ana saw boat {number}", speaker="Ana", session="s") for number in range(12)])
            assert memory.recall("boat 3", limit=2).strategy == strategy.name
            graph = memory.graph()
            return [access.kind for node in range(12) for access in graph.accesses_of(node)]

    assert AccessKind.STIMULATED in logged(FAITHFUL)
    assert AccessKind.STIMULATED not in logged(Synapse())
