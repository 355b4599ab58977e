"""A GGUF file run in this process by llama.cpp, through the wheel ``xllamacpp``. Needs the extra ``[llamacpp]``.

Nothing is downloaded. The wheel's engine opens a port on the loopback of its own accord; it is locked with a key that
nobody knows, and never used.
"""

import importlib
import os
import secrets
import time
from pathlib import Path
from threading import Lock
from typing import Any

from ..errors import LLMUnavailable
from ..language.tokens import tokens
from ..ports import Prompt, Reply
from ..reprs import call_repr
from ..served import sendable
from ..validate import check_count, check_path

QUIET = -1
"""The engine's verbosity at which it prints nothing."""


class LlamaCpp:
    """A language model from a GGUF file; the first ``complete`` loads it.

    ``context`` bounds prompt and reply together, in tokens. ``threads`` is how many cores it uses, by default half of
    them: its threads wait for each other, so that with a core that others use all become slow. ``gpu_layers`` is how
    many of its layers run on an accelerator, if the wheel is built for one. The temperature is 0, and a reply follows
    the prompt's schema letter by letter, as far as it goes before the limit. Prompts wait for each other.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        context: int = 8_192,
        threads: int | None = None,
        gpu_layers: int = 0,
        seed: int = 0,
    ) -> None:
        threads = max(1, (os.cpu_count() or 1) // 2) if threads is None else threads
        self._path = check_path("path", path)
        self.name = f"{self._path.stem}@llamacpp"
        self._context = check_count("context", context)
        self._threads = check_count("threads", threads)
        self._gpu_layers = check_count("gpu_layers", gpu_layers, least=0)
        self._seed = check_count("seed", seed, least=0)
        self._lock = Lock()
        self._engine: Any = None

    def __repr__(self) -> str:
        return call_repr("LlamaCpp", str(self._path))

    def complete(self, prompt: Prompt, /) -> Reply:
        """Answer a prompt; raises ``LLMUnavailable`` where wheel or file are missing, or the prompt is too long."""
        started = time.perf_counter()
        roles = (("system", prompt.system), ("user", prompt.user))
        request: dict[str, Any] = {
            "messages": [{"role": role, "content": sendable(text)} for role, text in roles if text or role == "user"],
            "temperature": 0,
            "seed": self._seed,
            "max_tokens": prompt.limit,
            "chat_template_kwargs": {"enable_thinking": False},
        }
        if prompt.schema is not None:
            request["response_format"] = {"type": "json_object", "schema": prompt.schema}
        with self._lock:
            engine = self._loaded()
            try:
                answer = engine.handle_chat_completions(request)
            except (ValueError, RuntimeError) as error:
                raise LLMUnavailable(f"{self.name} does not take the prompt: {error}") from error
        if "error" in answer:
            raise LLMUnavailable(
                f"{self.name} gives no reply: {answer['error'].get('message')}; ask with less, or give a larger context"
            )
        text = answer["choices"][0]["message"].get("content") or ""
        usage = answer.get("usage", {})
        asked = usage.get("prompt_tokens") or tokens(prompt.system) + tokens(prompt.user)
        return Reply(text, asked, usage.get("completion_tokens") or tokens(text), time.perf_counter() - started)

    def close(self) -> None:
        """Let go of the model; a later ``complete`` loads it again."""
        with self._lock:
            self._engine = None

    def _loaded(self) -> Any:
        """The engine with the model in it; the lock is held."""
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
                raise LLMUnavailable(f"{self._path} is no GGUF file")
        given = library.CommonParams()
        given.model.path = str(self._path)
        given.n_ctx = self._context
        given.n_parallel = 1
        given.n_gpu_layers = self._gpu_layers
        given.cpuparams.n_threads = given.cpuparams_batch.n_threads = self._threads
        given.verbosity = QUIET
        given.offline = True
        given.warmup = given.ui = given.endpoint_slots = given.endpoint_props = False
        given.api_keys = [secrets.token_urlsafe(32)]
        try:
            self._engine = library.Server(given)
        except RuntimeError as error:
            raise LLMUnavailable(f"{self._path} cannot be loaded: {error}") from error
        return self._engine
