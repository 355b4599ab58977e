"""Metrics in the text format of Prometheus: requests by route and status, their latency, open scopes, jobs."""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
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


# ---- tracing
#
# Spans of requests for an OpenTelemetry collector of the user's own. Without the address of one there are none.
#
# A span has the method, the route, the status and the duration of a request: no text, no name of a scope, no token.

TRACES_PATH = "/v1/traces"
"""The path of a collector that takes spans over HTTP, if the address has none."""
EXPORT_SECONDS = 5
"""Seconds that a collector has to take the spans; what it does not take is dropped."""


class RequestTracer:
    """Sends a span of each request to a collector, in a thread of its own, so that no request waits for it.

    ``url`` is the address of the collector, such as ``http://127.0.0.1:4318``. Raises ``InvalidInput`` for one that is
    no HTTP address.
    """

    def __init__(self, url: str) -> None:
        self._provider = TracerProvider(
            resource=Resource({SERVICE_NAME: "ecphora", SERVICE_VERSION: __version__}), shutdown_on_exit=False
        )
        endpoint, session = _traces_url(url), requests.Session()
        session.trust_env = not is_loopback(urlsplit(endpoint).hostname or "")  # no proxy reaches the loopback
        exporter = OTLPSpanExporter(endpoint=endpoint, timeout=EXPORT_SECONDS, session=session)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("ecphora.remote.server", __version__)
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
