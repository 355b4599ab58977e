"""Measure a memory in PostgreSQL and one in SQLite: the first recall on a cold scope, a warm one, a durable write.

    python benchmarks/postgres.py [--memories 1000] [--clients 8] [--repeat 80] [--url postgresql://…]

Without ``--url`` a server is started in a temporary folder. The questions are embedded beforehand and no model reads
the hits. A client is a thread with a scope of its own; all share one store, as in a server, whose connections are open.
"""

import argparse
import queue
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from psycopg.conninfo import conninfo_to_dict

from ecphora import HashingEmbedder, Memory
from ecphora.stores.opening import open_store
from ecphora.stores.postgres.urls import is_postgres_url
from ecphora.stores.rows.store import RowStore
from ecphora.testing.postgres import PostgresServer

DIM = 384
ROUND_TRIP_SECONDS = 0.2
"""A round trip to PostgreSQL over the slow network that counts them."""
WORDS = ("ferry", "harbor", "opera", "garden", "violin", "bridge", "market", "lantern", "winter", "letter")
NAMES = ("Ana", "Bo", "Clara", "Dov", "Elif", "Femi")
QUESTION = "Who sailed the ferry to the harbor in winter?"


class KnownEmbedder(HashingEmbedder):
    """An embedder that has embedded each text before: what it takes is no time of the store."""

    def __init__(self) -> None:
        super().__init__(DIM)
        self._known: dict[str, np.ndarray] = {}

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> np.ndarray:
        """Look up the vectors; shape (texts, DIM)."""
        for text in texts:
            if text not in self._known:
                self._known[text] = super().embed([text], is_query=is_query)[0]
        return np.stack([self._known[text] for text in texts]) if texts else np.empty((0, DIM), np.float32)


def make_texts(count: int) -> list[str]:
    """So many different texts of about 25 words."""
    return [
        f"{NAMES[number % 6]} told {NAMES[number % 5]} on day {number} about the "
        + " and the ".join(WORDS[number // step % 10] for step in (1, 3, 10, 31, 100))
        + f" near pier {number % 97}, and paid {number % 31} coins for it."
        for number in range(count)
    ]


def open_memory(store: RowStore, scope: str, embedder: KnownEmbedder) -> Memory:
    """A memory of a scope, which reads no hits with a model."""
    return Memory(store, scope=scope, embedder=embedder, reranker=None, update_scorer=None, zone="UTC")


class Time(NamedTuple):
    """Milliseconds of a call, and of the processor in its thread."""

    wall: float
    cpu: float


def time_call(call: Callable[[], object]) -> Time:
    """Time a call."""
    start, cpu_start = time.perf_counter(), time.thread_time()
    call()
    return Time(1_000 * (time.perf_counter() - start), 1_000 * (time.thread_time() - cpu_start))


def describe(times: Sequence[Time]) -> str:
    """The median, the 99th percentile, and the median of the processor's time."""
    walls, cpu = [one.wall for one in times], statistics.median(one.cpu for one in times)
    return (
        f"p50 {statistics.median(walls):6.1f} ms  p99 {np.percentile(walls, 99):6.1f} ms  CPU {cpu:5.1f} ms"
        f"  ({len(times)} calls)"
    )


def recall_first(store: RowStore, scope: str, embedder: KnownEmbedder) -> Time:
    """Open a scope that is in no process yet and recall."""

    def call() -> None:
        with_memory.append(open_memory(store, scope, embedder))
        with_memory[0].recall(QUESTION)

    with_memory: list[Memory] = []
    taken = time_call(call)
    with_memory[0].maintenance.batches()  # writes what the recall logs
    return taken


class SlowNetwork:
    """A proxy before a server that delivers everything half a round trip later."""

    def __init__(self, url: str) -> None:
        parts = conninfo_to_dict(url)
        self._server = str(parts["host"]), int(str(parts["port"]))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = url.replace(f":{parts['port']}", f":{self._listener.getsockname()[1]}")
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.create_connection(self._server)
            for source, target in ((client, server), (server, client)):
                target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sent: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                threading.Thread(target=self._take, args=(source, sent), daemon=True).start()
                threading.Thread(target=self._deliver, args=(target, sent), daemon=True).start()

    def _take(self, source: socket.socket, sent: "queue.SimpleQueue[tuple[float, bytes]]") -> None:
        data = b"-"
        while data:
            data = source.recv(1 << 20)
            sent.put((time.monotonic() + ROUND_TRIP_SECONDS / 2, data))

    def _deliver(self, target: socket.socket, sent: "queue.SimpleQueue[tuple[float, bytes]]") -> None:
        while True:
            due, data = sent.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not data:
                target.close()
                return
            target.sendall(data)


def count_trips(url: str, scope: str, embedder: KnownEmbedder) -> None:
    """Print how many round trips a caller waits for: what the calls take longer over a slow network."""
    times: list[list[float]] = []
    for address in (url, SlowNetwork(url).url):
        with closing(open_store(address)) as store:
            store.scopes()  # connects
            with open_memory(store, scope, embedder) as memory:
                memory.maintenance.batches()
                opening = time_call(lambda: open_memory(store, scope, embedder))
                recall = time_call(lambda: memory.recall(QUESTION))
                memory.maintenance.batches()
                write = time_call(lambda: memory.remember(f"Bo sails from {address} to Porto."))  # noqa: B023
        times.append([opening.wall, recall.wall, write.wall])
    trips = [(slow - direct) / 1_000 / ROUND_TRIP_SECONDS for direct, slow in zip(*times, strict=True)]
    print("round trips: {:.1f} of opening a scope, {:.1f} of a recall, {:.1f} of a remember".format(*trips))


def measure(name: str, location: str | Path, texts: Sequence[str], clients: int, repeat: int) -> None:
    """Print the times of one store."""
    embedder = KnownEmbedder()
    embedder.embed([QUESTION, *texts])
    with closing(open_store(location)) as store:
        scopes = [f"user {number}" for number in range(clients)]
        for scope in scopes:
            with open_memory(store, scope, embedder) as memory:
                memory.remember(list(texts))
                memory.recall(QUESTION)
        with ThreadPoolExecutor(clients) as pool:
            cold = [
                taken
                for _ in range(-(-repeat // clients) + 1)
                for taken in pool.map(lambda scope: recall_first(store, scope, embedder), scopes)
            ][clients:]  # the first round makes the connections
        print(f"{name:10} first recall, {clients} clients  {describe(cold)}")
        alone = [recall_first(store, scopes[0], embedder) for _ in range(repeat)]
        print(f"{name:10} first recall, 1 client   {describe(alone)}")
        with open_memory(store, scopes[0], embedder) as memory:
            warm = [time_call(lambda: memory.recall(QUESTION)) for _ in range(repeat)]
            print(f"{name:10} warm recall              {describe(warm)}")
            memory.remember("Ana waits for the ferry.")
            more = [f"Bo writes letter {number} to Ana." for number in range(repeat)]
            embedder.embed(more)
            written = [time_call(lambda text=text: memory.remember(text)) for text in more]  # type: ignore[misc]
            print(f"{name:10} durable remember         {describe(written)}")
    if is_postgres_url(location):
        count_trips(str(location), scopes[0], embedder)


def main() -> None:
    """Measure both stores."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--memories", type=int, default=1_000, help="memories of a scope (default: 1,000)")
    parser.add_argument("--clients", type=int, default=8, help="clients at once (default: 8)")
    parser.add_argument("--repeat", type=int, default=80, help="calls of each kind (default: 80)")
    parser.add_argument("--url", help="an empty database of a server of your own")
    options = parser.parse_args()
    texts = make_texts(options.memories)
    with tempfile.TemporaryDirectory() as folder:
        measure("SQLite", Path(folder) / "memory.db", texts, options.clients, options.repeat)
    if options.url:
        measure("PostgreSQL", options.url, texts, options.clients, options.repeat)
        return
    with PostgresServer(("fsync=on", "full_page_writes=on")) as server:
        measure("PostgreSQL", server.url, texts, options.clients, options.repeat)


if __name__ == "__main__":
    main()
