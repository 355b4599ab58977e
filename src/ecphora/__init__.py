"""Ecphora: associative long-term memory for LLM agents. Public names, nothing else."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .embedders.e5 import E5
    from .embedders.hashing import Hashing
    from .embedders.minilm import MiniLM
    from .embedders.openai import OpenAIEmbedder
    from .embedders.sentence_transformers import SentenceTransformersEmbedder
    from .errors import EcphoraError
    from .explain import Fell, WhyNot
    from .memory import Memory
    from .model import Episode, Evidence, Filter, Hit, Node, Recollection, Remembered, Why
    from .reembedding import reembed
    from .stores.sqlite import SQLite

__version__ = "0.1.0"

_HOMES = {
    "E5": "embedders.e5",
    "EcphoraError": "errors",
    "Episode": "model",
    "Evidence": "model",
    "Fell": "explain",
    "Filter": "model",
    "Hashing": "embedders.hashing",
    "Hit": "model",
    "Memory": "memory",
    "MiniLM": "embedders.minilm",
    "Node": "model",
    "OpenAIEmbedder": "embedders.openai",
    "Recollection": "model",
    "Remembered": "model",
    "SQLite": "stores.sqlite",
    "SentenceTransformersEmbedder": "embedders.sentence_transformers",
    "Why": "model",
    "WhyNot": "explain",
    "reembed": "reembedding",
}

__all__ = [
    "E5",
    "EcphoraError",
    "Episode",
    "Evidence",
    "Fell",
    "Filter",
    "Hashing",
    "Hit",
    "Memory",
    "MiniLM",
    "Node",
    "OpenAIEmbedder",
    "Recollection",
    "Remembered",
    "SQLite",
    "SentenceTransformersEmbedder",
    "Why",
    "WhyNot",
    "reembed",
]


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that ``import ecphora`` costs nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
