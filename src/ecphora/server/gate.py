"""The gate that every request passes: access, limits, headers, and the line in the access log.

It is an ASGI middleware around the whole app, so a route that is added later is behind it too.
"""

import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Any, Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..ports import Clock
from .access_control import OPEN_PATHS, AccessPolicy, check_headers, find_zone
from .failures import RequestError, answer_error
from .limits import Limits, RateLimit, RequestShares, limit_body, limit_time
from .metrics import Metrics
from .operations import IMPORT

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

_log = logging.getLogger("ecphora.server")
WriteLog = Callable[[str], object]


class Tracer(Protocol):
    """Where the spans of requests go, as :class:`~ecphora.server.tracing.RequestTracer` does it."""

    def add(self, headers: Mapping[str, str], method: str, route: str, status: int, seconds: float) -> None:
        """Add the span of a request that has just ended."""

    def close(self) -> None:
        """Send what waits."""


class Gate:
    """The middleware. ``write_log`` takes each line of the access log, a JSON object."""

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
