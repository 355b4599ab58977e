"""What the benchmarks of the papers' open questions ask: pairs of languages, words of order, what a hop reaches."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import Episode, Memory
from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval.entity_links import unit_vectors
from ecphora.strategies.ecphory import engram_index, engram_search

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def load(name: str) -> Any:
    """A module of the benchmarks."""
    return importlib.import_module(name)


def test_each_language_is_asked_of_each() -> None:
    cases = [
        Case("trip-en", (Episode("a", id="1"), Episode("b", id="2")), (Question("q", "?", "x", frozenset("12")),)),
        Case("trip-zh", (Episode("c", id="1"),), (Question("q", "？", "x", frozenset("1")),)),
    ]
    found = list(load("cross_lingual").with_both_languages(cases))
    asked = {one.category: (one.text, one.gold) for case in found for one in case.questions}
    assert asked == {
        "en->en": ("?", frozenset("12")),
        "zh->en": ("？", frozenset("1")),
        "en->zh": ("?", frozenset("1")),
        "zh->zh": ("？", frozenset("1")),
    }
    assert [case.space for case in found] == ["trip-en", "trip-zh"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did she do after the race?", True),
        ("Before he moved, where did he live?", True),
        ("Who is the mountain named after?", False),
        ("What did he do in the afternoon?", False),
    ],
)
def test_questions_about_an_order(question: str, expected: bool) -> None:
    assert load("before_after").is_about_order(question) is expected


def test_ways_to_reach_engrams_differ_as_named(tmp_path: Path) -> None:
    seeds = load("ecphory_seeds")
    texts = [
        "Anna met Berta",
        "Berta met Clara in Rome",
        "Clara saw Dora",
        "Dora flew to Oslo with Emil",
        "Emil met Anna",
    ]
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(), reranker=None) as memory:
        memory.remember([Episode(text) for text in texts])
        graph = memory.graph()
    search = engram_index.prepare_search(graph, graph.episodes)
    vectors = unit_vectors(graph, search.index.rows[:2], search.sources)
    weights = np.array([0.9, 0.3], np.float32)
    center = engram_search.normalize(engram_search.centroid(vectors, weights))
    by_center = search.similarities(engram_index.cosines(graph, center[None, :])[0])
    each = [search.similarities(engram_index.cosines(graph, vector[None, :])[0]) for vector in vectors]
    plain = engram_search.normalize(vectors.mean(axis=0))
    expected = {
        "weighted centroid": by_center,
        "plain centroid": search.similarities(engram_index.cosines(graph, plain[None, :])[0]),
        "best seed": each[0],
        "any seed": np.maximum(weights[0] * each[0], weights[1] * each[1]),
    }
    found = {label: reach(graph, search, vectors, weights) for label, reach in seeds.REACHES}
    assert found.keys() == expected.keys()
    for label, values in expected.items():
        np.testing.assert_allclose(found[label], values, atol=1e-5)
    assert len({tuple(np.round(values, 4)) for values in found.values()}) == len(found)
