"""Adapters of multilingual-e5-small: their file, the tokens of a pair, and its score beside a readable twin."""

from collections.abc import Mapping
from dataclasses import replace
from math import pi
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

import ecphora
from ecphora.errors import InvalidRecord
from ecphora.models.embedders import e5
from ecphora.models.embedders.e5 import ADAPTED_LAYERS, ADAPTED_MATRICES, E5Network, matrix_shape
from ecphora.models.embedders.pair_scoring import (
    HEAD_EPSILON,
    SEGMENTS,
    PairAdapters,
    PairTokens,
    ScoringHead,
    join_texts,
)

pytestmark = pytest.mark.medium

GRAPH = Path(ecphora.__file__).parent / "models" / "weights" / "e5" / "model.onnx"
WIDTH, HIDDEN = 384, 8
FIRST, SECOND = "I live in Lisbon by the river.", "I moved to Porto last week."

Floats = NDArray[np.floating]


@pytest.fixture(scope="session")
def network() -> E5Network:
    return e5.share_network()()


@pytest.fixture(scope="session")
def tensors() -> dict[str, Floats]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(GRAPH).graph.initializer}


def random_adapters(strength: float = 0.02, seed: int = 0) -> PairAdapters:
    """Adapters of rank 2 for every matrix, and a head of eight hidden numbers."""
    random = np.random.default_rng(seed)  # noqa: TID251  # seeded

    def draw(*shape: int, scale: float = 1.0) -> NDArray[np.float16]:
        return (scale * random.standard_normal(shape)).astype(np.float16)

    matrices = {}
    for name in ADAPTED_MATRICES:
        rows, columns = matrix_shape(name)
        matrices[name] = draw(rows, 2, scale=strength), draw(2, columns, scale=strength)
    return PairAdapters(
        matrices,
        draw(SEGMENTS, WIDTH, scale=0.1),
        ScoringHead(
            norm_scale=draw(4 * WIDTH),
            norm_bias=draw(4 * WIDTH),
            hidden=draw(4 * WIDTH, HIDDEN, scale=0.05),
            hidden_bias=draw(HIDDEN),
            score=draw(HIDDEN),
            score_bias=draw(1),
        ),
    )


def tokens_of(network: E5Network, first: str = FIRST, second: str = SECOND, before: str = "") -> PairTokens:
    return join_texts(network, *(network.tokenize(text, 99) for text in (first, second, before)))


def test_pair_has_its_texts_in_order_and_special_tokens_between(network: E5Network) -> None:
    start, end = network.first_token, network.last_token
    assert join_texts(network, [7, 8], [9]) == PairTokens([start, 7, 8, end, end, 9, end], [0, 0, 0, 0, 1, 1, 1])
    with_context = join_texts(network, [7], [9], [5, 6])
    assert with_context.ids == [start, 7, end, end, 5, 6, end, 9, end]
    assert with_context.segments == [0, 0, 0, 2, 2, 2, 1, 1, 1]


def test_adapters_round_trip_through_bytes() -> None:
    adapters = random_adapters()
    loaded = PairAdapters.from_bytes(adapters.to_bytes())
    np.testing.assert_array_equal(loaded.segments, adapters.segments)
    for name, values in adapters.head.to_arrays().items():
        np.testing.assert_array_equal(loaded.head.to_arrays()[name], values)
    for name in ADAPTED_MATRICES:
        for found, expected in zip(loaded.matrices[name], adapters.matrices[name], strict=True):
            np.testing.assert_array_equal(found, expected)
    for broken in (b"", b"PK", adapters.to_bytes()[:-60]):
        with pytest.raises(InvalidRecord, match="no adapters of multilingual-e5-small"):
            PairAdapters.from_bytes(broken)


@pytest.mark.parametrize("before", ["", "Ana: How is the new flat?"])
def test_score_is_that_of_a_readable_twin(network: E5Network, tensors: Mapping[str, Floats], before: str) -> None:
    """The graph rounds its activations to 8 bits, so the scores are only nearly the same."""
    for seed in range(3):
        adapters, pair = random_adapters(seed=seed), tokens_of(network, before=before)
        assert adapters.score_pair(network, pair) == pytest.approx(
            readable_score(adapters, network, pair, tensors), abs=0.6
        )


def test_head_is_that_of_a_readable_twin() -> None:
    head = random_adapters().head
    summary = np.linspace(-2, 3, 4 * WIDTH, dtype=np.float32)
    assert head.score_summary(summary) == pytest.approx(readable_head(head, summary), abs=1e-3)


def test_each_adapter_changes_the_states(network: E5Network) -> None:
    """Each in its own way; adapters of zeros leave the first layers as they are."""
    pair = tokens_of(network)
    zeros = np.zeros((len(pair.ids), WIDTH), np.float32)

    def states(adapters: PairAdapters) -> Floats:
        return network.adapted_states(pair.ids, zeros, adapters._graph_inputs)

    none = replace(
        random_adapters(), matrices={name: (down * 0, up) for name, (down, up) in random_adapters().matrices.items()}
    )
    base = states(none)
    outputs = set()
    for name in ADAPTED_MATRICES:
        one = replace(none, matrices={**none.matrices, name: random_adapters(strength=0.2).matrices[name]})
        changed = states(one)
        assert np.abs(changed - base).max() > 0.01, name
        outputs.add(changed.tobytes())
    assert len(outputs) == len(ADAPTED_MATRICES)


# ---- the twin


def readable_score(
    adapters: PairAdapters, network: E5Network, pair: PairTokens, tensors: Mapping[str, Floats]
) -> float:
    """The score of a pair by layers in floats."""
    rows = encode(network.input_embeddings(pair.ids), pair.segments, adapters, tensors)
    segments = np.array(pair.segments)
    first, second = (rows[segments == place].mean(axis=0) for place in (0, 1))
    return readable_head(adapters.head, np.concatenate([rows[0], first, second, first * second]))


def readable_head(head: ScoringHead, pooled: Floats) -> float:
    deviation = np.sqrt(pooled.var() + HEAD_EPSILON)
    normalized = (pooled - pooled.mean()) / deviation * head.norm_scale + head.norm_bias
    total = float(head.score_bias[0])
    for place in range(head.hidden.shape[1]):
        x = float(normalized @ np.float64(head.hidden[:, place])) + float(head.hidden_bias[place])
        total += float(head.score[place]) * x * 0.5 * (1 + np.tanh(np.sqrt(2 / pi) * (x + 0.044715 * x**3)))
    return total


def encode(rows: Floats, segments: list[int] | object, adapters: PairAdapters, tensors: Mapping[str, Floats]) -> Floats:
    """The adapted layers of BERT over the tensors of the graph, in floats."""

    def norm(x: Floats, name: str) -> Floats:
        centered = x - x.mean(axis=1, keepdims=True)
        deviations = np.sqrt((centered**2).mean(axis=1, keepdims=True) + 1e-12)
        return centered / deviations * tensors[f"{name}.scale"] + tensors[f"{name}.bias"]

    def product(x: Floats, name: str) -> Floats:
        down, up = (part.astype(np.float32) for part in adapters.matrices[name])
        return x @ (tensors[name] * tensors[f"{name}.scale"]) + tensors[f"{name}.bias"] + x @ down @ up

    rows = norm(rows, "embedding_norm") + adapters.segments.astype(np.float32)[np.array(segments)]
    for layer in range(ADAPTED_LAYERS):
        queries, keys, values = (
            part.reshape(len(rows), 12, 32).swapaxes(0, 1)
            for part in np.split(product(rows, f"{layer}.qkv"), 3, axis=1)
        )
        scores = np.exp(queries @ keys.swapaxes(1, 2) / np.sqrt(32))
        mixed = (scores / scores.sum(axis=2, keepdims=True) @ values).swapaxes(0, 1).reshape(rows.shape)
        rows = norm(rows + product(mixed, f"{layer}.o"), f"{layer}.attention_norm")
        inner = product(rows, f"{layer}.in")
        inner = inner * 0.5 * (1 + np.tanh(np.sqrt(2 / pi) * (inner + 0.044715 * inner**3)))
        rows = norm(rows + product(inner, f"{layer}.out"), f"{layer}.output_norm")
    return rows
