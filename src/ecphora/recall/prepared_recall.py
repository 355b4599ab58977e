"""One recall whose arguments are checked and whose question is analyzed: activation, ranked hits, recollection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from ..language.names.relation_mentions import relations_in_question
from ..language.terms import estimate_tokens
from ..model.graph.graph import Graph
from ..model.ports import Activation, MediaStrategy, NodeSource, RerankStrategy, Strategy
from ..model.types import Cost, Evidence, Hit, Include, Query
from ..retrieval import filters
from ..retrieval.confidence import EvidenceBands
from ..retrieval.dense import join_media
from ..retrieval.identifiers import has_unknown_identifiers
from ..retrieval.relation_names import has_unknown_relation
from ..retrieval.temporal import has_unknown_time
from .candidate_reranking import CandidateReranking
from .extras import NO_EXTRAS, Extras, find_extras
from .recall import RankedHits, group_by_instance, rank
from .recollection import Recollection

STEPS = ("embed", "activate", "rerank", "fetch")
"""The names of the steps in the cost of a recall."""


class StepTimer:
    """Measures the steps of a recall, which follow one another. The first starts when the timer is made."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STEPS, 0.0)
        self._started = perf_counter()

    def end(self, step: str) -> None:
        """Count the time since the end of the step before; the next step starts now."""
        now = perf_counter()
        self.seconds[step] += now - self._started
        self._started = now


@dataclass(frozen=True, slots=True)
class PreparedRecall:
    """What one recall needs. ``reranking`` lets a reranker read the candidates; with None nothing is read."""

    strategy: Strategy
    query: Query
    graph: Graph
    reranking: CandidateReranking | None
    read_nodes: NodeSource
    limit: int
    budget: int | None
    explain: bool
    include: frozenset[Include] = frozenset()

    def activate(self) -> Activation:
        """Have the strategy score the graph's rows, and the reranker read if there is one; call it once."""
        strategy, query, graph = self.strategy, self.query, self.graph
        if self.reranking is not None and isinstance(strategy, RerankStrategy):
            activation = strategy.activate_with_reranker(query, graph, self.reranking)
        else:
            activation = strategy.activate(query, graph)
        if isinstance(strategy, MediaStrategy) and strategy.joins_media:
            return activation
        return join_media(graph, query, activation)

    def rank(self, activation: Activation) -> RankedHits:
        """Rank the rows and build the hits."""
        return rank(self.graph, self.query, activation, self.limit, self.budget, self.read_nodes, explain=self.explain)

    def recollection(
        self, activation: Activation, hits: Sequence[Hit], bands: EvidenceBands, timer: StepTimer
    ) -> Recollection:
        """The result of the recall. The time since the last step that ``timer`` has measured counts to ``fetch``."""
        extras = self._extras(activation, hits)
        confidence = activation.confidence if hits else 0.0
        if hits and self._asks_for_unknown():
            confidence = bands.below_strong(confidence)
        evidence = bands.band(confidence) if hits else Evidence.NONE
        groups = partial(group_by_instance, self.query.text, hits)
        notices = filters.notices(self.graph, self.query)
        timer.end("fetch")
        return Recollection(
            self.query,
            self.strategy.name,
            evidence,
            confidence,
            tuple(hits),
            self._cost(hits, timer.seconds),
            extras.engrams,
            extras.insights,
            extras.exchanges,
            notices,
            groups,
        )

    def _cost(self, hits: Sequence[Hit], seconds: Mapping[str, float]) -> Cost:
        """The cost of the recall. ``activate`` contains the time of the reranker, which is taken out of it."""
        reranking = self.reranking
        rerank_seconds = 0.0 if reranking is None else reranking.seconds
        by_step = {**seconds, "activate": seconds["activate"] - rerank_seconds, "rerank": rerank_seconds}
        return Cost(
            milliseconds=1000 * sum(by_step.values()),
            step_milliseconds={step: 1000 * by_step[step] for step in STEPS},
            tokens=sum(estimate_tokens(hit.text) for hit in hits),
            passages_reranked=0 if reranking is None else reranking.count,
            passages_left=0 if reranking is None else reranking.unread_count,
            reranker_error=None if reranking is None else reranking.error,
        )

    def _asks_for_unknown(self) -> bool:
        """Whether no memory has an identifier, time or relation of the question: the hits are at best near to it."""
        graph, query = self.graph, self.query
        if not (query.identifiers or query.time_ranges or relations_in_question(query.text)):
            return False
        eligible = filters.eligible(graph, query)
        checks = (has_unknown_identifiers, has_unknown_time, has_unknown_relation)
        return any(check(graph, query, eligible) for check in checks)

    def _extras(self, activation: Activation, hits: Sequence[Hit]) -> Extras:
        """What was asked for besides the memories."""
        if not self.include:
            return NO_EXTRAS
        graph, query = self.graph, self.query
        eligible = filters.eligible(graph, query)
        return find_extras(graph, query, activation, eligible, hits, self.limit, self.read_nodes, include=self.include)
