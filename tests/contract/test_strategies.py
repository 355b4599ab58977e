"""The built-in strategies keep the contract of strategies."""

import pytest

from ecphora.strategies import BUILT_IN
from ecphora.testing import StrategyContract


@pytest.mark.parametrize("strategy", BUILT_IN.values(), ids=BUILT_IN.keys())
class TestBuiltIn(StrategyContract):
    pass
