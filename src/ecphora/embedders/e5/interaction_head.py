"""Heads over the token states of multilingual-e5-small, and the texts that they read.

The network encodes two texts apart, as for embedding them; a head, a small transformer, then lets their tokens attend
to each other and scores the pair. So the states of a text can be kept for the next pair. A head reads the states of the
ninth of twelve layers. ``scripts/interaction_graph.py`` has its equations.
"""

from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ...invisible_chars import replace_surrogates
from ...model import Mask, Vectors
from .. import onnx_runtime
from ..encoder_network import REPAIR_HINT
from .e5_embedder import PASSAGE_PREFIX
from .e5_network import E5Network

MAX_CONTEXT_TOKENS, MAX_TEXT_TOKENS = 24, 256
"""How many tokens are read: the last of the text before, and the first of the text itself."""
MAX_CONTEXT_CHARS = 400
"""How many characters of the text before are tokenized."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenStates:
    """The states of a text's tokens, shape ``(tokens, 384)``; ``is_context`` masks those before the text itself."""

    rows: NDArray[np.float16] | Vectors
    is_context: Mask


class InteractionHead:
    """Scores two texts by their token states. ``graph`` is an ONNX graph."""

    def __init__(self, graph: bytes) -> None:
        self._session = onnx_runtime.inference_session(graph)

    @staticmethod
    def load(name: str, digest: str) -> "InteractionHead":
        """Load a head of the package; raises ``ModelDamaged`` if its file is missing or has another SHA-256."""
        return InteractionHead(onnx_runtime.read_verified(files("ecphora.weights"), {name: digest}, REPAIR_HINT)[0])

    def score(self, first: TokenStates, second: TokenStates) -> float:
        """Return the log-odds of a pair of texts: of what the head was trained on, such as that the second answers."""
        inputs = {"question": first.rows, "passage": second.rows, "is_text": ~second.is_context}
        found = self._session.run(None, {name: np.asarray(value, np.float32) for name, value in inputs.items()})
        return float(found[0][0, 0])


def encode_passage(network: E5Network, text: str, previous: str = "") -> TokenStates:
    """Return the states of a text after the end of the one before it."""
    tokens, is_context = passage_tokens(network, text, previous)
    return TokenStates(network.middle_states(tokens).astype(np.float16), is_context)


def passage_tokens(network: E5Network, text: str, previous: str = "") -> tuple[list[int], Mask]:
    """Return the tokens of a text after the end of the one before it; the mask says which are context."""
    before = replace_surrogates(previous[-MAX_CONTEXT_CHARS:])
    context = network.tokenize(before, MAX_CONTEXT_CHARS)[-MAX_CONTEXT_TOKENS:] if before else []
    if context:
        context = [*context, network.last_token]
    head = [network.first_token, *network.tokenize(PASSAGE_PREFIX, MAX_CONTEXT_TOKENS), *context]
    own = network.tokenize(replace_surrogates(text), MAX_TEXT_TOKENS)
    tokens = [*head, *own, network.last_token]
    return tokens, np.arange(len(tokens)) < len(head)
