"""SynapticRAG's spike trains: when each memory was encoded or stimulated. They are read from the access log.

A memory is encoded with one spike at its own turn; every ``STIMULATED`` access is one more. A neuron that fires starts
a new train, whose first spike is the stimulus that made it fire.

SynapticRAG's clock counts turns: an episode's turn is its number among the episodes.

A stimulus that was logged when an episode was stored has the turn of that episode. A stimulus that a recall logged has
the turn after the newest episode, as if the question had been stored. The two differ by time: a stored episode and the
stimuli of storing it have the same time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.graph.columns import Column, concatenate_ranges
from ...model.graph.graph import Graph
from ...model.types import AccessKind, Floats, Mask, Rows

Turns = NDArray[np.int64]
"""Turn numbers, or numbers of turns."""


def current_turn(graph: Graph) -> int:
    """The turn of a cue asked now."""
    return graph.episode_count + 1


def access_turns(graph: Graph, first_access: int) -> Turns:
    """The turn of each access from ``first_access`` on."""
    nodes, accesses = graph.nodes, graph.accesses
    episodes = np.flatnonzero(graph.episodes)
    count = np.searchsorted(nodes["seq"][episodes], accesses["seq"][first_access:], "right")
    newest = episodes[np.maximum(count - 1, 0)] if len(episodes) else np.zeros(len(count), np.intp)
    is_recall = graph.has_access_kind(AccessKind.STIMULATED, accesses=slice(first_access, None))
    if len(episodes):
        is_recall &= accesses["at"][first_access:] != nodes["recorded"][newest]
    return (count + is_recall).astype(np.int64)


@dataclass(frozen=True, slots=True)
class SpikeTrains:
    """Spike times of several neurons in turns: ``times[starts[i]:starts[i + 1]]`` are of neuron i, oldest first."""

    times: Floats
    starts: Rows

    @classmethod
    def single_spikes(cls, times: Floats) -> "SpikeTrains":
        """Trains of a single spike each."""
        return cls(times, np.arange(len(times) + 1))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Rows:
        """The number of spikes of each train."""
        return np.diff(self.starts)

    def select(self, places: Rows) -> "SpikeTrains":
        """The trains of some neurons, in that order; a neuron may occur several times."""
        lengths = self.lengths[places]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return SpikeTrains(self.times[concatenate_ranges(self.starts[places], lengths)], starts)

    def to_columns(self) -> Floats:
        """The trains as columns, shape ``(longest, trains)``; values beyond a train's end are meaningless."""
        lengths = self.lengths
        within = np.arange(int(lengths.max(initial=0)))[:, None]
        columns: Floats = self.times[np.minimum(self.starts[:-1] + within, max(0, len(self.times) - 1))]
        return columns


@dataclass(frozen=True, slots=True)
class SpikeHistory:
    """The spikes of every row of a graph, each an access of the log.

    ``last_spikes`` are the accesses of each row's last spike, -1 for rows that are no episodes; ``counts`` are the
    lengths of the spike trains. ``access_turns`` has the turn of each access, ``previous_spikes`` the access of the
    spike before it.
    """

    last_spikes: Rows
    counts: NDArray[np.int64]
    access_turns: Column
    previous_spikes: Column

    @classmethod
    def empty(cls) -> "SpikeHistory":
        """The history of a graph without rows."""
        return cls(
            np.empty(0, np.intp),
            np.empty(0, np.int64),
            Column(np.empty(0, np.int64)),
            Column(np.empty(0, np.intp)),
        )

    def turns_since_spike(self, rows: Rows, now: int) -> Turns:
        """Turns since the last spike of some episodes."""
        turns: Turns = now - self.access_turns.view[self.last_spikes[rows]]
        return turns

    def trains(
        self, rows: Rows, now: int, *, max_spikes: int | None = None, has_new_spike: Mask | None = None
    ) -> SpikeTrains:
        """The spike trains of some episodes, cut to the last ``max_spikes`` spikes of each.

        With ``has_new_spike``, episodes under it get one more spike now; the train of the others is a single spike now.
        """
        counts = self.counts[rows] if has_new_spike is None else np.where(has_new_spike, self.counts[rows] + 1, 1)
        if max_spikes is not None:
            counts = np.minimum(counts, max_spikes)
        starts = np.concatenate([[0], np.cumsum(counts)])
        times, turns, previous = np.empty(starts[-1]), self.access_turns.view, self.previous_spikes.view
        spikes, end = self.last_spikes[rows], starts[1:] - 1
        if has_new_spike is not None:
            times[end] = now
            end, counts = end - 1, counts - 1
        remaining = np.flatnonzero(counts > 0)
        while len(remaining):  # one step back in every train with spikes left
            times[end[remaining]] = turns[spikes[remaining]]
            spikes[remaining], end[remaining], counts[remaining] = (
                previous[spikes[remaining]],
                end[remaining] - 1,
                counts[remaining] - 1,
            )
            remaining = remaining[counts[remaining] > 0]
        return SpikeTrains(times, starts)


class SpikeRecorder:
    """Adds the spikes of new accesses to a history; ``history`` returns the longer one, and the first stays as it is.

    ``turns`` has the turn of each new access. New accesses are numbered from 0.
    """

    def __init__(self, before: SpikeHistory, row_count: int, turns: Turns) -> None:
        self._before, self._turns = before, turns
        self._first_access = len(before.access_turns)
        self._access_turns = before.access_turns.append(turns)
        new_rows = row_count - len(before.last_spikes)
        self._last_spikes = np.concatenate([before.last_spikes, np.full(new_rows, -1, np.intp)])
        self._counts = np.concatenate([before.counts, np.zeros(new_rows, np.int64)])
        self._previous = np.full(len(turns), -1, np.intp)

    def add_initial_spikes(self, rows: Rows, accesses: Rows) -> None:
        """Give new episodes the spike with which they are encoded, at their own turn."""
        self._last_spikes[rows], self._counts[rows] = self._first_access + accesses, 1

    def has_spikes(self, rows: Rows) -> Mask:
        """Which rows have a spike, as every episode has."""
        return self._last_spikes[rows] >= 0

    def turns_since_spike(self, rows: Rows, accesses: Rows) -> Turns:
        """Turns from the last spike of some rows to an access of each."""
        turns: Turns = self._turns[accesses] - self._access_turns.view[self._last_spikes[rows]]
        return turns

    def add_spikes(self, rows: Rows, accesses: Rows, has_fired: Mask) -> None:
        """Add one spike to each of some distinct rows; the train of a row that fired starts anew with it."""
        self._previous[accesses], self._last_spikes[rows] = self._last_spikes[rows], self._first_access + accesses
        self._counts[rows] = np.where(has_fired, 1, self._counts[rows] + 1)

    def history(self) -> SpikeHistory:
        """The history with all spikes added."""
        return SpikeHistory(
            self._last_spikes, self._counts, self._access_turns, self._before.previous_spikes.append(self._previous)
        )
