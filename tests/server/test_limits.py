"""Limits: the size of a body, the rate of each token, requests in progress; and what the metrics count."""

import contextlib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ecphora.remote.server.admission import Limits, RateLimit
from ecphora.remote.server.failures import RequestError

from .conftest import Server


@pytest.mark.medium
def test_body_that_is_too_large_is_refused(make_server: Any) -> None:
    with make_server(limits=Limits(body_bytes=1000, import_bytes=2000, requests_per_second=0)) as server:
        token = server.token()
        headers = {"Content-Type": "application/json"}
        for content in (b'"' + b"x" * 999 + b'"', iter([b'"', b"x" * 600, b"x" * 600, b'"'])):
            answer = server.post("/v1/remember", token=token, content=content, headers=headers)
            assert (answer.status_code, answer.json()["error"]["type"]) == (413, "BodyTooLarge")
        assert server.post("/v1/remember", {"content": "x" * 900}, token=token).status_code == 200
        assert server.post("/v1/import", token=token, content=b"x" * 1500).status_code == 400  # it is read
        for content in (b"\n" * 2001, iter([b"x" * 1500, b"x" * 1500])):
            assert server.post("/v1/import", token=token, content=content).status_code == 413
        declared = {**headers, "Content-Length": "9" * 5000}
        assert server.post("/v1/remember", token=token, content=iter([b"x"]), headers=declared).status_code == 413
        assert server.post("/v1/count", token=token).json() == 1


@pytest.mark.slow
def test_token_that_sends_too_many_requests_waits(make_server: Any) -> None:
    with make_server(limits=Limits(requests_per_second=0.01, burst_seconds=300)) as server:
        busy, other = server.token(), server.token()
        statuses = [server.post("/v1/count", token=busy).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        answer = server.post("/v1/count", token=busy)
        assert answer.json()["error"]["type"] == "TooManyRequests"
        assert 0 < int(answer.headers["retry-after"]) <= 100
        assert server.post("/v1/count", token=other).status_code == 200
        assert server.client.get("/health").status_code == 200


@example(gaps=[0.3], rate=0.5, burst=1.0)
@given(gaps=st.lists(st.floats(0, 3), max_size=60), rate=st.floats(0.1, 20), burst=st.floats(0.1, 5))
def test_rate_limit_lets_through_its_rate_and_its_burst(gaps: list[float], rate: float, burst: float) -> None:
    now, passed = 0.0, 0
    limit = RateLimit(Limits(requests_per_second=rate, burst_seconds=burst), clock=lambda: now)
    for gap in gaps:
        now += gap
        with contextlib.suppress(RequestError):
            limit.take("a")
            passed += 1
    assert passed <= max(rate * burst, 1) + rate * now + 1e-6
    try:
        limit.take("a")
    except RequestError as error:
        now += float((error.headers or {})["Retry-After"])
        limit.take("a")  # after the time that was named, one passes


@pytest.mark.slow
def test_requests_beyond_those_in_progress_are_refused(make_server: Any) -> None:
    with make_server(limits=Limits(requests_in_progress=0, requests_per_second=0)) as server:
        answer = server.post("/v1/count", token=server.token())
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def parse(text: str) -> dict[str, float]:
    return {
        name: float(value) for name, _, value in (line.rpartition(" ") for line in text.splitlines()) if name[0] != "#"
    }


@pytest.mark.medium
def test_metrics_count_requests_scopes_and_jobs(server: Server, scope: str, token: str, remembered: list[str]) -> None:
    every = server.token(rights=("read",))
    ok = 'ecphora_requests_total{method="POST",route="/v1/get",status="200"}'
    before = parse(server.get("/metrics", token=every).text)
    for _ in range(3):
        server.post("/v1/get", {"id": remembered[0]}, token=token, scope=scope)
    server.client.get("/nothing/at/all", headers={"Authorization": f"Bearer {token}"})
    answer = server.get("/metrics", token=every)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    after = parse(answer.text)
    assert after[ok] - before.get(ok, 0) == 3
    route = 'ecphora_request_seconds_bucket{route="/v1/get",le='
    buckets = [value for name, value in after.items() if name.startswith(route)]
    assert buckets == sorted(buckets)
    count = 'ecphora_request_seconds_count{route="/v1/get"}'
    assert buckets[-1] == after[count] == before.get(count, 0) + 3
    assert after['ecphora_request_seconds_sum{route="/v1/get"}'] > 0
    assert after["ecphora_open_scopes"] >= 1
    assert after["ecphora_requests_in_progress"] == 1
    assert 'ecphora_jobs{state="running"}' in after
    assert 'route="unknown",status="404"' in answer.text
    assert scope not in answer.text


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/metrics", "/openapi.json"])
def test_document_and_metrics_are_for_tokens_alone(server: Server, path: str) -> None:
    assert server.client.get(path).status_code == 401
    assert server.get(path, token=server.token()).status_code == 200
