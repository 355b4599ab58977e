"""Consolidation with a time limit: every part stops in time, and short runs give the result of one long run."""

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
from ecphora.consolidation.facts.claims import MAX_MEMORY_SLICE, MIN_SCORED_PAIRS, work_slices
from ecphora.consolidation.run import ConsolidationResult, RunLimits, run
from ecphora.errors import InvalidInput, StaleWrite, StoreBusy
from ecphora.model.ports import FactUpdateScorer, Prompt, Store
from ecphora.model.types import Kind, Link, Vectors, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember.scope_writer import ScopeWriter
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import ConstantScorer, FakeClock, OverlapScorer, ScriptedLLM

pytestmark = pytest.mark.medium

NOW = datetime(2027, 1, 1, tzinfo=UTC)
CASES = Path(__file__).parents[1] / "changes" / "matrix.jsonl"
SECONDS = 2.0


class Watch:
    """A clock of seconds that moves by ``spend``, and by ``step`` seconds whenever it is read."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now

    def spend(self, seconds: float) -> None:
        self.now += seconds


def read_statements() -> list[Episode]:
    """The statements of many cases in one memory."""
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
    writer: ScopeWriter | None = None,
    build_query: Callable[[str], Any] | None = None,
    update_scorer: FactUpdateScorer | None = None,
    llm_client: LLMClient | None = None,
) -> ConsolidationResult:
    limits = RunLimits(seconds, clock=watch)
    return run(
        writer or memory._scope_writer,
        NOW,
        build_query or memory.build_query,
        update_scorer=update_scorer,
        llm_client=llm_client,
        limits=limits,
    )


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock(NOW)) as opened:
        yield opened


# ---- each part stops in time


@dataclass
class SlowScorer:
    """An update scorer that takes some seconds per pair."""

    watch: Watch
    seconds: float
    name: str = "slow"
    pairs: int = 0

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        self.watch.spend(self.seconds * len(pairs))
        self.pairs += len(pairs)
        return OverlapScorer().score(pairs)


@pytest.mark.parametrize("seconds", [0.001, 0.1, 0.9])
def test_update_scoring_stops_in_time(memory: Memory, seconds: float) -> None:
    memory.remember(read_statements())
    watch = Watch()
    scorer = SlowScorer(watch, seconds)
    found = consolidate(memory, watch, update_scorer=scorer)
    assert watch.now <= SECONDS
    assert scorer.pairs
    assert found.pending_count == len(memory) - found.counts["memories"]
    assert (found.pending_count == 0) == (seconds <= 0.01)


def test_slow_scorer_reads_the_most_promising_pairs_of_a_memory(memory: Memory) -> None:
    memory.remember(read_statements())
    watch = Watch()
    scorer = SlowScorer(watch, 30.0)
    found = consolidate(memory, watch, update_scorer=scorer)
    assert (scorer.pairs, found.counts["memories"]) == (1, 1) or found.counts["memories"] > 1


@pytest.mark.parametrize(("seconds", "probes"), [(SECONDS, 4), (0.01, 1), (100.0, 10), (None, 12)])
def test_probes_take_a_tenth_of_the_time(memory: Memory, seconds: float | None, probes: int) -> None:
    memory.remember([Episode(f"Ana planted tree {n}.", f"n{n}") for n in range(12)])
    for number in range(12):
        found = memory.recall(f"Who planted tree {number}?")
        memory.feedback(found, [found[0].id])
    watch, prompts_sent = Watch(), list[str]()

    def build_query(question: str) -> Any:
        watch.spend(0.05)
        prompts_sent.append(question)
        return memory.build_query(question)

    assert (
        consolidate(memory, watch, seconds=seconds, build_query=build_query).probe_count == len(prompts_sent) == probes
    )
    assert prompts_sent[0] == "Who planted tree 11?"


class FailingStore:
    """A store on which every commit fails after some time."""

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
def test_failed_commits_stop_in_time_and_stay_pending(memory: Memory, error: Exception) -> None:
    memory.remember(read_statements()[:4])
    watch = Watch()
    store = FailingStore(memory._store, watch, error)
    found = consolidate(memory, watch, writer=replace(memory._scope_writer, store=store))
    assert (found.undo_batch, found.counts, found.pending_count) == (None, {}, len(memory))
    assert store.tries > 1
    assert watch.now <= SECONDS + 1


def test_lock_without_a_time_limit_is_an_error(memory: Memory) -> None:
    memory.remember(read_statements()[:4])
    store = FailingStore(memory._store, Watch(), StoreBusy("locked"))
    with pytest.raises(StoreBusy):
        consolidate(memory, Watch(), seconds=None, writer=replace(memory._scope_writer, store=store))


def test_lock_of_another_process_is_waited_for_within_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with (
        Memory(path, embedder=HashingEmbedder(64), update_scorer=None) as memory,
        Memory(path, embedder=HashingEmbedder(64)) as other,
    ):
        memory.remember(read_statements()[:4])
        with other._store._transaction("IMMEDIATE"):  # type: ignore[attr-defined]
            started = perf_counter()
            found = memory.consolidate(seconds=0.01)
            assert perf_counter() - started < 5  # a writer waits for 20 seconds
        assert (found.undo_batch, found.pending_count) == (None, 4)


@pytest.mark.parametrize(("seconds", "patience"), [(2.0, 0.2), (None, 5.0), (1000.0, 5.0)])
def test_access_log_flush_takes_a_tenth_of_the_time(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, seconds: float | None, patience: float
) -> None:
    timeouts: list[float] = []
    monkeypatch.setattr(memory._access_log, "flush", timeouts.append)
    memory.consolidate(seconds=seconds)
    assert timeouts == [pytest.approx(patience, abs=0.01)]


@dataclass
class SlowEmbedder:
    """An embedder that takes some time per text."""

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


def test_insights_stop_in_time_and_the_next_run_continues(tmp_path: Path) -> None:
    def insights(memory: Memory) -> set[str]:
        graph = memory.graph()
        return {graph.id(row) for row in np.flatnonzero(graph.of_kind(Kind.INSIGHT)).tolist()}

    watch = Watch()
    with Memory(tmp_path / "a.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock(NOW)) as one:
        one.remember(GROUPS)
        one.consolidate()
        expected = insights(one)
    with Memory(tmp_path / "b.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock(NOW)) as memory:
        memory.remember(GROUPS)
        writer, counts = replace(memory._scope_writer, embedder=SlowEmbedder(watch, HashingEmbedder(64))), list[int]()
        pending = 1
        while pending:
            started = watch.now
            pending = consolidate(memory, watch, writer=writer).pending_count
            assert watch.now - started <= SECONDS + 1
            counts.append(len(insights(memory)))
        assert insights(memory) == expected
    assert counts[0] < counts[-1]
    assert len(expected) > 3


# ---- a language model


def number(text: str) -> int:
    return int(text)


def test_late_replies_of_a_model_are_not_awaited() -> None:
    prompts_sent, go = list[str](), threading.Event()

    def reply(prompt: Prompt) -> str:
        prompts_sent.append(prompt.user)
        if prompt.user == "1":
            go.wait(5)
        return prompt.user

    llm_client = LLMClient(ScriptedLLM(reply), max_concurrency=1)
    end = perf_counter() + 0.05
    found = llm_client.ask_all(
        [Prompt("", str(place)) for place in range(3)], number, time_left=lambda: end - perf_counter()
    )
    go.set()
    assert found == [0]
    assert "2" not in prompts_sent


def test_all_replies_of_a_model_in_time_are_returned() -> None:
    llm_client = LLMClient(ScriptedLLM(lambda prompt: prompt.user))
    prompts = [Prompt("", str(place)) for place in range(12)]
    assert llm_client.ask_all(prompts, number, time_left=lambda: 5.0) == list(range(12))
    assert llm_client.ask_all([], number, time_left=lambda: 5.0) == []


def test_next_run_continues_where_a_slow_model_stopped(memory: Memory) -> None:
    memory.remember([Episode(f"Note {n} of the log.", f"n{n}") for n in range(40)])
    watch = Watch()

    def reply(_prompt: Prompt) -> str:
        watch.spend(0.9)
        return '{"claims": []}'

    llm = LLMClient(ScriptedLLM(reply), max_concurrency=1)
    found = consolidate(memory, watch, llm_client=llm)
    assert 0 < found.counts["memories"] < 40
    assert found.pending_count == 40 - found.counts["memories"]
    assert watch.now <= SECONDS + 1


# ---- short runs and a long one


def rows_of(memory: Memory) -> tuple[set[str], set[tuple[str, str, str]]]:
    """The ids of the nodes of a memory, and its edges."""
    batch = memory._store.changes_since(memory.scope, 0)
    return {node.id for node in batch.nodes}, {(edge.src, edge.dst, edge.link.value) for edge in batch.edges}


@pytest.mark.parametrize("update_scorer", [None, ConstantScorer()], ids=["rules", "update-scorer"])
def test_short_runs_give_the_result_of_one_long_run(tmp_path: Path, update_scorer: FactUpdateScorer | None) -> None:
    episodes = (
        read_statements() if update_scorer is None else read_statements()[:12]
    )  # with few memories, one run and several score every pair
    found, pending_counts = [], list[int]()
    for name in ("long", "short"):
        with Memory(
            tmp_path / name, embedder=HashingEmbedder(64), update_scorer=update_scorer, clock=FakeClock(NOW)
        ) as memory:
            memory.remember(episodes)
            if name == "long":
                memory.consolidate()
            else:
                pending = len(memory)
                while pending:
                    watch = Watch(step=0.04)
                    pending = consolidate(memory, watch, seconds=1.0, update_scorer=update_scorer).pending_count
                    assert watch.now <= 2.0
                    pending_counts.append(pending)
            found.append(rows_of(memory))
            assert memory.consolidate().undo_batch is None
            for _ in memory.maintenance.batches():
                memory.maintenance.undo()
            assert len(memory.graph()) == len(set(rows_of(memory)[0]))
            assert not memory.graph().cursors.get("consolidation")
    assert len(pending_counts) > 2
    assert found[0] == found[1]
    assert any(link == Link.SUPERSEDES.value for *_, link in found[0][1])


def test_shortest_run_processes_one_memory(memory: Memory) -> None:
    memory.remember([Episode(f"Note {n} of the log.", f"n{n}") for n in range(3)])
    assert [memory.consolidate(seconds=1e-9).pending_count for _ in range(4)] == [2, 1, 3, 0]


# ---- batches


def test_adaptive_batches_grow_while_fast_and_end_with_the_time() -> None:
    pending = iter([9.0, 9 - TARGET_SECONDS / 2, 9 - TARGET_SECONDS, 8.0, 7.9, 0.0])
    sizes = [len(range(100)[place]) for place in adaptive_batches(100, 8, lambda: next(pending))]
    assert sizes == [1, 2, 4, 2, 4]
    assert [len(range(9)[place]) for place in adaptive_batches(9, 2, lambda: 5.0)] == [1, 2, 2, 2, 2]
    assert list(adaptive_batches(9, 2, None)) == [slice(0, 9)]


def test_work_slices_divide_the_scored_pairs_of_a_step() -> None:
    rows = np.arange(1000)
    assert [pair_count for _, pair_count in work_slices(rows, 1000, None)] == [400]
    assert [pair_count for _, pair_count in work_slices(rows[:20], 20, None)] == [MIN_SCORED_PAIRS]
    slices = list(work_slices(rows[:256], 256, lambda: 5.0))
    assert max(len(part) for part, _ in slices) == MAX_MEMORY_SLICE
    assert MIN_SCORED_PAIRS <= sum(pair_count for _, pair_count in slices) <= MIN_SCORED_PAIRS + MAX_MEMORY_SLICE


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), "2", True])
def test_seconds_must_be_a_finite_number_above_0(memory: Memory, seconds: Any) -> None:
    with pytest.raises(InvalidInput, match="seconds"):
        memory.consolidate(seconds=seconds)


# ---- concurrent writers


@pytest.mark.slow
def test_consolidation_with_four_writers_stops_in_time(tmp_path: Path) -> None:
    path, stop = tmp_path / "m.db", threading.Event()

    def write(writer: int) -> None:
        with Memory(path, embedder=HashingEmbedder(64), update_scorer=None) as memory:
            count = 0
            while not stop.is_set():
                memory.remember(f"Ana told writer {writer} of tree {count}.", speaker="Ana", session=f"w{writer}")
                count += 1

    with Memory(path, embedder=HashingEmbedder(64), update_scorer=OverlapScorer()) as memory:
        memory.remember([replace(one, id=f"{n}/{one.id}") for n in range(20) for one in read_statements()])
        writers = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
        for writer in writers:
            writer.start()
        try:
            worked = 0
            for _ in range(4):
                started = perf_counter()
                worked += memory.consolidate(seconds=1).counts.get("memories", 0)
                assert perf_counter() - started < 5
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        assert worked
    with closing(SQLiteStore(path)) as store:
        assert not list(store.check_integrity())
