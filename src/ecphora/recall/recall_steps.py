"""One recall in steps, each run when its result is first read: candidates, ranked hits, recollection."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

from ..language.scripts import estimate_tokens
from ..model.cached_property import cached_property
from ..model.graph.graph import Graph
from ..model.ports import ActivateCandidates, Activation, MediaStrategy, NodeReader, Strategy
from ..model.types import Cost, Evidence, Hit, Include, Query
from ..retrieval import filters
from ..retrieval.confidence import EvidenceBands
from ..retrieval.dense import join_media
from ..retrieval.identifiers import has_unknown_identifiers
from ..retrieval.temporal import has_unknown_time
from .candidate_reading import CandidateReading, find_candidates
from .inclusions import NO_INCLUSIONS, Inclusions, find_inclusions
from .recall import RankedHits, group_by_instance, rank
from .recollection import Recollection

STEPS = ("embed", "activate", "read", "fetch")
"""The names of the steps in the cost of a recall."""


@dataclass
class RecallSteps:
    """The steps of one recall. ``reading`` reads its candidates, None if nothing does; ``seconds`` counts by step.

    Hits are built for the candidates only if :meth:`candidate_hits` is called. Not safe to share between threads.
    """

    strategy: Strategy
    query: Query
    graph: Graph
    reading: CandidateReading | None
    read_nodes: NodeReader
    limit: int
    budget: int | None
    explain: bool
    log_access: bool
    include: frozenset[Include] = frozenset()
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STEPS, 0.0))
    _candidate_hits: tuple[Hit, ...] | None = field(default=None, init=False)

    @contextmanager
    def measure(self, step: str) -> Iterator[None]:
        """Count the time of a block to a step; that of the reader counts to ``read``."""
        started, read_before = perf_counter(), self.seconds["read"]
        try:
            yield
        finally:
            read_seconds = self.seconds["read"] - read_before
            self.seconds[step] += perf_counter() - started - read_seconds

    def candidate_hits(self) -> tuple[Hit, ...]:
        """The hits as they would be if nothing was read."""
        with self.measure("activate"):
            activation = self._activate(None)
        with self.measure("fetch"):
            self._candidate_hits = tuple(self._rank(activation).hits)
        return self._candidate_hits

    @cached_property
    def activation(self) -> Activation:
        """The scores, after reading."""
        with self.measure("activate"):
            activation = self._activate(self.reading)
            if self.reading is not None:
                self.seconds["read"] = self.reading.seconds
        return activation

    def ranked_hits(self) -> RankedHits:
        """What :func:`ecphora.recall.explain.why_not` reads: the ranked rows and the hits."""
        return self._rank(self.activation)

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """The hits, best first."""
        activation = self.activation
        was_read = self.reading is not None and self.reading.count > 0
        if self._candidate_hits is not None and not was_read:
            return self._candidate_hits
        with self.measure("fetch"):
            return tuple(self._rank(activation).hits)

    def recollection(self, bands: EvidenceBands) -> Recollection:
        """The result of the recall, with the cost of all steps so far."""
        hits, reading = self.hits, self.reading
        included = self._inclusions(hits)
        confidence = self.activation.confidence if hits else 0.0
        if hits and self._asks_for_unknown():
            confidence = bands.below_strong(confidence)
        evidence = bands.band(confidence) if hits else Evidence.NONE
        cost = Cost(
            milliseconds=1000 * sum(self.seconds.values()),
            step_milliseconds={step: 1000 * seconds for step, seconds in self.seconds.items()},
            tokens=sum(estimate_tokens(hit.text) for hit in hits),
            passages_read=0 if reading is None else reading.count,
            passages_unread=0 if reading is None else reading.unread_count,
            reader_error=None if reading is None else reading.error,
        )
        groups = partial(group_by_instance, self.query.text, hits)
        return Recollection(
            self.query,
            self.strategy.name,
            evidence,
            confidence,
            hits,
            cost,
            included.engrams,
            included.insights,
            included.exchanges,
            filters.notices(self.graph, self.query),
            groups,
        )

    def _asks_for_unknown(self) -> bool:
        """Whether no memory holds an identifier of the question, or is of its time: the hits are at best near to it."""
        graph, query = self.graph, self.query
        if not query.identifiers and not query.time_ranges:
            return False
        eligible = filters.eligible(graph, query)
        return has_unknown_identifiers(graph, query, eligible) or has_unknown_time(graph, query, eligible)

    def _inclusions(self, hits: Sequence[Hit]) -> Inclusions:
        """What was asked for beside the memories."""
        if not self.include:
            return NO_INCLUSIONS
        graph, query, activation = self.graph, self.query, self.activation
        with self.measure("fetch"):
            eligible = filters.eligible(graph, query)
            return find_inclusions(
                graph, query, activation, eligible, hits, self.limit, self.read_nodes, include=self.include
            )

    @cached_property
    def _candidates(self) -> ActivateCandidates:
        return find_candidates(self.strategy, self.query, self.graph)

    def _activate(self, reading: CandidateReading | None) -> Activation:
        activation, strategy = self._candidates(reading), self.strategy
        if isinstance(strategy, MediaStrategy) and strategy.joins_media:
            return activation
        return join_media(self.graph, self.query, activation)

    def _rank(self, activation: Activation) -> RankedHits:
        return rank(self.graph, self.query, activation, self.limit, self.budget, self.read_nodes, explain=self.explain)
