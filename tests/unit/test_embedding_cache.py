"""The cache of embeddings: the same vectors, embedded once."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ecphora.errors import StoreError
from ecphora.maintenance.learn import embedding_cache
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.ports import english_embedder
from ecphora.model.types import Vectors
from ecphora.models.embedders.hashing import HashingEmbedder


class Counting(HashingEmbedder):
    """Records the texts it embeds; queries get other vectors."""

    def __init__(self, name: str = "counting", dim: int = 16) -> None:
        super().__init__(dim)
        self.name = name
        self.embedded: list[str] = []
        self.english_embedder: Counting | None = None

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        self.embedded += texts
        return super().embed([f"question: {text}" if is_query else text for text in texts])


def test_text_is_embedded_once_by_all_processes(tmp_path: Path) -> None:
    texts = ["one", "two", "one", "three"]
    first = Counting()
    with CachingEmbedder(first, tmp_path) as cached, CachingEmbedder(Counting(), tmp_path) as other:
        np.testing.assert_array_equal(cached.embed(texts), HashingEmbedder(16).embed(texts))
        assert first.embedded == ["one", "two", "three"]
        np.testing.assert_array_equal(other.embed(["three", "four"]), HashingEmbedder(16).embed(["three", "four"]))
        assert isinstance(other.embedder, Counting)
        assert other.embedder.embedded == ["four"]
        assert cached.embed([]).shape == (0, 16)
        assert (cached.name, cached.dim, cached.coverage("x")) == ("counting", 16, 1.0)


def test_english_vectors_are_cached_in_a_file_of_their_own(tmp_path: Path) -> None:
    pair, english = Counting("pair"), Counting("english", 8)
    pair.english_embedder = english
    with CachingEmbedder(pair, tmp_path) as cached:
        second = english_embedder(cached)
        assert second is not None
        for _ in range(2):
            assert (second.name, second.embed(["one"]).shape) == ("english", (1, 8))
    assert (english.embedded, pair.embedded) == (["one"], [])
    with pytest.raises(StoreError):  # closed with the other
        second.embed(["two"])
    with CachingEmbedder(Counting(), tmp_path) as alone:
        assert english_embedder(alone) is None


def test_cache_embeds_more_texts_than_one_query_or_commit_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_cache, "KEYS_PER_QUERY", 3)
    monkeypatch.setattr(embedding_cache, "COMMIT_SIZE", 4)
    texts = [f"text {n}" for n in range(11)]
    with CachingEmbedder(Counting(), tmp_path) as cached:
        for _ in range(2):
            np.testing.assert_array_equal(cached.embed(texts), HashingEmbedder(16).embed(texts))


def test_questions_are_cached_apart_from_texts(tmp_path: Path) -> None:
    embedder = Counting()
    with CachingEmbedder(embedder, tmp_path) as cached:
        for is_query in (False, True, False, True):
            cached.embed(["one"], is_query=is_query)
    assert embedder.embedded == ["one"] * 2


def test_embedders_have_separate_files(tmp_path: Path) -> None:
    with CachingEmbedder(Counting("a/b"), tmp_path) as one, CachingEmbedder(Counting("a-b"), tmp_path) as two:
        assert one.path.name == "a%2Fb.db"
        assert two.path.parent == one.path.parent == tmp_path


def test_vectors_of_another_size_are_embedded_again(tmp_path: Path) -> None:
    with CachingEmbedder(Counting(dim=8), tmp_path) as cached:
        cached.embed(["one"])
    with CachingEmbedder(Counting(dim=16), tmp_path) as cached:
        assert cached.embed(["one"]).shape == (1, 16)


def test_default_path_is_in_the_user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_cache, "user_cache_dir", lambda name: str(tmp_path / name))
    with CachingEmbedder(Counting()) as cached:
        assert cached.path == tmp_path / "ecphora" / "embeddings" / "counting.db"


def test_broken_cache_error_says_how_to_repair_it(tmp_path: Path) -> None:
    (tmp_path / "counting.db").write_bytes(b"no database" * 1_000)
    with pytest.raises(StoreError, match=r"counting\.db cannot be used .*delete it"):
        CachingEmbedder(Counting(), tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be used"):
        CachingEmbedder(Counting(), tmp_path / "file")
