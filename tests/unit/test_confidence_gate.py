"""SYNAPSE's gate: the highest activation as a confidence."""

import pytest

from ecphora.strategies.synapse.confidence_gate import GATE_CONFIDENCE, from_activation


@pytest.mark.parametrize(
    ("activation", "gate", "expected"),
    [
        (0.0, 0.4, 0.0),
        (0.1, 0.4, GATE_CONFIDENCE / 4),
        (0.4, 0.4, GATE_CONFIDENCE),
        (0.7, 0.4, GATE_CONFIDENCE + (1 - GATE_CONFIDENCE) / 2),
        (1.0, 0.4, 1.0),
        (7.0, 0.4, 1.0),
        (0.0, 0.0, GATE_CONFIDENCE),
        (0.5, 1.0, GATE_CONFIDENCE / 2),
        (1.0, 1.0, 1.0),
    ],
)
def test_confidence_rises_linearly_below_and_above_the_gate(activation: float, gate: float, expected: float) -> None:
    assert from_activation(activation, gate) == pytest.approx(expected)


def test_confidence_just_below_the_gate_stays_below_its_confidence() -> None:
    assert from_activation(0.39999999999999997, 0.4) < GATE_CONFIDENCE
