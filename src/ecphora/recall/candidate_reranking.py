"""Lets a reranker read the best candidates of a query: fetches their texts, and stops before a deadline, if any."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..errors import LLMError, RerankerUnavailable
from ..model.cancellation import check_cancellation
from ..model.graph.graph import Graph
from ..model.ports import (
    CascadeReranker,
    CodeReranker,
    CodeSource,
    NodeSource,
    Passage,
    PassageCodes,
    Reranker,
)
from ..model.types import Mask, Node, NodeId, Query, Rows, Scores
from ..models.rerankers.fallback import FallbackReranker
from ..remember.encode import indexed_text


@dataclass(frozen=True, slots=True)
class _Turn:
    """A memory, and the one before it that a reranker may see too."""

    node: Node
    previous: Node | None

    @property
    def passage(self) -> Passage:
        """What a reranker gets of it."""
        node, previous = self.node, self.previous
        return Passage(
            node.text,
            speaker=node.speaker,
            happened_on=_known_day(node),
            title=node.heading or node.title,
            previous_turn="" if previous is None else _with_speaker(previous),
        )


@dataclass(slots=True)
class CandidateReranking:
    """Reads candidates of one query; a :class:`~ecphora.model.ports.RowReranker`.

    It reads them in the order given, a batch at a time. With ``time_limit``, in seconds from the first batch, it starts
    none that would probably end later: one is taken to last as long as the longest before. If the reranker fails, the
    rest is not read. A reranker that encodes texts apart gets what the store has kept of them, by ``score_codes``;
    missing texts are encoded, and then in ``new_codes``. ``seconds`` says how long it has read, ``count`` how many
    passages it has read at least once, and ``unread_count`` how many the time limit or a failure left unread; ``error``
    says why the reranker failed, also if another one stood in. ``clock`` gives seconds.
    """

    reranker: Reranker
    graph: Graph
    query: Query
    read_nodes: NodeSource
    time_limit: float | None = None
    is_mandatory: bool = False
    clock: Callable[[], float] = perf_counter
    score_codes: CodeSource | None = None
    seconds: float = field(default=0.0, init=False)
    count: int = field(default=0, init=False)
    unread_count: int = field(default=0, init=False)
    error: str | None = field(default=None, init=False)
    new_codes: dict[NodeId, bytes] = field(default_factory=dict, init=False)
    _passages_read: dict[int, Passage] = field(default_factory=dict, init=False)
    _deadline: float | None = field(default=None, init=False)
    _longest_batch: float = field(default=0.0, init=False)

    def __call__(self, rows: Rows, eligible: Mask, /) -> Scores:
        """Return the log-odds that each row answers the query, shape ``(len(rows),)``, NaN for rows not read.

        A turn before a row is shown to the reranker only if it is ``eligible`` too: a reranker may be a remote service.
        """
        started = self.clock()
        log_odds = np.full(len(rows), np.nan, np.float32)
        turns = self._turns(rows, eligible)
        places = [place for place, one in enumerate(turns) if one]
        self.unread_count += len(places)
        failure_count = self.reranker.failure_count if isinstance(self.reranker, FallbackReranker) else 0
        for batch in self._batches(places, self.reranker.batch_size):
            found = [turn for place in batch if (turn := turns[place])]
            try:
                log_odds[batch] = self._read(found)
            except (RerankerUnavailable, LLMError) as error:
                self.error = str(error)
                break
            self.count += int(np.isfinite(log_odds[batch]).sum())
            self.unread_count -= len(batch)
            self._passages_read.update(zip(rows[batch].tolist(), (turn.passage for turn in found), strict=True))
        if isinstance(self.reranker, FallbackReranker) and self.reranker.failure_count > failure_count:
            self.error = self.reranker.last_error
        self.seconds += self.clock() - started
        return log_odds

    def rescore(self, rows: Rows, log_odds: Scores, /) -> Scores:
        """Return log-odds of rows that were read, after they are read again, as far as there is time.

        Only a reranker with two models does so.
        """
        found = log_odds.copy()
        if not isinstance(self.reranker, CascadeReranker):
            return found
        started = self.clock()
        for batch in self._batches(list(range(len(rows))), self.reranker.rescore_batch_size):
            texts = [self._passages_read[row] for row in rows[batch].tolist()]
            first = log_odds[batch].astype(np.float64)
            try:
                found[batch] = self.reranker.rescore(self.query.reranking_text, texts, first, asked_on=self._asked_on)
            except RerankerUnavailable as error:
                self.error = str(error)
                break
        self.seconds += self.clock() - started
        return found

    def passages(self, rows: Rows, /) -> list[Passage]:
        """Return the passages of rows that were read, in their order."""
        return [self._passages_read[row] for row in rows.tolist()]

    @property
    def _asked_on(self) -> date:
        return (self.query.as_of or self.query.now).date()

    def _batches(self, places: list[int], size: int) -> Iterator[list[int]]:
        """Batches of ``places``, as many as there is time for."""
        for start in range(0, len(places), size):
            batch_start = self.clock()
            if self._deadline is None and self.time_limit is not None:
                self._deadline = batch_start + self.time_limit
            if self._deadline is not None and batch_start + self._longest_batch > self._deadline:
                break
            check_cancellation()
            yield places[start : start + size]
            self._longest_batch = max(self._longest_batch, self.clock() - batch_start)

    def _read(self, turns: list[_Turn]) -> NDArray[np.float64]:
        """Log-odds that each turn answers the query."""
        reranker, question = self.reranker, self.query.reranking_text
        if not isinstance(reranker, CodeReranker) or self.score_codes is None:
            return reranker.score(question, [turn.passage for turn in turns], asked_on=self._asked_on)
        nodes = {node.id: node for turn in turns for node in (turn.node, turn.previous) if node is not None}
        codes = dict(self.score_codes(reranker.code_model, list(nodes)))
        missing = [node for id_, node in nodes.items() if id_ not in codes]
        new = dict(zip((node.id for node in missing), reranker.encode([*map(indexed_text, missing)]), strict=True))
        self.new_codes |= new
        codes |= new
        passages = [
            PassageCodes(codes[turn.node.id], b"" if turn.previous is None else codes[turn.previous.id])
            for turn in turns
        ]
        return reranker.score_codes(question, passages)

    def _turns(self, rows: Rows, eligible: Mask) -> list[_Turn | None]:
        """Each row with the turn before it; None if another process has forgotten the memory."""
        previous = self.graph.previous_rows[rows]
        previous = np.where((previous >= 0) & eligible[previous], previous, -1)
        wanted = np.unique(np.concatenate([rows, previous[previous >= 0]]))
        nodes = {node.id: node for node in self.read_nodes(wanted)}

        def node(row: int) -> Node | None:
            return nodes.get(self.graph.id(row)) if row >= 0 else None

        return [
            None if (found := node(row)) is None else _Turn(found, node(before))
            for row, before in zip(rows.tolist(), previous.tolist(), strict=True)
        ]


def _with_speaker(node: Node) -> str:
    return f"{node.speaker}: {node.text}" if node.speaker else node.text


def _known_day(node: Node) -> date | None:
    """The day of a memory; None for a text without speaker whose only time is the time of its recording."""
    is_dated = node.speaker is not None or node.happened_at != node.recorded_at
    return node.happened_at.date() if is_dated else None
