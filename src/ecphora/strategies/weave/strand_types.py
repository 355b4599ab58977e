"""The types of strands, Cognitive Weave 3.3.4, as recall follows them, and how strong each type is."""

from dataclasses import astuple, dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ...model.types import Link


class StrandType(StrEnum):
    """What joins two particles.

    ``TEMPORAL``: one turn follows the other in a session or document. ``CAUSAL``: one states the cause of the other.
    ``THEMATIC``: both mention a rare name. ``DERIVED``: one is an insight over the other. ``ASSOCIATION``: they are
    similar. The others are relations that an extractor found.
    """

    TEMPORAL = "temporal"
    CAUSAL = "causal"
    THEMATIC = "thematic"
    DERIVED = "derived"
    ASSOCIATION = "association"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    ELABORATES = "elaborates"
    PRECEDES = "precedes"


TYPES = tuple(StrandType)
"""Every type; its position is its code in arrays."""
TYPE_CODES = {type_: code for code, type_ in enumerate(TYPES)}
STORED_LINKS = {
    StrandType.CAUSAL: Link.CAUSES,
    StrandType.DERIVED: Link.DERIVED_FROM,
    StrandType.ASSOCIATION: Link.ASSOCIATION,
    StrandType.SUPPORTS: Link.SUPPORTS,
    StrandType.CONTRADICTS: Link.CONTRADICTS,
    StrandType.ELABORATES: Link.ELABORATES,
    StrandType.PRECEDES: Link.PRECEDES,
}
"""The types that are stored, and their links. Temporal and thematic strands follow from order and mentions."""


@dataclass(frozen=True, slots=True)
class TypeWeights:
    """The factor of each type of strand, in the order of :data:`TYPES`; 0 does not follow it. All inferred.

    Only an extractor finds the last four, and none of our measurements has one: they weigh what the others do on
    average.
    """

    temporal: float = 0.5
    causal: float = 0.5
    thematic: float = 1.0
    derived: float = 1.0
    association: float = 0.0
    supports: float = 0.75
    contradicts: float = 0.75
    elaborates: float = 0.75
    precedes: float = 0.75

    def factors(self, *, is_typed: bool) -> NDArray[np.float32]:
        """The factor of each type; untyped, every followed type has the mean factor of the followed types."""
        weights = np.array(astuple(self), np.float32)
        is_followed = weights > 0
        if is_typed or not is_followed.any():
            return weights
        return np.where(is_followed, weights[is_followed].mean(), np.float32(0))
