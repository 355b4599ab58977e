"""Any server that answers ``POST /v1/embeddings`` as OpenAI does: hosted ones, vLLM, Ollama, llama.cpp, LM Studio.

The request and its answer: https://platform.openai.com/docs/api-reference/embeddings. Needs the extra ``[openai]``.
"""

import importlib
import time
import weakref
from collections.abc import Callable, Sequence
from threading import Lock
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import EmbedderUnavailable, InvalidInput, WrongVector
from ..model import Vectors

LONGEST_WAIT = 60.0
"""Seconds; a server that asks for a longer pause is not waited for any longer."""


class OpenAIEmbedder:
    """A model behind an OpenAI-compatible server; nothing is sent before the first use of ``embed`` or ``dim``.

    ``base_url`` ends before ``/embeddings``. ``api_key`` is sent as a bearer token, where there is one. ``dim`` is the
    length to insist on, by default that of the first answer. ``batch`` texts go into a request, which may take
    ``timeout`` seconds; after an answer of 429 or 5xx, or none, it is sent again up to ``retries`` times. The prefixes
    are put before every text of their kind, as some models ask ("passage: ", "query: "). ``sleep`` takes seconds.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key: str | None = None,
        dim: int | None = None,
        batch: int = 64,
        timeout: float = 30.0,
        retries: int = 3,
        document_prefix: str = "",
        cue_prefix: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if batch < 1 or retries < 0:
            raise InvalidInput(f"batch must be at least 1 and retries at least 0, not {batch} and {retries}")
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise InvalidInput("the API key holds characters that cannot be sent; was a line end copied with it?")
        prefixes = f"({document_prefix}|{cue_prefix})" if document_prefix or cue_prefix else ""
        self.name = f"{model}@openai{prefixes}"
        self._model = model
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._key = api_key
        self._dim = dim or 0
        self._batch = batch
        self._timeout = timeout
        self._retries = retries
        self._document_prefix = document_prefix
        self._cue_prefix = cue_prefix
        self._sleep = sleep
        self._lock = Lock()
        self._client: Any = None

    @property
    def dim(self) -> int:
        """The length of every vector; where it is not known yet, one vector is asked for."""
        if not self._dim:
            self.embed(["."])
        return self._dim

    def reads(self, _text: str, /) -> float:
        """Always 1.0: a server does not say which scripts its model was trained on."""
        return 1.0

    def embed(self, texts: Sequence[str], /, *, cue: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), dim)``, unit rows; ``cue`` chooses the prefix.

        Raises ``EmbedderUnavailable`` where httpx is missing, or the server does not answer or refuses; ``WrongVector``
        where it answers with another number or length of vectors, or with numbers that are not finite.
        """
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        prefix = self._cue_prefix if cue else self._document_prefix
        # A lone surrogate cannot be sent, and servers refuse empty texts.
        given = [(prefix + text).encode("utf-8", "replace").decode("utf-8") or " " for text in texts]
        parts = []
        for start in range(0, len(given), self._batch):
            part = given[start : start + self._batch]
            vectors = self._unit_rows(self._ask(part), len(part))
            self._dim = vectors.shape[1]
            parts.append(vectors)
        return np.concatenate(parts)

    def close(self) -> None:
        """Let go of the connections; a later ``embed`` makes new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _ask(self, texts: list[str]) -> Any:
        """Send one request, again where that may help; return the answer's JSON."""
        httpx = _httpx()
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        for attempt in range(self._retries + 1):
            wait = min(2.0**attempt / 2, LONGEST_WAIT)
            try:
                response = self._connected(httpx).post(self._url, json=body)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                problem, cause = str(error) or type(error).__name__, error
                again = isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol)
            else:
                if response.status_code == 200:
                    try:
                        return response.json()
                    except ValueError as error:
                        raise EmbedderUnavailable(f"{self._where()} answers with something that is no JSON") from error
                problem, cause = f"{response.status_code} {_message(response)}", None
                again = response.status_code in {408, 429} or response.status_code >= 500
                asked = response.headers.get("retry-after", "")
                wait = min(float(asked), LONGEST_WAIT) if asked.isdecimal() else wait
            if not again or attempt == self._retries:
                raise EmbedderUnavailable(f"{self._where()} gives no vectors: {self._hushed(problem)}") from cause
            self._sleep(wait)
        raise AssertionError  # the last attempt returns or raises

    def _connected(self, httpx: ModuleType) -> Any:
        with self._lock:
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                self._client = httpx.Client(timeout=self._timeout, headers=headers)
                weakref.finalize(self, self._client.close)
            return self._client

    def _unit_rows(self, answer: Any, count: int) -> Vectors:
        """The vectors of an answer by their ``index``, shape ``(count, dim)``, scaled to length 1."""
        try:
            data = sorted(answer["data"], key=lambda item: int(item["index"]))
            places = [int(item["index"]) for item in data]
            vectors = [np.asarray(item["embedding"], np.float64) for item in data]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise EmbedderUnavailable(
                f"{self._where()} does not answer as OpenAI's embeddings do: {error!r}"
            ) from error
        if places != list(range(count)):
            raise WrongVector(f"{self._where()} gave {len(places)} vectors for {count} texts, or numbered them wrongly")
        expected = (self._dim or vectors[0].size,)
        for vector in vectors:
            if vector.shape != expected:
                raise WrongVector(f"{self._where()} gave a vector of {vector.size} numbers, not {expected[0]}")
        rows = np.stack(vectors)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise WrongVector(f"{self._where()} gave a vector that is not finite, or is all zeros")
        unit: Vectors = (rows / lengths).astype(np.float32)
        return unit

    def _where(self) -> str:
        """The model and its server's name, without what a URL may hold in secrets."""
        address = self._url.partition("://")[2] or self._url
        return f"{self._model} at {address.partition('/')[0].rpartition('@')[2]}"

    def _hushed(self, message: str) -> str:
        return (message.replace(self._key, "***") if self._key else message)[:500]


def _httpx() -> ModuleType:
    try:
        return importlib.import_module("httpx")
    except ImportError as error:
        raise EmbedderUnavailable(f"{error}; install it with: pip install 'ecphora[openai]'") from error


def _message(response: Any) -> str:
    """What a server says of an error: ``error.message`` as OpenAI, ``message`` or ``detail`` as others, or the text."""
    try:
        said = response.json()
        error = said.get("error", said)
        found = error if isinstance(error, str) else error.get("message") or error.get("detail")
    except (ValueError, AttributeError):
        found = None
    return str(found or response.text)
