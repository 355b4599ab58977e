"""Makes the embedder that a setting names, or the one of a name that is stored in a memory's file."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ...errors import InvalidInput, UnknownName
from ...model import plugins
from ...model.ports import Embedder
from .e5 import E5Embedder
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


EMBEDDER_CHOICES = "e5, minilm, hashing, openai:MODEL, sentence-transformers:MODEL"
"""The built-in values of an embedder setting, as errors list them."""
REMOTE_EMBEDDERS = frozenset({"openai", "sentence-transformers"})
"""The kinds of embedder that send texts to a server, or fetch a model by its name and load it."""


def embedder_from_setting(setting: str, *, base_url: str | None = None, api_key: str | None = None) -> Embedder:
    """The embedder that a setting names; ``base_url`` and ``api_key`` belong to an OpenAI-compatible endpoint."""
    kind, _, model = setting.partition(":")
    if setting in PACKAGED_EMBEDDERS:
        return PACKAGED_EMBEDDERS[setting]()
    if kind == "hashing" and (not model or (model.isascii() and model.isdigit())):
        from .hashing import HashingEmbedder  # noqa: PLC0415  # each embedder is imported only when used

        return HashingEmbedder(int(model)) if model else HashingEmbedder()
    if kind == "openai" and model:
        from .openai_embeddings import OpenAIEmbedder  # noqa: PLC0415

        if base_url is None:
            return OpenAIEmbedder(model, api_key=api_key)
        return OpenAIEmbedder(model, base_url=base_url, api_key=api_key)
    if kind == "sentence-transformers" and model:
        from .sentence_transformers import SentenceTransformersEmbedder  # noqa: PLC0415

        return SentenceTransformersEmbedder(model)
    embedder: Embedder = plugins.load("embedders", setting, EMBEDDER_CHOICES)
    return embedder


def embedder_from_name(name: str, user_file: Path) -> Embedder:
    """The embedder that has this name.

    Raises ``InvalidInput`` if it is a remote one, and ``UnknownName`` if it is not built in: a memory's file may not
    decide where data is sent, or which plug-in is imported. The errors name ``user_file`` as a place for the setting.
    """
    model, _, kind = name.rpartition("@")
    for packaged in PACKAGED_EMBEDDERS.values():
        if packaged.name == name:
            return packaged()
    from .hashing import HASHING  # noqa: PLC0415

    if name.startswith(HASHING):
        return embedder_from_setting(f"hashing:{name.removeprefix(HASHING)}")
    if kind in REMOTE_EMBEDDERS:
        setting = f"{kind}:{model}"
        effect = "sends every text to a server" if kind == "openai" else "loads a model that may be downloaded"
        raise InvalidInput(
            f"the scope was embedded by {name!r}, which {effect}; a memory's file may not decide that. To allow "
            f"it, add --embedder {shlex.quote(setting)}, or set ECPHORA_EMBEDDER, or set embedder in {user_file}"
        )
    raise UnknownName(
        f"the scope was embedded by {name!r}, which cannot be made from its name alone; if a plug-in has it, add "
        "--embedder with the plug-in's name (ecphora plugins lists them); else use it from Python, or change the scope "
        "to another embedder: ecphora reembed --embedder e5"
    )
