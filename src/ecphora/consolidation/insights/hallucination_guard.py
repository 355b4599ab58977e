"""The guard against hallucinations in insights: every sentence of a language model needs a similar source."""

from ...model.lazy_pattern import lazy_pattern
from ...model.types import Vectors
from ...retrieval import dense

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
