"""The open memories of a server: shared by requests, bounded, and closed when idle."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from ecphora.errors import StoreBusy
from ecphora.memory import Memory
from ecphora.remote.server.open_scopes import OpenScopes


class FakeMemory(Memory):
    """A memory without a file, which notes that it was closed."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        self.is_closed = False

    def close(self) -> None:
        assert not self.is_closed
        self.is_closed = True


class Opener:
    """Opens memories and keeps count of them."""

    def __init__(self) -> None:
        self.opened: list[FakeMemory] = []
        self.now = 0.0

    def __call__(self, scope: str) -> Memory:
        self.opened.append(FakeMemory(scope))
        return self.opened[-1]

    @property
    def open_names(self) -> list[str]:
        return [memory.scope for memory in self.opened if not memory.is_closed]


@pytest.fixture
def opener() -> Opener:
    return Opener()


@pytest.fixture
def scopes(opener: Opener) -> OpenScopes:
    return OpenScopes(opener, capacity=2, idle_seconds=10, clock=lambda: opener.now)


def use(scopes: OpenScopes, *names: str) -> None:
    for name in names:
        with scopes.lease(name):
            pass


def test_memory_is_opened_once_and_shared(scopes: OpenScopes, opener: Opener) -> None:
    with scopes.lease("a") as first, scopes.lease("a") as second:
        assert first is second
    use(scopes, "a")
    assert opener.open_names == ["a"]


def test_memory_that_was_used_longest_ago_is_closed(scopes: OpenScopes, opener: Opener) -> None:
    use(scopes, "a", "b", "a", "c")
    assert opener.open_names == ["a", "c"]
    assert len(scopes) == 2


def test_memory_in_use_is_never_closed(scopes: OpenScopes, opener: Opener) -> None:
    with scopes.lease("a"), scopes.lease("b"), scopes.lease("c"):
        opener.now = 1000
        scopes.close_idle()
        scopes.close()
        assert opener.open_names == ["a", "b", "c"]
    assert len(scopes) == 2


def test_idle_memory_is_closed(scopes: OpenScopes, opener: Opener) -> None:
    use(scopes, "a")
    opener.now = 5
    use(scopes, "b")
    opener.now = 10
    scopes.close_idle()
    assert opener.open_names == ["b"]
    opener.now = 14.9
    scopes.close_idle()
    assert opener.open_names == ["b"]
    opener.now = 15
    scopes.close_idle()
    assert opener.open_names == []
    assert len(scopes) == 0


def test_discarded_memory_is_closed_by_its_last_user(scopes: OpenScopes, opener: Opener) -> None:
    with scopes.lease("a") as first:
        with scopes.lease("a"):
            scopes.discard("a", first)
        assert opener.open_names == ["a"]
        with scopes.lease("a") as second:
            assert second is not first
            scopes.discard("a", first)  # another's memory stays
    assert opener.open_names == ["a"]
    scopes.discard("a", second)
    assert opener.open_names == []


def test_memory_that_cannot_be_opened_leaves_nothing(opener: Opener) -> None:
    def fail(_scope: str) -> Memory:
        raise StoreBusy("locked")

    scopes = OpenScopes(fail, capacity=2, idle_seconds=10)
    with pytest.raises(StoreBusy), scopes.lease("a"):
        pass
    assert len(scopes) == 0
    assert opener.opened == []


def test_opening_one_scope_does_not_wait_for_another() -> None:
    may_open = threading.Event()

    def open_memory(scope: str) -> Memory:
        if scope == "slow":
            assert may_open.wait(30)
        return FakeMemory(scope)

    scopes = OpenScopes(open_memory, capacity=2, idle_seconds=10)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(use, scopes, "slow")
        use(scopes, "fast")
        may_open.set()
        slow.result(30)


def test_threads_share_one_memory_of_each_scope() -> None:
    opener = Opener()
    scopes = OpenScopes(opener, capacity=3, idle_seconds=10)
    work: list[Callable[[], None]] = [lambda name=name: use(scopes, name) for name in "abc" * 50]  # type: ignore[misc]
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(task) for task in work]:
            done.result(30)
    scopes.close()
    assert opener.open_names == []
    assert len(opener.opened) == 3
