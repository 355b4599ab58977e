"""A cross-encoder over an English question and an English memory.

all-MiniLM-L6-v2 with low-rank adapters (LoRA; Edward Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models",
2021, arXiv:2106.09685) reads both texts together, as in Rodrigo Nogueira and Kyunghyun Cho, "Passage Re-ranking with
BERT", 2019, arXiv:1901.04085. ``scripts/train_english_cross_encoder.py`` trains the adapters on texts that were written
for this project.
"""

import io
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from functools import partial
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ..embedders import onnx_runtime
from ..embedders.encoder_network import REPAIR_HINT
from ..embedders.minilm import MiniLMNetwork, share_network
from ..embedders.scoring_head import PairTokens, ScoringHead
from ..embedders.shared_model import SharedModel
from ..invisible_chars import replace_surrogates
from ..language.language_identification import is_english
from ..model import Vectors
from ..ports import Passage
from ..reprs import call_repr

MAX_QUESTION_TOKENS, MAX_TEXT_TOKENS, MAX_CONTEXT_TOKENS = 44, 112, 32
"""How many tokens of the question and of the turn before are read, and the most that a memory may have."""

ADAPTERS_FILE = "english_reader_adapters.npz"
ADAPTERS_DIGEST = "fbbc8ac55ce3a174bd967d49e628ed9d36fc25e0406e7429b4e43a167dbbb6e2"
"""SHA-256 of the adapters' file; ``scripts/train_english_cross_encoder.py`` prints that of a new one."""
QUESTION, TEXT, CONTEXT = 0, 1, 2
"""The segments of a pair's tokens: of the question, of the memory, and of the turn before it."""


class MiniLMCrossEncoder:
    """Scores whether an English memory answers an English question; about 4 ms for a short memory, on one core.

    The constructor is cheap; the first ``score`` loads the model, once per process and shared with
    :class:`~ecphora.embedders.minilm.MiniLMEmbedder`. Safe to share between threads, and in a forked child.
    """

    def __init__(self) -> None:
        self._network = share_network()
        self._adapters = SharedModel((ADAPTERS_FILE, ADAPTERS_DIGEST), _load_adapters)

    def __repr__(self) -> str:
        return call_repr("MiniLMCrossEncoder")

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Log-odds that each passage answers, shape ``(len(passages),)``.

        NaN for one that is not English or longer than it reads, and for all if the question is not English. Raises
        ``ModelDamaged`` if a file of the model is missing or differs from the published one.
        """
        found = np.full(len(passages), np.nan)
        places = [place for place, passage in enumerate(passages) if is_english(passage.text)]
        if not places or not is_english(question):
            return found
        network = self._network()
        asked = question_tokens(network, question, asked_on)
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1, len(places)), "ecphora-read-english") as pool:
            found[places] = list(pool.map(partial(self._score, network, asked), [passages[place] for place in places]))
        return found

    def _score(self, network: MiniLMNetwork, asked: Sequence[int], passage: Passage) -> float:
        pair = pair_tokens(network, asked, passage)
        if pair is None:
            return np.nan
        adapters = self._adapters()
        states = network.adapted_states(pair.ids, token_types(pair), adapters.matrices)
        return adapters.head.score_states(states, pair.segments)


@dataclass(frozen=True)
class _Adapters:
    """The adapters by the names of the graph's inputs, and the head."""

    matrices: Mapping[str, Vectors]
    head: ScoringHead


def _load_adapters() -> _Adapters:
    digests = {ADAPTERS_FILE: ADAPTERS_DIGEST}
    content = onnx_runtime.read_verified(files("ecphora.weights"), digests, REPAIR_HINT)[0]
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        matrices = {name: arrays[name].astype(np.float32) for name in arrays.files if name.endswith((".down", ".up"))}
        return _Adapters(matrices, ScoringHead.from_arrays(arrays))


def token_types(pair: PairTokens) -> list[int]:
    """What the network is told of each token: 1 for those of the memory, 0 for all others."""
    return [int(segment == TEXT) for segment in pair.segments]


def question_tokens(network: MiniLMNetwork, question: str, asked_on: date) -> list[int]:
    """The first tokens of a question with its day."""
    return network.tokenize(replace_surrogates(f"{asked_on.isoformat()} {question}"), MAX_QUESTION_TOKENS)


def pair_tokens(network: MiniLMNetwork, asked: Sequence[int], passage: Passage) -> PairTokens | None:
    """The tokens of a question, the turn before and a passage, in this order; None for a passage that is too long."""
    own = network.tokenize(replace_surrogates(passage.statement), MAX_TEXT_TOKENS + 1)
    if len(own) > MAX_TEXT_TOKENS:
        return None
    before = network.tokenize(replace_surrogates(passage.previous_turn), MAX_CONTEXT_TOKENS)
    parts = [(QUESTION, [network.first_token, *asked, network.last_token])]
    parts += [(CONTEXT, [*before, network.last_token])] if before else []
    parts += [(TEXT, [*own, network.last_token])]
    return PairTokens(
        [token for _, tokens in parts for token in tokens], [segment for segment, tokens in parts for _ in tokens]
    )
