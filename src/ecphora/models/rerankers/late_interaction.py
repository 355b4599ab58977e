"""The built-in reranker: a small transformer over the token codes of a question and of a memory.

multilingual-e5-small encodes the question and the memory apart, as for embedding them; a head of two layers then lets
their tokens attend to each other and scores whether the memory answers the question
(:mod:`ecphora.models.embedders.token_codes`). So the tokens of a memory are encoded once, when it is stored,
and kept with it. ``training/train_reader.py`` trains the head on texts that were written for this project. The best
memories are read again by a cross-encoder (:mod:`.e5_cross_encoder`).
"""

import math
from collections.abc import Sequence
from datetime import date
from importlib.resources.abc import Traversable

import numpy as np
from numpy.typing import NDArray

from ...errors import EmbedderUnavailable, InvalidInput, ModelDamaged, RerankerUnavailable
from ...model.ports import Passage, PassageCodes
from ...model.reprs import call_repr
from ..embedders.e5 import PASSAGE_PREFIX, QUERY_PREFIX, E5Network, share_network
from ..embedders.onnx_runtime import SharedModel
from ..embedders.token_codes import InteractionHead, TokenStates
from .e5_cross_encoder import E5CrossEncoder

MAX_QUESTION_TOKENS = 48
"""How many tokens of a question are read, the first ones."""
MAX_READ_TOKENS = 384
"""How many tokens of passages a recall reads, but at least one passage: the work does not grow with texts."""
SUM_SHARE = 0.65
"""The share of the sum of two log-odds that is taken: more than their mean, as what one errs in the other may know;
with it the log-odds of memories read by one model and by several have the same scale."""

HEAD_FILE = "reranker.onnx"
HEAD_DIGEST = "494654cbf4cf60740d7b0a3bad192aa7614c54774e0fdce949772186177e4d46"
"""SHA-256 of the head's file; ``training/train_reader.py`` prints it for a new file."""


class LateInteractionReranker:
    """The built-in reranker, for about 100 languages; less than a millisecond for a short memory that is encoded.

    The constructor is cheap; the first ``score`` loads the model, once per process and shared with
    :class:`~ecphora.models.embedders.e5.E5Embedder`. ``source`` is the folder of that model's files, by
    default the package's. Safe to share between threads, and in a forked child.
    """

    name = "ecphora/late-interaction"
    code_model = "e5/1"
    batch_size = 24
    rescore_batch_size = 2

    def __init__(self, *, source: Traversable | None = None) -> None:
        self._network = share_network(source)
        self._cross_encoder = E5CrossEncoder(source=source)
        self._head = SharedModel((HEAD_FILE, HEAD_DIGEST), lambda: InteractionHead.load(HEAD_FILE, HEAD_DIGEST))

    def __repr__(self) -> str:
        return call_repr("LateInteractionReranker")

    def encode(self, texts: Sequence[str], /) -> list[bytes]:
        """The token codes of texts, each encoded alone.

        The codes of a text that was just embedded take no time. Raises ``RerankerUnavailable`` if a file of the model
        is missing or damaged.
        """
        try:
            network = self._network()
            return [network.token_codes(PASSAGE_PREFIX + text) for text in texts]
        except (ModelDamaged, EmbedderUnavailable) as error:
            raise RerankerUnavailable(str(error)) from error

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Log-odds that each passage answers the question.

        Raises ``RerankerUnavailable`` if a file of a model is missing or damaged.
        """
        del asked_on
        texts = list(dict.fromkeys(text for one in passages for text in (one.own_text, one.previous_turn)))
        codes = dict(zip(texts, self.encode(texts), strict=True))
        pairs = [
            PassageCodes(codes[one.own_text], codes[one.previous_turn] if one.previous_turn else b"")
            for one in passages
        ]
        return self._score(question, pairs, math.inf)

    def score_codes(self, question: str, passages: Sequence[PassageCodes], /) -> NDArray[np.float64]:
        """Log-odds as by ``score``, from the token codes of passages and of the turns before them, best first.

        Passages after the first :data:`MAX_READ_TOKENS` tokens are not read; they have NaN.
        """
        return self._score(question, passages, MAX_READ_TOKENS)

    def _score(self, question: str, passages: Sequence[PassageCodes], max_tokens: float) -> NDArray[np.float64]:
        log_odds = np.full(len(passages), np.nan)
        if not passages:
            return log_odds
        try:
            head, asked = self._head(), encode_question(self._network(), question)
        except (ModelDamaged, EmbedderUnavailable) as error:
            raise RerankerUnavailable(str(error)) from error
        token_count = 0
        for place, codes in enumerate(passages):
            try:
                states = TokenStates.from_codes(asked, codes.own, codes.previous_turn)
            except InvalidInput as error:  # the file is damaged
                raise RerankerUnavailable(str(error)) from error
            token_count += len(states.rows)
            if place and token_count > max_tokens:
                break
            log_odds[place] = head.score(asked, states)
        return log_odds

    def rescore(
        self, question: str, passages: Sequence[Passage], log_odds: NDArray[np.float64], /, *, asked_on: date
    ) -> NDArray[np.float64]:
        """Log-odds from ``log_odds``, the result of ``score``, and from a cross-encoder.

        A passage that is too long for the cross-encoder keeps its log-odds. Raises ``RerankerUnavailable`` if a file of
        the model is missing or damaged.
        """
        try:
            found = self._cross_encoder.score(question, passages, asked_on=asked_on)
        except (ModelDamaged, EmbedderUnavailable) as error:
            raise RerankerUnavailable(str(error)) from error
        return combine_log_odds(log_odds, found)


def combine_log_odds(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The log-odds by two models together; ``second`` may have NaN."""
    found: NDArray[np.float64] = np.where(np.isnan(second), first, SUM_SHARE * (first + second))
    return found


def encode_question(network: E5Network, question: str) -> TokenStates:
    """The components of a question's first tokens, with the special ones and the prefix."""
    rows = network.token_components(QUERY_PREFIX + question)[:MAX_QUESTION_TOKENS]
    return TokenStates(rows, np.zeros(len(rows), np.bool_))
