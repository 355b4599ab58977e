"""AsyncMemory: the same results as Memory for any calls, and a sound file wherever a call is cancelled."""

import asyncio
import io
import tempfile
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ecphora import AsyncMemory, EcphoraError, Episode, Filter, Memory, RecallOptions, Recollection
from ecphora.maintenance.doctor import examine
from ecphora.model.types import Vectors, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock, graph_differences

pytestmark = pytest.mark.slow

SECONDS = 30
TEXTS = ("Ana lives in Porto.", "Ana lives in Faro now.", "Ben has a boat.", "Mia met Ben.", "The boat is red.", "é")
QUESTIONS = ("Where does Ana live?", "boat", "Who met Ben?", "")
IDS = st.sampled_from([f"t{number}" for number in range(6)])


def comparable(result: Any) -> Any:
    """A result without times and lazy parts."""
    if isinstance(result, Recollection):
        return (
            [hit.to_dict() for hit in result],
            result.evidence,
            result.confidence,
            result.query.text,
            result.cost.tokens,
        )
    return result


class Twins(RuleBasedStateMachine):
    """Makes each call on a Memory and on an AsyncMemory of another file."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        path = Path(self.folder.name)
        self.memory = Memory(path / "a.db", embedder=HashingEmbedder(16), clock=self.clock)
        self.other = AsyncMemory(path / "b.db", embedder=HashingEmbedder(16), clock=self.clock)

    def teardown(self) -> None:
        self.memory.close()
        self.runner.run(self.other.close())
        self.runner.close()
        self.folder.cleanup()

    def outcome(self, call: Callable[[], object]) -> object:
        try:
            return comparable(call())
        except EcphoraError as error:
            return type(error), str(error)

    def both(self, name: str, *args: Any, **options: Any) -> None:
        """Make a call of both, and compare what it returns or raises."""
        self.clock.advance(minutes=1)
        call, other = self.memory, self.other
        for part in name.split("."):
            call, other = getattr(call, part), getattr(other, part)
        expected = self.outcome(lambda: call(*args, **options))  # type: ignore[operator]
        assert self.outcome(lambda: self.runner.run(other(*args, **options))) == expected  # type: ignore[operator]

    @rule(id_=IDS, text=st.sampled_from(TEXTS), speaker=st.sampled_from(["Ana", "Ben", None]))
    def remember(self, id_: str, text: str, speaker: str | None) -> None:
        self.both("remember", text, id=id_, speaker=speaker)

    @rule(texts=st.lists(st.sampled_from(TEXTS), max_size=4), restore=st.booleans())
    def remember_many(self, texts: list[str], *, restore: bool) -> None:
        self.both(
            "remember", [*texts, Episode("A note.", supersedes="t0" if len(texts) > 3 else None)], restore=restore
        )

    @rule(question=st.sampled_from(QUESTIONS), limit=st.integers(0, 3), explain=st.booleans(), log=st.booleans())
    def recall(self, question: str, limit: int, *, explain: bool, log: bool) -> None:
        self.both("recall", question, limit=limit, options=RecallOptions(explain=explain, log_access=log))

    @rule(question=st.sampled_from(QUESTIONS), strategy=st.sampled_from(["fused", "bm25", "synapse", "oracle"]))
    def recall_with_strategy(self, question: str, strategy: str) -> None:
        self.both("recall", question, strategy=strategy)

    @rule(id_=IDS, text=st.sampled_from(TEXTS), mode=st.sampled_from(["supersede", "replace"]))
    def update(self, id_: str, text: str, mode: str) -> None:
        self.both("update", id_, text, mode=mode)

    @rule(ids=st.lists(IDS, max_size=2), dry_run=st.booleans())
    def forget(self, ids: list[str], *, dry_run: bool) -> None:
        self.both("forget", ids, dry_run=dry_run)

    @rule(id_=IDS, name=st.sampled_from(["get", "chunks", "history", "maintenance.pin", "maintenance.archive"]))
    def look_up(self, id_: str, name: str) -> None:
        self.both(name, id_)

    @rule(
        name=st.sampled_from(
            ["scopes", "count", "find", "insights", "facts.updates", "maintenance.batches", "maintenance.undo"]
        )
    )
    def list_all(self, name: str) -> None:
        self.both(name)

    @rule(speaker=st.sampled_from(["Ana", "Ben", 3]))
    def find(self, speaker: Any) -> None:
        self.both("count", where=Filter(speakers=speaker) if isinstance(speaker, str) else speaker)

    @rule()
    def consolidate(self) -> None:
        self.both("consolidate")

    @rule(question=st.sampled_from(QUESTIONS), id_=IDS)
    def explain(self, question: str, id_: str) -> None:
        self.both("why_not", question, id_)
        self.both("answer", question)

    @rule(one=st.sampled_from(["Ana", "Ben", "Nobody"]), other=st.sampled_from(["Mia", "Ana"]))
    def merge(self, one: str, other: str) -> None:
        self.both("entities.merge", one, other)

    @rule()
    def export(self) -> None:
        out, other = io.StringIO(), io.StringIO()
        expected = self.outcome(lambda: self.memory.export(out))
        assert self.outcome(lambda: self.runner.run(self.other.export(other))) == expected
        assert other.getvalue() == out.getvalue()

    @invariant()
    def graphs_are_equal(self) -> None:
        assert graph_differences(self.memory.graph(), self.runner.run(self.other.graph())) == []


test_async_memory_and_memory_return_the_same = Twins.TestCase


class CancellingEmbedder(HashingEmbedder):
    """Calls ``reach`` before each text that it embeds."""

    def __init__(self, reach: Callable[[], None]) -> None:
        super().__init__(16)
        self.reach = reach

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        for _ in texts:
            self.reach()
        return super().embed(texts, is_query=is_query)


class CancellingStore(SQLiteStore):
    """Calls ``reach`` before and after each commit, and before each read."""

    def __init__(self, path: Path, reach: Callable[[], None]) -> None:
        super().__init__(path)
        self.reach = reach

    def commit(self, scope: str, batch: WriteBatch, /) -> WriteBatch:
        self.reach()
        written = super().commit(scope, batch)
        self.reach()
        return written

    def changes_since(self, scope: str, revision: int, /) -> WriteBatch:
        self.reach()
        return super().changes_since(scope, revision)


BATCH = 3
CALLS: dict[str, Callable[[AsyncMemory], Coroutine[Any, Any, object]]] = {
    "remember": lambda memory: memory.remember([Episode(f"new text {number}", id=f"n{number}") for number in range(8)]),
    "forget": lambda memory: memory.forget(["t0", "t1", "t2"]),
    "replace": lambda memory: memory.update("t3", "another text", mode="replace"),
    "supersede": lambda memory: memory.update("t3", "another text", mode="supersede"),
    "consolidate": lambda memory: memory.consolidate(),
    "recall": lambda memory: memory.recall("Where does Ana live?"),
}


@pytest.mark.parametrize("name", CALLS)
@given(point=st.integers(1, 24))
def test_file_is_sound_wherever_a_call_is_cancelled(name: str, point: int) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr("ecphora.memory.BATCH_SIZE", BATCH)
        path = Path(folder) / "m.db"
        count = asyncio.run(asyncio.wait_for(count_after_cancelling(path, CALLS[name], point), SECONDS))
        assert examine(path).is_healthy
        with Memory(path, embedder=HashingEmbedder(16)) as memory:
            assert len(memory) == count  # nothing was written after the cancellation
            assert count in {"remember": {6, 9, 12, 14}, "forget": {3, 6}, "supersede": {6, 7}}.get(name, {6})
            memory.remember([Episode(f"new text {number}", id=f"n{number}") for number in range(8)])
            assert memory.count(where=Filter()) >= 8
            assert memory.recall("Where does Ana live?").hits


async def count_after_cancelling(
    path: Path, call: Callable[[AsyncMemory], Coroutine[Any, Any, object]], point: int
) -> int:
    """Cancel a call when its thread reaches a point, and return how many memories there are right after that."""
    loop, thread_may_go_on = asyncio.get_running_loop(), threading.Event()
    task: asyncio.Task[object] | None = None
    reached = 0

    def reach() -> None:
        nonlocal reached
        if task is None or threading.current_thread().name.startswith("ecphora-access-log"):
            return
        reached += 1
        if reached == point:
            loop.call_soon_threadsafe(cancel)
            assert thread_may_go_on.wait(SECONDS)

    def cancel() -> None:
        assert task is not None
        task.cancel()
        loop.call_later(0, loop.call_soon, thread_may_go_on.set)

    store = CancellingStore(path, reach)
    async with AsyncMemory(store, embedder=CancellingEmbedder(reach), clock=FakeClock()) as memory:
        await memory.remember([Episode(text, id=f"t{number}") for number, text in enumerate(TEXTS)])
        task = asyncio.create_task(call(memory))
        await asyncio.wait([task])
        assert task.cancelled() == (reached >= point)
        task = None
        with Memory(path, embedder=HashingEmbedder(16)) as other:
            count = len(other)
        assert await memory.count() == count
    store.close()
    return count
