"""The update scorer of the package: one model for English, another for all other languages."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..language.terms import is_english
from ..reprs import call_repr
from .late_interaction import LateInteractionUpdateScorer
from .minilm_lora import MiniLMUpdateScorer


class BuiltInUpdateScorer:
    """Scores English pairs with :class:`MiniLMUpdateScorer` and others with :class:`LateInteractionUpdateScorer`.

    The constructor is cheap; each model is loaded by the first pair that needs it. Safe to share between threads, and
    in a forked child.
    """

    name = f"{MiniLMUpdateScorer.name}+{LateInteractionUpdateScorer.name}"

    def __init__(self) -> None:
        self._english, self._others = MiniLMUpdateScorer(), LateInteractionUpdateScorer()

    def __repr__(self) -> str:
        return call_repr("BuiltInUpdateScorer")

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        """Return the log-odds that the later text updates the earlier, for pairs (earlier, later), in their order.

        Raises ``ModelDamaged`` if a file of a model is missing or differs from the published one.
        """
        log_odds = np.zeros(len(pairs))
        are_english = np.array([is_english(" ".join(pair)) for pair in pairs], np.bool_)
        for scorer, mask in ((self._english, are_english), (self._others, ~are_english)):
            log_odds[mask] = scorer.score([pairs[place] for place in np.flatnonzero(mask).tolist()])
        return log_odds
