"""Extractive summaries: without a language model a cluster is summarized by quoting its members. Algorithm 1, eq. 6."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...model import Node, Vectors
from .synthesis_objective import Floats, token_costs


@dataclass(frozen=True, slots=True)
class ExtractiveSummarizer:
    """A :class:`~ecphora.ports.Summarizer` that quotes the members that cover most of a cluster for their length."""

    def summarize(self, sources: Sequence[Node], vectors: Vectors, weights: Floats, token_cost: float, /) -> str | None:
        """The chosen members, quoted."""
        chosen = select_sentences(vectors, weights, token_costs(sources, token_cost))
        return quote([sources[place] for place in chosen])


def select_sentences(vectors: Vectors, weights: Floats, costs: Floats) -> list[int]:
    """The indices of the chosen sources, ascending: greedy on the gain of ``objective`` per cost.

    Facility location minus a linear cost: sources are added while a gain is positive; at least one is chosen.
    """
    similar = np.maximum(0, vectors @ vectors.T).astype(np.float64)
    covered = np.zeros(len(vectors))
    chosen: list[int] = []
    while len(chosen) < len(vectors):
        gains = (weights[:, None] * np.maximum(0, similar - covered[:, None])).sum(axis=0) - costs
        gains[chosen] = -np.inf
        best = int(np.argmax(gains / costs))
        if gains[best] <= 0 and chosen:
            break
        chosen.append(best)
        covered = np.maximum(covered, similar[:, best])
    return sorted(chosen)


def quote(sources: Sequence[Node]) -> str:
    """Memories in order of time, one line each, with the speaker."""
    ordered = sorted(sources, key=lambda node: (node.happened_at, node.seq))
    return "\n".join(node.text if node.speaker is None else f"{node.speaker}: {node.text}" for node in ordered)
