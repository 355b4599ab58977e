"""Goals beside the question: how often the memory that a goal needs comes first, and what a goal costs otherwise.

``python benchmarks/goals.py`` asks the questions of ``goals.jsonl``, 131 in six languages over fourteen memories of ten
to twelve sentences. The 80 ambiguous ones have several possible answers, of which the goal needs one; the 23 clear ones
have one answer, and their goal is about another memory; the 28 unanswerable ones have a goal that memories fit. Each is
asked without a goal, with the goal in front of the question ("bake a cake: What do I have to watch out for?"), with
``goal=``, and with ``goal=`` of another memory's questions, which nothing here fits. It prints how often the right
memory is the first hit and among the first three, and how often there is any evidence, strong or weak. The weight was
chosen on the memories in odd places, counted from 1 (``--part odd``); ``--weight`` tries others.

``--set talks --spaces 2`` prints instead what goals that fit nothing cost in conversations of ``training/data``:
recall@5 of their answerable questions without a goal, and each with a goal of ``goals.jsonl``.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from ecphora import Episode, Evidence, Memory, RecallOptions
from ecphora.maintenance.learn.datasets import read_cases
from ecphora.recall.recollection import Recollection
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import FakeClock

CASES = Path(__file__).with_name("goals.jsonl")
DATA = Path(__file__).parents[1] / "training" / "data"
WITHOUT, IN_QUESTION, BESIDE, FOREIGN = WAYS = ("without", "in the question", "goal=", "goal= of others")
PARTS = {"odd": 0, "even": 1}
KINDS = ("ambiguous", "clear", "unanswerable")
TOP = 3
K = 5


@dataclass(frozen=True)
class CaseResult:
    """What one question found in one way: the rank of the right memory, 0 if it did not come back, and the evidence."""

    kind: str
    way: str
    rank: int
    evidence: Evidence


def read_spaces() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def recall(memory: Memory, question: str, goal: str | None, limit: int) -> Recollection:
    return memory.recall(question, goal=goal, limit=limit, options=RecallOptions(log_access=False, explain=False))


def ask(space: dict[str, Any], other: dict[str, Any], strategy: Fused) -> Iterator[CaseResult]:
    """Ask the questions of one memory in each way; ``other`` is the memory whose goals fit nothing here."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "memory.db", strategy=strategy, zone="UTC") as memory,
    ):
        memory.remember([Episode(text, id=id_) for id_, text in space["memories"].items()])
        for place, case in enumerate(space["cases"]):
            question, goal = case["question"], case["goal"]
            foreign = other["cases"][place % len(other["cases"])]["goal"]
            for way, (asked, given) in {
                WITHOUT: (question, None),
                IN_QUESTION: (f"{goal}: {question}", None),
                BESIDE: (question, goal),
                FOREIGN: (question, foreign),
            }.items():
                found = recall(memory, asked, given, len(space["memories"]))
                rank = next((rank for rank, hit in enumerate(found, 1) if hit.id == case["gold"]), 0)
                yield CaseResult(case["kind"], way, rank, found.evidence)


def measure(weight: float, part: str) -> list[CaseResult]:
    spaces, strategy = read_spaces(), replace(Fused(), goal_weight=weight)
    return [
        result
        for place in range(PARTS[part], len(spaces), 2)
        for result in ask(spaces[place], spaces[(place + 2) % len(spaces)], strategy)
    ]


def print_table(results: Sequence[CaseResult]) -> None:
    for kind in KINDS:
        for way in WAYS:
            rows = [result for result in results if (result.kind, result.way) == (kind, way)]
            first, top = (sum(1 <= row.rank <= rank for row in rows) / len(rows) for rank in (1, TOP))
            evidence = sum(row.evidence is not Evidence.NONE for row in rows) / len(rows)
            ranks = " " * 25 if kind == KINDS[-1] else f"first {first:.3f}  top {TOP} {top:.3f}"
            print(f"{kind:12}  {way:15}  n {len(rows):2}  {ranks}  evidence {evidence:.3f}", flush=True)


def measure_cost(name: str, count: int, weight: float) -> None:
    """Print recall of a set without goals, and with goals that have nothing to do with it."""
    goals = [case["goal"] for space in read_spaces() if space["language"] == "en" for case in space["cases"]]
    values: dict[str, list[float]] = {WITHOUT: [], FOREIGN: []}
    for case in islice(read_cases(name, DATA), count):
        clock = FakeClock()
        with (
            tempfile.TemporaryDirectory() as folder,
            Memory(
                Path(folder) / "m.db", clock=clock, strategy=replace(Fused(), goal_weight=weight), zone="UTC"
            ) as memory,
        ):
            memory.remember(case.episodes)
            for place, question in enumerate(one for one in case.questions if one.has_ranking):
                clock.now = question.asked_at or clock.now
                for way, goal in ((WITHOUT, None), (FOREIGN, goals[place % len(goals)])):
                    ids = {hit.node.document or hit.id for hit in recall(memory, question.text, goal, K)}
                    values[way].append(len(ids & question.gold) / len(question.gold))
    for way, found in values.items():
        print(f"{name}  {way:15}  n {len(found)}  recall@{K} {sum(found) / len(found):.4f}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--part", choices=PARTS, action="append")
    options.add_argument("--weight", type=float, action="append")
    options.add_argument("--set", dest="name")
    options.add_argument("--spaces", type=int, default=2)
    arguments = options.parse_args()
    for weight in arguments.weight or [Fused().goal_weight]:
        print(f"weight {weight:g}")
        if arguments.name is not None:
            measure_cost(arguments.name, arguments.spaces, weight)
            continue
        for part in arguments.part or PARTS:
            print(f"part {part}")
            print_table(measure(weight, part))


if __name__ == "__main__":
    main()
