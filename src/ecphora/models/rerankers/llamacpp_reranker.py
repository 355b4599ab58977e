"""A reranker from a GGUF file, run in this process by llama.cpp. Needs the extra ``[llamacpp]``."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from ...errors import RerankerUnavailable
from ...model.validation import check_count, check_path
from ..llamacpp_engine import check_threads, load_engine
from .pair_reranker import PairReranker, Scale
from .rerank_endpoint import SHAPES

SHORTEST_CUT = 64
"""A text that is too long for the model is halved until it fits, or is no longer than this many characters."""


class LlamaCppReranker(PairReranker):
    """A reranker from a GGUF file; the first ``score`` loads it.

    ``scale`` is "log_odds" for models with one output, such as bge-reranker, and "probability" for models with two,
    such as Qwen3-Reranker. ``context_tokens`` bounds question and passage together, as does the model; a passage that
    is too long is cut. ``threads`` is how many cores it uses, by default half of them. ``gpu_layers`` is how many
    layers run on an accelerator, if the wheel is built for one. One call is read at a time.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        scale: Scale = "log_odds",
        batch_size: int = 8,
        context_tokens: int = 1_024,
        threads: int | None = None,
        gpu_layers: int = 0,
    ) -> None:
        self._path = check_path("path", path)
        super().__init__(f"{self._path.stem}@llamacpp", batch_size=batch_size, scale=scale)
        self._context_tokens = check_count("context_tokens", context_tokens)
        self._threads = check_threads(threads)
        self._gpu_layers = check_count("gpu_layers", gpu_layers, minimum=0)
        self._lock = Lock()
        self._engine: Any = None

    def close(self) -> None:
        """Free the model; a later ``score`` loads it again."""
        with self._lock:
            self._engine = None

    def _score(self, question: str, texts: Sequence[str]) -> list[float]:
        with self._lock:
            if self._engine is None:
                self._engine = load_engine(
                    self._path,
                    context_tokens=self._context_tokens,
                    threads=self._threads,
                    gpu_layers=self._gpu_layers,
                    error_type=RerankerUnavailable,
                    is_reranker=True,
                )
            answer = self._ask(question, texts)
            if "error" not in answer:
                return self._parse(answer, len(texts))
            return [self._score_cut(question, text) for text in texts]

    def _score_cut(self, question: str, text: str) -> float:
        """The score of a text, halved until the engine accepts it."""
        while "error" in (answer := self._ask(question, [text])):
            if len(text) <= SHORTEST_CUT:
                raise RerankerUnavailable(f"{self.name} gives no score: {answer['error'].get('message')}")
            text = text[: len(text) // 2]
        return self._parse(answer, 1)[0]

    def _ask(self, question: str, texts: Sequence[str]) -> Any:
        try:
            return self._engine.handle_rerank({"query": question, "documents": list(texts), "top_n": len(texts)})
        except (ValueError, RuntimeError) as error:
            raise RerankerUnavailable(f"{self.name} does not accept the texts: {error}") from error

    def _parse(self, answer: Any, count: int) -> list[float]:
        try:
            return SHAPES["llama-server"].scores(answer, count)
        except (KeyError, TypeError, ValueError) as error:
            raise RerankerUnavailable(f"{self.name} gave other scores than were asked for: {error!r}") from error
