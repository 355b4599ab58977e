"""Ecphora: associative long-term memory for LLM agents. Public names, nothing else.

Public besides are ``ecphora.errors``, ``ecphora.strategies`` and ``ecphora.testing``, and for those who extend Ecphora
``ecphora.model.ports``, ``ecphora.model.types`` and ``ecphora.model.conditions``. All other modules are private.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .aio import AsyncMemory, AsyncToolSet
    from .consolidation.run import ConsolidationResult
    from .errors import EcphoraError, InvalidInput
    from .maintenance.rechunking import rechunk
    from .maintenance.reembedding import reembed
    from .maintenance.scopes import clone_scope, copy_scopes, rename_scope
    from .memory import Memory
    from .model.ports import Prompt
    from .model.types import (
        Access,
        AccessKind,
        Backup,
        Contribution,
        CopyResult,
        Cost,
        EngramHit,
        Episode,
        Evidence,
        ExchangeHit,
        ExtractionReport,
        FactRelation,
        FactUpdate,
        Filter,
        ForgetResult,
        History,
        Hit,
        HitGroup,
        Include,
        Insight,
        InsightHit,
        Kind,
        LLMEstimate,
        LLMUsage,
        Mark,
        Media,
        MediaKind,
        MediaQuery,
        Node,
        Page,
        Query,
        RecallOptions,
        RememberResult,
        Rerank,
        ScopeInfo,
        TransferResult,
        UndoBatch,
        Validity,
        When,
        Why,
    )
    from .models.embedders.e5 import E5Embedder
    from .models.embedders.hashing import HashingEmbedder
    from .models.embedders.minilm import MiniLMEmbedder
    from .models.embedders.openai_embeddings import OpenAIEmbedder
    from .models.embedders.sentence_transformers import SentenceTransformersEmbedder
    from .models.llm_client import LLMClient
    from .models.llm_extractor import LLMExtractor
    from .models.llms.llamacpp import LlamaCppLLM
    from .models.llms.openai_chat import OpenAILLM
    from .recall.answering import Answer
    from .recall.explain import MissReason, WhyNot
    from .recall.lookup import Order
    from .recall.recollection import Recollection
    from .remember.documents import BlockedWarning
    from .remember.messages import MessageOptions
    from .remember.triggers import AutoConsolidate
    from .remote.client.async_remote_memory import AsyncRemoteMemory, connect_async
    from .remote.client.remote_memory import RemoteMemory, connect
    from .retrieval.confidence import EvidenceBands
    from .stores.sqlite import SQLiteStore
    from .strategies.weave.llm_oracle import LLMOracle, OracleReport
    from .tools.function_tools import ToolReply, ToolSet

__version__ = "0.1.0"

_HOMES = {
    "Access": "model.types",
    "AccessKind": "model.types",
    "Answer": "recall.answering",
    "AsyncMemory": "aio",
    "AsyncRemoteMemory": "remote.client.async_remote_memory",
    "AsyncToolSet": "aio",
    "AutoConsolidate": "remember.triggers",
    "Backup": "model.types",
    "BlockedWarning": "remember.documents",
    "ConsolidationResult": "consolidation.run",
    "Contribution": "model.types",
    "CopyResult": "model.types",
    "Cost": "model.types",
    "E5Embedder": "models.embedders.e5",
    "EcphoraError": "errors",
    "EngramHit": "model.types",
    "Episode": "model.types",
    "Evidence": "model.types",
    "EvidenceBands": "retrieval.confidence",
    "ExchangeHit": "model.types",
    "ExtractionReport": "model.types",
    "FactRelation": "model.types",
    "FactUpdate": "model.types",
    "Filter": "model.types",
    "ForgetResult": "model.types",
    "HashingEmbedder": "models.embedders.hashing",
    "History": "model.types",
    "Hit": "model.types",
    "HitGroup": "model.types",
    "Include": "model.types",
    "Insight": "model.types",
    "InsightHit": "model.types",
    "InvalidInput": "errors",
    "Kind": "model.types",
    "LLMClient": "models.llm_client",
    "LLMEstimate": "model.types",
    "LLMExtractor": "models.llm_extractor",
    "LLMOracle": "strategies.weave.llm_oracle",
    "LLMUsage": "model.types",
    "LlamaCppLLM": "models.llms.llamacpp",
    "Mark": "model.types",
    "Media": "model.types",
    "MediaKind": "model.types",
    "MediaQuery": "model.types",
    "Memory": "memory",
    "MessageOptions": "remember.messages",
    "MiniLMEmbedder": "models.embedders.minilm",
    "MissReason": "recall.explain",
    "Node": "model.types",
    "OpenAIEmbedder": "models.embedders.openai_embeddings",
    "OpenAILLM": "models.llms.openai_chat",
    "OracleReport": "strategies.weave.llm_oracle",
    "Order": "recall.lookup",
    "Page": "model.types",
    "Prompt": "model.ports",
    "Query": "model.types",
    "RecallOptions": "model.types",
    "Recollection": "recall.recollection",
    "RememberResult": "model.types",
    "RemoteMemory": "remote.client.remote_memory",
    "Rerank": "model.types",
    "SQLiteStore": "stores.sqlite",
    "ScopeInfo": "model.types",
    "SentenceTransformersEmbedder": "models.embedders.sentence_transformers",
    "ToolReply": "tools.function_tools",
    "ToolSet": "tools.function_tools",
    "TransferResult": "model.types",
    "UndoBatch": "model.types",
    "Validity": "model.types",
    "When": "model.types",
    "Why": "model.types",
    "WhyNot": "recall.explain",
    "clone_scope": "maintenance.scopes",
    "connect": "remote.client.remote_memory",
    "connect_async": "remote.client.async_remote_memory",
    "copy_scopes": "maintenance.scopes",
    "rechunk": "maintenance.rechunking",
    "reembed": "maintenance.reembedding",
    "rename_scope": "maintenance.scopes",
}

__all__ = [  # plainly sorted
    "Access",
    "AccessKind",
    "Answer",
    "AsyncMemory",
    "AsyncRemoteMemory",
    "AsyncToolSet",
    "AutoConsolidate",
    "Backup",
    "BlockedWarning",
    "ConsolidationResult",
    "Contribution",
    "CopyResult",
    "Cost",
    "E5Embedder",
    "EcphoraError",
    "EngramHit",
    "Episode",
    "Evidence",
    "EvidenceBands",
    "ExchangeHit",
    "ExtractionReport",
    "FactRelation",
    "FactUpdate",
    "Filter",
    "ForgetResult",
    "HashingEmbedder",
    "History",
    "Hit",
    "HitGroup",
    "Include",
    "Insight",
    "InsightHit",
    "InvalidInput",
    "Kind",
    "LLMClient",
    "LLMEstimate",
    "LLMExtractor",
    "LLMOracle",
    "LLMUsage",
    "LlamaCppLLM",
    "Mark",
    "Media",
    "MediaKind",
    "MediaQuery",
    "Memory",
    "MessageOptions",
    "MiniLMEmbedder",
    "MissReason",
    "Node",
    "OpenAIEmbedder",
    "OpenAILLM",
    "OracleReport",
    "Order",
    "Page",
    "Prompt",
    "Query",
    "RecallOptions",
    "Recollection",
    "RememberResult",
    "RemoteMemory",
    "Rerank",
    "SQLiteStore",
    "ScopeInfo",
    "SentenceTransformersEmbedder",
    "ToolReply",
    "ToolSet",
    "TransferResult",
    "UndoBatch",
    "Validity",
    "When",
    "Why",
    "WhyNot",
    "clone_scope",
    "connect",
    "connect_async",
    "copy_scopes",
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
