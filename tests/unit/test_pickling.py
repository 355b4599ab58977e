"""What holds an open file or connection says what to do instead of pickling or copying it."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from ecphora import AsyncMemory, HashingEmbedder, InvalidInput, Memory
from ecphora.remote.client.async_remote_memory import connect_async
from ecphora.remote.client.remote_memory import connect
from ecphora.stores.sqlite import SQLiteStore

OPENERS: dict[str, Callable[[Path], object]] = {
    "Memory": lambda path: Memory(path, embedder=HashingEmbedder()),
    "AsyncMemory": AsyncMemory,
    "SQLiteStore": SQLiteStore,
    "RemoteMemory": lambda _path: connect("http://127.0.0.1:9", token="t"),  # noqa: S106
    "AsyncRemoteMemory": lambda _path: connect_async("http://127.0.0.1:9", token="t"),  # noqa: S106
}


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("name", OPENERS)
def test_error_says_to_open_it_in_the_other_process(
    name: str, duplicate: Callable[[object], object], tmp_path: Path
) -> None:
    opened = OPENERS[name](tmp_path / "memory.db")
    with pytest.raises(InvalidInput, match=f"a {name} holds an open file .* open a {name} there"):
        duplicate(opened)
    if isinstance(opened, Memory | SQLiteStore):
        opened.close()
