"""Language models for tests: a scripted model, a scripted server, and the contract of language models."""
# ruff: noqa: S101  # these are tests

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

from ..errors import LLMUnavailable
from ..language.terms import estimate_tokens
from ..model.ports import LLM, Prompt, Reply
from ..models.prompts import replies
from .servers import FakeServer, Response, ScriptedResponse

ScriptedReply = str | Mapping[str, Any] | Sequence[Any]
"""A reply: a text, or any value to send as JSON."""


class ScriptedLLM:
    """A language model with scripted replies; ``prompts`` records the prompts.

    ``script`` is a list of replies, given in turn, or a function of the prompt. The calls numbered in
    ``failing_calls``, from 0, raise ``LLMUnavailable`` and use up no reply. A call beyond the list fails the test.
    """

    def __init__(
        self,
        script: Sequence[ScriptedReply] | Callable[[Prompt], ScriptedReply],
        *,
        failing_calls: Collection[int] = (),
        name: str = "scripted",
    ) -> None:
        self.name = name
        self.prompts: list[Prompt] = []
        self._script = script if callable(script) else list(script)
        self._failing_calls = failing_calls
        self._lock = Lock()

    def complete(self, prompt: Prompt, /) -> Reply:
        """Return the next reply; it takes no time and costs nothing, its tokens are estimated."""
        with self._lock:
            call = len(self.prompts)
            self.prompts.append(prompt)
            if call in self._failing_calls:
                raise LLMUnavailable(f"call {call} fails by the script")
            if callable(self._script):
                reply = self._script(prompt)
            else:
                assert self._script, f"call {call} is not in the script: {prompt.user[:200]!r}"
                reply = self._script.pop(0)
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        return Reply(text, estimate_tokens(prompt.system) + estimate_tokens(prompt.user), estimate_tokens(text), 0.0)


class FakeChatServer(FakeServer):
    """An OpenAI-compatible server of a language model; ``url`` is its address, which ends before the path.

    A response that is a text is the text of a reply.
    """

    def __init__(self, *responses: str | Response | Callable[[dict[str, Any]], str | Response]) -> None:
        super().__init__("/v1/chat/completions", *responses)
        self.url = f"{self.address}/v1"

    def complete_response(self, scripted: ScriptedResponse) -> Response:
        """A full response for a scripted response that may be the text of a reply."""
        return super().complete_response(chat_completion(scripted) if isinstance(scripted, str) else scripted)


def chat_completion(text: str, tokens_in: int = 11, tokens_out: int = 7) -> dict[str, Any]:
    """Return a reply in the format of OpenAI's server."""
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


class LLMContract:
    """The contract of every language model. The fixture ``llm`` returns the one to test; it need not be clever.

    ``unavailable_llm`` returns a language model that cannot answer, if there is such a thing.
    """

    texts: Sequence[str] = ("Hello.", "你好", "👋", "\ud800", "\0", "<|im_end|>", '"}', "word " * 200)
    """The prompts: texts of every kind."""
    schema: Mapping[str, Any] = {
        "type": "object",
        "properties": {"held": {"type": "boolean"}},
        "required": ["held"],
        "additionalProperties": False,
    }

    def unavailable_llm(self) -> LLM | None:
        """Return a language model that cannot answer, or None."""
        return None

    def test_has_name(self, llm: LLM) -> None:
        """The name has no surrounding white space."""
        assert llm.name
        assert llm.name == llm.name.strip()

    def test_reply_has_usage(self, llm: LLM) -> None:
        """A reply has a text and its token counts, seconds and cost."""
        for text in self.texts:
            _assert_reply(llm.complete(Prompt("Reply in a word.", text, max_tokens=4)))
        _assert_reply(llm.complete(Prompt("", "Hello.", max_tokens=4)))

    def test_reply_follows_schema(self, llm: LLM) -> None:
        """A reply to a prompt with a schema can be parsed."""
        prompt = Prompt('Reply with JSON: {"held": true}', "Is water wet?", self.schema, max_tokens=40)
        assert isinstance(replies.parse_json(llm.complete(prompt).text, self.schema)["held"], bool)

    def test_completes_concurrently(self, llm: LLM) -> None:
        """Every prompt of several threads is answered."""
        prompts = [Prompt("Reply in a word.", f"Say {number}.", max_tokens=4) for number in range(8)]
        with ThreadPoolExecutor(4) as pool:
            for reply in pool.map(llm.complete, prompts):
                _assert_reply(reply)

    def test_unavailable_raises_llm_unavailable(self) -> None:
        """Every call raises ``LLMUnavailable`` with a message."""
        llm = self.unavailable_llm()
        if llm is None:
            return
        for _ in range(2):
            message = ""
            try:
                llm.complete(Prompt("", "Hello."))
            except LLMUnavailable as error:
                message = str(error)
            assert message, "it answered, or did not say what is wrong"


def _assert_reply(reply: Reply) -> None:
    assert isinstance(reply.text, str)
    assert reply.tokens_in > 0
    assert reply.tokens_out >= 0
    assert reply.seconds >= 0
    assert reply.cost_usd >= 0
