"""What the previous turn adds to dense recall: nothing, an embedding of both turns, or the sum of both vectors.

``python benchmarks/context.py --data DIR [--set NAME]…`` prints the fraction of the gold evidence found at 5, 10, 30.
"""

import argparse
from pathlib import Path

import numpy as np

from ecphora import MiniLMEmbedder
from ecphora.maintenance.learn.datasets import Case, read_cases
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.types import Vectors

CONTEXT_WEIGHTS = (0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


def normalize(rows: Vectors) -> Vectors:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def vectors_by_form(case: Case, embedder: CachingEmbedder) -> dict[str, Vectors]:
    texts = [f"{one.speaker}: {one.text}" if one.speaker else one.text for one in case.episodes]
    sessions = [one.session for one in case.episodes]
    before = [i - 1 if i and sessions[i - 1] == sessions[i] else i for i in range(len(texts))]
    own = embedder.embed(texts)
    pair = embedder.embed([texts[i] if p == i else f"{texts[p]}\n{texts[i]}" for i, p in enumerate(before)])
    summed = {f"own + {weight} before": normalize(own + weight * own[before]) for weight in CONTEXT_WEIGHTS}
    return {"own": own, "pair embedded": pair, "own + pair": normalize(own + pair), **summed}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--set", action="append", default=[])
    arguments = options.parse_args()
    with CachingEmbedder(MiniLMEmbedder()) as embedder:
        for name in arguments.set or ["locomo", "realtalk"]:
            found: dict[str, list[list[float]]] = {}
            for case in read_cases(name, arguments.data):
                ids = [one.id for one in case.episodes]
                questions = [question for question in case.questions if question.has_ranking]
                queries = embedder.embed([question.text for question in questions], is_query=True)
                for form, vectors in vectors_by_form(case, embedder).items():
                    for question, query in zip(questions, queries, strict=True):
                        ranked = [ids[row] for row in np.argsort(-(vectors @ query), kind="stable")[:30]]
                        gold = question.gold
                        found.setdefault(form, []).append(
                            [len(gold & set(ranked[:k])) / len(gold) for k in (5, 10, 30)]
                        )
            for form, rows in found.items():
                print(f"{name:10} {form:18} " + "  ".join(f"{value:.3f}" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
