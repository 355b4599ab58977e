"""The built-in reader: a small transformer over the token states of a question and of a memory.

multilingual-e5-small encodes the question and the memory apart, as for embedding them; a head of two layers then lets
their tokens attend to each other and scores whether the memory answers the question
(:mod:`ecphora.embedders.e5.interaction_head`). So the states of a memory can be kept for the next question.
``scripts/train_reader.py`` trains the head on texts that were written for this project. English memories are also read
by a cross-encoder (:mod:`.minilm_cross_encoder`), and the best of all languages again by another one
(:mod:`.e5_cross_encoder`).
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import lru_cache
from importlib.resources.abc import Traversable

import numpy as np
from numpy.typing import NDArray

from ..embedders.e5.e5_embedder import QUERY_PREFIX
from ..embedders.e5.e5_network import E5Network, share_network
from ..embedders.e5.interaction_head import InteractionHead, TokenStates, encode_passage
from ..embedders.shared_model import SharedModel
from ..errors import EmbedderUnavailable, ModelDamaged, ReaderUnavailable
from ..invisible_chars import replace_surrogates
from ..ports import Passage
from ..reprs import call_repr
from .e5_cross_encoder import E5CrossEncoder
from .minilm_cross_encoder import MiniLMCrossEncoder

MAX_QUESTION_TOKENS = 44
"""How many tokens of a question are read, the first ones."""
SUM_SHARE = 0.65
"""The share of the sum of two log-odds that is taken: more than their mean, as what one errs in the other may know;
with it the log-odds of memories read by one model and by several have the same scale."""
KEPT_PASSAGES = 256
"""How many memories' token states a reader keeps, about 60 kB each."""
KEPT_QUESTIONS = 16
"""How many questions' token states a reader keeps: a recall reads its candidates in several batches."""

HEAD_FILE = "reader.onnx"
HEAD_DIGEST = "4347550d0dc484819ce681bbcf014cddf42dc85bae8ff17cbac967e010612570"
"""SHA-256 of the head's file; ``scripts/train_reader.py`` prints that of a new one."""


class LateInteractionReader:
    """The built-in reader, for about 100 languages; some milliseconds a memory, fewer if it was read lately.

    The constructor is cheap; the first ``read`` loads the model, once per process and shared with
    :class:`~ecphora.embedders.e5.e5_embedder.E5Embedder`. ``source`` is the folder of that
    model's files, by default that of the package. Safe to share between threads, and in a forked child.
    """

    name = "ecphora/late-interaction"
    batch_size = 6
    reread_batch_size = 2

    def __init__(self, *, source: Traversable | None = None) -> None:
        self._network = share_network(source)
        self._cross_encoder = E5CrossEncoder(source=source)
        self._english_cross_encoder = MiniLMCrossEncoder()
        self._head = SharedModel((HEAD_FILE, HEAD_DIGEST), lambda: InteractionHead.load(HEAD_FILE, HEAD_DIGEST))
        self._states_of = lru_cache(KEPT_PASSAGES)(self._encode)
        self._question_states = lru_cache(KEPT_QUESTIONS)(self._encode_question)

    def __repr__(self) -> str:
        return call_repr("LateInteractionReader")

    def read(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Log-odds that each passage answers the question, for English ones from both models that read them.

        Raises ``ReaderUnavailable`` if a file of a model is missing or damaged.
        """
        if not passages:
            return np.zeros(0)
        try:
            head = self._head()
            self._network()
        except (ModelDamaged, EmbedderUnavailable) as error:
            raise ReaderUnavailable(str(error)) from error
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1, len(passages) + 1), "ecphora-read") as pool:
            asked = pool.submit(self._question_states, question, asked_on)

            def score(passage: Passage) -> float:
                states = self._states_of(passage)  # does not wait for the question
                return head.score(asked.result(), states)

            apart = np.fromiter(pool.map(score, passages), np.float64, len(passages))
        return self._add(apart, self._english_cross_encoder, question, passages, asked_on)

    def reread(
        self, question: str, passages: Sequence[Passage], log_odds: NDArray[np.float64], /, *, asked_on: date
    ) -> NDArray[np.float64]:
        """Log-odds from those of ``read``, which are ``log_odds``, and of a cross-encoder for all languages.

        Those of a passage that is too long for the cross-encoder stay. Raises ``ReaderUnavailable`` if a file of the
        model is missing or damaged.
        """
        return self._add(log_odds, self._cross_encoder, question, passages, asked_on)

    def _add(
        self,
        log_odds: NDArray[np.float64],
        cross_encoder: E5CrossEncoder | MiniLMCrossEncoder,
        question: str,
        passages: Sequence[Passage],
        asked_on: date,
    ) -> NDArray[np.float64]:
        try:
            found = cross_encoder.score(question, passages, asked_on=asked_on)
        except (ModelDamaged, EmbedderUnavailable) as error:
            raise ReaderUnavailable(str(error)) from error
        return combine_log_odds(log_odds, found)

    def _encode(self, passage: Passage) -> TokenStates:
        return encode_passage(self._network(), passage.statement, passage.previous_turn)

    def _encode_question(self, question: str, asked_on: date) -> TokenStates:
        return encode_question(self._network(), question, asked_on)


def combine_log_odds(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The log-odds from those of two models, of which the second may be NaN."""
    found: NDArray[np.float64] = np.where(np.isnan(second), first, SUM_SHARE * (first + second))
    return found


def encode_question(network: E5Network, question: str, asked_on: date) -> TokenStates:
    """The token states of a question with its day."""
    tokens = question_tokens(network, question, asked_on)
    return TokenStates(network.middle_states(tokens).astype(np.float16), np.zeros(len(tokens), np.bool_))


def question_tokens(network: E5Network, question: str, asked_on: date) -> list[int]:
    """The tokens of a question with its day."""
    text = replace_surrogates(f"{QUERY_PREFIX}{asked_on.isoformat()} {question}")
    return [network.first_token, *network.tokenize(text, MAX_QUESTION_TOKENS), network.last_token]


DEFAULT_READER = LateInteractionReader()
"""A placeholder for the reader that each memory makes for itself; never called, so it never loads the model."""
