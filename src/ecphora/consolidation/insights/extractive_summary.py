"""Extractive summaries: without a language model a cluster is summarized by quoting its members.

Cognitive Weave, Algorithm 1. Its equation 6 is the objective: what a summary leaves unsaid, and its cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...language.scripts import estimate_tokens
from ...model.types import Node, Vectors

Floats = NDArray[np.float64]


def objective(sentence_vectors: Vectors, source_vectors: Vectors, weights: Floats, cost: float) -> float:
    """Equation 6 made computable: L = - sum_i w_i max_s cos(s, i) + cost, over the sentences s of a summary.

    ``source_vectors`` has the unit vectors of the sources, shape ``(sources, dim)``, ``weights`` their w_i. ``cost`` is
    lambda Comp: the tokens of the summary, times the cost of a token.
    """
    if not len(sentence_vectors):
        return cost
    relevance = np.maximum(0, source_vectors @ sentence_vectors.T).max(axis=1)
    return float(-(weights * relevance).sum() + cost)


def token_costs(sources: Sequence[Node], token_cost: float) -> Floats:
    """The cost of quoting each source: Comp of equation 6 as its tokens, times lambda."""
    return np.array([token_cost * max(1, estimate_tokens(node.text)) for node in sources])


@dataclass(frozen=True, slots=True)
class ExtractiveSummarizer:
    """A ``Summarizer`` that quotes the members that cover most of a cluster for their length."""

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
