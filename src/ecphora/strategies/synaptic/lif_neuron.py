"""The dynamic leaky integrate-and-fire neuron of SynapticRAG: as published, and as a physiologist would have it.

Both solve ``tau dI/dt = -I + S δ(t)``, ``tau dV/dt = -V + I`` between two stimuli in closed form: a stimulus costs the
same after one turn and after a hundred thousand. Time is in turns.

SynapticRAG's time constant τ (papers.md 1.5): it grows with every stimulus; a pair has the mean of both.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import InvalidInput
from ...model.types import Floats, Mask, Rows
from .spike_trains import Turns

# ruff: noqa: N803  # the paper's symbols


@dataclass(frozen=True, slots=True)
class TimeConstant:
    """The parameters of all time constants; the published values (papers.md 1.2) are the defaults.

    Without ``use_dynamic_tau`` the time constant is ``tau_init * tau_scale`` from the first stimulus on: the paper's
    ablation.
    """

    tau_init: float = 43.071022365235635
    tau_scale: float = 2.7037589108368674
    time_scale: float = 7.933361005067098
    use_dynamic_tau: bool = True

    def __post_init__(self) -> None:
        if min((1 + self.tau_init) * self.tau_scale, self.tau_init * self.tau_scale) <= 1:
            raise InvalidInput(
                "tau_init * tau_scale must be above 1, so that a neuron leaks less than all within one turn"
            )

    def update(self, tau: Floats, N: Turns) -> Floats:
        """tau(t + Δ) = tau(t) + (1 - e^-Δ) / (1 + e^-Δ), Δ = N time_scale; the fraction is tanh(Δ / 2)."""
        if not self.use_dynamic_tau:
            return np.full(len(tau), self.tau_init * self.tau_scale)
        updated: Floats = tau + np.tanh(N * self.time_scale / 2)
        return updated

    def of_neuron(self, tau: Floats) -> Floats:
        """The time constant in turns with which a neuron of stored tau leaks."""
        return self._in_turns(tau) if self.use_dynamic_tau else tau

    def of_pair(self, parent_tau: Floats, child_tau: Floats) -> Floats:
        """τ̄ of a parent and a child, in turns: (0.5 (tau_p + tau_c) + tau_init) tau_scale."""
        return self._in_turns(0.5 * (parent_tau + child_tau))

    def _in_turns(self, tau: Floats) -> Floats:
        return (tau + self.tau_init) * self.tau_scale


# ruff: noqa: N802, N803, N806  # the paper's symbols


@dataclass(frozen=True, slots=True)
class Neuron:
    """The constants of all neurons of a memory; the published values (papers.md 1.2) are the defaults.

    ``is_physiological`` chooses the exact current-based neuron at rest 0 instead of the published difference equations.
    Ablation: without ``keeps_potential`` V and I are 0 after every stimulus, so no stimulus adds to an earlier one.
    """

    v_th: float = 0.09965483747846116
    v_rest: float = 2.9030838107636145
    i_rest: float = -7.127504404013959
    is_physiological: bool = False
    time_constant: TimeConstant = field(default_factory=TimeConstant)
    keeps_potential: bool = True


@dataclass(frozen=True, slots=True)
class NeuronState:
    """The state of some neurons after their last stimulus: potential V, current I and time constant tau of each."""

    V: Floats
    I: Floats  # noqa: E741  # the paper's symbol
    tau: Floats

    @classmethod
    def initial(cls, count: int) -> "NeuronState":
        """Neurons that were never stimulated: V = I = 0, tau = 1."""
        return cls(np.zeros(count), np.zeros(count), np.ones(count))

    def __len__(self) -> int:
        return len(self.tau)

    def columns(self) -> tuple[Floats, Floats, Floats]:
        """V, I and tau."""
        return self.V, self.I, self.tau

    def select(self, places: Rows) -> "NeuronState":
        """The state of some of the neurons."""
        return NeuronState(self.V[places], self.I[places], self.tau[places])

    def append(self, others: "NeuronState") -> "NeuronState":
        """These neurons followed by others."""
        return NeuronState(*(np.concatenate(both) for both in zip(self.columns(), others.columns(), strict=True)))

    def assign(self, places: Rows, state: "NeuronState") -> None:
        """Overwrite the state of some of them; only for a state that is still being built."""
        self.V[places], self.I[places], self.tau[places] = state.columns()


@dataclass(frozen=True, slots=True)
class StimulusOutcome:
    """The outcome of a stimulus: the state after it, which neurons fired, and the potential that decides it.

    As published, ``potential`` is V at the step that fired, or else after the last step; for the physiological neuron
    it is the highest V that the input will cause.
    """

    state: NeuronState
    has_fired: Mask
    potential: Floats


def stimulate(neuron: Neuron, state: NeuronState, S: Floats, N: Turns) -> StimulusOutcome:
    """Stimulate each neuron with S, N turns after its previous stimulus (SR-code ``lif``; papers.md 1.6)."""
    tau = neuron.time_constant.update(state.tau, N)
    t = neuron.time_constant.of_neuron(tau)
    fire = _solve_physiological if neuron.is_physiological else _solve_published
    outcome = fire(neuron, NeuronState(state.V, state.I, tau), t, S, N)
    if not neuron.keeps_potential:
        outcome = replace(outcome, state=NeuronState(np.zeros(len(tau)), np.zeros(len(tau)), tau))
    return outcome


def _solve_physiological(neuron: Neuron, state: NeuronState, t: Floats, S: Floats, N: Turns) -> StimulusOutcome:
    """The exact solution with both rest values 0; the stimulus is a jump of the current.

    inferred: papers.md 1.6. Deciding by the future peak makes firing independent of when the next turn comes.
    """
    decay = np.exp(-N / t)
    V, I = decay * (state.V + state.I * N / t), decay * state.I + S  # noqa: E741
    is_rising = I > V
    peak = np.where(is_rising, I * np.exp(np.divide(V, I, out=np.ones(len(V)), where=is_rising) - 1), V)
    has_fired = peak >= neuron.v_th
    return StimulusOutcome(
        NeuronState(np.where(has_fired, 0, V), np.where(has_fired, 0, I), state.tau), has_fired, peak
    )


def _solve_published(neuron: Neuron, state: NeuronState, t: Floats, S: Floats, N: Turns) -> StimulusOutcome:
    """The published steps, one per turn, in closed form: see ``_Drift``. After 0 turns nothing changes."""
    drift = _Drift.start(neuron, state, t, S)
    last = np.maximum(N - 1.0, 0)
    highest = drift.peak_step(last)
    has_fired = (N > 0) & (drift.V(highest) >= neuron.v_th)
    crossing = drift.first_crossing(neuron.v_th, np.where(has_fired, highest, 0))
    V = np.where(N > 0, drift.V(last), state.V)
    I = np.where(N > 0, drift.I(last), state.I)  # noqa: E741
    after = NeuronState(np.where(has_fired, neuron.v_rest, V), np.where(has_fired, neuron.i_rest, I), state.tau)
    return StimulusOutcome(after, has_fired, np.where(has_fired, drift.V(crossing), V))


@dataclass(frozen=True, slots=True)
class _Drift:
    """The published difference equations (papers.md 1.6) after their first step, which takes the stimulus.

    ``x`` and ``y`` are the distances of I and V from their limits ``-i_rest`` and ``target``. They obey x' = a x,
    y' = a (y + x / t) with a = 1 - 1 / t; so after k steps V is target + a^k (y + k x / t). It has one turning point at
    most.
    """

    target: float
    i_rest: float
    x: Floats
    y: Floats
    t: Floats

    @classmethod
    def start(cls, neuron: Neuron, state: NeuronState, t: Floats, S: Floats) -> "_Drift":
        """Take the first step."""
        I = state.I + (S - state.I - neuron.i_rest) / t  # noqa: E741
        V = state.V + (neuron.v_rest - state.V + I) / t
        target = neuron.v_rest - neuron.i_rest
        return cls(target, neuron.i_rest, I + neuron.i_rest, V - target, t)

    def V(self, k: Floats) -> Floats:
        """The potential k steps after the first."""
        V: Floats = self.target + np.exp(k * np.log1p(-1 / self.t)) * (self.y + k * self.x / self.t)
        return V

    def I(self, k: Floats) -> Floats:  # noqa: E743
        """The current k steps after the first."""
        I: Floats = np.exp(k * np.log1p(-1 / self.t)) * self.x - self.i_rest  # noqa: E741
        return I

    def peak_step(self, last: Floats) -> Floats:
        """The step up to ``last`` at which V is highest: one of the ends, or next to the turning point."""
        ratio = np.divide(self.y, self.x, out=np.zeros(len(self.x)), where=self.x != 0)
        turning = -1 / np.log1p(-1 / self.t) - self.t * ratio
        steps = np.stack(
            [np.clip(k, 0, last) for k in (np.zeros(len(last)), np.floor(turning), np.ceil(turning), last)]
        )
        found: Floats = np.take_along_axis(steps, np.stack([self.V(k) for k in steps]).argmax(0)[None], 0)[0]
        return found

    def first_crossing(self, v_th: float, peak: Floats) -> Floats:
        """The first step at which V reaches ``v_th``, for neurons whose V does so at step ``peak``, the highest so far.

        Up to the peak V rises, or falls first from a start below ``v_th``. So the step is found by bisection.
        """
        low = np.zeros(len(peak))
        peak = np.where(self.V(low) >= v_th, 0, peak)
        while (is_open := peak - low > 1).any():
            middle = np.floor((low + peak) / 2)
            is_above = self.V(middle) >= v_th
            peak, low = np.where(is_open & is_above, middle, peak), np.where(is_open & ~is_above, middle, low)
        return peak
