"""Any server that answers ``POST /v1/embeddings`` as OpenAI does: hosted ones, vLLM, Ollama, llama.cpp, LM Studio.

The request and its answer: https://platform.openai.com/docs/api-reference/embeddings. Needs the extra ``[openai]``.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import EmbedderUnavailable, WrongVector
from ..model import Vectors
from ..reprs import call_repr
from ..served import OPENAI, Server, sendable
from ..validate import check_count, check_name, check_optional_count, check_string


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
        base_url: str = OPENAI,
        api_key: str | None = None,
        dim: int | None = None,
        batch: int = 64,
        timeout: float = 30.0,
        retries: int = 3,
        document_prefix: str = "",
        cue_prefix: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        check_name("model", model)
        check_string("document_prefix", document_prefix)
        check_string("cue_prefix", cue_prefix)
        prefixes = f"({document_prefix}|{cue_prefix})" if document_prefix or cue_prefix else ""
        self.name = f"{model}@openai{prefixes}"
        self._model = model
        self._server = Server(
            model,
            base_url=base_url,
            path="embeddings",
            api_key=api_key,
            timeout=timeout,
            retries=retries,
            error=EmbedderUnavailable,
            fails="gives no vectors",
            sleep=sleep,
        )
        self._dim = check_optional_count("dim", dim) or 0
        self._batch = check_count("batch", batch)
        self._document_prefix = document_prefix
        self._cue_prefix = cue_prefix

    def __repr__(self) -> str:
        return call_repr("OpenAIEmbedder", self._model)

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
        given = [sendable(prefix + text) or " " for text in texts]  # servers refuse empty texts
        parts = []
        for start in range(0, len(given), self._batch):
            part = given[start : start + self._batch]
            body = {"model": self._model, "input": part, "encoding_format": "float"}
            vectors = self._unit_rows(self._server.post(body), len(part))
            self._dim = vectors.shape[1]
            parts.append(vectors)
        return np.concatenate(parts)

    def close(self) -> None:
        """Let go of the connections; a later ``embed`` makes new ones."""
        self._server.close()

    def _unit_rows(self, answer: Any, count: int) -> Vectors:
        """The vectors of an answer by their ``index``, shape ``(count, dim)``, scaled to length 1."""
        try:
            data = sorted(answer["data"], key=lambda item: int(item["index"]))
            places = [int(item["index"]) for item in data]
            vectors = [np.asarray(item["embedding"], np.float64) for item in data]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise EmbedderUnavailable(
                f"{self._server.where} does not answer as OpenAI's embeddings do: {error!r}"
            ) from error
        if places != list(range(count)):
            raise WrongVector(
                f"{self._server.where} gave {len(places)} vectors for {count} texts, or numbered them wrongly"
            )
        expected = (self._dim or vectors[0].size,)
        for vector in vectors:
            if vector.shape != expected:
                raise WrongVector(f"{self._server.where} gave a vector of {vector.size} numbers, not {expected[0]}")
        rows = np.stack(vectors)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise WrongVector(f"{self._server.where} gave a vector that is not finite, or is all zeros")
        unit: Vectors = (rows / lengths).astype(np.float32)
        return unit
