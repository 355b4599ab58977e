"""Recall strategies: ``fused``, five published models, the baselines. Third parties add plug-ins.

A strategy is imported when it is first requested, by name or by type: ``from ecphora.strategies import Synapse``.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import UnknownName
from ..model import plugins
from ..model.ports import Strategy
from ..model.reprs import show
from ..model.validation import check_component

if TYPE_CHECKING:
    from .ecphory.strategy import Ecphory as Ecphory
    from .eisa.strategy import Eisa as Eisa
    from .fused.strategy import Fused as Fused
    from .fused.weights import parse_fused_model as parse_fused_model
    from .synapse.strategy import Synapse as Synapse
    from .synaptic.strategy import Synaptic as Synaptic
    from .weave.strategy import Weave as Weave


class Catalog(Mapping[str, Strategy]):
    """Strategies by name. A location is ``module.Type``, which is instantiated, or an instance, ``module.FAITHFUL``."""

    def __init__(self, locations: Mapping[str, str]) -> None:
        self._locations = locations

    def __getitem__(self, name: str) -> Strategy:
        return _load(self._locations[name])

    def __contains__(self, name: object) -> bool:
        return name in self._locations

    def __iter__(self) -> Iterator[str]:
        return iter(self._locations)

    def __len__(self) -> int:
        return len(self._locations)


def _find(location: str) -> Any:
    module, _, attribute = location.rpartition(".")
    return getattr(import_module(f".{module}", __package__), attribute)


@cache
def _load(location: str) -> Strategy:
    found = _find(location)
    strategy: Strategy = found() if isinstance(found, type) else found
    return strategy


_PAPERS = {
    "synaptic": "synaptic.strategy.Synaptic",
    "synapse": "synapse.strategy.Synapse",
    "eisa": "eisa.strategy.Eisa",
    "ecphory": "ecphory.strategy.Ecphory",
    "weave": "weave.strategy.Weave",
}
_BASELINES = {
    "dense": "baselines.Dense",
    "bm25": "baselines.Bm25",
    "rrf": "baselines.Rrf",
    "simple": "baselines.Simple",
    "recency": "baselines.Recency",
}
_RETENTION = {
    "myagent": "synaptic.recency_baselines.MyAgent",
    "myagent-adapted": "synaptic.recency_baselines.MYAGENT_ADAPTED",
    "memorybank": "synaptic.recency_baselines.MemoryBank",
    "memorybank-adapted": "synaptic.recency_baselines.MEMORYBANK_ADAPTED",
}

PAPERS = Catalog(_PAPERS)
"""The five published models with our changes for practical use."""
FAITHFUL = Catalog({f"{name}-faithful": f"{name}.strategy.FAITHFUL" for name in _PAPERS})
"""The five models as published, for comparison with their papers."""
RETENTION = Catalog(_RETENTION)
"""The baselines of SynapticRAG's paper, for comparison with it."""
ENGLISH = Catalog({"dense-english": "baselines.DenseEnglish"})
"""Dense similarity of the English vectors, to compare models; without a second embedder it finds nothing."""
BASELINES = Catalog(_BASELINES)
"""The baselines that every strategy must beat."""
BUILT_IN = Catalog({"fused": "fused.strategy.Fused", **_PAPERS, **_BASELINES})
"""The strategies meant by "all strategies"."""

_PUBLIC = {
    **{location.rpartition(".")[2]: location for location in ("fused.strategy.Fused", *_PAPERS.values())},
    "parse_fused_model": "fused.weights.parse_fused_model",
}


def __getattr__(name: str) -> object:
    """Import the type of a strategy when it is first named."""
    location = _PUBLIC.get(name)
    if location is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _find(location)


def strategy_names() -> list[str]:
    """The names of all strategies, also of plug-ins, but not of strategies for comparison with a paper or model."""
    return [
        *BUILT_IN,
        *dict.fromkeys(plugin.name for plugin in plugins.list_plugins("strategies") if not plugin.is_hidden),
    ]


def resolve_strategy(strategy: str | Strategy) -> Strategy:
    """The strategy of a name, built in or of a plug-in; a strategy object is returned unchanged."""
    if not isinstance(strategy, str):
        return check_component("strategy", strategy, f"a name, such as one of {', '.join(BUILT_IN)}", "activate")
    for catalog in (BUILT_IN, ENGLISH, FAITHFUL, RETENTION):
        if strategy in catalog:
            return catalog[strategy]
    return _load_plugin(strategy)


@cache
def _load_plugin(name: str) -> Strategy:
    """The strategy of a plug-in. A name takes no argument, because it may come from a client of a server."""
    plugin = plugins.find("strategies", name)
    if plugin is None:
        raise UnknownName(
            f"no strategy is called {show(name)}; choose one of "
            f"{', '.join([*strategy_names(), *ENGLISH, *FAITHFUL, *RETENTION])}"
        )
    strategy: Strategy = plugin.make()
    return strategy
