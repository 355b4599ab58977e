"""Ways of recalling, one a file: ``fused``, five published models, the baselines. Third parties add entry points."""

from importlib.metadata import entry_points

from ..errors import UnknownName
from ..ports import Strategy
from ..validate import check_part, show
from . import ecphory, eisa, synapse, synaptic, weave
from .baselines import Bm25, Dense, Recency, Rrf
from .fused import Fused

GROUP = "ecphora.strategies"
"""The entry-point group in which a third party's strategy, or a function that makes one, is found."""

MODELS: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (synaptic.Synaptic(), synapse.Synapse(), eisa.Eisa(), ecphory.Ecphory(), weave.Weave())
}
"""The five published models as they serve in practice."""
FAITHFUL: dict[str, Strategy] = {
    module.FAITHFUL.name: module.FAITHFUL for module in (synaptic, synapse, eisa, ecphory, weave)
}
"""The five as published: for comparison with their papers."""
BASELINES: dict[str, Strategy] = {strategy.name: strategy for strategy in (Dense(), Bm25(), Rrf(), Recency())}
"""What every recall must beat."""
BUILT_IN: dict[str, Strategy] = {"fused": Fused(), **MODELS, **BASELINES}
"""What is chosen where all strategies are asked for."""


def known() -> list[str]:
    """The names of the strategies that can be chosen, but for the faithful forms of published models."""
    return [*BUILT_IN, *sorted(point.name for point in entry_points(group=GROUP))]


def by_name(strategy: str | Strategy) -> Strategy:
    """The strategy of a name; one that is a strategy already is passed through."""
    if not isinstance(strategy, str):
        return check_part("strategy", strategy, f"a name, such as one of {', '.join(BUILT_IN)}", "activate")
    if strategy in BUILT_IN or strategy in FAITHFUL:
        return BUILT_IN.get(strategy) or FAITHFUL[strategy]
    for point in entry_points(group=GROUP, name=strategy):
        loaded: Strategy = point.load()()
        return loaded
    raise UnknownName(f"no strategy is called {show(strategy)}; choose one of {', '.join([*known(), *FAITHFUL])}")
