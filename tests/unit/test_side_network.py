"""SideNet: the map, its gradient, resumed training, and its files."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import Episode, Memory
from ecphora.errors import InvalidInput, InvalidRecord
from ecphora.maintenance.learn import (
    TrainingInfo,
    examples_from_log,
    fit_logistic,
    format_json,
    load_side_network,
    save_side_network,
    train_side_network,
)
from ecphora.maintenance.learn.side_network_training import (
    MAX_SIMILARITY_FLOOR,
    ContrastiveExample,
    gradient,
    gradient_step,
    measure_similarity_floor,
)
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Vectors
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval import dense
from ecphora.strategies.eisa.episodic_necessity import is_recall_question
from ecphora.strategies.eisa.side_network import SideNet, cosine, identity, map_vectors
from ecphora.strategies.eisa.strategy import FAITHFUL
from ecphora.testing import FakeClock, sample_batch, sample_graph, sample_node, sample_query

DIM, RANK = 12, 3
INFO = TrainingInfo(embedder="hashing/12", dim=DIM, date="2026-05-03", trained_by="a test")


def vectors(rows: int, seed_: int) -> Vectors:
    """Unit vectors that look random and are deterministic."""
    numbers = np.sin(np.arange(rows * DIM) * 12.9898 + seed_) * 43758.5453 % 1 - 0.5
    matrix = numbers.reshape(rows, DIM)
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


def example(number: int, *, used: int = 2, unused: int = 4) -> ContrastiveExample:
    drawn = vectors(1 + used + unused, number)
    return ContrastiveExample(drawn[0], drawn[1 : 1 + used], drawn[1 + used :])


def rotated_net() -> SideNet:
    """A net that is not the identity, with a bias."""
    return SideNet(0.4 * vectors(DIM, 7)[:, :RANK], vectors(DIM, 8)[:, :RANK], 0.3 * vectors(1, 9)[0])


def parts(net: SideNet) -> tuple[Vectors, ...]:
    return net.a, net.b, net.bias


def matrix(net: SideNet) -> Any:
    return np.eye(net.dim) + net.a.astype(np.float64) @ net.b.T.astype(np.float64)


# ---- the map


def test_untrained_net_is_the_identity() -> None:
    """The directions of the identity net are orthonormal."""
    net = identity(384)
    assert (net.dim, net.rank) == (384, 8)
    assert not net.a.any()
    assert net.b.T @ net.b == pytest.approx(np.eye(8), abs=1e-5)
    inputs = vectors(5, 1)
    assert map_vectors(identity(DIM, RANK), inputs) == pytest.approx(inputs, abs=1e-6)
    assert map_vectors(None, inputs) is inputs


def test_map_vectors_multiplies_by_w() -> None:
    inputs = vectors(5, 1)
    expected = inputs @ matrix(rotated_net()).T + rotated_net().bias
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert map_vectors(rotated_net(), inputs) == pytest.approx(expected, abs=1e-5)


def test_scores_are_cosines_of_mapped_vectors() -> None:
    """They are computed without mapping all vectors; a row without a vector has 0."""
    nodes = [sample_node(f"n{number}", seq=number) for number in range(1, 6)]
    inputs = vectors(4, 2)
    vectors_by_id = {node.id: vector for node, vector in zip(nodes, inputs, strict=False)}
    graph = apply_batch(Graph(), sample_batch(*nodes, vectors=vectors_by_id, revision=1))
    query_vector = vectors(1, 3)
    found = cosine(graph, sample_query("?", vector=query_vector[0]), rotated_net())
    assert found[:4] == pytest.approx(
        map_vectors(rotated_net(), inputs) @ map_vectors(rotated_net(), query_vector)[0], abs=1e-5
    )
    assert found[4] == 0


def test_scores_of_a_grown_graph_equal_those_of_a_rebuilt_one() -> None:
    query, net = sample_query("Where does Ana live?"), SideNet(identity(16).b * 0.3, identity(16).b)
    graph = sample_graph(5)
    before = cosine(graph, query, net)
    new_nodes = [sample_node(f"m{number}", f"Ana sails {number}", seq=100 + number) for number in range(3)]
    grown = apply_batch(graph, sample_batch(*new_nodes, revision=2))
    after = cosine(grown, query, net)
    assert after[: len(before)].tolist() == before.tolist()
    rebuilt = apply_batch(sample_graph(5), sample_batch(*new_nodes, revision=2))
    assert after == pytest.approx(cosine(rebuilt, query, net), abs=1e-6)
    assert not cosine(graph, replace(query, vector=None), net).any()
    assert cosine(graph, query, identity(16)) == pytest.approx(dense.cosine(graph, query), abs=1e-3)


# ---- training


def reference(net: SideNet, item: ContrastiveExample, temperature: float) -> float:
    """InfoNCE of its paper, equation 4, with plain loops."""
    w = matrix(net)

    def cosine(vector: Any) -> float:
        u, x = w @ item.query.astype(np.float64) + net.bias, w @ vector.astype(np.float64) + net.bias
        return float(u @ x / np.linalg.norm(u) / np.linalg.norm(x))

    losses = []
    for used in item.positives:
        positive = np.exp(cosine(used) / temperature)
        negatives = sum(np.exp(cosine(unused) / temperature) for unused in item.negatives)
        losses.append(-np.log(positive / (positive + negatives)))
    return float(np.mean(losses))


@pytest.mark.medium
@pytest.mark.parametrize("temperature", [0.05, 0.3])
@pytest.mark.parametrize("net", [identity(DIM, RANK), rotated_net()], ids=["identity", "rotated"])
def test_gradient_equals_finite_differences(net: SideNet, temperature: float) -> None:
    for number in range(3):
        item = example(number, used=1 + number)
        found = gradient(net, item, temperature)
        assert found.loss == pytest.approx(reference(net, item, temperature), rel=1e-6)
        for name, derivatives in (("a", found.a), ("b", found.b), ("bias", found.bias)):
            numeric = np.zeros_like(derivatives)
            for index in np.ndindex(*derivatives.shape):
                sides = []
                for move in (1e-5, -1e-5):
                    moved: Any = getattr(net, name).astype(np.float64)
                    moved[index] += move
                    sides.append(reference(replace(net, **{name: moved}), item, temperature))
                numeric[index] = (sides[0] - sides[1]) / 2e-5
            assert derivatives == pytest.approx(numeric, rel=1e-4, abs=1e-6), name


def test_gradient_step_lowers_the_loss_and_decay_shrinks_weights() -> None:
    examples = [example(number) for number in range(6)]
    start = identity(DIM, RANK)
    after, before = gradient_step(start, examples, learning_rate=0.05, temperature=0.2)
    assert gradient_step(after, examples, learning_rate=0.05, temperature=0.2)[1] < before
    net = rotated_net()
    without_decay, with_decay = (
        gradient_step(net, examples, learning_rate=0.05, temperature=0.2, weight_decay=decay)[0] for decay in (0.0, 2.0)
    )
    assert without_decay.a - with_decay.a == pytest.approx(0.1 * net.a, abs=1e-6)
    assert without_decay.bias - with_decay.bias == pytest.approx(0.1 * net.bias, abs=1e-6)


def test_gradient_step_moves_matrices_and_bias_by_their_gradients() -> None:
    """W = I + A Bᵀ: from a net that is not the identity B moves as A does, by the rate times the mean gradient."""
    net, examples = rotated_net(), [example(1), example(2)]
    gradients = [gradient(net, item) for item in examples]
    after, _ = gradient_step(net, examples, learning_rate=0.1)
    assert after.a == pytest.approx(net.a - 0.1 * np.mean([item.a for item in gradients], axis=0), abs=1e-6)
    assert after.b == pytest.approx(net.b - 0.1 * np.mean([item.b for item in gradients], axis=0), abs=1e-6)
    assert after.bias == pytest.approx(net.bias - 0.1 * np.mean([item.bias for item in gradients], axis=0), abs=1e-6)
    assert np.abs(after.b - net.b).max() > 1e-3
    untrained, trained = identity(DIM, RANK), train_side_network(identity(DIM, RANK), examples, epochs=3)
    assert np.abs(trained.b - untrained.b).max() > 1e-5
    assert np.abs(trained.bias).max() > 1e-5


def test_examples_without_positives_or_negatives_are_skipped() -> None:
    net = rotated_net()
    for item in (example(1, used=0), example(1, unused=0)):
        assert gradient_step(net, [item], learning_rate=1.0) == (net, 0.0)
    mixed = gradient_step(net, [example(1, used=0), example(2)], learning_rate=0.1)
    assert mixed[1] == gradient_step(net, [example(2)], learning_rate=0.1)[1]


@pytest.mark.medium
def test_training_ranks_used_before_unused() -> None:
    """A small difference in one number, too weak for the plain cosine, is learned and applies to other queries."""

    def shifted_example(number: int) -> ContrastiveExample:
        item = example(number, used=1)
        query, used, unused = (
            item.query.copy(),
            item.positives.copy(),
            item.negatives.copy(),
        )
        query[0], used[:, 0], unused[:, 0] = 0.2, 0.4, -0.4
        return ContrastiveExample(query, used, unused)

    def correct_count(net: SideNet | None, examples: list[ContrastiveExample]) -> int:
        return sum(
            bool((map_vectors(net, item.positives) @ map_vectors(net, item.query[None])[0]).min()
                 > (map_vectors(net, item.negatives) @ map_vectors(net, item.query[None])[0]).max())
            for item in examples
        )  # fmt: skip

    net = train_side_network(
        identity(DIM, RANK),
        [shifted_example(number) for number in range(60)],
        epochs=30,
        learning_rate=0.05,
        temperature=0.2,
    )
    held_out = [shifted_example(number) for number in range(100, 140)]
    assert correct_count(net, held_out) > correct_count(None, held_out) + 10


def test_training_measures_the_similarity_floor() -> None:
    """The median cosine of a question with what the next question used, both mapped, and of the last with the first."""
    examples = [example(number) for number in range(5)]
    net = train_side_network(identity(DIM, RANK), examples, epochs=1)
    questions, texts = (
        map_vectors(net, np.array(some))
        for some in ([item.query for item in examples], [item.positives[0] for item in examples])
    )
    expected = np.median([questions[place] @ texts[(place + 1) % 5] for place in range(5)])
    assert net.similarity_floor == pytest.approx(expected, abs=1e-6)
    assert measure_similarity_floor(net, [example(1), example(2, used=0)]) == 0
    same = ContrastiveExample(examples[0].query, examples[0].query[None], examples[0].negatives)
    assert measure_similarity_floor(net, [same, same]) == MAX_SIMILARITY_FLOOR


@pytest.mark.medium
def test_examples_from_the_log_use_feedback(tmp_path: Path) -> None:
    """EISA stores questions; hits of a question that were used are positives, the others negatives."""
    texts = ["the boat is called Zebulon", "the boat leaks", "a boat show in May", "Ana lives in Porto", "Ana is here"]
    strategy = replace(FAITHFUL, theta_sim=0.05)
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), strategy=strategy, clock=FakeClock()) as memory:
        memory.remember([Episode(text, id=f"e{number}") for number, text in enumerate(texts)])
        boat_hits = memory.recall("the boat leaks badly")
        memory.feedback(boat_hits, ["e1"])
        memory.recall("where is the boat")  # no hit was used
        people = memory.recall("where Ana lives")
        memory.feedback(people, [hit.id for hit in people])  # all hits were used
        with pytest.raises(InvalidInput, match="'e9' is not among what came back"):
            memory.feedback(boat_hits, ["e1", "e9"])
        graph = memory.graph()
    (item,) = examples_from_log(graph)
    vector = {id_: graph.vectors.view[graph.vector_positions[graph.row(id_)]] for id_ in graph.nodes["ids"].tolist()}
    question = graph.id(int(np.flatnonzero(is_recall_question(graph))[0]))
    assert item.query.tolist() == vector[question].tolist()
    assert item.positives.tolist() == [vector["e1"].tolist()]
    assert sorted(item.negatives.tolist()) == sorted(vector[hit.id].tolist() for hit in boat_hits if hit.id != "e1")
    net = train_side_network(identity(64), [item], epochs=20)
    before, after = (
        [map_vectors(one, texts) @ map_vectors(one, item.query[None])[0] for texts in (item.positives, item.negatives)]
        for one in (identity(64), net)
    )
    assert after[0].min() - after[1].max() > before[0].min() - before[1].max()
    assert examples_from_log(Graph()) == []


def test_training_resumes_from_a_loaded_net(tmp_path: Path) -> None:
    """A net is the same bits after saving and loading, so one epoch twice equals two epochs."""
    examples = [example(number) for number in range(10)]
    options: dict[str, Any] = {"batch_size": 4, "learning_rate": 0.02, "temperature": 0.2}
    once = train_side_network(identity(DIM, RANK), examples, epochs=1, **options)
    save_side_network(once, tmp_path / "net.json", INFO)
    loaded, provenance = load_side_network(tmp_path / "net.json")
    assert provenance == INFO
    assert loaded.a.dtype == loaded.b.dtype == np.float32
    assert [part.tobytes() for part in parts(loaded)] == [part.tobytes() for part in parts(once)]
    twice = train_side_network(identity(DIM, RANK), examples, epochs=2, **options)
    rebuilt = train_side_network(loaded, examples, epochs=1, **options)
    assert [part.tobytes() for part in parts(rebuilt)] == [part.tobytes() for part in parts(twice)]
    assert loaded.bias.any()
    assert loaded.similarity_floor == once.similarity_floor
    assert once.a.tobytes() != twice.a.tobytes()


# ---- files


def test_float32_values_round_trip(tmp_path: Path) -> None:
    numbers = np.array([0.1, 1 / 3, -0.0, 1e-38, 3.4e38, 1e-45, 16777217, np.pi], np.float32).reshape(4, 2)
    save_side_network(SideNet(numbers, -numbers), tmp_path / "net.json", replace(INFO, dim=4))
    found = load_side_network(tmp_path / "net.json")[0]
    assert (found.a.tobytes(), found.b.tobytes()) == (numbers.tobytes(), (-numbers).tobytes())


def test_side_network_file_is_readable(tmp_path: Path) -> None:
    """The file has short numbers, short lines, and the provenance first."""
    save_side_network(identity(DIM, RANK), tmp_path / "net.json", INFO)
    text = (tmp_path / "net.json").read_text()
    assert json.loads(text)["provenance"]["columns"] == ["vector"]
    assert text.index("provenance") < text.index('"a"')
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.splitlines()) < 60
    long_list: list[float] = [number / 7 for number in range(384)]
    assert json.loads(format_json({"x": long_list, "y": []})) == {"x": long_list, "y": []}


@pytest.mark.parametrize(
    "break_field",
    [
        lambda found: found.pop("a"),
        lambda found: found.update(a=[[1.0]]),
        lambda found: found.update(a=[[1.0], [1.0, 2.0]]),
        lambda found: found.pop("bias"),
        lambda found: found.update(bias=[1.0]),
        lambda found: found.pop("similarity_floor"),
        lambda found: found.update(similarity_floor=1.0),
        lambda found: found.update(similarity_floor="high"),
        lambda found: found["provenance"].update(dim=5),
        lambda found: found["provenance"].update(weather="fine"),
        lambda found: found.update(provenance=[]),
    ],
)
def test_invalid_side_network_is_rejected(tmp_path: Path, break_field: Callable[[Any], object]) -> None:
    save_side_network(identity(DIM, RANK), tmp_path / "net.json", INFO)
    found = json.loads((tmp_path / "net.json").read_text())
    break_field(found)
    (tmp_path / "net.json").write_text(json.dumps(found))
    with pytest.raises(InvalidRecord, match=r"net\.json"):
        load_side_network(tmp_path / "net.json")


def test_missing_or_broken_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    for name in ("missing.json", "broken.json"):
        with pytest.raises(InvalidRecord, match=name):
            load_side_network(tmp_path / name)


# ---- logistic regression


def test_logistic_regression_minimizes_its_loss() -> None:
    """The gradient of its loss is 0 there; the ridge bounds the weights on separable data."""
    features = np.hstack([np.ones((40, 1)), vectors(40, 5).astype(np.float64)])
    labels = (features[:, 1] + 0.3 * features[:, 2] > 0).astype(np.float64)
    ridge = np.full(features.shape[1], 0.1)
    weights = fit_logistic(features, labels, ridge)
    p = 1 / (1 + np.exp(-features @ weights))
    assert features.T @ (p - labels) + ridge * weights == pytest.approx(np.zeros(len(ridge)), abs=1e-8)
    assert ((p > 0.5) == (labels > 0.5)).mean() > 0.9
    assert np.abs(fit_logistic(features, labels, 10 * ridge)[1:]).sum() < np.abs(weights[1:]).sum()
