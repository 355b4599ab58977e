"""Training of EISA's side network, and its weights as readable JSON files."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InvalidInput, InvalidRecord
from ..graph import Graph
from ..model import AccessKind, Vectors
from ..reprs import ShortRepr
from ..stages.eisa import necessity
from ..stages.eisa.side_network import TEMPERATURE, ContrastiveExample, SideNet, gradient_step
from ..validate import check_count, check_items, check_number, check_path, show
from .readable_json import Json, format_json


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
    positions, vectors = graph.vector_positions, graph.vectors.view
    encoded = graph.accesses_of_kind(AccessKind.ENCODED)
    boundaries = encoded[(necessity.is_recall_question(graph) & (positions >= 0))[rows[encoded]]]
    examples = []
    for start, begin, end in zip([0, *boundaries], boundaries, [*boundaries[1:], len(rows)], strict=False):
        earlier = np.arange(start, begin)[at[start:begin] == at[begin]]
        recalled = rows[earlier[graph.has_access_kind(AccessKind.RECALLED, accesses=earlier)]]
        recalled = recalled[positions[recalled] >= 0]
        after = np.arange(begin, end)
        is_used = np.isin(recalled, rows[after[graph.has_access_kind(AccessKind.USED, accesses=after)]])
        if is_used.any() and not is_used.all():
            query, used, unused = (
                vectors[positions[some]] for some in (rows[begin], recalled[is_used], recalled[~is_used])
            )
            examples.append(ContrastiveExample(query, used, unused))
    return examples


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
    loading in between.
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
    return net


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
        format_json({"provenance": provenance, "a": _to_lists(net.a), "b": _to_lists(net.b)}), encoding="utf-8"
    )


def load_side_network(path: str | Path) -> tuple[SideNet, TrainingInfo]:
    """Read a side network and its training info; raises ``InvalidRecord`` if the file has none."""
    path = check_path("path", path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        fields = found["provenance"]
        info = TrainingInfo(**{**fields, "columns": tuple(fields["columns"])})
        net = SideNet(np.array(found["a"], np.float32), np.array(found["b"], np.float32))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidRecord(f"{path} holds no side network ({error}); save one with save_side_network") from error
    shape = (info.dim, net.a.shape[-1])
    if net.a.shape != shape or net.b.shape != shape:
        raise InvalidRecord(f"{path} says dim {info.dim}, but holds shapes {net.a.shape} and {net.b.shape}")
    return net, info


def _to_lists(matrix: Vectors) -> list[list[float]]:
    """Return float32 numbers with no more digits than an exact round trip needs."""
    return [[float(str(number)) for number in row] for row in matrix.astype(np.float32)]
