"""Fact updates in plain words: how many are found, and whether the new message then ranks first.

``python benchmarks/everyday.py`` reads the cases of ``tests/changes/everyday_matrix.jsonl``, each with a question, and
the look-alikes of ``everyday_control.jsonl``. For each part it prints

- how many updates are found: an edge says that the new message supersedes the old one;
- how many are in the right order: for the question, the new message ranks before the old one, with and without
  consolidation;
- how many are both;
- how many look-alikes have any edge that says that one message supersedes another, at any confidence.

Updates that somebody else reports are counted separately: they contradict what a person said about themselves and do
not supersede it. Then it prints for ``two_facts.jsonl`` how many of the updates are found, and for how many of these
the new message ranks first for a question about the fact that changed, and last for one about the other fact.

Nobody who wrote code or training data has read the part ``everyday-unread``. ``--rules`` leaves the update scorer out.
"""

import argparse
import json
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ecphora import Episode, Memory, RecallOptions, SQLiteStore
from ecphora.model.ports import Embedder
from ecphora.models.embedders.from_setting import DEFAULT_EMBEDDER, PACKAGED_EMBEDDERS
from ecphora.retrieval.validity import supersessions
from ecphora.testing import FakeClock

ROOT = Path(__file__).parents[1]
MONTH = timedelta(days=30)
"""The time between the last message or update and the question."""
Case = dict[str, Any]


def read_cases(name: str) -> list[Case]:
    path = ROOT / "tests" / "changes" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def memory_of_case(store: SQLiteStore, embedder: Embedder, case: Case, options: dict[str, Any]) -> Memory:
    """The memory of a case, a month after the last message and after the day from which the update is valid."""
    times = [turn["at"] for turn in case["told"]] + ([case["since"]] if case.get("since") else [])
    last = max(datetime.fromisoformat(at).replace(tzinfo=UTC) for at in times)
    memory = Memory(store, scope=case["id"], embedder=embedder, clock=FakeClock(last + MONTH), zone="UTC", **options)
    memory.remember([Episode(t["text"], t["id"], t["speaker"], t["session"], t["at"]) for t in case["told"]])
    return memory


def is_new_first(memory: Memory, question: str, case: Case) -> bool:
    """Whether the new message ranks before the old one."""
    ids = [
        hit.id
        for hit in memory.recall(
            question, limit=len(case["told"]), options=RecallOptions(log_access=False, explain=False)
        )
    ]
    places = {id_: place for place, id_ in enumerate(ids)}
    return places.get(case["new"], len(ids)) < places.get(case["old"], len(ids))


def update_pairs(memory: Memory, *, contradictions: bool = False) -> dict[tuple[str, str], float]:
    """The pairs (old, new) in which the new message supersedes, or contradicts, the old one, with their confidence."""
    graph = memory.graph()
    known = supersessions(graph)
    rows = zip(
        known.old.tolist(), known.new.tolist(), known.is_contradiction.tolist(), known.confidence.tolist(), strict=True
    )
    return {
        (graph.id(old), graph.id(new)): confidence
        for old, new, contradicts, confidence in rows
        if contradicts == contradictions
    }


def report_updates(store: SQLiteStore, embedder: Embedder, options: dict[str, Any], limit: int | None) -> None:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for case in read_cases("everyday_matrix")[:limit]:
        count = counts.setdefault((case["part"], case["by"]), Counter())
        memory = memory_of_case(store, embedder, case, options)
        before = is_new_first(memory, case["ask"], case)
        memory.consolidate()
        pair, found = (case["old"], case["new"]), update_pairs(memory)
        after = is_new_first(memory, case["ask"], case)
        count += Counter(
            cases=1,
            found=pair in found,
            contradicts=pair in update_pairs(memory, contradictions=True),
            before=before,
            after=after,
            both=after and pair in found,
            wrong=not case.get("twice") and bool(found.keys() - {pair}),
        )
    for (part, by), count in counts.items():
        size = count["cases"]
        print(
            f"{part}, by {'the same' if by == 'same' else 'another'} speaker: of {size} found {count['found']} "
            f"({count['contradicts']} more as a contradiction), "
            f"in the right order {count['after']} (without consolidation {count['before']}), "
            f"both {count['both']} ({count['both'] / size:.0%}); a wrong pair found in {count['wrong']}"
        )


def report_look_alikes(store: SQLiteStore, embedder: Embedder, options: dict[str, Any], limit: int | None) -> None:
    counts: dict[str, Counter[str]] = {}
    for case in read_cases("everyday_control")[:limit]:
        memory = memory_of_case(store, embedder, case, options)
        memory.consolidate()
        is_pending = bool(memory.facts.updates(pending=True))
        counts.setdefault(case["part"], Counter()).update(
            cases=1, linked=bool(update_pairs(memory)), pending=is_pending
        )
    for part, count in counts.items():
        fraction = count["linked"] / count["cases"]
        print(
            f"{part}: of {count['cases']} look-alikes {count['linked']} ({fraction:.1%}) are taken for an update, "
            f"in {count['pending']} one is pending"
        )


def report_two_facts(store: SQLiteStore, embedder: Embedder, options: dict[str, Any], limit: int | None) -> None:
    count = Counter[str]()
    for case in read_cases("two_facts")[:limit]:
        memory = memory_of_case(store, embedder, case, options)
        memory.consolidate()
        if (case["old"], case["new"]) in update_pairs(memory):
            is_first = (is_new_first(memory, case[name], case) for name in ("changed", "kept"))
            count += Counter(dict(zip(("found", "changed", "kept"), (1, *is_first), strict=True)))
        count["cases"] += 1
    print(
        f"two facts in one message: of {count['cases']} found {count['found']}; the new message ranks first in "
        f"{count['changed']} for the fact that changed, in {count['kept']} for the other fact"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--rules", action="store_true", help="without the update scorer")
    options.add_argument("--embedder", choices=sorted(PACKAGED_EMBEDDERS), help="by default that of a new scope")
    options.add_argument("--limit", type=int, help="the most cases of each file")
    given = options.parse_args()
    memory_options = {"update_scorer": None} if given.rules else {}
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "m.db")
        embedder = PACKAGED_EMBEDDERS.get(given.embedder, DEFAULT_EMBEDDER)()
        report_updates(store, embedder, memory_options, given.limit)
        report_look_alikes(store, embedder, memory_options, given.limit)
        report_two_facts(store, embedder, memory_options, given.limit)
        store.close()


if __name__ == "__main__":
    main()
