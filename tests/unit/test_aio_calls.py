"""AsyncMemory: the event loop goes on while calls run in threads, and what remains of calls that are cancelled."""

import asyncio
import io
import threading
from collections.abc import Coroutine, Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import AsyncMemory, Episode, Memory
from ecphora.aio import WRITE_THREADS
from ecphora.maintenance.doctor import examine
from ecphora.model.ports import Passage
from ecphora.model.types import AccessKind, Vectors
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import ConstantReranker, FakeClock

R = TypeVar("R")
SECONDS = 30
"""After so many seconds a test that waits has failed."""
QUESTION = "Where does Ana live?"


def run(call: Coroutine[Any, Any, R]) -> R:
    return asyncio.run(asyncio.wait_for(call, SECONDS))


def open_memory(path: Path, **options: Any) -> AsyncMemory:
    return AsyncMemory(path, **{"embedder": HashingEmbedder(32), "clock": FakeClock(), **options})


class Gate:
    """Stops a thread at a point until the test lets it go on."""

    def __init__(self) -> None:
        self.reached, self._open = threading.Event(), threading.Event()

    def stop(self) -> None:
        """Say that the point was reached, and wait."""
        self.reached.set()
        assert self._open.wait(SECONDS)

    def open(self) -> None:
        """Let all threads go on."""
        self._open.set()

    async def wait(self) -> None:
        """Wait until the point is reached."""
        assert await asyncio.to_thread(self.reached.wait, SECONDS)


class GatedEmbedder(HashingEmbedder):
    """Stops before it embeds texts with a word; ``texts`` were embedded."""

    def __init__(self, gate: Gate, word: str = "slow") -> None:
        super().__init__(32)
        self.gate, self.word, self.texts = gate, word, list[str]()

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """Embed the texts, once the gate is open."""
        if any(self.word in text for text in texts):
            self.gate.stop()
        self.texts += texts
        return super().embed(texts, is_query=is_query)


class GatedReranker(ConstantReranker):
    """Stops in its first batch of one passage."""

    batch_size = 1

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate = gate

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Read once the gate is open."""
        self.gate.stop()
        return super().score(question, passages, asked_on=asked_on)


class GatedStore(SQLiteStore):
    """Stops in each commit of nodes, before it is written."""

    def __init__(self, path: Path, gate: Gate) -> None:
        super().__init__(path)
        self.gate = gate

    def commit(self, scope: str, batch: Any, /) -> Any:
        """Commit once the gate is open."""
        if batch.nodes:
            self.gate.stop()
        return super().commit(scope, batch)


async def recall_count(memory: AsyncMemory, ids: Iterable[str]) -> int:
    histories = [await memory.history(id_) for id_ in ids]
    accesses = [access for history in histories if history is not None for access in history.accesses]
    return sum(access.kind == AccessKind.RECALLED for access in accesses)


# ---- the loop goes on


def test_loop_goes_on_while_a_call_waits(tmp_path: Path) -> None:
    async def call() -> None:
        gate = Gate()
        async with open_memory(tmp_path / "m.db", embedder=GatedEmbedder(gate)) as memory:
            writing = asyncio.create_task(memory.remember("A slow text."))
            await gate.wait()
            gate.open()  # a loop that waited for the call would never come here
            assert len((await writing).created) == 1

    run(call())


@pytest.mark.medium
def test_reading_goes_on_while_all_writers_wait(tmp_path: Path) -> None:
    async def call() -> None:
        gate = Gate()
        async with open_memory(tmp_path / "m.db", embedder=GatedEmbedder(gate)) as memory:
            await memory.remember("Ana lives in Porto.")
            writing = [asyncio.create_task(memory.remember(f"A slow text {n}.")) for n in range(WRITE_THREADS + 2)]
            await gate.wait()
            assert [hit.text for hit in await memory.recall(QUESTION)] == ["Ana lives in Porto."]
            gate.open()
            assert [len((await task).created) for task in writing] == [1] * len(writing)

    run(call())


def test_close_waits_for_calls_under_way(tmp_path: Path) -> None:
    async def call() -> None:
        gate = Gate()
        memory = open_memory(tmp_path / "m.db", embedder=GatedEmbedder(gate))
        writing = asyncio.create_task(memory.remember("A slow text."))
        await gate.wait()
        closing = asyncio.create_task(memory.close())
        await asyncio.sleep(0)
        gate.open()
        await closing
        assert writing.done() or await writing
        assert len((await writing).created) == 1

    run(call())


# ---- cancellation


async def cancel(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def texts(word: str, count: int) -> list[str]:
    return [f"Text {number} is {word}." for number in range(count)]


def test_cancelled_remember_returns_at_once_and_writes_nothing(tmp_path: Path) -> None:
    async def call() -> None:
        gate = Gate()
        async with open_memory(tmp_path / "m.db", embedder=GatedEmbedder(gate)) as memory:
            task = asyncio.create_task(memory.remember("A slow text."))
            await gate.wait()
            await cancel(task)  # while its thread still embeds
            gate.open()
        async with open_memory(tmp_path / "m.db") as memory:
            assert await memory.count() == 0
            assert len((await memory.remember("A slow text.")).created) == 1

    run(call())


def test_call_that_is_cancelled_before_it_embeds_does_not_embed(tmp_path: Path) -> None:
    async def call() -> None:
        gate, now = Gate(), FakeClock()

        def clock() -> datetime:
            gate.stop()
            return now()

        embedder = GatedEmbedder(gate)
        async with open_memory(tmp_path / "m.db", embedder=embedder, clock=clock) as memory:
            task = asyncio.create_task(memory.remember("A text."))
            await gate.wait()
            await cancel(task)
            gate.open()
        assert embedder.texts == []

    run(call())


def test_cancelled_remember_keeps_the_batches_that_it_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ecphora.memory.BATCH_SIZE", 2)

    async def call() -> None:
        gate = Gate()
        embedder = GatedEmbedder(gate)
        async with open_memory(tmp_path / "m.db", embedder=embedder) as memory:
            task = asyncio.create_task(memory.remember([*texts("quick", 3), *texts("slow", 3)]))
            await gate.wait()
            await cancel(task)
            gate.open()
        assert embedder.texts == [*texts("quick", 3), *texts("slow", 1)]  # the third batch was not even embedded
        async with open_memory(tmp_path / "m.db") as memory:
            assert await memory.count() == 2

    run(call())
    assert examine(tmp_path / "m.db").is_healthy


def test_cancelled_remember_waits_for_a_commit_under_way(tmp_path: Path) -> None:
    async def call() -> None:
        gate = Gate()
        store = GatedStore(tmp_path / "m.db", gate)
        async with AsyncMemory(store, embedder=HashingEmbedder(32)) as memory:
            task = asyncio.create_task(memory.remember("A text."))
            await gate.wait()
            for _ in range(3):  # however often it is cancelled
                task.cancel()
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                assert not task.done()
            gate.open()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await memory.count() == 1
        store.close()

    run(call())


def test_call_that_is_cancelled_in_the_queue_never_begins(tmp_path: Path) -> None:
    async def call() -> None:
        gate = Gate()
        embedder = GatedEmbedder(gate)
        async with open_memory(tmp_path / "m.db", embedder=embedder) as memory:
            running = [asyncio.create_task(memory.remember(f"Slow {n}, slow.")) for n in range(WRITE_THREADS)]
            await gate.wait()
            waiting = asyncio.create_task(memory.remember("A quick text."))
            await asyncio.sleep(0)
            await cancel(waiting)
            gate.open()
            await asyncio.gather(*running)
        assert "A quick text." not in embedder.texts

    run(call())


@pytest.mark.medium
def test_cancelled_recall_stops_reading_and_is_not_logged(tmp_path: Path) -> None:
    gate = Gate()
    reranker = GatedReranker(gate)

    async def call() -> None:
        async with open_memory(tmp_path / "m.db", reranker=reranker) as memory:
            ids = (await memory.remember([f"Ana lives in house {number}." for number in range(6)])).ids
            task = asyncio.ensure_future(memory.recall(QUESTION, rerank="always"))
            await gate.wait()
            await cancel(task)  # while the reranker still reads
            gate.open()
        assert len(reranker.received_passages) == 1
        async with open_memory(tmp_path / "m.db") as memory:
            assert await recall_count(memory, ids) == 0
            await memory.recall(QUESTION)
            assert await recall_count(memory, ids) == 6

    run(call())


def test_timeout_ends_a_call(tmp_path: Path) -> None:
    async def call() -> None:
        gate = Gate()
        async with open_memory(tmp_path / "m.db", embedder=GatedEmbedder(gate)) as memory:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await memory.remember("A slow text.")
            gate.open()
            assert await memory.count() == 0

    run(call())


@pytest.mark.medium
def test_cancelled_import_keeps_whole_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecphora.maintenance.interchange.jsonl.NODES_PER_PORTION", 2)
    out = io.StringIO()
    with Memory(tmp_path / "a.db", embedder=HashingEmbedder(32)) as memory:
        memory.remember([Episode(f"the number {number}", id=f"t{number}") for number in range(6)])
        memory.export(out)

    async def call() -> None:
        loop = asyncio.get_running_loop()
        async with open_memory(tmp_path / "b.db") as memory:
            cancelled = threading.Event()

            def stop(_done: int, _total: int) -> None:
                loop.call_soon_threadsafe(task.cancel)
                assert cancelled.wait(SECONDS)

            lines = out.getvalue().splitlines()
            task = asyncio.create_task(memory.import_(lines, progress=stop))
            await asyncio.wait([task])
            cancelled.set()
            assert task.cancelled()
            await memory.close()
        async with open_memory(tmp_path / "b.db") as memory:
            assert await memory.count() == 2
            await memory.import_(lines)
            assert await memory.count() == 6

    run(call())
    assert examine(tmp_path / "b.db").is_healthy
