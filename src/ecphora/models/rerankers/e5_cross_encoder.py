"""A cross-encoder over a question and a memory, in about 100 languages.

The first layers of multilingual-e5-small with low-rank adapters (:mod:`ecphora.models.embedders.pair_scoring`) read
both texts together, as in Rodrigo Nogueira and Kyunghyun Cho, "Passage Re-ranking with BERT", 2019, arXiv:1901.04085.
``training/train_cross_encoder.py`` trains them on texts that were written for this project.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable

import numpy as np
from numpy.typing import NDArray

from ...model.ports import Passage
from ...model.reprs import call_repr
from ...model.text_format import replace_surrogates
from ..embedders import onnx_runtime
from ..embedders.e5 import E5Network, share_network
from ..embedders.onnx_runtime import REPAIR_HINT, SharedModel
from ..embedders.pair_scoring import PairAdapters, PairTokens, join_texts

MAX_QUESTION_TOKENS, MAX_TEXT_TOKENS, MAX_CONTEXT_TOKENS = 44, 112, 32
"""How many tokens of the question and of the turn before are read, and the most that a memory may have."""

ADAPTERS_FILE = "reranker_adapters.npz"
ADAPTERS_DIGEST = "8be6e484687de1033a36d5690f78ff6636f3f4c02917d9c875d05d3b71774169"
"""SHA-256 of the adapters' file; ``training/train_cross_encoder.py`` prints it for a new file."""


class E5CrossEncoder:
    """Scores whether a memory answers a question; about 20 ms for a short memory, on one core.

    The constructor is cheap; the first ``score`` loads the model, once per process and shared with
    :class:`~ecphora.models.embedders.e5.E5Embedder`. ``source`` is the folder of its files, by default the
    package's. Safe to share between threads, and in a forked child.
    """

    def __init__(self, *, source: Traversable | None = None) -> None:
        self._network = share_network(source)
        self._adapters = SharedModel((ADAPTERS_FILE, ADAPTERS_DIGEST), _load_adapters)

    def __repr__(self) -> str:
        return call_repr("E5CrossEncoder")

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Log-odds that each passage answers, shape ``(len(passages),)``, NaN for a passage that is too long.

        Raises ``ModelDamaged`` if a file of the model is missing or differs from the published one.
        """
        if not passages:
            return np.zeros(0)
        network = self._network()
        asked = question_tokens(network, question, asked_on)
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1, len(passages)), "ecphora-rescore") as pool:
            return np.fromiter(pool.map(partial(self._score, network, asked), passages), np.float64, len(passages))

    def _score(self, network: E5Network, asked: Sequence[int], passage: Passage) -> float:
        pair = pair_tokens(network, asked, passage)
        return np.nan if pair is None else self._adapters().score_pair(network, pair)


def _load_adapters() -> PairAdapters:
    digests = {ADAPTERS_FILE: ADAPTERS_DIGEST}
    return PairAdapters.from_bytes(
        onnx_runtime.read_verified(files("ecphora.models") / "weights", digests, REPAIR_HINT)[0]
    )


def question_tokens(network: E5Network, question: str, asked_on: date) -> list[int]:
    """The first tokens of a question with its day."""
    return network.tokenize(replace_surrogates(f"{asked_on.isoformat()} {question}"), MAX_QUESTION_TOKENS)


def pair_tokens(network: E5Network, asked: Sequence[int], passage: Passage) -> PairTokens | None:
    """The tokens of a question and a passage with the turn before, None for a passage that is too long."""
    own = network.tokenize(replace_surrogates(passage.statement), MAX_TEXT_TOKENS + 1)
    if len(own) > MAX_TEXT_TOKENS:
        return None
    before = network.tokenize(replace_surrogates(passage.previous_turn), MAX_CONTEXT_TOKENS)
    return join_texts(network, asked, own, before)
