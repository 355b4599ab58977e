"""Spans of requests for an OpenTelemetry collector of the user's own; without its address there are none.

A span has the method, the route, the status and the duration of a request: no text, no name of a scope, no token.
"""

import time
from collections.abc import Mapping
from urllib.parse import urlsplit

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ... import __version__
from ...errors import InvalidInput
from ...model.reprs import show
from ...models.http_client import is_loopback

TRACES_PATH = "/v1/traces"
"""The path of a collector that takes spans over HTTP, if the address has none."""
EXPORT_SECONDS = 5
"""Seconds that a collector has to take the spans; spans that it does not take are dropped."""


class RequestTracer:
    """Sends a span of each request to a collector, in a thread of its own, so that no request waits for it.

    ``url`` is the address of the collector, such as ``http://127.0.0.1:4318``. Raises ``InvalidInput`` for a URL that
    is no HTTP address.
    """

    def __init__(self, url: str) -> None:
        self._provider = TracerProvider(
            resource=Resource({SERVICE_NAME: "ecphora", SERVICE_VERSION: __version__}), shutdown_on_exit=False
        )
        endpoint, session = _traces_url(url), requests.Session()
        session.trust_env = not is_loopback(urlsplit(endpoint).hostname or "")  # no proxy reaches the loopback
        exporter = OTLPSpanExporter(endpoint=endpoint, timeout=EXPORT_SECONDS, session=session)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("ecphora.server", __version__)
        self._propagator = TraceContextTextMapPropagator()

    def add(self, headers: Mapping[str, str], method: str, route: str, status: int, seconds: float) -> None:
        """Add the span of a request that has just ended; it continues the trace that the headers name, if any."""
        end = time.time_ns()
        span = self._tracer.start_span(
            f"{method} {route}",
            context=self._propagator.extract(dict(headers)),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method, "http.route": route, "http.response.status_code": status},
            start_time=end - round(seconds * 1e9),
        )
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        span.end(end)

    def close(self) -> None:
        """Send what waits, and end the thread."""
        self._provider.shutdown()


def _traces_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address:
        raise InvalidInput(f"{show(url)} is no address of a collector; give one such as http://127.0.0.1:4318")
    return url if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}{TRACES_PATH}"
