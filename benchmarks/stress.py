"""SYNAPSE's low-similarity stress test, of its strategies, the baselines and ``fused``.

``python benchmarks/stress.py --data DIR [--set NAME]…`` asks each strategy the answerable questions of each set. Where
all gold evidence has a cosine below .3 with the question it prints fraction@30 and the loss: by how much that is less
than fraction@30 over all answerable questions, in parts of these. The table of docs/models.md is made of it.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ecphora import MiniLM
from ecphora.bench import metrics
from ecphora.bench.ablate import nearest, replied
from ecphora.bench.cache import Cached
from ecphora.bench.comparison import CUTS, LOW
from ecphora.bench.datasets import cases
from ecphora.bench.metrics import Numbers
from ecphora.bench.spaces import Space, space
from ecphora.strategies import by_name

SETS = ("locomo", "realtalk", "lihua", "beam_100k")
"""The sets with ten such questions or more."""
STRATEGIES = ("synapse", "synapse-faithful", "dense", "bm25", "rrf", "fused")
TOP = CUTS[-1]


def fractions(name: str, asked: Sequence[tuple[Space, int]]) -> Numbers:
    strategy, found = by_name(name), []
    for one, place in asked:
        reply = replied(one, place, strategy.activate(one.cues[place], one.graph))
        found.append(np.mean([gold <= TOP for gold in reply.places]))
    return np.array(found, np.float64)


def cells(found: Numbers, far: Numbers) -> tuple[str, str]:
    """Fraction and loss with their 95 % bootstrap intervals over questions."""
    there, overall = metrics.ratios(found * far, far), metrics.resampled(found)
    lost = 1 - np.divide(there, overall, out=np.ones_like(overall), where=overall > 0)
    value, whole = float(found[far > 0].mean()), float(found.mean())
    (low, high), (least, most) = metrics.middle(there), metrics.middle(lost)
    return f"{value:.3f} ({low:.2f} to {high:.2f})", f"{1 - value / whole:.3f} ({least:.2f} to {most:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", dest="sets", action="append")
    options = parser.parse_args()
    writer = by_name("dense")
    with Cached(MiniLM()) as embedder:
        for name in options.sets or SETS:
            spaces = [space(case, writer, embedder) for case in cases(name, options.data)]
            asked = [
                (one, place)
                for one in spaces
                for place, question in enumerate(one.case.questions)
                if question.answerable and question.evidence
            ]
            far = np.array([nearest(one, place) < LOW for one, place in asked], np.float64)
            print(f"{name}: {len(asked)} questions, {int(far.sum())} of low similarity")
            for strategy in STRATEGIES:
                fraction, loss = cells(fractions(strategy, asked), far)
                print(f"| {strategy} | {fraction} | {loss} |", flush=True)


if __name__ == "__main__":
    main()
