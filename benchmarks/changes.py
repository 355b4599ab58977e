"""How many changes of facts are found, on cases that were read while the rules were written and on such as were not.

``python benchmarks/changes.py`` prints, for each part of ``tests/changes``, how many cases of each kind come out right,
and how many look-alikes are wrongly taken for a change. The parts: ``seen`` and ``unseen`` were both read in the end,
and are what the tests hold; of ``held`` the misses were read, and nothing was fitted to them; ``fresh`` nobody read.
"""

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
    with tempfile.TemporaryDirectory() as folder:
        store, embedder = SQLite(Path(folder) / "m.db"), test_changes.Once()
        right: dict[str, Counter[str]] = {}
        sizes: dict[str, Counter[str]] = {}
        for case in cases("matrix"):
            part, kind = str(case["part"]), str(case["kind"])
            memory = test_changes.slept(store, embedder, case)
            right.setdefault(part, Counter())[kind] += test_changes.right(memory, case)
            sizes.setdefault(part, Counter())[kind] += 1
        wrong: Counter[str] = Counter()
        controls: Counter[str] = Counter()
        for case in cases("control"):
            part = str(case["part"])
            wrong[part] += bool(len(test_changes.successions(test_changes.slept(store, embedder, case).graph())))
            controls[part] += 1
        for part, counts in right.items():
            kinds = ", ".join(f"{kind} {counts[kind]}/{sizes[part][kind]}" for kind in test_changes.KINDS)
            print(f"{part:7} {sum(counts.values())}/{sum(sizes[part].values())}  ({kinds})", end="; ")
            print(f"wrongly taken for a change {wrong[part]}/{controls[part]}")
        store.close()


if __name__ == "__main__":
    main()
