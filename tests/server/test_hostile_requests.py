"""Requests that are made to be read in two ways, or to break what reads them."""

import gzip
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ecphora.remote.server.addresses import host_name

from .conftest import Server


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Authorization", ("Bearer {token}", "Bearer ecp_other")),
        ("Authorization", ("Bearer {token}", "Bearer {token}")),
        ("Host", ("127.0.0.1", "evil.example")),
        ("Origin", ("http://localhost", "https://evil.example")),
        ("Content-Type", ("application/json", "text/plain")),
        ("Content-Length", ("2", "2")),
    ],
)
def test_header_that_is_there_twice_is_refused(
    name: str, values: tuple[str, str], server: Server, scope: str, token: str
) -> None:
    headers = [("Authorization", f"Bearer {token}")] if name != "Authorization" else []
    headers += [(name, value.format(token=token)) for value in values]
    answer = server.client.post("/v1/count", params={"scope": scope}, headers=headers, content=b"{}")
    assert answer.status_code == 400
    assert f"the header {name.lower()} twice" in answer.json()["error"]["message"]
    assert answer.headers["connection"] == "close"


def test_two_lengths_of_a_body_are_refused(server: Server, scope: str, token: str) -> None:
    headers = {"Content-Length": "2", "Transfer-Encoding": "chunked"}
    answer = server.post("/v1/count", token=token, scope=scope, headers=headers, content=b"{}")
    assert answer.status_code == 400
    assert "both Content-Length and Transfer-Encoding" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "host",
    ["localhost:80@evil.example", "localhost@evil.example", "localhost/x", "localhost:x", "[::1", "[::1]x",
     "local host", "localhost:80:80", "[localhost]", "127.0.0.1\tx"],
)  # fmt: skip
def test_host_that_is_malformed_has_no_name(host: str) -> None:
    assert host_name(host) not in {"localhost", "127.0.0.1", "::1"}


@pytest.mark.parametrize(
    "content",
    [
        b'{"content": ' + b"[" * 200_000,
        b'{"content": "x", "metadata": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
        b'{"content": "x", "metadata": {"a": NaN}}',
        b'{"content": "x", "metadata": {"\\ud800": 1}}',
        b'{"content": "\\ud800"}',
        b'{"content": "\xff"}',
        b'{"content": ' + b"9" * 5000 + b"}",
        gzip.compress(b'{"content": "' + b"x" * 10_000_000 + b'"}'),
        b'["content"]',
        b"null",
    ],
    ids=["deep list", "deep object", "NaN", "surrogate key", "surrogate", "not UTF-8", "long number", "gzip", "list",
         "null"],
)  # fmt: skip
def test_body_that_cannot_be_read_is_refused_and_writes_nothing(
    content: bytes, server: Server, scope: str, token: str
) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip" if content[:2] == b"\x1f\x8b" else "x"}
    answer = server.post("/v1/remember", token=token, scope=scope, content=content, headers=headers)
    assert (answer.status_code, answer.json()["error"]["type"][:7]) == (400, "Invalid")
    assert len(answer.content) < 1000
    assert server.post("/v1/count", token=token, scope=scope).json() == 0


@pytest.mark.medium
def test_token_that_is_revoked_meanwhile_is_refused_from_then_on(server: Server, scope: str) -> None:
    token, name = server.token(scope), f"token {server.counter}"
    is_revoked = threading.Event()

    def ask(_number: int) -> tuple[bool, int]:
        was_revoked = is_revoked.is_set()
        return was_revoked, server.post("/v1/count", token=token, scope=scope).status_code

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, number) for number in range(20)]
        server.tokens.revoke(name)
        is_revoked.set()
        asked += [pool.submit(ask, number) for number in range(8)]
        statuses = [one.result() for one in asked]
    assert {status for _, status in statuses} <= {200, 401}
    assert {status for was_revoked, status in statuses if was_revoked} == {401}


def test_answer_repeats_no_line_end(server: Server, token: str) -> None:
    for path in ("/v1/jobs/a%0d%0aSet-Cookie:%20x", "/v1/count?scope=a%0d%0aX-Evil:%201", "/v1/a%0d%0ab"):
        answer: Any = server.get(path, token=token)
        assert not {"set-cookie", "x-evil"} & {name.lower() for name in answer.headers}
    assert all(json.loads(line) for line in server.lines)
