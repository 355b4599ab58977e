"""SYNAPSE's low-similarity stress test, for its own strategies, the baselines and ``fused``.

``python benchmarks/stress.py --data DIR [--set NAME]…`` asks each strategy the answerable questions of each set. For
those whose gold evidence all has a cosine below .3 with the question, it prints recall@30 and the loss: by which
fraction that is less than recall@30 over all answerable questions. The table in docs/models.md comes from here.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ecphora import E5Embedder
from ecphora.bench.ablation.ablation_run import question_result
from ecphora.bench.ablation.synapse_metrics import LOW_COSINE, LOW_SIMILARITY_CUTOFF, max_gold_cosine
from ecphora.bench.datasets import read_cases
from ecphora.bench.embedding_cache import CachingEmbedder
from ecphora.bench.query_spaces import QuerySpace, build_query_space
from ecphora.bench.recall import metrics
from ecphora.bench.recall.metrics import Numbers
from ecphora.strategies import resolve_strategy

DATASETS = ("locomo", "realtalk", "lihua", "beam_100k")
"""The sets with at least ten such questions."""
STRATEGIES = ("synapse", "synapse-faithful", "dense", "bm25", "rrf", "fused")
CUTOFF = LOW_SIMILARITY_CUTOFF


def fractions(name: str, questions: Sequence[tuple[QuerySpace, int]]) -> Numbers:
    strategy, found = resolve_strategy(name), []
    for space, place in questions:
        result = question_result(space, place, strategy.activate(space.queries[place], space.graph))
        found.append(np.mean([rank <= CUTOFF for rank in result.gold_ranks]))
    return np.array(found, np.float64)


def format_cells(found: Numbers, is_low_similarity: Numbers) -> tuple[str, str]:
    """Fraction and loss with their 95% bootstrap intervals over questions."""
    recalls, overall = metrics.resample_ratios(found * is_low_similarity, is_low_similarity), metrics.resample(found)
    losses = 1 - np.divide(recalls, overall, out=np.ones_like(overall), where=overall > 0)
    value, total = float(found[is_low_similarity > 0].mean()), float(found.mean())
    (low, high), (least, most) = metrics.percentile_interval(recalls), metrics.percentile_interval(losses)
    return f"{value:.3f} ({low:.2f} to {high:.2f})", f"{1 - value / total:.3f} ({least:.2f} to {most:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", dest="sets", action="append")
    options = parser.parse_args()
    writer = resolve_strategy("dense")
    with CachingEmbedder(E5Embedder()) as embedder:
        for name in options.sets or DATASETS:
            spaces = [build_query_space(case, writer, embedder) for case in read_cases(name, options.data)]
            questions = [
                (space, place)
                for space in spaces
                for place, question in enumerate(space.case.questions)
                if question.is_answerable and question.gold
            ]
            is_low_similarity = np.array(
                [max_gold_cosine(space, place) < LOW_COSINE for space, place in questions], np.float64
            )
            print(f"{name}: {len(questions)} questions, {int(is_low_similarity.sum())} of low similarity")
            for strategy in STRATEGIES:
                fraction, loss = format_cells(fractions(strategy, questions), is_low_similarity)
                print(f"| {strategy} | {fraction} | {loss} |", flush=True)


if __name__ == "__main__":
    main()
