"""EcphoryRAG's depth with two extractors: the built-in rules, and the names that the annotators of 2WikiMultiHop gave.

    python benchmarks/ecphory_depth.py --data DATA [--embedder NAME] [--questions 150]

The authors found depth 2 best, with a language model that reads names from each text. Here the names of the second
extractor are those of the evidence triples of all questions: every passage mentions those that occur in it. They are
better than any extractor's, since they are the very names that connect the evidence. Printed is recall@5 and recall@10
of ``ecphory`` and ``ecphory-faithful`` at depths 0 to 3, with the difference to depth 0 and its 95% interval.
``--data`` holds the set 2wikimultihopqa, and ``raw/2wikimultihopqa.json`` with the triples.
"""

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ecphora.cli.learn import open_embedder
from ecphora.maintenance.learn.datasets import read_cases
from ecphora.model.ports import Extractor, Strategy
from ecphora.model.types import Extraction, Mention
from ecphora.models.rule_extractor import RuleExtractor
from ecphora.strategies.baselines import Dense
from ecphora.strategies.ecphory import strategy as ecphory
from ecphora.strategies.ecphory.strategy import Ecphory
from ecphora_bench.ablation.strategy_results import StrategyResults
from ecphora_bench.spaces import build_query_space

DATASET = "2wikimultihopqa"
DEPTHS = (0, 1, 2, 3)
WORD = re.compile(r"\w+")


class ListExtractor:
    """Finds the names of a list in texts, where they stand as whole words in the same case; the longest names first."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names_by_first_word: dict[str, list[str]] = defaultdict(list)
        for name in sorted(set(names), key=len, reverse=True):
            if word := WORD.search(name):
                self._names_by_first_word[word.group()].append(name)

    def extract(self, texts: Sequence[str], /) -> list[Extraction]:
        """The names of each text, in the order of their first words."""
        return [Extraction(tuple(map(Mention, self._names(text)))) for text in texts]

    def _names(self, text: str) -> list[str]:
        found: dict[str, None] = {}
        end = 0
        for word in WORD.finditer(text):
            if word.start() < end:
                continue
            for name in self._names_by_first_word.get(word.group(), ()):
                start = word.start() - name.index(word.group())
                after = text[start + len(name) : start + len(name) + 1]
                if start >= 0 and text.startswith(name, start) and not WORD.match(after):
                    found[name], end = None, start + len(name)
                    break
        return list(found)


def triple_names(path: Path) -> list[str]:
    """The subjects and objects of the evidence triples; dates are no names."""
    triples = [triple for question in json.loads(path.read_text("utf-8")) for triple in question["evidences"]]
    return [name for subject, link, object_ in triples for name in (subject, *(() if "date" in link else (object_,)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", default="e5")
    parser.add_argument("--questions", type=int, default=150)
    arguments = parser.parse_args()
    names = triple_names(arguments.data / "raw" / f"{DATASET}.json")
    extractors: dict[str, Extractor] = {"rules": RuleExtractor(), "annotated names": ListExtractor(names)}
    presets: list[Strategy] = [
        replace(preset, L=depth, name=f"{preset.name}, depth {depth}")
        for preset in (Ecphory(), ecphory.FAITHFUL)
        for depth in DEPTHS
    ]
    print("|  |", " | ".join(f"{label} @{k}" for label in extractors for k in (5, 10)), "|")
    print("| --- |", " | ".join("---:" for _ in range(2 * len(extractors))), "|")
    rows: dict[str, list[str]] = defaultdict(list)
    with open_embedder(arguments.embedder) as embedder:
        for label, extractor in extractors.items():
            cases = read_cases(DATASET, arguments.data, limit=arguments.questions)
            spaces = [build_query_space(case, Dense(), embedder, extractor=extractor) for case in cases]
            print(f"{label}: indexed", file=sys.stderr)
            results: dict[str, StrategyResults] = {}
            for strategy in [Dense(), *presets]:
                results[strategy.name] = StrategyResults.collect({strategy.name: spaces}, [strategy])
                print(f"{label}: {strategy.name}", file=sys.stderr)
            for name, found in results.items():
                base = name.rpartition(" ")[0] + " 0"
                reference = (
                    StrategyResults({name: results[base].results_by_strategy[base]}) if base in results else None
                )
                for k in (5, 10):
                    [figure] = found.recall_figures(DATASET, label, k, reference=None if name == base else reference)
                    change = figure.difference
                    text = f" {change.value:+.3f} ({change.low:+.3f} to {change.high:+.3f})" if change else ""
                    rows[name].append(f"{figure.value:.3f}{text}")
    for name, cells in rows.items():
        print(f"| {name} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
