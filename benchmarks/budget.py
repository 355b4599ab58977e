"""How best to choose within a budget of tokens: in order of score, by size too, or by what is covered together.

``python benchmarks/budget.py --data DIR [--set NAME]…`` prints the fraction of the gold evidence in what is chosen by
``fused``. "By size" goes by place times size to the power of .3; "covering" is :func:`ecphora.stages.choose.within`.
"""

import argparse
from pathlib import Path

import numpy as np

from ecphora import MiniLM
from ecphora.bench.cache import Cached
from ecphora.bench.datasets import cases
from ecphora.bench.spaces import space
from ecphora.language.tokens import tokens
from ecphora.model import Rows, Scores
from ecphora.stages import choose
from ecphora.stages.covering import covering
from ecphora.stages.seed import Postings
from ecphora.strategies.baselines import Dense
from ecphora.strategies.fused import Fused

BUDGETS = (100, 200, 400, 800)
FAR = 100
"""How many of the best are chosen from."""
SIZE = 0.3
A_PIECE = 225
"""Tokens of a piece of a long text, about."""


def in_turn(order: Rows, sizes: Scores, budget: int) -> list[int]:
    kept, left = [], float(budget)
    for place in order.tolist():
        if sizes[place] <= left:
            kept.append(place)
            left -= sizes[place]
    return kept


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--set", action="append", default=[])
    chosen = options.parse_args()
    fused = Fused()
    with Cached(MiniLM()) as embedder:
        for name in chosen.set or ["locomo", "realtalk"]:
            found: dict[tuple[int, str], list[float]] = {}
            for case in cases(name, chosen.data):
                one, size = space(case, Dense(), embedder), {ep.id: tokens(ep.text) for ep in case.episodes}
                for place, (question, cue) in enumerate(zip(case.questions, one.cues, strict=True)):
                    if not (question.answerable and question.evidence):
                        continue
                    activation = fused.activate(cue, one.graph)
                    rows = choose.best(activation.scores, choose.allowed(one.graph, cue), FAR)
                    scores, places = activation.scores[rows], np.arange(len(rows))
                    sizes = np.array([size.get(one.graph.id(row), A_PIECE) for row in rows.tolist()], np.float32)
                    gold, held = one.gold(place), covering(Postings.of(one.graph, cue), rows)
                    for budget in BUDGETS:
                        for how, kept in (
                            ("in order", in_turn(places, sizes, budget)),
                            ("by size", in_turn(np.argsort((1 + places) * sizes**SIZE, kind="stable"), sizes, budget)),
                            ("covering", choose.within(scores, sizes.tolist(), budget, held)),
                        ):
                            back = np.isin(gold, one.documents[rows[kept]])
                            found.setdefault((budget, how), []).append(float(back.mean()))
            for (budget, how), values in found.items():
                print(f"{name:10} {budget:4} tokens  {how:10} {np.mean(values):.3f}")


if __name__ == "__main__":
    main()
