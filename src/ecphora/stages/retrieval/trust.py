"""Who may supersede a statement: nobody of less trust, and nobody else if the speaker said it of themselves."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Attribution:
    """The speaker of a statement, None if unknown, and their trust in 0..1.

    ``is_about_self`` is True for a statement about the speaker.
    """

    speaker: str | None
    trust: float = 1.0
    is_about_self: bool = False


def may_supersede(later: Attribution, earlier: Attribution) -> bool:
    """Whether a later statement may supersede an earlier one, if it is found to replace it.

    Speakers are the same if their names are equal to the letter. An unknown speaker may supersede only an unknown one.
    """
    if has_less_trust(later.trust, earlier.trust):
        return False
    return later.speaker == earlier.speaker or (later.speaker is not None and not earlier.is_about_self)


def has_less_trust(trust: float, other: float) -> bool:
    """Whether ``trust`` is lower than ``other`` in the float32 precision of the graph."""
    return bool(np.float32(trust) < np.float32(other))
