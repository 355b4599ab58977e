"""The embedder of sentence-transformers models."""

import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ecphora.errors import EmbedderUnavailable, InvalidInput, WrongVector
from ecphora.model.types import Vectors
from ecphora.models.embedders import onnx_runtime
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.models.embedders.sentence_transformers import SentenceTransformersEmbedder


def assert_unit(vectors: Vectors, texts: Sequence[str], dim: int) -> None:
    assert vectors.shape == (len(texts), dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


class Stub:
    """The part of ``SentenceTransformer`` that the adapter uses."""

    created: list[tuple[str, str | None]]
    requests: list[tuple[list[str], dict[str, Any]]]
    answer: Vectors | None

    def __init__(self, model: str, *, device: str | None) -> None:
        if model == "none":
            raise OSError("no such model")
        self.created.append((model, device))

    def encode(self, texts: list[str], **options: Any) -> Vectors:
        self.requests.append((texts, options))
        return HashingEmbedder(8).embed(texts) if self.answer is None else self.answer


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> type[Stub]:
    class FreshStub(Stub):
        pass

    FreshStub.created, FreshStub.requests, FreshStub.answer = [], [], None
    module = types.ModuleType("sentence_transformers")
    monkeypatch.setattr(module, "SentenceTransformer", FreshStub, raising=False)
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setattr(onnx_runtime, "_registry", onnx_runtime._Registry())  # every test has its own model
    return FreshStub


def test_sentence_transformers_load_once_and_use_prefixes(stub: type[Stub]) -> None:
    model = SentenceTransformersEmbedder("m", device="cpu", document_prefix="d:", query_prefix="q:", batch_size=4)
    assert not stub.created
    assert model.dim == 8
    assert_unit(model.embed(["a", "\ud800"]), ["a", ""], 8)
    model.embed(["a"], is_query=True)
    assert model.embed([]).shape == (0, 8)
    assert model.coverage("我们") == 1
    assert model.name == "m@sentence-transformers(d:|q:)"
    assert stub.created == [("m", "cpu")]
    assert [texts for texts, _ in stub.requests] == [["d:."], ["d:a", "d:?"], ["q:a"]]
    assert stub.requests[1][1]["normalize_embeddings"] is True
    assert stub.requests[1][1]["batch_size"] == 4


@pytest.mark.parametrize("answer", [np.zeros((2, 8)), np.ones((1, 9)), np.ones(8), np.full((1, 8), np.nan)])
def test_sentence_transformers_reject_invalid_vectors(stub: type[Stub], answer: Vectors) -> None:
    model = SentenceTransformersEmbedder("m")
    assert model.dim == 8
    stub.answer = answer
    with pytest.raises(WrongVector):
        model.embed(["a"])


def test_sentence_transformers_report_what_is_missing(stub: type[Stub], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EmbedderUnavailable, match="no such model"):
        SentenceTransformersEmbedder("none").embed(["a"])
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderUnavailable, match=r"ecphora\[sentence-transformers\]"):
        SentenceTransformersEmbedder("m").embed(["a"])
    with pytest.raises(InvalidInput, match="batch"):
        SentenceTransformersEmbedder("m", batch_size=0)
