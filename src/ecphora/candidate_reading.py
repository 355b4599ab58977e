"""Lets a reader read the best candidates of a query: fetches their texts, and stops when the time is up."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from time import perf_counter

import numpy as np

from .cancellation import check_cancellation
from .errors import LLMError, ReaderUnavailable
from .graph import Graph
from .model import Mask, Node, Query, Rows, Scores
from .ports import ActivateCandidates, NodeReader, Passage, Reader, ReadingStrategy, Strategy
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

    It reads them in the order given, a batch at a time, and starts no batch that would probably end after
    ``time_limit`` seconds. If the reader fails, the rest is not read. ``seconds`` and ``count`` say how long it has
    read, and how many passages; ``error`` says why the reader failed, also if another one stood in. ``clock`` gives
    seconds.
    """

    reader: Reader
    graph: Graph
    query: Query
    read_nodes: NodeReader
    time_limit: float
    is_mandatory: bool = False
    clock: Callable[[], float] = perf_counter
    seconds: float = field(default=0.0, init=False)
    count: int = field(default=0, init=False)
    error: str | None = field(default=None, init=False)

    def __call__(self, rows: Rows, eligible: Mask, /) -> Scores:
        """Return the log-odds that each row answers the query, shape ``(len(rows),)``, NaN for rows not read.

        A turn before a row is shown to the reader only if it is ``eligible`` too: a reader may be a remote service.
        """
        started = self.clock()
        log_odds = np.full(len(rows), np.nan, np.float32)
        passages = self._passages(rows, eligible)
        asked_on = (self.query.as_of or self.query.now).date()
        places = [place for place, passage in enumerate(passages) if passage is not None]
        longest = 0.0
        failure_count = self.reader.failure_count if isinstance(self.reader, FallbackReader) else 0
        for start in range(0, len(places), self.reader.batch_size):
            batch_start = self.clock()
            if batch_start - started + longest > self.time_limit:
                break
            check_cancellation()
            batch = places[start : start + self.reader.batch_size]
            texts = [passage for place in batch if (passage := passages[place]) is not None]
            try:
                log_odds[batch] = self.reader.read(self.query.search_text, texts, asked_on=asked_on)
            except (ReaderUnavailable, LLMError) as error:
                self.error = str(error)
                break
            self.count += len(batch)
            longest = max(longest, self.clock() - batch_start)
        if isinstance(self.reader, FallbackReader) and self.reader.failure_count > failure_count:
            self.error = self.reader.last_error
        self.seconds += self.clock() - started
        return log_odds

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
