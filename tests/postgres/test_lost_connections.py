"""What was acknowledged is there, once, whatever becomes of the connection or the server."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import Self

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from ecphora import HashingEmbedder, Memory
from ecphora.errors import EcphoraError, InvalidInput
from ecphora.model.types import Access, AccessKind, WriteBatch
from ecphora.stores.postgres.store import PostgresStore
from ecphora.testing import NOON, sample_batch, sample_node
from ecphora.testing.postgres import PostgresServer

from .proxy import LossyProxy, When

pytestmark = pytest.mark.slow

DIM = 32
WAIT_SECONDS = 60.0
"""How long a call waits for a server that is away: longer than a start of a server takes on a busy machine."""


def open_memory(store: PostgresStore, scope: str = "default") -> Memory:
    return Memory(store, scope=scope, embedder=HashingEmbedder(DIM), reranker=None, update_scorer=None, zone="UTC")


def open_store(url: str) -> PostgresStore:
    return PostgresStore(url, wait_seconds=WAIT_SECONDS)


def stored_texts(url: str, scope: str = "default") -> Counter[str]:
    with closing(PostgresStore(url)) as store, open_memory(store, scope) as memory:
        return Counter(node.text for node in memory.find(limit=10**6))


@dataclass
class Writer:
    """Writes memories one by one until it is told to stop."""

    url: str
    name: str
    stop: threading.Event
    acknowledged: list[str] = field(default_factory=list)
    longest_wait: float = 0.0
    errors: list[EcphoraError] = field(default_factory=list)

    def run(self) -> None:
        with closing(open_store(self.url)) as store, open_memory(store) as memory:
            while not self.stop.is_set():
                text = f"Writer {self.name} stores fact {len(self.acknowledged)}."
                start = time.monotonic()
                try:
                    memory.remember(text)
                except EcphoraError as error:
                    self.errors.append(error)
                    return
                self.longest_wait = max(self.longest_wait, time.monotonic() - start)
                self.acknowledged.append(text)


@dataclass
class Writers:
    """Four writers of one scope."""

    url: str

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self.writers = [Writer(self.url, str(number), self._stop) for number in range(4)]
        self._threads = [threading.Thread(target=writer.run) for writer in self.writers]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def await_more(self, count: int) -> None:
        """Wait until every writer has written so many more, or failed."""
        wanted = [len(writer.acknowledged) + count for writer in self.writers]
        while any(
            len(writer.acknowledged) < least and not writer.errors
            for writer, least in zip(self.writers, wanted, strict=True)
        ):
            threading.Event().wait(0.01)

    def check(self, url: str) -> None:
        """Every acknowledged memory is there, and no memory is there twice."""
        assert [writer.errors for writer in self.writers] == [[], [], [], []]
        stored = stored_texts(url)
        for writer in self.writers:
            assert [text for text in writer.acknowledged if text not in stored] == []
        assert {text: count for text, count in stored.items() if count > 1} == {}
        assert sum(stored.values()) == sum(len(writer.acknowledged) for writer in self.writers)


@pytest.fixture
def proxy(url: str) -> Iterator[LossyProxy]:
    PostgresStore(url).close()
    with LossyProxy(url) as made:
        yield made


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_commit_is_done_once(proxy: LossyProxy, url: str, when: When, is_new: bool) -> None:
    with closing(open_store(proxy.url)) as store, open_memory(store) as memory:
        if not is_new:
            memory.remember("Ana lives in Porto.")
        proxy.lose = [when] * 3
        memory.remember("Bo lives in Rome.")
        assert proxy.lost == 3
        proxy.lose = []
        assert memory.recall("Where does Bo live?")[0].text == "Bo lives in Rome."
    expected = ["Bo lives in Rome."] if is_new else ["Ana lives in Porto.", "Bo lives in Rome."]
    assert sorted(stored_texts(url).elements()) == expected


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_has_no_id_is_committed_once(proxy: LossyProxy, url: str, when: When) -> None:
    """An access written twice would count twice, and a node would be refused."""
    with closing(open_store(proxy.url)) as store:
        proxy.lose = [when]
        store.commit("s", sample_batch(sample_node("a", "x")))
        proxy.lose = [when] * 2
        written = store.commit("s", WriteBatch(accesses=(Access("a", NOON, AccessKind.RECALLED, 1.0),)))
        assert (proxy.lost, written.revision) == (3, 2)
    with closing(PostgresStore(url)) as store:
        found = store.changes_since("s", 0)
        assert (len(found.nodes), len(found.accesses), found.revision) == (1, 1, 2)


@pytest.mark.parametrize("when", ["before", "after"])
def test_forgetting_undoing_and_names_are_done_once(proxy: LossyProxy, url: str, when: When) -> None:
    with closing(open_store(proxy.url)) as store:
        with open_memory(store) as memory:
            gone = memory.remember("Bo likes plums.").id
            memory.remember("Ana lives in Porto.")
            proxy.lose = [when]
            memory.forget(gone)
            assert (proxy.lose, proxy.lost) == ([], 1)
        proxy.lose = [when]
        store.clone_scope("default", "copy")
        proxy.lose = [when]
        store.rename_scope("copy", "other")
        assert proxy.lost == 3
        with pytest.raises(InvalidInput, match="already"):
            store.rename_scope("other", "default")
    assert list(stored_texts(url)) == list(stored_texts(url, "other")) == ["Ana lives in Porto."]
    with closing(PostgresStore(url)) as store:
        assert [scope.name for scope in store.scopes()] == ["default", "other"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_read_is_tried_again(proxy: LossyProxy, when: When) -> None:
    with closing(open_store(proxy.url)) as store:
        with open_memory(store) as memory:
            memory.remember("Ana lives in Porto.")
        proxy.lose = [when] * 3
        assert [scope.episodes for scope in store.scopes()] == [1]
        assert proxy.lost == 3


def test_connections_that_are_killed_at_random(url: str) -> None:
    draw = random.Random(0)  # noqa: S311
    name = conninfo_to_dict(url)["dbname"]
    kill = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
    )
    killed = 0
    PostgresStore(url).close()
    with Writers(url) as writers, psycopg.connect(url, autocommit=True) as killer:
        for _ in range(40):
            threading.Event().wait(draw.uniform(0.0, 0.1))
            killed += int((killer.execute(kill, (name,)).fetchone() or (0,))[0])
        writers.await_more(2)
    assert killed > 40
    writers.check(url)


def test_a_restart_under_writers() -> None:
    with PostgresServer(("max_connections=40",)) as server:
        PostgresStore(server.url).close()
        with Writers(server.url) as writers:
            for mode in ("immediate", "fast"):
                writers.await_more(3)
                server.stop(mode)
                server.start()
            writers.await_more(3)
        writers.check(server.url)


def test_a_promotion_under_load_loses_nothing(record_property: Callable[[str, object], None]) -> None:
    with PostgresServer() as primary:
        PostgresStore(primary.url).close()
        with primary.replica() as replica:
            url = (
                f"postgresql://postgres@127.0.0.1:{primary.port},127.0.0.1:{replica.port}/postgres"
                "?target_session_attrs=read-write"
            )
            with psycopg.connect(primary.url, autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'replica'")
                connection.execute("SELECT pg_reload_conf()")
                query = "SELECT sync_state FROM pg_stat_replication"
                while connection.execute(query).fetchone() != ("sync",):
                    threading.Event().wait(0.05)
            with Writers(url) as writers:
                writers.await_more(5)
                stopped = time.monotonic()
                primary.stop("immediate")
                replica.promote()
                away = time.monotonic() - stopped
                with psycopg.connect(replica.url, autocommit=True) as connection:
                    connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
                    connection.execute("SELECT pg_reload_conf()")
                writers.await_more(5)
            longest = max(writer.longest_wait for writer in writers.writers)
            record_property("seconds_away", away)
            record_property("longest_wait_in_seconds", longest)
            writers.check(replica.url)
            assert longest < away + 10


@pytest.mark.parametrize("give", [PostgresStore.rename_scope, PostgresStore.clone_scope])
def test_a_name_that_another_process_gives_meanwhile(url: str, give: Callable[..., None]) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with closing(PostgresStore(url)) as store, psycopg.connect(url) as other, ThreadPoolExecutor(1) as pool:
        store.commit("s", sample_batch(sample_node("a", "x")))
        other.execute("INSERT INTO ecphora.scope_name (name) VALUES ('new')")
        given = pool.submit(give, store, "s", "new")
        with psycopg.connect(url, autocommit=True) as observer:
            while not given.done() and observer.execute(waiting.encode()).fetchone() == (0,):
                threading.Event().wait(0.01)
        other.commit()
        with pytest.raises(InvalidInput, match="there is a scope 'new' already"):
            given.result()


def test_names_that_two_give_at_once(url: str) -> None:
    with closing(PostgresStore(url)) as store:
        for number in range(4):
            with open_memory(store, f"s{number}") as memory:
                memory.remember(f"Fact {number}.")

        def give(number: int) -> str:
            try:
                if number % 2:
                    store.clone_scope(f"s{number}", "new")
                else:
                    store.rename_scope(f"s{number}", "new")
            except InvalidInput as error:
                return str(error)
            return f"Fact {number}."

        with ThreadPoolExecutor(4) as pool:
            said = list(pool.map(give, range(4)))
        assert said.count("there is a scope 'new' already; choose another name") == 3
        given = [text for text in said if text.startswith("Fact")]
    assert list(stored_texts(url, "new")) == given
