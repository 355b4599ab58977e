"""Generative summaries: a language model's text over a cluster is taken only if it is better than quotes.

Better means a smaller L of equation 6 than the extractive summary has, and a source for every sentence
(:mod:`.hallucination_guard`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...language.scripts import estimate_tokens
from ...model.types import Node, Vectors
from . import hallucination_guard
from .extractive_summary import Floats, objective

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
        sentences = hallucination_guard.sentences(text)
        if not sentences:
            return False
        vectors = self.embed(sentences)
        if not hallucination_guard.has_support(vectors, source_vectors, min_cosine, self.similarity_floor):
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
