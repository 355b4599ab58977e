"""A memory in one language, questions in another: ``python benchmarks/cross_lingual.py --data DATA``.

On xquad, 240 paragraphs in English and in Chinese with the same questions in both; and on madial, about 165 memories
with times in both languages, where a question is a conversation. Each language is asked of each: ``en->zh`` are English
questions to Chinese memories. Printed is the recall of the baselines, the five models and ``fused``, with the
difference to dense; bold if its 95% bootstrap interval over questions excludes 0. ``weave, no strands`` shows what the
weight of strands, which was chosen on English texts, does in another language.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

from ecphora.cli.learn import open_embedder
from ecphora.maintenance.learn.datasets import Case, read_cases
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.strategies import resolve_strategy
from ecphora.strategies.weave.strategy import Weave
from ecphora_bench.ablation.open_question_tables import question_tables
from ecphora_bench.ablation.strategy_results import StrategyResults, build_spaces, mean_figure, ranked_questions
from ecphora_bench.recall.run_records import Figure, Metric

STRATEGIES = ("dense", "bm25", "rrf", "synaptic", "synapse", "eisa", "ecphory", "weave", "fused")
ALL = (*STRATEGIES, "weave, no strands")
CUTOFFS = {"xquad": (1, 5), "madial": (5, 10)}
"""The sets, and the cuts of recall: a question of madial has several memories."""
ARROW = "->"


def with_both_languages(cases: Sequence[Case]) -> Iterator[Case]:
    """The spaces of a set, one a language, each with the questions of every language; categories are ``en->zh``.

    Memories have the same ids in every language. A question keeps the evidence that the other language has too.
    """
    for case in cases:
        ids = {episode.id for episode in case.episodes}
        questions = [
            replace(question, category=f"{language(asked)}{ARROW}{language(case)}", gold=frozenset(question.gold & ids))
            for asked in cases
            for question in asked.questions
        ]
        yield replace(case, questions=tuple(questions))


def language(case: Case) -> str:
    """The language of a space, the end of its name."""
    return case.space.rpartition("-")[2]


def crossed_cases(name: str, data: Path) -> list[Case]:
    """The spaces of a set with questions in both languages, as they are or made so."""
    cases = list(read_cases(name, data))
    is_crossed = ARROW in cases[0].questions[0].category
    return cases if is_crossed else list(with_both_languages(cases))


def figures(name: str, data: Path, embedder: CachingEmbedder, wanted: Sequence[str]) -> Iterator[Figure]:
    """The recall of every strategy for each pair of languages, and its difference to dense."""
    no_strands = replace(Weave(), w_sim=1.0, w_strand=0.0, name="weave, no strands")
    known = [*map(resolve_strategy, STRATEGIES), no_strands]
    strategies = [one for one in known if one.name in {"dense", *wanted}]
    spaces = build_spaces(crossed_cases(name, data), strategies, embedder)
    categories = np.array([space.case.questions[place].category for space, place in ranked_questions(spaces["dense"])])
    found: dict[str, StrategyResults] = {}
    for one in strategies:
        found[one.name] = StrategyResults.collect({one.name: spaces[one.name]}, [one])
        print(f"{name}, {embedder.name}: {one.name}", file=sys.stderr, flush=True)
    for category in dict.fromkeys(categories.tolist()):
        asked = categories == category
        for k in CUTOFFS[name]:
            dense = found["dense"].recalls("dense", k)[asked]
            for strategy, results in found.items():
                base = None if strategy == "dense" else dense
                values = results.recalls(strategy, k)[asked]
                yield mean_figure(
                    name, strategy, f"{name}, {category}", (Metric.RECALL, k), values, base=base, reference="dense"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", dest="names", action="append", choices=sorted(CUTOFFS))
    parser.add_argument("--embedder", default="e5")
    parser.add_argument("--strategy", action="append", help="one of the rows; may be repeated (default: all)")
    arguments = parser.parse_args()
    with open_embedder(arguments.embedder) as embedder:
        for name in arguments.names or CUTOFFS:
            for table in question_tables(list(figures(name, arguments.data, embedder, arguments.strategy or ALL))):
                Console(width=140).print(table)


if __name__ == "__main__":
    main()
