"""What feedback teaches: half of a set's questions are asked and told what was of use, then the other half is asked.

``python benchmarks/feedback.py --data DIR [--set NAME]…`` prints fraction@5 before and after, for questions that share
evidence with one that had feedback (related) and for those that do not (unrelated), and after all of it was taken back.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ecphora import Memory, MiniLM
from ecphora.bench import metrics
from ecphora.bench.cache import Cached
from ecphora.bench.datasets import Case, Question, cases
from ecphora.bench.run import PIECES, documents, remembered
from ecphora.strategies.fused import Fused

TOP = 10
"""Hits that are looked at by who gives feedback."""


@dataclass(frozen=True)
class Before:
    """A question of the second half, what it had, and whether one of the first half shares its evidence."""

    question: Question
    related: bool
    values: list[float]


def fraction(memory: Memory, question: Question) -> float:
    found = memory.recall(question.text, limit=PIECES, touch=False, explain=False)
    return metrics.fraction(documents(found), question.evidence, 5)


def tried(case: Case, embedder: Cached) -> list[Before]:
    asked = [question for question in case.questions if question.answerable and question.evidence]
    first, second = asked[::2], asked[1::2]
    shared = frozenset(id_ for question in first for id_ in question.evidence)
    with remembered(case, Fused(), embedder) as (memory, _):
        rows = [Before(one, not one.evidence.isdisjoint(shared), [fraction(memory, one)]) for one in second]
        told = []
        for question in first:
            found = memory.recall(question.text, limit=TOP, touch=False, explain=False)
            used = [hit.id for hit in found if (hit.node.document or hit.id) in question.evidence]
            told.append(memory.feedback(found, used))
        for row in rows:
            row.values.append(fraction(memory, row.question))
        memory.forget(told)
        for row in rows:
            row.values.append(fraction(memory, row.question))
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--set", action="append", default=[])
    chosen = options.parse_args()
    with Cached(MiniLM()) as embedder:
        for name in chosen.set or ["locomo", "realtalk"]:
            rows = [row for case in cases(name, chosen.data) for row in tried(case, embedder)]
            for related in (True, False):
                values = np.array([row.values for row in rows if row.related is related])
                low, high = metrics.interval(values[:, 1] - values[:, 0])
                before, after, undone = values.mean(axis=0)
                print(
                    f"{name:12} {'related' if related else 'unrelated':10} n {len(values):4}  before {before:.3f}  "
                    f"after {after:.3f} ({low:+.3f} to {high:+.3f})  taken back {undone:.3f}"
                )


if __name__ == "__main__":
    main()
