"""Cognitive tunneling: its index, the floor of anchors, and less inhibition."""

import numpy as np
import pytest

from ecphora.strategies.synapse import tunneling
from ecphora.strategies.synapse.dual_trigger import TriggerResult
from ecphora.strategies.synapse.spreading_activation import Dynamics, apply_sigmoid, inhibit_and_activate, initial

DYNAMICS = Dynamics(S=0.8, delta=0.5, beta=0.15, M=7, gamma=5.0, theta=0.5)


def test_tunneling_index_is_the_fraction_of_suppressed_anchors() -> None:
    u, inhibited = np.array([1, 1, 1, 1], np.float32), np.array([1, 0.4, 0.4, 0.6], np.float32)
    wave = apply_sigmoid(initial(u), inhibited, gamma=5.0, theta=0.5)
    assert tunneling.tunneling_index(np.arange(4), np.array([0, 2]), wave) == 0.25
    assert tunneling.tunneling_index(np.arange(4), np.arange(4), wave) == 0
    assert tunneling.tunneling_index(np.empty(0, np.intp), np.arange(4), wave) == 0


def test_anchor_floor_is_the_initial_activation_of_anchors_of_both_triggers() -> None:
    initial_activation = np.array([0.5, 0.4, 0.3, 0.2], np.float32)
    trigger = TriggerResult(
        initial_activation, initial_activation, initial_activation, np.array([2, 0, 1]), np.array([1, 3, 2])
    )
    assert tunneling.anchor_floor(trigger).tolist() == pytest.approx([0, 0.4, 0.3, 0])


def test_inhibition_stops_at_the_floor_and_never_raises_rows() -> None:
    u = np.array([1.0, 0.4, 0.1], np.float32)
    dynamics, floor = (
        Dynamics(S=0.8, delta=0.5, beta=10.0, M=1, gamma=5.0, theta=0.5),
        np.array([0, 0.3, 0.3], np.float32),
    )
    assert inhibit_and_activate(initial(u), dynamics, np.zeros(3, np.float32)).u_hat.tolist() == [1, 0, 0]
    assert inhibit_and_activate(initial(u), dynamics, floor).u_hat == pytest.approx([1, 0.3, 0.1])
