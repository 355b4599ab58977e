"""What is measured, behind one protocol: a strategy of Ecphora, the comparison of all vectors, or another project.

An engine is made for an embedder that knows the questions. :class:`Ecphora` and :class:`Exact` need nothing else;
:mod:`.peers` has the others.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Protocol

import apsw
import numpy as np

from ecphora.memory import Memory
from ecphora.model.types import Episode, RecallOptions, Vectors

from ..strategy_variants import parse_strategy
from .synthetic import CUTOFF, DIM, Corpus, Question, SyntheticEmbedder, number_of

BATCH = 2_048
"""Memories that are written at a time."""
UNLOGGED = RecallOptions(log_access=False)


class Engine(Protocol):
    """A memory in a folder. ``build`` and ``open`` come first, in processes of their own."""

    def build(self, folder: Path, corpus: Corpus) -> None:
        """Write the memories of a corpus into an empty folder."""
        ...

    def open(self, folder: Path, corpus: Corpus) -> None:
        """Open what was built. An engine that keeps no files reads the memories again."""
        ...

    def recall(self, question: Question) -> Sequence[int]:
        """The numbers of the ``CUTOFF`` memories that belong to a question, best first."""
        ...

    def nearest(self, question: Question) -> Sequence[int]:
        """The numbers of the memories whose vectors are nearest, by the engine's own vector search."""
        ...

    def write(self, episode: Episode) -> None:
        """Write one memory, as durably as the engine can."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...

    def rebuild(self) -> bool:
        """Build again, after ``close``, what is derived; False if nothing is, so that building it is building all."""
        ...


class Ecphora:
    """A memory with a strategy, without reranker and update scorer. Nothing is consolidated."""

    def __init__(self, strategy: str, embedder: SyntheticEmbedder) -> None:
        self._strategy, self._embedder = parse_strategy(strategy), embedder

    def _open(self, folder: Path) -> Memory:
        return Memory(
            folder / "memory.db",
            embedder=self._embedder,
            reranker=None,
            update_scorer=None,
            strategy=self._strategy,
            zone="UTC",
        )

    def build(self, folder: Path, corpus: Corpus) -> None:
        with self._open(folder) as memory:
            for episodes in batches(corpus):
                memory.remember(episodes)

    def open(self, folder: Path, corpus: Corpus) -> None:
        del corpus
        self._folder = folder
        self._memory = self._open(folder)

    def recall(self, question: Question) -> list[int]:
        return known_numbers(hit.node.text for hit in self._memory.recall(question.text, limit=CUTOFF))

    def nearest(self, question: Question) -> list[int]:
        found = self._memory.recall(question.text, limit=CUTOFF, strategy="dense", options=UNLOGGED)
        return known_numbers(hit.node.text for hit in found)

    def write(self, episode: Episode) -> None:
        self._memory.remember(episode)

    def close(self) -> None:
        self._memory.close()

    def rebuild(self) -> bool:
        with apsw.Connection(str(self._folder / "memory.db")) as db:
            db.execute("DELETE FROM graph_snapshot")
        self._open(self._folder).close()
        return True


class Exact:
    """All vectors in one array of 32-bit floats, compared by one product. It keeps no texts."""

    def __init__(self, embedder: SyntheticEmbedder) -> None:
        self._embedder = embedder

    def build(self, folder: Path, corpus: Corpus) -> None:
        with (folder / "vectors").open("wb") as file:
            for _, vectors in corpus.vector_blocks():
                file.write(vectors.tobytes())

    def open(self, folder: Path, corpus: Corpus) -> None:
        del corpus
        path = folder / "vectors"
        self._vectors: Vectors = np.fromfile(path, np.float32).reshape(-1, DIM)
        self._file: BinaryIO = path.open("ab")

    def recall(self, question: Question) -> list[int]:
        return self.nearest(question)

    def nearest(self, question: Question) -> list[int]:
        scores = self._vectors @ question.vector
        count = min(CUTOFF, len(scores))
        best = np.argpartition(-scores, count - 1)[:count]
        numbers: list[int] = best[np.argsort(-scores[best])].tolist()
        return numbers

    def write(self, episode: Episode) -> None:
        self._file.write(self._embedder.embed([episode.text]).tobytes())
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def rebuild(self) -> bool:
        return False


def batches(corpus: Corpus) -> Iterator[list[Episode]]:
    """The memories of a corpus, ``BATCH`` at a time."""
    episodes = corpus.episodes()
    while batch := list(islice(episodes, BATCH)):
        yield batch


def known_numbers(texts: Iterable[str]) -> list[int]:
    """The numbers that texts of memories end in."""
    return [number for text in texts if (number := number_of(text)) is not None]
