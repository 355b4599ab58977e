"""Recall while a memory grows and is consolidated again and again: ``python benchmarks/lifelong.py --data DATA``.

The sessions of a conversation are added one a round, and each round ends with ``consolidate()``. After some rounds the
questions are asked whose whole evidence is there, of this memory and of one that got the same sessions and was never
consolidated: what the second finds and the first does not is forgotten. ``weave`` refines itself while sessions are
stored; it is asked with insights that lead to their sources, against the same without. The last column consolidates the
never consolidated memory once, after the last round. Printed are recall@10 of the consolidated memory and its
difference to the other, bold if its 95% bootstrap interval over questions excludes 0; the same for questions about the
first five sessions alone; what the runs wrote; and how many questions have their evidence at another rank than without.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console

from ecphora import Memory
from ecphora.cli.learn import open_embedder
from ecphora.maintenance.learn.datasets import Case, Question, read_cases
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.maintenance.learn.regression import Numbers
from ecphora.model.ports import Strategy
from ecphora.model.times import parse_time
from ecphora.model.types import Episode, Kind
from ecphora.strategies import resolve_strategy
from ecphora.strategies.weave.strategy import Weave
from ecphora_bench.ablation.ablation_run import QuestionResult, question_result
from ecphora_bench.ablation.open_question_tables import question_tables
from ecphora_bench.ablation.strategy_results import mean_figure
from ecphora_bench.recall.run_records import Figure, Metric

ROUNDS = (1, 5, 10, 18)
"""The rounds after which questions are asked; every conversation of the two sets has 18 sessions or more."""
EARLY_SESSIONS = 5
CUTOFF = 10
STRATEGIES = ("dense", "bm25", "synaptic", "synapse", "eisa", "ecphory", "fused")
FOLLOWING = replace(Weave(), follow_insights=True, name="weave, insights lead to sources")


@dataclass
class Ranks:
    """The results of a strategy at a round, a question each: consolidated, and not."""

    with_: list[QuestionResult] = field(default_factory=list)
    without: list[QuestionResult] = field(default_factory=list)
    is_early: list[bool] = field(default_factory=list)


Tallies = Mapping[tuple[str, str], Ranks]
"""By strategy and round."""


def sessions(case: Case) -> list[tuple[Episode, ...]]:
    """The sessions of a conversation, in order."""
    return [tuple(group) for _, group in groupby(case.episodes, key=lambda episode: episode.session)]


def recall(memory: Memory, case: Case, strategy: Strategy) -> list[QuestionResult]:
    """The results for all questions of a space."""
    graph, queries = memory.graph(), [memory.build_query(one.text) for one in case.questions]
    space = QuerySpace.from_graph(case, graph, queries)
    return [question_result(space, place, strategy.activate(query, graph)) for place, query in enumerate(queries)]


def tally_conversation(
    case: Case, embedder: CachingEmbedder, tallies: Tallies, written: Mapping[str, Counter[str]]
) -> None:
    """Add the sessions round by round to a memory that is consolidated, one that is not, and one of ``weave``."""
    now = max(parse_time(one.happened_at) for one in case.episodes if one.happened_at is not None)
    embedder.embed([one.text for one in case.questions], is_query=True)
    strategies = [resolve_strategy(name) for name in STRATEGIES]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="ecphora-bench-")))

        def open_memory(name: str, strategy: str | Strategy = "fused") -> Memory:
            return stack.enter_context(
                Memory(
                    folder / name, embedder=embedder, reranker=None, clock=lambda: now, zone="UTC", strategy=strategy
                )
            )

        consolidated, plain, woven = open_memory("a.db"), open_memory("b.db"), open_memory("c.db", FOLLOWING)
        rounds = sessions(case)[: ROUNDS[-1]]
        early = {str(one.id) for session in rounds[:EARLY_SESSIONS] for one in session}
        stored: set[str] = set()
        for number, session in enumerate(rounds, 1):
            for memory in (consolidated, plain, woven):
                memory.remember(session)
            stored |= {str(one.id) for one in session}
            result = consolidated.consolidate()
            written[str(number)].update(result.counts)
            if number not in ROUNDS:
                continue
            asked = tuple(one for one in case.questions if one.has_ranking and one.gold <= stored)
            part = replace(case, questions=asked)
            written[str(number)]["insights of weave"] += int(woven.graph().of_kind(Kind.INSIGHT).sum())
            for one in strategies:
                add(
                    tallies[one.name, str(number)],
                    asked,
                    early,
                    recall(consolidated, part, one),
                    recall(plain, part, one),
                )
            found, base = recall(woven, part, FOLLOWING), recall(woven, part, Weave())
            add(tallies[FOLLOWING.name, str(number)], asked, early, found, base)
            print(f"{case.space}: round {number}", file=sys.stderr, flush=True)
        before = {one.name: recall(plain, part, one) for one in strategies}
        written["once"].update(plain.consolidate().counts)
        for one in strategies:
            add(tallies[one.name, f"{ROUNDS[-1]}-once"], asked, early, recall(plain, part, one), before[one.name])


def add(
    ranks: Ranks,
    asked: Sequence[Question],
    early: set[str],
    with_: Sequence[QuestionResult],
    without: Sequence[QuestionResult],
) -> None:
    """Add the results of a conversation."""
    ranks.with_.extend(with_)
    ranks.without.extend(without)
    ranks.is_early.extend(one.gold <= early for one in asked)


def recalls(results: Sequence[QuestionResult]) -> Numbers:
    """Recall at ``CUTOFF``."""
    return np.array([np.mean(np.array(one.gold_ranks) <= CUTOFF) for one in results])


def figures(name: str, tallies: Tallies) -> Iterator[Figure]:
    """Recall of the consolidated memories, and its difference to the others."""
    for (strategy, round_), ranks in tallies.items():
        with_, without, is_early = recalls(ranks.with_), recalls(ranks.without), np.array(ranks.is_early)
        for label, chosen in (("all stored", np.ones_like(is_early)), (f"first {EARLY_SESSIONS} sessions", is_early)):
            yield mean_figure(
                name,
                strategy,
                f"{name}, {label}, after rounds {round_}",
                (Metric.RECALL, CUTOFF),
                with_[chosen],
                base=without[chosen],
                reference="never consolidated",
            )


def print_rank_changes(name: str, tallies: Tallies) -> None:
    """For each strategy and round, the questions whose first evidence moved up and down; and how many are early."""
    rows: dict[str, list[str]] = defaultdict(list)
    columns = list(dict.fromkeys(round_ for _, round_ in tallies))
    for (strategy, _), ranks in tallies.items():
        firsts = [(min(a.gold_ranks), min(b.gold_ranks)) for a, b in zip(ranks.with_, ranks.without, strict=True)]
        up, down = sum(a < b for a, b in firsts), sum(a > b for a, b in firsts)
        rows[strategy].append(f"{up} up, {down} down of {len(firsts)}")
    early = [sum(ranks.is_early) for (strategy, _), ranks in tallies.items() if strategy == STRATEGIES[0]]
    print(f"\n{name}, questions about the first {EARLY_SESSIONS} sessions: {dict(zip(columns, early, strict=True))}")
    print(f"\n| {name}, first evidence |", " | ".join(f"after {one}" for one in columns), "|")
    print("| --- |", " | ".join("---:" for _ in columns), "|")
    for strategy, cells in rows.items():
        print(f"| {strategy} |", " | ".join(cells), "|")


def print_counts(name: str, written: Mapping[str, Counter[str]]) -> None:
    """What the runs wrote, up to each round that questions were asked after."""
    total: Counter[str] = Counter()
    for round_, counts in written.items():
        if round_ == "once":
            total = Counter()
        woven = counts.pop("insights of weave", 0)
        total.update(counts)
        if round_ == "once" or int(round_) in ROUNDS:
            print(f"{name}, written by round {round_}: {dict(total)}, insights of weave: {woven}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", dest="names", action="append")
    parser.add_argument("--spaces", type=int, default=3)
    parser.add_argument("--embedder", default="e5")
    arguments = parser.parse_args()
    with open_embedder(arguments.embedder) as embedder:
        for name in arguments.names or ("realtalk", "locomo"):
            tallies: defaultdict[tuple[str, str], Ranks] = defaultdict(Ranks)
            written: defaultdict[str, Counter[str]] = defaultdict(Counter)
            for case in list(read_cases(name, arguments.data))[: arguments.spaces]:
                tally_conversation(case, embedder, tallies, written)
            for table in question_tables(list(figures(name, tallies))):
                Console(width=160).print(table)
            print_rank_changes(name, tallies)
            print_counts(name, written)


if __name__ == "__main__":
    main()
