"""Spike trains: selection, and trains of a growing history of spikes."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecphora.strategies.synaptic.spike_trains import SpikeHistory, SpikeRecorder, SpikeTrains

Train = Sequence[int]

trains = st.lists(st.integers(0, 300), min_size=1, max_size=9, unique=True).map(sorted)


def spike_times(trains_: SpikeTrains) -> list[list[float]]:
    return [trains_.times[a:b].tolist() for a, b in zip(trains_.starts[:-1], trains_.starts[1:], strict=True)]


@given(st.lists(trains, min_size=1, max_size=6), st.data())
def test_trains_are_selected_in_any_order(trains_: list[Train], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(trains_) - 1), max_size=8))
    spike_trains = SpikeTrains(
        np.array([t for train in trains_ for t in train], float), np.cumsum([0, *map(len, trains_)])
    )
    assert spike_times(spike_trains.select(np.array(places, np.intp))) == [list(trains_[place]) for place in places]


def test_history_grows_and_the_earlier_one_does_not_change() -> None:
    """Two memories at turns 1 and 2; then the first is stimulated at turn 2, and again at turn 5, where it fires."""
    recorder = SpikeRecorder(SpikeHistory.empty(), 2, np.array([1, 2, 2]))
    assert not recorder.has_spikes(np.array([0, 1])).any()
    recorder.add_initial_spikes(np.array([0, 1]), np.array([0, 1]))
    assert recorder.turns_since_spike(np.array([0]), np.array([2])).tolist() == [1]
    recorder.add_spikes(np.array([0]), np.array([2]), np.array([False]))
    before = recorder.history()
    assert spike_times(before.trains(np.array([0, 1]), 3)) == [[1, 2], [2]]
    recorder = SpikeRecorder(before, 3, np.array([5, 6]))
    recorder.add_spikes(np.array([0]), np.array([0]), np.array([True]))
    recorder.add_initial_spikes(np.array([2]), np.array([1]))
    assert spike_times(recorder.history().trains(np.array([0, 1, 2]), 7)) == [[5], [2], [6]]
    assert spike_times(before.trains(np.array([0, 1]), 3)) == [[1, 2], [2]]


def test_train_is_limited_to_its_last_spikes_and_a_new_one() -> None:
    recorder = SpikeRecorder(SpikeHistory.empty(), 1, np.arange(4))
    recorder.add_initial_spikes(np.array([0]), np.array([0]))
    for access in (1, 2, 3):
        recorder.add_spikes(np.array([0]), np.array([access]), np.array([False]))
    history, row = recorder.history(), np.array([0])
    assert spike_times(history.trains(row, 9, max_spikes=2)) == [[2, 3]]
    assert spike_times(history.trains(row, 9, max_spikes=3, has_new_spike=np.array([True]))) == [[2, 3, 9]]
    assert spike_times(history.trains(row, 9, has_new_spike=np.array([False]))) == [[9]]
    assert history.turns_since_spike(row, 9).tolist() == [6]


def test_single_spikes_are_a_train_each() -> None:
    found = SpikeTrains.single_spikes(np.array([3.0, 1.0, 2.0]))
    assert spike_times(found) == [[3.0], [1.0], [2.0]]
    assert len(SpikeTrains.single_spikes(np.zeros(0))) == 0
