"""The head of the built-in reader: its features by hand, and the whole as a plain loop over the tokens."""

import math
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from ecphora.models.embedders.token_codes import InteractionHead, TokenStates
from ecphora.models.rerankers.late_interaction import HEAD_FILE

sys.path.append(str(Path(__file__).parents[2] / "training"))

from interaction_graph import (
    FEATURES,
    HEADS,
    LOWEST_MATCH,
    MATCH_SCALE,
    SIMILARITY_ORIGIN,
    SIMILARITY_RANGE,
    TEXT_ORIGIN,
    TEXT_RANGE,
    WORST_MATCHES,
    build_graph,
)

INPUT, WIDTH, HIDDEN = 6, 8, 5

Weights = dict[str, NDArray[np.float32]]


def shapes(layers: int = 2) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights of a small head."""
    linear = {
        "input": (WIDTH, INPUT),
        "match": (WIDTH, 2),
        "output": (HIDDEN, 3 * WIDTH + FEATURES),
        "score": (1, HIDDEN),
        "features": (1, FEATURES),
    }
    norms = {"input norm": INPUT, "output norm": 3 * WIDTH + FEATURES}
    found: dict[str, tuple[int, ...]] = {"segments": (3, WIDTH)}
    for layer in range(layers):
        linear[f"{layer}.attention"], linear[f"{layer}.attention output"] = (3 * WIDTH, WIDTH), (WIDTH, WIDTH)
        linear[f"{layer}.dense"], linear[f"{layer}.dense output"] = (2 * WIDTH, WIDTH), (WIDTH, 2 * WIDTH)
        norms[f"{layer}.attention norm"] = norms[f"{layer}.dense norm"] = WIDTH
        found[f"{layer}.bias"] = (HEADS,)
    for name, shape in linear.items():
        found[f"{name}.weight"], found[f"{name}.offset"] = shape, shape[:1]
    for name, size in norms.items():
        found[f"{name}.weight"] = found[f"{name}.offset"] = (size,)
    return found


def random_weights(seed: int = 0, layers: int = 2) -> Weights:
    """Random weights of a small head."""
    random = np.random.default_rng(seed)  # noqa: TID251  # seeded
    return {name: (0.5 * random.standard_normal(shape)).astype(np.float32) for name, shape in shapes(layers).items()}


def texts(seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]:
    """Token states of a question of 4 tokens, and of a passage of 3 tokens of context and 6 of text."""
    random = np.random.default_rng(seed)  # noqa: TID251  # seeded
    question, passage = (random.standard_normal((count, INPUT)).astype(np.float32) for count in (4, 9))
    return question, passage, np.arange(9) < 3


def score(
    weights: Weights, question: NDArray[np.float32], passage: NDArray[np.float32], is_context: NDArray[np.bool_]
) -> float:
    """The score of the graph of these weights."""
    asked = TokenStates(question, np.zeros(len(question), np.bool_))
    return InteractionHead(build_graph(weights)).score(asked, TokenStates(passage, is_context))


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1."""
    result: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return result


def only(feature: int) -> Weights:
    """The weights of a head whose score is one of its features."""
    weights: Weights = {name: np.zeros(shape, np.float32) for name, shape in shapes(0).items()}
    weights["features.weight"][0, feature] = 1
    return weights


@pytest.mark.medium
def test_features_are_similarities_of_tokens() -> None:
    question, passage, is_context = texts()
    similarity = (unit(question) @ unit(passage).T - SIMILARITY_ORIGIN) / SIMILARITY_RANGE
    best = np.maximum(similarity.max(axis=1), LOWEST_MATCH)
    best_in_text = np.maximum(similarity[:, ~is_context].max(axis=1), LOWEST_MATCH)
    sums = np.stack([question.sum(axis=0), passage[~is_context].sum(axis=0)])
    whole = float(unit(sums)[0] @ unit(sums)[1])
    expected = [
        (whole - TEXT_ORIGIN) / TEXT_RANGE,
        best.mean() * MATCH_SCALE,
        best_in_text.mean() * MATCH_SCALE,
        *np.sort(best)[:WORST_MATCHES],
    ]
    found = [score(only(feature), question, passage, is_context) for feature in range(FEATURES)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def reference_score(
    weights: Mapping[str, NDArray[np.float32]],
    question: NDArray[np.float32],
    passage: NDArray[np.float32],
    is_context: NDArray[np.bool_],
) -> float:
    """The same score, written token by token."""

    def linear(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        result: NDArray[np.float64] = weights[f"{name}.weight"].astype(float) @ x + weights[f"{name}.offset"]
        return result

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        result: NDArray[np.float64] = (x - x.mean()) / math.sqrt(x.var() + 1e-5) * weights[f"{name}.weight"]
        return result + weights[f"{name}.offset"]

    def gelu(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([0.5 * value * (1 + math.erf(value / math.sqrt(2))) for value in x])

    states = np.concatenate([question, passage]).astype(float)
    segments = [0] * len(question) + [2 if context else 1 for context in is_context]
    count = len(states)

    def similarity(i: int, j: int) -> float:
        cosine = states[i] @ states[j] / np.linalg.norm(states[i]) / np.linalg.norm(states[j])
        return float(cosine - SIMILARITY_ORIGIN) / SIMILARITY_RANGE

    def is_cross(i: int, j: int) -> bool:
        return (segments[i] == 0) != (segments[j] == 0)

    best = [max(LOWEST_MATCH, *(similarity(i, j) for j in range(count) if is_cross(i, j))) for i in range(count)]
    best_in_text = [
        max(LOWEST_MATCH, *(similarity(i, j) for j in range(count) if segments[j] == 1))
        if segments[i] == 0
        else LOWEST_MATCH
        for i in range(count)
    ]
    x = np.array(
        [
            linear(norm(states[i], "input norm"), "input")
            + weights["segments"][segments[i]]
            + linear(np.array([best[i], best_in_text[i]]), "match")
            for i in range(count)
        ]
    )
    size = WIDTH // HEADS
    for layer in range(2):
        mixed = np.array([linear(norm(row, f"{layer}.attention norm"), f"{layer}.attention") for row in x])
        attended = np.zeros_like(x)
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            queries, keys, values = (mixed[:, k * WIDTH : (k + 1) * WIDTH][:, part] for k in range(3))
            for i in range(count):
                odds = np.array(
                    [
                        queries[i] @ keys[j] / math.sqrt(size)
                        + (weights[f"{layer}.bias"][head] * similarity(i, j) if is_cross(i, j) else 0)
                        for j in range(count)
                    ]
                )
                shares = np.exp(odds - odds.max())
                attended[i, part] = shares @ values / shares.sum()
        x = x + np.array([linear(row, f"{layer}.attention output") for row in attended])
        inner = [gelu(linear(norm(row, f"{layer}.dense norm"), f"{layer}.dense")) for row in x]
        x = x + np.array([linear(row, f"{layer}.dense output") for row in inner])
    is_text = np.array(segments) == 1
    sums = states[: len(question)].sum(axis=0), states[is_text].sum(axis=0)
    cosine = float(sums[0] @ sums[1] / np.linalg.norm(sums[0]) / np.linalg.norm(sums[1]))
    asked = best[: len(question)]
    features = np.array(
        [
            (cosine - TEXT_ORIGIN) / TEXT_RANGE,
            np.mean(asked) * MATCH_SCALE,
            np.mean(best_in_text[: len(question)]) * MATCH_SCALE,
            *sorted(asked)[:WORST_MATCHES],
        ]
    )
    means = x[: len(question)].mean(axis=0), x[is_text].mean(axis=0)
    pooled = np.concatenate([*means, means[0] * means[1], features])
    hidden = gelu(linear(norm(pooled, "output norm"), "output"))
    return float(linear(hidden, "score")[0] + linear(features, "features")[0])


@pytest.mark.parametrize("seed", range(4))
def test_score_is_that_of_the_equations(seed: int) -> None:
    weights = random_weights(seed)
    found = score(weights, *texts(seed))
    assert found == pytest.approx(reference_score(weights, *texts(seed)), abs=1e-4)


@pytest.mark.medium
def test_score_does_not_depend_on_the_order_of_states() -> None:
    weights, (question, passage, is_context) = random_weights(), texts()
    order = np.random.default_rng(1).permutation(len(passage))  # noqa: TID251  # seeded
    found = score(weights, question[::-1], passage[order], is_context[order])
    assert found == pytest.approx(score(weights, question, passage, is_context), abs=1e-4)


def test_passage_of_context_alone_has_a_score() -> None:
    question, passage, _ = texts()
    assert math.isfinite(score(random_weights(), question, passage, np.ones(len(passage), np.bool_)))


def test_packaged_head_is_the_graph_of_its_own_weights() -> None:
    content = files("ecphora.models").joinpath("weights").joinpath(HEAD_FILE).read_bytes()
    names = shapes().keys()
    weights = {
        one.name: onnx.numpy_helper.to_array(one)
        for one in onnx.load_from_string(content).graph.initializer
        if one.name in names
    }
    assert weights.keys() == names
    assert build_graph(weights) == content
