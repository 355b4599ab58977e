"""Trains low-rank adapters of all-MiniLM-L6-v2, for ``train_update_scorer.py``."""
# ruff: noqa: INP001, T201  # in the folder of the script that uses it; it prints

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import minilm_source
import numpy as np
from numpy.typing import NDArray

from ecphora.embedders import minilm
from ecphora.embedders.minilm import ADAPTED_MATRICES
from ecphora.update_scorers.minilm_lora import Adapters, encode_pair

RANK, BATCH, DROPOUT, WEIGHT_DECAY, SEED = 16, 24, 0.1, 0.01, 0
"""Rank of the adapters, batch size, dropout, weight decay, seed."""


def train_adapters(  # noqa: C901, PLR0915  # a model and its training in one place
    texts: Sequence[tuple[str, str]],
    is_change: Sequence[bool],
    epochs: int,
    rate: float,
    initial: Adapters | None = None,
) -> Adapters:
    """Low-rank adapters of all-MiniLM-L6-v2 and a head over its token vectors, trained with AdamW on the pairs.

    ``texts`` are pairs of an earlier and a later text; ``is_change`` says whether the later supersedes the earlier.
    Training continues from ``initial`` if it is given.
    """
    import torch  # noqa: PLC0415  # only training needs it
    from torch.nn import functional  # noqa: PLC0415

    torch.manual_seed(SEED)
    model = {name: torch.tensor(value) for name, value in minilm_source.load_weights().items()}
    network = minilm.share_network()()
    pairs = [encode_pair(network, *pair) for pair in texts]
    labels = torch.tensor([float(label) for label in is_change])
    down, up = {}, {}
    for name in ADAPTED_MATRICES:
        rows, columns = model[name].shape
        down[name] = torch.nn.Parameter(torch.randn(rows, RANK) / math.sqrt(rows))
        up[name] = torch.nn.Parameter(torch.zeros(RANK, columns))
        if initial is not None:
            down[name].data, up[name].data = (torch.tensor(part).float() for part in initial.matrices[name])
    head = torch.nn.Parameter(torch.zeros(4 * 384)), torch.nn.Parameter(torch.zeros(()))
    if initial is not None:
        head[0].data, head[1].data = torch.tensor(initial.head).float(), torch.tensor(initial.bias).float()
    parameters = [*down.values(), *up.values(), *head]
    adam = torch.optim.AdamW(parameters, lr=rate, weight_decay=WEIGHT_DECAY)
    steps = epochs * math.ceil(len(pairs) / BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        adam, lambda step: min(1, (step + 1) / (steps * 0.1)) * (0.5 + 0.5 * math.cos(math.pi * min(1, step / steps)))
    )

    def dropout(values: Any) -> Any:
        return functional.dropout(values, DROPOUT)

    def linear(x: Any, layer: int, part: str) -> Any:
        name = f"{layer}.{part}"
        return x @ model[name] + model[f"{name}.bias"] + (x @ down[name]) @ up[name]

    def layer_norm(x: Any, name: str) -> Any:
        return functional.layer_norm(x, (384,), model[f"{name}.scale"], model[f"{name}.bias"], 1e-12)

    def log_odds(ids: Any, token_types: Any, mask: Any) -> Any:
        x = layer_norm(
            model["token_embeddings"][ids]
            + model["type_embeddings"][token_types]
            + model["position_embeddings"][: ids.shape[1]],
            "embedding_norm",
        )
        bias = torch.where(mask[:, None, None, :] > 0, 0.0, -1e9)
        for layer in range(6):

            def heads(part: str, x: Any = x, layer: int = layer) -> Any:
                return linear(x, layer, part).view(*x.shape[:2], 12, 32).transpose(1, 2)

            result = functional.scaled_dot_product_attention(heads("q"), heads("k"), heads("v"), attn_mask=bias)
            x = layer_norm(
                x + dropout(linear(result.transpose(1, 2).reshape(x.shape), layer, "o")), f"{layer}.attention_norm"
            )
            x = layer_norm(
                x + dropout(linear(functional.gelu(linear(x, layer, "in")), layer, "out")), f"{layer}.output_norm"
            )
        later = (mask * token_types)[..., None].float()
        earlier = (mask * (1 - token_types))[..., None].float()
        mean_earlier, mean_later = ((x * part).sum(1) / part.sum(1) for part in (earlier, later))
        return (
            dropout(torch.cat([x[:, 0], mean_earlier, mean_later, mean_earlier * mean_later], -1)) @ head[0] + head[1]
        )

    rng = np.random.default_rng(SEED)  # noqa: TID251  # the order of pairs, seeded
    for epoch in range(epochs):
        started, total = time.perf_counter(), 0.0
        batches = list(_batches(pairs, rng))
        for batch in batches:
            width = max(len(pairs[index][0]) for index in batch)
            ids, token_types, mask = (np.zeros((len(batch), width), np.int64) for _ in range(3))
            for row, index in enumerate(batch):
                size = len(pairs[index][0])
                ids[row, :size], token_types[row, :size], mask[row, :size] = *pairs[index], 1
            result = log_odds(torch.tensor(ids), torch.tensor(token_types), torch.tensor(mask))
            loss: Any = functional.binary_cross_entropy_with_logits(result, labels[batch])
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            adam.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / len(batches):.3f}, {time.perf_counter() - started:.0f} s", flush=True)

    def to_float16(result: Any) -> NDArray[np.float16]:
        return result.detach().numpy().astype(np.float16)

    return Adapters(
        {name: (to_float16(down[name]), to_float16(up[name])) for name in ADAPTED_MATRICES},
        to_float16(head[0]),
        float(head[1].detach()),
    )


def _batches(pairs: Sequence[tuple[list[int], list[int]]], rng: np.random.Generator) -> Iterator[list[int]]:
    """Batches of pairs of similar length, in random order."""
    lengths = np.array([len(ids) for ids, _ in pairs]) + rng.uniform(0, 12, len(pairs))
    order = np.argsort(lengths, kind="stable")
    starts = np.arange(0, len(order), BATCH)
    rng.shuffle(starts)
    for start in starts.tolist():
        yield order[start : start + BATCH].tolist()
