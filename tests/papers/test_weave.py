"""Cognitive Weave, arXiv 2506.08098: its equations, its refinement, and the effect of each mechanism.

This file is over 400 lines because the tests of one paper stand in one file, as its strategy does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecphora import Episode, Filter, Memory
from ecphora.consolidation.insights import clustering, summaries
from ecphora.consolidation.insights.summaries import ExtractiveSummarizer, objective
from ecphora.language.names.mentions import entity_id
from ecphora.language.statements.clauses import signifiers
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Strategy
from ecphora.model.types import Access, AccessKind, Edge, Kind, Link, Node, Vectors, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval import importance
from ecphora.strategies.weave import strand_traversal
from ecphora.strategies.weave.insight_particle import Imprint, particle
from ecphora.strategies.weave.potential_clusters import insight_coverage, potential_clusters
from ecphora.strategies.weave.strand_types import StrandType, TypeWeights
from ecphora.strategies.weave.strategy import FAITHFUL, Weave
from ecphora.testing import NOON, FakeClock, StrategyContract, sample_entity, sample_query
from ecphora.testing.samples import sample_batch, sample_node, sample_vector

DAY = 86_400.0


@pytest.mark.parametrize("strategy", [Weave(), FAITHFUL, Weave(w_importance=0.1, max_hops=3)], ids=lambda one: one.name)
class TestContract(StrategyContract):
    pass


def test_faithful_has_the_proposed_values() -> None:
    """The paper gives no numbers; these are proposed in docs/explanation/papers.md, 5."""
    values = {
        "candidates": 50,
        "max_hops": 2,
        "min_path_strength": 0.2,
        "w_persona": 0.1,
        "undated_time_factor": 0.5,
        "use_tiers": True,
        "follow_insights": True,
        "use_types": True,
        "use_weight": 0.5,
        "evidence_weight": 0.5,
        "use_signifiers": True,
        "w_sim": 0.6,
        "w_strand": 0.2,
        "w_importance": 0.2,
        "alpha": 0.5,
        "beta": 0.3,
        "gamma": 0.2,
        "oracle_confidence": 0.5,
        "k": 10,
        "min_cosine": 0.4,
        "omega": 20,
        "tau_cluster": 0.75,
        "min_cluster_size": 3,
        "max_cluster_size": 12,
        "max_overlap": 0.8,
        "lambda_comp": 0.002,
        "use_insights": True,
        "outside_time_factor": 0.5,
        "expired_factor": 0.3,
        "name": "weave-faithful",
    }
    assert {name: getattr(FAITHFUL, name) for name in values} == values
    assert FAITHFUL.type_weights == TypeWeights(0.5, 0.5, 0.5, 1.0, 1.0, *[0.7] * 4)
    assert FAITHFUL.importance_decay == importance.ImportanceDecay(0.6, 0.1, 30.0, 1.0, 0.2, 0.1)


# ---- importance: equations 5 and 7


def test_importance_decays_to_its_base() -> None:
    """I_0 = 1, I_base = 0.1, lambda = ln 2 / 30 per day: I(30 days) = 0.55."""
    decay = importance.ImportanceDecay(initial=1.0, base=0.1, half_life=30.0)
    assert decay.apply(np.array([1.0]), np.array([30.0])) == pytest.approx([0.55])
    assert decay.apply(np.array([1.0]), np.array([0.0])) == pytest.approx([1.0])
    assert decay.apply(np.array([1.0]), np.array([1e6])) == pytest.approx([0.1])


@given(st.floats(0.1, 1), st.floats(0, 1000), st.floats(0, 1000))
def test_importance_decay_in_two_steps_equals_one_step(start: float, first: float, second: float) -> None:
    decay = importance.ImportanceDecay()
    once = decay.apply(np.array([start]), np.array([first + second]))
    twice = decay.apply(decay.apply(np.array([start]), np.array([first])), np.array([second]))
    assert once == pytest.approx(twice)


def _reference_importance(
    graph: Graph, days: Sequence[float], decay: importance.ImportanceDecay, born: float, now: float
) -> float:
    """The reference implementation: one memory, use by use."""
    value, at = decay.initial, born
    for count, day in enumerate(days, 1):
        time = born + day * DAY
        decayed = (value - decay.base) * 2 ** (-(time - at) / DAY / decay.half_life) + decay.base
        value = min(1, decay.alpha * decayed + decay.beta * (1 - np.exp(-count / 5)))
        at = time
    return float((value - decay.base) * 2 ** (-(now - at) / DAY / decay.half_life) + decay.base)


@pytest.mark.medium
@given(st.lists(st.lists(st.integers(0, 90), max_size=6), min_size=1, max_size=4), st.integers(0, 6))
def test_importance_equals_the_reference_for_any_log(uses: list[list[int]], cut: int) -> None:
    """Equation 5 after each use, equation 7 in between; the log arrives in two steps or at once."""
    nodes = [sample_node(f"n{place}", "text", seq=place + 1) for place in range(len(uses))]
    born = nodes[0].happened_at
    log = sorted((day, place) for place, days in enumerate(uses) for day in days)
    accesses = [
        Access(f"n{place}", born + timedelta(days=day), AccessKind.RECALLED, 1.0, seq=100 + number)
        for number, (day, place) in enumerate(log)
    ]
    decay, now = importance.ImportanceDecay(), born.timestamp() + 100 * DAY
    first = apply_batch(Graph(), replace(sample_batch(*nodes), accesses=tuple(accesses[:cut]), revision=1))
    importance.importance(first, decay, now)
    grown = apply_batch(first, WriteBatch(accesses=tuple(accesses[cut:]), revision=2))
    found = importance.importance(grown, decay, now)
    for place, days in enumerate(uses):
        birth = nodes[place].happened_at.timestamp()
        shifted = [day - (birth - born.timestamp()) / DAY for day in sorted(days)]
        assert found[place] == pytest.approx(_reference_importance(grown, shifted, decay, birth, now), abs=1e-4)


def test_importance_grows_with_insights_drawn_from_the_memory() -> None:
    """Equation 5 right after the first use: I = α .6 + β (1 - e^(-1/5)) + γ (1 - e^-1) = .699466; unused, .6."""
    used, unused, insight = (
        sample_node(name, name, seq=place, kind=kind)
        for place, (name, kind) in enumerate(
            (("used", Kind.EPISODE), ("unused", Kind.EPISODE), ("insight", Kind.INSIGHT)), 1
        )
    )
    edges = (Edge("insight", "used", Link.DERIVED_FROM), Edge("insight", "unused", Link.DERIVED_FROM))
    access = Access("used", used.happened_at, AccessKind.RECALLED, 1.0, seq=9)
    batch = replace(sample_batch(used, unused, insight, edges=edges), accesses=(access,), revision=1)
    found = importance.importance(
        apply_batch(Graph(), batch), importance.ImportanceDecay(), used.happened_at.timestamp()
    )
    assert found[:2] == pytest.approx([0.699466, 0.6], abs=1e-5)


def test_importance_from_insights_halves_between_uses_as_the_rest_does() -> None:
    """At a second use a half-life later, of what exceeds the base half is left, and of the first use's gamma.

    (.636254 - .1) / 2 + .1 + β (1 - e^(-2/5)) + (γ / 2 + γ) (1 - e^-1) = .528881.
    """
    used, insight = sample_node("used", seq=1), sample_node("insight", seq=2, kind=Kind.INSIGHT)
    first, second = used.happened_at, used.happened_at + timedelta(days=30)
    accesses = tuple(Access("used", at, AccessKind.RECALLED, 1.0, seq=9 + n) for n, at in enumerate((first, second)))
    batch = replace(sample_batch(used, insight, edges=(Edge("insight", "used", Link.DERIVED_FROM),)), accesses=accesses)
    graph = apply_batch(Graph(), replace(batch, revision=1))
    found = importance.importance(graph, importance.ImportanceDecay(), second.timestamp())
    assert found[0] == pytest.approx(0.528881, abs=1e-5)


def test_importance_from_insights_is_at_most_one() -> None:
    """Twenty uses add 2 from insights, of which 1 counts: a half-life later, .55 and half of (1 - e^-1) are left."""
    used, insight = sample_node("used", seq=1), sample_node("insight", seq=2, kind=Kind.INSIGHT)
    accesses = tuple(Access("used", used.happened_at, AccessKind.RECALLED, 1.0, seq=9 + n) for n in range(20))
    batch = replace(sample_batch(used, insight, edges=(Edge("insight", "used", Link.DERIVED_FROM),)), accesses=accesses)
    graph = apply_batch(Graph(), replace(batch, revision=1))
    found = importance.importance(
        graph, importance.ImportanceDecay(), (used.happened_at + timedelta(days=30)).timestamp()
    )
    assert found[0] == pytest.approx(0.55 + 0.5 * (1 - np.exp(-1)), abs=1e-5)


# ---- strands: section 5.3


def test_strand_strength_is_the_published_sum() -> None:
    config = clustering.ClusteringConfig(alpha=0.5, beta=0.3, gamma=0.2, oracle_confidence=1.0)
    found = config.strand_strength(np.array([0.8], np.float32), np.array([0.5], np.float32))
    assert found == pytest.approx([0.75])


def test_path_strength_is_the_product_of_its_strands() -> None:
    """a -0.8- b -0.5- c: support 0.8 s at b and 0.4 s at c; a floor of 0.5 or one hop stops at b."""

    def support(max_hops: int, min_path_strength: float, *through: bool) -> strand_traversal.StrandSupport:
        graph = _chain()
        return strand_traversal.strand_support(
            graph, np.array([0]), np.array([1.0, 0, 0], np.float32),
            lambda rows: strand_traversal.stored_strands(graph, rows, StrandType.ASSOCIATION),
            through=np.array(through or (True, True, True)), max_hops=max_hops, min_path_strength=min_path_strength,
        )  # fmt: skip

    assert support(2, 0.2).scores == pytest.approx([0.64, 0.8, 0.4])  # a gets support over b
    assert support(2, 0.2).path.parent.tolist() == [1, 0, 1]
    assert support(2, 0.2).path.via_entity.tolist() == [-1, -1, -1]
    assert support(2, 0.4).scores[2] == pytest.approx(0.4)
    assert support(2, 0.5).scores[2] == 0
    assert support(1, 0.2).scores.tolist() == pytest.approx([0, 0.8, 0])
    assert support(2, 0.2, True, False, True).scores.tolist() == [0, 0, 0]


def _chain() -> Graph:
    nodes = [
        replace(sample_node(name, name, seq=place), session=None, speaker=None) for place, name in enumerate("abc", 1)
    ]
    edges = (Edge("b", "a", Link.ASSOCIATION, 0.8), Edge("c", "b", Link.ASSOCIATION, 0.5))
    return apply_batch(Graph(), replace(sample_batch(*nodes, edges=edges), revision=1))


def _particles(*angles: float, named: Sequence[str] = (), edges: Sequence[Edge] = ()) -> Graph:
    """Particles p0, p1 … of one instant with vectors in a plane; the n-th mentions the n-th entry of ``named``."""
    nodes = [replace(sample_node(f"p{n}", f"p{n}", seq=n + 1), session=None, speaker=None) for n in range(len(angles))]
    names = sorted({name for text in named for name in text.split()})
    entities = [replace(sample_entity(name), seq=100 + n) for n, name in enumerate(names)]
    mentions = [Edge(f"p{n}", entity_id(name), Link.MENTIONS) for n, text in enumerate(named) for name in text.split()]
    vectors = {f"p{n}": vector for n, vector in enumerate(_unit(*angles))}
    batch = sample_batch(*nodes, *entities, vectors=vectors, edges=(*edges, *mentions))
    return apply_batch(Graph(), replace(batch, revision=1))


def test_new_strand_weighs_cosine_shared_keys_and_confidence() -> None:
    """S = .5 cos 60° + .3 · 1/2 + .2 · .5 = .5: both name Ana, one names Bob."""
    graph = _particles(0, 60, named=("Ana Bob", "Ana"))
    refined = Weave(omega=2, use_insights=False).process(graph, lambda _rows: [], NOON)
    assert [(edge.src, edge.dst, edge.link) for edge in refined.edges] == [("p1", "p0", Link.ASSOCIATION)]
    assert refined.edges[0].weight == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("strategy", [Weave(), FAITHFUL], ids=lambda one: one.name)
def test_strands_are_followed_two_hops_from_the_seeds(strategy: Weave) -> None:
    """p1 and p2 share nothing with the question; strands of .8 lead to them from p0, at most two hops."""
    chain = [Edge(f"p{n + 1}", f"p{n}", Link.ASSOCIATION, 0.8) for n in range(3)]
    graph = _particles(0, 120, 120, 120, edges=chain)
    cue = sample_query("question", vector=_unit(0)[0])
    strands_only = replace(strategy, w_importance=0.0, type_weights=TypeWeights(association=1.0), use_tiers=False)
    assert (strands_only.activate(cue, graph).scores > 0).tolist() == [True, True, True, False]
    found = strands_only.activate(cue, graph).contributions["strands"]
    assert found[1:3] == pytest.approx([strategy.w_strand * 0.8, strategy.w_strand * 0.64], abs=1e-6)


def test_recall_without_strands_returns_candidates_only() -> None:
    graph = _particles(0, 10, 20, 30)
    cue = sample_query("question", vector=_unit(0)[0])
    few = replace(Weave(), candidates=2).activate(cue, graph).scores
    assert (few > 0).tolist() == [True, True, False, False]
    assert (Weave().activate(cue, graph).scores > 0).all()


# ---- synthesis: Algorithm 1 and equation 6


def _unit(*angles: float) -> Vectors:
    radians = np.radians(angles)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def test_summary_objective_weighs_relevance_against_length() -> None:
    vectors, weights = _unit(0, 60), np.array([0.5, 0.5])
    assert objective(vectors[:0], vectors, weights, 0.0) == 0
    assert objective(vectors[:1], vectors, weights, 0.1) == pytest.approx(-(0.5 + 0.25) + 0.1)
    assert objective(vectors, vectors, weights, 0.2) == pytest.approx(-1 + 0.2)


@given(st.lists(st.floats(0, 90), min_size=1, max_size=7), st.floats(0.01, 0.4))
def test_greedy_summary_is_never_worse_than_one_sentence(angles: list[float], cost: float) -> None:
    """Each sentence after the first lowers L, so the result is never worse than one sentence."""
    vectors = _unit(*angles)
    weights, costs = np.full(len(angles), 1 / len(angles)), np.full(len(angles), cost)
    chosen = summaries.select_sentences(vectors, weights, costs)
    loss = objective(vectors[chosen], vectors, weights, costs[chosen].sum())
    assert chosen == sorted(set(chosen))
    assert loss <= min(objective(vectors[[one]], vectors, weights, cost) for one in chosen) + 1e-6


def test_summary_leaves_out_costly_sentences() -> None:
    vectors, weights = _unit(0, 5, 90), np.full(3, 1 / 3)
    assert summaries.select_sentences(vectors, weights, np.full(3, 0.001)) == [0, 1, 2]
    assert summaries.select_sentences(vectors, weights, np.full(3, 0.05)) in ([0, 2], [1, 2])
    assert len(summaries.select_sentences(vectors, weights, np.full(3, 5.0))) == 1


def test_summary_begins_with_the_highest_gain_per_cost() -> None:
    """The first covers .9 for .45, and the second .6 for .2: a gain of 1 and of 2 per cost.

    With the second, the first would cover .4 more, which is less than it costs.
    """
    costs = np.array([0.45, 0.2])
    assert summaries.select_sentences(_unit(0, 60), np.array([0.8, 0.2]), costs) == [1]


@given(st.integers(1, 9).flatmap(lambda n: st.lists(st.booleans(), min_size=n * n, max_size=n * n)))
def test_connected_components_partition_the_graph(cells: list[bool]) -> None:
    n = int(len(cells) ** 0.5)
    near = np.array(cells).reshape(n, n)
    near |= near.T
    components = list(clustering.connected_components(near))
    assert sorted(np.concatenate(components).tolist()) == list(range(n))
    component_by_row = {row: number for number, part in enumerate(components) for row in part.tolist()}
    assert all(component_by_row[a] == component_by_row[b] for a, b in np.argwhere(near).tolist())


def test_mutual_neighbors_are_neighbors_of_each_other() -> None:
    scores = np.array([[1, 0.9, 0.8], [0.9, 1, 0.1], [0.8, 0.1, 1]])
    assert clustering.mutual_neighbors(scores, 1, 0.5).tolist() == [
        [False, True, False],
        [True, False, False],
        [False] * 3,
    ]


# ---- refinement in a memory


TOPICS = ("the garden needs water and roses", "the train to Porto leaves at nine", "Mia practises piano every day")


@dataclass(frozen=True, slots=True)
class ScriptedOracle:
    """An oracle that returns a fixed text and records its calls."""

    source_counts: list[int]

    def summarize(
        self, sources: Sequence[Node], vectors: Vectors, weights: NDArray[np.float64], token_cost: float, /
    ) -> str | None:
        self.source_counts.append(len(sources))
        assert vectors.shape[0] == len(sources)
        assert weights.sum() == pytest.approx(1)
        assert token_cost > 0
        return f"An insight over {len(sources)}."


@pytest.fixture
def memory_with_insights(tmp_path: Path) -> Iterator[Memory]:
    with _memory(tmp_path / "weave.db", Weave(follow_insights=True)) as memory:
        memory.remember(_episodes(40))
        yield memory


def _memory(path: Path, strategy: Strategy) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), strategy=strategy, clock=FakeClock())


def _episodes(count: int) -> list[Episode]:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        Episode(
            f"{TOPICS[place % 3]} ({place})", id=f"e{place}", speaker="Ana", session=f"s{place // 8}",
            happened_at=start + timedelta(days=place),
        )
        for place in range(count)
    ]  # fmt: skip


def _insights(memory: Memory) -> list[str]:
    graph = memory.graph()
    return [graph.id(row) for row in np.flatnonzero(graph.of_kind(Kind.INSIGHT)).tolist()]


def _sources(memory: Memory, insight: str) -> list[str]:
    graph = memory.graph()
    edges, _ = graph.edges_from(graph.rows([insight]), Link.DERIVED_FROM)
    return [graph.id(row) for row in graph.edges["dst"][edges].tolist()]


@pytest.mark.medium
def test_refinement_adds_strands_and_insights(memory_with_insights: Memory) -> None:
    """Refinement runs every 20 particles; an insight quotes its sources and has strands to all of them."""
    graph, found = memory_with_insights.graph(), _insights(memory_with_insights)
    assert found
    assert not Weave().has_pending(graph)
    for id_ in found:
        insight = memory_with_insights.get(id_)
        assert insight is not None
        sources = _sources(memory_with_insights, id_)
        texts = [memory_with_insights.get(source).text for source in sources]  # type: ignore[union-attr]
        assert 3 <= len(sources) <= 12
        assert all(line.removeprefix("Ana: ") in texts for line in insight.text.splitlines())


@pytest.mark.medium
def test_refinement_does_not_depend_on_batches(memory_with_insights: Memory, tmp_path: Path) -> None:
    """Episodes remembered one at a time or all at once give the same strands and insights."""
    with _memory(tmp_path / "single.db", Weave()) as memory:
        for episode in _episodes(40):
            memory.remember(episode)
        assert sorted(_insights(memory)) == sorted(_insights(memory_with_insights))
        assert len(memory.graph().edges) == len(memory_with_insights.graph().edges)


@pytest.mark.medium
def test_refinement_draws_no_insight_twice(memory_with_insights: Memory) -> None:
    before = _insights(memory_with_insights)
    memory_with_insights.remember(_episodes(40))
    assert _insights(memory_with_insights) == before


@pytest.mark.medium
def test_forgetting_a_source_erases_its_insight(memory_with_insights: Memory) -> None:
    """An insight would reveal a text that was forgotten on purpose."""
    id_ = _insights(memory_with_insights)[0]
    memory_with_insights.forget(_sources(memory_with_insights, id_)[0])
    assert memory_with_insights.get(id_) is None


@pytest.mark.medium
def test_insights_add_their_sources(memory_with_insights: Memory) -> None:
    """Only episodes come back; the sources of an insight are reached through it."""
    found = memory_with_insights.recall("the garden needs water and roses", limit=20)
    assert all(hit.node.kind == Kind.EPISODE for hit in found)
    path_nodes = {step for hit in found for share in hit.why.contributions for step in share.path}
    assert path_nodes.intersection(_insights(memory_with_insights))


@pytest.mark.medium
def test_insights_with_ineligible_sources_are_not_followed(memory_with_insights: Memory) -> None:
    found = memory_with_insights.recall("the garden needs water and roses", limit=20, where=Filter(sessions="s0"))
    path_nodes = {step for hit in found for share in hit.why.contributions for step in share.path}
    for node in filter(None, map(memory_with_insights.get, path_nodes.intersection(_insights(memory_with_insights)))):
        sources = _sources(memory_with_insights, node.id)
        assert {memory_with_insights.get(source).session for source in sources} == {"s0"}  # type: ignore[union-attr]
    assert {memory_with_insights.get(step).session for step in path_nodes if not step.startswith("insight:")} <= {"s0"}  # type: ignore[union-attr]


@pytest.mark.medium
def test_given_oracle_writes_the_insights(tmp_path: Path) -> None:
    oracle = ScriptedOracle([])
    with _memory(tmp_path / "oracle.db", Weave(summarizer=oracle)) as memory:
        memory.remember(_episodes(40))
        assert oracle.source_counts
        insights = filter(None, map(memory.get, _insights(memory)))
        assert {insight.text for insight in insights} == {f"An insight over {n}." for n in oracle.source_counts}


def test_superseded_fact_and_successor_make_no_insight(tmp_path: Path) -> None:
    """The successor ranks before the old fact, and no insight mixes the two."""
    with _memory(tmp_path / "changes.db", Weave(omega=4)) as memory:
        for day, (id_, old) in enumerate((("a", None), ("b", "a"), ("c", None), ("d", None)), 1):
            when = datetime(2026, 1, day, tzinfo=UTC)
            memory.remember(f"Ana lives in the house of number {day}", id=id_, happened_at=when, supersedes=old)
        assert _insights(memory) == []
        found = memory.recall("Ana lives in the house of number 1")
        assert found[0].id != "a"


def test_memories_of_the_time_asked_about_rank_first(tmp_path: Path) -> None:
    """The temporal filter comes before vectors: the particle of the month in the question ranks first."""
    with _memory(tmp_path / "times.db", Weave()) as memory:
        for month in (1, 2, 3):
            memory.remember(
                f"we went swimming again, day {month}", id=f"m{month}", happened_at=datetime(2026, month, 9, tzinfo=UTC)
            )
        assert memory.recall("when did we go swimming in February 2026?")[0].id == "m2"


def test_recall_raises_importance(tmp_path: Path) -> None:
    clock = FakeClock()
    strategy = Weave(w_importance=0.2)
    with Memory(tmp_path / "use.db", embedder=HashingEmbedder(64), strategy=strategy, clock=clock) as memory:
        memory.remember(["roses by the gate", "tulips by the wall"])
        before = importance.importance(memory.graph(), strategy.importance_decay, clock.now.timestamp() + 40 * DAY)
        clock.advance(days=40)
        memory.recall("roses by the gate", limit=1)
        after = importance.importance(memory.graph(), strategy.importance_decay, clock.now.timestamp())
        assert after[0] > before[0]
        assert after[1] == pytest.approx(before[1])


def test_sources_of_an_insight_weigh_by_importance() -> None:
    """ω_i of equation 6 is the importance over its sum: a used particle weighs more."""
    all_weights: list[list[float]] = []

    class WeightRecorder(ScriptedOracle):
        def summarize(
            self, sources: Sequence[Node], vectors: Vectors, weights: NDArray[np.float64], token_cost: float, /
        ) -> str | None:
            all_weights.append(weights.tolist())
            return super().summarize(sources, vectors, weights, token_cost)

    graph = _particles(0, 0, 0)
    used = Access("p1", NOON, AccessKind.USED, 1.0, seq=9)
    graph = apply_batch(graph, WriteBatch(accesses=(used,), revision=2))
    nodes = [sample_node(f"p{n}", f"p{n}", seq=n + 1) for n in range(3)]
    refined = Weave(omega=3, summarizer=WeightRecorder([])).process(
        graph, lambda rows: [nodes[row] for row in rows], NOON
    )
    assert [node.kind for node in refined.nodes] == [Kind.INSIGHT]
    expected = importance.importance(graph, importance.ImportanceDecay(), NOON.timestamp())[:3].astype(np.float64)
    assert expected[1] > expected[0]
    assert all_weights == [pytest.approx((expected / expected.sum()).tolist())]


def test_clusters_covered_by_an_insight_are_left_out() -> None:
    """An insight covers three of four particles, .75: too much at a maximum of .7, but not at .8."""
    memory_with_insights = sample_node("insight", "insight", seq=50, kind=Kind.INSIGHT)
    graph = _particles(0, 0, 0, 0)
    derived = tuple(Edge("insight", f"p{n}", Link.DERIVED_FROM) for n in range(3))
    graph = apply_batch(graph, replace(sample_batch(memory_with_insights, edges=derived), revision=2))
    rows = np.arange(4)
    assert insight_coverage(graph, rows) == 0.75
    near = [(3, rows[:3], np.ones(3, np.float32))]
    config = clustering.ClusteringConfig()
    assert list(replace(Weave(), max_overlap=0.7)._new_clusters(graph, near, config)) == []
    drawn = replace(Weave(), max_overlap=0.8)._new_clusters(graph, near, config)
    assert [found.tolist() for found in drawn] == [[0, 1, 2, 3]]


def test_clusters_follow_strands() -> None:
    """p2 is near p1 only; a strand leads from p1 to p0, which makes three."""
    config = clustering.ClusteringConfig(min_size=3)
    near = [(2, np.array([1]), np.ones(1, np.float32))]
    strand = (Edge("p1", "p0", Link.ASSOCIATION, 0.8),)
    found = potential_clusters(_particles(0, 0, 0, edges=strand), near, config)
    assert [cluster.tolist() for cluster in found] == [[0, 1, 2]]
    assert list(potential_clusters(_particles(0, 0, 0), near, config)) == []


# ---- particles: Definition 3.1


def test_particle_has_core_signifiers_and_imprint() -> None:
    node = replace(sample_node("n", "Maybe I'll move to Lisbon?"), speaker="Ana", session="s1", source="chat")
    shown = particle(node)
    assert (shown.id, shown.core) == ("n", "Maybe I'll move to Lisbon?")
    assert shown.signifiers == ("question", "plan", "hypothesis")
    assert shown.imprint == Imprint("Ana", "s1", "chat")
    assert not shown.is_statement
    assert not particle(sample_node("n", "Please remind me of the dentist.")).is_statement
    assert particle(sample_node("n", "The shop opens at nine.")).is_statement


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please remind me of the dentist.", ("request",)),
        ("I love hiking.", ("preference",)),
        ("I'm so proud of you!", ("emotion",)),
        ("The shop opens at nine.", ("assertion",)),
        ("", ("assertion",)),
    ],
)
def test_signifiers_name_the_speech_act(text: str, expected: tuple[str, ...]) -> None:
    assert signifiers(text) == expected


def test_extractive_oracle_quotes_in_order_of_time() -> None:
    nodes = [sample_node(name, f"{name} says it", minutes=-place, seq=place) for place, name in enumerate("ab", 1)]
    vectors = np.stack([sample_vector("x"), sample_vector("y")])
    text = ExtractiveSummarizer().summarize(nodes, vectors, np.array([0.5, 0.5]), 0.001)
    assert text is not None
    assert [line.split(": ")[-1] for line in text.splitlines()] == ["b says it", "a says it"]
