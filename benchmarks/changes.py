"""How many updates of facts are found, on cases that the weights were trained on and on others.

``python benchmarks/changes.py`` prints, for each part of ``tests/changes``, how many cases of each kind come out right,
and how many look-alikes are wrongly taken for a change; then, of the changes that were not found, whether nothing was
found or something else. ``--rules`` leaves the close reading out. The parts: ``seen`` and ``unseen`` are what the
tests hold; these and ``held`` were read while rules were written and are training data of
``scripts/train_update_scorer.py``. Nobody read ``fresh`` and ``later``, and nothing was trained on them; ``later`` was
used to choose how to train.

Then the same in long histories that nobody read either: what one person told an assistant, or several told each other,
over months, with every pair marked in which a message makes an earlier one untrue. Of the pairs found, how many are
marked and how many are doubtful by the mark; of the messages that change something, how many were found to.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from ecphora import SQLiteStore

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "unit"))

import test_fact_updates  # noqa: E402  # one place says what is right

from ecphora.stages.retrieval.validity import MIN_REPORTED_CONFIDENCE  # noqa: E402

HISTORIES = "held_histories"


def read_cases(kind: str) -> list[dict[str, object]]:
    texts = [
        (ROOT / "tests" / "changes" / name).read_text(encoding="utf-8")
        for name in (f"{kind}.jsonl", f"held_{kind}.jsonl")
    ]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def report_histories(store: SQLiteStore, embedder: test_fact_updates.Once, *, rules: bool) -> None:
    """Print what is found in each history and in all."""
    told: dict[str, list[dict[str, object]]] = {}
    for turn in test_fact_updates.cases(HISTORIES):
        told.setdefault(turn["space"], []).append({**turn, "at": turn["time"]})
    marks: dict[str, dict[tuple[str, str], bool]] = {space: {} for space in told}
    for mark in test_fact_updates.cases(f"{HISTORIES}.changes"):
        marks[mark["space"]][mark["old"], mark["new"]] = mark["sure"]
    every = Counter[str]()
    for space, turns in told.items():
        memory = test_fact_updates.slept(store, embedder, {"id": space, "told": turns}, rules=rules)
        graph, marked = memory.graph(), marks[space]
        known = test_fact_updates.successions(graph)
        shown = ~known.against & (known.sure >= MIN_REPORTED_CONFIDENCE)
        pairs = zip(known.old[shown].tolist(), known.new[shown].tolist(), strict=True)
        found = {(graph.id(old), graph.id(new)) for old, new in pairs}
        counts = Counter[str](
            messages=len(turns),
            found=len(found),
            unsure=int((~known.against & ~shown).sum()),
            right=sum(marked.get(pair, False) for pair in found),
            doubtful=sum(not marked.get(pair, True) for pair in found),
            changes=len({new for (_, new), sure in marked.items() if sure}),
            seen=len({new for _, new in found & {pair for pair, sure in marked.items() if sure}}),
        )
        every += counts
        print_counts(space, counts)
    print_counts("all", every)


def print_counts(name: str, counts: Counter[str]) -> None:
    print(
        f"{name:7} {counts['messages']} messages: of {counts['found']} pairs found {counts['right']} are marked and "
        f"{counts['doubtful']} doubtful; of {counts['changes']} messages that change something {counts['seen']} found; "
        f"{counts['unsure']} pairs only ranked by"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rules", action="store_true", help="by rules alone")
    rules = parser.parse_args().rules
    with tempfile.TemporaryDirectory() as folder:
        store, embedder = SQLiteStore(Path(folder) / "m.db"), test_fact_updates.Once()
        right: dict[str, Counter[str]] = {}
        sizes: dict[str, Counter[str]] = {}
        silent: Counter[str] = Counter()
        for case in read_cases("matrix"):
            part, kind = str(case["part"]), str(case["kind"])
            memory = test_fact_updates.slept(store, embedder, case, rules=rules)
            good = test_fact_updates.right(memory, case)
            right.setdefault(part, Counter())[kind] += good
            sizes.setdefault(part, Counter())[kind] += 1
            silent[part] += not good and not len(test_fact_updates.successions(memory.graph()))
        wrong: Counter[str] = Counter()
        controls: Counter[str] = Counter()
        for case in read_cases("control"):
            part = str(case["part"])
            memory = test_fact_updates.slept(store, embedder, case, rules=rules)
            wrong[part] += bool(len(test_fact_updates.successions(memory.graph())))
            controls[part] += 1
        for part, counts in right.items():
            kinds = ", ".join(f"{kind} {counts[kind]}/{sizes[part][kind]}" for kind in test_fact_updates.KINDS)
            print(f"{part:7} {sum(counts.values())}/{sum(sizes[part].values())}  ({kinds})", end="; ")
            print(f"nothing found in {silent[part]}; wrongly taken for a change {wrong[part]}/{controls[part]}")
        report_histories(store, embedder, rules=rules)
        store.close()


if __name__ == "__main__":
    main()
