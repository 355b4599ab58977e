"""What an ablation is made of: models, their variants, and the spaces that all of them are asked about."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ..graph import Graph
from ..model import Cue
from ..ports import Strategy
from .datasets import Case
from .run import writes


@dataclass(frozen=True, slots=True)
class Space:
    """A space as strategies see it: its graph, and its questions as cues, in their order.

    ``documents`` are the numbers of the documents that the rows belong to; ``names`` tells each document's number.
    """

    case: Case
    graph: Graph
    cues: tuple[Cue, ...]
    documents: NDArray[np.int64]
    names: Mapping[str, int]

    @staticmethod
    def of(case: Case, graph: Graph, cues: Sequence[Cue]) -> "Space":
        """A space whose documents are numbered in the order of their first rows."""
        names: dict[str, int] = {}
        whole = graph.documents.names
        rows = zip(graph.nodes["ids"].tolist(), graph.nodes["documents"].tolist(), strict=True)
        documents = [names.setdefault(whole[number] if number >= 0 else id_, len(names)) for id_, number in rows]
        return Space(case, graph, tuple(cues), np.array(documents, np.int64), names)

    def gold(self, place: int) -> NDArray[np.int64]:
        """The numbers of the documents that hold the evidence of a question, ascending."""
        return np.array(sorted(self.names[id_] for id_ in self.case.questions[place].evidence), np.int64)


@dataclass(frozen=True, slots=True)
class Trained:
    """A strategy that is made anew for every space, from the other spaces of its set."""

    train: Callable[[Sequence[Space]], Strategy]


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A strategy under the name it has in its model's table.

    ``home`` is the variant that fills the memory it recalls from, where that is another than itself; ``base`` the one
    it is compared with, where that is another than the whole model. ``talk`` says that it is asked only of what was
    told in time. What is trained writes nothing of its own, and is left out of sets of one space.
    """

    label: str
    strategy: Strategy | Trained
    home: "Variant | None" = None
    base: "Variant | None" = None
    talk: bool = False

    def writer(self, *, stirring: bool) -> Strategy | None:
        """The strategy whose memory it recalls from, None for the one that all share that only read."""
        strategy = (self.home or self).strategy
        return None if isinstance(strategy, Trained) or not writes(strategy, stirring=stirring) else strategy


class Special(StrEnum):
    """A measurement of one paper's own, for the model of that paper, its rivals and the baselines."""

    EQUAL_COUNT = "equal count"
    LOW_SIMILARITY = "low similarity"
    GATE = "gate"


@dataclass(frozen=True, slots=True)
class Model:
    """A published model: the whole of it, its variants, and the measurements that are its paper's own."""

    name: str
    full: Variant
    variants: tuple[Variant, ...] = ()
    specials: frozenset[Special] = field(default_factory=frozenset)

    @property
    def ways(self) -> tuple[Variant, ...]:
        """The whole model and its variants."""
        return (self.full, *self.variants)
