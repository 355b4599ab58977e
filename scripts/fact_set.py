"""Write sets of what people say about themselves and of who did what to whom, to train on: scripts/fact_set.py FOLDER.

The sets are made like the probes of ``benchmarks/probes``, of the lists in ``scripts/data/facts``: ``facts-own`` and
``facts-who``, with four forms of memories. Names and surroundings are those of the probes' learning half.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from ecphora.bench.probes.loading import CHECKOUT, PACKAGE, load_maker
from ecphora.bench.probes.probe import Half, Kind, Probe
from ecphora.bench.probes.probe_sets import write_sets

LISTS = Path(__file__).parent / "data" / "facts"
SETS = {Kind.OWN_STATEMENTS: ("facts-own", 6), Kind.WHO: ("facts-who", 8)}
"""The name of the set of a kind, and its worlds in each form."""
RELATIONS = 16
"""The relations of a world of ``facts-who``."""
SEED = 5


def main() -> None:
    """Write both sets."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where to write the sets")
    folder: Path = parser.parse_args().folder
    for kind, (name, worlds) in SETS.items():
        with tempfile.TemporaryDirectory() as temporary:
            probes = make_probes(Path(temporary), kind, worlds)
            (written,) = write_sets(probes, Path(temporary))
            folder.mkdir(parents=True, exist_ok=True)
            for part in ("docs", "questions"):
                shutil.move(Path(temporary, f"{written}.{part}.jsonl"), folder / f"{name}.{part}.jsonl")
        print(f"{folder / name}: {len(probes)} questions")


def make_probes(folder: Path, kind: Kind, worlds: int) -> list[Probe]:
    """Probes of a kind, by the program of ``benchmarks/probes`` with the lists of ``scripts/data/facts``."""
    copy = folder / "probes"
    shutil.copytree(CHECKOUT / "benchmarks" / "probes", copy)
    for path in LISTS.glob("*.txt"):
        shutil.copy(path, copy / "lists")
    make = load_maker(copy)
    vars(sys.modules[f"{PACKAGE}.who"])["RELATIONS"] = RELATIONS
    return make([kind], Half.LEARN, seed=SEED, worlds=worlds)


if __name__ == "__main__":
    main()
