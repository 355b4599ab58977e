"""EcphoryRAG, arXiv 2510.08958: cues, engrams, hops, and our remedies. §: papers.md, chapter 4.

``tests/unit/test_engram_search.py`` tests the routines of a hop and the growing index.

This file is over 400 lines because the tests of one paper stand in one file, as its strategy does.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import Episode, Filter, Memory
from ecphora.language.names.mentions import entity_id
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation
from ecphora.model.types import Edge, Link, Query, Vector
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.recall import MAX_PATH_NODES, why
from ecphora.retrieval import fusion
from ecphora.strategies.ecphory.strategy import FAITHFUL, Ecphory
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

PRACTICAL = Ecphory()


@pytest.mark.parametrize(
    "strategy",
    [PRACTICAL, FAITHFUL, replace(PRACTICAL, L=3, k_final=1, rank_by_question=True, use_certainty=False)],
    ids=["practical", "faithful", "mixed"],
)
class TestContract(StrategyContract):
    pass


def test_presets_have_the_published_values() -> None:
    """§4.3: the paper's k_initial, the class's depth and seeds, HotpotQA's best k_final, the number of chunks."""
    published = {"k_initial": 20, "L": 1, "k_seeds": 10, "k_final": 40, "k_chunks": 5}
    for strategy in (PRACTICAL, FAITHFUL):
        assert {symbol: getattr(strategy, symbol) for symbol in published} == published
        assert (strategy.name_weight, strategy.question_weight) == (1.0, 0.7)  # §4.11
    remedies = (
        "use_lexical_backoff",
        "use_cooccurrence",
        "use_specificity",
        "use_certainty",
        "use_similarity_floor",
        "use_importance",
    )
    assert [getattr(FAITHFUL, remedy) for remedy in remedies] == [False] * 6
    assert FAITHFUL.rank_by_question
    assert replace(PRACTICAL, name=FAITHFUL.name, rank_by_question=True, **dict.fromkeys(remedies, False)) == FAITHFUL


# ---- memories made by hand


@dataclass(frozen=True, slots=True)
class Spec:
    """A memory: its vector, or the vector's angle in degrees, the names in it, and the name that it is about."""

    vector: float | Vector | None
    names: str = ""
    about: str = ""
    text: str = "so it goes"
    session: str | None = None
    minutes: float = 0

    @property
    def all_names(self) -> set[str]:
        """The names it mentions or is about."""
        return {*self.names.split(), *self.about.split()}


def unit_vector(vector: float | Vector) -> Vector:
    """A unit vector in the plane."""
    if isinstance(vector, np.ndarray):
        return vector
    return np.array([math.cos(math.radians(vector)), math.sin(math.radians(vector))], np.float32)


def cos(angle: float) -> float:
    return math.cos(math.radians(angle))


def graph_of(*memories: Spec, backwards: bool = False) -> Graph:
    """Memories p0, p1 … in the first rows; ``backwards`` reverses the order of names and edges."""
    nodes = [
        sample_node(f"p{n}", one.text, session=one.session, minutes=one.minutes, seq=n + 1)
        for n, one in enumerate(memories)
    ]
    names = sorted(set().union(*(one.all_names for one in memories)), reverse=backwards)
    edges = [
        Edge(f"p{n}", entity_id(name), link)
        for n, one in enumerate(memories)
        for link, link_names in ((Link.MENTIONS, one.names), (Link.ABOUT, one.about))
        for name in link_names.split()
    ]
    entities = [replace(sample_entity(name), seq=100 + n) for n, name in enumerate(names)]
    vectors = {f"p{n}": unit_vector(one.vector) for n, one in enumerate(memories) if one.vector is not None}
    ordered = tuple(reversed(edges)) if backwards else tuple(edges)
    return apply_batch(Graph(), sample_batch(*nodes, *entities, vectors=vectors, edges=ordered, revision=1))


def query(vector: float | Vector | None, *names: str, text: str = "", **fields: Any) -> Query:
    """A question: its vector, the names in it, and its words (none by default)."""
    found = None if vector is None else unit_vector(vector)
    return sample_query(text, vector=found, entity_ids=tuple(map(entity_id, names)), **fields)


def feature_values(feature: str, strategy: Ecphory, cue: Query, *memories: Spec) -> list[float]:
    """The contribution of a feature to each memory."""
    found = strategy.activate(cue, graph_of(*memories))
    return [float(value) for value in found.contributions[feature][: len(memories)]]


def engram_scores(strategy: Ecphory, cue: Query, *memories: Spec) -> Any:
    """The score of each memory's best engram, for comparison; it makes up half of a memory's score."""
    return pytest.approx([2 * value for value in feature_values("engrams", strategy, cue, *memories)], abs=1e-5)


# ---- §4.5, the read path, compared with plain loops

WORDS = ("Ana", "Ben", "Cleo", "Dora", "Emil", "Finn", "Gerd", "Hana", "Igor", "Jana")


def best(values: Mapping[str, float], k: int) -> list[str]:
    """The names of the k highest positive values; among equal ones the first in alphabetical order, as the rows are."""
    return sorted((name for name in values if values[name] > 0), key=lambda name: (-values[name], name))[:k]


def clipped_cosine(vector: Vector, other: Vector) -> float:
    lengths = float(np.linalg.norm(vector) * np.linalg.norm(other))
    return max(0.0, float(vector @ other) / max(1e-9, lengths))


class PlainLoops:
    """The read path of §4.5 with the choices of §4.11, name by name, without words."""

    def __init__(
        self, strategy: Ecphory, question: Vector, question_names: Sequence[str], memories: Sequence[Spec]
    ) -> None:
        self.strategy, self.memories = strategy, memories
        names = sorted(set().union(*(one.all_names for one in memories)))
        self.h = {
            name: np.sum(
                [unit_vector(one.vector) for one in memories if name in one.all_names and one.vector is not None],
                axis=0,
            )
            for name in names
        }
        self.mentions = {name: sum(name in one.all_names for one in memories) for name in names}
        cosines = [clipped_cosine(unit_vector(one.vector), question) for one in memories if one.vector is not None]
        highest = float(np.max(cosines)) if strategy.use_lexical_backoff else 1.0
        self.direct = [0.5 * value / highest for value in cosines]
        expected = {name: clipped_cosine(self.h[name], question) for name in names}
        cues = {name: self.rare(name) if strategy.use_specificity else 1.0 for name in question_names if name in self.h}
        similarity = {
            name: max(
                0.7 * expected[name],
                *(w * (1 if c == name else clipped_cosine(self.h[name], self.h[c])) for c, w in cues.items()),
                0,
            )
            for name in names
        }
        self.ranks = dict(expected if strategy.rank_by_question else similarity)
        self.awake = best(similarity, strategy.k_initial)

    def rare(self, name: str) -> float:
        return math.log1p(len(self.memories) / self.mentions[name]) / math.log1p(len(self.memories))

    def given(self, k: int) -> list[float]:
        """The contribution of the best engram among the k best to each memory."""
        return [
            max((self.value(name, one) for name in self.kept(k) if name in one.all_names), default=0.0)
            for one in self.memories
        ]

    def kept(self, k: int) -> list[str]:
        return best({name: self.ranks[name] for name in self.awake}, k)

    def value(self, name: str, one: Spec) -> float:
        titles = sum(name in memory.about.split() for memory in self.memories)
        certainty = (0.75 if 0 < titles < self.mentions[name] else 0.5) if self.strategy.use_certainty else 1.0
        specificity = self.rare(name) if self.strategy.use_specificity and name not in one.about.split() else 1.0
        return self.ranks[name] * certainty * specificity

    def scores(self, k: int) -> list[float]:
        return [0.5 * given + direct for given, direct in zip(self.given(k), self.direct, strict=True)]

    def hop(self) -> None:
        seeds = self.kept(self.strategy.k_seeds)
        centroid = np.sum([self.ranks[one] * self.h[one] / np.linalg.norm(self.h[one]) for one in seeds], axis=0)
        cosines = {name: clipped_cosine(self.h[name], centroid) for name in self.h if name not in self.awake}
        so_far = self.scores(len(self.h))
        self.awake += best(cosines, self.strategy.k_initial)
        if not self.strategy.use_cooccurrence:
            return
        top = sorted(range(len(self.memories)), key=lambda n: -so_far[n])[: self.strategy.k_chunks]
        for n in top:
            for name in sorted(self.memories[n].all_names):
                self.awake += [] if name in self.awake else [name]
                self.ranks[name] = max(self.ranks[name], so_far[n] / max(so_far) * self.rare(name))


def random_memories(seed: int) -> tuple[list[Spec], Vector, list[str]]:
    """Twelve random memories of a few names each, and a question that names up to two; fixed by the seed."""
    rng = np.random.default_rng(seed)  # noqa: TID251  # a fixed seed: always the same memories
    vectors = rng.random((13, 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    memories = []
    for vector in vectors[1:]:
        names = rng.permutation(WORDS)[: rng.integers(0, 5)].tolist()
        cut = int(rng.random() < 0.3)
        memories.append(Spec(vector, " ".join(names[cut:]), " ".join(names[:cut])))
    return memories, vectors[0], rng.permutation(WORDS)[: rng.integers(0, 3)].tolist()


@pytest.mark.parametrize(
    "strategy",
    [
        FAITHFUL,
        replace(FAITHFUL, rank_by_question=False, use_specificity=True),
        replace(FAITHFUL, use_certainty=True, use_lexical_backoff=True),
        replace(FAITHFUL, use_cooccurrence=True),
        PRACTICAL,
    ],
    ids=["faithful", "by-cues", "certain", "co-occurrence", "practical"],
)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_read_path_equals_plain_loops(strategy: Ecphory, depth: int) -> None:
    """With small settings, so that every limit takes effect."""
    small = replace(strategy, L=depth, k_initial=2, k_seeds=2, k_final=4, k_chunks=2)
    for seed in range(4):
        memories, question, question_names = random_memories(seed)
        reference = PlainLoops(small, question, question_names, memories)
        for _ in range(depth):
            reference.hop()
        found = small.activate(query(question, *question_names), graph_of(*memories))
        assert found.scores[: len(memories)] == pytest.approx(reference.scores(small.k_final), abs=1e-5), seed


# ---- cues, and the two indices


def test_engram_score_is_the_best_over_the_cues() -> None:
    """§4.11: Ana is named, so her engram has 1; Ben has .7 of the question's cosine; Cleo cos 50° with Ana's engram."""
    memories = Spec(80, "Ana"), Spec(0, "Ben"), Spec(130, "Cleo")
    by_cues = replace(FAITHFUL, rank_by_question=False, L=0)
    assert engram_scores(by_cues, query(0, "Ana"), *memories) == [1, 0.7, cos(50)]
    assert engram_scores(by_cues, query(0), *memories) == [0.7 * cos(80), 0.7, 0]
    weighted = replace(by_cues, name_weight=0.5, question_weight=1.0)
    assert engram_scores(weighted, query(0, "Ana"), *memories) == [0.5, 1, 0.5 * cos(50)]


def test_recall_searches_engrams_and_memories() -> None:
    """p1 has no name and p2 no vector: each is found by the other; p3 has neither and is not found."""
    memories = Spec(0, "Ana"), Spec(60), Spec(None, "Ana"), Spec(None)
    found = FAITHFUL.activate(query(0), graph_of(*memories))
    assert found.contributions["dense similarity"][:4] == pytest.approx([0.5, 0.25, 0, 0])
    assert found.contributions["engrams"][:4] == pytest.approx([0.5, 0, 0.5, 0])
    assert found.scores == pytest.approx([1, 0.25, 0.5, 0, 0])


def test_score_is_half_engram_and_half_memory_similarity() -> None:
    """§4.11: half the best cosine of question and engram, half that of question and memory.

    A name is one engram: Ana, mentioned at 0° and 60°, lies at 30°, Ben at 60°. The published code merges no names, and
    sorts all memories as 0.
    """
    memories = Spec(0, "Ana"), Spec(60, "Ana Ben"), Spec(90)
    found = FAITHFUL.activate(query(10), graph_of(*memories))
    assert found.scores[:3] == pytest.approx(
        [0.5 * cos(20) + 0.5 * cos(10), 0.5 * cos(20) + 0.5 * cos(50), 0.5 * cos(80)], abs=1e-5
    )


def test_cosines_count_from_the_similarity_floor() -> None:
    """Above a floor of .5, a cosine of .8 is .6 and one of .5 is 0, for engrams and memories."""
    memories = Spec(0, "Ana"), Spec(math.degrees(math.acos(0.8)), "Ben"), Spec(60, "Cleo")
    cue, graph = query(0, similarity_floor=0.5), graph_of(*memories)
    found = replace(FAITHFUL, use_similarity_floor=True).activate(cue, graph)
    assert found.scores[:3] == pytest.approx([1, 0.6, 0], abs=1e-5)
    assert found.contributions["dense similarity"][:3] == pytest.approx([0.5, 0.3, 0], abs=1e-5)
    assert FAITHFUL.activate(cue, graph).scores[:3] == pytest.approx([1, 0.8, 0.5], abs=1e-5)


def test_k_initial_limits_the_first_engrams() -> None:
    """k_initial limits E_0; the published ``query`` ignores it."""
    memories = Spec(10, "Ana"), Spec(20, "Ben"), Spec(30, "Cleo")
    for k in (0, 1, 2, 3):
        few = replace(FAITHFUL, k_initial=k, L=0)
        assert engram_scores(few, query(0), *memories) == [
            cos(angle) if n < k else 0 for n, angle in enumerate((10, 20, 30))
        ]


def test_engram_that_is_not_active_has_no_score_as_context() -> None:
    """Ben matches the question too, but ``k_initial`` leaves him out."""
    graph = graph_of(Spec(10, "Ana"), Spec(20, "Ben"))
    found = replace(FAITHFUL, k_initial=1, L=0).activate(query(0), graph)
    assert found.context_scores[graph.rows([entity_id("Ana"), entity_id("Ben")])] == pytest.approx([cos(10), 0])


def test_names_in_the_question_are_cues() -> None:
    """The published code never calls its cue extractor, so it starts with Ben, who is nearer to the question."""
    memories = Spec(10, "Ben"), Spec(70, "Ana")
    one = replace(FAITHFUL, k_initial=1, L=0)
    assert engram_scores(one, query(0, "Ana"), *memories) == [0, cos(70)]
    assert engram_scores(one, query(0), *memories) == [cos(10), 0]


def test_k_final_limits_engrams_but_not_memories() -> None:
    memories = Spec(10, "Ana"), Spec(20, "Ben"), Spec(30, "Cleo"), Spec(25, "Ana Cleo")
    # Ana's engram lies between 10° and 25°, Cleo's between 25° and 30°.
    expected = [cos(17.5), cos(20), cos(27.5), cos(17.5)]
    for k, kept in ((0, ""), (1, "0 3"), (2, "0 1 3"), (3, "0 1 2 3")):
        few = replace(FAITHFUL, k_final=k)
        assert engram_scores(few, query(0), *memories) == [
            expected[n] if str(n) in kept.split() else 0 for n in range(4)
        ]
        assert (few.activate(query(0), graph_of(*memories)).scores[:4] > 0).all()


# ---- the hop


def test_hop_follows_the_similarity_weighted_centroid() -> None:
    """Ana at 10° and Ben at 75° are named. The question at 0° weighs them cos 10° and cos 75°: the centroid is at 22°.

    So 20° and 24° are found. The published code has .5 for every weight, which gives 42.5° and finds 40° and 45°. Its
    embeddings and weights have different orders; swapped weights give 63° and find 61° and 65°.
    """
    weighted = cos(10) * unit_vector(10) + cos(75) * unit_vector(75)
    assert math.degrees(math.atan2(weighted[1], weighted[0])) == pytest.approx(22.1, abs=0.1)
    names = ("Ana", "Ben", *WORDS[2:8])
    angles = (10, 75, 20, 24, 40, 45, 61, 65)
    memories = [Spec(angle, name) for name, angle in zip(names, angles, strict=True)]
    found = engram_scores(replace(FAITHFUL, k_initial=2), query(0, "Ana", "Ben"), *memories)
    assert found == [cos(angle) for angle in angles[:4]] + [0] * 4


CHAIN = (Spec(20, "Ana"), Spec(45, "Ben"), Spec(68, "Cleo"), Spec(85, "Dora"))
"""Each lies nearest to the one before it; the question is at 0°."""


@pytest.mark.parametrize("seeds", [10, 1])
def test_each_hop_finds_one_more_engram(seeds: int) -> None:
    """The published code crashes at depth 0, and depths above 1 have no effect: its second centroid equals its first.

    With one seed, which is always Ana, the centroid stays the same here too; but active engrams are not found again, so
    each hop finds the next ones.
    """
    for depth in (0, 1, 2, 3):
        found = engram_scores(replace(FAITHFUL, k_initial=1, k_seeds=seeds, L=depth), query(0), *CHAIN)
        assert found == [cos(20), cos(45), cos(68), cos(85)][: depth + 1] + [0] * (3 - depth)


def test_next_seeds_are_the_most_similar_active_engrams() -> None:
    """§4.7: not the first of the list. Ana at 80° is named and is the first seed; she leads to Ben at 50°.

    Ben is nearer to the question, so he is the next seed and leads to Cleo at 25°; Ana would lead to Dora at 130°.
    """
    memories = (
        Spec(80, "Ana"),
        Spec(50, "Ben"),
        Spec(25, "Cleo"),
        Spec(130, "Dora"),
        Spec(-80, "Emil"),
    )
    found = engram_scores(replace(FAITHFUL, k_initial=1, k_seeds=1, L=2), query(0, "Ana"), *memories)
    assert found == [cos(80), cos(50), cos(25), 0, 0]


BRIDGE = (
    Spec(None, "Ana Ben", text="one"), Spec(None, "Ben Cleo", text="two"), Spec(None, "Cleo Dora", text="three"),
    Spec(None, "Dora", text="four"),
)  # fmt: skip
"""A question about Ana finds the first memory; only names lead to the others."""


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_each_hop_follows_one_more_name(depth: int) -> None:
    """Practical: depth 0 finds the memories of Ana, and each hop those of the names found in the hop before."""
    graph = graph_of(*BRIDGE)
    found = replace(PRACTICAL, L=depth).activate(query(None, "Ana"), graph)
    reached = found.scores[: len(BRIDGE)]
    assert (reached > 0).tolist() == [n <= depth for n in range(4)]
    assert sorted(reached, reverse=True) == reached.tolist(), "memories reached later rank no higher"
    path = ["entity:ana", "p0", "entity:ben", "p1", "entity:cleo", "p2", "entity:dora", "p3"][: 2 * depth + 2]
    assert why(graph, found, depth).path == tuple(path[-MAX_PATH_NODES:])


def test_hops_along_names_equal_values_computed_by_hand() -> None:
    """Of 4 memories Ana is in 1, the others in 2: r = ln 3 / ln 5. Each step multiplies by r of the name.

    p0 has 1 from Ana, so it is the strongest and Ben gets r. p1 has r from Ben, times r because he is in two.
    """
    r = math.log(3) / math.log(5)
    plain = replace(PRACTICAL, use_certainty=False)
    assert engram_scores(replace(plain, L=1), query(None, "Ana"), *BRIDGE) == [1, r**2, 0, 0]
    assert engram_scores(replace(plain, L=2), query(None, "Ana"), *BRIDGE) == [1, r**2, r**4, 0]


def test_faithful_hops_follow_vectors_only() -> None:
    """The paper has a graph but describes no step on it (§4.11)."""
    r = math.log(3) / math.log(5)
    assert engram_scores(replace(FAITHFUL, L=3), query(None, "Ana"), *BRIDGE) == [1, 0, 0, 0]
    assert engram_scores(replace(FAITHFUL, use_cooccurrence=True), query(None, "Ana"), *BRIDGE) == [1, r, 0, 0]
    assert engram_scores(replace(PRACTICAL, L=3, use_cooccurrence=False), query(None, "Ana"), *BRIDGE) == [
        0.5,
        0,
        0,
        0,
    ]


def test_engrams_found_by_hops_rank_by_the_question() -> None:
    """Ben at 60° is named. Finn at 80° is nearest to him, then Mia at 30°; Mia fits the question best, Finn least.

    If the last centroid, at 65°, ranked them, Finn would be kept and Mia cut.
    """
    memories = Spec(60, "Ben"), Spec(80, "Finn"), Spec(30, "Mia")
    deep = replace(FAITHFUL, k_initial=1, L=2)
    assert engram_scores(deep, query(0, "Ben"), *memories) == [cos(60), cos(80), cos(30)]
    assert engram_scores(replace(deep, k_final=2), query(0, "Ben"), *memories) == [cos(60), 0, cos(30)]
    assert engram_scores(replace(deep, k_final=1), query(0, "Ben"), *memories) == [0, 0, cos(30)]


memory_lists = st.lists(
    st.builds(
        Spec,
        st.one_of(st.none(), st.integers(0, 179).map(float)),
        st.sets(st.sampled_from(WORDS), max_size=4).map(lambda names: " ".join(sorted(names))),
        st.sampled_from(["", "", *WORDS]),
    ),
    min_size=1,
    max_size=9,
)
question_strategy = st.tuples(
    st.one_of(st.none(), st.integers(0, 179).map(float)), st.sets(st.sampled_from(WORDS), max_size=2)
)


@pytest.mark.medium
@given(memory_lists, question_strategy, st.integers(0, 2))
def test_further_hops_keep_the_scores_of_active_engrams(
    memories: list[Spec], question: tuple[float | None, set[str]], depth: int
) -> None:
    """No drift: an active engram keeps its score; a memory gains only by a better engram of its own."""
    angle, names = question
    cue, few = query(angle, *sorted(names)), replace(FAITHFUL, k_initial=2, k_seeds=2)
    before, after = (feature_values("engrams", replace(few, L=L), cue, *memories) for L in (depth, depth + 1))
    assert all(later >= earlier for earlier, later in zip(before, after, strict=True))
    for one, earlier, later in zip(memories, before, after, strict=True):
        if len(one.all_names) == 1 and earlier > 0:
            assert later == earlier


# ---- co-occurrence


@pytest.mark.medium
@given(memory_lists, question_strategy)
def test_scores_do_not_depend_on_the_order_of_mentions(
    memories: list[Spec], question: tuple[float | None, set[str]]
) -> None:
    """§4.1: the graph has no direction, so the order of names in a memory, or in all, makes no difference."""
    angle, names = question
    cue = query(angle, *sorted(names))
    one = replace(PRACTICAL, L=2)
    found, again = (one.activate(cue, graph_of(*memories, backwards=backwards)) for backwards in (False, True))
    assert found.scores[: len(memories)] == pytest.approx(again.scores[: len(memories)], abs=1e-5)


@pytest.mark.medium
def test_cooccurrence_is_symmetric() -> None:
    """Ana leads to Ben's memory as Ben leads to Ana's."""
    memories = Spec(None, "Ana"), Spec(None, "Ana Ben"), Spec(None, "Ben")
    for strategy in (PRACTICAL, replace(FAITHFUL, use_cooccurrence=True)):
        forward = feature_values("engrams", strategy, query(None, "Ana"), *memories)
        backward = feature_values("engrams", strategy, query(None, "Ben"), *memories)
        assert forward == pytest.approx(backward[::-1])
        assert forward[2] > 0


def test_cooccurrence_follows_only_the_best_memories() -> None:
    """The limit is ``k_chunks``: Ben is in the memory about Ana, Cleo in the one that only mentions her."""
    memories = (
        Spec(None, "Ben", "Ana"),
        Spec(None, "Ana Cleo"),
        Spec(None, "Ben"),
        Spec(None, "Cleo"),
    )
    for chunks in (0, 1, 2):
        found = feature_values("engrams", replace(PRACTICAL, k_chunks=chunks), query(None, "Ana"), *memories)
        assert found[0] > found[1] > 0
        assert [value > 0 for value in found[2:]] == [n < chunks for n in range(2)]


# ---- our remedies, each on and off


@pytest.mark.parametrize("fields", [{"vector": None}, {"embedder_coverage": 0.0}])
def test_lexical_backoff_finds_memories_without_vectors(fields: Any) -> None:
    """§4.12.3. The question names nobody, and the embedder cannot read it."""
    memories = Spec(0, "Ana", text="the harbour at night"), Spec(30, "Ana", text="school lunch")
    cue, graph = replace(query(0, text="harbour"), **fields), graph_of(*memories)
    found = replace(PRACTICAL, L=0).activate(cue, graph)
    assert found.scores[:2] == pytest.approx([0.5, 0])
    assert found.contributions["bm25"][:2] == pytest.approx([0.5, 0])
    assert not FAITHFUL.activate(cue, graph).scores.any()
    assert not replace(PRACTICAL, use_lexical_backoff=False).activate(cue, graph).scores.any()


def test_lexical_backoff_finds_a_missed_name() -> None:
    """No engram of Porto was stored, but the word was: a missed entity only costs a hop."""
    memories = (
        Spec(120, text="the ferry to Porto"),
        Spec(120, text="evening"),
        Spec(120, "Ana", text="Ana"),
    )
    cue = query(0, "Porto", text="Porto")
    assert PRACTICAL.activate(cue, graph_of(*memories)).scores[:3] == pytest.approx([0.5, 0, 0])
    assert not FAITHFUL.activate(cue, graph_of(*memories)).scores.any()


def test_direct_half_is_normalized_by_the_maximum() -> None:
    """Similarity and words are each divided by their maximum, and so is their sum; the best memory has one half."""
    memories = Spec(0, text="night"), Spec(60, text="harbour harbour"), Spec(90, text="lunch")
    found = PRACTICAL.activate(query(0, text="harbour"), graph_of(*memories))
    assert found.contributions["dense similarity"][:3] == pytest.approx([0.5 / 1.5, 0.25 / 1.5, 0], abs=1e-6)
    assert found.contributions["bm25"][:3] == pytest.approx([0, 0.5 / 1.5, 0], abs=1e-6)
    assert found.scores[:3].max() == pytest.approx(0.5)
    half = replace(query(0, text="harbour"), embedder_coverage=0.5)
    assert (
        PRACTICAL.activate(half, graph_of(*memories)).contributions["dense similarity"][0]
        < found.contributions["dense similarity"][0]
    )


def test_specificity_lowers_common_names() -> None:
    """§4.11: of 4 memories Ana is in 4 and Ben in 1. As a cue and as a mention Ana counts ln 2 / ln 5, Ben 1."""
    memories = (
        Spec(None, "Ana"),
        Spec(None, "Ana Ben"),
        Spec(None, "Ana"),
        Spec(None, "", "Ana"),
    )
    cue, r = query(None, "Ana", "Ben"), math.log(2) / math.log(5)
    assert engram_scores(FAITHFUL, cue, *memories) == [1, 1, 1, 1]
    assert engram_scores(replace(FAITHFUL, use_specificity=True), cue, *memories) == [
        r * r,
        1,
        r * r,
        r,
    ]  # p3 is about Ana


def test_certainty_is_higher_for_names_in_text_and_title() -> None:
    """§4.12.3: Ana is in a text and a title, Ben in texts and Cleo in a title alone."""
    memories = (
        Spec(None, "Ana Ben"),
        Spec(None, "", "Ana"),
        Spec(None, "Ben"),
        Spec(None, "", "Cleo"),
    )
    cue = query(None, "Ana", "Ben", "Cleo")
    assert engram_scores(FAITHFUL, cue, *memories) == [1, 1, 1, 1]
    assert engram_scores(replace(FAITHFUL, use_certainty=True), cue, *memories) == [0.75, 0.75, 0.5, 0.5]


def test_ranking_by_cues_finds_named_engrams_far_from_the_question() -> None:
    """§4.12.2: Ana is named, but at a right angle to the question; as published her memory gets nothing."""
    memories = Spec(90, "Ana"), Spec(60, "Ben")
    assert engram_scores(FAITHFUL, query(0, "Ana"), *memories) == [0, cos(60)]
    assert engram_scores(replace(FAITHFUL, rank_by_question=False), query(0, "Ana"), *memories) == [1, cos(30)]


# ---- ineligible memories

SESSIONS = (
    Spec(0, "Ana Ben", session="hidden"),
    Spec(90, "Ben", session="open"),
    Spec(80, "Cleo", session="open"),
)
BOTH = [PRACTICAL, FAITHFUL]


@pytest.mark.parametrize("strategy", BOTH, ids=["practical", "faithful"])
def test_ineligible_memories_activate_nothing(strategy: Ecphory) -> None:
    """Only the hidden memory mentions Ana: she is not a cue, and leads to nothing."""
    graph = graph_of(*SESSIONS)
    deep = replace(strategy, L=3)
    unfiltered = deep.activate(query(None, "Ana"), graph)
    assert unfiltered.scores[0] > 0
    open_ = deep.activate(query(None, "Ana", where=Filter(sessions="open")), graph)
    assert not open_.scores.any()
    assert (open_.paths["engrams"].parent != 0).all()


def test_engram_uses_eligible_memories_only() -> None:
    """Ben, mentioned at 0° and 90°, lies at 45°; without the hidden memory at 90°, far from a question at 0°."""
    open_ = Filter(sessions="open")
    assert engram_scores(FAITHFUL, query(0), *SESSIONS) == [cos(0), cos(45), cos(80)]
    assert engram_scores(FAITHFUL, query(0, where=open_), *SESSIONS) == [0, 0, cos(80)]


def test_engram_with_a_hidden_half_has_the_cosine_of_the_other_half() -> None:
    """Ana is mentioned at 0° and, hidden, at 120°: a question at 60° has cosine .5 with her engram, not 1."""
    memories = (Spec(0, "Ana", session="open"), Spec(120, "Ana", session="hidden"))
    cue = query(60, where=Filter(sessions="open"))
    assert feature_values("engrams", FAITHFUL, cue, *memories) == pytest.approx([0.25, 0])


def test_engram_length_is_estimated_from_all_memories() -> None:
    """Ana at 0°, 60° and, hidden, 30°: the mean cosine of the three pairs is (.5 + 2 cos 30°) / 3 = .74402.

    Two are eligible, so |h_1 + h_2|² is estimated as 2 + 2 · .74402 = 3.48803, and a question at 0° has the cosine
    (1 + .5) / 1.86763.
    """
    memories = (
        Spec(0, "Ana", session="open"),
        Spec(60, "Ana", session="open"),
        Spec(30, "Ana", session="hidden"),
    )
    cue = query(0, where=Filter(sessions="open"))
    assert engram_scores(FAITHFUL, cue, *memories) == [0.803157, 0.803157, 0]


def test_hidden_memories_change_no_cue_and_no_hop() -> None:
    """Ana is mentioned at 0° and, hidden, at 90°. Her cue and the hop from her are at 0°, not at 45°."""
    memories = (
        Spec(0, "Ana", session="open"), Spec(90, "Ana", session="hidden"), Spec(10, "Ben", session="open"),
        Spec(50, "Cleo", session="open"),
    )  # fmt: skip
    cue = query(None, "Ana", where=Filter(sessions="open"))
    assert engram_scores(replace(FAITHFUL, L=0), cue, *memories) == [1, 0, cos(10), cos(50)]
    assert engram_scores(replace(FAITHFUL, k_initial=1), cue, *memories) == [1, 0, cos(10), 0]


def test_names_of_hidden_memories_do_not_count_in_k_final() -> None:
    """One engram is kept. Ana would be the best; Cleo has .7 from the question."""
    one, memories = replace(FAITHFUL, rank_by_question=False, k_final=1), (SESSIONS[0], SESSIONS[2])
    assert engram_scores(one, query(80, "Ana"), *memories) == [1, 0]
    assert engram_scores(one, query(80, "Ana", where=Filter(sessions="open")), *memories) == [0, 0.7]


@pytest.mark.medium
@given(memory_lists, question_strategy, st.sets(st.integers(0, 8)))
def test_paths_never_contain_hidden_memories(
    memories: list[Spec], question: tuple[float | None, set[str]], hidden: set[int]
) -> None:
    mixed = [replace(one, session="hidden" if n in hidden else "open") for n, one in enumerate(memories)]
    graph, (angle, names) = graph_of(*mixed), question
    found = replace(PRACTICAL, L=2).activate(query(angle, *sorted(names), where=Filter(sessions="open")), graph)
    for row, one in enumerate(mixed):
        if one.session == "hidden":
            assert found.scores[row] == 0
        elif found.scores[row] > 0:
            steps = {
                graph.row(step) for contribution in why(graph, found, row).contributions for step in contribution.path
            }
            assert not steps & hidden & set(range(len(mixed)))


def test_as_of_excludes_later_bridges() -> None:
    memories = Spec(None, "Ana"), Spec(None, "Ana Ben", minutes=50), Spec(None, "Ben")
    now = PRACTICAL.activate(query(None, "Ana"), graph_of(*memories))
    then = PRACTICAL.activate(query(None, "Ana", as_of=NOON), graph_of(*memories))
    assert (now.scores[:3] > 0).tolist() == [True, True, True]
    assert (then.scores[:3] > 0).tolist() == [True, False, False]


# ---- missing vectors and names


@pytest.mark.parametrize("strategy", BOTH, ids=["practical", "faithful"])
def test_names_suffice_without_vectors(strategy: Ecphory) -> None:
    """No memory has a vector; the question may have one."""
    memories = Spec(None, "Ana"), Spec(None, "Ben")
    for vector in (None, 0.0):
        found = replace(strategy, L=3).activate(query(vector, "Ana"), graph_of(*memories))
        assert (found.scores[:2] > 0).tolist() == [True, False]


def test_lexical_hits_activate_others_by_their_names() -> None:
    """Without a vector or a known name: the memory found by words has a name, which leads to another memory."""
    memories = (Spec(None, "Ben", text="a gale at sea"), Spec(None, "Ben"))
    found = PRACTICAL.activate(query(None, text="gale"), graph_of(*memories))
    assert found.scores[0] > found.scores[1] > 0


def test_recall_without_names_ranks_memories_by_cosine() -> None:
    for strategy in BOTH:
        found = strategy.activate(query(0, "Ana"), graph_of(Spec(0), Spec(60)))
        assert found.scores == pytest.approx([0.5, 0.25])
        assert found.contributions["engrams"].tolist() == [0, 0]
        assert found.confidence > 0


def test_recall_writes_nothing() -> None:
    """§4.7: status, access counts and short-term memory have no effect on ranking; here they do not exist."""
    found: Activation = PRACTICAL.activate(sample_query("Where is Ana?"), sample_graph())
    assert found.new_episode is None
    assert not len(found.stimulus)


# ---- in a memory

TALK = (
    Episode("Kendall went hiking with Rosalind.", id="hike", session="may"),
    Episode("Rosalind has a stall at the Ashgrove market.", id="stall", session="june"),
    Episode("The Ashgrove market closes at noon.", id="noon", session="june"),
    Episode("It rained, and we played cards.", id="rain", session="june"),
)


def memory_at(path: Path, strategy: str | Ecphory = "ecphory") -> Memory:
    return Memory(path, embedder=HashingEmbedder(256), strategy=strategy, clock=FakeClock())


@pytest.mark.parametrize("strategy", ["ecphory", "ecphory-faithful"])
def test_contributions_add_up_to_the_score(tmp_path: Path, strategy: str) -> None:
    with memory_at(tmp_path / "m.db", strategy) as memory:
        memory.remember(TALK)
        found = memory.recall("Whom did Kendall meet while hiking?")
        assert found.strategy == strategy
        assert found[0].id == "hike"
        assert len(found) > 1
        for hit in found:
            assert sum(contribution.value for contribution in hit.why.contributions) == pytest.approx(
                hit.score, abs=1e-4
            )
        contributions = {contribution.feature: contribution for contribution in found[0].why.contributions}
        assert contributions["engrams"].path[-1] == "hike"
        assert contributions["engrams"].path[0].startswith("entity:")


def test_hops_walk_a_memory_from_name_to_name(tmp_path: Path) -> None:
    """Kendall leads to Rosalind, and Rosalind to the market. One engram is the seed; the question has no vector."""
    with memory_at(tmp_path / "m.db") as memory:
        memory.remember(TALK)
        graph, cue = memory.graph(), replace(memory.build_query("Kendall"), vector=None)
        for depth, expected in ((0, ["hike"]), (1, ["hike", "stall"]), (2, ["hike", "stall", "noon"])):
            found = replace(PRACTICAL, k_initial=1, L=depth).activate(cue, graph)
            rows = fusion.top_rows(found.scores, graph.episodes, 10)
            assert [graph.id(row) for row in rows.tolist()] == expected
        path = why(graph, found, int(rows[-1])).path
        assert (path[0], path[-2:]) == ("entity:kendall", ("entity:ashgrove", "noon"))


def test_filter_applies_to_hits_and_paths(tmp_path: Path) -> None:
    with memory_at(tmp_path / "m.db") as memory:
        memory.remember(TALK)
        found = memory.recall("Whom did Kendall meet at the market?", where=Filter(sessions="june"))
        assert {hit.node.session for hit in found} == {"june"}
        path_nodes = {step for hit in found for contribution in hit.why.contributions for step in contribution.path}
        assert not path_nodes & {"hike", "entity:kendall"}


def test_forgotten_memory_leaves_no_bridge(tmp_path: Path) -> None:
    """Engrams are derived, so nothing of a forgotten memory stays in them."""
    with memory_at(tmp_path / "m.db", replace(PRACTICAL, L=2)) as memory:
        memory.remember(TALK)
        cue = replace(memory.build_query("Kendall"), vector=None)
        assert memory.strategy.activate(cue, memory.graph()).scores.any()
        memory.forget("hike")
        assert not memory.strategy.activate(cue, memory.graph()).scores.any()


def test_long_text_is_cut_into_few_chunks(tmp_path: Path) -> None:
    """§4.7: the published splitter makes 136 chunks of 2,889 characters, 128 of them tails."""
    text = ("Ana walked along the river and counted boats. " * 63)[:2889]
    with memory_at(tmp_path / "m.db") as memory:
        memory.remember(text, id="long", happened_at=datetime(2026, 1, 1, tzinfo=UTC))
        chunk_rows = memory.graph().document_rows("long")
        assert 1 < len(chunk_rows) < 10
        expected = memory.get("long")
        assert expected is not None
        assert expected.text == text
