"""The effect of feedback: half of a set's questions get feedback, then the other half is measured.

``python benchmarks/feedback.py --data DIR [--set NAME]… [--part odd|even]`` prints recall@5 and all@10 before and
after, by ``fused`` without co-use and with it, and after the feedback is removed; each half gives feedback once.
Questions are related by co-use if two memories of their evidence were used together, related if they share evidence
with a question that had feedback, and unrelated otherwise. Parts are spaces, in a set of one its questions: the weight
of co-use was chosen on the odd ones, counted from 0.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ecphora import E5Embedder, Memory, RecallOptions
from ecphora.maintenance.learn import metrics
from ecphora.maintenance.learn.datasets import Case, Question, read_cases
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.strategies.fused.strategy import Fused
from ecphora_bench.recall import intervals
from ecphora_bench.recall.recall_run import RECALL_LIMIT, ranked_documents
from ecphora_bench.spaces import temporary_memory

TOP = 10
"""Hits that the feedback considers."""
CO_USE, RELATED, UNRELATED = GROUPS = ("related by co-use", "related", "unrelated")
MEASURES = (("recall@5", metrics.recall_at_k, 5), ("all@10", metrics.recall_all_at_k, 10))
WITHOUT_CO_USE, WITH_CO_USE = replace(Fused(), co_use_weight=0.0), Fused()
"""Without co-use and with it."""


@dataclass(frozen=True)
class QuestionResult:
    """A question of the half without feedback, its group, whether it is in the odd part, and its measures.

    ``values`` has a row for each measurement: before, after without co-use, after with it, and after removal.
    """

    question: Question
    group: str
    is_odd: bool
    values: list[list[float]]


def measure(memory: Memory, question: Question, strategy: Fused = WITHOUT_CO_USE) -> list[float]:
    found = memory.recall(
        question.text, limit=RECALL_LIMIT, strategy=strategy, options=RecallOptions(log_access=False, explain=False)
    )
    return [measure(ranked_documents(found), question.gold, k) for _, measure, k in MEASURES]


def give_feedback(memory: Memory, questions: Sequence[Question]) -> tuple[list[str], list[frozenset[str]]]:
    """Give feedback on questions; returns the ids of the feedback, and the documents used for each question."""
    feedback_ids, used = [], []
    for question in questions:
        found = memory.recall(
            question.text, limit=TOP, strategy=WITHOUT_CO_USE, options=RecallOptions(log_access=False, explain=False)
        )
        document_by_id = {hit.id: hit.node.document or hit.id for hit in found}
        used_by_id = {id_: document for id_, document in document_by_id.items() if document in question.gold}
        feedback_ids.append(memory.feedback(found, list(used_by_id)))
        used.append(frozenset(used_by_id.values()))
    return feedback_ids, used


def cross_halves(case: Case, embedder: CachingEmbedder, number: int | None) -> Iterator[QuestionResult]:
    """Give feedback on each half once and ask the other; ``number`` is the space's, None if it is the only one."""
    questions = [question for question in case.questions if question.has_ranking]
    with temporary_memory(case, WITHOUT_CO_USE, embedder) as (memory, _):
        for half in (0, 1):
            first, second = questions[half::2], questions[1 - half :: 2]
            before = [measure(memory, one) for one in second]
            feedback_ids, used = give_feedback(memory, first)
            after = [[measure(memory, one, strategy) for strategy in (WITHOUT_CO_USE, WITH_CO_USE)] for one in second]
            memory.forget(feedback_ids)
            evidence = frozenset(id_ for question in first for id_ in question.gold)
            for place, one in enumerate(second):
                is_co_used = any(len(documents & one.gold) > 1 for documents in used)
                group = CO_USE if is_co_used else UNRELATED if one.gold.isdisjoint(evidence) else RELATED
                is_odd = bool((place if number is None else number) % 2)
                yield QuestionResult(one, group, is_odd, [before[place], *after[place], measure(memory, one)])


def format_line(name: str, group: str, rows: Sequence[QuestionResult], column: int) -> str:
    values = np.array([row.values for row in rows])[:, :, column]
    low, high = intervals.bootstrap_interval(values[:, 2] - values[:, 1])
    before, without_co_use, with_co_use, removed = values.mean(axis=0)
    return (
        f"{name:16} {group:18} n {len(rows):4}  {MEASURES[column][0]:10}  before {before:.3f}  "
        f"after {without_co_use:.3f}  with co-use {with_co_use:.3f} ({low:+.3f} to {high:+.3f})  removed {removed:.3f}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--set", action="append", default=[])
    options.add_argument("--part", choices=("odd", "even"))
    arguments = options.parse_args()
    all_rows: list[QuestionResult] = []
    with CachingEmbedder(E5Embedder()) as embedder:
        for name in arguments.set or ["locomo", "realtalk"]:
            spaces = list(read_cases(name, arguments.data))
            numbers = range(len(spaces)) if len(spaces) > 1 else [None]
            rows = [
                row
                for case, number in zip(spaces, numbers, strict=True)
                for row in cross_halves(case, embedder, number)
            ]
            rows = [row for row in rows if arguments.part is None or row.is_odd is (arguments.part == "odd")]
            all_rows += rows
            print_groups(name, rows)
    print_groups("all", all_rows)


def print_groups(name: str, rows: Sequence[QuestionResult]) -> None:
    for group in GROUPS:
        group_rows = [row for row in rows if row.group == group]
        for column in range(len(MEASURES)) if group_rows else ():
            print(format_line(name, group, group_rows, column), flush=True)


if __name__ == "__main__":
    main()
