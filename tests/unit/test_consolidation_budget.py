"""A night in a limited time: nothing in it goes on after its time, and short nights reach what one long night does."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import Episode, LLMClient, Memory
from ecphora.consolidation.batching import TARGET_SECONDS, adaptive_batches
from ecphora.consolidation.facts.update_finder import MAX_MEMORY_SLICE, MIN_SCORED_PAIRS, work_slices
from ecphora.consolidation_run import ConsolidationResult, RunLimits, run
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import InvalidInput, StaleWrite, StoreBusy
from ecphora.model import Kind, Link, Vectors, WriteBatch
from ecphora.ports import FactUpdateScorer, Prompt, Store
from ecphora.scope_writer import ScopeWriter
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import ConstantScorer, FakeClock, OverlapScorer, ScriptedLLM

NOW = datetime(2027, 1, 1, tzinfo=UTC)
CASES = Path(__file__).parents[1] / "changes" / "matrix.jsonl"
SECONDS = 2.0


class Watch:
    """A clock of seconds that moves when told; ``look`` seconds pass whenever it is looked at."""

    def __init__(self, look: float = 0.0) -> None:
        self.now, self.look = 0.0, look

    def __call__(self) -> float:
        self.now += self.look
        return self.now

    def spend(self, seconds: float) -> None:
        self.now += seconds


def told() -> list[Episode]:
    """Statements of many cases, as if one circle of friends had told them all."""
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()[:14]]
    return [
        Episode(t["text"], f"{case['id']}/{t['id']}", t["speaker"], f"{case['id']}/{t['session']}", t["at"])
        for case in cases
        for t in case["told"]
    ]


def consolidate(
    memory: Memory,
    watch: Callable[[], float],
    *,
    seconds: float | None = SECONDS,
    pen: ScopeWriter | None = None,
    cue: Callable[[str], Any] | None = None,
    comparer: FactUpdateScorer | None = None,
    guest: LLMClient | None = None,
) -> ConsolidationResult:
    limits = RunLimits(seconds, clock=watch)
    return run(
        pen or memory._scope_writer,
        NOW,
        cue or memory.build_query,
        update_scorer=comparer,
        llm_client=guest,
        limits=limits,
    )


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock(NOW)) as opened:
        yield opened


# ---- each part keeps its time


@dataclass
class Slow:
    """A cross-encoder that takes its time for each pair."""

    watch: Watch
    seconds: float
    name: str = "slow"
    pairs: int = 0

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        self.watch.spend(self.seconds * len(pairs))
        self.pairs += len(pairs)
        return OverlapScorer().score(pairs)


@pytest.mark.parametrize("seconds", [0.001, 0.1, 0.9])
def test_close_reading_stops_in_time(memory: Memory, seconds: float) -> None:
    memory.remember(told())
    watch = Watch()
    slow = Slow(watch, seconds)
    found = consolidate(memory, watch, comparer=slow)
    assert watch.now <= SECONDS
    assert slow.pairs
    assert found.pending_count == len(memory) - found.counts["memories"]
    assert (found.pending_count == 0) == (seconds <= 0.01)


def test_of_a_memory_that_takes_too_long_the_most_promising_pairs_are_read(memory: Memory) -> None:
    memory.remember(told())
    watch = Watch()
    slow = Slow(watch, 30.0)
    found = consolidate(memory, watch, comparer=slow)
    assert (slow.pairs, found.counts["memories"]) == (1, 1) or found.counts["memories"] > 1


@pytest.mark.parametrize(("seconds", "probes"), [(SECONDS, 4), (0.01, 1), (100.0, 10), (None, 12)])
def test_past_questions_are_replayed_for_a_tenth_of_the_time(
    memory: Memory, seconds: float | None, probes: int
) -> None:
    memory.remember([Episode(f"Ana planted tree {n}.", f"n{n}") for n in range(12)])
    for number in range(12):
        found = memory.recall(f"Who planted tree {number}?")
        memory.feedback(found, [found[0].id])
    watch, asked = Watch(), list[str]()

    def cue(question: str) -> Any:
        watch.spend(0.05)
        asked.append(question)
        return memory.build_query(question)

    assert consolidate(memory, watch, seconds=seconds, cue=cue).probe_count == len(asked) == probes
    assert asked[0] == "Who planted tree 11?"


class Refusing:
    """A store on which nothing can be committed, and each try takes its time."""

    def __init__(self, store: Store, watch: Watch, error: Exception) -> None:
        self._store, self._watch, self._error, self.tries = store, watch, error, 0

    def __getattr__(self, name: str) -> Any:
        if name == "nonblocking_handle":
            raise AttributeError(name)
        return getattr(self._store, name)

    def commit(self, _scope: str, _change: WriteBatch, /) -> WriteBatch:
        self.tries += 1
        self._watch.spend(0.2)
        raise self._error


@pytest.mark.parametrize("error", [StoreBusy("locked"), StaleWrite("another was quicker")])
def test_what_cannot_be_committed_is_given_up_in_time_and_stays_new(memory: Memory, error: Exception) -> None:
    memory.remember(told()[:4])
    watch = Watch()
    store = Refusing(memory._store, watch, error)
    found = consolidate(memory, watch, pen=replace(memory._scope_writer, store=store))
    assert (found.undo_batch, found.counts, found.pending_count) == (None, {}, len(memory))
    assert store.tries > 1
    assert watch.now <= SECONDS + 1


def test_without_a_limit_a_lock_is_an_error(memory: Memory) -> None:
    memory.remember(told()[:4])
    store = Refusing(memory._store, Watch(), StoreBusy("locked"))
    with pytest.raises(StoreBusy):
        consolidate(memory, Watch(), seconds=None, pen=replace(memory._scope_writer, store=store))


def test_a_lock_of_another_process_is_waited_for_no_longer(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with (
        Memory(path, embedder=HashingEmbedder(64), update_scorer=None) as memory,
        Memory(path, embedder=HashingEmbedder(64)) as other,
    ):
        memory.remember(told()[:4])
        with other._store._transaction("IMMEDIATE"):  # type: ignore[attr-defined]
            started = perf_counter()
            found = memory.consolidate(seconds=0.01)
            assert perf_counter() - started < 1.01
        assert (found.undo_batch, found.pending_count) == (None, 4)


@pytest.mark.parametrize(("seconds", "patience"), [(2.0, 0.2), (None, 5.0), (1000.0, 5.0)])
def test_the_access_log_is_waited_for_a_tenth_of_the_time(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, seconds: float | None, patience: float
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(memory._access_log, "flush", waited.append)
    memory.consolidate(seconds=seconds)
    assert waited == [pytest.approx(patience, abs=0.01)]


@dataclass
class Tiring:
    """An embedder that takes its time for each insight."""

    watch: Watch
    inner: HashingEmbedder
    dim: int = 64

    @property
    def name(self) -> str:
        return self.inner.name

    def coverage(self, text: str, /) -> float:
        return self.inner.coverage(text)

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        self.watch.spend(0.3 * len(texts))
        return self.inner.embed(texts, is_query=is_query)


GROUPS = [Episode(f"{word} {word} {n}", f"{word}{n}") for word in ("oak", "elm", "ash", "fir") for n in range(40)]


def test_insights_are_drawn_as_far_as_there_is_time_and_the_rest_the_next_night(tmp_path: Path) -> None:
    def insights(memory: Memory) -> set[str]:
        graph = memory.graph()
        return {graph.id(row) for row in np.flatnonzero(graph.of_kind(Kind.INSIGHT)).tolist()}

    watch = Watch()
    with Memory(tmp_path / "a.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock(NOW)) as one:
        one.remember(GROUPS)
        one.consolidate()
        whole = insights(one)
    with Memory(tmp_path / "b.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock(NOW)) as memory:
        memory.remember(GROUPS)
        pen, counts = replace(memory._scope_writer, embedder=Tiring(watch, HashingEmbedder(64))), list[int]()
        left = 1
        while left:
            started = watch.now
            left = consolidate(memory, watch, pen=pen).pending_count
            assert watch.now - started <= SECONDS + 1
            counts.append(len(insights(memory)))
        assert insights(memory) == whole
    assert counts[0] < counts[-1]
    assert len(whole) > 3


# ---- a language model


def number(text: str) -> int:
    return int(text)


def test_a_model_that_does_not_answer_in_time_is_not_waited_for() -> None:
    asked, go = list[str](), threading.Event()

    def say(prompt: Prompt) -> str:
        asked.append(prompt.user)
        if prompt.user == "1":
            go.wait(5)
        return prompt.user

    guest = LLMClient(ScriptedLLM(say), max_concurrency=1)
    end = perf_counter() + 0.05
    found = guest.ask_all(
        [Prompt("", str(place)) for place in range(3)], number, time_left=lambda: end - perf_counter()
    )
    go.set()
    assert found == [0]
    assert "2" not in asked


def test_with_time_enough_a_model_answers_all() -> None:
    guest = LLMClient(ScriptedLLM(lambda prompt: prompt.user))
    prompts = [Prompt("", str(place)) for place in range(12)]
    assert guest.ask_all(prompts, number, time_left=lambda: 5.0) == list(range(12))
    assert guest.ask_all([], number, time_left=lambda: 5.0) == []


def test_a_night_goes_on_where_its_model_was_too_slow(memory: Memory) -> None:
    memory.remember([Episode(f"Note {n} of the log.", f"n{n}") for n in range(40)])
    watch = Watch()

    def say(_prompt: Prompt) -> str:
        watch.spend(0.9)
        return '{"claims": []}'

    llm = LLMClient(ScriptedLLM(say), max_concurrency=1)
    found = consolidate(memory, watch, guest=llm)
    assert 0 < found.counts["memories"] < 40
    assert found.pending_count == 40 - found.counts["memories"]
    assert watch.now <= SECONDS + 1


# ---- short nights and a long one


def written(memory: Memory) -> tuple[set[str], set[tuple[str, str, str]]]:
    """The ids of what stands in a memory, and its links."""
    change = memory._store.changes_since(memory.scope, 0)
    return {node.id for node in change.nodes}, {(edge.src, edge.dst, edge.link.value) for edge in change.edges}


@pytest.mark.parametrize("comparer", [None, ConstantScorer()], ids=["rules", "reading"])
def test_short_nights_reach_what_one_long_night_does(tmp_path: Path, comparer: FactUpdateScorer | None) -> None:
    episodes = told() if comparer is None else told()[:12]  # of so few, one night and several read every pair
    found, lefts = [], list[int]()
    for name in ("long", "short"):
        with Memory(
            tmp_path / name, embedder=HashingEmbedder(64), update_scorer=comparer, clock=FakeClock(NOW)
        ) as memory:
            memory.remember(episodes)
            if name == "long":
                memory.consolidate()
            else:
                left = len(memory)
                while left:
                    watch = Watch(look=0.04)
                    left = consolidate(memory, watch, seconds=1.0, comparer=comparer).pending_count
                    assert watch.now <= 2.0
                    lefts.append(left)
            found.append(written(memory))
            assert memory.consolidate().undo_batch is None
            for _ in memory.maintenance.batches():
                memory.undo()
            assert len(memory.graph()) == len(set(written(memory)[0]))
            assert not memory.graph().cursors.get("consolidation")
    assert len(lefts) > 2
    assert found[0] == found[1]
    assert any(link == Link.SUPERSEDES.value for *_, link in found[0][1])


def test_the_shortest_night_works_on_one_memory(memory: Memory) -> None:
    memory.remember([Episode(f"Note {n} of the log.", f"n{n}") for n in range(3)])
    assert [memory.consolidate(seconds=1e-9).pending_count for _ in range(4)] == [2, 1, 3, 0]


# ---- portions


def test_portions_grow_while_they_are_brief_and_end_with_the_time() -> None:
    left = iter([9.0, 9 - TARGET_SECONDS / 2, 9 - TARGET_SECONDS, 8.0, 7.9, 0.0])
    sizes = [len(range(100)[place]) for place in adaptive_batches(100, 8, lambda: next(left))]
    assert sizes == [1, 2, 4, 2, 4]
    assert [len(range(9)[place]) for place in adaptive_batches(9, 2, lambda: 5.0)] == [1, 2, 2, 2, 2]
    assert list(adaptive_batches(9, 2, None)) == [slice(0, 9)]


def test_portions_share_the_readings_of_their_piece() -> None:
    rows = np.arange(1000)
    assert [share for _, share in work_slices(rows, 1000, None)] == [400]
    assert [share for _, share in work_slices(rows[:20], 20, None)] == [MIN_SCORED_PAIRS]
    some = list(work_slices(rows[:256], 256, lambda: 5.0))
    assert max(len(part) for part, _ in some) == MAX_MEMORY_SLICE
    assert MIN_SCORED_PAIRS <= sum(share for _, share in some) <= MIN_SCORED_PAIRS + MAX_MEMORY_SLICE


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), "2", True])
def test_seconds_are_a_finite_number_above_0(memory: Memory, seconds: Any) -> None:
    with pytest.raises(InvalidInput, match="seconds"):
        memory.consolidate(seconds=seconds)


# ---- beside writers


@pytest.mark.slow
def test_a_night_beside_four_writers_keeps_its_time(tmp_path: Path) -> None:
    path, stop = tmp_path / "m.db", threading.Event()

    def write(writer: int) -> None:
        with Memory(path, embedder=HashingEmbedder(64), update_scorer=None) as memory:
            count = 0
            while not stop.is_set():
                memory.remember(f"Ana told writer {writer} of tree {count}.", speaker="Ana", session=f"w{writer}")
                count += 1

    with Memory(path, embedder=HashingEmbedder(64), update_scorer=OverlapScorer()) as memory:
        memory.remember([replace(one, id=f"{n}/{one.id}") for n in range(20) for one in told()])
        writers = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
        for writer in writers:
            writer.start()
        try:
            worked = 0
            for _ in range(4):
                started = perf_counter()
                worked += memory.consolidate(seconds=1).counts.get("memories", 0)
                assert perf_counter() - started <= 2
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        assert worked
    with closing(SQLiteStore(path)) as store:
        assert not list(store.check_integrity())
