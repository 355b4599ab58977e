"""Strategies as the commands of the benchmarks name them, and which of them can share a memory."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import strategies
from ecphora.errors import InvalidInput, UnknownName
from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.types import Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies import Ecphory, Eisa, Synapse, Synaptic, Weave
from ecphora_bench.ablation import ablations
from ecphora_bench.recall.recall_run import group_by_memory
from ecphora_bench.spaces import build_query_space
from ecphora_bench.strategy_variants import (
    WEAVE_READ_FIELDS,
    field_types,
    fills_same_memory,
    parse_strategies,
    parse_strategy,
)


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(HashingEmbedder(64), tmp_path / "cache") as cached:
        yield cached


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("synapse:beta=0", replace(Synapse(), beta=0)),
        ("synapse:beta=0,theta=.3", replace(Synapse(), beta=0, theta=0.3)),
        ("synapse: M = 3 , use_fan_effect = False", replace(Synapse(), M=3, use_fan_effect=False)),
        ("eisa:theta_sim=none", replace(Eisa(), theta_sim=None)),
        ("eisa:theta_sim=0.25", replace(Eisa(), theta_sim=0.25)),
        ("ecphory:L=0,k_final=5", replace(Ecphory(), L=0, k_final=5)),
        ("synaptic:max_generations=inf", replace(Synaptic(), max_generations=float("inf"))),
    ],
)
def test_variant_is_the_strategy_with_other_fields(text: str, expected: object) -> None:
    assert parse_strategy(text) == replace(expected, name=text)  # type: ignore[type-var]


def test_name_alone_is_the_strategy() -> None:
    assert parse_strategy("synapse") is strategies.resolve_strategy("synapse")
    assert [one.name for one in parse_strategies(["dense", "synapse:W=3", "dense"])] == ["dense", "synapse:W=3"]
    with pytest.raises(UnknownName, match="no strategy is called 'guess'"):
        parse_strategy("guess:beta=0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("synapse:betta=0", "synapse has no field 'betta'"),
        ("synapse:beta=much", "beta is 'much', not a number"),
        ("synapse:beta=nan", "beta is 'nan', not a number"),
        ("synapse:M=2.5", "M is '2.5', not a whole number"),
        ("synapse:use_fan_effect=1", "use_fan_effect is '1', not true or false"),
        ("synapse:beta", "'beta' is not FIELD=VALUE"),
        ("synapse:", "'' is not FIELD=VALUE"),
        ("synapse:beta=0,beta=1", "beta is given twice"),
        ("synapse:layer_config=0", "synapse has no field 'layer_config'"),
        ("synapse:name=mine", "synapse has no field 'name'"),
    ],
)
def test_wrong_field_or_value_names_the_fields(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=r"the fields are alpha, delta, .*ground_confidence") as raised:
        parse_strategy(text)
    assert message in str(raised.value)


def test_strategy_without_fields_says_so() -> None:
    with pytest.raises(InvalidInput, match="dense has no field 'k'; it has no fields that can be set"):
        parse_strategy("dense:k=1")


def test_variants_that_only_recall_differently_share_a_memory() -> None:
    texts = ["weave", "weave:max_hops=0", "weave:k=3", "synapse:beta=0", "dense", "myagent", "myagent:cos_th=.9"]
    groups = [[strategy.name for strategy in group] for group in group_by_memory(map(parse_strategy, texts))]
    assert groups == [
        ["weave", "weave:max_hops=0"],
        ["weave:k=3"],
        ["synapse:beta=0", "dense"],
        ["myagent"],
        ["myagent:cos_th=.9"],
    ]
    assert not fills_same_memory(Weave(), Synapse())


@pytest.mark.medium
def test_weave_stores_the_same_whatever_its_read_fields_are(embedder: CachingEmbedder) -> None:
    episodes = tuple(
        Episode(f"Ana paints the {color} boat because Bo sold it.", str(n), happened_at=f"2024-05-{n + 1:02}")
        for n, color in enumerate(("red", "blue", "green", "white", "black", "amber") * 4)
    )
    case = Case("s", episodes, (Question("q", "Who paints?", "plain", frozenset({"0"})),))
    types = field_types(Weave())
    changed: dict[str, Any] = {name: 1 for name in WEAVE_READ_FIELDS if types.get(name) in {(int,), (float,)}}
    changed |= {name: not getattr(Weave(), name) for name in WEAVE_READ_FIELDS if types.get(name) == (bool,)}
    changed["type_weights"] = replace(Weave().type_weights, causal=0.0)
    assert changed.keys() == WEAVE_READ_FIELDS
    other = replace(Weave(), **changed)
    assert fills_same_memory(Weave(), other)
    graphs = [build_query_space(case, strategy, embedder).graph for strategy in (Weave(), other)]
    first, second = graphs
    assert [first.id(row) for row in range(len(first))] == [second.id(row) for row in range(len(second))]
    assert len(first.edges["weights"]) > 0
    for column in ("src", "dst", "weights"):
        assert np.array_equal(first.edges[column], second.edges[column])


# ---- variants of the user's own in ablations


def test_own_variant_is_compared_with_its_model_alone() -> None:
    own = parse_strategies(["synapse:beta=0", "synapse-faithful:beta=0", "weave:max_hops=1"])
    synapse, weave = ablations.select_models([], own)
    assert [variant.label for variant in synapse.all_variants] == [
        "synapse",
        "synapse:beta=0",
        ablations.PUBLISHED_LABEL,
        "synapse-faithful:beta=0",
    ]
    assert [variant.reference and variant.reference.label for variant in synapse.variants] == [
        None,
        None,
        ablations.PUBLISHED_LABEL,
    ]
    assert [variant.label for variant in weave.variants] == ["weave:max_hops=1"]
    assert not ablations.rival_variants(synapse)


def test_own_variant_joins_the_ablations_of_a_named_model() -> None:
    (model,) = ablations.select_models(["eisa"], [parse_strategy("eisa:kappa=2")])
    assert [variant.label for variant in model.variants[:-1]] == [
        one.label for one in ablations.MODELS["eisa"].variants
    ]
    assert model.variants[-1].label == "eisa:kappa=2"


@pytest.mark.parametrize(("text", "message"), [("bm25:k1=2", "no model to compare"), ("eisa", "is the whole model")])
def test_own_variant_needs_a_model_and_a_change(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        ablations.select_models([], [parse_strategy(text)])
