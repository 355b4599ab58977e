"""Lets a reader read the best candidates of a query: fetches their texts, and stops before a deadline, if any."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from time import perf_counter

import numpy as np

from .cancellation import check_cancellation
from .errors import LLMError, ReaderUnavailable
from .graph import Graph
from .model import Mask, Node, Query, Rows, Scores
from .ports import (
    ActivateCandidates,
    CascadeReader,
    NodeReader,
    Passage,
    Reader,
    ReadingStrategy,
    Strategy,
)
from .readers.fallback import FallbackReader


def find_candidates(strategy: Strategy, query: Query, graph: Graph) -> ActivateCandidates:
    """The candidates of a strategy; those of one that lets nothing be read are activated already."""
    if isinstance(strategy, ReadingStrategy):
        return strategy.find_candidates(query, graph)
    activation = strategy.activate(query, graph)
    return lambda _read: activation


@dataclass(slots=True)
class CandidateReading:
    """Reads candidates of one query; a :class:`~ecphora.ports.RowReader`.

    It reads them in the order given, a batch at a time. With ``time_limit``, in seconds from the first batch, it starts
    none that would probably end later: one is taken to last as long as the longest before. If the reader fails, the
    rest is not read. ``seconds`` says how long it has read, ``count`` how many passages it has read at least once, and
    ``unread_count`` how many the time limit or a failure left unread; ``error`` says why the reader failed, also if
    another one stood in. ``clock`` gives seconds.
    """

    reader: Reader
    graph: Graph
    query: Query
    read_nodes: NodeReader
    time_limit: float | None = None
    is_mandatory: bool = False
    clock: Callable[[], float] = perf_counter
    seconds: float = field(default=0.0, init=False)
    count: int = field(default=0, init=False)
    unread_count: int = field(default=0, init=False)
    error: str | None = field(default=None, init=False)
    _passages_read: dict[int, Passage] = field(default_factory=dict, init=False)
    _deadline: float | None = field(default=None, init=False)
    _longest_batch: float = field(default=0.0, init=False)

    def __call__(self, rows: Rows, eligible: Mask, /) -> Scores:
        """Return the log-odds that each row answers the query, shape ``(len(rows),)``, NaN for rows not read.

        A turn before a row is shown to the reader only if it is ``eligible`` too: a reader may be a remote service.
        """
        started = self.clock()
        log_odds = np.full(len(rows), np.nan, np.float32)
        passages = self._passages(rows, eligible)
        places = [place for place, one in enumerate(passages) if one]
        self.unread_count += len(places)
        failure_count = self.reader.failure_count if isinstance(self.reader, FallbackReader) else 0
        for batch in self._batches(places, self.reader.batch_size):
            texts = [passage for place in batch if (passage := passages[place])]
            try:
                log_odds[batch] = self.reader.read(self.query.reading_text, texts, asked_on=self._asked_on)
            except (ReaderUnavailable, LLMError) as error:
                self.error = str(error)
                break
            self.count += len(batch)
            self.unread_count -= len(batch)
            self._passages_read.update(zip(rows[batch].tolist(), texts, strict=True))
        if isinstance(self.reader, FallbackReader) and self.reader.failure_count > failure_count:
            self.error = self.reader.last_error
        self.seconds += self.clock() - started
        return log_odds

    def reread(self, rows: Rows, log_odds: Scores, /) -> Scores:
        """Return log-odds of rows that were read, after they are read again, as far as there is time.

        Only a reader with two models does so.
        """
        found = log_odds.copy()
        if not isinstance(self.reader, CascadeReader):
            return found
        started = self.clock()
        for batch in self._batches(list(range(len(rows))), self.reader.reread_batch_size):
            texts = [self._passages_read[row] for row in rows[batch].tolist()]
            first = log_odds[batch].astype(np.float64)
            try:
                found[batch] = self.reader.reread(self.query.reading_text, texts, first, asked_on=self._asked_on)
            except ReaderUnavailable as error:
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

    def _passages(self, rows: Rows, eligible: Mask) -> list[Passage | None]:
        """The passage of each row; None if another process has forgotten the memory."""
        previous = self.graph.previous_rows[rows]
        previous = np.where((previous >= 0) & eligible[previous], previous, -1)
        wanted = np.unique(np.concatenate([rows, previous[previous >= 0]]))
        nodes = {node.id: node for node in self.read_nodes(wanted)}

        def node(row: int) -> Node | None:
            return nodes.get(self.graph.id(row)) if row >= 0 else None

        return [
            None if (found := node(row)) is None else _passage(found, node(before))
            for row, before in zip(rows.tolist(), previous.tolist(), strict=True)
        ]


def _passage(node: Node, previous: Node | None) -> Passage:
    return Passage(
        node.text,
        speaker=node.speaker,
        happened_on=_known_day(node),
        title=node.heading or node.title,
        previous_turn="" if previous is None else _with_speaker(previous),
    )


def _with_speaker(node: Node) -> str:
    return f"{node.speaker}: {node.text}" if node.speaker else node.text


def _known_day(node: Node) -> date | None:
    """The day of a memory; None for a text without speaker whose time is only that of its recording."""
    is_dated = node.speaker is not None or node.happened_at != node.recorded_at
    return node.happened_at.date() if is_dated else None
