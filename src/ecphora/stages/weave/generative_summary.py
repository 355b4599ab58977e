"""Generative summaries: a language model's text over a cluster is taken only if it is better than quotes.

Better is a smaller L of equation 6 than that of the extractive summary, and a source for every sentence
(:mod:`.hallucination_guard`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...language.token_count import estimate_tokens
from ...model import Node, Vectors
from .synthesis_objective import Floats, objective


@dataclass(frozen=True, slots=True)
class InsightWriter:
    """A language model that summarizes memories: ``write`` may return None, ``embed`` embeds texts.

    ``similarity_floor`` is the embedder's cosine of two unrelated texts.
    """

    write: Callable[[Sequence[Node]], str | None]
    embed: Callable[[Sequence[str]], Vectors]
    similarity_floor: float = 0.0


def is_better(
    text: str,
    sentence_vectors: Vectors,
    source_vectors: Vectors,
    weights: Floats,
    *,
    token_cost: float,
    extractive_objective: float,
) -> bool:
    """Whether the L of a language model's text is smaller than that of the extractive summary of the same sources."""
    cost = token_cost * estimate_tokens(text)
    return objective(sentence_vectors, source_vectors, weights, cost) < extractive_objective
