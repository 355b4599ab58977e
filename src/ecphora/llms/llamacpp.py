"""A language model from a GGUF file, run in this process by llama.cpp. Needs the extra ``[llamacpp]``.

The wheel is ``xllamacpp``. Nothing is downloaded. Its engine always opens a port on the loopback interface; the port is
locked with a random key and never used.
"""

import importlib
import os
import secrets
import time
from pathlib import Path
from threading import Lock
from typing import Any

from ..errors import LLMUnavailable
from ..invisible_chars import replace_surrogates
from ..language.token_count import estimate_tokens
from ..ports import Prompt, Reply
from ..reprs import call_repr
from ..validate import check_count, check_path

SILENT_VERBOSITY = -1
"""The engine's verbosity at which it prints nothing."""


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
        threads = max(1, (os.cpu_count() or 1) // 2) if threads is None else threads
        self._path = check_path("path", path)
        self.name = f"{self._path.stem}@llamacpp"
        self._context_tokens = check_count("context_tokens", context_tokens)
        self._threads = check_count("threads", threads)
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
        try:
            library = importlib.import_module("xllamacpp")
        except ImportError as error:
            raise LLMUnavailable(f"{error}; install it with: pip install 'ecphora[llamacpp]'") from error
        if not self._path.is_file():
            raise LLMUnavailable(f"there is no file {self._path}; give the path of a GGUF file")
        with self._path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise LLMUnavailable(f"{self._path} is not a GGUF file")
        params = library.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx = self._context_tokens
        params.n_parallel = 1
        params.n_gpu_layers = self._gpu_layers
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._threads
        params.verbosity = SILENT_VERBOSITY
        params.offline = True
        params.warmup = params.ui = params.endpoint_slots = params.endpoint_props = False
        params.api_keys = [secrets.token_urlsafe(32)]
        try:
            self._engine = library.Server(params)
        except RuntimeError as error:
            raise LLMUnavailable(f"{self._path} cannot be loaded: {error}") from error
        return self._engine
