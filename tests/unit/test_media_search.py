"""Recall by media: what near pictures and sounds add to the scores of the text, and what they leave as it is."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from ecphora import Episode, Filter, Media, MediaQuery, Memory, RecallOptions, Recollection
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation
from ecphora.model.types import MediaVector, Node, Query
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval.dense import MEDIA_WEIGHT, MIN_MEDIA_WEIGHT, SMALLEST_SPREAD, media_fit, media_gain
from ecphora.strategies import BUILT_IN
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import NOON, FakeClock, sample_batch, sample_node

MODEL = HashingEmbedder(64)
CLIP = "clip"
SEA = Episode(
    "We were at the sea.",
    id="sea",
    media=(
        Media("photos/wave.jpg", caption="Noah jumps over a wave.", vector=(1.0, 0.0, 0.0), model=CLIP),
        Media("waves.wav", "sound"),
    ),
)
CAT = Episode("At home.", id="cat", media=(Media("cat.jpg", vector=(0.0, 2.0, 0.5), model=CLIP),))
RAIN = Episode("It rained.", id="rain")
QUESTION = "Which one is this?"
LONG = "\n\n".join(
    f"On day {day} we walked along the coast and looked at the boats in the harbor. " * 9 for day in range(9)
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=MODEL, clock=FakeClock()) as opened:
        opened.remember([SEA, CAT, RAIN])
        yield opened


def reload_graph(path: Path) -> Graph:
    with Memory(path, embedder=MODEL) as memory:
        return memory.graph()


def stored_node(memory: Memory, id_: str) -> Node:
    node = memory.get(id_)
    assert node is not None
    return node


def places(memory: Memory, model: str = CLIP) -> list[tuple[str, int]]:
    """The chunk and the position of each vector of a model."""
    graph = memory.graph()
    table = graph.media_spaces[model].places
    return [(graph.id(row), position) for row, position in zip(table["rows"], table["positions"], strict=True)]


def gains(found: Recollection) -> dict[str, float]:
    return {hit.id: one.value for hit in found for one in hit.why.contributions if one.feature == "media"}


def summary(found: Recollection) -> list[tuple[Any, ...]]:
    return [(hit.id, hit.score, hit.why, hit.reason) for hit in found]


# ---- recall


def test_fused_joins_media_before_validity_counts() -> None:
    assert Fused().joins_media is True


@pytest.mark.medium
@pytest.mark.parametrize("strategy", sorted(BUILT_IN))
def test_memory_with_the_same_medium_comes_back_by_any_strategy(memory: Memory, strategy: str) -> None:
    for vector, id_ in (((1, 0, 0), "sea"), ((0, 4, 1), "cat")):
        found = memory.recall(QUESTION, options=RecallOptions(media_query=MediaQuery(vector, CLIP)), strategy=strategy)
        shares = {one.feature: one.value for one in found[0].why.contributions}
        assert found[0].id == id_
        assert shares["media"] > 0
        assert found[0].score == pytest.approx(sum(shares.values()), rel=1e-4)
        assert set(gains(found)) == {id_}


@pytest.mark.parametrize("strategy", sorted(BUILT_IN))
def test_media_that_do_not_fit_gain_nothing(memory: Memory, strategy: str) -> None:
    plain = memory.recall(QUESTION, strategy=strategy, options=RecallOptions(log_access=False))
    found = memory.recall(
        QUESTION, options=RecallOptions(media_query=MediaQuery((0, 0, -1), CLIP), log_access=False), strategy=strategy
    )
    assert summary(found) == summary(plain)
    assert gains(found) == {}


def test_evidence_stays_that_of_the_text(memory: Memory) -> None:
    for question in (QUESTION, "Were we at the sea?"):
        plain = memory.recall(question, options=RecallOptions(log_access=False))
        found = memory.recall(
            question, options=RecallOptions(media_query=MediaQuery((0, 1, 0), CLIP), log_access=False)
        )
        assert gains(found)
        assert (found.evidence, found.confidence) == (plain.evidence, plain.confidence)


def test_clear_text_comes_before_a_picture(memory: Memory) -> None:
    class Sure:
        name = "sure"

        def activate(self, query: Query, graph: Graph, /) -> Activation:
            return replace(BUILT_IN["dense"].activate(query, graph), confidence=1.0)

    question = "Did it rain? It rained."
    found = memory.recall(
        question, options=RecallOptions(media_query=MediaQuery((0, 4, 1), CLIP), log_access=False), strategy=Sure()
    )
    assert found[0].id == "rain"
    assert gains(found)["cat"] > 0


def test_filter_holds_for_media(memory: Memory) -> None:
    memory.remember(Episode("My cat.", id="mine", speaker="Ana", media=CAT.media))
    query = MediaQuery((0, 4, 1), CLIP)
    found = memory.recall(QUESTION, options=RecallOptions(media_query=query), where=Filter(speakers="Ana"))
    assert [hit.id for hit in found] == ["mine"]


def test_gain_lifts_to_the_mean_of_the_text_and_adds_by_its_doubt() -> None:
    graph = graph_with([(0, 1)], [(1, 0)], [(1, 0)], [(0, 1)])
    query = Query("Which?", NOON, media=MediaQuery((1, 0), CLIP))
    scores, eligible = np.array([9, 1, 0, 2], np.float32), np.ones(4, np.bool_)
    for confidence, weight in ((0.0, MEDIA_WEIGHT), (0.4, MEDIA_WEIGHT * 0.36), (1.0, MIN_MEDIA_WEIGHT)):
        gain = media_gain(graph, query, scores, eligible, confidence)
        assert gain == pytest.approx([0, 9 * weight + 3, 9 * weight + 4, 0], rel=1e-5)
    assert media_gain(graph, query, graph.zeros(), eligible, 0.0) == pytest.approx([0, MEDIA_WEIGHT, MEDIA_WEIGHT, 0])


def test_rows_that_are_not_eligible_gain_nothing() -> None:
    graph = graph_with([(1, 0)], [(1, 0)])
    query = Query("Which?", NOON, media=MediaQuery((1, 0), CLIP))
    gain = media_gain(graph, query, np.array([8, 4], np.float32), np.array([False, True]), 0.5)
    assert gain == pytest.approx([0, 4 * max(MIN_MEDIA_WEIGHT, MEDIA_WEIGHT * 0.25)])


def test_archived_memory_stays_last(memory: Memory) -> None:
    memory.maintenance.archive("cat")
    found = memory.recall(QUESTION, options=RecallOptions(media_query=MediaQuery((0, 4, 1), CLIP)), limit=3)
    assert gains(found)["cat"] > 0
    assert [hit.id for hit in found][-1] == "cat"


def test_reason_names_the_kind_of_medium(memory: Memory) -> None:
    found = memory.recall(QUESTION, options=RecallOptions(media_query=MediaQuery((0, 4, 1), CLIP)))
    assert found[0].reason.startswith("has a picture near to the media query")
    found = memory.recall(QUESTION, options=RecallOptions(media_query=MediaQuery((1, 0, 0), CLIP)))
    assert found[0].reason.startswith("has media near to the media query")


def test_why_not_counts_media(memory: Memory) -> None:
    query = MediaQuery((0, 4, 1), CLIP)
    assert memory.why_not(QUESTION, "cat", options=RecallOptions(media_query=query), limit=1).rank == 1


def test_scope_without_vectors_takes_any_media_query(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=MODEL) as memory:
        assert list(memory.recall(QUESTION, options=RecallOptions(media_query=MediaQuery((1.0,), CLIP)))) == []
        memory.remember(RAIN)
        assert gains(memory.recall(QUESTION, options=RecallOptions(media_query=MediaQuery((1.0,), CLIP)))) == {}


# ---- the fit


def graph_with(*vectors: Any) -> Graph:
    """A graph with a node for each list of vectors."""
    nodes = [sample_node(str(place)) for place in range(len(vectors))]
    found = [
        MediaVector(node.id, position, CLIP, np.array(vector, np.float32) / np.float32(np.linalg.norm(vector)))
        for node, own in zip(nodes, vectors, strict=True)
        for position, vector in enumerate(own)
    ]
    return apply_batch(Graph(), replace(sample_batch(*nodes, media_vectors=tuple(found)), revision=1))


def test_fit_is_the_deviation_from_the_mean_of_the_space() -> None:
    cosines = np.array([0.9, 0.5, 0.3, 0.1, 0.0, -0.2])
    graph = graph_with(*([(cosine, math.sqrt(1 - cosine**2))] for cosine in cosines))
    deviations = (cosines - cosines.mean()) / (cosines.std() + SMALLEST_SPREAD)
    expected = np.clip(deviations / math.sqrt(2 * math.log(6)), 0, 1) * (cosines > 0)
    assert media_fit(graph, MediaQuery((1, 0), CLIP)) == pytest.approx(expected, abs=1e-5)
    assert (expected > 0).tolist() == [True, True, True, False, False, False]


def test_fit_of_the_others_is_small_if_one_medium_stands_out() -> None:
    cosines = np.array([0.9, *np.linspace(0.2, 0.3, 60)])
    graph = graph_with(*([(cosine, math.sqrt(1 - cosine**2))] for cosine in cosines))
    found = media_fit(graph, MediaQuery((1, 0), CLIP))
    deviations = (cosines - cosines.mean()) / (cosines.std() + SMALLEST_SPREAD)
    assert found == pytest.approx(np.clip(deviations / deviations[0], 0, 1), abs=1e-4)
    assert found[0] == 1
    assert found[1:].max() < 0.1


def test_fit_of_several_media_is_the_best_one() -> None:
    graph = graph_with([(0, 1), (1, 0)], [(0, 1)], [])
    assert media_fit(graph, MediaQuery((1, 0), CLIP)).tolist() == [1, 0, 0]


def test_fit_of_a_lone_vector_is_its_cosine() -> None:
    for cosine in (0.25, 0.9):
        graph = graph_with([(cosine, math.sqrt(1 - cosine**2))])
        assert media_fit(graph, MediaQuery((1, 0), CLIP)) == pytest.approx([cosine], abs=1e-6)
    assert media_fit(graph_with([(-1, 0)]), MediaQuery((1, 0), CLIP)).tolist() == [0]


def test_fit_of_the_same_medium_is_full_even_among_equals() -> None:
    graph = graph_with([(1, 0)], [(1, 0)], [(1, 0)])
    assert media_fit(graph, MediaQuery((1, 0), CLIP)).tolist() == [1, 1, 1]


def test_fit_is_0_for_media_forgotten_meanwhile() -> None:
    graph = graph_with([(1, 0)])
    assert media_fit(graph, MediaQuery((1, 0, 0), CLIP)).tolist() == [0]
    assert media_fit(graph, MediaQuery((1, 0), "other")).tolist() == [0]


@pytest.mark.medium
@given(
    st_numpy.arrays(np.float32, st.tuples(st.integers(1, 12), st.just(3)), elements=st.floats(-1, 1, width=16)),
    st.tuples(*[st.integers(-5, 5)] * 3).filter(any),
)
def test_fit_is_between_0_and_1_and_rises_with_the_cosine(values: Any, query: tuple[int, ...]) -> None:
    values = values + np.array([2, 0, 0], np.float32)
    graph = graph_with(*([vector] for vector in values))
    vector = (np.array(query) / np.linalg.norm(query)).astype(np.float32)
    fit = media_fit(graph, MediaQuery(tuple(vector.tolist()), CLIP))
    cosines = np.vecdot(graph.media_spaces[CLIP].vectors.view, vector)
    assert ((fit >= 0) & (fit <= 1)).all()
    assert (np.diff(fit[np.argsort(cosines, kind="stable")]) >= -1e-4).all()
    assert (fit[cosines < -1e-6] == 0).all()
