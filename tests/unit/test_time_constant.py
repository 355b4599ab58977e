"""The time constant tau of SynapticRAG: its growth, and that of a pair."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import InvalidInput
from ecphora.strategies.synaptic.lif_neuron import TimeConstant


@given(st.floats(1, 50), st.integers(0, 100))
def test_tau_grows_by_the_published_fraction(tau: float, turns: int) -> None:
    constant = TimeConstant(time_scale=0.5)
    delta = turns * 0.5
    expected = tau + (1 - math.exp(-delta)) / (1 + math.exp(-delta))
    assert constant.update(np.array([tau]), np.array([turns])) == pytest.approx([expected])


def test_time_constant_of_a_pair_is_that_of_the_mean_tau() -> None:
    constant = TimeConstant(tau_init=40.0, tau_scale=2.0)
    assert constant.of_pair(np.array([1.0]), np.array([3.0])).tolist() == [84.0]
    assert constant.of_neuron(np.array([2.0])).tolist() == [84.0]


def test_static_tau_is_constant_and_equals_the_time_constant() -> None:
    constant = TimeConstant(tau_init=40.0, tau_scale=2.0, use_dynamic_tau=False)
    tau = constant.update(np.array([1.0, 7.0]), np.array([0, 9]))
    assert tau.tolist() == constant.of_neuron(tau).tolist() == [80.0, 80.0]


def test_tau_below_its_scale_is_accepted() -> None:
    assert TimeConstant(tau_init=2.0, tau_scale=3.0).of_neuron(np.array([1.0])).tolist() == [9.0]


def test_negative_tau_is_rejected_though_its_product_is_large() -> None:
    with pytest.raises(InvalidInput, match="leaks"):
        TimeConstant(tau_init=-1.5, tau_scale=-2.0)


def test_too_small_tau_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="leaks"):
        TimeConstant(tau_init=0.1, tau_scale=0.5)
