"""Ecphora: associative long-term memory for LLM agents. Public names, nothing else."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .answer import Answer
    from .embedders.e5 import E5
    from .embedders.hashing import Hashing
    from .embedders.minilm import MiniLM
    from .embedders.openai import OpenAIEmbedder
    from .embedders.sentence_transformers import SentenceTransformersEmbedder
    from .errors import (
        EcphoraError,
        EmbedderError,
        EmbedderMismatch,
        EmbedderUnavailable,
        IdCollision,
        InvalidInput,
        InvalidRecord,
        InvalidText,
        InvalidTime,
        LLMError,
        LLMUnavailable,
        ModelDamaged,
        StaleChange,
        StoreBusy,
        StoreClosed,
        StoreDamaged,
        StoreError,
        StoreFull,
        StoreReadOnly,
        StoreReplaced,
        StoreTooNew,
        UnknownName,
        UnreadableReply,
        WrongVector,
    )
    from .explain import Fell, WhyNot
    from .guest import Guest
    from .llms.llamacpp import LlamaCpp
    from .llms.openai import OpenAIChat
    from .memory import Memory
    from .model import (
        Access,
        Backup,
        Batch,
        Cost,
        Cue,
        Episode,
        Erased,
        Evidence,
        Filter,
        History,
        Hit,
        Insight,
        Node,
        Recollection,
        Remembered,
        ScopeInfo,
        Share,
        Standing,
        Succession,
        Why,
    )
    from .reembedding import reembed
    from .resegmentation import resegment
    from .sleeping import Consolidated, Trigger
    from .stores.sqlite import SQLite

__version__ = "0.1.0"

_HOMES = {
    "Access": "model",
    "Answer": "answer",
    "Backup": "model",
    "Batch": "model",
    "Consolidated": "sleeping",
    "Cost": "model",
    "Cue": "model",
    "E5": "embedders.e5",
    "EcphoraError": "errors",
    "EmbedderError": "errors",
    "EmbedderMismatch": "errors",
    "EmbedderUnavailable": "errors",
    "Episode": "model",
    "Erased": "model",
    "Evidence": "model",
    "Fell": "explain",
    "Filter": "model",
    "Guest": "guest",
    "Hashing": "embedders.hashing",
    "History": "model",
    "Hit": "model",
    "IdCollision": "errors",
    "Insight": "model",
    "InvalidInput": "errors",
    "InvalidRecord": "errors",
    "InvalidText": "errors",
    "InvalidTime": "errors",
    "LLMError": "errors",
    "LLMUnavailable": "errors",
    "LlamaCpp": "llms.llamacpp",
    "Memory": "memory",
    "MiniLM": "embedders.minilm",
    "ModelDamaged": "errors",
    "Node": "model",
    "OpenAIChat": "llms.openai",
    "OpenAIEmbedder": "embedders.openai",
    "Recollection": "model",
    "Remembered": "model",
    "SQLite": "stores.sqlite",
    "ScopeInfo": "model",
    "SentenceTransformersEmbedder": "embedders.sentence_transformers",
    "Share": "model",
    "StaleChange": "errors",
    "Standing": "model",
    "StoreBusy": "errors",
    "StoreClosed": "errors",
    "StoreDamaged": "errors",
    "StoreError": "errors",
    "StoreFull": "errors",
    "StoreReadOnly": "errors",
    "StoreReplaced": "errors",
    "StoreTooNew": "errors",
    "Succession": "model",
    "Trigger": "sleeping",
    "UnknownName": "errors",
    "UnreadableReply": "errors",
    "Why": "model",
    "WhyNot": "explain",
    "WrongVector": "errors",
    "reembed": "reembedding",
    "resegment": "resegmentation",
}

__all__ = [  # noqa: RUF022  # plainly sorted
    "Access",
    "Answer",
    "Backup",
    "Batch",
    "Consolidated",
    "Cost",
    "Cue",
    "E5",
    "EcphoraError",
    "EmbedderError",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "Episode",
    "Erased",
    "Evidence",
    "Fell",
    "Filter",
    "Guest",
    "Hashing",
    "History",
    "Hit",
    "IdCollision",
    "Insight",
    "InvalidInput",
    "InvalidRecord",
    "InvalidText",
    "InvalidTime",
    "LLMError",
    "LLMUnavailable",
    "LlamaCpp",
    "Memory",
    "MiniLM",
    "ModelDamaged",
    "Node",
    "OpenAIChat",
    "OpenAIEmbedder",
    "Recollection",
    "Remembered",
    "SQLite",
    "ScopeInfo",
    "SentenceTransformersEmbedder",
    "Share",
    "StaleChange",
    "Standing",
    "StoreBusy",
    "StoreClosed",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreReplaced",
    "StoreTooNew",
    "Succession",
    "Trigger",
    "UnknownName",
    "UnreadableReply",
    "Why",
    "WhyNot",
    "WrongVector",
    "reembed",
    "resegment",
]


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that ``import ecphora`` costs nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
