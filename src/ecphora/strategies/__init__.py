"""Ways of recalling, one a file: ``fused``, five published models, the baselines. Third parties add entry points.

A strategy is imported when it is first asked for.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from ..errors import UnknownName
from ..ports import Strategy
from ..validate import check_part, show

GROUP = "ecphora.strategies"
"""The entry-point group in which a third party's strategy, or a function that makes one, is found."""


class Catalog(Mapping[str, Strategy]):
    """Strategies by name. ``places`` says of each where it is: ``module.Type`` makes it, ``module.FAITHFUL`` is it."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> Strategy:
        return _strategy(self._places[name])

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@cache
def _strategy(place: str) -> Strategy:
    module, _, what = place.rpartition(".")
    found = getattr(import_module(f".{module}", __package__), what)
    made: Strategy = found() if isinstance(found, type) else found
    return made


_MODELS = {
    "synaptic": "synaptic.Synaptic",
    "synapse": "synapse.Synapse",
    "eisa": "eisa.Eisa",
    "ecphory": "ecphory.Ecphory",
    "weave": "weave.Weave",
}
_BASELINES = {
    "dense": "baselines.Dense",
    "bm25": "baselines.Bm25",
    "rrf": "baselines.Rrf",
    "recency": "baselines.Recency",
}

MODELS = Catalog(_MODELS)
"""The five published models as they serve in practice."""
FAITHFUL = Catalog({f"{name}-faithful": f"{name}.FAITHFUL" for name in _MODELS})
"""The five as published: for comparison with their papers."""
BASELINES = Catalog(_BASELINES)
"""What every recall must beat."""
BUILT_IN = Catalog({"fused": "fused.Fused", **_MODELS, **_BASELINES})
"""What is chosen where all strategies are asked for."""


def known() -> list[str]:
    """The names of the strategies that can be chosen, but for the faithful forms of published models."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # it is slow to import

    return [*BUILT_IN, *sorted(point.name for point in entry_points(group=GROUP))]


def by_name(strategy: str | Strategy) -> Strategy:
    """The strategy of a name; one that is a strategy already is passed through."""
    if not isinstance(strategy, str):
        return check_part("strategy", strategy, f"a name, such as one of {', '.join(BUILT_IN)}", "activate")
    if strategy in BUILT_IN or strategy in FAITHFUL:
        return BUILT_IN[strategy] if strategy in BUILT_IN else FAITHFUL[strategy]
    from importlib.metadata import entry_points  # noqa: PLC0415

    for point in entry_points(group=GROUP, name=strategy):
        loaded: Strategy = point.load()()
        return loaded
    raise UnknownName(f"no strategy is called {show(strategy)}; choose one of {', '.join([*known(), *FAITHFUL])}")
