"""The ablations of every model: chosen by name, each variant once and after what it refers to."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ecphora import strategies
from ecphora.errors import UnknownName
from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Episode, Link, Query
from ecphora.models.embedders.e5 import E5Embedder
from ecphora.models.embedders.from_setting import DEFAULT_EMBEDDER
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies.eisa.strategy import Eisa
from ecphora.strategies.fused import weights
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import sample_batch, sample_entity, sample_node, sample_query
from ecphora_bench.ablation import ablations
from ecphora_bench.ablation.ablations import BASELINES, Model, TrainedPerFold, Variant
from ecphora_bench.spaces import build_query_space


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


# ---- every ablation changes one thing, and with it the scores

STATE_OF_SYNAPTIC = {"writes_on_store"}
"""What the parts of SynapticRAG that keep a history need, and do not use otherwise."""
SEVERAL_AT_ONCE = {"as published", "earlier preset", "vectors only", "published, vectors only"}
"""Another preset, and the baseline of SYNAPSE's paper."""


def changed_fields(one: object, other: object) -> set[str]:
    """The fields in which two values differ; of a part that is a dataclass too, the fields of the part."""
    assert type(one) is type(other)
    assert is_dataclass(one)
    changed: set[str] = set()
    for field in fields(one):
        if not field.compare:  # made of the other fields
            continue
        before, after = getattr(one, field.name), getattr(other, field.name)
        if before == after:
            continue
        parts = is_dataclass(before) and type(before) is type(after)
        changed |= {f"{field.name}.{part}" for part in changed_fields(before, after)} if parts else {field.name}
    return changed


def reference_of(model: Model, variant: Variant) -> Variant:
    return variant.reference or model.full


@pytest.mark.parametrize("model", ablations.MODELS.values(), ids=lambda model: model.name)
def test_every_ablation_switches_one_thing(model: Model) -> None:
    for variant in model.variants:
        strategy, reference = variant.strategy, reference_of(model, variant).strategy
        if variant.label in SEVERAL_AT_ONCE or isinstance(strategy, TrainedPerFold):
            continue
        if model.name == "fused":
            ranker, answerability = weights.load_fused_model(DEFAULT_EMBEDDER.name)
            reference = Fused(ranker, answerability)
        changed = changed_fields(reference, strategy) - {"name"}
        changed = {name.partition(".")[0] if name.startswith("ranker") else name for name in changed}
        assert len(changed - STATE_OF_SYNAPTIC) == 1, (variant.label, changed)


@pytest.fixture(scope="module")
def names_and_banks() -> tuple[Graph, list[Query]]:
    """Sixty memories that mention names in a chain, half of them articles; questions near and far."""
    rng = np.random.default_rng(6)  # noqa: TID251  # a fixed seed
    question = rng.standard_normal(E5Embedder.dim)
    names = [f"Name{number}" for number in range(61)]
    article = "The harbor was built in several stages, and each of them followed the plans of a different company. " * 3
    nodes = [
        sample_node(f"m{number}", f"{first} met {second}.", minutes=number, seq=number + 1, speaker="Ana")
        if number % 2
        else sample_node(f"m{number}", f"{article} {first} {second}", minutes=number, seq=number + 1, title=first)
        for number, (first, second) in enumerate(pairwise(names))
    ]
    entities = [replace(sample_entity(name), seq=100 + number) for number, name in enumerate(names)]
    edges = [
        Edge(node.id, entity.id, Link.ABOUT if node.title == entity.text else Link.MENTIONS)
        for number, node in enumerate(nodes)
        for entity in entities[number : number + 2]
    ]
    edges += [Edge(node.id, entities[0].id, Link.MENTIONS) for node in nodes[5:45]]
    drawn = question * np.linspace(0.2, 0.7, 60)[:, None] + rng.standard_normal((60, E5Embedder.dim))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    vectors = {node.id: vector.astype(np.float32) for node, vector in zip(nodes, drawn, strict=True)}
    graph = apply_batch(Graph(), sample_batch(*nodes, *entities, edges=tuple(edges), vectors=vectors, revision=1))
    query = replace(
        sample_query("Where did Name0 meet Name3 and Name44?"), embedder=E5Embedder.name, similarity_floor=0.05
    )
    asked = [question, question + 2 * rng.standard_normal(E5Embedder.dim)]
    return graph, [replace(query, vector=(each / np.linalg.norm(each)).astype(np.float32)) for each in asked]


NEEDS_DESCRIPTIONS = {"no importance"}
"""Changes nothing if no language model described a name."""


@pytest.mark.medium
@pytest.mark.parametrize(
    ("model", "variant"),
    [
        (ablations.MODELS[name], variant)
        for name in ("eisa", "ecphory")
        for variant in ablations.MODELS[name].variants
        if variant.label not in NEEDS_DESCRIPTIONS and not isinstance(variant.strategy, TrainedPerFold)
    ],
    ids=lambda value: value.label if isinstance(value, Variant) else value.name,
)
def test_ablation_changes_the_scores(
    model: Model, variant: Variant, names_and_banks: tuple[Graph, list[Query]]
) -> None:
    graph, queries = names_and_banks
    strategy, reference = variant.strategy, reference_of(model, variant).strategy
    assert not isinstance(strategy, TrainedPerFold)
    assert not isinstance(reference, TrainedPerFold)
    before, after = (
        np.stack([each.activate(query, graph).scores for query in queries]) for each in (reference, strategy)
    )
    assert before.any()
    assert np.abs(after - before).max() > 1e-4
