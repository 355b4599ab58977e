"""What the trainings of cross-encoders share: the head in torch, and the loss of groups of pairs."""
# ruff: noqa: INP001  # in the folder of the scripts that use it

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ecphora.models.embedders.onnx_runtime import HIDDEN_SIZE
from ecphora.models.embedders.pair_scoring import HEAD_EPSILON, ScoringHead

HEAD_SIZE = 64
"""The hidden numbers of the scoring head."""
DROPOUT = 0.1
LISTWISE_WEIGHT = 0.5
"""The weight of the listwise loss beside the pointwise one."""
Half = NDArray[np.float16]


class Head(nn.Module):  # type: ignore[misc,unused-ignore]  # torch is not in the development tools
    """``ScoringHead`` for batches of pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4 * HIDDEN_SIZE, HEAD_EPSILON)
        self.hidden, self.score = nn.Linear(4 * HIDDEN_SIZE, HEAD_SIZE), nn.Linear(HEAD_SIZE, 1)

    def forward(self, states: Tensor, segments: Tensor, is_real: Tensor) -> Tensor:
        """Log-odds of pairs from the states of their tokens, shape ``(pairs, tokens, 384)``."""
        first, second = (((segments == place) & is_real)[..., None].float() for place in (0, 1))
        mean_first, mean_second = ((states * part).sum(1) / part.sum(1).clamp(min=1) for part in (first, second))
        pooled = self.norm(torch.cat([states[:, 0], mean_first, mean_second, mean_first * mean_second], -1))
        pooled = functional.dropout(pooled, DROPOUT, self.training)
        result: Tensor = self.score(functional.gelu(self.hidden(pooled), approximate="tanh"))[:, 0]
        return result

    def weights(self) -> ScoringHead:
        """The trained weights."""
        return ScoringHead(
            norm_scale=half(self.norm.weight),
            norm_bias=half(self.norm.bias),
            hidden=half(self.hidden.weight.T),
            hidden_bias=half(self.hidden.bias),
            score=half(self.score.weight[0]),
            score_bias=half(self.score.bias),
        )

    def load_weights(self, head: ScoringHead) -> None:
        """Continue from weights."""
        with torch.no_grad():
            self.norm.weight.copy_(torch.tensor(head.norm_scale))
            self.norm.bias.copy_(torch.tensor(head.norm_bias))
            self.hidden.weight.copy_(torch.tensor(head.hidden.T.copy()))
            self.hidden.bias.copy_(torch.tensor(head.hidden_bias))
            self.score.weight.copy_(torch.tensor(head.score[None].copy()))
            self.score.bias.copy_(torch.tensor(head.score_bias))


def half(values: Tensor) -> Half:
    """A parameter in half precision."""
    found: Half = values.detach().numpy().astype(np.float16)
    return found


def mean_head(first: ScoringHead, second: ScoringHead) -> ScoringHead:
    """The mean of the weights of two heads."""
    names = [field.name for field in fields(ScoringHead)]
    return ScoringHead(**{name: mean_half(getattr(first, name), getattr(second, name)) for name in names})


def mean_half(first: Half, second: Half) -> Half:
    """The mean of two arrays in half precision."""
    found: Half = ((first.astype(np.float32) + second.astype(np.float32)) / 2).astype(np.float16)
    return found


def pair_loss(scores: Tensor, labels: Sequence[NDArray[np.bool_]]) -> Tensor:
    """Of each pair whether its label is 1, and of each group of pairs which pair's is.

    ``labels`` are those of each group, in the order of the scores; in a group those with the label 1 come first.
    """
    listwise, start = [], 0
    for of_group in labels:
        own, count = scores[start : start + len(of_group)], int(of_group.sum())
        if count < len(own):
            listwise += [torch.logsumexp(torch.cat([one[None], own[count:]]), 0) - one for one in own[:count]]
        start += len(own)
    target = torch.tensor(np.concatenate(labels).astype(np.float32))
    loss = functional.binary_cross_entropy_with_logits(scores, target)
    return loss + LISTWISE_WEIGHT * torch.stack(listwise).mean() if listwise else loss
