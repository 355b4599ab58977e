"""The update scorer for other languages than English: a transformer over the token states of two texts.

It is of the same kind as the built-in reader (:mod:`ecphora.embedders.e5.interaction_head`), with another head, which
``scripts/train_multilingual_updates.py`` trains on texts that were written for this project.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.resources.abc import Traversable

import numpy as np
from numpy.typing import NDArray

from ..embedders.e5.e5_network import share_network
from ..embedders.e5.interaction_head import InteractionHead, TokenStates, encode_passage
from ..embedders.shared_model import SharedModel
from ..reprs import call_repr

KEPT_TEXTS = 256
"""How many texts' token states a scorer keeps, about 60 kB each."""

HEAD_FILE = "update_scorer.onnx"
HEAD_DIGEST = "4ace346bbf80b4a3b9b78ef6d3b193c84dd285d1214278dfa7d7aac8908f8d05"
"""SHA-256 of the head's file; ``scripts/train_multilingual_updates.py`` prints that of a new one."""


class LateInteractionUpdateScorer:
    """Scores whether a later text updates an earlier one, in about 100 languages; some milliseconds for a new text.

    The constructor is cheap; the first ``score`` loads the model, once per process and shared with
    :class:`~ecphora.embedders.e5.e5_embedder.E5Embedder`. ``source`` is the folder of its files, by default that of the
    package. Safe to share between threads, and in a forked child.
    """

    name = "multilingual-e5-small/changes"

    def __init__(self, *, source: Traversable | None = None) -> None:
        self._network = share_network(source)
        self._head = SharedModel((HEAD_FILE, HEAD_DIGEST), lambda: InteractionHead.load(HEAD_FILE, HEAD_DIGEST))
        self._states_of = lru_cache(KEPT_TEXTS)(self._encode)

    def __repr__(self) -> str:
        return call_repr("LateInteractionUpdateScorer")

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        """Return the log-odds that the later text updates the earlier, for pairs (earlier, later), in their order.

        Only the first 120 tokens of a text are read. Raises ``ModelDamaged`` if a file of the model is missing or
        differs from the published one.
        """
        if not pairs:
            return np.zeros(0)
        head = self._head()

        def score(pair: tuple[str, str]) -> float:
            return head.score(*map(self._states_of, pair))

        with ThreadPoolExecutor(min(4, os.cpu_count() or 1, len(pairs)), "ecphora-update") as pool:
            return np.fromiter(pool.map(score, pairs), np.float64, len(pairs))

    def _encode(self, text: str) -> TokenStates:
        return encode_passage(self._network(), text)
