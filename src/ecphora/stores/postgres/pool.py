"""The connections of one store, made when they are needed, in the thread that needs them."""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ...errors import InvalidInput, StoreBusy, StoreClosed
from .texts import register

CONNECT_SECONDS = 5
"""How long one try to connect waits."""
_DEFAULTS = {
    "connect_timeout": CONNECT_SECONDS,
    "fallback_application_name": "ecphora",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""Parameters of libpq that a URL may replace; with these a server that vanished is noticed in 25 seconds."""


def parse_url(url: str, place: str) -> dict[str, Any]:
    """The parameters of a connection; no part of a URL that cannot be read is shown, as it may be the password."""
    wrong = f"{place} cannot be read; give postgresql://user@host:port/database, and %-escape a password: / as %2F"
    try:
        found: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise InvalidInput(wrong) from None
    ports = str(found.get("port", "")).split(",")
    if "@" in found.get("host", "") or not all(not port or port.isdigit() for port in ports):
        raise InvalidInput(wrong)
    return _DEFAULTS | found


class Pool:
    """At most ``size`` connections. Safe to share between threads; a forked child makes its own."""

    def __init__(self, url: str, place: str, size: int) -> None:
        self._parameters = parse_url(url, place)
        self._place = place
        self._size = size
        self._is_closed = False
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._idle: list[psycopg.Connection] = []
        self._free = threading.Semaphore(self._size)
        weakref.finalize(self, _close_all, self._idle, self._process)

    def close(self) -> None:
        """Close the connections, those in use when they come back; closing twice is harmless."""
        self._is_closed = True
        self.drop_idle()

    def drop_idle(self) -> None:
        """Close the connections that nobody uses."""
        _close_all(self._idle, self._process)

    @contextmanager
    def connection(self, timeout: float) -> Iterator[psycopg.Connection]:
        """A connection for this thread alone, which waits so many seconds for one.

        Raises ``StoreClosed`` after :meth:`close`, ``StoreBusy`` if all are in use, and ``psycopg.Error``.
        """
        if self._process != os.getpid():  # a forked child leaves its parent the connections
            self._reset()
        if self._is_closed:
            raise StoreClosed(f"{self._place} was closed; open a new Memory")
        free = self._free
        if not free.acquire(timeout=timeout):
            raise StoreBusy(f"all {self._size} connections to {self._place} are in use; try again")
        try:
            connection = self._take()
            try:
                yield connection
            except BaseException:
                with suppress(psycopg.Error):
                    connection.rollback()
                raise
            finally:
                self._give_back(connection)
        finally:
            free.release()

    def _take(self) -> psycopg.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            connection = psycopg.connect(autocommit=True, prepare_threshold=None, **self._parameters)
            register(connection)
            return connection

    def _give_back(self, connection: psycopg.Connection) -> None:
        is_fit = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        if is_fit and not self._is_closed and self._process == os.getpid():
            self._idle.append(connection)
        else:
            if connection.broken:  # so are the others, if the server was replaced
                self.drop_idle()
            connection.close()


def _close_all(connections: list[psycopg.Connection], process: int) -> None:
    """Close the connections that a process has made; a forked child closes none of its parent's."""
    while connections and process == os.getpid():
        with suppress(IndexError):  # another thread has taken it
            connections.pop().close()
