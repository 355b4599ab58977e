"""Metrics in the text format of Prometheus: requests by route and status, their latency, open scopes, jobs."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping

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
