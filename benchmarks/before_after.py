"""Questions with "before" or "after", against the others: ``python benchmarks/before_after.py --data DATA``.

EcphoryRAG joins engrams that occur together, without direction. Whether that suffices for questions about an order in
time is asked here of the sets with 20 such questions or more: locomo and lihua (musique has 14). "Named after" is no
order. Printed are recall@5 and recall@30 of these questions and of the others (every ``OTHERS_STEP``-th), with the
difference to dense; bold if its 95% bootstrap interval over questions excludes 0.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

from ecphora.cli.learn import open_embedder
from ecphora.maintenance.learn.datasets import Case, read_cases
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.ports import Strategy
from ecphora.strategies import resolve_strategy
from ecphora.strategies.ecphory.strategy import Ecphory
from ecphora_bench.ablation.open_question_tables import question_tables
from ecphora_bench.ablation.strategy_results import StrategyResults, build_spaces, mean_figure, ranked_questions
from ecphora_bench.recall.run_records import Figure, Metric

SETS = ("locomo", "lihua")
STRATEGIES = ("dense", "bm25", "rrf", "synaptic", "synapse", "eisa", "ecphory", "ecphory-faithful", "weave", "fused")
ORDER = re.compile(r"(?<!named )\b(?:before|after)\b", re.IGNORECASE)
OTHERS_STEP = 4
CUTOFFS = (5, 30)


def is_about_order(question: str) -> bool:
    """Whether a question has "before" or "after", other than in "named after"."""
    return ORDER.search(question) is not None


def cases_to_ask(name: str, data: Path) -> Iterator[Case]:
    """The spaces of a set with all questions about order and a part of the others."""
    for case in read_cases(name, data):
        asked = [one for one in case.questions if one.has_ranking]
        others = [one for one in asked if not is_about_order(one.text)][::OTHERS_STEP]
        kept = [one for one in asked if is_about_order(one.text)] + others
        if kept:
            yield replace(case, questions=tuple(kept))


def figures(name: str, data: Path, embedder: CachingEmbedder) -> Iterator[Figure]:
    """Recall at ``CUTOFFS`` of every strategy for both kinds of questions, and its difference to dense."""
    strategies: list[Strategy] = [resolve_strategy(one) for one in STRATEGIES]
    strategies.append(replace(Ecphory(), use_cooccurrence=False, name="ecphory, no co-occurrence"))
    spaces = build_spaces(list(cases_to_ask(name, data)), strategies, embedder)
    texts = [space.case.questions[place].text for space, place in ranked_questions(spaces["dense"])]
    is_order = np.array([is_about_order(text) for text in texts])
    dense: StrategyResults | None = None
    for one in strategies:
        results = StrategyResults.collect({one.name: spaces[one.name]}, [one])
        print(f"{name}: {one.name}", file=sys.stderr, flush=True)
        for label, asked in (("before or after", is_order), ("others", ~is_order)):
            for k in CUTOFFS:
                yield mean_figure(
                    name,
                    one.name,
                    f"{name}, {label}, {asked.sum()} questions",
                    (Metric.RECALL, k),
                    results.recalls(one.name, k)[asked],
                    base=None if dense is None else dense.recalls("dense", k)[asked],
                    reference="dense",
                )
        dense = dense or results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", dest="names", action="append")
    parser.add_argument("--embedder", default="e5")
    arguments = parser.parse_args()
    with open_embedder(arguments.embedder) as embedder:
        for name in arguments.names or SETS:
            for table in question_tables(list(figures(name, arguments.data, embedder))):
                Console(width=140).print(table)


if __name__ == "__main__":
    main()
