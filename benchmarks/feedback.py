"""What feedback teaches: half of a set's questions are asked and told what was of use, then the other half is asked.

``python benchmarks/feedback.py --data DIR [--set NAME]… [--part odd|even]`` prints recall@5 and all@10 before and
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

from ecphora import Memory, MiniLMEmbedder
from ecphora.bench.datasets import Case, Question, read_cases
from ecphora.bench.embedding_cache import CachingEmbedder
from ecphora.bench.recall import metrics
from ecphora.bench.recall.recall_run import RECALL_LIMIT, ranked_documents, temporary_memory
from ecphora.strategies.fused import Fused

TOP = 10
"""Hits that are looked at by who gives feedback."""
CO_USE, RELATED, UNRELATED = GROUPS = ("related by company", "related", "unrelated")
MEASURES = (("recall@5", metrics.recall_at_k, 5), ("all@10", metrics.recall_all_at_k, 10))
WITHOUT_CO_USE, WITH_CO_USE = replace(Fused(), co_use_weight=0.0), Fused()
"""Without co-recall and with it."""


@dataclass(frozen=True)
class QuestionResult:
    """A question of the half that had no feedback, its group, whether it is in the odd part, and what it had.

    ``values`` has a row for each time it was asked: before, after without co-recall, after with it, and taken back.
    """

    question: Question
    group: str
    is_odd: bool
    values: list[list[float]]


def measure(memory: Memory, question: Question, strategy: Fused = WITHOUT_CO_USE) -> list[float]:
    found = memory.recall(question.text, limit=RECALL_LIMIT, strategy=strategy, log_access=False, explain=False)
    return [measure(ranked_documents(found), question.gold, k) for _, measure, k in MEASURES]


def give_feedback(memory: Memory, questions: Sequence[Question]) -> tuple[list[str], list[frozenset[str]]]:
    """Give feedback to some questions: the ids of what is kept, and the documents that were used for each."""
    kept, used = [], []
    for question in questions:
        found = memory.recall(question.text, limit=TOP, strategy=WITHOUT_CO_USE, log_access=False, explain=False)
        of = {hit.id: hit.node.document or hit.id for hit in found}
        right = {id_: document for id_, document in of.items() if document in question.gold}
        kept.append(memory.feedback(found, right))
        used.append(frozenset(right.values()))
    return kept, used


def cross_halves(case: Case, embedder: CachingEmbedder, number: int | None) -> Iterator[QuestionResult]:
    """Tell each half once, and ask the other; ``number`` is the space's, None where it is the only one."""
    asked = [question for question in case.questions if question.is_answerable and question.gold]
    with temporary_memory(case, WITHOUT_CO_USE, embedder) as (memory, _):
        for half in (0, 1):
            first, second = asked[half::2], asked[1 - half :: 2]
            before = [measure(memory, one) for one in second]
            kept, used = give_feedback(memory, first)
            after = [[measure(memory, one, way) for way in (WITHOUT_CO_USE, WITH_CO_USE)] for one in second]
            memory.forget(kept)
            shared = frozenset(id_ for question in first for id_ in question.gold)
            for place, one in enumerate(second):
                company = any(len(together & one.gold) > 1 for together in used)
                group = CO_USE if company else UNRELATED if one.gold.isdisjoint(shared) else RELATED
                odd = bool((place if number is None else number) % 2)
                yield QuestionResult(one, group, odd, [before[place], *after[place], measure(memory, one)])


def format_line(name: str, group: str, rows: Sequence[QuestionResult], column: int) -> str:
    values = np.array([row.values for row in rows])[:, :, column]
    low, high = metrics.bootstrap_interval(values[:, 2] - values[:, 1])
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
    everything: list[QuestionResult] = []
    with CachingEmbedder(MiniLMEmbedder()) as embedder:
        for name in chosen.set or ["locomo", "realtalk"]:
            spaces = list(read_cases(name, chosen.data))
            numbers = range(len(spaces)) if len(spaces) > 1 else [None]
            rows = [
                row
                for case, number in zip(spaces, numbers, strict=True)
                for row in cross_halves(case, embedder, number)
            ]
            rows = [row for row in rows if chosen.part is None or row.is_odd is (chosen.part == "odd")]
            everything += rows
            print_groups(name, rows)
    print_groups("all", everything)


def print_groups(name: str, rows: Sequence[QuestionResult]) -> None:
    for group in GROUPS:
        some = [row for row in rows if row.group == group]
        for column in range(len(MEASURES)) if some else ():
            print(format_line(name, group, some, column), flush=True)


if __name__ == "__main__":
    main()
