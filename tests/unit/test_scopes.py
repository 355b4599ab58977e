"""rename_scope and clone_scope: whole scopes under another name."""

from collections.abc import Callable
from pathlib import Path

import pytest

import ecphora
from ecphora import RecallOptions
from ecphora.errors import InvalidInput, StoreReplaced, UnknownName
from ecphora.memory import Memory
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock, graph_differences

pytestmark = pytest.mark.medium

LONG = "".join(f"Ana met Mia in Porto on day {day} of her stay. " for day in range(100))


def open_memory(path: Path, scope: str = "ana") -> Memory:
    return Memory(path, scope=scope, embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "memory.db"
    with open_memory(file) as memory:
        memory.remember(["Ana lives in Porto.", LONG, "It rains."])
        memory.entities.merge("Ana", "Mia")
        memory.recall("Where does Ana live?")
        memory.forget(memory.remember("A secret.", id="secret").id)
    return file


def names(path: Path) -> list[str]:
    store = SQLiteStore(path)
    try:
        return [info.name for info in store.scopes()]
    finally:
        store.close()


def test_cloned_scope_recalls_like_the_first(path: Path) -> None:
    ecphora.clone_scope(path, "ana", "copy")
    with open_memory(path) as first, open_memory(path, "copy") as copy:
        assert graph_differences(first.graph(), copy.graph()) == []
        found = [
            memory.recall("Where does Ana live?", options=RecallOptions(log_access=False)) for memory in (first, copy)
        ]
        assert [(hit.id, hit.score) for hit in found[0]] == [(hit.id, hit.score) for hit in found[1]]
        assert copy.remember("A secret.", id="secret").blocked == ("secret",)
        copy.maintenance.undo()
        copy.forget(everything=True)
        assert (len(first), len(copy), len(first.maintenance.batches())) == (3, 0, 1)


def test_renamed_scope_is_opened_by_its_new_name(path: Path) -> None:
    with open_memory(path) as memory:
        before = memory.graph()
    ecphora.rename_scope(path, "ana", "anna")
    assert names(path) == ["anna"]
    with open_memory(path, "anna") as memory:
        assert graph_differences(memory.graph(), before) == []
        assert memory.maintenance.undo().counts == {"alias": 1}


@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.recall("Where does Ana live?"),
        lambda memory: memory.remember("It snows."),
        lambda memory: memory.forget(everything=True),
        lambda memory: memory.maintenance.pin("secret"),
        len,
    ],
)
def test_memory_of_a_renamed_scope_must_be_opened_again(call: Callable[[Memory], object], path: Path) -> None:
    with open_memory(path) as memory:
        memory.recall("Where does Ana live?")
        ecphora.rename_scope(path, "ana", "anna")
        with pytest.raises(StoreReplaced, match=r"scope 'ana' was renamed.*open it again"):
            call(memory)
    assert names(path) == ["anna"]  # not even its access log makes a new scope of the old name


def test_scope_of_an_open_store_is_renamed(path: Path) -> None:
    store = SQLiteStore(path)
    ecphora.rename_scope(store, "ana", "anna")
    assert [info.name for info in store.scopes()] == ["anna"]
    store.close()


@pytest.mark.parametrize("change", [ecphora.rename_scope, ecphora.clone_scope])
def test_scopes_need_a_file_and_names(change: Callable[..., None], path: Path, tmp_path: Path) -> None:
    ecphora.clone_scope(path, "ana", "ben")
    for arguments, error, message in (
        ((path, "nobody", "new"), UnknownName, "there is no scope 'nobody'"),
        ((path, "ana", "ben"), InvalidInput, "there is a scope 'ben' already; choose another name"),
        ((path, "ana", ""), InvalidInput, "new_name is ''; give a text"),
        ((path, 5, "new"), InvalidInput, "scope is 5; give a text"),
        ((tmp_path / "none.db", "ana", "new"), InvalidInput, "there is no file .*; give the path of a memory file"),
        ((5, "ana", "new"), InvalidInput, "path is 5; give a path"),
        ((SQLiteStore, "ana", "new"), InvalidInput, "give a path"),
    ):
        with pytest.raises(error, match=message):
            change(*arguments)
    assert names(path) == ["ana", "ben"]
    assert not (tmp_path / "none.db").exists()
