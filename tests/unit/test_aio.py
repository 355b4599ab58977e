"""AsyncMemory: its names and types, opening and closing, the event loop that goes on, and cancellation."""

import asyncio
import inspect
import io
from collections.abc import Coroutine
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ecphora import AsyncMemory, Memory
from ecphora.aio import AsyncEntities, AsyncFacts, AsyncMaintenance
from ecphora.errors import EmbedderMismatch, InvalidInput, StoreClosed
from ecphora.memory import Entities, Facts, Maintenance
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock

R = TypeVar("R")
SECONDS = 30
"""After so many seconds a test that waits has failed."""
NOT_ASYNC = {
    "scope",
    "strategy",
    "evidence_bands",
    "facts",
    "entities",
    "maintenance",
    "is_read_only",
    "unlogged_count",
}
"""What :class:`Memory` offers without waiting."""
QUESTION = "Where does Ana live?"


def run(call: Coroutine[Any, Any, R]) -> R:
    return asyncio.run(asyncio.wait_for(call, SECONDS))


def open_memory(path: Path, **options: Any) -> AsyncMemory:
    return AsyncMemory(path, **{"embedder": HashingEmbedder(32), "clock": FakeClock(), **options})


# ---- names and types


def public_names(owner: type) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")}


def test_names_are_those_of_memory(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(8)) as memory:
        names = {name for name in dir(memory) if not name.startswith("_")}
        offered = {name for name in dir(AsyncMemory.wrap(memory)) if not name.startswith("_")}
    assert names >= NOT_ASYNC
    assert offered - names == {"open", "wrap"}
    assert names <= offered


@pytest.mark.parametrize(
    ("view", "async_view"), [(Facts, AsyncFacts), (Entities, AsyncEntities), (Maintenance, AsyncMaintenance)]
)
def test_names_of_views_are_those_of_memory(view: type, async_view: type) -> None:
    assert public_names(async_view) == public_names(view)


METHODS = [
    (owner, async_owner, name)
    for owner, async_owner in (
        (Memory, AsyncMemory),
        (Facts, AsyncFacts),
        (Entities, AsyncEntities),
        (Maintenance, AsyncMaintenance),
    )
    for name in sorted(public_names(owner) & public_names(async_owner) - NOT_ASYNC)
]


@pytest.mark.parametrize(("owner", "async_owner", "name"), METHODS)
def test_parameters_are_those_of_memory(owner: type, async_owner: type, name: str) -> None:
    method = getattr(async_owner, name)
    parameters = inspect.signature(getattr(owner, name)).parameters
    assert list(inspect.signature(method).parameters.values()) == list(parameters.values())
    assert inspect.iscoroutinefunction(method)


def test_parameters_of_the_constructor_are_those_of_memory() -> None:
    assert inspect.signature(AsyncMemory) == inspect.signature(Memory).replace(return_annotation=None)


# ---- opening and closing


def test_constructor_opens_nothing_and_the_first_call_opens(tmp_path: Path) -> None:
    async def call() -> None:
        memory = open_memory(tmp_path / "m.db", scope="ana")
        assert not (tmp_path / "m.db").exists()
        with pytest.raises(StoreClosed, match="not open yet"):
            _ = memory.scope
        assert await memory.count() == 0
        assert (memory.scope, memory.is_read_only, memory.unlogged_count) == ("ana", False, 0)
        assert (memory.strategy.name, memory.evidence_bands.strong > 0) == ("fused", True)
        await memory.close()
        await memory.close()
        with pytest.raises(StoreClosed, match="make a new one"):
            await memory.count()

    run(call())


def test_errors_of_the_constructor_come_when_it_opens(tmp_path: Path) -> None:
    async def call() -> None:
        async with open_memory(tmp_path / "m.db") as memory:
            await memory.remember("Ana lives in Porto.")
        with pytest.raises(EmbedderMismatch):
            await open_memory(tmp_path / "m.db", embedder=HashingEmbedder(8)).open()
        with pytest.raises(InvalidInput, match="scope is 3"):
            await open_memory(tmp_path / "n.db", scope=3).open()
        assert not (tmp_path / "n.db").exists()

    run(call())


def test_many_first_calls_open_one_memory(tmp_path: Path) -> None:
    async def call() -> None:
        memory = open_memory(tmp_path / "m.db")
        graphs = await asyncio.gather(*(memory.graph() for _ in range(8)))
        assert all(graph is graphs[0] for graph in graphs)
        await memory.close()

    run(call())


def test_memory_that_was_wrapped_stays_open(tmp_path: Path) -> None:
    async def call(memory: Memory) -> None:
        async with AsyncMemory.wrap(memory) as wrapped:
            assert wrapped.scope == "default"
            await wrapped.remember("Ana lives in Porto.")

    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(32)) as memory:
        run(call(memory))
        assert len(memory) == 1
    with pytest.raises(InvalidInput, match="give an open Memory"):
        AsyncMemory.wrap("m.db")  # type: ignore[arg-type]


def test_one_memory_serves_several_event_loops(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "m.db")
    run(memory.remember("Ana lives in Porto."))
    assert run(memory.count()) == 1
    run(memory.close())


# ---- results


@pytest.mark.medium
def test_reasons_are_built_by_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def call() -> None:
        async with open_memory(tmp_path / "m.db") as memory:
            await memory.remember(["Ana lives in Porto.", "Ben lives in Faro."])
            found = [await memory.recall(QUESTION), await memory.recall([{"role": "user", "content": QUESTION}])]
            monkeypatch.setattr("ecphora.recall.recall.build_reasons", pytest.fail)
            assert all(hit.reason for one in found for hit in one)

    run(call())


def test_context_variables_are_seen_by_the_call(tmp_path: Path) -> None:
    variable, seen = ContextVar("variable", default="outside"), list[str]()

    async def call() -> None:
        async with open_memory(tmp_path / "m.db") as memory:
            variable.set("inside")
            await memory.remember(["a", "b"], progress=lambda _done, _total: seen.append(variable.get()))

    run(call())
    assert seen == ["inside"]


def test_export_and_import_use_files_in_the_thread(tmp_path: Path) -> None:
    async def call() -> None:
        out = io.StringIO()
        async with open_memory(tmp_path / "a.db") as memory, open_memory(tmp_path / "b.db") as other:
            await memory.remember(["Ana lives in Porto.", "Ben lives in Faro."])
            await memory.export(out)
            await other.import_(iter(out.getvalue().splitlines()))
            assert await other.count() == 2
            assert (await memory.backup(tmp_path / "copy.db")).episodes == 2

    run(call())
