"""Spaces of data sets in temporary memories: those of :mod:`ecphora.maintenance.learn`, opened as ``Memory``."""

from contextlib import AbstractContextManager

from ecphora.maintenance.learn import query_spaces
from ecphora.maintenance.learn import temporary_memory as temporary_memories
from ecphora.maintenance.learn.datasets import Case
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.maintenance.learn.temporary_memory import SpaceClock, Tick
from ecphora.memory import Memory
from ecphora.model.ports import Embedder, Extractor, Strategy


def temporary_memory(
    case: Case,
    strategy: Strategy,
    embedder: Embedder,
    tick: Tick = lambda _steps: None,
    extractor: Extractor | None = None,
) -> AbstractContextManager[tuple[Memory, SpaceClock]]:
    """A temporary memory that holds a space, and its clock."""
    return temporary_memories.temporary_memory(Memory, case, strategy, embedder, tick=tick, extractor=extractor)


def build_query_space(
    case: Case,
    writer: Strategy,
    embedder: CachingEmbedder,
    tick: Tick = lambda _steps: None,
    extractor: Extractor | None = None,
) -> QuerySpace:
    """Remember a space with a strategy, and return its graph with its questions as queries."""
    return query_spaces.build_query_space(Memory, case, writer, embedder, tick=tick, extractor=extractor)
