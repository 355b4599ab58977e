"""The neuron in closed form, compared with the loops and integrals it replaces."""
# ruff: noqa: E741, N803, N806, PLR0917, SIM300  # the paper's symbols

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.strategies.synaptic.lif_neuron import Neuron, NeuronState, StimulusOutcome, TimeConstant, stimulate

PUBLISHED = Neuron()
PHYSIOLOGICAL = Neuron(is_physiological=True)
NEURONS = [
    PUBLISHED,
    replace(PUBLISHED, time_constant=TimeConstant(use_dynamic_tau=False)),
    replace(PUBLISHED, v_rest=0.0, i_rest=0.0, v_th=0.002),
    replace(PUBLISHED, v_rest=0.05, i_rest=0.02, v_th=0.04, time_constant=TimeConstant(tau_init=2.0, tau_scale=1.0)),
    replace(PUBLISHED, v_rest=-0.5, i_rest=0.5, time_constant=TimeConstant(tau_init=4.0, tau_scale=1.0)),
]


def step_by_turn(
    neuron: Neuron, V: float, I: float, tau: float, S: float, N: int
) -> tuple[float, float, float, bool, float]:
    """The reference implementation: SR-code ``lif``, turn by turn."""
    constant = neuron.time_constant
    delta = N * constant.time_scale
    tau += (1 - math.exp(-delta)) / (1 + math.exp(-delta))
    t = (tau + constant.tau_init) * constant.tau_scale
    if not constant.use_dynamic_tau:
        tau = t = constant.tau_init * constant.tau_scale
    for j in range(N):
        I += (-I + (S if j == 0 else 0) - neuron.i_rest) / t
        V += (-(V - neuron.v_rest) + I) / t
        if V >= neuron.v_th:
            return neuron.v_rest, neuron.i_rest, tau, True, V
    return V, I, tau, False, V


def stimulate_one(
    neuron: Neuron, S: float, N: int, V: float = 0.0, I: float = 0.0, tau: float = 1.0
) -> StimulusOutcome:
    charge = NeuronState(np.array([V]), np.array([I]), np.array([tau]))
    return stimulate(neuron, charge, np.array([S]), np.array([N]))


@given(
    st.sampled_from(NEURONS), st.floats(0, 0.5), st.integers(0, 400), st.floats(-1, 3), st.floats(-8, 8),
    st.floats(1, 50),
)  # fmt: skip
def test_closed_form_equals_the_published_steps(
    neuron: Neuron,
    S: float,
    N: int,
    V: float,
    I: float,
    tau: float,
) -> None:
    expected = step_by_turn(neuron, V, I, tau, S, N)
    outcome = stimulate_one(neuron, S, N, V, I, tau)
    found = (*(column[0] for column in outcome.state.columns()), outcome.has_fired[0], outcome.potential[0])
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.medium
@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(0, 500))
def test_physiological_neuron_solves_its_equations(S: float, V: float, I: float, N: int) -> None:
    """Between two stimuli: against Heun's method, 200 steps a turn's worth of time constant."""
    never_firing = replace(PHYSIOLOGICAL, v_th=math.inf)
    outcome = stimulate_one(never_firing, S, N, V, I)
    tau = outcome.state.tau[0]
    t = never_firing.time_constant.of_neuron(outcome.state.tau)[0]
    v, i, steps = V, I, 2000
    dt = N / t / steps
    for _ in range(steps):
        di, dv = -i, i - v
        di_, dv_ = -(i + dt * di), (i + dt * di) - (v + dt * dv)
        i, v = i + dt * (di + di_) / 2, v + dt * (dv + dv_) / 2
    assert tau == pytest.approx(1 + math.tanh(N * never_firing.time_constant.time_scale / 2))
    assert outcome.state.V[0] == pytest.approx(v, abs=1e-5)
    assert outcome.state.I[0] == pytest.approx(i + S, abs=1e-5)


@given(st.floats(0, 1), st.floats(0, 1))
def test_potential_is_the_future_peak(V: float, I: float) -> None:
    ahead = np.linspace(0, 20, 20_001)  # in time constants
    peak = (np.exp(-ahead) * (V + I * ahead)).max()
    assert stimulate_one(PHYSIOLOGICAL, I, 0, V=V).potential[0] == pytest.approx(peak, abs=1e-6)
