"""The embedders whose models are part of the package."""

from collections.abc import Mapping
from types import MappingProxyType

from ..ports import Embedder
from .e5.e5_embedder import E5Embedder
from .minilm import MiniLMEmbedder

DEFAULT_EMBEDDER = E5Embedder
"""What a new scope is embedded by."""
PACKAGED_EMBEDDERS: Mapping[str, type[MiniLMEmbedder | E5Embedder]] = MappingProxyType(
    {"minilm": MiniLMEmbedder, "e5": E5Embedder}
)
"""The packaged embedders by the names of settings."""


def packaged_embedder(name: str | None) -> Embedder:
    """Return the packaged embedder of this ``Embedder.name``, else the default one."""
    kinds = PACKAGED_EMBEDDERS.values()
    return next((kind for kind in kinds if kind.name == name), DEFAULT_EMBEDDER)()
