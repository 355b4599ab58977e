"""Summaries of clusters: quotes of their members, or a language model's text if that is better and has sources.

Cognitive Weave, Algorithm 1. Its equation 6 is the objective: what a summary leaves unsaid, and its cost. A language
model's text is better if its L of equation 6 is smaller than L of the quotes, and if every sentence has a
similar source.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...language.terms import estimate_tokens
from ...model.lazy import lazy_pattern
from ...model.types import Node, Vectors
from ...retrieval import dense

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


_SENTENCE = lazy_pattern(
    r"(?<!\b[A-Z]\.)(?<!\b[A-Z][a-z]\.)(?<!\bMrs\.)(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])[」』”）]*\s*|\n+"
)


def sentences(text: str) -> list[str]:
    """The sentences of a text that have a letter or a digit."""
    return [part for part in map(str.strip, _SENTENCE.split(text)) if any(map(str.isalnum, part))]


def has_support(
    sentence_vectors: Vectors, source_vectors: Vectors, min_cosine: float, similarity_floor: float = 0.0
) -> bool:
    """Whether every sentence has a source of cosine ``min_cosine`` or more.

    Cosines count from ``similarity_floor``, the embedder's cosine of two unrelated texts.
    """
    best_cosines = (source_vectors @ sentence_vectors.T).max(axis=0)
    return bool((dense.above_floor(best_cosines, similarity_floor) >= min_cosine).all())


MIN_SUPPORT_COSINE = 0.5
"""The cosine with a source that each sentence of a language model needs. Inferred, 5.8.3."""


@dataclass(frozen=True, slots=True)
class InsightWriter:
    """A language model that summarizes memories: ``write`` may return None, ``embed`` embeds texts.

    ``similarity_floor`` is the embedder's cosine of two unrelated texts.
    """

    write: Callable[[Sequence[Node]], str | None]
    embed: Callable[[Sequence[str]], Vectors]
    similarity_floor: float = 0.0

    def accepts(
        self,
        text: str,
        source_vectors: Vectors,
        weights: Floats,
        *,
        token_cost: float,
        extractive_objective: float,
        min_cosine: float = MIN_SUPPORT_COSINE,
        transform: Callable[[Vectors], Vectors] | None = None,
    ) -> bool:
        """Whether a written text has a source for each sentence and is better than quotes.

        ``transform`` maps vectors to the space in which ``extractive_objective`` was computed; None keeps them.
        """
        written = sentences(text)
        if not written:
            return False
        vectors = self.embed(written)
        if not has_support(vectors, source_vectors, min_cosine, self.similarity_floor):
            return False
        spaces = (vectors, source_vectors) if transform is None else (transform(vectors), transform(source_vectors))
        return is_better(text, *spaces, weights, token_cost=token_cost, extractive_objective=extractive_objective)


def is_better(
    text: str,
    sentence_vectors: Vectors,
    source_vectors: Vectors,
    weights: Floats,
    *,
    token_cost: float,
    extractive_objective: float,
) -> bool:
    """Whether the L of a language model's text is smaller than the L of the extractive summary of the same sources."""
    cost = token_cost * estimate_tokens(text)
    return objective(sentence_vectors, source_vectors, weights, cost) < extractive_objective
