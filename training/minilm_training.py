"""all-MiniLM-L6-v2 in full precision with low-rank adapters, in torch, for the scripts that train them.

Low-rank adapters: Edward Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, arXiv:2106.09685.
"""
# ruff: noqa: INP001  # in the folder of the scripts that use it

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import minilm_source
import numpy as np
import onnx
import torch
from minilm_source import ADAPTED_MATRICES, LAYERS, MATRIX_PATHS, matrix_shape
from onnx import numpy_helper
from pair_scoring import Half, half
from torch import Tensor, nn
from torch.nn import functional

from ecphora.models.embedders.onnx_runtime import HIDDEN_SIZE

RANK, HEADS, LAYER_NORM_EPSILON = 16, 12, 1e-12
NO_ATTENTION = -1e9


class AdaptedMiniLM(nn.Module):  # type: ignore[misc,unused-ignore]  # torch is not in the development tools
    """The network, for batches of token rows; only the adapters are trained."""

    def __init__(self) -> None:
        super().__init__()
        with tempfile.TemporaryDirectory() as folder:
            graph = onnx.load(minilm_source.copy_model(Path(folder))).graph
        self.frozen = {one.name: torch.tensor(numpy_helper.to_array(one).copy()) for one in graph.initializer}
        self.down, self.up = nn.ParameterDict(), nn.ParameterDict()
        for name in ADAPTED_MATRICES:
            rows, columns = matrix_shape(name)
            self.down[_key(name)] = nn.Parameter(torch.randn(rows, RANK) / math.sqrt(rows))
            self.up[_key(name)] = nn.Parameter(torch.zeros(RANK, columns))

    def adapters(self) -> dict[str, Half]:
        """The adapters by the names of the graph's inputs."""
        found = {}
        for name in ADAPTED_MATRICES:
            found[f"{name}.down"], found[f"{name}.up"] = half(self.down[_key(name)]), half(self.up[_key(name)])
        return found

    def load_adapters(self, adapters: Mapping[str, Half]) -> None:
        """Continue from adapters by the names of the graph's inputs."""
        with torch.no_grad():
            for name in ADAPTED_MATRICES:
                self.down[_key(name)].copy_(torch.tensor(adapters[f"{name}.down"]))
                self.up[_key(name)].copy_(torch.tensor(adapters[f"{name}.up"]))

    def forward(self, ids: Tensor, token_types: Tensor, is_real: Tensor) -> Tensor:
        """The states of the tokens after the last layer, shape ``(texts, tokens, 384)``."""
        prefix = ".model.embeddings"
        x = self.frozen[f"{prefix}.word_embeddings.weight"][ids]
        x = x + self.frozen[f"{prefix}.token_type_embeddings.weight"][token_types]
        x = x + self.frozen[f"{prefix}.position_embeddings.weight"][: ids.shape[1]]
        x = self._norm(x, "-1.embeddings_norm")
        mask = torch.where(is_real[:, None, None], 0.0, NO_ATTENTION)
        for layer in range(LAYERS):
            x = self._layer(x, mask, layer)
        return x

    def _layer(self, x: Tensor, mask: Tensor, layer: int) -> Tensor:
        def heads(part: str) -> Tensor:
            return self._linear(x, f"{layer}.{part}").view(*x.shape[:2], HEADS, -1).transpose(1, 2)

        found = functional.scaled_dot_product_attention(heads("q"), heads("k"), heads("v"), attn_mask=mask)
        found = self._linear(found.transpose(1, 2).reshape(x.shape), f"{layer}.o")
        x = self._norm(x + found, f"{layer}.attention_output_norm")
        found = self._linear(functional.gelu(self._linear(x, f"{layer}.in")), f"{layer}.out")
        return self._norm(x + found, f"{layer}.mlp_output_norm")

    def _linear(self, x: Tensor, name: str) -> Tensor:
        layer, _, part = name.partition(".")
        source = f"model.layers.{layer}.{MATRIX_PATHS[part].replace('/', '.')}"
        base = x @ self.frozen[f"{source}.MatMul.weight"] + self.frozen[f"{source}.Add.bias"]
        return base + (x @ self.down[_key(name)]) @ self.up[_key(name)]

    def _norm(self, x: Tensor, name: str) -> Tensor:
        source = f"model.layers.{name}_layernorm"
        scale, bias = self.frozen[f"{source}.weight"], self.frozen[f"{source}.bias"]
        return functional.layer_norm(x, (HIDDEN_SIZE,), scale, bias, LAYER_NORM_EPSILON)


def pad(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Rows of whole numbers as one tensor with zeros at their ends, and which of its places are real."""
    found = np.zeros((len(rows), max(map(len, rows))), np.int64)
    is_real = np.zeros(found.shape, np.bool_)
    for place, row in enumerate(rows):
        found[place, : len(row)], is_real[place, : len(row)] = row, True
    return torch.tensor(found), torch.tensor(is_real)


def _key(name: str) -> str:
    return name.replace(".", "_")  # torch allows no dot in a name
