"""Count the work of one remember, recall, consolidation run, opening and forgetting: times are noisy, counts are not.

    python benchmarks/work.py           # prints the counts
    python benchmarks/work.py --check   # fails if they differ from benchmarks/work.json; a test does the same
    python benchmarks/work.py --write   # writes that file: do this when a change is meant, and commit it

The inputs are fixed and the embedder needs no model, so the counts are the same on every machine. What is counted: SQL
statements, the rows that they return, write and step over for want of an index, texts embedded, pairs of memories that
the update scorer scores, and calls from file to file with the returns among them (see crossings.py).
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import numpy as np
from crossings import TURNS, walk
from numpy.typing import NDArray
from speed import synthetic_turns

from ecphora import Episode, Memory, RecallOptions
from ecphora.model.types import Vectors
from ecphora.models.embedders.hashing import HashingEmbedder

BASELINE = Path(__file__).with_suffix(".json")
TURN_COUNT, CONSOLIDATION_TURN_COUNT = 1_000, 60
NOW = datetime(2027, 1, 1, tzinfo=UTC)
QUESTION = "Where does Ana live now?"
MIN_SHARED_WORDS = 4
"""Two texts that share so many words are scored as an update."""


@dataclass(frozen=True)
class Work:
    """What one operation did. ``rows_scanned`` are those that a statement stepped over for want of an index."""

    statements: int
    rows_read: int
    rows_written: int
    rows_scanned: int
    texts_embedded: int
    pairs_scored: int
    crossing_calls: int
    returns: int


MAY_FALL = {"rows_scanned", "crossing_calls", "returns"}
"""Counts that must not rise; they depend on SQLite or on how the source is cut into files. The others must be equal."""


class CountingEmbedder(HashingEmbedder):
    """An embedder without a model that counts its texts."""

    text_count = 0

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        self.text_count += len(texts)
        return super().embed(texts, is_query=is_query)


class CountingScorer:
    """An update scorer without a model that counts its pairs: texts that share words are updates."""

    name = "shared words"
    pair_count = 0

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        self.pair_count += len(pairs)
        shared = [len(set(earlier.split()) & set(later.split())) for earlier, later in pairs]
        return np.where(np.array(shared, np.intp) >= MIN_SHARED_WORDS, 4.0, -4.0)


class Trace:
    """Counts the statements and rows of every connection that is opened while it is active."""

    def __init__(self) -> None:
        self.statements = self.rows_read = self.rows_scanned = 0
        self._changes: list[int] = []

    @property
    def rows_written(self) -> int:
        """Rows inserted, updated and deleted."""
        return sum(self._changes)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Follow the connections that are opened until the block ends."""
        apsw.connection_hooks.append(self._follow)
        try:
            yield
        finally:
            apsw.connection_hooks.remove(self._follow)

    def _follow(self, connection: apsw.Connection) -> None:
        number = len(self._changes)
        self._changes.append(0)

        def count(event: Mapping[str, Any]) -> None:
            if event["code"] == apsw.SQLITE_TRACE_ROW:
                self.rows_read += 1
            else:
                self.statements += 1
                self.rows_scanned += event["stmt_status"]["SQLITE_STMTSTATUS_FULLSCAN_STEP"]
                self._changes[number] = event["total_changes"]

        connection.trace_v2(apsw.SQLITE_TRACE_ROW | apsw.SQLITE_TRACE_PROFILE, count)


class Counter:
    """Opens memories whose work it counts."""

    def __init__(self) -> None:
        self.trace, self._embedder, self._scorer = Trace(), CountingEmbedder(), CountingScorer()

    def open(self, path: Path) -> Memory:
        """Open a memory with the counting embedder and scorer, at a fixed time."""
        return Memory(path, embedder=self._embedder, update_scorer=self._scorer, clock=lambda: NOW, zone="UTC")

    def count(self, operation: Callable[[], object]) -> Work:
        """Run an operation and return its work."""
        before = self._totals()
        seen = walk(operation)
        done = {name: count - before[name] for name, count in self._totals().items()}
        return Work(**done, crossing_calls=seen.crossings, returns=len(seen.returns))

    def _totals(self) -> dict[str, int]:
        return {
            "statements": self.trace.statements,
            "rows_read": self.trace.rows_read,
            "rows_written": self.trace.rows_written,
            "rows_scanned": self.trace.rows_scanned,
            "texts_embedded": self._embedder.text_count,
            "pairs_scored": self._scorer.pair_count,
        }


def count_operations(folder: Path) -> dict[str, Work]:
    """The work of each operation, by name; memories are made in ``folder``."""
    counter = Counter()
    with counter.trace.active():
        found = _count_everyday(counter, folder / "turns.db")
        with counter.open(folder / "consolidation.db") as memory:
            memory.remember([*synthetic_turns(CONSOLIDATION_TURN_COUNT), *_update_turns()])
            found["consolidate"] = counter.count(memory.consolidate)
    return found


def _count_everyday(counter: Counter, path: Path) -> dict[str, Work]:
    turn = Episode("I moved to Porto in May.", "moved", "Ana", "s", NOW)
    with counter.open(path) as memory:
        memory.remember(synthetic_turns(TURN_COUNT))
    opened: list[Memory] = []
    found = {"open": counter.count(lambda: opened.append(counter.open(path)))}
    memory = opened[0]
    found["remember"] = counter.count(lambda: memory.remember(turn))
    found["recall"] = counter.count(lambda: memory.recall(QUESTION, options=RecallOptions(log_access=False)))
    found["forget"] = counter.count(lambda: memory.forget("moved"))

    def recall_and_close() -> None:
        memory.recall(QUESTION)
        memory.close()  # waits for the access log, which a thread writes

    found["recall, log and close"] = counter.count(recall_and_close)
    return found


def _update_turns() -> list[Episode]:
    return [Episode(text, speaker=speaker, happened_at=NOW) for speaker, text in TURNS]


def measure() -> dict[str, Work]:
    """The counts after a first run that fills the caches of the process."""
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        count_operations(Path(first))
        return count_operations(Path(second))


def read_baseline() -> dict[str, Work]:
    """The counts that were committed."""
    return {name: Work(**counts) for name, counts in json.loads(BASELINE.read_text(encoding="utf-8")).items()}


def regressions(measured: Mapping[str, Work], baseline: Mapping[str, Work]) -> list[str]:
    """A line for each count that is not as it should be."""
    lines = []
    for name in sorted({*measured, *baseline}):
        if name not in measured or name not in baseline:
            lines.append(f"{name}: only in {'the baseline' if name in baseline else 'the measurement'}")
            continue
        now, before = asdict(measured[name]), asdict(baseline[name])
        lines += [
            f"{name}: {count} {before[count]:,} -> {now[count]:,}"
            for count in now
            if (now[count] > before[count] if count in MAY_FALL else now[count] != before[count])
        ]
    return lines


def main() -> None:
    """Print, check or write the counts."""
    measured = measure()
    names = [one.name for one in fields(Work)]
    print(f"{'':<24}", *(f"{name:>15}" for name in names))
    for operation, work in measured.items():
        print(f"{operation:<24}", *(f"{count:>15,}" for count in asdict(work).values()))
    if "--write" in sys.argv:
        text = json.dumps({name: asdict(work) for name, work in measured.items()}, indent=2)
        BASELINE.write_text(f"{text}\n", encoding="utf-8")
    if "--check" in sys.argv and (lines := regressions(measured, read_baseline())):
        raise SystemExit("\n".join(lines))


if __name__ == "__main__":
    main()
