"""Loads the lists and templates of probes, which are in a checkout and not in the installed package."""

import sys
from collections.abc import Callable, Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Protocol

from ecphora.errors import InvalidInput

from .probe import Half, Kind, Probe, spread

CHECKOUT = Path(__file__).parents[3]
PACKAGE = "ecphora_probes"
"""The name under which the package of a checkout is imported."""


class Maker(Protocol):
    """Makes probes: ``make_probes`` of ``benchmarks/probes``."""

    def __call__(self, kinds: Iterable[Kind], half: Half, *, seed: int = 0, worlds: int = 2) -> list[Probe]: ...


def load_maker(folder: Path | None = None) -> Maker:
    """The function that makes probes from the lists in a folder, by default those of this checkout.

    Runs the Python of that folder. Raises ``InvalidInput`` if it holds no probes.
    """
    folder = CHECKOUT / "benchmarks" / "probes" if folder is None else folder
    start = folder / "__init__.py"
    if not start.is_file() or not (folder / "lists").is_dir():
        raise InvalidInput(
            f"there are no probes in {folder}; they are in benchmarks/probes of a checkout, not in the installed "
            "package: give that folder with --probes"
        )
    for name in [name for name in sys.modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")]:
        del sys.modules[name]
    spec = spec_from_file_location(PACKAGE, start, submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{start} cannot be loaded as Python")
    module = module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)
    maker: Maker = module.make_probes
    return maker


def choose_probes(
    maker: Maker,
    kinds: Iterable[Kind],
    half: Half,
    *,
    seed: int = 0,
    worlds: int = 2,
    limit: int | None = None,
    fits: Callable[[Probe], bool] = lambda _probe: True,
) -> list[Probe]:
    """The probes of kinds that fit, at most ``limit`` of a kind, spread evenly over it."""
    probes: list[Probe] = []
    for kind in kinds:
        probes += spread([probe for probe in maker([kind], half, seed=seed, worlds=worlds) if fits(probe)], limit)
    return probes
