"""Compare ways to fill a token budget: in order of score, by score and size, or by joint coverage.

``python benchmarks/budget.py --data DIR [--set NAME]…`` prints the fraction of the gold evidence that ``fused`` fits
into the budget. "By size" orders by rank times size to the power of .3; "covering" is
:func:`ecphora.retrieval.fusion.select_within`.
"""

import argparse
from pathlib import Path

import numpy as np

from ecphora import E5Embedder
from ecphora.language.terms import estimate_tokens
from ecphora.maintenance.learn.datasets import read_cases
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.types import Rows, Scores
from ecphora.recall import recall
from ecphora.retrieval import filters, fusion
from ecphora.retrieval.bm25 import Postings, term_coverage
from ecphora.strategies.baselines import Dense
from ecphora.strategies.fused.strategy import Fused
from ecphora_bench.spaces import build_query_space

BUDGETS = (100, 200, 400, 800)
CANDIDATES = 100
"""Size of the candidate pool."""
SIZE_EXPONENT = 0.3
CHUNK_TOKENS = 225
"""Tokens of a chunk of a long text, about."""


def fill_in_order(order: Rows, sizes: Scores, budget: int) -> list[int]:
    selected, tokens_left = [], float(budget)
    for place in order.tolist():
        if sizes[place] <= tokens_left:
            selected.append(place)
            tokens_left -= sizes[place]
    return selected


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--set", action="append", default=[])
    arguments = options.parse_args()
    fused = Fused()
    with CachingEmbedder(E5Embedder()) as embedder:
        for name in arguments.set or ["locomo", "realtalk"]:
            found: dict[tuple[int, str], list[float]] = {}
            for case in read_cases(name, arguments.data):
                space = build_query_space(case, Dense(), embedder)
                token_counts = {episode.id: estimate_tokens(episode.text) for episode in case.episodes}
                for place, (question, query) in enumerate(zip(case.questions, space.queries, strict=True)):
                    if not question.has_ranking:
                        continue
                    activation = fused.activate(query, space.graph)
                    rows = fusion.top_rows(activation.scores, filters.eligible(space.graph, query), CANDIDATES)
                    scores, places = activation.scores[rows], np.arange(len(rows))
                    sizes = np.array(
                        [token_counts.get(space.graph.id(row), CHUNK_TOKENS) for row in rows.tolist()], np.float32
                    )
                    gold = space.gold_documents(place)
                    coverage = term_coverage(Postings.for_query(space.graph, query), rows)
                    for budget in BUDGETS:
                        for method, selected in (
                            ("in order", fill_in_order(places, sizes, budget)),
                            (
                                "by size",
                                fill_in_order(
                                    np.argsort((1 + places) * sizes**SIZE_EXPONENT, kind="stable"), sizes, budget
                                ),
                            ),
                            ("covering", recall.select_within(scores, sizes.tolist(), budget, coverage)),
                        ):
                            is_found = np.isin(gold, space.document_numbers[rows[selected]])
                            found.setdefault((budget, method), []).append(float(is_found.mean()))
            for (budget, method), values in found.items():
                print(f"{name:10} {budget:4} tokens  {method:10} {np.mean(values):.3f}")


if __name__ == "__main__":
    main()
