"""A limit to the time in which the head of a request must arrive, so that idle clients do not hold connections."""

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


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
