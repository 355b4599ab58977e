"""The built-in update scorer: a cross-encoder over two texts, in about 100 languages.

The first layers of multilingual-e5-small with low-rank adapters (:mod:`ecphora.models.embedders.pair_scoring`),
which ``training/train_update_scorer.py`` trains on texts that were written for this project.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import numpy as np
from numpy.typing import NDArray

from ..model.reprs import call_repr
from ..model.text_format import replace_surrogates
from .embedders import onnx_runtime
from .embedders.e5 import E5Network, share_network
from .embedders.onnx_runtime import REPAIR_HINT, SharedModel
from .embedders.pair_scoring import PairAdapters, PairTokens, join_texts

MAX_TOKENS = 96
"""How many tokens of each text are read."""
KEPT_PAIRS = 1_024
"""How many pairs' scores a scorer keeps: a recall often compares the memories of the one before."""

ADAPTERS_FILE = "update_adapters.npz"
ADAPTERS_DIGEST = "cc80dc574dd78ace8931ce27ec6c673200cc89565c68377abd167db100507341"
"""SHA-256 of the adapters' file; ``training/train_update_scorer.py`` prints it for a new file."""


class E5UpdateScorer:
    """Scores whether a later text updates an earlier one; about 15 ms for two short texts.

    The constructor is cheap; the first ``score`` loads the model, once per process and shared with
    :class:`~ecphora.models.embedders.e5.E5Embedder`. ``source`` is the folder of its files, by default the
    package's. It keeps the scores of the last ``KEPT_PAIRS`` pairs. Safe to share between threads, and in a forked
    child.
    """

    name = "multilingual-e5-small/updates"

    def __init__(self, *, source: Traversable | None = None) -> None:
        self._network = share_network(source)
        self._adapters = SharedModel((ADAPTERS_FILE, ADAPTERS_DIGEST), _load_adapters)
        self._score_of = lru_cache(KEPT_PAIRS)(self._score)

    def __repr__(self) -> str:
        return call_repr("E5UpdateScorer")

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        """Return the log-odds that the later text updates the earlier, for pairs (earlier, later), in their order.

        Raises ``ModelDamaged`` if a file of the model is missing or differs from the published one.
        """
        if not pairs:
            return np.zeros(0)
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1, len(pairs)), "ecphora-update") as pool:
            return np.fromiter(pool.map(self._score_of, pairs), np.float64, len(pairs))

    def _score(self, pair: tuple[str, str]) -> float:
        network = self._network()
        return self._adapters().score_pair(network, pair_tokens(network, *pair))


def _load_adapters() -> PairAdapters:
    digests = {ADAPTERS_FILE: ADAPTERS_DIGEST}
    return PairAdapters.from_bytes(
        onnx_runtime.read_verified(files("ecphora.models") / "weights", digests, REPAIR_HINT)[0]
    )


def pair_tokens(network: E5Network, earlier: str, later: str) -> PairTokens:
    """Return the first ``MAX_TOKENS`` tokens of two texts, as the scorer reads them."""
    first, second = (network.tokenize(replace_surrogates(text), MAX_TOKENS) for text in (earlier, later))
    return join_texts(network, first, second)
