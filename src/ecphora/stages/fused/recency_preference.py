"""Whether a question asks for the present state of a matter or for a former one.

"Where does Ana live?" wants the newest statement that answers it, "Where did she live as a student?" an older one; for
"Who wrote the letter?" neither matters. A linear regression over the question's vector tells them apart, so in every
language of the embedder.
"""

from dataclasses import dataclass

import numpy as np

from ...language.question import is_current_state_question
from ...model import Query, Vector
from ...reprs import ShortRepr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecencyPreference(ShortRepr):
    """``weights`` of an embedder's vectors, shape ``(dim,)``, and a ``bias``."""

    bias: float
    weights: Vector

    def value(self, query: Query) -> float:
        """Whether the newest of several answers is meant, 1, or an older one, -1; 0 leaves it open."""
        if query.vector is None or query.vector.shape != self.weights.shape:
            return recency_preference_by_words(query)
        return self.value_of(query.vector)

    def value_of(self, vector: Vector) -> float:
        """The same for the vector of a question."""
        return float(np.clip(self.bias + float(vector @ self.weights), -1, 1))


def recency_preference_by_words(query: Query) -> float:
    """The same from words such as "now", for questions without a vector: 1, or 0 without such a word."""
    return float(is_current_state_question(query.text))
