"""``:memory:`` is a temporary memory: a file of its own that is gone when it is closed."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ecphora import AsyncMemory, HashingEmbedder, Memory
from ecphora.stores.sqlite import TemporaryStore


def test_temporary_memory_remembers_until_it_is_closed() -> None:
    with Memory(":memory:", embedder=HashingEmbedder()) as memory, Memory(":memory:") as other:
        memory.remember("Ana lives in Porto.")
        assert memory.recall("Where does Ana live?")[0].text == "Ana lives in Porto."
        assert len(other) == 0
        store = memory._store
        assert isinstance(store, TemporaryStore)
        folder = store.path.parent
        assert folder.is_dir()
        assert oct(folder.stat().st_mode & 0o777) == oct(0o700)
    assert not folder.exists()
    memory.close()


def test_temporary_memory_for_asyncio() -> None:
    async def count_hits() -> int:
        async with AsyncMemory(":memory:", embedder=HashingEmbedder()) as memory:
            await memory.remember("Ana lives in Porto.")
            return len(await memory.recall("Ana"))

    assert asyncio.run(count_hits()) == 1


def test_folder_is_deleted_with_a_store_that_nobody_closes() -> None:
    store = TemporaryStore()
    folder = store.path.parent
    del store
    assert not folder.exists()


@pytest.mark.medium
@pytest.mark.parametrize("first", ["", "Memory('file.db', embedder=HashingEmbedder()).recall('x')"])
def test_script_that_closes_nothing_ends_in_silence_and_leaves_no_folder(first: str, tmp_path: Path) -> None:
    script = f"""
from ecphora import HashingEmbedder, Memory
{first}
memory = Memory(":memory:", embedder=HashingEmbedder())
memory.remember("I moved to Antwerp.")
memory.recall("Where do I live?")
print(memory._store.path.parent)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert found.stderr == ""
    assert not Path(found.stdout.strip()).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_forked_child_leaves_the_folder_to_its_parent() -> None:
    store = TemporaryStore()
    if not (child := os.fork()):
        store._delete_folder()
        os._exit(0)
    os.waitpid(child, 0)
    assert store.path.exists()
    store.close()
