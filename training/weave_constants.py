#!/usr/bin/env python3
"""Choose the weights of Cognitive Weave's strands: training/weave_constants.py DATA [EMBEDDER].

For each set, the weights that gain most over dense in recall@5 and recall@10 on the other sets are measured on this
one. Prints the gain of each choice on each set, then the cross-validated gains. Asks every third question of locomo,
realtalk, musique and 2wikimultihopqa.
"""

import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from ecphora.cli.learn import open_embedder
from ecphora.maintenance.learn.datasets import read_cases
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.model.ports import Strategy
from ecphora.strategies.baselines import Dense
from ecphora.strategies.weave.strand_types import TypeWeights
from ecphora.strategies.weave.strategy import Weave
from ecphora_bench.ablation.ablation_run import question_result
from ecphora_bench.spaces import build_query_space

SETS = ("locomo", "realtalk", "musique", "2wikimultihopqa")
STEP, CUTS = 3, (5, 10)
W_STRAND, TEMPORAL, ASSOCIATION = (0.25, 0.35, 0.45), (0.3, 0.5), (0.0, 0.4)


def main() -> None:
    """Measure every choice on every set, and choose for each set by the others."""
    data, embedder = Path(sys.argv[1]), open_embedder(sys.argv[2] if len(sys.argv) > 2 else None)
    choices = list(product(W_STRAND, TEMPORAL, ASSOCIATION))
    gains = np.zeros((len(choices), len(SETS)))
    for place, name in enumerate(SETS):
        spaces = [build_query_space(case, Weave(), embedder) for case in read_cases(name, data, data)]
        dense = recall(spaces, Dense())
        for number, choice in enumerate(choices):
            gains[number, place] = recall(spaces, weave(*choice)) - dense
        click.echo(f"{name}: dense {dense:.3f}")
    for choice, values in zip(choices, gains, strict=True):
        click.echo(
            "w_strand {}, temporal {}, association {}: ".format(*choice) + " ".join(f"{gain:+.3f}" for gain in values)
        )
    for place, name in enumerate(SETS):
        best = int(np.argmax(np.delete(gains, place, axis=1).mean(axis=1)))
        click.echo(f"{name}: chosen by the others {choices[best]}, gain {gains[best, place]:+.3f}")


def weave(w_strand: float, temporal: float, association: float) -> Weave:
    """The strategy with these weights."""
    weights = TypeWeights(temporal=temporal, association=association)
    return replace(Weave(), w_sim=1 - w_strand, w_strand=w_strand, type_weights=weights)


def recall(spaces: list[QuerySpace], strategy: Strategy) -> float:
    """The mean of recall@5 and recall@10."""
    values = [
        np.mean(ranks(space, place, strategy)[:, None] <= CUTS)
        for space in spaces
        for place in range(len(space.queries))
        if place % STEP == 0 and space.case.questions[place].has_ranking
    ]
    return float(np.mean(values))


def ranks(space: QuerySpace, place: int, strategy: Strategy) -> NDArray[np.float64]:
    """The ranks of the evidence of a question."""
    return np.array(question_result(space, place, strategy.activate(space.queries[place], space.graph)).gold_ranks)


if __name__ == "__main__":
    main()
