"""A reranker behind an HTTP endpoint ``/rerank``, hosted or on this machine. Needs the extra ``[openai]``.

The endpoints differ in their fields. Their documentation:

- ``jina``: https://api.jina.ai/redoc#tag/rerank
- ``cohere``: https://docs.cohere.com/reference/rerank
- ``vllm``: https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html, "Re-rank API"
- ``tei``: https://huggingface.github.io/text-embeddings-inference, "rerank"
- ``llama-server``: https://github.com/ggml-org/llama.cpp/tree/master/tools/server, "POST /reranking"
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ...errors import InvalidInput, RerankerUnavailable
from ...model.reprs import call_repr, show
from ...model.validation import check_name
from ..http_client import HTTPModelClient
from .pair_reranker import PairReranker, Scale


@dataclass(frozen=True, slots=True)
class RerankShape:
    """How an endpoint is called. ``base_url`` is its usual address, None if it has none.

    ``texts_key`` and ``score_key`` are its names of the passages and of a score, ``results_key`` its name of the list
    of scores, None if the response is the list. ``options`` are sent with every request; ``counts_results`` adds
    ``top_n``, so that no passage is left out.
    """

    base_url: str | None
    scale: Scale = "probability"
    texts_key: str = "documents"
    results_key: str | None = "results"
    score_key: str = "relevance_score"
    sends_model: bool = True
    counts_results: bool = True
    options: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def request(self, model: str, question: str, texts: Sequence[str]) -> dict[str, object]:
        """The body of a request."""
        body: dict[str, object] = {"query": question, self.texts_key: list(texts), **self.options}
        if self.sends_model:
            body["model"] = model
        if self.counts_results:
            body["top_n"] = len(texts)
        return body

    def scores(self, answer: Any, count: int) -> list[float]:
        """The scores of a response, in the order of the passages; raises ``ValueError`` unless each has one.

        A response of another form raises ``KeyError`` or ``TypeError``.
        """
        results = answer if self.results_key is None else answer[self.results_key]
        scores = {int(result["index"]): float(result[self.score_key]) for result in results}
        if len(results) != count or sorted(scores) != list(range(count)):
            raise ValueError(f"it has {len(results)} scores for {count} passages, or numbers them wrongly")
        return [scores[index] for index in range(count)]


SHAPES: Mapping[str, RerankShape] = MappingProxyType(
    {
        "jina": RerankShape("https://api.jina.ai/v1", options={"return_documents": False}),
        "cohere": RerankShape("https://api.cohere.com/v2"),
        "vllm": RerankShape("http://localhost:8000/v1", options={"truncate_prompt_tokens": -1}),
        "tei": RerankShape(
            None,
            scale="log_odds",
            texts_key="texts",
            results_key=None,
            score_key="score",
            sends_model=False,
            counts_results=False,
            options={"raw_scores": True, "return_text": False, "truncate": True},
        ),
        "llama-server": RerankShape(None, scale="log_odds"),
    }
)
"""The endpoints by name. ``-1`` means that vLLM cuts a text to the length that its model reads, as the others do."""


class EndpointReranker(PairReranker):
    """A reranker behind an endpoint with a shape of ``SHAPES``; nothing is sent before the first ``score``.

    ``base_url`` ends before ``/rerank``; by default it is the shape's own. ``api_key``, if given, is sent as a bearer
    token. ``scale`` says what the endpoint's scores are, by default what is usual for its shape. A request may take
    ``timeout`` seconds; after an answer of 429 or 5xx, or none, it is sent again up to ``retries`` times. ``sleep``
    takes seconds. Safe to share between threads.
    """

    def __init__(
        self,
        model: str,
        *,
        shape: str,
        base_url: str | None = None,
        api_key: str | None = None,
        scale: Scale | None = None,
        batch_size: int = 32,
        timeout: float = 5.0,
        retries: int = 1,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if shape not in SHAPES:
            raise InvalidInput(f"shape is {show(shape)}; give one of {', '.join(SHAPES)}")
        self._model = check_name("model", model)
        self._shape = SHAPES[shape]
        self._client = HTTPModelClient(
            model,
            base_url=check_name("base_url", self._shape.base_url if base_url is None else base_url),
            path="rerank",
            api_key=api_key,
            timeout=timeout,
            retries=retries,
            error_type=RerankerUnavailable,
            failure_text="gives no scores",
            sleep=sleep,
        )
        super().__init__(f"{self._client.endpoint} ({shape})", batch_size=batch_size, scale=scale or self._shape.scale)
        self._shape_name = shape

    def __repr__(self) -> str:
        return call_repr("EndpointReranker", self._model, shape=self._shape_name)

    def close(self) -> None:
        """Close the connections; a later ``score`` opens new ones."""
        self._client.close()

    def _score(self, question: str, texts: Sequence[str]) -> list[float]:
        answer = self._client.post(self._shape.request(self._model, question, texts))
        try:
            return self._shape.scores(answer, len(texts))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise RerankerUnavailable(
                f"{self._client.endpoint} does not answer as {self._shape_name} does: {error!r}"
            ) from error
