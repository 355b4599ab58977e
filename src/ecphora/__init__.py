"""Ecphora: associative long-term memory for LLM agents. Public names, nothing else."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .aio import AsyncMemory
    from .answering import Answer
    from .client import RemoteMemory, connect
    from .consolidation.triggers import AutoConsolidate
    from .consolidation_run import ConsolidationResult
    from .embedders.e5.e5_embedder import E5Embedder
    from .embedders.hashing import HashingEmbedder
    from .embedders.minilm import MiniLMEmbedder
    from .embedders.openai_embeddings import OpenAIEmbedder
    from .embedders.sentence_transformers import SentenceTransformersEmbedder
    from .errors import (
        AccessDenied,
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
        PluginError,
        ReaderUnavailable,
        ServerError,
        ServerUnavailable,
        StaleWrite,
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
    from .explain import MissReason, WhyNot
    from .function_tools import ToolReply, ToolSet
    from .llm_client import LLMClient
    from .llms.llamacpp import LlamaCppLLM
    from .llms.openai_chat import OpenAILLM
    from .lookup import Order
    from .memory import Memory
    from .messages import MessageOptions
    from .model import (
        Access,
        Backup,
        Contribution,
        Cost,
        Episode,
        Evidence,
        FactUpdate,
        Filter,
        ForgetResult,
        History,
        Hit,
        HitGroup,
        Insight,
        Node,
        Page,
        Query,
        RelationName,
        RememberResult,
        ScopeInfo,
        UndoBatch,
        Validity,
        When,
        Why,
    )
    from .recall_events import CandidatesFound, HitsRanked, RecallEnd, RecallEvent
    from .rechunking import rechunk
    from .recollection import Recollection
    from .reembedding import reembed
    from .scopes import clone_scope, rename_scope
    from .stages.retrieval.confidence import EvidenceBands
    from .stores.sqlite import SQLiteStore

__version__ = "0.1.0"

_HOMES = {
    "Access": "model",
    "AccessDenied": "errors",
    "Answer": "answering",
    "AsyncMemory": "aio",
    "AutoConsolidate": "consolidation.triggers",
    "Backup": "model",
    "CandidatesFound": "recall_events",
    "ConsolidationResult": "consolidation_run",
    "Contribution": "model",
    "Cost": "model",
    "E5Embedder": "embedders.e5.e5_embedder",
    "EcphoraError": "errors",
    "EmbedderError": "errors",
    "EmbedderMismatch": "errors",
    "EmbedderUnavailable": "errors",
    "Episode": "model",
    "Evidence": "model",
    "EvidenceBands": "stages.retrieval.confidence",
    "FactUpdate": "model",
    "Filter": "model",
    "ForgetResult": "model",
    "HashingEmbedder": "embedders.hashing",
    "History": "model",
    "Hit": "model",
    "HitGroup": "model",
    "HitsRanked": "recall_events",
    "IdCollision": "errors",
    "Insight": "model",
    "InvalidInput": "errors",
    "InvalidRecord": "errors",
    "InvalidText": "errors",
    "InvalidTime": "errors",
    "LLMClient": "llm_client",
    "LLMError": "errors",
    "LLMUnavailable": "errors",
    "LlamaCppLLM": "llms.llamacpp",
    "Memory": "memory",
    "MessageOptions": "messages",
    "MiniLMEmbedder": "embedders.minilm",
    "MissReason": "explain",
    "ModelDamaged": "errors",
    "Node": "model",
    "OpenAIEmbedder": "embedders.openai_embeddings",
    "OpenAILLM": "llms.openai_chat",
    "Order": "lookup",
    "Page": "model",
    "PluginError": "errors",
    "Query": "model",
    "ReaderUnavailable": "errors",
    "RecallEnd": "recall_events",
    "RecallEvent": "recall_events",
    "Recollection": "recollection",
    "RelationName": "model",
    "RememberResult": "model",
    "RemoteMemory": "client",
    "SQLiteStore": "stores.sqlite",
    "ScopeInfo": "model",
    "SentenceTransformersEmbedder": "embedders.sentence_transformers",
    "ServerError": "errors",
    "ServerUnavailable": "errors",
    "StaleWrite": "errors",
    "StoreBusy": "errors",
    "StoreClosed": "errors",
    "StoreDamaged": "errors",
    "StoreError": "errors",
    "StoreFull": "errors",
    "StoreReadOnly": "errors",
    "StoreReplaced": "errors",
    "StoreTooNew": "errors",
    "ToolReply": "function_tools",
    "ToolSet": "function_tools",
    "UndoBatch": "model",
    "UnknownName": "errors",
    "UnreadableReply": "errors",
    "Validity": "model",
    "When": "model",
    "Why": "model",
    "WhyNot": "explain",
    "WrongVector": "errors",
    "clone_scope": "scopes",
    "connect": "client",
    "rechunk": "rechunking",
    "reembed": "reembedding",
    "rename_scope": "scopes",
}

__all__ = [  # plainly sorted
    "Access",
    "AccessDenied",
    "Answer",
    "AsyncMemory",
    "AutoConsolidate",
    "Backup",
    "CandidatesFound",
    "ConsolidationResult",
    "Contribution",
    "Cost",
    "E5Embedder",
    "EcphoraError",
    "EmbedderError",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "Episode",
    "Evidence",
    "EvidenceBands",
    "FactUpdate",
    "Filter",
    "ForgetResult",
    "HashingEmbedder",
    "History",
    "Hit",
    "HitGroup",
    "HitsRanked",
    "IdCollision",
    "Insight",
    "InvalidInput",
    "InvalidRecord",
    "InvalidText",
    "InvalidTime",
    "LLMClient",
    "LLMError",
    "LLMUnavailable",
    "LlamaCppLLM",
    "Memory",
    "MessageOptions",
    "MiniLMEmbedder",
    "MissReason",
    "ModelDamaged",
    "Node",
    "OpenAIEmbedder",
    "OpenAILLM",
    "Order",
    "Page",
    "PluginError",
    "Query",
    "ReaderUnavailable",
    "RecallEnd",
    "RecallEvent",
    "Recollection",
    "RelationName",
    "RememberResult",
    "RemoteMemory",
    "SQLiteStore",
    "ScopeInfo",
    "SentenceTransformersEmbedder",
    "ServerError",
    "ServerUnavailable",
    "StaleWrite",
    "StoreBusy",
    "StoreClosed",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreReplaced",
    "StoreTooNew",
    "ToolReply",
    "ToolSet",
    "UndoBatch",
    "UnknownName",
    "UnreadableReply",
    "Validity",
    "When",
    "Why",
    "WhyNot",
    "WrongVector",
    "clone_scope",
    "connect",
    "rechunk",
    "reembed",
    "rename_scope",
]


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that ``import ecphora`` costs nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
