"""Other projects as engines: each stores the same texts and vectors, on this machine only.

``benchmarks/peers.txt`` has the versions. A project is imported when its engine is made; its telemetry is off. Each
recall is the hybrid one of the project, of words and vectors, where it has one.
"""

import importlib.util
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import apsw

from ecphora.errors import InvalidInput
from ecphora.model.types import Episode

from .engines import Ecphora, Engine, Exact, batches, known_numbers
from .synthetic import CUTOFF, DIM, Corpus, Question, SyntheticEmbedder

os.environ |= {"MEM0_TELEMETRY": "False", "ANONYMIZED_TELEMETRY": "False", "LANGSMITH_TRACING": "false"}

CANDIDATES = 50
"""Memories of each ranking that a fusion reads, where the project leaves this to its user."""
RRF_K = 60
"""The constant of reciprocal rank fusion, as published."""


def fuse(*rankings: Sequence[int]) -> list[int]:
    """Reciprocal rank fusion of rankings, the best ``CUTOFF``."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, number in enumerate(ranking, 1):
            scores[number] = scores.get(number, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda number: -scores[number])[:CUTOFF]


class SqliteVec:
    """sqlite-vec and FTS5 in one file, each the best 50, fused here."""

    def __init__(self, embedder: SyntheticEmbedder) -> None:
        import sqlite_vec

        self._embedder, self._extension = embedder, sqlite_vec.loadable_path()

    def _connect(self, folder: Path) -> apsw.Connection:
        db = apsw.Connection(str(folder / "memories.db"))
        db.enable_load_extension(True)
        db.load_extension(self._extension)
        db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        return db

    def build(self, folder: Path, corpus: Corpus) -> None:
        db = self._connect(folder)
        db.execute(
            f"CREATE VIRTUAL TABLE vectors USING vec0(vector float[{DIM}] distance_metric=cosine);"
            "CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61')"
        )
        for episodes in batches(corpus):
            with db:
                self._add(db, episodes)
        db.close()

    def _add(self, db: apsw.Connection, episodes: Sequence[Episode]) -> None:
        texts = [episode.text for episode in episodes]
        numbers = known_numbers(texts)
        vectors = self._embedder.embed(texts)
        db.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", zip(numbers, texts, strict=True))
        rows = [(number, vector.tobytes()) for number, vector in zip(numbers, vectors, strict=True)]
        db.executemany("INSERT INTO vectors (rowid, vector) VALUES (?, ?)", rows)

    def open(self, folder: Path, corpus: Corpus) -> None:
        del corpus
        self._folder, self._db = folder, self._connect(folder)

    def recall(self, question: Question) -> list[int]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
        matches = self._db.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (words, CANDIDATES)
        )
        return fuse(self._nearest(question, CANDIDATES), [number for (number,) in matches])

    def nearest(self, question: Question) -> list[int]:
        return self._nearest(question, CUTOFF)

    def _nearest(self, question: Question, count: int) -> list[int]:
        (vector,) = self._embedder.embed([question.text], is_query=True)
        found = self._db.execute(
            "SELECT rowid FROM vectors WHERE vector MATCH ? AND k = ? ORDER BY distance", (vector.tobytes(), count)
        )
        return [number for (number,) in found]

    def write(self, episode: Episode) -> None:
        with self._db:
            self._add(self._db, [episode])

    def close(self) -> None:
        self._db.close()

    def rebuild(self) -> bool:
        db = self._connect(self._folder)
        db.execute("INSERT INTO texts (texts) VALUES ('rebuild')")
        db.close()
        return True


class LanceDb:
    """LanceDB: its hybrid search, of vectors without an index and of words with one, and its rank fusion."""

    def __init__(self, embedder: SyntheticEmbedder) -> None:
        import lancedb
        from lancedb.rerankers import RRFReranker

        self._embedder, self._lancedb, self._reranker = embedder, lancedb, RRFReranker()

    def build(self, folder: Path, corpus: Corpus) -> None:
        db = self._lancedb.connect(str(folder))
        pages = batches(corpus)
        table = db.create_table("memories", self._rows(next(pages)))
        for episodes in pages:
            table.add(self._rows(episodes))
        table.create_fts_index("text")
        table.optimize()

    def _rows(self, episodes: Sequence[Episode]) -> list[dict[str, Any]]:
        texts = [episode.text for episode in episodes]
        return [
            {"text": text, "vector": vector} for text, vector in zip(texts, self._embedder.embed(texts), strict=True)
        ]

    def open(self, folder: Path, corpus: Corpus) -> None:
        del corpus
        self._folder = folder
        self._table = self._lancedb.connect(str(folder)).open_table("memories")

    def recall(self, question: Question) -> list[int]:
        (vector,) = self._embedder.embed([question.text], is_query=True)
        search = self._table.search(query_type="hybrid").vector(vector).text(question.text)
        found = search.distance_type("cosine").rerank(self._reranker).limit(CUTOFF).to_list()
        return known_numbers(row["text"] for row in found)

    def nearest(self, question: Question) -> list[int]:
        (vector,) = self._embedder.embed([question.text], is_query=True)
        found = self._table.search(vector).distance_type("cosine").limit(CUTOFF).to_list()
        return known_numbers(row["text"] for row in found)

    def write(self, episode: Episode) -> None:
        self._table.add(self._rows([episode]))

    def close(self) -> None:
        del self._table

    def rebuild(self) -> bool:
        self._lancedb.connect(str(self._folder)).open_table("memories").create_fts_index("text", replace=True)
        return True


class Chroma:
    """Chroma: its persistent client, which searches vectors only."""

    def __init__(self, embedder: SyntheticEmbedder) -> None:
        import chromadb

        self._embedder, self._chromadb = embedder, chromadb

    def _collection(self, folder: Path) -> Any:
        settings = self._chromadb.Settings(anonymized_telemetry=False)
        self._client = self._chromadb.PersistentClient(str(folder), settings=settings)
        return self._client.get_or_create_collection(
            "memories", embedding_function=None, metadata={"hnsw:space": "cosine"}
        )

    def build(self, folder: Path, corpus: Corpus) -> None:
        collection = self._collection(folder)
        for episodes in batches(corpus):
            self._add(collection, episodes)

    def _add(self, collection: Any, episodes: Sequence[Episode]) -> None:
        texts = [episode.text for episode in episodes]
        ids = [str(number) for number in known_numbers(texts)]
        collection.add(ids=ids, embeddings=self._embedder.embed(texts), documents=texts)

    def open(self, folder: Path, corpus: Corpus) -> None:
        del corpus
        self._open_collection = self._collection(folder)

    def recall(self, question: Question) -> list[int]:
        vectors = self._embedder.embed([question.text], is_query=True)
        found = self._open_collection.query(query_embeddings=vectors, n_results=CUTOFF, include=["documents"])
        return known_numbers(found["documents"][0])

    def nearest(self, question: Question) -> list[int]:
        return self.recall(question)

    def write(self, episode: Episode) -> None:
        self._add(self._open_collection, [episode])

    def close(self) -> None:
        del self._open_collection, self._client

    def rebuild(self) -> bool:
        return False


class LlamaIndex:
    """LlamaIndex: its vector index and BM25, each the best 50, by its fusion retriever; kept in memory, saved as files.

    A write is durable when all files are written again.
    """

    def __init__(self, embedder: SyntheticEmbedder) -> None:
        from llama_index.core.base.embeddings.base import BaseEmbedding

        class Vectors(BaseEmbedding):  # type: ignore[misc, unused-ignore]
            def _get_query_embedding(self, query: str) -> list[float]:
                numbers: list[float] = embedder.embed([query], is_query=True)[0].tolist()
                return numbers

            def _get_text_embedding(self, text: str) -> list[float]:
                return self._get_query_embedding(text)

            async def _aget_query_embedding(self, query: str) -> list[float]:
                return self._get_query_embedding(query)

        self._embedder, self._model = embedder, Vectors()

    def _nodes(self, episodes: Iterable[Episode]) -> list[Any]:
        from llama_index.core.schema import TextNode

        texts = [episode.text for episode in episodes]
        vectors = self._embedder.embed(texts)
        return [TextNode(text=text, embedding=vector.tolist()) for text, vector in zip(texts, vectors, strict=True)]

    def build(self, folder: Path, corpus: Corpus) -> None:
        from llama_index.core import VectorStoreIndex
        from llama_index.retrievers.bm25 import BM25Retriever

        nodes = list(chain.from_iterable(map(self._nodes, batches(corpus))))
        index = VectorStoreIndex(nodes, embed_model=self._model)
        self._save(folder, index, BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=CANDIDATES))

    @staticmethod
    def _save(folder: Path, index: Any, words: Any) -> None:
        index.storage_context.persist(str(folder))
        words.persist(str(folder / "bm25"))

    def open(self, folder: Path, corpus: Corpus) -> None:
        from llama_index.core import StorageContext, load_index_from_storage
        from llama_index.retrievers.bm25 import BM25Retriever

        del corpus
        self._folder = folder
        storage = StorageContext.from_defaults(persist_dir=str(folder))
        self._index = load_index_from_storage(storage, embed_model=self._model)
        self._words = BM25Retriever.from_persist_dir(str(folder / "bm25"))
        self._fuse()

    def _fuse(self) -> None:
        from llama_index.core.llms import MockLLM
        from llama_index.core.retrievers import QueryFusionRetriever

        retrievers = [self._index.as_retriever(similarity_top_k=CANDIDATES), self._words]
        self._retriever = QueryFusionRetriever(
            retrievers,
            llm=MockLLM(),
            mode="reciprocal_rerank",
            similarity_top_k=CUTOFF,
            num_queries=1,
            use_async=False,
        )

    def recall(self, question: Question) -> list[int]:
        return known_numbers(found.node.text for found in self._retriever.retrieve(question.text))

    def nearest(self, question: Question) -> list[int]:
        retriever = self._index.as_retriever(similarity_top_k=CUTOFF)
        return known_numbers(found.node.text for found in retriever.retrieve(question.text))

    def write(self, episode: Episode) -> None:
        self._index.insert_nodes(self._nodes([episode]))
        self._index_words()
        self._save(self._folder, self._index, self._words)

    def _index_words(self) -> None:
        from llama_index.retrievers.bm25 import BM25Retriever

        nodes = list(self._index.docstore.docs.values())
        self._words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=CANDIDATES)
        self._fuse()

    def close(self) -> None:
        pass

    def rebuild(self) -> bool:
        self._index_words()
        return True


class Mem0:
    """mem0 with ``infer=False`` and its local Qdrant; the embedder is put in place of its own.

    Its search of words needs a model from a server, so it has none here.
    """

    def __init__(self, embedder: SyntheticEmbedder) -> None:
        import mem0

        self._embedder, self._mem0 = embedder, mem0
        os.environ.setdefault("OPENAI_API_KEY", "none: nothing is asked")

    def _memory(self, folder: Path) -> Any:
        store = {"collection_name": "memories", "path": str(folder / "qdrant"), "on_disk": True}
        config = {
            "vector_store": {"provider": "qdrant", "config": {**store, "embedding_model_dims": DIM}},
            "history_db_path": str(folder / "history.db"),
        }
        memory = self._mem0.Memory.from_config(config)
        memory.embedding_model = _Mem0Embedder(self._embedder)
        return memory

    def build(self, folder: Path, corpus: Corpus) -> None:
        memory = self._memory(folder)
        for episode in corpus.episodes():
            memory.add(episode.text, user_id="user", infer=False)
        _close_mem0(memory)

    def open(self, folder: Path, corpus: Corpus) -> None:
        del corpus
        self._open_memory = self._memory(folder)

    def recall(self, question: Question) -> list[int]:
        found = self._open_memory.search(question.text, filters={"user_id": "user"}, top_k=CUTOFF, threshold=0.0)
        return known_numbers(row["memory"] for row in found["results"])

    def nearest(self, question: Question) -> list[int]:
        (vector,) = self._embedder.embed([question.text], is_query=True)
        found = self._open_memory.vector_store.search(
            query=question.text, vectors=vector.tolist(), top_k=CUTOFF, filters={"user_id": "user"}
        )
        return known_numbers(point.payload["data"] for point in found)

    def write(self, episode: Episode) -> None:
        self._open_memory.add(episode.text, user_id="user", infer=False)

    def close(self) -> None:
        _close_mem0(self._open_memory)

    def rebuild(self) -> bool:
        return False


def _close_mem0(memory: Any) -> None:
    memory.vector_store.client.close()
    memory.close()


class _Mem0Embedder:
    """The embedder as mem0 calls it."""

    def __init__(self, embedder: SyntheticEmbedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        del memory_action
        numbers: list[float] = self._embedder.embed([text])[0].tolist()
        return numbers

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        del memory_action
        numbers: list[list[float]] = self._embedder.embed(texts).tolist()
        return numbers


class LangGraph:
    """LangGraph's ``InMemoryStore`` with an index of vectors. It keeps no files, so opening it stores all again."""

    NAMESPACE = ("memories",)

    def __init__(self, embedder: SyntheticEmbedder) -> None:
        from langgraph.store.memory import InMemoryStore

        self._embedder, self._store_type = embedder, InMemoryStore

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        numbers: list[list[float]] = self._embedder.embed(list(texts)).tolist()
        return numbers

    def build(self, folder: Path, corpus: Corpus) -> None:
        del folder, corpus

    def open(self, folder: Path, corpus: Corpus) -> None:
        from langgraph.store.base import PutOp

        del folder
        self._store = self._store_type(index={"dims": DIM, "embed": self._embed, "fields": ["text"]})
        for episodes in batches(corpus):
            numbers = known_numbers(episode.text for episode in episodes)
            self._store.batch(
                PutOp(self.NAMESPACE, str(number), {"text": episode.text})
                for number, episode in zip(numbers, episodes, strict=True)
            )

    def recall(self, question: Question) -> list[int]:
        found = self._store.search(self.NAMESPACE, query=question.text, limit=CUTOFF)
        return known_numbers(item.value["text"] for item in found)

    def nearest(self, question: Question) -> list[int]:
        return self.recall(question)

    def write(self, episode: Episode) -> None:
        self._store.put(self.NAMESPACE, episode.text[-9:], {"text": episode.text})

    def close(self) -> None:
        del self._store

    def rebuild(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Peer:
    """A project: its engine, the modules that must be there, and the package whose version is shown."""

    engine: Callable[[SyntheticEmbedder], Engine]
    modules: tuple[str, ...]
    package: str

    @property
    def is_installed(self) -> bool:
        """Whether all its modules are there; nothing is imported but the packages they are in."""
        return all(_has_module(name) for name in self.modules)


def _has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


PEERS: Mapping[str, Peer] = {
    "lancedb": Peer(LanceDb, ("lancedb",), "lancedb"),
    "sqlite-vec": Peer(SqliteVec, ("sqlite_vec",), "sqlite-vec"),
    "chroma": Peer(Chroma, ("chromadb",), "chromadb"),
    "langgraph": Peer(LangGraph, ("langgraph.store.memory",), "langgraph-checkpoint"),
    "llama-index": Peer(LlamaIndex, ("llama_index.core", "llama_index.retrievers.bm25"), "llama-index-core"),
    "mem0": Peer(Mem0, ("mem0", "qdrant_client"), "mem0ai"),
}
"""The other projects, by the name that the command takes."""
EXACT = "exact"
"""The name of the comparison of all vectors."""


def make_engine(name: str, embedder: SyntheticEmbedder) -> Engine:
    """The engine of a strategy, of a peer, or :class:`Exact`; raises ``InvalidInput`` for a peer not installed."""
    if name == EXACT:
        return Exact(embedder)
    if name not in PEERS:
        return Ecphora(name, embedder)
    if not PEERS[name].is_installed:
        raise InvalidInput(f"{name} is not installed; pip install -r benchmarks/peers.txt")
    return PEERS[name].engine(embedder)
