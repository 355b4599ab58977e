"""The semantic oracle that needs no language model: it tells a cluster by the words of its own members."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from ..language.tokens import tokens
from ..model import Kind, Node, NodeId, Vectors
from . import synthesis


@dataclass(frozen=True, slots=True)
class Extractive:
    """An :class:`~ecphora.ports.Oracle` that quotes: the members that say most of a cluster for their length."""

    def synthesise(
        self, sources: Sequence[Node], vectors: Vectors, weights: NDArray[np.float64], token_cost: float, /
    ) -> str | None:
        """The chosen members, quoted."""
        chosen = synthesis.extract(vectors, weights, costs(sources, token_cost))
        return quoted([sources[place] for place in chosen])


def costs(sources: Sequence[Node], token_cost: float) -> NDArray[np.float64]:
    """What quoting each of some memories costs: Comp of equation 6 as tokens, times lambda."""
    return np.array([token_cost * max(1, tokens(node.text)) for node in sources])


def quoted(chosen: Sequence[Node]) -> str:
    """Memories in order of time, a line each, with who said it."""
    told = sorted(chosen, key=lambda node: (node.happened_at, node.seq))
    return "\n".join(node.text if node.speaker is None else f"{node.speaker}: {node.text}" for node in told)


def insight_of(text: str, sources: Sequence[Node], now: datetime, level: int = 1) -> Node:
    """The insight that tells some memories, or insights of the level below; it happened when the last of them did."""
    last = max(node.happened_at for node in sources)
    told = {"level": level, "sources": len(sources)}
    return Node(insight_id(node.id for node in sources), Kind.INSIGHT, text, last, now, metadata=told)


def insight_id(sources: Iterable[NodeId]) -> NodeId:
    """The id of the insight that tells some nodes: the same whenever and in whatever words it is drawn."""
    content = "\x1f".join(sorted(sources))
    return f"insight:{blake2b(content.encode(), digest_size=16).hexdigest()}"
