"""Heads over the token codes of two texts.

multilingual-e5-small encodes each text apart, as for embedding it (:mod:`.token_codes`); a head, a small transformer,
then lets the tokens of both attend to each other and scores the pair. So the codes of a text can be kept for the next
pair. ``training/interaction_graph.py`` has the equations.
"""

from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ....model.types import Mask, Vectors
from .. import onnx_runtime
from ..encoder_network import REPAIR_HINT
from .token_codes import PACKED, decode

MAX_TEXT_TOKENS, WINDOW_STEP = 64, 32
"""How many tokens of a text are read. Of a longer text the part that matches the question best is read; parts begin at
multiples of the second number, and one is the end of the text."""
MAX_CONTEXT_TOKENS, CONTEXT_END = 24, 48
"""How many of the last tokens of the text before are read: as many as fit into the second number together with the
tokens of the text itself. A long text is understood without the text before."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenStates:
    """The components of a text's tokens, shape ``(tokens, 128)``; ``is_context`` masks the tokens before the text."""

    rows: Vectors
    is_context: Mask

    @staticmethod
    def from_codes(question: "TokenStates", own: bytes, context: bytes = b"") -> "TokenStates":
        """The states to compare with a question: of the last tokens of ``context`` and the tokens of ``own``."""
        count = min(MAX_CONTEXT_TOKENS, CONTEXT_END - len(own) // PACKED.itemsize, len(context) // PACKED.itemsize)
        if count <= 0:
            rows = best_part(question.rows, decode(own))
            return TokenStates(rows, np.zeros(len(rows), np.bool_))
        rows = decode(context[-count * PACKED.itemsize :] + own)
        return TokenStates(rows, np.arange(len(rows)) < count)


def best_part(question: Vectors, text: Vectors) -> Vectors:
    """The part of a text that matches a question best, by the mean of the highest cosine of each question token.

    The first of equal parts; the whole text if it has at most ``MAX_TEXT_TOKENS``.
    """
    if len(text) <= MAX_TEXT_TOKENS:
        return text
    lengths = np.linalg.norm(text, axis=1) + np.finfo(np.float32).tiny
    cosines = np.einsum("qd,td->tq", question / np.linalg.norm(question, axis=1, keepdims=True), text)
    cosines /= lengths[:, None]
    starts = [*range(0, len(text) - MAX_TEXT_TOKENS, WINDOW_STEP), len(text) - MAX_TEXT_TOKENS]
    matches = [cosines[start : start + MAX_TEXT_TOKENS].max(axis=0).mean() for start in starts]
    start = starts[int(np.argmax(matches))]
    return text[start : start + MAX_TEXT_TOKENS]


class InteractionHead:
    """Scores two texts by their token states. ``graph`` is an ONNX graph."""

    def __init__(self, graph: bytes) -> None:
        self._session = onnx_runtime.inference_session(graph)

    @staticmethod
    def load(name: str, digest: str) -> "InteractionHead":
        """Load a head of the package; raises ``ModelDamaged`` if its file is missing or has another SHA-256."""
        return InteractionHead(
            onnx_runtime.read_verified(files("ecphora.models") / "weights", {name: digest}, REPAIR_HINT)[0]
        )

    def score(self, first: TokenStates, second: TokenStates) -> float:
        """Return the log-odds of a pair of texts: of what the head was trained on, such as that the second answers."""
        inputs = {"question": first.rows, "passage": second.rows, "is_text": ~second.is_context}
        found = self._session.run(None, {name: np.asarray(value, np.float32) for name, value in inputs.items()})
        return float(found[0][0, 0])
