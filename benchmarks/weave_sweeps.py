"""Cognitive Weave's constants of which the paper prints none: ``python benchmarks/weave_sweeps.py --data DATA``.

``--part decay``: the half-life of importance, ln 2 / lambda_decay, and I_base. Questions are asked at the end of the
conversation and a year later; once with no memory used before, and once after the other half of the questions was
asked and its hits were logged. The table of the cold tier has the part of the memories that a search would leave out
first: nothing is ever deleted, so this is what the constants do to the footprint. ``--part threshold``: tau_cluster of
the synthesis; how many insights it gives, and the recall of ``weave`` where insights lead to their sources.

Differences are to the same strategy without importance, or without insights; bold if the 95% bootstrap interval over
questions excludes 0. The first ``--spaces`` conversations of each set. No constant is chosen by these figures.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from math import inf
from pathlib import Path

import numpy as np
from rich.console import Console

from ecphora import RecallOptions
from ecphora.cli.learn import open_embedder
from ecphora.maintenance.learn.datasets import Case, read_cases
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.maintenance.learn.regression import Numbers
from ecphora.model.graph.graph import epoch_seconds
from ecphora.model.ports import Strategy
from ecphora.model.types import Kind, Link, Rerank
from ecphora.retrieval.importance import ImportanceDecay, importance
from ecphora.strategies.baselines import Dense
from ecphora.strategies.weave import tiers
from ecphora.strategies.weave.strategy import FAITHFUL, Weave
from ecphora_bench.ablation.open_question_tables import question_tables
from ecphora_bench.ablation.strategy_results import StrategyResults, mean_figure
from ecphora_bench.recall.run_records import Figure, Metric
from ecphora_bench.spaces import build_query_space, temporary_memory

DECAYS = {
    "half-life 1 day": ImportanceDecay(half_life=1.0),
    "half-life 7 days": ImportanceDecay(half_life=7.0),
    "half-life 30 days": ImportanceDecay(),
    "half-life 90 days": ImportanceDecay(half_life=90.0),
    "half-life 365 days": ImportanceDecay(half_life=365.0),
    "no decay": ImportanceDecay(half_life=inf),
    "30 days, I_base 0": ImportanceDecay(base=0.0),
    "30 days, I_base .3": ImportanceDecay(base=0.3),
}
TAUS = (0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9)
DAYS_LATER = (0, 365)
COLD_AFTER = (0, 90, 180, 365)
CUTOFF = 10


# ---- lambda_decay and I_base


def spaces_by_use(case: Case, embedder: CachingEmbedder) -> dict[str, QuerySpace]:
    """A space with every second question, unused and after the others were asked; hits of a recall are logged."""
    asked = tuple(one for one in case.questions if one.has_ranking)
    part = replace(case, questions=asked[1::2])
    embedder.embed([one.text for one in asked], is_query=True)
    with temporary_memory(case, FAITHFUL, embedder) as (memory, _clock):
        queries = [memory.build_query(one.text) for one in part.questions]
        unused = QuerySpace.from_graph(part, memory.graph(), queries)
        for one in asked[::2]:
            memory.recall(one.text, options=RecallOptions(explain=False), rerank=Rerank.NEVER)
        return {"unused": unused, "used": QuerySpace.from_graph(part, memory.graph(), queries)}


def later(space: QuerySpace, days: int) -> QuerySpace:
    """The same space, asked so many days later."""
    queries = tuple(replace(one, now=one.now + timedelta(days=days)) for one in space.queries)
    return replace(space, queries=queries)


def decay_figures(name: str, cases: Sequence[Case], embedder: CachingEmbedder) -> Iterator[Figure]:
    """Recall with each decay, for two presets, used and unused, at once and a year later."""
    by_use = [spaces_by_use(case, embedder) for case in cases]
    print(f"{name}: indexed", file=sys.stderr, flush=True)
    presets = (
        replace(Weave(), w_importance=0.2, name="weave, w_importance .2"),
        replace(FAITHFUL, name="weave-faithful"),
    )
    for use in ("unused", "used"):
        for days in DAYS_LATER:
            spaces, category = [later(one[use], days) for one in by_use], f"{name}, {use}, days later {days}"
            yield recall_figure(name, category, Dense(), spaces)
            for preset in presets:
                plain = replace(
                    preset, w_importance=0.0, use_tiers=False, name=f"{preset.name.split(',')[0]}, no importance"
                )
                yield recall_figure(name, category, plain, spaces)
                base = recalls(plain, spaces)
                for label, decay in DECAYS.items():
                    one = replace(preset, importance_decay=decay, name=f"{preset.name}, {label}")
                    yield recall_figure(name, category, one, spaces, base)
            print(f"{name}: {use}, {days} days later", file=sys.stderr, flush=True)


def print_cold_tier(name: str, cases: Sequence[Case], embedder: CachingEmbedder) -> None:
    """The part of the memories that is cold, by days since the end of the conversation."""
    by_use = [spaces_by_use(case, embedder) for case in cases]
    print(f"\n| {name}, cold |", " | ".join(f"{use}, {days} days" for use in by_use[0] for days in COLD_AFTER), "|")
    print("| --- |", " | ".join("---:" for _ in range(2 * len(COLD_AFTER))), "|")
    for label, decay in DECAYS.items():
        shares = [
            np.mean([cold_share(one[use], decay, days) for one in by_use]) for use in by_use[0] for days in COLD_AFTER
        ]
        print(f"| {label} |", " | ".join(f"{share:.3f}".removeprefix("0") for share in shares), "|")


def cold_share(space: QuerySpace, decay: ImportanceDecay, days: int) -> float:
    """The part of the memories of a space in the cold tier, so many days after its end."""
    graph, now = space.graph, epoch_seconds(space.queries[0].now + timedelta(days=days))
    return float(tiers.is_cold(graph, importance(graph, decay, now), now)[graph.episodes].mean())


# ---- tau_cluster


def threshold_figures(name: str, cases: Sequence[Case], embedder: CachingEmbedder) -> Iterator[Figure]:
    """Recall where insights lead to their sources, by the threshold of clusters; also prints how many there are."""
    print(f"\n| {name}: tau | insights | memories of an insight | part of the memories that has one |")
    print("| ---: | ---: | ---: | ---: |")
    for tau in TAUS:
        writer = replace(Weave(), tau_cluster=tau)
        spaces = [build_query_space(case, writer, embedder) for case in cases]
        insights = sum(int(one.graph.of_kind(Kind.INSIGHT).sum()) for one in spaces)
        sources = [one.graph.edges["dst"][one.graph.edges_of_link(Link.DERIVED_FROM)] for one in spaces]
        covered = sum(len(np.unique(rows)) for rows in sources) / sum(len(case.episodes) for case in cases)
        print(f"| {tau} | {insights} | {sum(map(len, sources)) / max(1, insights):.1f} | {covered:.3f} |", flush=True)
        for one in (writer, replace(FAITHFUL, tau_cluster=tau)):
            plain = replace(one, follow_insights=False, use_tiers=False)
            followed = replace(plain, follow_insights=True, name=f"{one.name}, insights lead to sources")
            category = f"{name}, tau {tau}"
            yield recall_figure(name, category, replace(plain, name=f"{one.name}, without"), spaces)
            yield recall_figure(name, category, followed, spaces, recalls(plain, spaces))
        yield recall_figure(name, f"{name}, tau {tau}", Dense(), spaces)


# ---- shared


def recalls(strategy: Strategy, spaces: Sequence[QuerySpace]) -> Numbers:
    """Recall at ``CUTOFF`` of every question that has a ranking."""
    return StrategyResults.collect({strategy.name: spaces}, [strategy]).recalls(strategy.name, CUTOFF)


def recall_figure(
    name: str, category: str, strategy: Strategy, spaces: Sequence[QuerySpace], base: Numbers | None = None
) -> Figure:
    """The recall of a strategy, and its difference to ``base``."""
    measure = (Metric.RECALL, CUTOFF)
    return mean_figure(
        name, strategy.name, category, measure, recalls(strategy, spaces), base=base, reference="without"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=("decay", "threshold"), action="append")
    parser.add_argument("--set", dest="names", action="append")
    parser.add_argument("--spaces", type=int, default=3)
    parser.add_argument("--embedder", default="e5")
    arguments = parser.parse_args()
    with open_embedder(arguments.embedder) as embedder:
        for name in arguments.names or ("realtalk", "locomo"):
            cases = list(read_cases(name, arguments.data))[: arguments.spaces]
            for part in arguments.part or ("decay", "threshold"):
                if part == "decay":
                    print_cold_tier(name, cases, embedder)
                made = decay_figures if part == "decay" else threshold_figures
                for table in question_tables(list(made(name, cases, embedder))):
                    Console(width=140).print(table)


if __name__ == "__main__":
    main()
