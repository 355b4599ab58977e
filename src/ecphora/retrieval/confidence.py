"""Confidence that the recalled memories hold the answer, and its bands."""

from dataclasses import dataclass

import numpy as np

from ..errors import InvalidInput
from ..model.graph.graph import Graph
from ..model.reprs import ShortRepr, show
from ..model.types import Evidence, Query, Scores
from ..model.validation import check_number
from . import bm25, dense, speakers

TOP_HITS = 5
"""How many of the best memories the confidence is computed from."""
UNRELATED_COSINE, CLOSE_COSINE = 0.2, 0.7
"""Cosines of two unrelated texts and of two close ones, above the embedder's similarity floor; measured with MiniLM."""


@dataclass(frozen=True, slots=True, repr=False)
class EvidenceBands(ShortRepr):
    """The lowest confidences of the bands STRONG and WEAK; below both the band is NONE.

    Raises ``InvalidInput`` unless 0 ≤ ``weak`` ≤ ``strong`` ≤ 1.
    """

    strong: float = 0.6
    weak: float = 0.2

    def __post_init__(self) -> None:
        check_number("strong", self.strong, minimum=0, maximum=1)
        check_number("weak", self.weak, minimum=0, maximum=1)
        if self.weak > self.strong:
            raise InvalidInput(f"weak is {self.weak} and strong only {self.strong}; give a weak of at most strong")

    @classmethod
    def from_text(cls, text: str) -> "EvidenceBands":
        """Read the bands from a text: ``strong`` and ``weak`` with a comma between them, as in 0.7,0.3."""
        try:
            strong, weak = map(float, text.split(","))
        except ValueError:
            raise InvalidInput(
                f"the evidence bands are {show(text)}; give the lowest confidences of strong and of weak evidence, as "
                "in 0.7,0.3"
            ) from None
        return cls(strong, weak)

    def band(self, confidence: float) -> Evidence:
        """The answerability band of a confidence in 0..1."""
        if confidence >= self.strong:
            return Evidence.STRONG
        return Evidence.WEAK if confidence >= self.weak else Evidence.NONE

    def below_strong(self, confidence: float) -> float:
        """A confidence, lowered as far as necessary not to be strong."""
        return min(confidence, max(0.0, float(np.nextafter(self.strong, 0))))


DEFAULT_BANDS = EvidenceBands()
"""The bands of a memory that is not given others."""


def heuristic_confidence(graph: Graph, query: Query, scores: Scores, cosine: Scores, first_stage: Scores) -> float:
    """The confidence that the memory holds the answer, in 0..1; hand-set, not calibrated.

    The mean of two numbers: how close the best memories are by cosine, and how much of the query's terms they cover
    together with the turn before them. If the query names one speaker, only that speaker's turns count, and they count
    less the better another speaker's turns match: the same story may be told of somebody else. ``first_stage`` are
    scores divided by the best.
    """
    mask = graph.episodes & (scores > 0)
    named = speakers.named_speaker_scores(graph, query)
    speaker_fit = 1.0
    if named.any():
        mask &= named > 0
        speaker_fit = float(first_stage[mask].max(initial=0.0))
    rows = np.flatnonzero(mask)
    if not len(rows):
        return 0.0
    rows = rows[np.argsort(-scores[rows], kind="stable")][:TOP_HITS]
    previous = graph.previous_rows[rows]
    coverage = bm25.idf_coverage(graph, query)
    lexical = np.maximum(coverage[rows], np.where(previous >= 0, coverage[previous], 0)).max()
    best_cosine = dense.above_floor(cosine[rows], query.similarity_floor).max()
    closeness = (
        np.clip((best_cosine - UNRELATED_COSINE) / (CLOSE_COSINE - UNRELATED_COSINE), 0, 1) * query.embedder_coverage
    )
    return float(speaker_fit**2 * (lexical + closeness) / (1 + query.embedder_coverage))
