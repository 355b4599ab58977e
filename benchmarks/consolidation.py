"""The effect of consolidation on recall, before and after on each set, and the time it takes.

``python benchmarks/consolidation.py --data DIR [--set NAME]…`` prints, for each set and category, recall@5, recall@10
and all@10 of ``fused`` before and after with the interval of the difference, how often the newest statement of an
update ranks above the oldest, how the file grows, what was written, and seconds. ``--turns N`` instead joins the
conversations of all sets named in one memory, consolidates N turns, and then a hundred more.
"""

import argparse
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from time import perf_counter

import numpy as np

from ecphora import E5Embedder, Episode, Memory, RecallOptions
from ecphora.maintenance.learn import metrics
from ecphora.maintenance.learn.datasets import Case, Question, read_cases
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora_bench.recall import intervals
from ecphora_bench.recall.recall_run import RECALL_LIMIT, ranked_documents

DATASETS = ("beam_100k", "longmemeval_mini", "locomo", "lihua", "realtalk", "ramdocs", "timeqa")
UPDATE_CATEGORIES = {"knowledge_update", "knowledge-update"}
NUMBER = re.compile(r"\d[\d,.:]*\d|\d")


@dataclass
class Tally:
    """Measures of a category before and after, a row a question; ``newest`` has rows only for updates."""

    values: list[tuple[float, ...]] = field(default_factory=list)
    newest: list[tuple[bool, bool]] = field(default_factory=list)


def recall_all(memory: Memory, questions: Sequence[Question]) -> list[tuple[str, ...]]:
    """The ranked documents of each question, best first."""
    return [
        ranked_documents(
            memory.recall(one.text, limit=RECALL_LIMIT, options=RecallOptions(log_access=False, explain=False))
        )
        for one in questions
    ]


def is_newest_first(case: Case, question: Question, ranked: Sequence[str]) -> bool:
    """Whether the newest statement of an update's evidence ranks before the oldest.

    The newest is the one that shares a number with the answer, or else the last.
    """
    positions = {str(one.id): number for number, one in enumerate(case.episodes)}
    texts = {str(one.id): one.text for one in case.episodes}
    evidence = sorted(question.gold, key=positions.__getitem__)
    wanted = set(NUMBER.findall(" ".join(question.answers)))
    later = [id_ for id_ in evidence[1:] if wanted & set(NUMBER.findall(texts[id_]))] or evidence[-1:]
    ranks = {id_: number for number, id_ in enumerate(ranked)}
    return min(ranks.get(id_, RECALL_LIMIT) for id_ in later) < ranks.get(evidence[0], RECALL_LIMIT)


def file_size(path: Path) -> int:
    """Bytes of a closed memory, whose write-ahead log is empty."""
    return sum(part.stat().st_size for part in path.parent.glob(f"{path.name}*"))


def report_dataset(name: str, data: Path, embedder: CachingEmbedder) -> None:
    tallies: dict[str, Tally] = defaultdict(Tally)
    written_counts: dict[str, int] = defaultdict(int)
    seconds, bytes_ = 0.0, np.zeros(2)
    for case in read_cases(name, data):
        questions = [one for one in case.questions if one.has_ranking]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.db"
            with Memory(path, embedder=embedder, zone="UTC") as memory:
                memory.remember(case.episodes)
                before = recall_all(memory, questions)
            bytes_[0] += file_size(path)
            with Memory(path, embedder=embedder, zone="UTC") as memory:
                started = perf_counter()
                result = memory.consolidate()
                seconds += perf_counter() - started
                after = recall_all(memory, questions)
            bytes_[1] += file_size(path)
        for count_name, row_count in result.counts.items():
            written_counts[count_name] += row_count
        for question, ranked_before, ranked_after in zip(questions, before, after, strict=True):
            row = tuple(
                metric(ranked, question.gold, k)
                for metric, k in ((metrics.recall_at_k, 5), (metrics.recall_at_k, 10), (metrics.recall_all_at_k, 10))
                for ranked in (ranked_before, ranked_after)
            )
            for category in ("all", question.category):
                tallies[category].values.append(row)
                if question.category in UPDATE_CATEGORIES and len(question.gold) > 1:
                    tallies[category].newest.append(
                        (is_newest_first(case, question, ranked_before), is_newest_first(case, question, ranked_after))
                    )
    print(f"\n{name}: {seconds:.1f} s, file × {bytes_[1] / bytes_[0]:.3f}, {dict(written_counts)}")
    for category, tally in tallies.items():
        print_tally(category, tally)


def print_tally(category: str, tally: Tally) -> None:
    values = np.array(tally.values)
    means = values.mean(axis=0)
    low, high = intervals.bootstrap_interval(values[:, 3] - values[:, 2])
    parts = [f"{what} {means[2 * i]:.3f} → {means[2 * i + 1]:.3f}" for i, what in enumerate(("@5", "@10", "all@10"))]
    line = f"  {category:28} n {len(values):4}  {'  '.join(parts)}  (Δ@10 {low:+.3f} to {high:+.3f})"
    if tally.newest and category != "all":
        first_before, first_after = np.array(tally.newest).mean(axis=0)
        line += f"  newest first {first_before:.2f} → {first_after:.2f} of {len(tally.newest)}"
    print(line)


def turns(sets: Sequence[str], data: Path) -> Iterator[Episode]:
    """The turns of some sets one after another, repeated endlessly."""
    for number, name in ((number, name) for number in count() for name in sets):
        for case in read_cases(name, data):
            for one in case.episodes:
                space = f"{number}/{case.space}"
                yield replace(one, id=f"{space}/{one.id}", session=f"{space}/{one.session}")


def report_long_memory(sets: Sequence[str], data: Path, embedder: CachingEmbedder, turn_count: int) -> None:
    all_turns = list(islice(turns(sets, data), turn_count + 100))
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "m.db", embedder=embedder, zone="UTC") as memory,
    ):
        for part in (all_turns[:turn_count], all_turns[turn_count:]):
            memory.remember(part)
            memory.graph().previous_rows  # noqa: B018  # what every recall needs is not timed
            started = perf_counter()
            result = memory.consolidate()
            seconds = perf_counter() - started
            print(f"{len(part):,} turns among {len(memory):,} memories: {seconds:.2f} s, {dict(result.counts)}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--set", action="append", default=[])
    options.add_argument("--turns", type=int)
    given = options.parse_args()
    embedder = CachingEmbedder(E5Embedder())
    if given.turns:
        report_long_memory(given.set or ("locomo", "realtalk", "lihua"), given.data, embedder, given.turns)
    else:
        for name in given.set or DATASETS:
            report_dataset(name, given.data, embedder)


if __name__ == "__main__":
    main()
