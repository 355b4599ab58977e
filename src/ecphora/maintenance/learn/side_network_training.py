"""Training of EISA's side network, and its weights as readable JSON files.

The network is trained contrastively on (cue, used memory) against (cue, recalled but unused memory) by InfoNCE: Aäron
van den Oord et al., "Representation Learning with Contrastive Predictive Coding", 2018, arXiv:1807.03748, equation 4.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...errors import InvalidInput, InvalidRecord
from ...model.graph.graph import Graph
from ...model.reprs import ShortRepr, show
from ...model.types import AccessKind, Floats, Vector, Vectors
from ...model.validation import check_count, check_items, check_number, check_path
from ...strategies.eisa import episodic_necessity, weights
from ...strategies.eisa.side_network import SideNet, map_vectors
from .weight_files import Json, format_json

TEMPERATURE = 0.05
"""The divisor of cosines in the InfoNCE softmax."""
MAX_SIMILARITY_FLOOR = 0.9
"""The highest floor that training sets, where all texts it saw are alike: cosines are divided by 1 minus it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContrastiveExample(ShortRepr):
    """The feedback on one recall: the vectors of the cue, of the used memories, and of the unused memories."""

    query: Vector
    positives: Vectors
    negatives: Vectors


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gradient(ShortRepr):
    """An InfoNCE loss and its derivatives by ``a``, ``b`` and ``bias``."""

    loss: float
    a: Floats
    b: Floats
    bias: Floats


@dataclass(frozen=True, slots=True, repr=False)
class TrainingInfo(ShortRepr):
    """How a side network was trained: its input columns, the embedder and its ``dim``, the date and the trainer.

    ``date`` and ``trained_by`` are any text of the caller.
    """

    embedder: str
    dim: int
    date: str
    trained_by: str
    columns: tuple[str, ...] = ("vector",)


def examples_from_log(graph: Graph) -> list[ContrastiveExample]:
    """Make examples from the access log: for each recorded question, the memories that were used and the others.

    A question recalled the memories that were logged as recalled at its instant; those logged as used before the next
    question were used. Questions of which all or no memories were used are left out: they teach nothing.
    """
    if not isinstance(graph, Graph):
        raise InvalidInput(f"graph is {show(graph)}; give memory.graph()")
    rows, at = graph.accesses["rows"], graph.accesses["at"]
    positions, vectors = graph.vector_positions, graph.vectors
    encoded = graph.accesses_of_kind(AccessKind.ENCODED)
    boundaries = encoded[(episodic_necessity.is_recall_question(graph) & (positions >= 0))[rows[encoded]]]
    examples = []
    for start, begin, end in zip([0, *boundaries], boundaries, [*boundaries[1:], len(rows)], strict=False):
        earlier = np.arange(start, begin)[at[start:begin] == at[begin]]
        recalled = rows[earlier[graph.has_access_kind(AccessKind.RECALLED, accesses=earlier)]]
        recalled = recalled[positions[recalled] >= 0]
        after = np.arange(begin, end)
        is_used = np.isin(recalled, rows[after[graph.has_access_kind(AccessKind.USED, accesses=after)]])
        if is_used.any() and not is_used.all():
            query, used, unused = (
                vectors.rows(positions[some]) for some in (rows[begin], recalled[is_used], recalled[~is_used])
            )
            examples.append(ContrastiveExample(query, used, unused))
    return examples


def gradient(net: SideNet, example: ContrastiveExample, temperature: float = TEMPERATURE) -> Gradient:
    """The mean over the used memories of -log(e^(c₊/τ) / (e^(c₊/τ) + Σ e^(c₋/τ))), and its gradient."""
    a, b, q = net.a.astype(np.float64), net.b.astype(np.float64), example.query.astype(np.float64)
    d = np.concatenate([example.positives, example.negatives]).astype(np.float64)
    positives = len(example.positives)
    bias = net.bias.astype(np.float64)
    u, x = q + a @ (b.T @ q) + bias, d + (d @ b) @ a.T + bias  # Wq + c, Wd + c
    lu, lx = np.linalg.norm(u), np.linalg.norm(x, axis=1)
    c = x @ u / (lu * lx)
    # One row for each used memory: that one against all unused ones.
    logits = np.column_stack([c[:positives], np.tile(c[positives:], (positives, 1))]) / temperature
    logits -= logits.max(axis=1, keepdims=True)
    part = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    by_c = np.concatenate([part[:, 0] - 1, part[:, 1:].sum(axis=0)]) / (positives * temperature)
    # dc/du = x/(|u||x|) - c u/|u|², and likewise dc/dx; then u = Wq + c, x = Wd + c, and W = I + A Bᵀ.
    by_u = (by_c / lx) @ x / lu - (by_c @ c) * u / lu**2
    by_x = (by_c / (lu * lx))[:, None] * u - (by_c * c / lx**2)[:, None] * x
    return Gradient(
        loss=float(-np.log(part[:, 0]).mean()),
        a=np.outer(by_u, b.T @ q) + by_x.T @ (d @ b),
        b=np.outer(q, a.T @ by_u) + d.T @ (by_x @ a),
        bias=by_u + by_x.sum(axis=0),
    )


def gradient_step(
    net: SideNet,
    examples: Sequence[ContrastiveExample],
    *,
    learning_rate: float,
    temperature: float = TEMPERATURE,
    weight_decay: float = 0.0,
) -> tuple[SideNet, float]:
    """One gradient-descent step on some examples; returns the net and their mean loss before the step.

    ``weight_decay`` pulls ``a`` and the bias to 0, that is the net to the identity. Examples without a used or without
    an unused memory are skipped.
    """
    gradients = [gradient(net, one, temperature) for one in examples if len(one.positives) and len(one.negatives)]
    if not gradients:
        return net, 0.0
    kept = 1 - learning_rate * weight_decay
    a = net.a * kept - learning_rate * np.mean([one.a for one in gradients], axis=0)
    b = net.b - learning_rate * np.mean([one.b for one in gradients], axis=0)
    bias = net.bias * kept - learning_rate * np.mean([one.bias for one in gradients], axis=0)
    stepped = SideNet(a.astype(np.float32), b.astype(np.float32), bias.astype(np.float32))
    return stepped, float(np.mean([one.loss for one in gradients]))


def train_side_network(
    net: SideNet,
    examples: Sequence[ContrastiveExample],
    *,
    epochs: int = 5,
    batch_size: int = 32,
    learning_rate: float = 0.05,
    temperature: float = TEMPERATURE,
    decay: float = 0.0,
) -> SideNet:
    """Continue training a side network by stochastic gradient descent, with the examples in their order.

    The defaults did best of a few on held-out conversations; many more epochs overfit. Training is deterministic, and
    a step depends only on the net: training twice for one epoch equals training for two, with or without saving and
    loading in between. At the end the net's ``similarity_floor`` is measured.
    """
    if not isinstance(net, SideNet):
        raise InvalidInput(f"net is {show(net)}; give a SideNet")
    checked = list(check_items("examples", examples, "a list of ContrastiveExample objects"))
    if invalid := [example for example in checked if not isinstance(example, ContrastiveExample)]:
        raise InvalidInput(f"one of examples is {show(invalid[0])}; give ContrastiveExample objects")
    epochs, batch_size = check_count("epochs", epochs, minimum=0), check_count("batch_size", batch_size)
    learning_rate, decay = (
        check_number("learning_rate", learning_rate, minimum=0),
        check_number("decay", decay, minimum=0),
    )
    temperature = check_number("temperature", temperature, above=0)
    for _ in range(epochs):
        for start in range(0, len(checked), batch_size):
            net, _ = gradient_step(
                net,
                checked[start : start + batch_size],
                learning_rate=learning_rate,
                temperature=temperature,
                weight_decay=decay,
            )
    return replace(net, similarity_floor=measure_similarity_floor(net, checked))


def measure_similarity_floor(net: SideNet, examples: Sequence[ContrastiveExample]) -> float:
    """The median cosine of a question with what another question used, both mapped; 0 without two examples.

    The other question is the next one, and after the last the first.
    """
    with_texts = [example for example in examples if len(example.positives)]
    if len(with_texts) < 2:
        return 0.0
    questions = map_vectors(net, np.array([example.query for example in with_texts]))
    texts = map_vectors(net, np.array([example.positives[0] for example in with_texts]))
    median = float(np.median(np.einsum("ij,ij->i", questions, np.roll(texts, -1, axis=0))))
    return min(median, MAX_SIMILARITY_FLOOR)


def save_side_network(net: SideNet, path: str | Path, info: TrainingInfo) -> None:
    """Write a side network as JSON; loading it gives the same weights to the last bit."""
    path = check_path("path", path)
    if not isinstance(net, SideNet) or not isinstance(info, TrainingInfo):
        raise InvalidInput(f"{show(net)} and {show(info)} cannot be saved; give a SideNet and a TrainingInfo")
    provenance: dict[str, Json] = {
        "embedder": info.embedder,
        "dim": info.dim,
        "date": info.date,
        "trained_by": info.trained_by,
        "columns": list(info.columns),
    }
    path.write_text(
        format_json(
            {
                "provenance": provenance,
                "a": _to_lists(net.a),
                "b": _to_lists(net.b),
                "bias": _to_lists(net.bias[None])[0],
                "similarity_floor": net.similarity_floor,
            }
        ),
        encoding="utf-8",
    )


def load_side_network(path: str | Path) -> tuple[SideNet, TrainingInfo]:
    """Read a side network and its training info; raises ``InvalidRecord`` if the file has none."""
    path = check_path("path", path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        fields = found["provenance"]
        info = TrainingInfo(**{**fields, "columns": tuple(fields["columns"])})
        net = weights.parse_side_network(found)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidRecord(f"{path} holds no side network ({error}); save one with save_side_network") from error
    if not -1 <= net.similarity_floor < 1:
        raise InvalidRecord(f"{path} says similarity_floor {net.similarity_floor}; it must be from -1 to below 1")
    shape = (info.dim, net.a.shape[-1])
    if net.a.shape != shape or net.b.shape != shape or net.bias.shape != shape[:1]:
        shapes = f"{net.a.shape}, {net.b.shape} and {net.bias.shape}"
        raise InvalidRecord(f"{path} says dim {info.dim}, but holds shapes {shapes}")
    return net, info


def _to_lists(matrix: Vectors) -> list[list[float]]:
    """Return float32 numbers with no more digits than an exact round trip needs."""
    return [[float(str(number)) for number in row] for row in matrix.astype(np.float32)]
