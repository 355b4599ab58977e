"""Trains low-rank adapters of multilingual-e5-small that score pairs of texts, with torch.

For ``train_update_scorer.py``. The adapted layers read both texts together, as a cross-encoder does;
``ecphora.models.embedders.pair_scoring`` runs them. Low-rank adapters: Edward Hu et al., "LoRA: Low-Rank Adaptation
of Large Language Models", 2021, arXiv:2106.09685.
"""
# ruff: noqa: INP001, T201  # in the folder of the scripts that use it; it prints

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import e5_source
import numpy as np
import torch
from build_e5 import ATTENTION_HEADS, LAYER_NORM_EPSILON
from numpy.typing import NDArray
from pair_scoring import Head, half, mean_half, mean_head, pair_loss
from torch import Tensor, nn
from torch.nn import functional

from ecphora.models.embedders.e5 import ADAPTED_LAYERS, ADAPTED_MATRICES, E5Network, matrix_shape
from ecphora.models.embedders.onnx_runtime import HIDDEN_SIZE
from ecphora.models.embedders.pair_scoring import SEGMENTS, PairAdapters, PairTokens

RANKS = {"qkv": 32, "o": 16, "in": 16, "out": 16}
"""The rank of the adapter of each matrix of a layer."""
RATE, WARM_UP, WEIGHT_DECAY, CLIP = 1.5e-3, 0.06, 0.01, 1.0
BATCH_PAIRS, PAIRS_PER_PASS = 32, 8
"""About how many pairs a training step has, and how many are padded together."""
PASSES_AT_ONCE = 2
"""How many passes run at the same time, each in a thread: faster than two threads for each operation."""
MAX_POSITIVES = 2
"""How many pairs of a group with the label 1 an epoch has at most."""
NO_ATTENTION = -1e9
REPORT_STEPS = 100


@dataclass(frozen=True, slots=True, eq=False)
class PairGroup:
    """Pairs of texts with the same first text, and their labels."""

    pairs: Sequence[PairTokens]
    labels: NDArray[np.bool_]


class _Network(nn.Module):  # type: ignore[misc,unused-ignore]  # torch is not in the development tools
    """The adapted layers and the head, for batches."""

    def __init__(self) -> None:
        super().__init__()
        weights = e5_source.load_weights()
        del weights["token_embeddings"]
        self.frozen = {name: torch.tensor(value) for name, value in weights.items()}
        for layer in range(ADAPTED_LAYERS):
            for end in ("", ".bias"):
                parts = [self.frozen.pop(f"{layer}.{part}{end}") for part in "qkv"]
                self.frozen[f"{layer}.qkv{end}"] = torch.cat(parts, -1)
        self.down, self.up = nn.ParameterDict(), nn.ParameterDict()
        for name in ADAPTED_MATRICES:
            rows, columns = matrix_shape(name)
            rank = RANKS[name.partition(".")[2]]
            self.down[_key(name)] = nn.Parameter(torch.randn(rows, rank) / math.sqrt(rows))
            self.up[_key(name)] = nn.Parameter(torch.zeros(rank, columns))
        self.segments = nn.Parameter(torch.zeros(SEGMENTS, HIDDEN_SIZE))
        self.head = Head()

    def adapters(self) -> PairAdapters:
        """The trained parameters."""
        return PairAdapters(
            {name: (half(self.down[_key(name)]), half(self.up[_key(name)])) for name in ADAPTED_MATRICES},
            half(self.segments),
            self.head.weights(),
        )

    def load_adapters(self, adapters: PairAdapters) -> None:
        """Continue from adapters, with their head."""
        with torch.no_grad():
            for name, (down, up) in adapters.matrices.items():
                self.down[_key(name)].copy_(torch.tensor(down))
                self.up[_key(name)].copy_(torch.tensor(up))
            self.segments.copy_(torch.tensor(adapters.segments))
        self.head.load_weights(adapters.head)

    def forward(self, embeddings: Tensor, segments: Tensor, is_real: Tensor) -> Tensor:
        """Log-odds of pairs; all arguments are padded, shape ``(pairs, tokens, …)``."""
        x = self._norm(embeddings, "embedding_norm") + self.segments[segments]
        mask = torch.where(is_real[:, None, None], 0.0, NO_ATTENTION)
        for layer in range(ADAPTED_LAYERS):
            x = self._layer(x, mask, layer)
        result: Tensor = self.head(x, segments, is_real)
        return result

    def _layer(self, x: Tensor, mask: Tensor, layer: int) -> Tensor:
        size, count, _ = x.shape
        parts = self._linear(x, f"{layer}.qkv").view(size, count, 3, ATTENTION_HEADS, -1).permute(2, 0, 3, 1, 4)
        queries, keys, values = parts
        found = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
        found = self._linear(found.transpose(1, 2).reshape(x.shape), f"{layer}.o")
        x = self._norm(x + found, f"{layer}.attention_norm")
        found = self._linear(functional.gelu(self._linear(x, f"{layer}.in")), f"{layer}.out")
        return self._norm(x + found, f"{layer}.output_norm")

    def _linear(self, x: Tensor, name: str) -> Tensor:
        base = x @ self.frozen[name] + self.frozen[f"{name}.bias"]
        return base + (x @ self.down[_key(name)]) @ self.up[_key(name)]

    def _norm(self, x: Tensor, name: str) -> Tensor:
        scale, bias = self.frozen[f"{name}.scale"], self.frozen[f"{name}.bias"]
        return functional.layer_norm(x, (HIDDEN_SIZE,), scale, bias, LAYER_NORM_EPSILON)


def _key(name: str) -> str:
    return name.replace(".", "_")  # torch allows no dot in a name


def mean_adapters(first: PairAdapters, second: PairAdapters) -> PairAdapters:
    """The mean of the weights of two, of which one was trained further from the other.

    Mitchell Wortsman et al., "Model soups", 2022, arXiv:2203.05482.
    """

    matrices = {
        name: (mean_half(down, second.matrices[name][0]), mean_half(up, second.matrices[name][1]))
        for name, (down, up) in first.matrices.items()
    }
    return PairAdapters(matrices, mean_half(first.segments, second.segments), mean_head(first.head, second.head))


def train_adapters(
    network: E5Network,
    groups: Sequence[PairGroup],
    epochs: float,
    negatives: int,
    *,
    rate: float = RATE,
    start: PairAdapters | None = None,
    save: Callable[[PairAdapters], object] = lambda _: None,
    seed: int = 0,
) -> PairAdapters:
    """Train adapters on groups of pairs with AdamW.

    A group has at most ``negatives`` pairs with the label 0 in an epoch, drawn anew. ``save`` gets the adapters now and
    then. ``epochs`` may be a fraction: of the groups of the last epoch so many are used.
    """
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)  # noqa: TID251  # seeded
    model = _Network()
    if start is not None:
        model.load_adapters(start)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=WEIGHT_DECAY)
    batches = list(_epochs(groups, epochs, negatives, random))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: (
            min(1.0, (step + 1) / (len(batches) * WARM_UP)) * (0.5 + 0.5 * math.cos(math.pi * step / len(batches)))
        ),
    )
    started, losses = time.perf_counter(), []
    torch.set_num_threads(1)
    with ThreadPoolExecutor(PASSES_AT_ONCE) as pool:
        for step, batch in enumerate(batches):
            passes = list(pool.map(lambda groups: _gradients(model, network, groups, parameters), _passes(batch)))
            for place, parameter in enumerate(parameters):
                parameter.grad = torch.stack([gradients[place] for _, gradients in passes]).mean(0)
            nn.utils.clip_grad_norm_(parameters, CLIP)
            optimizer.step()
            schedule.step()
            losses.append(np.mean([loss for loss, _ in passes]))
            if step % REPORT_STEPS == REPORT_STEPS - 1:
                recent, seconds = np.mean(losses[-REPORT_STEPS:]), time.perf_counter() - started
                print(f"step {step + 1} of {len(batches)}: loss {recent:.3f}, {seconds:.0f} s", flush=True)
                save(model.adapters())
    return model.adapters()


def _epochs(
    groups: Sequence[PairGroup], epochs: float, negatives: int, random: np.random.Generator
) -> Iterator[list[PairGroup]]:
    """The batches of all epochs: groups of about the same length, in random order."""
    for epoch in range(math.ceil(epochs)):
        share = min(1.0, epochs - epoch)
        taken = random.permutation(len(groups))[: round(share * len(groups))].tolist()
        drawn = [found for place in taken if len((found := _draw(groups[place], negatives, random)).pairs)]
        lengths = [np.mean([len(pair.ids) for pair in group.pairs]) + random.uniform(0, 8) for group in drawn]
        batches: list[list[PairGroup]] = [[]]
        for place in np.argsort(lengths).tolist():
            if sum(len(group.pairs) for group in batches[-1]) >= BATCH_PAIRS:
                batches.append([])
            batches[-1].append(drawn[place])
        random.shuffle(batches)
        yield from batches


def _draw(group: PairGroup, negatives: int, random: np.random.Generator) -> PairGroup:
    """Some pairs of a group, those with the label 1 first."""
    yes, no = (random.permutation(np.flatnonzero(group.labels == label)) for label in (True, False))
    places = [*yes[:MAX_POSITIVES].tolist(), *no[:negatives].tolist()]
    return PairGroup([group.pairs[place] for place in places], group.labels[places])


def _passes(groups: Sequence[PairGroup]) -> list[list[PairGroup]]:
    """The groups of a batch in passes of about the same number of pairs, the short texts together."""
    passes: list[list[PairGroup]] = [[]]
    for group in sorted(groups, key=lambda group: max(len(pair.ids) for pair in group.pairs)):
        if passes[-1] and sum(len(one.pairs) for one in passes[-1]) + len(group.pairs) > PAIRS_PER_PASS:
            passes.append([])
        passes[-1].append(group)
    return passes


def _gradients(
    model: _Network, network: E5Network, groups: Sequence[PairGroup], parameters: Sequence[nn.Parameter]
) -> tuple[float, tuple[Tensor, ...]]:
    """The loss of a pass, and its gradient by each parameter."""
    loss = _loss(model, network, groups)
    return loss.item(), torch.autograd.grad(loss, parameters)


def _loss(model: _Network, network: E5Network, groups: Sequence[PairGroup]) -> Tensor:
    """Of each pair whether its label is 1, and of each group which pair's is."""
    scores = model(*_pad(network, [pair for group in groups for pair in group.pairs]))
    return pair_loss(scores, [group.labels for group in groups])


def _pad(network: E5Network, pairs: Sequence[PairTokens]) -> tuple[Tensor, Tensor, Tensor]:
    longest = max(len(pair.ids) for pair in pairs)
    embeddings = np.zeros((len(pairs), longest, HIDDEN_SIZE), np.float32)
    segments, is_real = np.zeros((2, len(pairs), longest), np.int64)
    for row, pair in enumerate(pairs):
        size = len(pair.ids)
        embeddings[row, :size] = network.input_embeddings(pair.ids)
        segments[row, :size], is_real[row, :size] = pair.segments, 1
    return torch.tensor(embeddings), torch.tensor(segments), torch.tensor(is_real > 0)
