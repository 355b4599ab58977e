"""Listening on a port: uvicorn, with an end that is told to it by a signal and that is no failure.

The time in which the head of a request must arrive is limited, so that idle clients do not hold connections.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from ...errors import InvalidInput


class HeadTimer(asyncio.Protocol):
    """A part of uvicorn's protocol: closes a connection on which no request begins in time.

    uvicorn itself limits only the time between an answer and the first byte of the next request. What still arrives of
    a body after its answer counts as waiting for the next head.
    """

    head_seconds: float
    cycle: Any
    transport: asyncio.Transport
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Stop waiting once a request has begun."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._timer is None:  # more bytes give no more time
            self._timer = asyncio.get_running_loop().call_later(self.head_seconds, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def timed_protocol(head_seconds: float) -> type[asyncio.Protocol]:
    """uvicorn's protocol, with this limit in seconds."""
    return type("TimedHTTPProtocol", (HeadTimer, AutoHTTPProtocol), {"head_seconds": head_seconds})


BACKLOG = 512
"""Connections that may wait to be accepted."""
KEEP_ALIVE_SECONDS = 30
"""Seconds that a connection without requests stays open."""
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Server(uvicorn.Server):
    """A server that is stopped by a signal and then returns, instead of letting the signal end the process too."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal; a second one does not wait for requests in progress."""
        previous = {name: signal.signal(name, self.handle_exit) for name in STOP_SIGNALS}
        try:
            yield
        finally:
            for name, handler in previous.items():
                signal.signal(name, handler)


def run_server(
    app: ASGIApp, *, host: str, port: int, head_seconds: float, grace_seconds: int, on_start: Callable[[str], object]
) -> None:
    """Serve an app until a signal stops it. ``on_start`` gets the URL once connections are accepted.

    The head of a request must arrive within ``head_seconds``. New connections are refused from the signal on; requests
    in progress have ``grace_seconds``. Raises ``InvalidInput`` if the address cannot be listened on.
    """
    listener = _listen(host, port)
    config = uvicorn.Config(
        app,
        http=timed_protocol(head_seconds),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=grace_seconds,
        lifespan="on",
    )
    name, listening_port = listener.getsockname()[:2]
    with listener:
        on_start(f"http://[{name}]:{listening_port}" if ":" in name else f"http://{name}:{listening_port}")
        _Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        if os.name == "posix":  # elsewhere it would let two servers listen on one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        if listener is not None:
            listener.close()
        raise InvalidInput(f"cannot listen on {host}, port {port} ({error}); choose others") from error
    return listener
