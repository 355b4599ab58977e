"""A language model behind a server with OpenAI's ``POST /v1/chat/completions``: hosted ones, vLLM, Ollama, llama.cpp.

The request and its answer: https://platform.openai.com/docs/api-reference/chat. Needs the extra ``[openai]``.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ...errors import InvalidInput, LLMUnavailable
from ...language.terms import estimate_tokens
from ...model.ports import Prompt, Reply
from ...model.reprs import call_repr
from ...model.text_format import replace_surrogates
from ...model.validation import check_count, check_items, check_name, check_number
from ..http_client import OPENAI_BASE_URL, BadRequest, HTTPModelClient

JSON_SCHEMA, JSON_OBJECT, NO_FORMAT = "json_schema", "json_object", "none"
"""How a reply's form is requested: by its schema, as any JSON, or only in the prompt."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which request options a server supports; ``max_tokens_key`` is its name for the limit of a reply."""

    response_format: str = JSON_SCHEMA
    max_tokens_key: str = "max_tokens"
    supports_temperature: bool = True
    supports_seed: bool = True

    def fallbacks(self, rejection: BadRequest, prompt: Prompt) -> Iterator["Dialect"]:
        """Yield dialects to try after a rejected request, the likeliest first."""
        message = rejection.message.lower()
        if self.max_tokens_key == "max_tokens" and "max_completion_tokens" in message:
            yield replace(self, max_tokens_key="max_completion_tokens")
        if self.supports_temperature and "temperature" in message:
            yield replace(self, supports_temperature=False)
        if self.supports_seed and "seed" in message:
            yield replace(self, supports_seed=False)
        if prompt.schema is not None and self.response_format != NO_FORMAT:
            yield replace(self, response_format=JSON_OBJECT if self.response_format == JSON_SCHEMA else NO_FORMAT)


class OpenAILLM:
    """A model behind an OpenAI-compatible server; nothing is sent before the first ``complete``.

    ``base_url`` ends before ``/chat/completions``. ``api_key``, if given, is sent as a bearer token. ``prices`` are US
    dollars for a million tokens in and out, used for ``cost_usd``. A request may take ``timeout`` seconds; after an
    answer of 429 or 5xx, or none, it is sent again up to ``retries`` times. The temperature is 0. An option that the
    server rejects, such as a schema, is left out from then on; the schema is then put in the prompt. ``sleep`` takes
    seconds. Safe to share between threads.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI_BASE_URL,
        api_key: str | None = None,
        prices: tuple[float, float] = (0.0, 0.0),
        seed: int = 0,
        timeout: float = 60.0,
        retries: int = 2,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        pair = [check_number("a price", price, minimum=0) for price in check_items("prices", prices, "two numbers")]
        if len(pair) != 2:
            raise InvalidInput(f"prices has {len(pair)} numbers; give two, for a million tokens in and out")
        self.name = f"{check_name('model', model)}@openai"
        self._model = model
        self._prices = (pair[0], pair[1])
        self._seed = check_count("seed", seed, minimum=0)
        self._dialect = Dialect()
        self._client = HTTPModelClient(
            model,
            base_url=base_url,
            path="chat/completions",
            api_key=api_key,
            timeout=timeout,
            retries=retries,
            error_type=LLMUnavailable,
            failure_text="gives no reply",
            sleep=sleep,
        )

    def __repr__(self) -> str:
        return call_repr("OpenAILLM", self._model)

    def complete(self, prompt: Prompt, /) -> Reply:
        """Answer a prompt; raises ``LLMUnavailable`` if httpx2 is missing, or the server does not answer or refuses."""
        started = time.perf_counter()
        dialect = self._dialect
        while isinstance(answer := self._client.try_post(self._body(prompt, dialect)), BadRequest):
            fallback = next(dialect.fallbacks(answer, prompt), None)
            if fallback is None:
                raise self._client.bad_request_error(answer)
            dialect = fallback
        self._dialect = dialect  # kept only after success: a request may also be rejected for the prompt's content
        return self._reply(prompt, answer, time.perf_counter() - started)

    def close(self) -> None:
        """Close the connections; a later ``complete`` opens new ones."""
        self._client.close()

    def _body(self, prompt: Prompt, dialect: Dialect) -> dict[str, Any]:
        system = prompt.system
        body: dict[str, Any] = {"model": self._model, dialect.max_tokens_key: prompt.max_tokens, "stream": False}
        if dialect.supports_temperature:
            body["temperature"] = 0
        if dialect.supports_seed:
            body["seed"] = self._seed
        if prompt.schema is not None and dialect.response_format == JSON_SCHEMA:
            form = {"name": "reply", "strict": True, "schema": prompt.schema}
            body["response_format"] = {"type": JSON_SCHEMA, JSON_SCHEMA: form}
        elif prompt.schema is not None:
            system += f"\n\nReply with JSON of this schema:\n{json.dumps(prompt.schema)}"
            if dialect.response_format == JSON_OBJECT:
                body["response_format"] = {"type": JSON_OBJECT}
        messages = [{"role": "system", "content": replace_surrogates(system)}] if system else []
        return {**body, "messages": [*messages, {"role": "user", "content": replace_surrogates(prompt.user)}]}

    def _reply(self, prompt: Prompt, answer: Any, seconds: float) -> Reply:
        try:
            text = answer["choices"][0]["message"]["content"] or ""
            usage = answer.get("usage") or {}
            tokens_in = int(usage.get("prompt_tokens") or estimate_tokens(prompt.system) + estimate_tokens(prompt.user))
            tokens_out = int(usage.get("completion_tokens") or estimate_tokens(text))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise LLMUnavailable(f"{self._client.endpoint} does not answer as OpenAI's chat does: {error!r}") from error
        if not isinstance(text, str):
            raise LLMUnavailable(
                f"{self._client.endpoint} does not answer as OpenAI's chat does: its reply is not text"
            )
        cost_usd = (tokens_in * self._prices[0] + tokens_out * self._prices[1]) / 1e6
        return Reply(text, tokens_in, tokens_out, seconds, cost_usd)
