"""Token codes: the states of a text's tokens in 34 bytes each, and heads that score the codes of two texts.

The states are the output of the ninth of twelve layers of multilingual-e5-small, from the run that embeds the text.
They are centred, projected to their 128 principal components, and scaled to a variance of 1 in each; 2 bits a number
and one scale a token are kept. That keeps late interaction as good as with the states themselves (Keshav Santhanam et
al., "ColBERTv2: Effective and Efficient Retrieval via Lightweight Late Interaction", 2022, arXiv:2112.01488, keeps 1 or
2 bits a number as well). ``training/fit_token_codes.py`` fits the projection.

multilingual-e5-small encodes each text apart, as for embedding it; a head, a small transformer,
then lets the tokens of both attend to each other and scores the pair. So the codes of a text can be kept for the next
pair. ``training/interaction_graph.py`` has the equations.
"""

import io
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ...errors import InvalidInput
from ...model.types import Mask, Vector, Vectors
from . import onnx_runtime
from .onnx_runtime import REPAIR_HINT, read_arrays

CODE_SIZE = 128
"""The numbers of a token's code."""
STEP = 0.9957
"""The distance of the four levels in units of the numbers' root mean square, which is best for a normal distribution
(Joel Max, "Quantizing for Minimum Distortion", 1960)."""
ROWS_PER_PRODUCT = 5
"""Tokens that are multiplied at once: for more, OpenBLAS starts a second thread, which can cost 10 ms on a busy
machine (it does so from 2^18 products on)."""
PACKED = np.dtype([("scale", "<f2"), ("levels", "u1", (CODE_SIZE // 4,))])
"""A token in bytes: its scale, then four levels in each byte, the first in the lowest bits."""
_SHIFTS = np.arange(0, 8, 2, dtype=np.uint8)
_LEVELS = ((np.arange(256)[:, None] >> _SHIFTS & 3) - 1.5).astype(np.float32)
"""The four levels in each byte, -1.5 to 1.5."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenCodec:
    """Projects token states and packs them. ``mean``, shape ``(384,)``; ``basis``, shape ``(384, 128)``."""

    mean: Vector
    basis: Vectors

    @staticmethod
    def from_bytes(content: bytes) -> "TokenCodec":
        """Read a file that :meth:`to_bytes` wrote."""
        found = read_arrays(content)
        return TokenCodec(found["mean"].astype(np.float32), found["basis"].astype(np.float32))

    def to_bytes(self) -> bytes:
        """The projection in half precision, as a file."""
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, mean=self.mean.astype(np.float16), basis=self.basis.astype(np.float16))
        return file.getvalue()

    def project(self, states: Vectors) -> Vectors:
        """The components of token states, shape ``(tokens, 128)``."""
        centered, found = states - self.mean, np.empty((len(states), CODE_SIZE), np.float32)
        for start in range(0, len(states), ROWS_PER_PRODUCT):
            rows = slice(start, start + ROWS_PER_PRODUCT)
            np.matmul(centered[rows], self.basis, out=found[rows])
        return found

    def encode(self, states: Vectors) -> bytes:
        """The codes of token states, 34 bytes a token."""
        rows = self.project(states)
        packed = np.zeros(len(rows), PACKED)
        spread = np.sqrt(np.vecdot(rows, rows) / CODE_SIZE)[:, None] + np.finfo(np.float32).tiny
        levels = np.clip(np.floor(rows / (STEP * spread)) + 2, 0, 3).astype(np.uint8)
        packed["scale"] = STEP * spread[:, 0]
        packed["levels"] = (levels.reshape(len(rows), CODE_SIZE // 4, 4) << _SHIFTS).sum(axis=2, dtype=np.uint8)
        return packed.tobytes()


def decode(codes: bytes) -> Vectors:
    """The components that codes stand for, shape ``(tokens, 128)``; raises ``InvalidInput`` for bytes that are none."""
    if len(codes) % PACKED.itemsize:
        raise InvalidInput(
            f"token codes have {len(codes)} bytes, no multiple of {PACKED.itemsize}; ecphora doctor --fix deletes them"
        )
    packed = np.frombuffer(codes, PACKED)
    levels: Vectors = _LEVELS[packed["levels"]].reshape(len(packed), CODE_SIZE)
    return levels * packed["scale"].astype(np.float32)[:, None]


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
