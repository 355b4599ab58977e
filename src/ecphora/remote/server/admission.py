"""The admission of every request: access, limits, headers, the line in the access log, and the metrics.

It is an ASGI middleware around the whole app, so a route that is added later is behind it too.
"""

import asyncio
import json
import logging
import math
import secrets
import time
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...model.ports import Clock
from .access_control import OPEN_PATHS, AccessPolicy, check_headers, find_zone
from .failures import RequestError, answer_error
from .operations import IMPORT
from .thread_shares import share_of

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""The upper bounds of the latency histogram, in seconds."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts of one server. They name routes, statuses and states, never scopes, tokens or texts."""

    def __init__(self, open_scopes: Callable[[], int], jobs: Callable[[], Mapping[str, int]]) -> None:
        self._open_scopes = open_scopes
        self._jobs = jobs
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self.requests_in_progress = 0

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests[method, route, status] += 1
        self._buckets.setdefault(route, [0] * (len(BUCKETS) + 1))[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]  # a counter of floats

    def to_text(self) -> str:
        """The metrics as Prometheus reads them."""
        lines = [
            "# HELP ecphora_requests_total Requests that were answered.",
            "# TYPE ecphora_requests_total counter",
        ]
        for (method, route, status), count in sorted(self._requests.items()):
            lines.append(f'ecphora_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}')
        lines.append("# HELP ecphora_request_seconds Seconds from the request to the end of its answer.")
        lines.append("# TYPE ecphora_request_seconds histogram")
        for route, counts in sorted(self._buckets.items()):
            total = 0
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                total += count
                lines.append(f'ecphora_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}')
            lines.append(f'ecphora_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
            lines.append(f'ecphora_request_seconds_count{{route="{route}"}} {total}')
        lines.append("# HELP ecphora_requests_in_progress Requests that are being answered.")
        lines.append("# TYPE ecphora_requests_in_progress gauge")
        lines.append(f"ecphora_requests_in_progress {self.requests_in_progress}")
        lines.append("# HELP ecphora_open_scopes Scopes whose memory is open.")
        lines.append("# TYPE ecphora_open_scopes gauge")
        lines.append(f"ecphora_open_scopes {self._open_scopes()}")
        lines.append("# HELP ecphora_jobs Jobs that are remembered, by state.")
        lines.append("# TYPE ecphora_jobs gauge")
        lines += [f'ecphora_jobs{{state="{state}"}} {count}' for state, count in self._jobs().items()]
        return "\n".join(lines) + "\n"


MEBIBYTE = 1 << 20
MIN_BYTES_PER_SECOND = 1 << 10
"""How fast a body must arrive after the time that each request has."""
MAX_ITEMS = 10_000
"""The items that the lists of a request may have together: texts, messages, ids, hits."""
MAX_BUCKETS = 10_000
"""Tokens whose rate is remembered; the token that was used longest ago is dropped for another."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server takes.

    Bytes of a body and of an import, requests in progress, of which half may be of one token, and requests a second of
    each token (0: any number), of which ``burst_seconds`` may come at once. The head of a request must arrive within
    ``receive_seconds``, and its body within as many again and one more for each KiB; an import has ``pause_seconds``
    instead, and no body may pause for longer than that.
    """

    body_bytes: int = 8 * MEBIBYTE
    import_bytes: int = 1024 * MEBIBYTE
    requests_in_progress: int = 256
    requests_per_second: float = 100.0
    burst_seconds: float = 2.0
    receive_seconds: float = 20.0
    pause_seconds: float = 60.0


@dataclass(slots=True)
class RateLimit:
    """How many requests each token may still send: a bucket that fills at a constant rate."""

    limits: Limits
    clock: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, name: str) -> None:
        """Count a request of a token; raises ``RequestError`` 429 if it comes too early."""
        rate = self.limits.requests_per_second
        if not rate:
            return
        now, capacity = self.clock(), max(rate * self.limits.burst_seconds, 1.0)
        left, at = self._buckets.pop(name, (capacity, now))
        left = min(left + (now - at) * rate, capacity)
        left = 1.0 if math.isclose(left, 1.0) else left  # the time that Retry-After names is enough
        self._buckets[name] = (max(left - 1.0, 0.0) if left >= 1.0 else left, now)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        if left < 1.0:
            seconds = math.ceil((1.0 - left) / rate)
            raise RequestError(
                429, f"more than {rate:g} requests a second; wait {seconds} s", {"Retry-After": str(max(seconds, 1))}
            )


@dataclass(slots=True)
class RequestShares:
    """The requests in progress of each token, of which one has a share of what the server takes."""

    limits: Limits
    _counts: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Count a request of a token for as long as it runs; raises ``RequestError`` 429 for one too many."""
        share = share_of(self.limits.requests_in_progress)
        if self._counts[name] >= share:
            raise RequestError(429, f"the token has {share} requests in progress; end some", {"Retry-After": "1"})
        self._counts[name] += 1
        try:
            yield
        finally:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]


def check_items(body: object) -> None:
    """Refuse JSON whose lists have too many items together; raises ``RequestError`` 413."""
    count, values = 0, [body]
    while values:
        value = values.pop()
        if isinstance(value, list):
            count += len(value)
            if count > MAX_ITEMS:
                raise RequestError(413, f"the lists have more than {MAX_ITEMS:,} items together; send fewer at once")
            values.extend(value)
        elif isinstance(value, dict):
            values.extend(value.values())


def limit_body(headers: Headers, receive: Receive, limit: int) -> Receive:
    """What receives a body of so many bytes; raises ``RequestError`` 413 for a larger one, at once if it says so."""
    error = RequestError(413, f"the body is larger than {limit:,} bytes; send less at once", {"Connection": "close"})
    declared = headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
        raise error
    received = 0

    async def receive_part() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise error
        return message

    return receive_part


def limit_time(receive: Receive, seconds: float, pause_seconds: float) -> Receive:
    """What receives a body in so many seconds, and one for each KiB; raises ``RequestError`` 408 for a slower one.

    Only the time spent waiting for the client counts. A fast start saves no more than ``pause_seconds``.
    """
    left, is_whole, most = seconds, False, max(seconds, pause_seconds)

    async def receive_part() -> Message:
        nonlocal left, is_whole
        if is_whole:  # what follows is the end of the connection, which may take long
            return await receive()
        started = time.monotonic()
        try:
            async with asyncio.timeout(max(left, 0.0)):
                message = await receive()
        except TimeoutError as error:
            raise RequestError(408, "the body arrives too slowly", {"Connection": "close"}) from error
        left += len(message.get("body", b"")) / MIN_BYTES_PER_SECOND - (time.monotonic() - started)
        left = min(left, most)
        is_whole = not message.get("more_body", False)
        return message

    return receive_part


SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""What every answer tells a browser: to keep nothing, to load nothing, and not to guess types."""
UNKNOWN_ROUTE = "unknown"
"""The route of a request that has none."""
KNOWN_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"})

_log = logging.getLogger("ecphora.remote.server")
WriteLog = Callable[[str], object]


class Tracer(Protocol):
    """Where the spans of requests go, as :class:`~ecphora.remote.server.admission.RequestTracer` does it."""

    def add(self, headers: Mapping[str, str], method: str, route: str, status: int, seconds: float) -> None:
        """Add the span of a request that has just ended."""

    def close(self) -> None:
        """Send what waits."""


class AdmissionMiddleware:
    """The middleware that admits requests. ``write_log`` takes each line of the access log, a JSON object."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        policy: AccessPolicy,
        limits: Limits,
        metrics: Metrics,
        clock: Clock,
        write_log: WriteLog,
        tracer: Tracer | None = None,
    ) -> None:
        self._app = app
        self._policy = policy
        self._limits = limits
        self._rates = RateLimit(limits)
        self._shares = RequestShares(limits)
        self._metrics = metrics
        self._clock = clock
        self._write_log = write_log
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass on what is none."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, request_id = time.perf_counter(), secrets.token_hex(8)
        state = scope.setdefault("state", {})
        status, has_ended = 0, False

        async def send_with_headers(message: Message) -> None:
            nonlocal status, has_ended
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                headers.update({**SECURITY_HEADERS, "X-Request-Id": request_id})
            await send(message)
            has_ended = message["type"] == "http.response.body" and not message.get("more_body", False)

        self._metrics.requests_in_progress += 1
        try:
            await self._answer(scope, receive, send_with_headers, state)
        except Exception as error:
            _log.exception("request %s failed", request_id)
            if status and not has_ended:
                raise  # the answer has begun: the connection is closed, so that it does not look whole
            if not status:
                with suppress(OSError):
                    await answer_error(error)(scope, receive, send_with_headers)
        finally:
            self._metrics.requests_in_progress -= 1
            seconds = time.perf_counter() - started
            self._note(scope, state, request_id, status, seconds)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, state: dict[str, Any]) -> None:
        """Let a request in, or refuse it."""
        headers, path = Headers(scope=scope), scope["path"]
        with ExitStack() as held:
            try:
                check_headers(headers)
                self._policy.check_place(headers)
                if path not in OPEN_PATHS:
                    state["grant"] = grant = self._policy.find_grant(headers)
                    self._rates.take(grant.name)
                    held.enter_context(self._shares.hold(grant.name))
                    state["zone"] = find_zone(headers, grant)
                if self._metrics.requests_in_progress > self._limits.requests_in_progress:
                    raise RequestError(503, "too many requests at once; try again", {"Retry-After": "1"})
                is_import, limits = path == IMPORT.path, self._limits
                seconds = limits.pause_seconds if is_import else limits.receive_seconds
                receive = limit_time(receive, seconds, limits.pause_seconds)
                receive = limit_body(headers, receive, limits.import_bytes if is_import else limits.body_bytes)
            except HTTPException as error:
                await answer_error(error)(scope, receive, send)
                return
            await self._app(scope, receive, send)

    def _note(self, scope: Scope, state: dict[str, Any], request_id: str, status: int, seconds: float) -> None:
        """Count a request and write its line: no text of a memory or question, no token, no address as it came."""
        route = getattr(scope.get("route"), "path", UNKNOWN_ROUTE)
        method = scope["method"] if scope["method"] in KNOWN_METHODS else "OTHER"
        self._metrics.add(method, route, status, seconds)
        if self._tracer is not None:
            self._tracer.add(Headers(scope=scope), method, route, status, seconds)
        grant = state.get("grant")
        line = {
            "at": self._clock().isoformat(timespec="milliseconds"),
            "id": request_id,
            "method": method,
            "route": route,
            "status": status,
            "ms": round(1000 * seconds, 2),
            "token": None if grant is None else grant.name,
            "scope": state.get("memory_scope"),
        }
        self._write_log(json.dumps(line))
