"""The events of a streamed recall, in their order: the candidates, the ranked hits, and the end."""

from dataclasses import dataclass

from .model import Hit
from .recollection import Recollection
from .reprs import ShortRepr


@dataclass(frozen=True, slots=True, repr=False)
class CandidatesFound(ShortRepr):
    """What the recall would return if no reader read the candidates, best first. Comes before anything is read."""

    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True, repr=False)
class HitsRanked(ShortRepr):
    """The hits of the recall, best first. If nothing was read, they are those of :class:`CandidatesFound`."""

    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True, repr=False)
class RecallEnd(ShortRepr):
    """The end of the recall, with all that :meth:`ecphora.Memory.recall` returns: hits, evidence and cost."""

    recollection: Recollection


RecallEvent = CandidatesFound | HitsRanked | RecallEnd
"""An event of a streamed recall."""
