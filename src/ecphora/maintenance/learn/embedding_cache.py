"""Keeps embeddings between runs, by content, in the user's cache, so a second bench run does not embed again."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import apsw
import numpy as np
from platformdirs import user_cache_dir

from ...errors import StoreError
from ...model.ports import Embedder, embedder_coverage, english_embedder, similarity_floor
from ...model.types import Vector, Vectors

BUSY_TIMEOUT_MS = 60_000
"""Milliseconds to wait for another process that fills the same cache."""
KEYS_PER_QUERY = 500
"""Keys looked up in one SQL query."""
COMMIT_SIZE = 256
"""Texts embedded between two commits: the most that an interrupted run loses."""


class CachingEmbedder:
    """An embedder that caches its vectors.

    One SQLite file an embedder, ``<folder>/<name, percent-encoded>.db``; without ``folder`` that is ``embeddings`` in
    the user's cache of this package. Key: BLAKE2b of the text, 16 bytes; value: the vector as 32-bit floats. Any number
    of processes may share it. Questions are cached apart from texts, as an embedder may embed them otherwise.
    """

    def __init__(self, embedder: Embedder, folder: Path | None = None) -> None:
        self.embedder = embedder
        folder = Path(user_cache_dir("ecphora"), "embeddings") if folder is None else folder
        second = english_embedder(embedder)
        self.english_embedder = None if second is None else CachingEmbedder(second, folder)
        """The wrapped embedder's embedder of English vectors, with a cache of its own."""
        self.path = folder / f"{quote(embedder.name, safe='')}.db"
        with self._wrap_errors():
            folder.mkdir(parents=True, exist_ok=True)
            self._db = apsw.Connection(str(self.path))
            self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
            self._db.execute("PRAGMA journal_mode = WAL").fetchall()
            self._db.execute("PRAGMA synchronous = NORMAL").fetchall()
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"
            ).fetchall()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; closing twice is harmless."""
        self._db.close()
        if self.english_embedder is not None:
            self.english_embedder.close()

    @property
    def name(self) -> str:
        """The name of the wrapped embedder: the vectors are the same."""
        return self.embedder.name

    @property
    def dim(self) -> int:
        """The length of every vector."""
        return self.embedder.dim

    @property
    def similarity_floor(self) -> float:
        """The cosine at which the wrapped embedder takes two texts as unrelated."""
        return similarity_floor(self.embedder)

    def coverage(self, text: str, /) -> float:
        """How much of the text the wrapped embedder can read, in 0..1."""
        return embedder_coverage(self.embedder, text)

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """The vectors of texts, shape ``(len(texts), dim)``; those not cached yet are embedded and stored."""
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        keys = [self._key(text, is_query=is_query) for text in texts]
        with self._wrap_errors():
            vectors_by_key = dict(self._load(list(dict.fromkeys(keys))))
        text_by_key = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors_by_key}
        missing = list(text_by_key)
        for start in range(0, len(missing), COMMIT_SIZE):
            batch = missing[start : start + COMMIT_SIZE]
            new_vectors = self.embedder.embed([text_by_key[key] for key in batch], is_query=is_query)
            vectors_by_key.update(zip(batch, new_vectors, strict=True))
            with self._wrap_errors(), self._db:
                rows = [(key, vector.astype("<f4").tobytes()) for key, vector in zip(batch, new_vectors, strict=True)]
                self._db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", rows)
        return np.stack([vectors_by_key[key] for key in keys])

    def _key(self, text: str, *, is_query: bool) -> bytes:
        mark = b"\x00cue" if is_query else b""
        return blake2b(mark + text.encode(), digest_size=16).digest()

    def _load(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, Vector]]:
        for start in range(0, len(keys), KEYS_PER_QUERY):
            chunk = tuple(keys[start : start + KEYS_PER_QUERY])
            marks = ", ".join("?" * len(chunk))
            query = f"SELECT key, value FROM vector WHERE key IN ({marks})"  # noqa: S608  # question marks only
            for key, value in self._db.execute(query, chunk):
                if isinstance(key, bytes) and isinstance(value, bytes) and len(value) == 4 * self.dim:
                    yield key, np.frombuffer(value, "<f4").astype(np.float32)

    @contextmanager
    def _wrap_errors(self) -> Iterator[None]:
        try:
            yield
        except (apsw.Error, OSError) as error:
            raise StoreError(
                f"the cache of embeddings {self.path} cannot be used ({error}); delete it, or repair its folder"
            ) from error
