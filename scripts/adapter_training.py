"""Trains low-rank adapters of all-MiniLM-L6-v2, for ``train_update_scorer.py``."""
# ruff: noqa: INP001, T201  # beside the script that calls it; it prints

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import minilm_source
import numpy as np
from numpy.typing import NDArray

from ecphora.embedders import minilm
from ecphora.update_scorers.minilm_lora import ADAPTED_MATRICES, Adapters, encode_pair

RANK, BATCH, DROPOUT, WEIGHT_DECAY, SEED = 16, 24, 0.1, 0.01, 0
"""Rank of the adapters, pairs at a time, dropout, decay of weights, seed."""


def train_adapters(  # noqa: C901, PLR0915  # a model and its training, top to bottom
    texts: Sequence[tuple[str, str]],
    is_change: Sequence[bool],
    epochs: int,
    rate: float,
    initial: Adapters | None = None,
) -> Adapters:
    """Low-rank adapters of all-MiniLM-L6-v2 and a head that reads its tokens, by AdamW on the pairs.

    ``texts`` are pairs of an earlier and a later text; ``is_change`` says whether the later replaces the earlier.
    Training goes on from ``initial``, if there is any.
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
    out = torch.nn.Parameter(torch.zeros(4 * 384)), torch.nn.Parameter(torch.zeros(()))
    if initial is not None:
        out[0].data, out[1].data = torch.tensor(initial.head).float(), torch.tensor(initial.bias).float()
    parameters = [*down.values(), *up.values(), *out]
    adam = torch.optim.AdamW(parameters, lr=rate, weight_decay=WEIGHT_DECAY)
    steps = epochs * math.ceil(len(pairs) / BATCH)
    slower = torch.optim.lr_scheduler.LambdaLR(
        adam, lambda step: min(1, (step + 1) / (steps * 0.1)) * (0.5 + 0.5 * math.cos(math.pi * min(1, step / steps)))
    )

    def dropped(values: Any) -> Any:
        return functional.dropout(values, DROPOUT)

    def line(x: Any, layer: int, part: str) -> Any:
        name = f"{layer}.{part}"
        return x @ model[name] + model[f"{name}.bias"] + (x @ down[name]) @ up[name]

    def normed(x: Any, name: str) -> Any:
        return functional.layer_norm(x, (384,), model[f"{name}.scale"], model[f"{name}.bias"], 1e-12)

    def odds(ids: Any, kinds: Any, mask: Any) -> Any:
        x = normed(model["words"][ids] + model["kinds"][kinds] + model["places"][: ids.shape[1]], "begin")
        bias = torch.where(mask[:, None, None, :] > 0, 0.0, -1e9)
        for layer in range(6):

            def heads(part: str, x: Any = x, layer: int = layer) -> Any:
                return line(x, layer, part).view(*x.shape[:2], 12, 32).transpose(1, 2)

            found = functional.scaled_dot_product_attention(heads("q"), heads("k"), heads("v"), attn_mask=bias)
            x = normed(x + dropped(line(found.transpose(1, 2).reshape(x.shape), layer, "o")), f"{layer}.attended")
            x = normed(x + dropped(line(functional.gelu(line(x, layer, "in")), layer, "out")), f"{layer}.passed")
        later = (mask * kinds)[..., None].float()
        earlier = (mask * (1 - kinds))[..., None].float()
        one, other = ((x * part).sum(1) / part.sum(1) for part in (earlier, later))
        return dropped(torch.cat([x[:, 0], one, other, one * other], -1)) @ out[0] + out[1]

    chance = np.random.default_rng(SEED)  # noqa: TID251  # the order of lessons, seeded
    for epoch in range(epochs):
        started, total = time.perf_counter(), 0.0
        batches = list(_batches(pairs, chance))
        for batch in batches:
            width = max(len(pairs[place][0]) for place in batch)
            ids, kinds, mask = (np.zeros((len(batch), width), np.int64) for _ in range(3))
            for row, place in enumerate(batch):
                size = len(pairs[place][0])
                ids[row, :size], kinds[row, :size], mask[row, :size] = *pairs[place], 1
            found = odds(torch.tensor(ids), torch.tensor(kinds), torch.tensor(mask))
            loss = functional.binary_cross_entropy_with_logits(found, labels[batch])
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            adam.step()
            slower.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / len(batches):.3f}, {time.perf_counter() - started:.0f} s", flush=True)

    def kept(found: Any) -> NDArray[np.float16]:
        return found.detach().numpy().astype(np.float16)

    return Adapters(
        {name: (kept(down[name]), kept(up[name])) for name in ADAPTED_MATRICES}, kept(out[0]), float(out[1].detach())
    )


def _batches(pairs: Sequence[tuple[list[int], list[int]]], chance: np.random.Generator) -> Iterator[list[int]]:
    """Pairs of about one length together, in any order."""
    lengths = np.array([len(ids) for ids, _ in pairs]) + chance.uniform(0, 12, len(pairs))
    order = np.argsort(lengths, kind="stable")
    starts = np.arange(0, len(order), BATCH)
    chance.shuffle(starts)
    for start in starts.tolist():
        yield order[start : start + BATCH].tolist()
