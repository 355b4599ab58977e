"""SynapticRAG's time constant τ (papers.md 1.5): it grows with every stimulus; a pair has the mean of both."""
# ruff: noqa: N803  # the paper's symbols

from dataclasses import dataclass

import numpy as np

from ...errors import InvalidInput
from ...model.types import Floats
from .turn_clock import Turns


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
