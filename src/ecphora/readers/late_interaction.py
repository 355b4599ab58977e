"""The built-in reader: a small transformer over the token states of a question and of a memory.

multilingual-e5-small encodes the question and the memory apart, as for embedding them; a head of two layers then lets
their tokens attend to each other and scores whether the memory answers the question. So the states of a memory can be
kept for the next question. ``scripts/interaction_graph.py`` has the equations of the head, ``scripts/train_reader.py``
trains it on texts that were written for this project.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import numpy as np
from numpy.typing import NDArray

from ..embedders import onnx_runtime
from ..embedders.e5.e5_embedder import PASSAGE_PREFIX, QUERY_PREFIX
from ..embedders.e5.e5_network import E5Network, share_network
from ..embedders.encoder_network import REPAIR_HINT
from ..embedders.shared_model import SharedModel
from ..errors import EmbedderUnavailable, ModelDamaged, ReaderUnavailable
from ..invisible_chars import replace_surrogates
from ..model import Mask, Vectors
from ..ports import Passage
from ..reprs import call_repr

MAX_QUESTION_TOKENS, MAX_CONTEXT_TOKENS, MAX_TEXT_TOKENS = 44, 24, 120
"""How many tokens are read: the first of the question and of the memory, the last of the turn before it."""
PREVIOUS_TURN_LENGTH = 400
"""How many characters of the turn before are tokenized."""
KEPT_PASSAGES = 256
"""How many memories' token states a reader keeps, about 60 kB each."""

HEAD_FILE = "reader.onnx"
HEAD_DIGEST = "1254e306e4b968117c04749abcff70632ecdf1b9c2087b3a7e40631b65f3f3fe"
"""SHA-256 of the head's file; ``scripts/train_reader.py`` prints that of a new one."""

Half = NDArray[np.float16]


class LateInteractionReader:
    """The built-in reader, for about 100 languages; some milliseconds a memory, fewer if it was read lately.

    The constructor is cheap; the first ``read`` loads the model, once per process and shared with
    :class:`~ecphora.embedders.e5.e5_embedder.E5Embedder`. ``source`` is the folder of its files, by default that of the
    package. Safe to share between threads, and in a forked child.
    """

    name = "ecphora/late-interaction"
    batch_size = 8

    def __init__(self, *, source: Traversable | None = None) -> None:
        self._network = share_network(source)
        self._head = SharedModel(("reader", self.name), InteractionHead.load)
        self._states_of = lru_cache(KEPT_PASSAGES)(self._encode)

    def __repr__(self) -> str:
        return call_repr("LateInteractionReader")

    def read(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Log-odds that each passage answers the question.

        Raises ``ReaderUnavailable`` if a file of the model is missing or damaged.
        """
        if not passages:
            return np.zeros(0)
        try:
            network, head = self._network(), self._head()
        except (ModelDamaged, EmbedderUnavailable) as error:
            raise ReaderUnavailable(str(error)) from error
        asked = network.hidden_states(question_tokens(network, question, asked_on))

        def score(passage: Passage) -> float:
            return head.score(asked, *self._states_of(passage))

        with ThreadPoolExecutor(min(4, os.cpu_count() or 1, len(passages)), "ecphora-read") as pool:
            return np.fromiter(pool.map(score, passages), np.float64, len(passages))

    def _encode(self, passage: Passage) -> tuple[Half, Mask]:
        network = self._network()
        tokens, is_context = passage_tokens(network, passage)
        return network.hidden_states(tokens).astype(np.float16), is_context


class InteractionHead:
    """The head: scores token states. ``graph`` is the ONNX graph that ``scripts/interaction_graph.py`` makes."""

    def __init__(self, graph: bytes) -> None:
        self._session = onnx_runtime.inference_session(graph)

    @staticmethod
    def load() -> "InteractionHead":
        """Load the head of the package; raises ``ModelDamaged`` if its file is missing or another."""
        source = files("ecphora.weights")
        return InteractionHead(onnx_runtime.read_verified(source, {HEAD_FILE: HEAD_DIGEST}, REPAIR_HINT)[0])

    def score(self, question: Vectors | Half, passage: Vectors | Half, is_context: Mask) -> float:
        """Return the log-odds that a passage answers a question.

        ``question`` and ``passage`` are token states, shape ``(tokens, 384)``; ``is_context`` says which tokens of the
        passage are not of the memory's own text.
        """
        inputs = {"question": question, "passage": passage, "is_text": ~is_context}
        found = self._session.run(None, {name: np.asarray(value, np.float32) for name, value in inputs.items()})
        return float(found[0][0, 0])


def question_tokens(network: E5Network, question: str, asked_on: date) -> list[int]:
    """The tokens of a question with its day, as the encoder gets them."""
    text = replace_surrogates(f"{QUERY_PREFIX}{asked_on.isoformat()} {question}")
    return [network.first_token, *network.tokenize(text, MAX_QUESTION_TOKENS), network.last_token]


def passage_tokens(network: E5Network, passage: Passage) -> tuple[list[int], Mask]:
    """The tokens of a memory after the turn before it, as the encoder gets them; the mask says which are context."""
    previous = replace_surrogates(passage.previous_turn[-PREVIOUS_TURN_LENGTH:])
    context = network.tokenize(previous, PREVIOUS_TURN_LENGTH)[-MAX_CONTEXT_TOKENS:] if previous else []
    if context:
        context = [*context, network.last_token]
    head = [network.first_token, *network.tokenize(PASSAGE_PREFIX, MAX_CONTEXT_TOKENS), *context]
    text = network.tokenize(replace_surrogates(passage.statement), MAX_TEXT_TOKENS)
    tokens = [*head, *text, network.last_token]
    return tokens, np.arange(len(tokens)) < len(head)


DEFAULT_READER = LateInteractionReader()
"""A placeholder for the reader that each memory makes for itself; never called, so it never loads the model."""
