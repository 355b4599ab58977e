"""What feedback teaches: half of a set's questions are asked and told what was of use, then the other half is asked.

``python benchmarks/feedback.py --data DIR [--set NAME]… [--part odd|even]`` prints fraction@5 and all@10 before and
after, by ``fused`` without co-recall and with it, and once all of it was taken back; each half is told once. Questions
are related by company where two memories of their evidence were of use together, related where they share evidence
with one that had feedback, and unrelated else. Parts are spaces, in a set of one its questions: the weight of co-recall
was chosen on the odd ones, counted from 0.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
COMPANY, RELATED, UNRELATED = GROUPS = ("related by company", "related", "unrelated")
MEASURES = (("fraction@5", metrics.fraction, 5), ("all@10", metrics.all_, 10))
ALONE, WHOLE = replace(Fused(), together=0.0), Fused()
"""Without co-recall and with it."""


@dataclass(frozen=True)
class Asked:
    """A question of the half that had no feedback, its group, whether it is in the odd part, and what it had.

    ``values`` has a row for each time it was asked: before, after without co-recall, after with it, and taken back.
    """

    question: Question
    group: str
    odd: bool
    values: list[list[float]]


def measured(memory: Memory, question: Question, strategy: Fused = ALONE) -> list[float]:
    found = memory.recall(question.text, limit=PIECES, strategy=strategy, touch=False, explain=False)
    return [measure(documents(found), question.evidence, k) for _, measure, k in MEASURES]


def told(memory: Memory, questions: Sequence[Question]) -> tuple[list[str], list[frozenset[str]]]:
    """Give feedback to some questions: the ids of what is kept, and the documents that were used for each."""
    kept, used = [], []
    for question in questions:
        found = memory.recall(question.text, limit=TOP, strategy=ALONE, touch=False, explain=False)
        of = {hit.id: hit.node.document or hit.id for hit in found}
        right = {id_: document for id_, document in of.items() if document in question.evidence}
        kept.append(memory.feedback(found, right))
        used.append(frozenset(right.values()))
    return kept, used


def tried(case: Case, embedder: Cached, number: int | None) -> Iterator[Asked]:
    """Tell each half once, and ask the other; ``number`` is the space's, None where it is the only one."""
    asked = [question for question in case.questions if question.answerable and question.evidence]
    with remembered(case, ALONE, embedder) as (memory, _):
        for half in (0, 1):
            first, second = asked[half::2], asked[1 - half :: 2]
            before = [measured(memory, one) for one in second]
            kept, used = told(memory, first)
            after = [[measured(memory, one, way) for way in (ALONE, WHOLE)] for one in second]
            memory.forget(kept)
            shared = frozenset(id_ for question in first for id_ in question.evidence)
            for place, one in enumerate(second):
                company = any(len(together & one.evidence) > 1 for together in used)
                group = COMPANY if company else UNRELATED if one.evidence.isdisjoint(shared) else RELATED
                odd = bool((place if number is None else number) % 2)
                yield Asked(one, group, odd, [before[place], *after[place], measured(memory, one)])


def line(name: str, group: str, rows: Sequence[Asked], column: int) -> str:
    values = np.array([row.values for row in rows])[:, :, column]
    low, high = metrics.interval(values[:, 2] - values[:, 1])
    before, alone, whole, undone = values.mean(axis=0)
    return (
        f"{name:16} {group:18} n {len(rows):4}  {MEASURES[column][0]:10}  before {before:.3f}  after {alone:.3f}  "
        f"with co-recall {whole:.3f} ({low:+.3f} to {high:+.3f})  taken back {undone:.3f}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--set", action="append", default=[])
    options.add_argument("--part", choices=("odd", "even"))
    chosen = options.parse_args()
    everything: list[Asked] = []
    with Cached(MiniLM()) as embedder:
        for name in chosen.set or ["locomo", "realtalk"]:
            spaces = list(cases(name, chosen.data))
            numbers = range(len(spaces)) if len(spaces) > 1 else [None]
            rows = [row for case, number in zip(spaces, numbers, strict=True) for row in tried(case, embedder, number)]
            rows = [row for row in rows if chosen.part is None or row.odd is (chosen.part == "odd")]
            everything += rows
            told_of(name, rows)
    told_of("all", everything)


def told_of(name: str, rows: Sequence[Asked]) -> None:
    for group in GROUPS:
        some = [row for row in rows if row.group == group]
        for column in range(len(MEASURES)) if some else ():
            print(line(name, group, some, column), flush=True)


if __name__ == "__main__":
    main()
