#!/usr/bin/env python3
"""Check that two checkouts recall and consolidate equally: scripts/compare_checkouts.py BEFORE AFTER --data DIR.

Runs both on the same data sets in separate processes: all strategies, also `-faithful` ones, recall for the first
questions of each set, and consolidation runs over the first spaces of each, with each embedder. Prints a line per set
and embedder, and exits with 1 if the ids, scores or reasons of any hit, a confidence, or any row written by
consolidation differs. Scores are compared exactly, rows by position, so that a column may change its name. Text vectors
are cached in memory.

`dump`, the part that runs in a checkout, uses names that both checkouts have.
"""

import argparse
import gzip
import inspect
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

STRATEGIES = [
    *("fused", "synaptic", "synapse", "eisa", "ecphory", "weave", "dense", "bm25", "rrf", "simple", "recency"),
    *("synaptic-faithful", "synapse-faithful", "eisa-faithful", "ecphory-faithful", "weave-faithful"),
]
EMBEDDERS = {"e5": "E5Embedder", "minilm": "MiniLMEmbedder"}
"""The embedders to compare with, and their public names."""
HITS = 30
"""Hits of each recall to compare."""
EPISODES = 1500
"""The most episodes remembered of a space, and consolidated over all spaces of a set."""
UNDATED = "2026-01-01"


class CachedEmbedder:
    """An embedder that caches its vectors in a dictionary and passes everything else on."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._vectors: dict[tuple[str, str], Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def coverage(self, text: str, /) -> float:
        """The embedder's coverage of a text. Callers look it up on the type, so it is defined here."""
        return float(self._embedder.coverage(text))

    def embed(self, texts: Sequence[str], /, **options: Any) -> Any:
        """The vectors of texts; each is computed once."""
        import numpy as np  # noqa: PLC0415  # the process that compares needs no packages

        keys = [(text, repr(sorted(options.items()))) for text in texts]
        missing = list(dict.fromkeys(key for key in keys if key not in self._vectors))
        if missing:
            vectors = self._embedder.embed([text for text, _ in missing], **options)
            self._vectors.update(zip(missing, vectors, strict=True))
        if not keys:
            return np.zeros((0, self._embedder.dim), np.float32)
        return np.stack([self._vectors[key] for key in keys])


def spaces(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of a file of JSON lines, by their space."""
    found = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            fields = json.loads(line)
            found[fields["space"]].append(fields)
    return found


def dump(data: Path, name: str, embedder_name: str, limit: int, episodes: int) -> Iterator[str]:
    """The lines of a set to compare: hits by strategy and question, and rows after consolidation."""
    import ecphora  # noqa: PLC0415  # of the checkout in PYTHONPATH
    from ecphora import Memory  # noqa: PLC0415

    embedder = CachedEmbedder(getattr(ecphora, EMBEDDERS[embedder_name])())
    question_lines = spaces(data / f"{name}.questions.jsonl.gz")
    remaining, episodes_to_consolidate = limit, episodes
    for space, documents in spaces(data / f"{name}.docs.jsonl.gz").items():
        questions = [line["question"] for line in question_lines.get(space, [])][:remaining]
        remaining -= len(questions)
        if not questions:
            continue
        for strategy in STRATEGIES:
            with tempfile.TemporaryDirectory() as folder:
                memory = _remember(Memory, Path(folder, "m.db"), documents[:episodes], embedder, strategy)
                yield from (f"{space} {strategy} {line}" for line in _hits(memory, questions, strategy))
                memory.close()
        if episodes_to_consolidate > 0:
            episodes_to_consolidate -= len(documents)
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "m.db")
                memory = _remember(Memory, file, documents[:episodes], embedder, "fused")
                memory.consolidate()
                yield from (f"{space} consolidated {line}" for line in _hits(memory, questions, "fused"))
                memory.close()
                yield from (f"{space} consolidated {line}" for line in _rows(file))


def _remember(
    memory_type: Any, file: Path, documents: list[dict[str, Any]], embedder: CachedEmbedder, strategy: str
) -> Any:
    from ecphora import Episode  # noqa: PLC0415

    times = [document["time"] for document in documents if document.get("time")]
    now = datetime.fromisoformat(max(times, default=UNDATED))
    now = now if now.tzinfo else now.replace(tzinfo=UTC)
    memory = memory_type(file, embedder=embedder, clock=lambda: now, strategy=strategy)
    fields = {"id": "id", "speaker": "speaker", "session": "session", "time": "happened_at", "title": "title"}
    memory.remember(
        [
            Episode(
                document["text"],
                **{parameter: document[field] for field, parameter in fields.items() if document.get(field)},
            )
            for document in documents
            if document["text"].strip()
        ]
    )
    return memory


def _hits(memory: Any, questions: Sequence[str], strategy: str) -> Iterator[str]:
    unlogged: dict[str, Any] = {"log_access": False}
    if "options" in inspect.signature(memory.recall).parameters:
        from ecphora import RecallOptions  # noqa: PLC0415

        unlogged = {"options": RecallOptions(log_access=False)}
    for index, question in enumerate(questions):
        found = memory.recall(question, limit=HITS, strategy=strategy, **unlogged)
        hits = " ".join(f"{hit.id}={float(hit.score)!r}" for hit in found)
        yield f"{index} {found.confidence!r} {hits} {[hit.reason for hit in found]!r}"


def _rows(file: Path) -> Iterator[str]:
    with sqlite3.connect(file) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
        for table in (name for name in tables if name in {"node", "edge", "vector"}):
            rows = [repr(row) for row in db.execute(f'SELECT * FROM "{table}"')]  # noqa: S608  # a name of the schema
            yield from (f"{table} {row}" for row in sorted(rows))


def run(checkout: Path, options: argparse.Namespace, name: str, embedder: str, output: Path) -> subprocess.Popen[bytes]:
    """Start the dump of a set in a checkout."""
    arguments = [
        "--dump",
        name,
        "--embedder",
        embedder,
        "--data",
        options.data,
        "--limit",
        str(options.limit),
        "--episodes",
        str(options.episodes),
    ]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    env = {**os.environ, **threads, "PYTHONPATH": str(checkout / "src"), "PYTHONHASHSEED": "0"}
    with output.open("wb") as out:
        return subprocess.Popen([sys.executable, __file__, *arguments], env=env, stdout=out)  # noqa: S603  # this very file


def compare(options: argparse.Namespace) -> int:
    """Run both checkouts on all sets, print a line per set and embedder, and return how many of them differ."""
    data = Path(options.data)
    known = sorted(path.name.removesuffix(".questions.jsonl.gz") for path in data.glob("*.questions.jsonl.gz"))
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, embedder in product(options.set or known, options.embedder or EMBEDDERS):
            files = [Path(folder, f"{name}.{side}") for side in ("before", "after")]
            pairs = zip(options.checkouts, files, strict=True)
            processes = [run(Path(checkout).resolve(), options, name, embedder, file) for checkout, file in pairs]
            codes = [process.wait() for process in processes]
            if any(codes):
                raise SystemExit(f"{name}: a checkout failed")
            before, after = (file.read_text("utf-8").splitlines() for file in files)
            differences = [pair for pair in zip_longest(before, after, fillvalue="(no line)") if pair[0] != pair[1]]
            print(f"{name}, {embedder}: {len(before):,} lines, {len(differences):,} differ", flush=True)  # noqa: T201
            for pair in differences[:3]:
                print(*(f"  {side} {line[:300]}" for side, line in zip("-+", pair, strict=True)), sep="\n")  # noqa: T201
            differing += bool(differences)
    return differing


def main() -> None:
    """Read the options; compare, or dump for the process that compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="*", metavar="CHECKOUT", help="the folder before and the one after")
    parser.add_argument("--data", required=True, help="folder of the data sets")
    parser.add_argument("--set", action="append", help="a set; may be repeated (default: all)")
    parser.add_argument("--embedder", action="append", choices=EMBEDDERS, help="may be repeated (default: all)")
    parser.add_argument("--limit", type=int, default=20, help="questions per set (default 20)")
    parser.add_argument("--episodes", type=int, default=EPISODES, help="episodes per space (default %(default)s)")
    parser.add_argument("--dump", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.dump:
        for line in dump(Path(options.data), options.dump, options.embedder[0], options.limit, options.episodes):
            print(line.encode("utf-8", "backslashreplace").decode("utf-8"))  # noqa: T201
        return
    if len(options.checkouts) != 2:
        parser.error("name two checkouts: the one before and the one after")
    raise SystemExit(1 if compare(options) else 0)


if __name__ == "__main__":
    main()
