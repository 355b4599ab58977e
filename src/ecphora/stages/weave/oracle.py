"""A semantic oracle without a language model: it summarizes a cluster by quoting its members."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from ...ids import INSIGHT_PREFIX, content_id
from ...language.token_count import estimate_tokens
from ...model import Kind, Node, NodeId, Vectors
from . import extractive_summary


@dataclass(frozen=True, slots=True)
class ExtractiveSummarizer:
    """A :class:`~ecphora.ports.Summarizer` that quotes the members that cover most of a cluster for their length."""

    def summarize(
        self, sources: Sequence[Node], vectors: Vectors, weights: NDArray[np.float64], token_cost: float, /
    ) -> str | None:
        """The chosen members, quoted."""
        chosen = extractive_summary.select_sentences(vectors, weights, token_costs(sources, token_cost))
        return quote([sources[place] for place in chosen])


def token_costs(sources: Sequence[Node], token_cost: float) -> NDArray[np.float64]:
    """The cost of quoting each source: Comp of equation 6 as its tokens, times lambda."""
    return np.array([token_cost * max(1, estimate_tokens(node.text)) for node in sources])


def quote(sources: Sequence[Node]) -> str:
    """Memories in order of time, one line each, with the speaker."""
    ordered = sorted(sources, key=lambda node: (node.happened_at, node.seq))
    return "\n".join(node.text if node.speaker is None else f"{node.speaker}: {node.text}" for node in ordered)


def insight_node(text: str, sources: Sequence[Node], now: datetime, level: int = 1) -> Node:
    """The insight node of some memories, or of insights of the level below; it happened when the last of them did."""
    last = max(node.happened_at for node in sources)
    metadata = {"level": level, "sources": len(sources)}
    return Node(insight_id(node.id for node in sources), Kind.INSIGHT, text, last, now, metadata=metadata)


def insight_id(sources: Iterable[NodeId]) -> NodeId:
    """The id of the insight over some nodes; it depends on their ids alone, not on text or time."""
    return content_id(*sorted(sources), prefix=INSIGHT_PREFIX)
