"""``fused`` and the baselines keep the contract of strategies; the published models do so in ``tests/papers``."""

import pytest

from ecphora.strategies import BUILT_IN, MODELS
from ecphora.testing import StrategyContract


@pytest.mark.parametrize(
    "strategy", [one for name, one in BUILT_IN.items() if name not in MODELS], ids=lambda s: s.name
)
class TestBuiltIn(StrategyContract):
    pass
