"""An embedder for servers with OpenAI's ``POST /v1/embeddings``: hosted ones, vLLM, Ollama, llama.cpp, LM Studio.

The request and its answer: https://platform.openai.com/docs/api-reference/embeddings. Needs the extra ``[openai]``.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import EmbedderUnavailable, WrongVector
from ..model import Vectors
from ..openai_http import OPENAI_BASE_URL, OpenAIClient, replace_surrogates
from ..reprs import call_repr
from ..validate import check_count, check_name, check_optional_count, check_string


class OpenAIEmbedder:
    """A model behind an OpenAI-compatible server; nothing is sent before the first use of ``embed`` or ``dim``.

    ``base_url`` ends before ``/embeddings``. ``api_key``, if given, is sent as a bearer token. ``dim`` is the required
    length of a vector, by default that of the first answer. A request has up to ``batch_size`` texts and may take
    ``timeout`` seconds; after an answer of 429 or 5xx, or none, it is sent again up to ``retries`` times. The prefixes
    are put before every text of their kind, as some models require ("passage: ", "query: "). ``sleep`` takes seconds.
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
        check_name("model", model)
        check_string("document_prefix", document_prefix)
        check_string("query_prefix", query_prefix)
        prefixes = f"({document_prefix}|{query_prefix})" if document_prefix or query_prefix else ""
        self.name = f"{model}@openai{prefixes}"
        self._model = model
        self._client = OpenAIClient(
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
        self._document_prefix = document_prefix
        self._query_prefix = query_prefix

    def __repr__(self) -> str:
        return call_repr("OpenAIEmbedder", self._model)

    @property
    def dim(self) -> int:
        """The length of every vector; if it is not known yet, one vector is requested."""
        if not self._dim:
            self.embed(["."])
        return self._dim

    def coverage(self, _text: str, /) -> float:
        """Always 1.0: a server does not say which scripts its model was trained on."""
        return 1.0

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), dim)``, unit rows; ``is_query`` chooses the prefix.

        Raises ``EmbedderUnavailable`` if httpx is missing, or the server does not answer or refuses; ``WrongVector``
        if it returns a wrong number or length of vectors, or numbers that are not finite.
        """
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        prefix = self._query_prefix if is_query else self._document_prefix
        prefixed = [replace_surrogates(prefix + text) or " " for text in texts]  # servers refuse empty texts
        parts = []
        for start in range(0, len(prefixed), self._batch_size):
            batch = prefixed[start : start + self._batch_size]
            body = {"model": self._model, "input": batch, "encoding_format": "float"}
            vectors = self._unit_vectors(self._client.post(body), len(batch))
            self._dim = vectors.shape[1]
            parts.append(vectors)
        return np.concatenate(parts)

    def close(self) -> None:
        """Close the connections; a later ``embed`` opens new ones."""
        self._client.close()

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
