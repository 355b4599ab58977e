"""The rerankers fulfill their contract: over HTTP, in this process, asked of a language model, and with a fallback."""

import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora.errors import RerankerUnavailable
from ecphora.model.ports import Passage, Prompt, Reranker
from ecphora.models.embedders import onnx_runtime
from ecphora.models.rerankers.cross_encoder import CrossEncoderReranker
from ecphora.models.rerankers.fallback import FallbackReranker
from ecphora.models.rerankers.late_interaction import LateInteractionReranker
from ecphora.models.rerankers.llamacpp_reranker import LlamaCppReranker
from ecphora.models.rerankers.llm_judge import LLMReranker
from ecphora.models.rerankers.rerank_endpoint import SHAPES, EndpointReranker
from ecphora.testing import ConstantReranker, FakeRerankServer, OverlapReranker, RerankerContract, ScriptedLLM
from ecphora.testing.rerankers import ASKED_ON, rerank_response


class TestOverlap(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return OverlapReranker()


class TestConstant(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return ConstantReranker()

    def unavailable_reranker(self) -> Reranker:
        return ConstantReranker(error=RerankerUnavailable("it is broken"))


@pytest.mark.medium
class TestBuiltin(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return LateInteractionReranker()

    def unavailable_reranker(self) -> Reranker:
        return LateInteractionReranker(source=Path("no-such-folder"))


class TestRerankEndpoint(RerankerContract):
    tolerance = 1e-6  # a probability is rounded

    @pytest.fixture(params=list(SHAPES))
    def reranker(self, request: pytest.FixtureRequest) -> Iterator[Reranker]:
        with FakeRerankServer(request.param) as server:
            reranker = EndpointReranker("small", shape=request.param, base_url=server.url, batch_size=5)
            yield reranker
            reranker.close()

    def unavailable_reranker(self) -> Reranker:
        with FakeRerankServer("jina") as server:
            pass
        return EndpointReranker("small", shape="jina", base_url=server.url, sleep=lambda _: None)

    @pytest.mark.medium
    def test_scores_are_those_of_the_endpoint(self, reranker: Reranker) -> None:
        found = reranker.score(self.question, self.passages, asked_on=ASKED_ON)
        expected = OverlapReranker().score(self.question, self.passages, asked_on=ASKED_ON)
        np.testing.assert_allclose(found, expected, atol=1e-6)


class FakeCrossEncoder:
    """The part of ``CrossEncoder`` that the adapter uses; its own activation is a sigmoid."""

    def __init__(self, model: str, **_: object) -> None:
        if model == "none":
            raise OSError("no such model")

    def predict(self, pairs: list[tuple[str, str]], *, activation_fn: Any, **_: object) -> object:
        scores = [OverlapReranker().score(question, [Passage(text)], asked_on=ASKED_ON)[0] for question, text in pairs]
        return (activation_fn or (lambda logits: 1 / (1 + np.exp(-logits))))(np.array(scores, np.float32))


class TestCrossEncoder(RerankerContract):
    @pytest.fixture(autouse=True)
    def package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        package, torch, layers = (types.ModuleType(name) for name in ("sentence_transformers", "torch", "torch.nn"))
        monkeypatch.setattr(package, "CrossEncoder", FakeCrossEncoder, raising=False)
        monkeypatch.setattr(layers, "Identity", lambda: lambda logits: logits, raising=False)
        for module in (package, torch, layers):
            monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(onnx_runtime, "_registry", onnx_runtime._Registry())  # every test has its own model

    @pytest.fixture
    def reranker(self) -> Reranker:
        return CrossEncoderReranker("m")

    def unavailable_reranker(self) -> Reranker:
        return CrossEncoderReranker("none")

    def test_scores_are_logits(self, reranker: Reranker) -> None:
        found = reranker.score(self.question, self.passages, asked_on=ASKED_ON)
        assert np.array_equal(found, OverlapReranker().score(self.question, self.passages, asked_on=ASKED_ON))


class FakeEngine:
    """The part of xllamacpp's ``Server`` that the adapter uses; it reads up to 300 characters."""

    def __init__(self, params: Any) -> None:
        assert params.embedding
        assert params.n_ubatch == params.n_ctx

    def handle_rerank(self, request: dict[str, Any]) -> object:
        if max(map(len, request["documents"])) > 300:
            return {"error": {"code": 500, "message": "input is too large to process"}}
        return rerank_response("llama-server", {"model": "m", **request})


class TestLlamaCpp(RerankerContract):
    @pytest.fixture
    def reranker(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reranker:
        def params() -> types.SimpleNamespace:
            parts = ("model", "cpuparams", "cpuparams_batch")
            return types.SimpleNamespace(**{part: types.SimpleNamespace() for part in parts})

        package = types.ModuleType("xllamacpp")
        for name, value in {
            "Server": FakeEngine,
            "CommonParams": params,
            "llama_pooling_type": types.SimpleNamespace(LLAMA_POOLING_TYPE_RANK=4),
        }.items():
            monkeypatch.setattr(package, name, value, raising=False)
        monkeypatch.setitem(sys.modules, "xllamacpp", package)
        path = tmp_path / "tiny.gguf"
        path.write_bytes(b"GGUF and more")
        return LlamaCppReranker(path)

    def unavailable_reranker(self) -> Reranker:
        return LlamaCppReranker("nowhere.gguf")

    def test_long_passage_is_cut_until_it_fits(self, reranker: Reranker) -> None:
        passages = [Passage("Ana lives in Porto." + " and more" * 900), Passage("more " * 900 + "where Ana lives")]
        found = reranker.score("Where does Ana live?", passages, asked_on=ASKED_ON)
        assert found[0] > found[1] == -6


def grade(prompt: Prompt) -> dict[str, Any]:
    """A reply that grades 3 for a passage with the name, else 0."""
    passages = re.findall(r'<passage number="\d+">\n(.*?)\n</passage>', prompt.user, re.DOTALL)
    return {"grades": [3 if "Ana" in passage else 0 for passage in passages]}


class TestLLM(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return LLMReranker(ScriptedLLM(grade))

    def unavailable_reranker(self) -> Reranker:
        return LLMReranker(ScriptedLLM([], failing_calls=range(9)))


class TestFallback(RerankerContract):
    @pytest.fixture(params=[None, RerankerUnavailable("no")])
    def reranker(self, request: pytest.FixtureRequest) -> Reranker:
        return FallbackReranker(ConstantReranker(error=request.param), ConstantReranker(6.0))

    def unavailable_reranker(self) -> Reranker:
        broken = ConstantReranker(error=RerankerUnavailable("no"))
        return FallbackReranker(broken, broken)
