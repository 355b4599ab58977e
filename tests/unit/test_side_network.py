"""SideNet: the map, its gradient, and that training goes on where it stopped."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import Episode, Memory
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import InvalidInput, InvalidRecord
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.learn import (
    TrainingInfo,
    examples_from_log,
    fit_logistic,
    format_json,
    load_side_network,
    save_side_network,
    train_side_network,
)
from ecphora.learn.side_network_training import ContrastiveExample, gradient, gradient_step
from ecphora.model import Vectors
from ecphora.stages.eisa.necessity import is_recall_question
from ecphora.stages.eisa.side_network import SideNet, cosine, identity, map_vectors
from ecphora.stages.retrieval import dense
from ecphora.strategies.eisa import FAITHFUL
from ecphora.testing import FakeClock, sample_batch, sample_graph, sample_node, sample_query

DIM, RANK = 12, 3
WHERE = TrainingInfo(embedder="hashing/12", dim=DIM, date="2026-05-03", trained_by="a test")


def vectors(rows: int, seed_: int) -> Vectors:
    """Unit vectors that look like chance and are none."""
    numbers = np.sin(np.arange(rows * DIM) * 12.9898 + seed_) * 43758.5453 % 1 - 0.5
    matrix = numbers.reshape(rows, DIM)
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


def example(number: int, *, used: int = 2, unused: int = 4) -> ContrastiveExample:
    many = vectors(1 + used + unused, number)
    return ContrastiveExample(many[0], many[1 : 1 + used], many[1 + used :])


def turned() -> SideNet:
    """A net that is not the identity."""
    return SideNet(0.4 * vectors(DIM, 7)[:, :RANK], vectors(DIM, 8)[:, :RANK])


def matrix(net: SideNet) -> Any:
    return np.eye(net.dim) + net.a.astype(np.float64) @ net.b.T.astype(np.float64)


# ---- the map


def test_untrained_it_is_the_identity() -> None:
    """Its directions are orthonormal."""
    net = identity(384)
    assert (net.dim, net.rank) == (384, 8)
    assert not net.a.any()
    assert net.b.T @ net.b == pytest.approx(np.eye(8), abs=1e-5)
    given = vectors(5, 1)
    assert map_vectors(identity(DIM, RANK), given) == pytest.approx(given, abs=1e-6)
    assert map_vectors(None, given) is given


def test_it_maps_by_w() -> None:
    given = vectors(5, 1)
    expected = given @ matrix(turned()).T
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert map_vectors(turned(), given) == pytest.approx(expected, abs=1e-5)


def test_scores_are_cosines_of_mapped_vectors() -> None:
    """And need no mapped vector; a row without a vector has 0."""
    nodes = [sample_node(f"n{number}", seq=number) for number in range(1, 6)]
    given = vectors(4, 2)
    known = {node.id: vector for node, vector in zip(nodes, given, strict=False)}
    graph = apply_batch(Graph(), sample_batch(*nodes, vectors=known, revision=1))
    asked = vectors(1, 3)
    found = cosine(graph, sample_query("?", vector=asked[0]), turned())
    assert found[:4] == pytest.approx(map_vectors(turned(), given) @ map_vectors(turned(), asked)[0], abs=1e-5)
    assert found[4] == 0


def test_grown_scores_are_those_of_a_graph_read_at_once() -> None:
    cue, net = sample_query("Where does Ana live?"), SideNet(identity(16).b * 0.3, identity(16).b)
    graph = sample_graph(5)
    before = cosine(graph, cue, net)
    more = [sample_node(f"m{number}", f"Ana sails {number}", seq=100 + number) for number in range(3)]
    grown = apply_batch(graph, sample_batch(*more, revision=2))
    after = cosine(grown, cue, net)
    assert after[: len(before)].tolist() == before.tolist()
    again = apply_batch(sample_graph(5), sample_batch(*more, revision=2))
    assert after == pytest.approx(cosine(again, cue, net), abs=1e-6)
    assert not cosine(graph, replace(cue, vector=None), net).any()
    assert cosine(graph, cue, identity(16)) == pytest.approx(dense.cosine(graph, cue), abs=1e-3)


# ---- training


def reference(net: SideNet, one: ContrastiveExample, temperature: float) -> float:
    """InfoNCE as it is written in its paper, equation 4, with plain loops."""
    w = matrix(net)

    def cosine(vector: Any) -> float:
        u, x = w @ one.query.astype(np.float64), w @ vector.astype(np.float64)
        return float(u @ x / np.linalg.norm(u) / np.linalg.norm(x))

    losses = []
    for used in one.positives:
        right = np.exp(cosine(used) / temperature)
        wrong = sum(np.exp(cosine(unused) / temperature) for unused in one.negatives)
        losses.append(-np.log(right / (right + wrong)))
    return float(np.mean(losses))


@pytest.mark.parametrize("temperature", [0.05, 0.3])
@pytest.mark.parametrize("net", [identity(DIM, RANK), turned()], ids=["identity", "turned"])
def test_the_gradient_is_that_of_finite_differences(net: SideNet, temperature: float) -> None:
    for number in range(3):
        one = example(number, used=1 + number)
        found = gradient(net, one, temperature)
        assert found.loss == pytest.approx(reference(net, one, temperature), rel=1e-6)
        for name, derivatives in (("a", found.a), ("b", found.b)):
            numeric = np.zeros_like(derivatives)
            for place in np.ndindex(*derivatives.shape):
                sides = []
                for move in (1e-5, -1e-5):
                    moved: Any = getattr(net, name).astype(np.float64)
                    moved[place] += move
                    sides.append(reference(replace(net, **{name: moved}), one, temperature))
                numeric[place] = (sides[0] - sides[1]) / 2e-5
            assert derivatives == pytest.approx(numeric, rel=1e-4, abs=1e-6), name


def test_a_step_goes_down_and_decay_draws_back() -> None:
    examples = [example(number) for number in range(6)]
    start = identity(DIM, RANK)
    after, before = gradient_step(start, examples, learning_rate=0.05, temperature=0.2)
    assert gradient_step(after, examples, learning_rate=0.05, temperature=0.2)[1] < before
    net = turned()
    free, held = (
        gradient_step(net, examples, learning_rate=0.05, temperature=0.2, weight_decay=decay)[0] for decay in (0.0, 2.0)
    )
    assert free.a - held.a == pytest.approx(0.1 * net.a, abs=1e-6)


def test_a_step_moves_both_matrices_by_their_gradients() -> None:
    """W = I + A Bᵀ: from a net that is not the identity B moves as A does, by the rate times the mean gradient."""
    net, examples = turned(), [example(1), example(2)]
    gradients = [gradient(net, one) for one in examples]
    after, _ = gradient_step(net, examples, learning_rate=0.1)
    assert after.a == pytest.approx(net.a - 0.1 * np.mean([one.a for one in gradients], axis=0), abs=1e-6)
    assert after.b == pytest.approx(net.b - 0.1 * np.mean([one.b for one in gradients], axis=0), abs=1e-6)
    assert np.abs(after.b - net.b).max() > 1e-3
    untrained, trained = identity(DIM, RANK), train_side_network(identity(DIM, RANK), examples, epochs=3)
    assert np.abs(trained.b - untrained.b).max() > 1e-5


def test_examples_with_one_side_teach_nothing() -> None:
    net = turned()
    for one in (example(1, used=0), example(1, unused=0)):
        assert gradient_step(net, [one], learning_rate=1.0) == (net, 0.0)
    mixed = gradient_step(net, [example(1, used=0), example(2)], learning_rate=0.1)
    assert mixed[1] == gradient_step(net, [example(2)], learning_rate=0.1)[1]


def test_training_brings_the_used_before_the_unused() -> None:
    """A mark in one number, too weak for the plain cosine, is learned and holds for other cues."""

    def marked(number: int) -> ContrastiveExample:
        one = example(number, used=1)
        cue, used, unused = one.query.copy(), one.positives.copy(), one.negatives.copy()
        cue[0], used[:, 0], unused[:, 0] = 0.2, 0.4, -0.4
        return ContrastiveExample(cue, used, unused)

    def right(net: SideNet | None, examples: list[ContrastiveExample]) -> int:
        return sum(
            bool((map_vectors(net, one.positives) @ map_vectors(net, one.query[None])[0]).min()
                 > (map_vectors(net, one.negatives) @ map_vectors(net, one.query[None])[0]).max())
            for one in examples
        )  # fmt: skip

    net = train_side_network(
        identity(DIM, RANK), [marked(number) for number in range(60)], epochs=30, learning_rate=0.05, temperature=0.2
    )
    held_out = [marked(number) for number in range(100, 140)]
    assert right(net, held_out) > right(None, held_out) + 10


def test_it_learns_from_what_the_log_tells_was_used(tmp_path: Path) -> None:
    """EISA leaves each question behind; what came back with it and was used is told apart from what came in vain."""
    texts = ["the boat is called Zebulon", "the boat leaks", "a boat show in May", "Ana lives in Porto", "Ana is here"]
    free = replace(FAITHFUL, theta_sim=0.05)
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), strategy=free, clock=FakeClock()) as memory:
        memory.remember([Episode(text, id=f"e{number}") for number, text in enumerate(texts)])
        boats = memory.recall("the boat leaks badly")
        memory.feedback(boats, ["e1"])
        memory.recall("where is the boat")  # nothing of it was used
        people = memory.recall("where Ana lives")
        memory.feedback(people, [hit.id for hit in people])  # all of it was
        with pytest.raises(InvalidInput, match="'e9' is not among what came back"):
            memory.feedback(boats, ["e1", "e9"])
        graph = memory.graph()
    (told,) = examples_from_log(graph)
    vector = {id_: graph.vectors.view[graph.vector_positions[graph.row(id_)]] for id_ in graph.nodes["ids"].tolist()}
    question = graph.id(int(np.flatnonzero(is_recall_question(graph))[0]))
    assert told.query.tolist() == vector[question].tolist()
    assert told.positives.tolist() == [vector["e1"].tolist()]
    assert sorted(told.negatives.tolist()) == sorted(vector[hit.id].tolist() for hit in boats if hit.id != "e1")
    net = train_side_network(identity(64), [told], epochs=20)
    used, unused = (
        map_vectors(net, some) @ map_vectors(net, told.query[None])[0] for some in (told.positives, told.negatives)
    )
    assert used.min() - unused.max() > (told.positives @ told.query).min() - (told.negatives @ told.query).max()
    assert examples_from_log(Graph()) == []


def test_training_goes_on_from_a_loaded_net(tmp_path: Path) -> None:
    """Saved and loaded, a net is the same to the bit; so two times one epoch are two epochs."""
    examples = [example(number) for number in range(10)]
    options: dict[str, Any] = {"batch_size": 4, "learning_rate": 0.02, "temperature": 0.2}
    once = train_side_network(identity(DIM, RANK), examples, epochs=1, **options)
    save_side_network(once, tmp_path / "net.json", WHERE)
    loaded, provenance = load_side_network(tmp_path / "net.json")
    assert provenance == WHERE
    assert loaded.a.dtype == loaded.b.dtype == np.float32
    assert (loaded.a.tobytes(), loaded.b.tobytes()) == (once.a.tobytes(), once.b.tobytes())
    twice = train_side_network(identity(DIM, RANK), examples, epochs=2, **options)
    again = train_side_network(loaded, examples, epochs=1, **options)
    assert (again.a.tobytes(), again.b.tobytes()) == (twice.a.tobytes(), twice.b.tobytes())
    assert once.a.tobytes() != twice.a.tobytes()


# ---- as JSON


def test_any_float32_survives(tmp_path: Path) -> None:
    numbers = np.array([0.1, 1 / 3, -0.0, 1e-38, 3.4e38, 1e-45, 16777217, np.pi], np.float32).reshape(4, 2)
    save_side_network(SideNet(numbers, -numbers), tmp_path / "net.json", replace(WHERE, dim=4))
    found = load_side_network(tmp_path / "net.json")[0]
    assert (found.a.tobytes(), found.b.tobytes()) == (numbers.tobytes(), (-numbers).tobytes())


def test_the_file_is_readable(tmp_path: Path) -> None:
    """Short numbers, short lines, the provenance first."""
    save_side_network(identity(DIM, RANK), tmp_path / "net.json", WHERE)
    text = (tmp_path / "net.json").read_text()
    assert json.loads(text)["provenance"]["columns"] == ["vector"]
    assert text.index("provenance") < text.index('"a"')
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.splitlines()) < 60
    long: list[float] = [number / 7 for number in range(384)]
    assert json.loads(format_json({"x": long, "y": []})) == {"x": long, "y": []}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda found: found.pop("a"),
        lambda found: found.update(a=[[1.0]]),
        lambda found: found.update(a=[[1.0], [1.0, 2.0]]),
        lambda found: found["provenance"].update(dim=5),
        lambda found: found["provenance"].update(weather="fine"),
        lambda found: found.update(provenance=[]),
    ],
)
def test_what_is_no_side_network_is_refused(tmp_path: Path, spoil: Callable[[Any], object]) -> None:
    save_side_network(identity(DIM, RANK), tmp_path / "net.json", WHERE)
    found = json.loads((tmp_path / "net.json").read_text())
    spoil(found)
    (tmp_path / "net.json").write_text(json.dumps(found))
    with pytest.raises(InvalidRecord, match=r"net\.json"):
        load_side_network(tmp_path / "net.json")


def test_a_missing_or_broken_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    for name in ("missing.json", "broken.json"):
        with pytest.raises(InvalidRecord, match=name):
            load_side_network(tmp_path / name)


# ---- logistic regression


def test_logistic_regression_stands_at_the_bottom() -> None:
    """The slope of its loss is 0 there; a ridge holds separable data."""
    features = np.hstack([np.ones((40, 1)), vectors(40, 5).astype(np.float64)])
    labels = (features[:, 1] + 0.3 * features[:, 2] > 0).astype(np.float64)
    ridge = np.full(features.shape[1], 0.1)
    weights = fit_logistic(features, labels, ridge)
    p = 1 / (1 + np.exp(-features @ weights))
    assert features.T @ (p - labels) + ridge * weights == pytest.approx(np.zeros(len(ridge)), abs=1e-8)
    assert ((p > 0.5) == (labels > 0.5)).mean() > 0.9
    assert np.abs(fit_logistic(features, labels, 10 * ridge)[1:]).sum() < np.abs(weights[1:]).sum()
