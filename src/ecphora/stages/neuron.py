"""The dynamic leaky integrate-and-fire neuron of SynapticRAG: as published, and as a physiologist would have it.

Both solve ``tau dI/dt = -I + S δ(t)``, ``tau dV/dt = -V + I`` between two stimuli without stepping through the time
that lies between them: a stimulus costs the same after one turn and after a hundred thousand. Time is in turns.
"""
# ruff: noqa: N802, N803, N806  # the paper's symbols

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..model import Mask, Rows

Floats = NDArray[np.float64]
Turns = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Neuron:
    """The constants of all neurons of a memory; the published values (papers.md 1.2) are the defaults.

    ``physiological`` chooses the exact current-based neuron at rest 0 instead of the published difference equations.
    Without ``dynamic`` the time constant is ``tau_init * tau_scale`` from the first stimulus on: the paper's ablation.
    """

    v_th: float = 0.09965483747846116
    tau_init: float = 43.071022365235635
    tau_scale: float = 2.7037589108368674
    time_scale: float = 7.933361005067098
    v_rest: float = 2.9030838107636145
    i_rest: float = -7.127504404013959
    physiological: bool = False
    dynamic: bool = True

    def __post_init__(self) -> None:
        if min((1 + self.tau_init) * self.tau_scale, self.tau_init * self.tau_scale) <= 1:
            raise InvalidInput("tau_init * tau_scale must be above 1: a neuron leaks less than all within one turn")


@dataclass(frozen=True, slots=True)
class Charge:
    """The state of some neurons after their last stimulus: potential V, current I and time constant tau of each."""

    V: Floats
    I: Floats  # noqa: E741  # the paper's symbol
    tau: Floats

    @classmethod
    def new(cls, count: int) -> "Charge":
        """Neurons that were never stimulated: V = I = 0, tau = 1."""
        return cls(np.zeros(count), np.zeros(count), np.ones(count))

    def columns(self) -> tuple[Floats, Floats, Floats]:
        """V, I and tau."""
        return self.V, self.I, self.tau

    def of(self, places: Rows) -> "Charge":
        """The state of some of them."""
        return Charge(self.V[places], self.I[places], self.tau[places])

    def with_(self, more: "Charge") -> "Charge":
        """These neurons and some more behind them."""
        return Charge(*(np.concatenate(both) for both in zip(self.columns(), more.columns(), strict=True)))

    def put(self, places: Rows, after: "Charge") -> None:
        """Write what became of some of them; for the state that is being built only."""
        self.V[places], self.I[places], self.tau[places] = after.columns()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stimulus did: the state after it, which neurons fired, and the potential that says so.

    ``potential`` is as published V at the step that fired or else after the last step; physiologically it is the
    highest V that the input will cause.
    """

    charge: Charge
    fired: Mask
    potential: Floats


def stimulated(neuron: Neuron, charge: Charge, S: Floats, N: Turns) -> Outcome:
    """Stimulate each neuron with S, N turns after the stimulus before (SR-code ``lif``; papers.md 1.6)."""
    tau = consolidated(neuron, charge.tau, N)
    t = effective(neuron, tau) if neuron.dynamic else tau
    fire = _physiological if neuron.physiological else _published
    return fire(neuron, Charge(charge.V, charge.I, tau), t, S, N)


def consolidated(neuron: Neuron, tau: Floats, N: Turns) -> Floats:
    """tau(t + Δ) = tau(t) + (1 - e^-Δ) / (1 + e^-Δ), Δ = N time_scale; the fraction is tanh(Δ / 2)."""
    if not neuron.dynamic:
        return np.full(len(tau), neuron.tau_init * neuron.tau_scale)
    grown: Floats = tau + np.tanh(N * neuron.time_scale / 2)
    return grown


def effective(neuron: Neuron, tau: Floats) -> Floats:
    """The time constant in turns that a stored one stands for, of a neuron or as the mean of two."""
    return (tau + neuron.tau_init) * neuron.tau_scale


def _physiological(neuron: Neuron, charge: Charge, t: Floats, S: Floats, N: Turns) -> Outcome:
    """The exact solution with both rest values 0; the stimulus is a jump of the current.

    inferred: papers.md 1.6. Deciding by the coming peak makes firing independent of how soon the next turn comes.
    """
    left = np.exp(-N / t)
    V, I = left * (charge.V + charge.I * N / t), left * charge.I + S  # noqa: E741
    rising = I > V
    peak = np.where(rising, I * np.exp(np.divide(V, I, out=np.ones(len(V)), where=rising) - 1), V)
    fired = peak >= neuron.v_th
    return Outcome(Charge(np.where(fired, 0, V), np.where(fired, 0, I), charge.tau), fired, peak)


def _published(neuron: Neuron, charge: Charge, t: Floats, S: Floats, N: Turns) -> Outcome:
    """The published steps, one a turn, in closed form: see ``_Drift``. In no turns nothing happens."""
    drift = _Drift.of(neuron, charge, t, S)
    last = np.maximum(N - 1.0, 0)
    highest = drift.highest(last)
    fired = (N > 0) & (drift.V(highest) >= neuron.v_th)
    crossing = drift.first(neuron.v_th, np.where(fired, highest, 0))
    V = np.where(N > 0, drift.V(last), charge.V)
    I = np.where(N > 0, drift.I(last), charge.I)  # noqa: E741
    after = Charge(np.where(fired, neuron.v_rest, V), np.where(fired, neuron.i_rest, I), charge.tau)
    return Outcome(after, fired, np.where(fired, drift.V(crossing), V))


@dataclass(frozen=True, slots=True)
class _Drift:
    """The published difference equations (papers.md 1.6) after their first step, which takes the stimulus.

    ``x`` and ``y`` are the distances of I and V from ``-i_rest`` and ``target``, where they drift to. They obey
    x' = a x, y' = a (y + x / t) with a = 1 - 1 / t; so k steps on V is target + a^k (y + k x / t). It has one turning
    point at most.
    """

    target: float
    i_rest: float
    x: Floats
    y: Floats
    t: Floats

    @classmethod
    def of(cls, neuron: Neuron, charge: Charge, t: Floats, S: Floats) -> "_Drift":
        """Take the first step."""
        I = charge.I + (S - charge.I - neuron.i_rest) / t  # noqa: E741
        V = charge.V + (neuron.v_rest - charge.V + I) / t
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

    def highest(self, last: Floats) -> Floats:
        """The step up to ``last`` at which V is highest: one of the ends, or beside the turning point."""
        ratio = np.divide(self.y, self.x, out=np.zeros(len(self.x)), where=self.x != 0)
        turning = -1 / np.log1p(-1 / self.t) - self.t * ratio
        steps = np.stack(
            [np.clip(k, 0, last) for k in (np.zeros(len(last)), np.floor(turning), np.ceil(turning), last)]
        )
        found: Floats = np.take_along_axis(steps, np.stack([self.V(k) for k in steps]).argmax(0)[None], 0)[0]
        return found

    def first(self, v_th: float, high: Floats) -> Floats:
        """The first step at which V reaches ``v_th``, where it does so at step ``high``, its highest up to there.

        Before that step V is below: rising, or falling from a start below. So the step is found by halving.
        """
        low = np.zeros(len(high))
        high = np.where(self.V(low) >= v_th, 0, high)
        while (open_ := high - low > 1).any():
            middle = np.floor((low + high) / 2)
            there = self.V(middle) >= v_th
            high, low = np.where(open_ & there, middle, high), np.where(open_ & ~there, middle, low)
        return high
