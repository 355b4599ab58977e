"""The ablations of every model: chosen by name, each variant once and after what it refers to."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ecphora import strategies
from ecphora.bench.ablation import ablations
from ecphora.bench.ablation.ablations import BASELINES, Model, TrainedPerFold
from ecphora.bench.datasets import Case, Question
from ecphora.bench.embedding_cache import CachingEmbedder
from ecphora.bench.query_spaces import build_query_space
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import UnknownName
from ecphora.model import Episode
from ecphora.strategies.eisa import Eisa


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(HashingEmbedder(64), tmp_path / "cache") as cached:
        yield cached


def village(space: str, *colours: str) -> Case:
    episodes = tuple(
        Episode(f"Ferry number {n} is {colour}.", f"{space}{n}", happened_at=f"2024-05-0{n + 1}")
        for n, colour in enumerate(colours)
    )
    questions = tuple(
        Question(f"{space}q{n}", f"Which ferry is {colour}?", "plain", frozenset({f"{space}{n}"}))
        for n, colour in enumerate(colours)
    )
    return Case(space, episodes, questions)


CASES = [village("a", "blue", "red"), village("b", "green", "white", "black")]


def test_models_are_chosen_by_name() -> None:
    assert ablations.select_models([]) == list(ablations.MODELS.values())
    name = next(iter(ablations.MODELS))
    assert ablations.select_models([name, name]) == [ablations.MODELS[name]]
    with pytest.raises(UnknownName, match=f"no model is called 'guess'; choose one of .*{name}"):
        ablations.select_models(["guess"])


@pytest.mark.parametrize("model", ablations.MODELS.values(), ids=lambda model: model.name)
def test_the_registry_is_in_order(model: Model) -> None:
    assert ablations.MODELS[model.name] is model
    labels = [way.label for way in dict.fromkeys([*model.all_variants, *ablations.rival_variants(model), *BASELINES])]
    assert len(set(labels)) == len(labels)
    asked_ = [way.strategy for way in model.all_variants if not isinstance(way.strategy, TrainedPerFold)]
    assert all(one != other for place, one in enumerate(asked_) for other in asked_[:place])
    for place, way in enumerate(model.all_variants):
        assert way.memory_owner is None or way.memory_owner in model.all_variants
        assert way.reference is None or way.reference in model.all_variants[:place]


def test_the_side_network_learns_to_tell_evidence_from_what_is_near(embedder: CachingEmbedder) -> None:
    [trained] = [
        way.strategy for way in ablations.MODELS["eisa"].all_variants if isinstance(way.strategy, TrainedPerFold)
    ]
    found = [build_query_space(case, strategies.resolve_strategy("dense"), embedder) for case in CASES]
    made = trained.train(found)
    plain = ablations.MODELS["eisa"].full.strategy
    assert isinstance(made, Eisa)
    assert isinstance(plain, Eisa)
    assert made.side_net is not None
    cue, graph = found[0].queries[1], found[0].graph
    right, wrong = graph.rows(["a1", "a0"])

    def margin(way: Eisa) -> float:
        scores = replace(way, kappa=0.0, necessity_classifier=None, theta_sim=0.0).activate(cue, graph).scores
        return float(scores[right] - scores[wrong])

    assert margin(made) > margin(plain)
    unanswerable = replace(CASES[0], questions=(Question("q", "Why?", "none", is_answerable=False),))
    assert trained.train([build_query_space(unanswerable, strategies.resolve_strategy("dense"), embedder)]) == plain
