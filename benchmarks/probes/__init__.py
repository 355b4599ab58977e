"""Makes probes from the lists and templates beside it; `ecphora bench probes` loads this package from a checkout.

Everything is drawn from the seed. Names, towns, things, templates and notations are those of one half only.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random

from ecphora_bench.probes.probe import Half, Kind, Probe

from . import days, identifiers, measurements, own_statements, updates, who
from .worlds import Draft

Generator = Callable[[Half, int, Random], Iterator[Draft]]
"""Makes the worlds of a kind: those of one half, so many in each form or language, drawn from random numbers."""

GENERATORS: Mapping[Kind, Generator] = {
    Kind.IDENTIFIERS: identifiers.make,
    Kind.DAYS: days.make,
    Kind.OWN_STATEMENTS: own_statements.make,
    Kind.WHO: who.make,
    Kind.MEASUREMENTS: measurements.make,
    Kind.UPDATES: updates.make,
}


def make_probes(kinds: Iterable[Kind], half: Half, *, seed: int = 0, worlds: int = 2) -> list[Probe]:
    """Make the probes of some kinds; ``worlds`` is the number of worlds in each form, for days in each language."""
    return [
        probe
        for kind in kinds
        for draft in GENERATORS[kind](half, worlds, Random(f"{seed} {kind} {half}"))  # noqa: S311  # no secret
        for probe in draft.finish()
    ]
