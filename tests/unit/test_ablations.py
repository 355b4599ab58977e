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


def ferry_case(space: str, *colours: str) -> Case:
    episodes = tuple(
        Episode(f"Ferry number {n} is {colour}.", f"{space}{n}", happened_at=f"2024-05-0{n + 1}")
        for n, colour in enumerate(colours)
    )
    questions = tuple(
        Question(f"{space}q{n}", f"Which ferry is {colour}?", "plain", frozenset({f"{space}{n}"}))
        for n, colour in enumerate(colours)
    )
    return Case(space, episodes, questions)


CASES = [ferry_case("a", "blue", "red"), ferry_case("b", "green", "white", "black")]


def test_models_are_selected_by_name() -> None:
    assert [model.name for model in ablations.select_models([])] == [
        name for name in ablations.MODELS if name != "synaptic-faithful"
    ]
    assert [model.name for model in ablations.select_models(["synaptic-faithful"])] == ["synaptic-faithful"]
    name = next(iter(ablations.MODELS))
    assert ablations.select_models([name, name]) == [ablations.MODELS[name]]
    with pytest.raises(UnknownName, match=f"no model is called 'guess'; choose one of .*{name}"):
        ablations.select_models(["guess"])


@pytest.mark.parametrize("model", ablations.MODELS.values(), ids=lambda model: model.name)
def test_models_have_unique_labels_and_strategies(model: Model) -> None:
    assert ablations.MODELS[model.name] is model
    labels = [
        variant.label for variant in dict.fromkeys([*model.all_variants, *ablations.rival_variants(model), *BASELINES])
    ]
    assert len(set(labels)) == len(labels)
    strategy_list = [
        variant.strategy for variant in model.all_variants if not isinstance(variant.strategy, TrainedPerFold)
    ]
    assert all(strategy != other for index, strategy in enumerate(strategy_list) for other in strategy_list[:index])
    for index, variant in enumerate(model.all_variants):
        assert variant.memory_owner is None or variant.memory_owner in model.all_variants
        assert variant.reference is None or variant.reference in model.all_variants[:index]


def test_side_network_learns_to_separate_evidence_from_neighbors(embedder: CachingEmbedder) -> None:
    [trained] = [
        variant.strategy
        for variant in ablations.MODELS["eisa"].all_variants
        if isinstance(variant.strategy, TrainedPerFold)
    ]
    spaces = [build_query_space(case, strategies.resolve_strategy("dense"), embedder) for case in CASES]
    with_side_net = trained.train(spaces)
    plain = ablations.MODELS["eisa"].full.strategy
    assert isinstance(with_side_net, Eisa)
    assert isinstance(plain, Eisa)
    assert with_side_net.side_net is not None
    query, graph = spaces[0].queries[1], spaces[0].graph
    right, wrong = graph.rows(["a1", "a0"])

    def margin(variant: Eisa) -> float:
        scores = replace(variant, kappa=0.0, necessity_classifier=None, theta_sim=0.0).activate(query, graph).scores
        return float(scores[right] - scores[wrong])

    assert margin(with_side_net) > margin(plain)
    unanswerable = replace(CASES[0], questions=(Question("q", "Why?", "none", is_answerable=False),))
    assert trained.train([build_query_space(unanswerable, strategies.resolve_strategy("dense"), embedder)]) == plain
