"""EcphoryRAG, arXiv 2510.08958: cues, engrams, hops, and our remedies. §: papers.md, chapter 4.

The routines of a hop, and the index that grows, are in ``tests/unit/test_engram_search.py``.
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
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.graph import Graph
from ecphora.language.name_normalization import entity_id
from ecphora.model import Edge, Link, Query, Vector
from ecphora.ports import Activation
from ecphora.recall import MAX_PATH_NODES, why
from ecphora.stages.retrieval import top_k
from ecphora.strategies.ecphory import FAITHFUL, Ecphory
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


def test_the_published_values() -> None:
    """§4.3: the paper's k_initial, the class's depth and seeds, HotpotQA's best k_final, the chunks that are kept."""
    published = {"k_initial": 20, "L": 1, "k_seeds": 10, "k_final": 40, "k_chunks": 5}
    for strategy in (PRACTICAL, FAITHFUL):
        assert {symbol: getattr(strategy, symbol) for symbol in published} == published
        assert (strategy.name_weight, strategy.question_weight) == (1.0, 0.7)  # §4.11
    remedies = ("use_lexical_backoff", "use_cooccurrence", "use_specificity", "use_certainty")
    assert [getattr(FAITHFUL, remedy) for remedy in remedies] == [False] * 4
    assert FAITHFUL.rank_by_question
    assert replace(PRACTICAL, name=FAITHFUL.name, rank_by_question=True, **dict.fromkeys(remedies, False)) == FAITHFUL


# ---- memories made by hand


@dataclass(frozen=True, slots=True)
class Told:
    """A memory: where its vector lies, the names in it, and the name it is about. A number is an angle in degrees."""

    vector: float | Vector | None
    names: str = ""
    about: str = ""
    text: str = "so it goes"
    session: str | None = None
    minutes: float = 0

    @property
    def known(self) -> set[str]:
        """The names it mentions or is about."""
        return {*self.names.split(), *self.about.split()}


def flat(vector: float | Vector) -> Vector:
    """A unit vector in the plane."""
    if isinstance(vector, np.ndarray):
        return vector
    return np.array([math.cos(math.radians(vector)), math.sin(math.radians(vector))], np.float32)


def cos(angle: float) -> float:
    return math.cos(math.radians(angle))


def graph_of(*told: Told, backwards: bool = False) -> Graph:
    """Memories p0, p1 … in the first rows; ``backwards`` tells names and edges in another order."""
    nodes = [
        sample_node(f"p{n}", one.text, session=one.session, minutes=one.minutes, seq=n + 1)
        for n, one in enumerate(told)
    ]
    names = sorted(set().union(*(one.known for one in told)), reverse=backwards)
    edges = [
        Edge(f"p{n}", entity_id(name), link)
        for n, one in enumerate(told)
        for link, some in ((Link.MENTIONS, one.names), (Link.ABOUT, one.about))
        for name in some.split()
    ]
    entities = [replace(sample_entity(name), seq=100 + n) for n, name in enumerate(names)]
    vectors = {f"p{n}": flat(one.vector) for n, one in enumerate(told) if one.vector is not None}
    ordered = tuple(reversed(edges)) if backwards else tuple(edges)
    return Graph().apply(sample_batch(*nodes, *entities, vectors=vectors, edges=ordered, revision=1))


def asked(vector: float | Vector | None, *names: str, text: str = "", **fields: Any) -> Query:
    """A question: its vector, the names in it, and its words, of which it has none unless they are given."""
    found = None if vector is None else flat(vector)
    return sample_query(text, vector=found, entity_ids=tuple(map(entity_id, names)), **fields)


def given_by(stage: str, strategy: Ecphory, cue: Query, *told: Told) -> list[float]:
    """What a stage gives each memory."""
    found = strategy.activate(cue, graph_of(*told))
    return [float(value) for value in found.contributions[stage][: len(told)]]


def engrams(strategy: Ecphory, cue: Query, *told: Told) -> Any:
    """What each memory's best engram counts, for comparison; it makes up half of a score."""
    return pytest.approx([2 * value for value in given_by("engrams", strategy, cue, *told)], abs=1e-5)


# ---- §4.5, the read path, beside plain loops

WORDS = ("Ana", "Ben", "Cleo", "Dora", "Emil", "Finn", "Gerd", "Hana", "Igor", "Jana")


def best(values: Mapping[str, float], k: int) -> list[str]:
    """The names of the k highest positive values; of equal ones the first in the alphabet, as the rows are here."""
    return sorted((name for name in values if values[name] > 0), key=lambda name: (-values[name], name))[:k]


def towards(vector: Vector, other: Vector) -> float:
    lengths = float(np.linalg.norm(vector) * np.linalg.norm(other))
    return max(0.0, float(vector @ other) / max(1e-9, lengths))


class Loops:
    """The read path of §4.5 with the choices of §4.11, name by name; of words it knows nothing."""

    def __init__(self, strategy: Ecphory, question: Vector, named: Sequence[str], told: Sequence[Told]) -> None:
        self.asked, self.told = strategy, told
        everyone = sorted(set().union(*(one.known for one in told)))
        self.h = {
            name: np.sum([flat(one.vector) for one in told if name in one.known and one.vector is not None], axis=0)
            for name in everyone
        }
        self.mentions = {name: sum(name in one.known for one in told) for name in everyone}
        near = [towards(flat(one.vector), question) for one in told if one.vector is not None]
        highest = float(np.max(near)) if strategy.use_lexical_backoff else 1.0
        self.direct = [0.5 * value / highest for value in near]
        whole = {name: towards(self.h[name], question) for name in everyone}
        cues = {name: self.rare(name) if strategy.use_specificity else 1.0 for name in named if name in self.h}
        fits = {
            name: max(
                0.7 * whole[name],
                *(w * (1 if c == name else towards(self.h[name], self.h[c])) for c, w in cues.items()),
                0,
            )
            for name in everyone
        }
        self.ranks = dict(whole if strategy.rank_by_question else fits)
        self.awake = best(fits, strategy.k_initial)

    def rare(self, name: str) -> float:
        return math.log1p(len(self.told) / self.mentions[name]) / math.log1p(len(self.told))

    def given(self, k: int) -> list[float]:
        """What its best engram among the k best gives each memory."""
        return [
            max((self.value(name, one) for name in self.kept(k) if name in one.known), default=0.0) for one in self.told
        ]

    def kept(self, k: int) -> list[str]:
        return best({name: self.ranks[name] for name in self.awake}, k)

    def value(self, name: str, one: Told) -> float:
        titles = sum(name in told.about.split() for told in self.told)
        sure = (0.75 if 0 < titles < self.mentions[name] else 0.5) if self.asked.use_certainty else 1.0
        rare = self.rare(name) if self.asked.use_specificity and name not in one.about.split() else 1.0
        return self.ranks[name] * sure * rare

    def scores(self, k: int) -> list[float]:
        return [0.5 * given + direct for given, direct in zip(self.given(k), self.direct, strict=True)]

    def hop(self) -> None:
        seeds = self.kept(self.asked.k_seeds)
        centroid = np.sum([self.ranks[one] * self.h[one] / np.linalg.norm(self.h[one]) for one in seeds], axis=0)
        near = {name: towards(self.h[name], centroid) for name in self.h if name not in self.awake}
        so_far = self.scores(len(self.h))
        self.awake += best(near, self.asked.k_initial)
        if not self.asked.use_cooccurrence:
            return
        top = sorted(range(len(self.told)), key=lambda n: -so_far[n])[: self.asked.k_chunks]
        for n in top:
            for name in sorted(self.told[n].known):
                self.awake += [] if name in self.awake else [name]
                self.ranks[name] = max(self.ranks[name], so_far[n] / max(so_far) * self.rare(name))


def drawn(seed: int) -> tuple[list[Told], Vector, list[str]]:
    """Twelve memories of a few names each, and a question that names one or two; the same for the same seed."""
    draw = np.random.default_rng(seed)  # noqa: TID251  # a fixed seed: the memories are the same every time
    vectors = draw.random((13, 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    told = []
    for vector in vectors[1:]:
        names = draw.permutation(WORDS)[: draw.integers(0, 5)].tolist()
        cut = int(draw.random() < 0.3)
        told.append(Told(vector, " ".join(names[cut:]), " ".join(names[:cut])))
    return told, vectors[0], draw.permutation(WORDS)[: draw.integers(0, 3)].tolist()


@pytest.mark.parametrize(
    "strategy",
    [
        FAITHFUL,
        replace(FAITHFUL, rank_by_question=False, use_specificity=True),
        replace(FAITHFUL, use_certainty=True, use_lexical_backoff=True),
        replace(FAITHFUL, use_cooccurrence=True),
        PRACTICAL,
    ],
    ids=["faithful", "by-cues", "certain", "neighbours", "practical"],
)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_the_read_path_is_that_of_plain_loops(strategy: Ecphory, depth: int) -> None:
    """Small settings, so that every number cuts something."""
    small = replace(strategy, L=depth, k_initial=2, k_seeds=2, k_final=4, k_chunks=2)
    for seed in range(4):
        told, question, named = drawn(seed)
        twin = Loops(small, question, named, told)
        for _ in range(depth):
            twin.hop()
        found = small.activate(asked(question, *named), graph_of(*told))
        assert found.scores[: len(told)] == pytest.approx(twin.scores(small.k_final), abs=1e-5), seed


# ---- cues, and the two indices


def test_an_engram_fits_by_the_best_of_the_cues() -> None:
    """§4.11: Ana is named, so her engram has 1; Ben has .7 of the question's cosine; Cleo cos 50° with Ana's engram."""
    told = Told(80, "Ana"), Told(0, "Ben"), Told(130, "Cleo")
    by_cues = replace(FAITHFUL, rank_by_question=False, L=0)
    assert engrams(by_cues, asked(0, "Ana"), *told) == [1, 0.7, cos(50)]
    assert engrams(by_cues, asked(0), *told) == [0.7 * cos(80), 0.7, 0]
    weighed = replace(by_cues, name_weight=0.5, question_weight=1.0)
    assert engrams(weighed, asked(0, "Ana"), *told) == [0.5, 1, 0.5 * cos(50)]


def test_engrams_and_memories_are_both_searched() -> None:
    """p1 has no name and p2 no vector: either is found by what it has, and p3, which has neither, is not."""
    told = Told(0, "Ana"), Told(60), Told(None, "Ana"), Told(None)
    found = FAITHFUL.activate(asked(0), graph_of(*told))
    assert found.contributions["dense similarity"][:4] == pytest.approx([0.5, 0.25, 0, 0])
    assert found.contributions["engrams"][:4] == pytest.approx([0.5, 0, 0.5, 0])
    assert found.scores == pytest.approx([1, 0.25, 0.5, 0, 0])


def test_a_memory_ranks_by_both_kinds_of_evidence() -> None:
    """§4.11: half the best cosine of question and engram, half that of question and memory.

    One name is one engram: Ana's, told of at 0° and 60°, lies at 30°; Ben's at 60°. The published code merges no
    names, and its memories all sort as 0.
    """
    told = Told(0, "Ana"), Told(60, "Ana Ben"), Told(90)
    found = FAITHFUL.activate(asked(10), graph_of(*told))
    assert found.scores[:3] == pytest.approx(
        [0.5 * cos(20) + 0.5 * cos(10), 0.5 * cos(20) + 0.5 * cos(50), 0.5 * cos(80)], abs=1e-5
    )


def test_the_first_engrams_are_few() -> None:
    """k_initial cuts E_0; the published ``query`` ignores what it is set to."""
    told = Told(10, "Ana"), Told(20, "Ben"), Told(30, "Cleo")
    for k in (0, 1, 2, 3):
        few = replace(FAITHFUL, k_initial=k, L=0)
        assert engrams(few, asked(0), *told) == [cos(angle) if n < k else 0 for n, angle in enumerate((10, 20, 30))]


def test_the_names_of_a_question_are_cues() -> None:
    """The published code never calls its cue extractor: there Ben, who lies nearer to the question, begins."""
    told = Told(10, "Ben"), Told(70, "Ana")
    one = replace(FAITHFUL, k_initial=1, L=0)
    assert engrams(one, asked(0, "Ana"), *told) == [0, cos(70)]
    assert engrams(one, asked(0), *told) == [cos(10), 0]


def test_k_final_cuts_engrams_and_no_memories() -> None:
    told = Told(10, "Ana"), Told(20, "Ben"), Told(30, "Cleo"), Told(25, "Ana Cleo")
    # Ana's engram lies between 10° and 25°, Cleo's between 25° and 30°.
    whole = [cos(17.5), cos(20), cos(27.5), cos(17.5)]
    for k, kept in ((0, ""), (1, "0 3"), (2, "0 1 3"), (3, "0 1 2 3")):
        few = replace(FAITHFUL, k_final=k)
        assert engrams(few, asked(0), *told) == [whole[n] if str(n) in kept.split() else 0 for n in range(4)]
        assert (few.activate(asked(0), graph_of(*told)).scores[:4] > 0).all()


# ---- the hop


def test_a_hop_follows_the_centroid_weighted_by_similarity() -> None:
    """Ana at 10° and Ben at 75° are named. The question at 0° weighs them cos 10° and cos 75°: the centroid is at 22°.

    So 20° and 24° are met. The published code has .5 for every weight, which leads to 42.5°: to 40° and 45°. Its
    embeddings come in another order than its weights; weights that are exchanged lead to 63°: to 61° and 65°.
    """
    weighted = cos(10) * flat(10) + cos(75) * flat(75)
    assert math.degrees(math.atan2(weighted[1], weighted[0])) == pytest.approx(22.1, abs=0.1)
    names = ("Ana", "Ben", *WORDS[2:8])
    angles = (10, 75, 20, 24, 40, 45, 61, 65)
    told = [Told(angle, name) for name, angle in zip(names, angles, strict=True)]
    found = engrams(replace(FAITHFUL, k_initial=2), asked(0, "Ana", "Ben"), *told)
    assert found == [cos(angle) for angle in angles[:4]] + [0] * 4


CHAIN = (Told(20, "Ana"), Told(45, "Ben"), Told(68, "Cleo"), Told(85, "Dora"))
"""Each lies nearer to the one before it than to any other; the question is at 0°."""


@pytest.mark.parametrize("seeds", [10, 1])
def test_each_depth_reaches_one_further(seeds: int) -> None:
    """The published code crashes at depth 0, and no depth after 1 has an effect: its second centroid is its first.

    So it is here with one seed, the best, who is always Ana; but what is awake is not found again, so the next are.
    """
    for depth in (0, 1, 2, 3):
        found = engrams(replace(FAITHFUL, k_initial=1, k_seeds=seeds, L=depth), asked(0), *CHAIN)
        assert found == [cos(20), cos(45), cos(68), cos(85)][: depth + 1] + [0] * (3 - depth)


def test_the_next_seeds_are_the_most_similar_of_all_awake() -> None:
    """§4.7: not the first of the list. Ana at 80° is named and begins; by her Ben at 50° is reached, who is nearer.

    So Ben alone is the next seed, and Cleo at 25° is nearest to him; to Ana it is Dora at 130°.
    """
    told = Told(80, "Ana"), Told(50, "Ben"), Told(25, "Cleo"), Told(130, "Dora"), Told(-80, "Emil")
    found = engrams(replace(FAITHFUL, k_initial=1, k_seeds=1, L=2), asked(0, "Ana"), *told)
    assert found == [cos(80), cos(50), cos(25), 0, 0]


BRIDGE = (
    Told(None, "Ana Ben", text="one"), Told(None, "Ben Cleo", text="two"), Told(None, "Cleo Dora", text="three"),
    Told(None, "Dora", text="four"),
)  # fmt: skip
"""Who asks for Ana finds the first; only names lead on."""


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_each_step_along_names_reaches_one_further(depth: int) -> None:
    """Practical: depth 0 finds the memories of Ana, and each hop those of the names that were met in the last."""
    graph = graph_of(*BRIDGE)
    found = replace(PRACTICAL, L=depth).activate(asked(None, "Ana"), graph)
    reached = found.scores[: len(BRIDGE)]
    assert (reached > 0).tolist() == [n <= depth for n in range(4)]
    assert sorted(reached, reverse=True) == reached.tolist(), "what is reached later ranks no higher"
    way = ["entity:ana", "p0", "entity:ben", "p1", "entity:cleo", "p2", "entity:dora", "p3"][: 2 * depth + 2]
    assert why(graph, found, depth).path == tuple(way[-MAX_PATH_NODES:])


def test_a_bridge_by_hand() -> None:
    """Of 4 memories Ana is in 1, the others in 2: r = ln 3 / ln 5. Each step multiplies by r for the name met.

    p0 has Ana's 1; so it is the strongest, and Ben is met with r. p1 has r for Ben, times r as he is in two.
    """
    r = math.log(3) / math.log(5)
    plain = replace(PRACTICAL, use_certainty=False)
    assert engrams(replace(plain, L=1), asked(None, "Ana"), *BRIDGE) == [1, r**2, 0, 0]
    assert engrams(replace(plain, L=2), asked(None, "Ana"), *BRIDGE) == [1, r**2, r**4, 0]


def test_the_faithful_hop_follows_vectors_alone() -> None:
    """The paper has the graph and describes no step on it (§4.11)."""
    r = math.log(3) / math.log(5)
    assert engrams(replace(FAITHFUL, L=3), asked(None, "Ana"), *BRIDGE) == [1, 0, 0, 0]
    assert engrams(replace(FAITHFUL, use_cooccurrence=True), asked(None, "Ana"), *BRIDGE) == [1, r, 0, 0]
    assert engrams(replace(PRACTICAL, L=3, use_cooccurrence=False), asked(None, "Ana"), *BRIDGE) == [0.5, 0, 0, 0]


def test_what_was_hopped_to_ranks_by_the_question_and_not_by_the_centroid() -> None:
    """Ben at 60° is named. Finn at 80° is next to him, Mia at 30° after that; Mia fits the question best, Finn least.

    Ranked by the last centroid, at 65°, Finn would be kept and Mia cut.
    """
    told = Told(60, "Ben"), Told(80, "Finn"), Told(30, "Mia")
    deep = replace(FAITHFUL, k_initial=1, L=2)
    assert engrams(deep, asked(0, "Ben"), *told) == [cos(60), cos(80), cos(30)]
    assert engrams(replace(deep, k_final=2), asked(0, "Ben"), *told) == [cos(60), 0, cos(30)]
    assert engrams(replace(deep, k_final=1), asked(0, "Ben"), *told) == [0, 0, cos(30)]


memories = st.lists(
    st.builds(
        Told,
        st.one_of(st.none(), st.integers(0, 179).map(float)),
        st.sets(st.sampled_from(WORDS), max_size=4).map(lambda names: " ".join(sorted(names))),
        st.sampled_from(["", "", *WORDS]),
    ),
    min_size=1,
    max_size=9,
)
questions = st.tuples(st.one_of(st.none(), st.integers(0, 179).map(float)), st.sets(st.sampled_from(WORDS), max_size=2))


@given(memories, questions, st.integers(0, 2))
def test_a_further_hop_changes_nothing_that_was_found(
    told: list[Told], question: tuple[float | None, set[str]], depth: int
) -> None:
    """No drift: an engram that is awake keeps its number; a memory gains by a better engram of its own alone."""
    angle, names = question
    cue, few = asked(angle, *sorted(names)), replace(FAITHFUL, k_initial=2, k_seeds=2)
    before, after = (given_by("engrams", replace(few, L=L), cue, *told) for L in (depth, depth + 1))
    assert all(later >= earlier for earlier, later in zip(before, after, strict=True))
    for one, earlier, later in zip(told, before, after, strict=True):
        if len(one.known) == 1 and earlier > 0:
            assert later == earlier


# ---- co-occurrence


@given(memories, questions)
def test_the_order_of_mentions_is_nothing(told: list[Told], question: tuple[float | None, set[str]]) -> None:
    """§4.1: the graph has no direction. Which name comes first in a memory, or in all, makes no difference."""
    angle, names = question
    cue = asked(angle, *sorted(names))
    one = replace(PRACTICAL, L=2)
    found, again = (one.activate(cue, graph_of(*told, backwards=backwards)) for backwards in (False, True))
    assert found.scores[: len(told)] == pytest.approx(again.scores[: len(told)], abs=1e-5)


def test_co_occurrence_leads_both_ways() -> None:
    """From Ana to Ben's memory as from Ben to Ana's."""
    told = Told(None, "Ana"), Told(None, "Ana Ben"), Told(None, "Ben")
    for strategy in (PRACTICAL, replace(FAITHFUL, use_cooccurrence=True)):
        there = given_by("engrams", strategy, asked(None, "Ana"), *told)
        back = given_by("engrams", strategy, asked(None, "Ben"), *told)
        assert there == pytest.approx(back[::-1])
        assert there[2] > 0


def test_only_the_best_memories_lead_on() -> None:
    """``chunks`` of them: Ben is met in the memory that is about Ana, Cleo in the one that merely names her."""
    told = Told(None, "Ben", "Ana"), Told(None, "Ana Cleo"), Told(None, "Ben"), Told(None, "Cleo")
    for chunks in (0, 1, 2):
        found = given_by("engrams", replace(PRACTICAL, k_chunks=chunks), asked(None, "Ana"), *told)
        assert found[0] > found[1] > 0
        assert [value > 0 for value in found[2:]] == [n < chunks for n in range(2)]


# ---- the remedies, each on and off


@pytest.mark.parametrize("fields", [{"vector": None}, {"embedder_coverage": 0.0}])
def test_back_off_finds_by_words_what_no_vector_finds(fields: Any) -> None:
    """§4.12.3. The question names nobody, and its language is not read."""
    told = Told(0, "Ana", text="the harbour at night"), Told(30, "Ana", text="school lunch")
    cue, graph = replace(asked(0, text="harbour"), **fields), graph_of(*told)
    found = replace(PRACTICAL, L=0).activate(cue, graph)
    assert found.scores[:2] == pytest.approx([0.5, 0])
    assert found.contributions["bm25"][:2] == pytest.approx([0.5, 0])
    assert not FAITHFUL.activate(cue, graph).scores.any()
    assert not replace(PRACTICAL, use_lexical_backoff=False).activate(cue, graph).scores.any()


def test_back_off_finds_a_name_that_was_missed() -> None:
    """No engram of Porto was stored, but its word was: a missed entity only costs a hop."""
    told = Told(120, text="the ferry to Porto"), Told(120, text="evening"), Told(120, "Ana", text="Ana")
    cue = asked(0, "Porto", text="Porto")
    assert PRACTICAL.activate(cue, graph_of(*told)).scores[:3] == pytest.approx([0.5, 0, 0])
    assert not FAITHFUL.activate(cue, graph_of(*told)).scores.any()


def test_the_direct_half_is_of_the_best() -> None:
    """Meaning and words are each in parts of their best, and so is their sum; the best memory has one half."""
    told = Told(0, text="night"), Told(60, text="harbour harbour"), Told(90, text="lunch")
    found = PRACTICAL.activate(asked(0, text="harbour"), graph_of(*told))
    assert found.contributions["dense similarity"][:3] == pytest.approx([0.5 / 1.5, 0.25 / 1.5, 0], abs=1e-6)
    assert found.contributions["bm25"][:3] == pytest.approx([0, 0.5 / 1.5, 0], abs=1e-6)
    assert found.scores[:3].max() == pytest.approx(0.5)
    half = replace(asked(0, text="harbour"), embedder_coverage=0.5)
    assert (
        PRACTICAL.activate(half, graph_of(*told)).contributions["dense similarity"][0]
        < found.contributions["dense similarity"][0]
    )


def test_a_name_that_every_memory_mentions_counts_less() -> None:
    """§4.11: of 4 memories Ana is in 4 and Ben in 1. As a cue and as a mention she has ln 2 / ln 5, Ben 1."""
    told = Told(None, "Ana"), Told(None, "Ana Ben"), Told(None, "Ana"), Told(None, "", "Ana")
    cue, r = asked(None, "Ana", "Ben"), math.log(2) / math.log(5)
    assert engrams(FAITHFUL, cue, *told) == [1, 1, 1, 1]
    assert engrams(replace(FAITHFUL, use_specificity=True), cue, *told) == [r * r, 1, r * r, r]  # p3 is about her


def test_an_engram_counts_as_surely_as_it_is_a_name() -> None:
    """§4.12.3: Ana is in a text and a title, Ben in texts and Cleo in a title alone."""
    told = Told(None, "Ana Ben"), Told(None, "", "Ana"), Told(None, "Ben"), Told(None, "", "Cleo")
    cue = asked(None, "Ana", "Ben", "Cleo")
    assert engrams(FAITHFUL, cue, *told) == [1, 1, 1, 1]
    assert engrams(replace(FAITHFUL, use_certainty=True), cue, *told) == [0.75, 0.75, 0.5, 0.5]


def test_all_cues_rank_what_the_question_alone_does_not() -> None:
    """§4.12.2: Ana is named, but lies at a right angle to the question; as published her memory has nothing of it."""
    told = Told(90, "Ana"), Told(60, "Ben")
    assert engrams(FAITHFUL, asked(0, "Ana"), *told) == [0, cos(60)]
    assert engrams(replace(FAITHFUL, rank_by_question=False), asked(0, "Ana"), *told) == [1, cos(30)]


# ---- what may not come back

SESSIONS = (Told(0, "Ana Ben", session="hidden"), Told(90, "Ben", session="open"), Told(80, "Cleo", session="open"))
BOTH = [PRACTICAL, FAITHFUL]


@pytest.mark.parametrize("strategy", BOTH, ids=["practical", "faithful"])
def test_what_may_not_come_back_leads_nowhere(strategy: Ecphory) -> None:
    """Ana is known from the hidden memory alone: she is no cue, and nothing is reached by her."""
    graph = graph_of(*SESSIONS)
    deep = replace(strategy, L=3)
    seen = deep.activate(asked(None, "Ana"), graph)
    assert seen.scores[0] > 0
    open_ = deep.activate(asked(None, "Ana", where=Filter(sessions="open")), graph)
    assert not open_.scores.any()
    assert (open_.paths["engrams"].parent != 0).all()


def test_an_engram_is_what_the_memories_that_may_come_back_tell() -> None:
    """Ben, told of at 0° and 90°, lies at 45°; without the hidden memory at 90°, where a question at 0° is not near."""
    open_ = Filter(sessions="open")
    assert engrams(FAITHFUL, asked(0), *SESSIONS) == [cos(0), cos(45), cos(80)]
    assert engrams(FAITHFUL, asked(0, where=open_), *SESSIONS) == [0, 0, cos(80)]


def test_an_engram_half_of_which_is_hidden_is_as_near_as_the_other_half() -> None:
    """Ana is told of at 0° and, hidden, at 120°: a question at 60° is .5 from what is heard of her, not 1."""
    told = (Told(0, "Ana", session="open"), Told(120, "Ana", session="hidden"))
    cue = asked(60, where=Filter(sessions="open"))
    assert given_by("engrams", FAITHFUL, cue, *told) == pytest.approx([0.25, 0])


def test_how_well_the_seen_ones_agree_is_taken_from_all() -> None:
    """Ana at 0°, 60° and, hidden, 30°: the mean cosine of the three pairs is (.5 + 2 cos 30°) / 3 = .74402.

    Two are seen, |h_1 + h_2|² is taken for 2 + 2 · .74402 = 3.48803, and a question at 0° is (1 + .5) / 1.86763 near.
    """
    told = (Told(0, "Ana", session="open"), Told(60, "Ana", session="open"), Told(30, "Ana", session="hidden"))
    cue = asked(0, where=Filter(sessions="open"))
    assert engrams(FAITHFUL, cue, *told) == [0.803157, 0.803157, 0]


def test_a_hidden_memory_bends_no_cue_and_no_hop() -> None:
    """Ana is told of at 0° and, hidden, at 90°. Her cue and the hop from her are at 0°, and not at 45°."""
    told = (
        Told(0, "Ana", session="open"), Told(90, "Ana", session="hidden"), Told(10, "Ben", session="open"),
        Told(50, "Cleo", session="open"),
    )  # fmt: skip
    cue = asked(None, "Ana", where=Filter(sessions="open"))
    assert engrams(replace(FAITHFUL, L=0), cue, *told) == [1, 0, cos(10), cos(50)]
    assert engrams(replace(FAITHFUL, k_initial=1), cue, *told) == [1, 0, cos(10), 0]


def test_a_name_that_is_known_from_hidden_memories_takes_no_place() -> None:
    """Of the one engram that is kept, Ana would be the best; Cleo has the question's .7."""
    one, told = replace(FAITHFUL, rank_by_question=False, k_final=1), (SESSIONS[0], SESSIONS[2])
    assert engrams(one, asked(80, "Ana"), *told) == [1, 0]
    assert engrams(one, asked(80, "Ana", where=Filter(sessions="open")), *told) == [0, 0.7]


@given(memories, questions, st.sets(st.integers(0, 8)))
def test_whatever_is_hidden_is_no_step_of_a_way(
    told: list[Told], question: tuple[float | None, set[str]], hidden: set[int]
) -> None:
    mixed = [replace(one, session="hidden" if n in hidden else "open") for n, one in enumerate(told)]
    graph, (angle, names) = graph_of(*mixed), question
    found = replace(PRACTICAL, L=2).activate(asked(angle, *sorted(names), where=Filter(sessions="open")), graph)
    for row, one in enumerate(mixed):
        if one.session == "hidden":
            assert found.scores[row] == 0
        elif found.scores[row] > 0:
            steps = {graph.row(step) for share in why(graph, found, row).contributions for step in share.path}
            assert not steps & hidden & set(range(len(mixed)))


def test_what_had_not_happened_then_is_no_bridge() -> None:
    told = Told(None, "Ana"), Told(None, "Ana Ben", minutes=50), Told(None, "Ben")
    now = PRACTICAL.activate(asked(None, "Ana"), graph_of(*told))
    then = PRACTICAL.activate(asked(None, "Ana", as_of=NOON), graph_of(*told))
    assert (now.scores[:3] > 0).tolist() == [True, True, True]
    assert (then.scores[:3] > 0).tolist() == [True, False, False]


# ---- little to go by


@pytest.mark.parametrize("strategy", BOTH, ids=["practical", "faithful"])
def test_names_suffice(strategy: Ecphory) -> None:
    """No memory has a vector, and the question may have one."""
    told = Told(None, "Ana"), Told(None, "Ben")
    for vector in (None, 0.0):
        found = replace(strategy, L=3).activate(asked(vector, "Ana"), graph_of(*told))
        assert (found.scores[:2] > 0).tolist() == [True, False]


def test_words_alone_lead_on_along_names() -> None:
    """No vector and no known name: what is found by words has a name, and that leads to the other memory of it."""
    told = (Told(None, "Ben", text="a gale at sea"), Told(None, "Ben"))
    found = PRACTICAL.activate(asked(None, text="gale"), graph_of(*told))
    assert found.scores[0] > found.scores[1] > 0


def test_no_names_leave_the_memories() -> None:
    for strategy in BOTH:
        found = strategy.activate(asked(0, "Ana"), graph_of(Told(0), Told(60)))
        assert found.scores == pytest.approx([0.5, 0.25])
        assert found.contributions["engrams"].tolist() == [0, 0]
        assert found.confidence > 0


def test_asking_writes_nothing() -> None:
    """§4.7: status, access counts and short-term memory have no effect on ranking; here they are not kept at all."""
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
def test_the_reasons_add_up_to_the_score(tmp_path: Path, strategy: str) -> None:
    with memory_at(tmp_path / "m.db", strategy) as memory:
        memory.remember(TALK)
        found = memory.recall("Whom did Kendall meet while hiking?")
        assert found.strategy == strategy
        assert found[0].id == "hike"
        assert len(found) > 1
        for hit in found:
            assert sum(share.value for share in hit.why.contributions) == pytest.approx(hit.score, abs=1e-4)
        shares = {share.feature: share for share in found[0].why.contributions}
        assert shares["engrams"].path[-1] == "hike"
        assert shares["engrams"].path[0].startswith("entity:")


def test_a_memory_is_walked_from_name_to_name(tmp_path: Path) -> None:
    """Kendall leads to Rosalind and she to the market. One engram begins; the question's vector is left out."""
    with memory_at(tmp_path / "m.db") as memory:
        memory.remember(TALK)
        graph, cue = memory.graph(), replace(memory.build_query("Kendall"), vector=None)
        for depth, expected in ((0, ["hike"]), (1, ["hike", "stall"]), (2, ["hike", "stall", "noon"])):
            found = replace(PRACTICAL, k_initial=1, L=depth).activate(cue, graph)
            rows = top_k.top_rows(found.scores, graph.episodes, 10)
            assert [graph.id(row) for row in rows.tolist()] == expected
        path = why(graph, found, int(rows[-1])).path
        assert (path[0], path[-2:]) == ("entity:kendall", ("entity:ashgrove", "noon"))


def test_a_filter_holds_in_a_memory(tmp_path: Path) -> None:
    with memory_at(tmp_path / "m.db") as memory:
        memory.remember(TALK)
        found = memory.recall("Whom did Kendall meet at the market?", where=Filter(sessions="june"))
        assert {hit.node.session for hit in found} == {"june"}
        ways = {step for hit in found for share in hit.why.contributions for step in share.path}
        assert not ways & {"hike", "entity:kendall"}


def test_forgetting_a_memory_forgets_its_bridge(tmp_path: Path) -> None:
    """Engrams are derived: nothing of a forgotten memory stays in them."""
    with memory_at(tmp_path / "m.db", replace(PRACTICAL, L=2)) as memory:
        memory.remember(TALK)
        cue = replace(memory.build_query("Kendall"), vector=None)
        assert memory.strategy.activate(cue, memory.graph()).scores.any()
        memory.forget("hike")
        assert not memory.strategy.activate(cue, memory.graph()).scores.any()


def test_a_long_text_is_cut_without_tails(tmp_path: Path) -> None:
    """§4.7: the published splitter makes 136 chunks of 2,889 characters, 128 of them tails."""
    text = ("Ana walked along the river and counted boats. " * 63)[:2889]
    with memory_at(tmp_path / "m.db") as memory:
        memory.remember(text, id="long", happened_at=datetime(2026, 1, 1, tzinfo=UTC))
        pieces = memory.graph().document_rows("long")
        assert 1 < len(pieces) < 10
        whole = memory.get("long")
        assert whole is not None
        assert whole.text == text
