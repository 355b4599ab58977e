"""The semantic oracle that needs no language model: it tells a cluster by the words of its own members."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..language.tokens import tokens
from ..model import Node, Vectors
from . import synthesis


@dataclass(frozen=True, slots=True)
class Extractive:
    """An :class:`~ecphora.ports.Oracle` that quotes: the members that say most of a cluster for their length."""

    def synthesise(
        self, sources: Sequence[Node], vectors: Vectors, weights: NDArray[np.float64], token_cost: float, /
    ) -> str | None:
        """The chosen members in order of time, a line each, with who said it."""
        costs = np.array([token_cost * max(1, tokens(node.text)) for node in sources])
        chosen = [sources[place] for place in synthesis.extract(vectors, weights, costs)]
        told = sorted(chosen, key=lambda node: (node.happened_at, node.seq))
        return "\n".join(node.text if node.speaker is None else f"{node.speaker}: {node.text}" for node in told)
