"""Choose the constants of ``synaptic`` by cross-validation, for the whole model and for each ablation.

    python benchmarks/synaptic_constants.py --data DATA --set locomo --set realtalk

Every set is measured twice: its conversations as they are (recall@10), and its sessions cut to pieces of 20 turns, each
a scope of its own with the questions whose whole evidence lies in it (recall@5). For each conversation, the constants
are those that are best on the others, of all sets together; an ablation has its constants chosen for it. Printed are
the gain over dense, with the 95% interval of the mean over questions, and how often which constants were chosen.
"""

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecphora.cli.learn import open_embedder
from ecphora.maintenance.learn import datasets
from ecphora.maintenance.learn.datasets import Case
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.model.ports import Strategy
from ecphora.strategies.baselines import Dense
from ecphora.strategies.synaptic.strategy import Synaptic
from ecphora_bench.spaces import build_query_space

FRACTIONS, TAUS, SCALES = (0.95, 0.9, 0.85, 0.8), (2.0, 3.0, 5.0), (0.3, 0.4636666711414976, 0.7)
LEAST_TURNS = 12
"""A shorter piece of a session is left out."""


def grids() -> dict[str, list[Synaptic]]:
    """The strategies to choose from, for the whole model and each ablation."""
    whole = [
        replace(Synaptic(), firing_fraction=fraction, tau=tau, bond_scale=scale)
        for fraction, tau, scale in itertools.product(FRACTIONS, TAUS, SCALES)
    ]
    timeless = [one for one in whole if one.tau == TAUS[0]]
    mild = [replace(one, bond_scale=0.1) for one in timeless if one.bond_scale == SCALES[0]]
    everyone = [one for one in whole if one.firing_fraction == FRACTIONS[0]]
    return {
        "whole": whole,
        "one generation": [replace(one, max_generations=2) for one in whole],
        "no temporal score": [replace(one, use_temporal_score=False) for one in (*timeless, *mild)],
        "no neuron": [replace(one, firing_fraction=0.0) for one in everyone],
        "defaults": [Synaptic()],
    }


@dataclass(frozen=True)
class Part:
    """The spaces of a set, with the conversation of each, and the cut of recall."""

    name: str
    spaces: list[QuerySpace]
    conversations: list[str]
    k: int


def pieces(case: Case, turns: int) -> Iterator[Case]:
    """The sessions of a conversation, cut to so many turns, with the questions about nothing else."""
    for session, episodes in itertools.groupby(case.episodes, key=lambda episode: episode.session):
        whole = list(episodes)
        for start in range(0, len(whole), turns):
            piece = tuple(whole[start : start + turns])
            ids = {episode.id for episode in piece}
            asked = tuple(one for one in case.questions if one.has_ranking and one.gold <= ids)
            if asked and len(piece) >= LEAST_TURNS:
                yield Case(f"{case.space}/{session}/{start}", piece, asked)


def recall(strategy: Strategy, space: QuerySpace, k: int) -> NDArray[np.float64]:
    """The recall@k of every answerable question of a space."""
    values = []
    for place, (question, query) in enumerate(zip(space.case.questions, space.queries, strict=True)):
        if question.has_ranking:
            scores = strategy.activate(query, space.graph).scores
            first = np.argsort(-scores, kind="stable")[:k]
            found = space.document_numbers[first[scores[first] > 0]]
            values.append(np.isin(space.gold_documents(place), found).mean())
    return np.array(values)


def cross_validate(
    parts: Sequence[Part], strategies: Sequence[Synaptic]
) -> tuple[list[NDArray[np.float64]], Counter[Synaptic]]:
    """The gains over dense of each part's questions, and for how many conversations each strategy was chosen."""
    gains = []
    for part in parts:
        dense = [recall(Dense(), space, part.k) for space in part.spaces]
        pairs = list(zip(part.spaces, dense, strict=True))
        gains.append([[recall(one, space, part.k) - base for space, base in pairs] for one in strategies])
    chosen: dict[str, int] = {}
    gains_of_parts = []
    for part, by_strategy in zip(parts, gains, strict=True):
        values = []
        for conversation in dict.fromkeys(part.conversations):
            totals = [
                sum(_mean_without(other, rows[place], conversation) for other, rows in zip(parts, gains, strict=True))
                for place in range(len(strategies))
            ]
            chosen[conversation] = int(np.argmax(totals))
            best = zip(by_strategy[chosen[conversation]], part.conversations, strict=True)
            values += [gain for gain, own in best if own == conversation]
        gains_of_parts.append(np.concatenate(values))
    return gains_of_parts, Counter(strategies[place] for place in chosen.values())


def _mean_without(part: Part, gains: Sequence[NDArray[np.float64]], conversation: str) -> float:
    kept = [gain for gain, own in zip(gains, part.conversations, strict=True) if own != conversation]
    return float(np.concatenate(kept).mean()) if kept else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", dest="names", action="append", required=True)
    parser.add_argument("--embedder", default="e5")
    parser.add_argument("--turns", type=int, default=20)
    arguments = parser.parse_args()
    parts: list[Part] = []
    with open_embedder(arguments.embedder) as embedder:
        for name in arguments.names:
            cases = list(datasets.read_cases(name, arguments.data))
            cut = [(case.space, piece) for case in cases for piece in pieces(case, arguments.turns)]
            whole = [build_query_space(case, Dense(), embedder) for case in cases]
            parts.append(Part(name, whole, [case.space for case in cases], 10))
            spaces = [build_query_space(piece, Dense(), embedder) for _, piece in cut]
            parts.append(Part(f"{name}, {arguments.turns} turns", spaces, [own for own, _ in cut], 5))
    columns = [f"{part.name} @{part.k} ({sum(len(recall(Dense(), s, 5)) for s in part.spaces)})" for part in parts]
    print("|  |", " | ".join(columns), "|")
    print("| --- |", " | ".join("---:" for _ in parts), "|")
    dense = [np.concatenate([recall(Dense(), space, part.k) for space in part.spaces]).mean() for part in parts]
    print("| dense |", " | ".join(f"{value:.3f}" for value in dense), "|")
    choices: dict[str, Counter[Synaptic]] = {}
    for label, strategies in grids().items():
        gains, choices[label] = cross_validate(parts, strategies)
        cells = [f"{gain.mean():+.3f} (±{1.96 * gain.std() / len(gain) ** 0.5:.3f})" for gain in gains]
        print(f"| {label} |", " | ".join(cells), "|", flush=True)
    print()
    for label, counts in choices.items():
        for one, count in counts.most_common():
            constants = f"firing_fraction={one.firing_fraction}, tau={one.tau}, bond_scale={one.bond_scale:.3f}"
            print(f"- {label}: {constants} for {count} of {counts.total()} conversations")


if __name__ == "__main__":
    main()
