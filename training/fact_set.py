"""Write sets of what people say about themselves and of who did what to whom, to train on: training/fact_set.py FOLDER.

The sets are made like the probes of ``benchmarks/probes``, of the lists in ``training/data/facts``: ``facts-own`` and
``facts-who``, with four forms of memories. The matters of one file of lists are asked about together, those of
another in other memories. Names and surroundings are those of the probes' learning half.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from ecphora_bench.probes.loading import CHECKOUT, PACKAGE, load_maker
from ecphora_bench.probes.probe import Half, Kind, Probe
from ecphora_bench.probes.probe_sets import write_sets

LISTS = Path(__file__).parent / "data" / "facts"
SETS = {"facts-own": (Kind.OWN_STATEMENTS, "own", 6), "facts-who": (Kind.WHO, "who", 12)}
"""The kind of each set, how the names of its lists begin, and the worlds of each list in each form."""
RELATIONS = 16
"""The relations of a world of ``facts-who``."""
SEED = 5


def main() -> None:
    """Write both sets."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where to write the sets")
    folder: Path = parser.parse_args().folder
    for name, (kind, start, worlds) in SETS.items():
        with tempfile.TemporaryDirectory() as temporary:
            probes = [
                rename_world(probe, path.stem)
                for path in sorted(LISTS.glob(f"{start}*.txt"))
                for probe in make_probes(Path(temporary, path.stem), kind, path, worlds)
            ]
            (written,) = write_sets(probes, Path(temporary))
            folder.mkdir(parents=True, exist_ok=True)
            for part in ("docs", "questions"):
                shutil.move(Path(temporary, f"{written}.{part}.jsonl"), folder / f"{name}.{part}.jsonl")
        print(f"{folder / name}: {len(probes)} questions")


def make_probes(folder: Path, kind: Kind, lists: Path, worlds: int) -> list[Probe]:
    """Probes of a kind, by the program of ``benchmarks/probes`` with a file of lists of ``training/data/facts``."""
    copy = folder / "probes"
    shutil.copytree(CHECKOUT / "benchmarks" / "probes", copy)
    shutil.copy(lists, copy / "lists" / f"{lists.stem.partition('_')[0]}.txt")
    make = load_maker(copy)
    vars(sys.modules[f"{PACKAGE}.who"])["RELATIONS"] = RELATIONS
    return make([kind], Half.LEARN, seed=SEED, worlds=worlds)


def rename_world(probe: Probe, lists: str) -> Probe:
    """The probe with the name of its lists in front of its ids, since every file of lists has the same worlds."""
    resembles = probe.resembles and f"{lists}-{probe.resembles}"
    return replace(probe, id=f"{lists}-{probe.id}", world=f"{lists}-{probe.world}", resembles=resembles)


if __name__ == "__main__":
    main()
