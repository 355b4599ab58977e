"""Training of EISA's side network, and its weights as readable JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InvalidInput, InvalidRecord
from ..graph import TOUCHES, Graph
from ..model import Touch, Vectors
from ..reprs import ShortRepr
from ..stages import need
from ..stages.sidenet import TEMPERATURE, Example, SideNet, step
from ..validate import check_count, check_items, check_number, check_path, show
from .files import Json, readable


@dataclass(frozen=True, slots=True, repr=False)
class Provenance(ShortRepr):
    """Where a side network comes from: what it reads, of which embedder, when it was trained and by what.

    ``date`` is given by the caller, as any text; ``trained_by`` says what taught it, in words.
    """

    embedder: str
    dim: int
    date: str
    trained_by: str
    columns: tuple[str, ...] = ("vector",)


def logged(graph: Graph) -> list[Example]:
    """What the access log tells of questions that recalling left behind: which memories they used, and which in vain.

    A question came with the memories that were brought back at its instant; of these were used what was logged so
    before the next question. Those of which all or none was used teach nothing, and are left out.
    """
    if not isinstance(graph, Graph):
        raise InvalidInput(f"graph is {show(graph)}; give memory.graph()")
    rows, touches, at = (graph.accesses[column] for column in ("rows", "touches", "at"))
    places, vectors = graph.vector_places, graph.vectors.view
    begins = np.flatnonzero((need.asked(graph) & (places >= 0))[rows] & (touches == TOUCHES.index(Touch.ENCODED)))
    examples = []
    for start, begin, end in zip([0, *begins], begins, [*begins[1:], len(rows)], strict=False):
        earlier = np.arange(start, begin)[at[start:begin] == at[begin]]
        brought = rows[earlier[touches[earlier] == TOUCHES.index(Touch.RECALLED)]]
        brought = brought[places[brought] >= 0]
        after = np.arange(begin, end)
        chosen = np.isin(brought, rows[after[touches[after] == TOUCHES.index(Touch.USED)]])
        if chosen.any() and not chosen.all():
            cue, used, unused = (vectors[places[some]] for some in (rows[begin], brought[chosen], brought[~chosen]))
            examples.append(Example(cue, used, unused))
    return examples


def learn(
    net: SideNet,
    examples: Sequence[Example],
    *,
    epochs: int = 5,
    batch: int = 32,
    rate: float = 0.05,
    temperature: float = TEMPERATURE,
    decay: float = 0.0,
) -> SideNet:
    """Train a side network on, from where it stands: stochastic gradient descent, the examples in their order.

    The defaults did best of a few on conversations left out of training; many more epochs learn the examples by heart.
    Nothing is left to chance, and a step depends on nothing but the net: training twice for one epoch is training for
    two, with a save and a load in between or not.
    """
    if not isinstance(net, SideNet):
        raise InvalidInput(f"net is {show(net)}; give a SideNet")
    known = list(check_items("examples", examples, "a list of Example objects"))
    if strange := [one for one in known if not isinstance(one, Example)]:
        raise InvalidInput(f"one of examples is {show(strange[0])}; give Example objects")
    epochs, batch = check_count("epochs", epochs, least=0), check_count("batch", batch)
    rate, decay = check_number("rate", rate, least=0), check_number("decay", decay, least=0)
    temperature = check_number("temperature", temperature, above=0)
    for _ in range(epochs):
        for start in range(0, len(known), batch):
            net, _ = step(net, known[start : start + batch], rate=rate, temperature=temperature, decay=decay)
    return net


def save(net: SideNet, path: str | Path, provenance: Provenance) -> None:
    """Write a side network as JSON; read again, it is the same to the last bit."""
    path = check_path("path", path)
    if not isinstance(net, SideNet) or not isinstance(provenance, Provenance):
        raise InvalidInput(f"{show(net)} and {show(provenance)} cannot be saved; give a SideNet and a Provenance")
    known: dict[str, Json] = {
        "embedder": provenance.embedder,
        "dim": provenance.dim,
        "date": provenance.date,
        "trained_by": provenance.trained_by,
        "columns": list(provenance.columns),
    }
    path.write_text(readable({"provenance": known, "a": _listed(net.a), "b": _listed(net.b)}), encoding="utf-8")


def load(path: str | Path) -> tuple[SideNet, Provenance]:
    """Read a side network, and where it comes from; raises ``InvalidRecord`` where the file holds none."""
    path = check_path("path", path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        known = found["provenance"]
        provenance = Provenance(**{**known, "columns": tuple(known["columns"])})
        net = SideNet(np.array(found["a"], np.float32), np.array(found["b"], np.float32))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidRecord(f"{path} holds no side network ({error}); save one with ecphora.learn.save") from error
    shape = (provenance.dim, net.a.shape[-1])
    if net.a.shape != shape or net.b.shape != shape:
        raise InvalidRecord(f"{path} says dim {provenance.dim}, but holds shapes {net.a.shape} and {net.b.shape}")
    return net, provenance


def _listed(matrix: Vectors) -> list[list[float]]:
    """Float32 numbers with no more digits than they need to be read back as they were."""
    return [[float(str(number)) for number in row] for row in matrix.astype(np.float32)]
