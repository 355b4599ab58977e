"""How long remember and recall take on a scope of 10,000 turns: ``python benchmarks/speed.py``."""

import argparse
import os
import platform
import random
import re
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from time import perf_counter

import numpy as np

from ecphora import E5Embedder, Episode, Memory
from ecphora.cli.demo.show import load_conversation
from ecphora.maintenance.learn.datasets import read_cases
from ecphora.model.types import Vectors

QUESTION_COUNT = 200
"""Questions of the recalls that are timed."""
MIN_WORD_LENGTH = 5
"""Letters of a word that a synthetic question asks about."""


class TimedEmbedder:
    """An embedder that measures the seconds that it takes, and counts its texts."""

    def __init__(self) -> None:
        self.inner = E5Embedder()
        self.name, self.dim, self.seconds, self.text_count = self.inner.name, self.inner.dim, 0.0, 0
        self.similarity_floor = self.inner.similarity_floor

    def coverage(self, text: str, /) -> float:
        return self.inner.coverage(text)

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        start = perf_counter()
        vectors = self.inner.embed(texts, is_query=is_query)
        self.seconds += perf_counter() - start
        self.text_count += len(texts)
        return vectors


def synthetic_turns(turns: int) -> list[Episode]:
    """Turns made of halves of the demo's turns, in sessions of 20, by its six speakers; the same at every call."""
    turns_of_demo = load_conversation()
    rng = random.Random(7)  # noqa: S311  # not for secrets
    halves = [
        half for one in turns_of_demo for half in (one.text[: len(one.text) // 2], one.text[len(one.text) // 2 :])
    ]
    speakers = sorted({one.speaker for one in turns_of_demo if one.speaker})
    return [
        Episode(
            f"{rng.choice(halves)} {rng.choice(halves)} ({number})",
            speaker=rng.choice(speakers),
            session=f"s{number // 20}",
            happened_at=f"20{10 + number // 2000:02d}-{1 + number // 170 % 12:02d}-{1 + number // 20 % 28:02d}",
        )
        for number in range(turns)
    ]


def synthetic_questions(turns: Sequence[Episode], number: int = QUESTION_COUNT) -> list[str]:
    """Distinct questions about words of the turns; the same at every call."""
    rng = random.Random(7)  # noqa: S311  # not for secrets
    words = {one.text: re.findall(rf"[a-z]{{{MIN_WORD_LENGTH},}}", one.text) for one in turns}
    asked = rng.sample([one for one in turns if len(words[one.text]) > 1], number)
    return [
        f"What did {one.speaker} say about the {' and the '.join(rng.sample(words[one.text], 2))}?" for one in asked
    ]


MAX_LENGTH = 1_000
"""Characters of the turns of benchmark sets, at most."""


def dataset_turns(
    turns: int, data: Path, sets: Sequence[str], max_length: float = MAX_LENGTH
) -> tuple[list[Episode], list[str]]:
    """The turns of several benchmark sets in one scope, and questions of the first."""
    cases = [case for name in sets for case in read_cases(name, data)]
    episodes = [
        Episode(one.text, speaker=one.speaker, session=f"{case.space}/{one.session}", happened_at=one.happened_at)
        for case in cases
        for one in case.episodes
        if len(one.text) < max_length
    ]
    questions = list(chain.from_iterable((question.text for question in case.questions) for case in cases))
    return episodes[:turns], questions[:QUESTION_COUNT]


def milliseconds(samples: Sequence[float]) -> str:
    p50, p95 = np.percentile(samples, [50, 95]) * 1000
    return f"p50 {p50:7.2f} ms   p95 {p95:7.2f} ms"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=10_000)
    options.add_argument("--data", type=Path, help="use the turns of benchmark sets in this folder")
    options.add_argument("--set", action="append", default=[], help="the sets to use with --data")
    arguments = options.parse_args()
    sets = arguments.set or ["locomo", "realtalk", "beam_100k"]
    episodes, dataset_questions = (
        dataset_turns(arguments.turns, arguments.data, sets)
        if arguments.data
        else (synthetic_turns(arguments.turns), [])
    )
    questions = dataset_questions or synthetic_questions(episodes)
    print(f"{len(episodes)} turns ({'+'.join(sets) if arguments.data else 'synthetic'}); {platform.machine()}, "
          f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speed.db"
        embedder = TimedEmbedder()
        embedder.embed(["warm"])
        time_remember(path, embedder, episodes)
        time_open(path, questions)
        time_recall(path, embedder, questions)


def time_remember(path: Path, embedder: TimedEmbedder, episodes: list[Episode]) -> None:
    embedder.seconds = 0.0
    with Memory(path, embedder=embedder, zone="UTC") as memory:
        start = perf_counter()
        memory.remember(episodes)
        seconds = perf_counter() - start
    print(f"remember a batch            {seconds:7.1f} s, the embedder {embedder.seconds:.1f} s: "
          f"{100 * (seconds / embedder.seconds - 1):.1f}% more; file {path.stat().st_size / 1e6:.1f} MB")  # fmt: skip


def time_open(path: Path, questions: list[str]) -> None:
    start = perf_counter()
    with Memory(path, zone="UTC") as memory:  # does not load the embedder
        open_s = perf_counter() - start
        memory.recall(questions[0])
        print(f"open                        {open_s:7.3f} s; with the first answer {perf_counter() - start:.3f} s")


def time_recall(path: Path, embedder: TimedEmbedder, questions: list[str]) -> None:
    with Memory(path, embedder=embedder, zone="UTC") as memory:
        memory.recall(questions[0])
        recalls, recalls_without_embedding, writes, recalls_after_write = [], [], [], []
        embeddings, text_count = [], 0
        for question in questions:
            embedder.seconds, embedder.text_count, start = 0.0, 0, perf_counter()
            memory.recall(question)
            recalls.append(perf_counter() - start)
            recalls_without_embedding.append(recalls[-1] - embedder.seconds)
            embeddings.append(embedder.seconds)
            text_count += embedder.text_count
        for number, question in enumerate(questions[:100]):
            start = perf_counter()
            memory.remember(
                f"A new turn, number {number}, about the garden behind the lock.", speaker="Wil", session="n"
            )
            writes.append(perf_counter() - start)
            embedder.seconds, start = 0.0, perf_counter()
            memory.recall(question)
            recalls_after_write.append(perf_counter() - start - embedder.seconds)
    print(f"recall                      {milliseconds(recalls)}")
    print(f"  its embedding             {milliseconds(embeddings)}   {text_count / len(questions):.1f} texts")
    print(f"recall without embedding    {milliseconds(recalls_without_embedding)}")
    print(f"  right after a write       {milliseconds(recalls_after_write)}")
    print(f"remember one turn, durably  {milliseconds(writes)}")


if __name__ == "__main__":
    main()
