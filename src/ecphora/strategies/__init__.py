"""Ways of recalling, one a file: the baselines, and ``fused``. Third parties add theirs as entry points."""

from importlib.metadata import entry_points

from ..errors import UnknownName
from ..ports import Strategy
from .baselines import Bm25, Dense, Recency, Rrf
from .fused import Fused
from .weave import Weave

GROUP = "ecphora.strategies"
"""The entry-point group in which a third party's strategy, or a function that makes one, is found."""

BUILT_IN: dict[str, Strategy] = {strategy.name: strategy for strategy in (Fused(), Weave(), Dense(), Bm25(), Rrf(), Recency())}


def known() -> list[str]:
    """The names of all strategies that can be chosen."""
    return [*BUILT_IN, *sorted(point.name for point in entry_points(group=GROUP))]


def by_name(strategy: str | Strategy) -> Strategy:
    """The strategy of a name; one that is a strategy already is passed through."""
    if not isinstance(strategy, str):
        return strategy
    if strategy in BUILT_IN:
        return BUILT_IN[strategy]
    for point in entry_points(group=GROUP, name=strategy):
        loaded: Strategy = point.load()()
        return loaded
    raise UnknownName(f"no strategy is called {strategy!r}; choose one of {', '.join(known())}")
