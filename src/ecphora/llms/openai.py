"""Any server that answers ``POST /v1/chat/completions`` as OpenAI does: hosted ones, vLLM, Ollama, llama.cpp.

The request and its answer: https://platform.openai.com/docs/api-reference/chat. Needs the extra ``[openai]``.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InvalidInput, LLMUnavailable
from ..language.tokens import tokens
from ..ports import Prompt, Reply
from ..reprs import call_repr
from ..served import OPENAI, Refusal, Server, sendable
from ..validate import check_count, check_items, check_name, check_number

SCHEMA, OBJECT, NOTHING = "json_schema", "json_object", "none"
"""How a reply's form is asked for: by its schema, as any JSON, or in words only."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server takes of what can be asked of it; ``limit`` is how it calls the bound of a reply."""

    form: str = SCHEMA
    limit: str = "max_tokens"
    temperature: bool = True
    seed: bool = True

    def without(self, refusal: Refusal, prompt: Prompt) -> Iterator["Dialect"]:
        """What may be taken instead of what was refused, the likeliest first."""
        said = refusal.message.lower()
        if self.limit == "max_tokens" and "max_completion_tokens" in said:
            yield replace(self, limit="max_completion_tokens")
        if self.temperature and "temperature" in said:
            yield replace(self, temperature=False)
        if self.seed and "seed" in said:
            yield replace(self, seed=False)
        if prompt.schema is not None and self.form != NOTHING:
            yield replace(self, form=OBJECT if self.form == SCHEMA else NOTHING)


class OpenAIChat:
    """A model behind an OpenAI-compatible server; nothing is sent before the first ``complete``.

    ``base_url`` ends before ``/chat/completions``. ``api_key`` is sent as a bearer token, where there is one.
    ``prices`` are US dollars for a million tokens in and out, by which money is counted. A request may take ``timeout``
    seconds; after an answer of 429 or 5xx, or none, it is sent again up to ``retries`` times. The temperature is 0.
    What the server refuses, such as a schema, is left out and asked for in words from then on. ``sleep`` takes seconds.
    Safe to share between threads.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI,
        api_key: str | None = None,
        prices: tuple[float, float] = (0.0, 0.0),
        seed: int = 0,
        timeout: float = 60.0,
        retries: int = 2,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        pair = [check_number("a price", one, least=0) for one in check_items("prices", prices, "two numbers")]
        if len(pair) != 2:
            raise InvalidInput(f"prices has {len(pair)} numbers; give two, for a million tokens in and out")
        self.name = f"{check_name('model', model)}@openai"
        self._model = model
        self._prices = (pair[0], pair[1])
        self._seed = check_count("seed", seed, least=0)
        self._dialect = Dialect()
        self._server = Server(
            model,
            base_url=base_url,
            path="chat/completions",
            api_key=api_key,
            timeout=timeout,
            retries=retries,
            error=LLMUnavailable,
            fails="gives no reply",
            sleep=sleep,
        )

    def __repr__(self) -> str:
        return call_repr("OpenAIChat", self._model)

    def complete(self, prompt: Prompt, /) -> Reply:
        """Answer a prompt; raises ``LLMUnavailable`` where httpx is missing, or the server is silent or refuses."""
        started = time.perf_counter()
        dialect = self._dialect
        while isinstance(answer := self._server.try_post(self._body(prompt, dialect)), Refusal):
            easier = next(dialect.without(answer, prompt), None)
            if easier is None:
                raise self._server.failure(answer)
            dialect = easier
        self._dialect = dialect  # only what was taken is kept: a prompt may be refused for what it says, too
        return self._reply(prompt, answer, time.perf_counter() - started)

    def close(self) -> None:
        """Let go of the connections; a later ``complete`` makes new ones."""
        self._server.close()

    def _body(self, prompt: Prompt, dialect: Dialect) -> dict[str, Any]:
        system = prompt.system
        body: dict[str, Any] = {"model": self._model, dialect.limit: prompt.limit, "stream": False}
        if dialect.temperature:
            body["temperature"] = 0
        if dialect.seed:
            body["seed"] = self._seed
        if prompt.schema is not None and dialect.form == SCHEMA:
            form = {"name": "reply", "strict": True, "schema": prompt.schema}
            body["response_format"] = {"type": SCHEMA, SCHEMA: form}
        elif prompt.schema is not None:
            system += f"\n\nReply with JSON of this schema:\n{json.dumps(prompt.schema)}"
            if dialect.form == OBJECT:
                body["response_format"] = {"type": OBJECT}
        messages = [{"role": "system", "content": sendable(system)}] if system else []
        return {**body, "messages": [*messages, {"role": "user", "content": sendable(prompt.user)}]}

    def _reply(self, prompt: Prompt, answer: Any, seconds: float) -> Reply:
        try:
            text = answer["choices"][0]["message"]["content"] or ""
            usage = answer.get("usage") or {}
            asked = int(usage.get("prompt_tokens") or tokens(prompt.system) + tokens(prompt.user))
            told = int(usage.get("completion_tokens") or tokens(text))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise LLMUnavailable(f"{self._server.where} does not answer as OpenAI's chat does: {error!r}") from error
        if not isinstance(text, str):
            raise LLMUnavailable(f"{self._server.where} does not answer as OpenAI's chat does: its reply is no text")
        money = (asked * self._prices[0] + told * self._prices[1]) / 1e6
        return Reply(text, asked, told, seconds, money)
