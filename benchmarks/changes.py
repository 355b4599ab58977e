"""How many changes of facts are found, on cases that the weights were trained on and on such as they were not.

``python benchmarks/changes.py`` prints, for each part of ``tests/changes``, how many cases of each kind come out right,
and how many look-alikes are wrongly taken for a change; then, of the changes that were not found, whether nothing was
found or something else. ``--rules`` leaves the close reading out. The parts: ``seen`` and ``unseen`` are what the
tests hold; these and ``held`` were read while rules were written and are among the lessons of
``scripts/train_changes.py``. Nobody read ``fresh`` and ``later``, and nothing was trained on them; ``later`` was used
to choose how to train.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from ecphora import SQLite

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "unit"))

import test_changes  # noqa: E402  # one place says what is right


def cases(kind: str) -> list[dict[str, object]]:
    texts = [
        (ROOT / "tests" / "changes" / name).read_text(encoding="utf-8")
        for name in (f"{kind}.jsonl", f"held_{kind}.jsonl")
    ]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rules", action="store_true", help="by rules alone")
    rules = parser.parse_args().rules
    with tempfile.TemporaryDirectory() as folder:
        store, embedder = SQLite(Path(folder) / "m.db"), test_changes.Once()
        right: dict[str, Counter[str]] = {}
        sizes: dict[str, Counter[str]] = {}
        silent: Counter[str] = Counter()
        for case in cases("matrix"):
            part, kind = str(case["part"]), str(case["kind"])
            memory = test_changes.slept(store, embedder, case, rules=rules)
            good = test_changes.right(memory, case)
            right.setdefault(part, Counter())[kind] += good
            sizes.setdefault(part, Counter())[kind] += 1
            silent[part] += not good and not len(test_changes.successions(memory.graph()))
        wrong: Counter[str] = Counter()
        controls: Counter[str] = Counter()
        for case in cases("control"):
            part = str(case["part"])
            memory = test_changes.slept(store, embedder, case, rules=rules)
            wrong[part] += bool(len(test_changes.successions(memory.graph())))
            controls[part] += 1
        for part, counts in right.items():
            kinds = ", ".join(f"{kind} {counts[kind]}/{sizes[part][kind]}" for kind in test_changes.KINDS)
            print(f"{part:7} {sum(counts.values())}/{sum(sizes[part].values())}  ({kinds})", end="; ")
            print(f"nothing found in {silent[part]}; wrongly taken for a change {wrong[part]}/{controls[part]}")
        store.close()


if __name__ == "__main__":
    main()
