"""Cognitive Weave's Semantic Oracle Interface with a language model: it writes insights, or quotes where that fails."""

import threading
import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace

from ...consolidation.insights import summaries
from ...consolidation.insights.summaries import InsightWriter
from ...model.json_form import JsonObject
from ...model.ports import LLM, Embedder, similarity_floor
from ...model.reprs import call_repr
from ...model.types import Floats, LLMUsage, Node, Vectors
from ...model.validation import check_component
from ...models.llm_client import LLMBudget, LLMClient, LLMRun, ReplyCache, Request
from ...models.prompts import insight_prompt, replies
from ...remember.encode import embed_texts

MAX_CACHED_INSIGHTS = 1_000
"""How many replies the built-in cache keeps."""
PAUSE_SECONDS = 60.0
"""After failures in a row the model is not asked for so long."""


@dataclass(frozen=True, slots=True, repr=False)
class OracleReport(JsonObject):
    """How insights came about: ``by_model`` texts were written now, ``cached`` ones had been written before.

    ``rejected`` counts texts among them that were not taken. ``quoted`` insights quote their sources because the model
    failed or the budget was used up; ``errors`` has each reason once.
    """

    by_model: int = 0
    cached: int = 0
    rejected: int = 0
    quoted: int = 0
    errors: tuple[str, ...] = ()
    usage: LLMUsage = field(default_factory=LLMUsage)


class LLMOracle:
    """A :class:`~ecphora.model.ports.Summarizer` for ``Weave(summarizer=LLMOracle(llm, embedder))``.

    A text of the model is taken only if every sentence has a source of cosine .5 or more by ``embedder``, which must be
    the embedder of the memory, and if it is better than quotes by equation 6; else the sources are quoted.
    ``max_calls`` and ``max_tokens`` limit the oracle as long as it lives. After three failures in a row the model gets
    a pause of a minute. ``cache`` is as in ``LLMExtractor``. ``clock`` returns seconds from any start. Safe to share
    between threads; one insight is written at a time.
    """

    def __init__(
        self,
        llm: LLM | LLMClient,
        embedder: Embedder,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        cache: MutableMapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = llm if isinstance(llm, LLMClient) else LLMClient(llm)
        self._embedder = check_component("embedder", embedder, "an embedder", "embed")
        self._run = LLMRun(self._client, LLMBudget(max_calls, max_tokens))
        self._cache = ReplyCache(cache, MAX_CACHED_INSIGHTS)
        self._clock = clock
        self._resume_at = 0.0
        self._lock = threading.Lock()
        self._report = OracleReport()
        self._writer = InsightWriter(self._write, self._embed, similarity_floor(embedder))

    def __repr__(self) -> str:
        return call_repr("LLMOracle", self._client.name)

    @property
    def report(self) -> OracleReport:
        """How insights came about so far."""
        with self._lock:
            return replace(self._report, usage=self._run.usage)

    def summarize(self, sources: Sequence[Node], vectors: Vectors, weights: Floats, token_cost: float, /) -> str | None:
        """Write an insight over some memories: the model's text if it can be trusted, else quotes."""
        costs = summaries.token_costs(sources, token_cost)
        chosen = summaries.select_sentences(vectors, weights, costs)
        quotes = summaries.quote([sources[place] for place in chosen])
        written = self._writer.write(sources)
        if written is None:
            return quotes
        if self._writer.accepts(
            written,
            vectors,
            weights,
            token_cost=token_cost,
            extractive_objective=summaries.objective(vectors[chosen], vectors, weights, costs[chosen].sum()),
        ):
            return written
        with self._lock:
            self._report = replace(self._report, rejected=self._report.rejected + 1)
        return quotes

    def _write(self, sources: Sequence[Node]) -> str | None:
        """The text of the model over some memories, now or before; None if it gives none."""
        prompt = insight_prompt(sorted(sources, key=lambda node: (node.happened_at, node.seq)))
        question = (self._client.name, prompt.system, prompt.user)
        with self._lock:
            if (known := self._cache.get(*question)) is not None:
                self._report = replace(self._report, cached=self._report.cached + 1)
                return known
            if self._run.has_given_up and self._clock() >= self._resume_at:
                self._run.resume()
            attempt = self._run.ask(Request(prompt, replies.parse_insight))
            if attempt.value is None:
                if self._run.has_given_up and attempt.usage.calls:
                    self._resume_at = self._clock() + PAUSE_SECONDS
                errors = tuple(dict.fromkeys((*self._report.errors, str(attempt.error))))
                self._report = replace(self._report, quoted=self._report.quoted + 1, errors=errors)
                return None
            self._report = replace(self._report, by_model=self._report.by_model + 1)
            self._cache.put(attempt.value, *question)
            return attempt.value

    def _embed(self, texts: Sequence[str]) -> Vectors:
        return embed_texts(self._embedder, texts)
