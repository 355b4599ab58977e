"""An embedder for servers with OpenAI's ``POST /v1/embeddings``: hosted ones, vLLM, Ollama, llama.cpp, LM Studio.

The request and its answer: https://platform.openai.com/docs/api-reference/embeddings. Needs the extra ``[openai]``.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import EmbedderUnavailable, WrongVector
from ...model.types import Vectors
from ...model.validation import check_count, check_optional_count
from ..http_client import OPENAI_BASE_URL, HTTPModelClient
from .named_model import NamedModelEmbedder


class OpenAIEmbedder(NamedModelEmbedder):
    """A model behind an OpenAI-compatible server; nothing is sent before the first use of ``embed`` or ``dim``.

    ``base_url`` ends before ``/embeddings``. ``api_key``, if given, is sent as a bearer token. ``dim`` is the required
    length of a vector, by default the length in the first answer. A request has up to ``batch_size`` texts and may take
    ``timeout`` seconds; after an answer of 429 or 5xx, or none, it is sent again up to ``retries`` times. The prefixes
    are put before every text of their kind, as some models require ("passage: ", "query: "). ``sleep`` takes seconds.
    Without httpx2, and if the server does not answer or refuses, ``embed`` raises ``EmbedderUnavailable``.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI_BASE_URL,
        api_key: str | None = None,
        dim: int | None = None,
        batch_size: int = 64,
        timeout: float = 30.0,
        retries: int = 3,
        document_prefix: str = "",
        query_prefix: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(model, "openai", document_prefix=document_prefix, query_prefix=query_prefix)
        self._client = HTTPModelClient(
            model,
            base_url=base_url,
            path="embeddings",
            api_key=api_key,
            timeout=timeout,
            retries=retries,
            error_type=EmbedderUnavailable,
            failure_text="gives no vectors",
            sleep=sleep,
        )
        self._dim = check_optional_count("dim", dim) or 0
        self._batch_size = check_count("batch_size", batch_size)

    def close(self) -> None:
        """Close the connections; a later ``embed`` opens new ones."""
        self._client.close()

    def _embed_prefixed(self, texts: Sequence[str]) -> Vectors:
        parts = []
        for start in range(0, len(texts), self._batch_size):
            batch = [text or " " for text in texts[start : start + self._batch_size]]  # servers refuse empty texts
            body = {"model": self._model, "input": batch, "encoding_format": "float"}
            vectors = self._unit_vectors(self._client.post(body), len(batch))
            self._dim = vectors.shape[1]
            parts.append(vectors)
        return np.concatenate(parts)

    def _unit_vectors(self, answer: Any, count: int) -> Vectors:
        """Return the vectors of an answer in order of ``index``, shape ``(count, dim)``, scaled to length 1."""
        try:
            data = sorted(answer["data"], key=lambda item: int(item["index"]))
            indexes = [int(item["index"]) for item in data]
            vectors = [np.asarray(item["embedding"], np.float64) for item in data]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise EmbedderUnavailable(
                f"{self._client.endpoint} does not answer as OpenAI's embeddings do: {error!r}"
            ) from error
        if indexes != list(range(count)):
            raise WrongVector(
                f"{self._client.endpoint} gave {len(indexes)} vectors for {count} texts, or numbered them wrongly"
            )
        expected = (self._dim or vectors[0].size,)
        for vector in vectors:
            if vector.shape != expected:
                raise WrongVector(f"{self._client.endpoint} gave a vector of {vector.size} numbers, not {expected[0]}")
        rows = np.stack(vectors)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise WrongVector(f"{self._client.endpoint} gave a vector that is not finite, or is all zeros")
        unit: Vectors = (rows / lengths).astype(np.float32)
        return unit
