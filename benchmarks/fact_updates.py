"""How many fact updates consolidation finds, on cases that the weights were trained on and on others.

``python benchmarks/fact_updates.py`` prints, for each part of ``tests/changes``, how many cases of each kind are
correct, in how many of the others nothing was found, and how many look-alikes are wrongly taken for an update.
``--rules`` leaves the update scorer out. The parts: ``seen`` and ``unseen`` are in the tests; these and ``held`` were
read while rules were written and are training data of ``training/train_update_scorer.py``. Nobody read ``fresh`` and
``later``, and nothing was trained on them; ``later`` was used to choose how to train.

Then it does the same for long histories that nobody read either: what one person told an assistant, or several people
told each other, over months. Every pair in which a message makes an earlier one untrue is labeled. It prints how many
of the pairs found are labeled, how many of those labels are doubtful, and how many messages that change something were
found.

``--languages`` does neither. It prints, for each language of
``held_languages.jsonl``, in how many changes in plain words an edge says that the new message supersedes or contradicts
the old one, and in how many look-alikes there is any such edge. Nothing is trained on these cases.

``--memories`` prints, for each language of ``training/data/memories/held_many``, memories of many matters, how many of
the changed facts are found, and how many pairs found are no change. Nothing is trained on them either.

``--logs`` does the same for the memories of ``training/data/logs``, notes of recurring events, which train the
calibration and not the update scorer.

``--embedder`` chooses another packaged embedder than that of a new scope.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from ecphora import SQLiteStore
from ecphora.models.embedders.from_setting import DEFAULT_EMBEDDER, PACKAGED_EMBEDDERS

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "unit"), str(ROOT / "training")]

import test_fact_updates  # noqa: E402  # defines what is correct
from update_groups import calibration_memories  # noqa: E402

from ecphora.retrieval.validity import pending_supersessions, supersessions  # noqa: E402

HISTORIES, LANGUAGES = "held_histories", "held_languages"
MEMORIES, LOGS = ROOT / "training" / "data" / "memories" / "held_many", ROOT / "training" / "data" / "logs"
TURN_FIELDS = ("id", "at", "speaker", "session", "text")
"""What a message of ``LANGUAGES`` lists."""


def read_cases(kind: str) -> list[dict[str, object]]:
    texts = [
        (ROOT / "tests" / "changes" / name).read_text(encoding="utf-8")
        for name in (f"{kind}.jsonl", f"held_{kind}.jsonl")
    ]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def report_histories(store: SQLiteStore, embedder: test_fact_updates.EmbeddingCache, *, rules: bool) -> None:
    """Print what is found in each history and in all."""
    turns_by_space: dict[str, list[dict[str, object]]] = {}
    for turn in test_fact_updates.read_cases(HISTORIES):
        turns_by_space.setdefault(turn["space"], []).append({**turn, "at": turn["time"]})
    labels_by_space: dict[str, dict[tuple[str, str], bool]] = {space: {} for space in turns_by_space}
    for label in test_fact_updates.read_cases(f"{HISTORIES}.changes"):
        labels_by_space[label["space"]][label["old"], label["new"]] = label["sure"]
    total = Counter[str]()
    for space, turns in turns_by_space.items():
        memory = test_fact_updates.consolidated_memory(store, embedder, {"id": space, "told": turns}, rules=rules)
        graph, labels = memory.graph(), labels_by_space[space]
        known = supersessions(graph)
        is_reported = ~known.is_contradiction
        pairs = zip(known.old[is_reported].tolist(), known.new[is_reported].tolist(), strict=True)
        found = {(graph.id(old), graph.id(new)) for old, new in pairs}
        counts = Counter[str](
            messages=len(turns),
            found=len(found),
            unreported=int((~pending_supersessions(graph).is_contradiction).sum()),
            correct=sum(labels.get(pair, False) for pair in found),
            doubtful=sum(not labels.get(pair, True) for pair in found),
            updates=len({new for (_, new), is_certain in labels.items() if is_certain}),
            detected=len({new for _, new in found & {pair for pair, is_certain in labels.items() if is_certain}}),
        )
        total += counts
        print_counts(space, counts)
    print_counts("all", total)


def print_counts(name: str, counts: Counter[str]) -> None:
    print(
        f"{name:7} {counts['messages']} messages: of {counts['found']} pairs found {counts['correct']} are labeled and "
        f"{counts['doubtful']} doubtful; of {counts['updates']} messages that change something "
        f"{counts['detected']} found; {counts['unreported']} pairs pending"
    )


def report_languages(store: SQLiteStore, embedder: test_fact_updates.EmbeddingCache, *, rules: bool) -> None:
    """Print the changes found and the look-alikes taken for a change in each language."""
    counts: dict[str, Counter[str]] = {}
    for case in test_fact_updates.read_cases(LANGUAGES):
        turns = [dict(zip(TURN_FIELDS, turn, strict=True)) for turn in case["told"]]
        memory = test_fact_updates.consolidated_memory(store, embedder, {"id": case["id"], "told": turns}, rules=rules)
        is_change = case["kind"] != "none"
        count = counts.setdefault(case["id"].partition("-")[0], Counter())
        count["changes" if is_change else "look-alikes"] += 1
        count["found" if is_change else "wrong"] += bool(len(supersessions(memory.graph())))
    for language, count in [*sorted(counts.items()), ("all", sum(counts.values(), Counter[str]()))]:
        print(f"{language:3} found {count['found']}/{count['changes']}; wrong {count['wrong']}/{count['look-alikes']}")


def report_memories(store: SQLiteStore, embedder: test_fact_updates.EmbeddingCache, *, rules: bool) -> None:
    """Print the changes found and the other pairs found in the memories of each language."""
    _report_spaces(MEMORIES, None, store, embedder, rules=rules)


def report_logs(store: SQLiteStore, embedder: test_fact_updates.EmbeddingCache, *, rules: bool) -> None:
    """Print the same for the logs that the update scorer was not trained on."""
    _report_spaces(LOGS, calibration_memories(), store, embedder, rules=rules)


def _report_spaces(
    path: Path,
    spaces: frozenset[str] | None,
    store: SQLiteStore,
    embedder: test_fact_updates.EmbeddingCache,
    *,
    rules: bool,
) -> None:
    docs, changes = (
        [json.loads(line) for line in path.with_suffix(f".{part}.jsonl").read_text(encoding="utf-8").splitlines()]
        for part in ("docs", "changes")
    )
    turns_by_space: dict[str, list[dict[str, object]]] = {}
    for turn in docs:
        turns_by_space.setdefault(turn["space"], []).append({**turn, "at": turn["time"]})
    counts: dict[str, Counter[str]] = {}
    for space, turns in turns_by_space.items():
        if spaces is not None and space not in spaces:
            continue
        memory = test_fact_updates.consolidated_memory(store, embedder, {"id": space, "told": turns}, rules=rules)
        graph = memory.graph()
        known = supersessions(graph)
        pairs = zip(known.old.tolist(), known.new.tolist(), strict=True)
        found = {(graph.id(old), graph.id(new)) for old, new in pairs}
        labels = {(change["old"], change["new"]) for change in changes if change["space"] == space}
        language = space.split("_")[1].rstrip("0123456789")
        counts[language] = counts.get(language, Counter[str]()) + Counter(
            messages=len(turns), changes=len(labels), found=len(found & labels), wrong=len(found - labels)
        )
    for language, count in [*sorted(counts.items()), ("all", sum(counts.values(), Counter[str]()))]:
        print(
            f"{language:3} {count['messages']} messages: found {count['found']}/{count['changes']} changes; "
            f"{count['wrong']} other pairs"
        )


def report_cases(store: SQLiteStore, embedder: test_fact_updates.EmbeddingCache, *, rules: bool) -> None:
    """Print what is found in the short cases of each part."""
    correct: dict[str, Counter[str]] = {}
    sizes: dict[str, Counter[str]] = {}
    empty: Counter[str] = Counter()
    for case in read_cases("matrix"):
        part, kind = str(case["part"]), str(case["kind"])
        memory = test_fact_updates.consolidated_memory(store, embedder, case, rules=rules)
        is_correct = test_fact_updates.is_correct(memory, case)
        correct.setdefault(part, Counter())[kind] += is_correct
        sizes.setdefault(part, Counter())[kind] += 1
        empty[part] += not is_correct and not len(supersessions(memory.graph()))
    false_positives: Counter[str] = Counter()
    controls: Counter[str] = Counter()
    for case in read_cases("control"):
        part = str(case["part"])
        memory = test_fact_updates.consolidated_memory(store, embedder, case, rules=rules)
        false_positives[part] += bool(len(supersessions(memory.graph())))
        controls[part] += 1
    for part, counts in correct.items():
        kinds = ", ".join(f"{kind} {counts[kind]}/{sizes[part][kind]}" for kind in test_fact_updates.KINDS)
        print(f"{part:7} {sum(counts.values())}/{sum(sizes[part].values())}  ({kinds})", end="; ")
        print(f"nothing found in {empty[part]}; false positives {false_positives[part]}/{controls[part]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rules", action="store_true", help="without the update scorer")
    parser.add_argument("--embedder", choices=sorted(PACKAGED_EMBEDDERS), help="by default that of a new scope")
    parser.add_argument("--languages", action="store_true", help="only the changes in plain words of several languages")
    parser.add_argument("--memories", action="store_true", help="only the changes in memories of many matters")
    parser.add_argument("--logs", action="store_true", help="only the changes in notes of events that recur")
    arguments = parser.parse_args()
    chosen = [report_languages] * arguments.languages + [report_memories] * arguments.memories
    chosen += [report_logs] * arguments.logs
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "m.db")
        kind = PACKAGED_EMBEDDERS.get(arguments.embedder, DEFAULT_EMBEDDER)
        embedder = test_fact_updates.EmbeddingCache(kind())
        for report in chosen or [report_cases, report_histories]:
            report(store, embedder, rules=arguments.rules)
        store.close()


if __name__ == "__main__":
    main()
