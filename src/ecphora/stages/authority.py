"""Who may end what somebody said: nobody of less trust, and of what somebody said of themselves nobody else."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Voice:
    """Who says something, None where that is not known, with which trust in 0..1.

    ``own`` says that it is of the speaker's own self.
    """

    speaker: str | None
    trust: float = 1.0
    own: bool = False


def may_end(later: Voice, earlier: Voice) -> bool:
    """Whether what one says can end what another said before, if it is found to replace it.

    Speakers are one if their names are equal to the letter. An unknown one ends only what an unknown one said.
    """
    if is_below(later.trust, earlier.trust):
        return False
    return later.speaker == earlier.speaker or (later.speaker is not None and not earlier.own)


def is_below(trust: float, other: float) -> bool:
    """Whether a trust is lower than another, in the precision in which a graph holds them."""
    return bool(np.float32(trust) < np.float32(other))
