"""A language model from a GGUF file, run in this process by llama.cpp. Needs the extra ``[llamacpp]``."""

import time
from pathlib import Path
from threading import Lock
from typing import Any

from ...errors import LLMUnavailable
from ...language.terms import estimate_tokens
from ...model.ports import Prompt, Reply
from ...model.reprs import call_repr
from ...model.text_format import replace_surrogates
from ...model.validation import check_count, check_path
from ..llamacpp_engine import check_threads, load_engine


class LlamaCppLLM:
    """A language model from a GGUF file; the first ``complete`` loads it.

    ``context_tokens`` bounds prompt and reply together. ``threads`` is how many cores it uses, by default half of them:
    its threads wait for each other, so that one busy core slows all of them down. ``gpu_layers`` is how many layers run
    on an accelerator, if the wheel is built for one. The temperature is 0, and decoding is constrained to the prompt's
    schema, up to the limit of the reply. Prompts are answered one at a time.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        context_tokens: int = 8_192,
        threads: int | None = None,
        gpu_layers: int = 0,
        seed: int = 0,
    ) -> None:
        self._path = check_path("path", path)
        self.name = f"{self._path.stem}@llamacpp"
        self._context_tokens = check_count("context_tokens", context_tokens)
        self._threads = check_threads(threads)
        self._gpu_layers = check_count("gpu_layers", gpu_layers, minimum=0)
        self._seed = check_count("seed", seed, minimum=0)
        self._lock = Lock()
        self._engine: Any = None

    def __repr__(self) -> str:
        return call_repr("LlamaCppLLM", str(self._path))

    def complete(self, prompt: Prompt, /) -> Reply:
        """Answer a prompt; raises ``LLMUnavailable`` if the wheel or the file is missing, or the prompt is too long."""
        started = time.perf_counter()
        roles = (("system", prompt.system), ("user", prompt.user))
        request: dict[str, Any] = {
            "messages": [
                {"role": role, "content": replace_surrogates(text)} for role, text in roles if text or role == "user"
            ],
            "temperature": 0,
            "seed": self._seed,
            "max_tokens": prompt.max_tokens,
            "chat_template_kwargs": {"enable_thinking": False},
        }
        if prompt.schema is not None:
            request["response_format"] = {"type": "json_object", "schema": prompt.schema}
        with self._lock:
            engine = self._load_engine()
            try:
                answer = engine.handle_chat_completions(request)
            except (ValueError, RuntimeError) as error:
                raise LLMUnavailable(f"{self.name} does not accept the prompt: {error}") from error
        if "error" in answer:
            raise LLMUnavailable(
                f"{self.name} gives no reply: {answer['error'].get('message')}; ask with less, or give a larger context"
            )
        text = answer["choices"][0]["message"].get("content") or ""
        usage = answer.get("usage", {})
        tokens_in = usage.get("prompt_tokens") or estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
        return Reply(
            text, tokens_in, usage.get("completion_tokens") or estimate_tokens(text), time.perf_counter() - started
        )

    def close(self) -> None:
        """Free the model; a later ``complete`` loads it again."""
        with self._lock:
            self._engine = None

    def _load_engine(self) -> Any:
        """Return the engine with the model loaded; the caller holds the lock."""
        if self._engine is not None:
            return self._engine
        self._engine = load_engine(
            self._path,
            context_tokens=self._context_tokens,
            threads=self._threads,
            gpu_layers=self._gpu_layers,
            error_type=LLMUnavailable,
        )
        return self._engine
