"""Spans of requests, read by a collector in the test, as OpenTelemetry's own exporter sends them."""

import gzip
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ecphora.errors import InvalidInput
from ecphora.remote.server.tracing import RequestTracer

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector:
    """A collector on a free port, and what it was sent."""

    def __init__(self) -> None:
        received = self.received = list[tuple[str, ExportTraceServiceRequest]]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                received.append((self.path, ExportTraceServiceRequest.FromString(body)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def spans(self) -> list[Any]:
        return [
            span
            for _, request in self.received
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.mark.medium
def test_spans_of_requests_reach_the_collector(make_server: Callable[..., Any], collector: Collector) -> None:
    with make_server(tracer=RequestTracer(collector.url)) as server:
        token = server.token("ana-scope")
        trace = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        server.post("/v1/remember", {"content": "I moved to Porto."}, token=token, scope="ana-scope", headers=trace)
        server.get("/nowhere/secret", token=token)
    assert {path for path, _ in collector.received} == {"/v1/traces"}
    remember, unknown = collector.spans
    assert remember.name == "POST /v1/remember"
    assert (remember.trace_id.hex(), remember.parent_span_id.hex()) == (TRACE, PARENT)
    attributes = {one.key: one.value for one in remember.attributes}
    assert attributes["http.route"].string_value == "/v1/remember"
    assert attributes["http.response.status_code"].int_value == 200
    assert 0 < remember.end_time_unix_nano - remember.start_time_unix_nano < 60e9
    assert unknown.name == "GET unknown"
    sent = b"".join(request.SerializeToString() for _, request in collector.received)
    assert not any(private.encode() in sent for private in ("Porto", "ana-scope", token, "secret"))


@pytest.mark.medium
def test_failure_is_marked_in_the_span(collector: Collector) -> None:
    tracer = RequestTracer(f"{collector.url}/v1/traces")
    for status in (404, 500):
        tracer.add({}, "POST", "/v1/recall", status, 0.5)
    tracer.close()
    assert [span.status.code for span in collector.spans] == [0, 2]
    assert [round((one.end_time_unix_nano - one.start_time_unix_nano) / 1e9, 3) for one in collector.spans] == [
        0.5,
        0.5,
    ]


@pytest.mark.parametrize("url", ["", "collector:4318", "ftp://127.0.0.1", "http://", "http://[::1"])
def test_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="no address of a collector"):
        RequestTracer(url)


@pytest.mark.medium
def test_collector_on_the_loopback_is_sent_spans_directly(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    tracer = RequestTracer(collector.url)
    tracer.add({}, "GET", "/health", 200, 0.001)
    tracer.close()
    assert [span.name for span in collector.spans] == ["GET /health"]
