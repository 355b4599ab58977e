"""Who may do what: no route answers without a token, and a token sees and changes nothing outside its scopes."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.routing import Route

from ecphora.models.http_client import is_loopback
from ecphora.remote.server.access_control import AccessPolicy
from ecphora.remote.server.addresses import host_name, is_origin

from .conftest import ALL_RIGHTS, Server, log_lines

SECRET = "Zanzibar7"  # noqa: S105  # a word
"""A word that only the other scope holds."""


ANY_TOKEN = frozenset({"/health", "/openapi.json", "/v1/scopes"})
"""The paths that have no scope, for every token."""


def routes(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Every method and path that the app answers."""
    for route in app.routes:
        assert isinstance(route, Route | APIRoute), f"{route} is of a kind that this test does not know"
        for method in sorted(route.methods or ()):
            yield method, re.sub(r"\{(\w+)(:\w+)?\}", r"some-\1", route.path)


@pytest.fixture(scope="module")
def secret(server: Server) -> dict[str, Any]:
    """A scope with memories, a job, and marks, of which another token may learn nothing."""
    name = "the secret scope"
    token = server.token(name, rights=ALL_RIGHTS)
    texts = [f"{SECRET} is the word.", f"Ana went to {SECRET} in May.", f"Ana went to {SECRET}-City in June."]
    ids = server.post("/v1/remember", {"content": texts}, token=token, scope=name).json()["created"]
    job = server.post("/v1/consolidate", {}, token=token, scope=name).json()["job"]
    while server.get(f"/v1/jobs/{job}", token=token).json()["state"] in {"waiting", "running"}:
        pass
    return {"scope": name, "token": token, "ids": ids, "job": job}


def export(server: Server, secret: dict[str, Any]) -> list[str]:
    """All that the secret scope holds, without the header, which has the time of the export."""
    lines = server.post("/v1/export", {}, token=secret["token"], scope=secret["scope"]).text.splitlines()
    return lines[1:]


@pytest.mark.medium
def test_every_route_but_health_needs_a_token(server: Server) -> None:
    answered = []
    for method, path in routes(server.app):
        for headers in ({}, {"Authorization": "Bearer ecp_wrong"}, {"Authorization": "Basic eDp5"}):
            answer = server.client.request(method, path, headers=headers, json={})
            if answer.status_code != 401:
                answered.append((method, path, answer.status_code))
            else:
                assert answer.headers["www-authenticate"] == "Bearer"
    assert set(answered) == {("GET", "/health", 200)}


def test_path_that_does_not_exist_needs_a_token_too(server: Server, token: str) -> None:
    assert server.client.get("/nothing").status_code == 401
    missing, wrong = server.get("/nothing", token=token), server.get("/v1/recall", token=token)
    assert (missing.status_code, wrong.status_code) == (404, 405)
    assert missing.json()["error"]["message"] == "there is no route '/nothing'; GET /openapi.json lists all routes"
    assert wrong.json()["error"]["message"].startswith("the route '/v1/recall' does not take GET; ")
    assert wrong.headers["allow"] == "POST"


ROUTE_BODIES: dict[str, Any] = {
    "id": "ID", "ids": ["ID"], "question": "What is the word?", "text": "changed", "mode": "replace", "content": "x",
    "old": "ID", "new": "ID2", "name": "Ana", "other": "Bo", "used_ids": ["ID"], "recollection": {},
    "messages": [{"role": "user", "content": "What is the word?"}],
}  # fmt: skip
"""An argument of each name; none has the secret word, so an answer that has it gives it away."""


def body_for(server: Server, path: str, secret: dict[str, Any]) -> dict[str, Any]:
    """A body with every required argument of a route, which names what the secret scope holds."""
    document: dict[str, Any] = server.app.openapi()
    operation = document["paths"].get(path, {}).get("post", {})
    reference = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    reference = next((one for one in reference.get("anyOf", [reference]) if "$ref" in one), {"$ref": ""})
    model: dict[str, Any] = document["components"]["schemas"].get(reference["$ref"].rpartition("/")[2], {})
    required: list[str] = model.get("required", [])
    text = json.dumps({name: ROUTE_BODIES[name] for name in required})
    body: dict[str, Any] = json.loads(text.replace("ID2", secret["ids"][1]).replace('"ID"', f'"{secret["ids"][0]}"'))
    return body


def parameters_of(server: Server, path: str) -> set[str]:
    """The parameters that a route takes in the address."""
    methods: dict[str, Any] = server.app.openapi()["paths"].get(path, {})
    return {one["name"] for method in methods.values() for one in method.get("parameters", ())}


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rights=st.sets(st.sampled_from(ALL_RIGHTS), min_size=1), is_own_scope=st.booleans())
def test_token_of_one_scope_learns_and_changes_nothing_of_another(
    server: Server, secret: dict[str, Any], rights: set[str], is_own_scope: bool
) -> None:
    before = export(server, secret)
    token = server.token("the scope beside it", rights=tuple(rights))
    scope = "the scope beside it" if is_own_scope else secret["scope"]
    for method, path in routes(server.app):
        answer = server.client.request(
            method,
            path.replace("some-id", secret["job"]),
            params={"scope": scope} if "scope" in parameters_of(server, path) else {},
            headers={"Authorization": f"Bearer {token}"},
            json=body_for(server, path, secret),
        )
        assert answer.status_code < 500, (method, path, answer.text)
        if path.startswith("/v1/jobs/"):
            assert answer.status_code == 404, path
        elif path in {"/metrics", "/v1/backup"} or (not is_own_scope and path not in ANY_TOKEN):
            assert answer.status_code == 403, path
        assert SECRET not in answer.text, path
        assert secret["scope"] not in answer.text, path
        assert secret["ids"][2] not in answer.text, path
    assert export(server, secret) == before


@pytest.mark.slow
@pytest.mark.parametrize("rights", [("read",), ("write",), ("read", "write"), ("admin",)], ids="+".join)
def test_rights_decide_which_routes_a_token_may_use(
    server: Server, scope: str, token: str, remembered: list[str], rights: tuple[str, ...]
) -> None:
    assert remembered
    limited = server.token(scope, rights=rights)
    secret = {"ids": remembered}
    adds = {"/v1/remember", "/v1/record-response", "/v1/feedback", "/v1/import"}
    changes = {"/v1/" + name for name in ("update", "forget", "consolidate", "facts/accept", "facts/reject")}
    changes |= {f"/v1/entities/{name}" for name in ("merge", "split")}
    changes |= {f"/v1/maintenance/{name}" for name in ("undo", "pin", "unpin", "archive", "unarchive")}
    for method, path in routes(server.app):
        if method != "POST" or path.startswith("/v1/jobs") or path == "/v1/backup":
            continue
        needed = {"write"} if path in adds else {"read", "write"} if path in changes else {"read"}
        content = {"content": b""} if path == "/v1/import" else {"body": body_for(server, path, secret)}
        named = scope if "scope" in parameters_of(server, path) else None
        options = {} if "body" in content else content
        answer = server.post(path, content.get("body"), token=limited, scope=named, **options)
        is_allowed = "admin" in rights or needed <= set(rights)
        assert (answer.status_code != 403) == is_allowed, (path, answer.text)


@pytest.mark.medium
def test_read_token_leaves_no_trace(server: Server, scope: str, remembered: list[str]) -> None:
    secret = {"scope": scope, "token": server.token(scope), "ids": remembered}
    before = export(server, secret)
    writer, reader = server.token(scope), server.token(scope, rights=("read",))
    for log_access in (True, False):
        body = {"question": "Where does Ana live?", "options": {"log_access": log_access}}
        assert server.post("/v1/recall", body, token=reader, scope=scope).status_code == 200
    messages = {"question": [{"role": "user", "content": "Where does Ana live?"}]}
    assert server.post("/v1/recall", messages, token=reader, scope=scope).status_code == 200
    assert server.post("/v1/answer", {"question": "Where does Ana live?"}, token=reader, scope=scope).status_code == 200
    assert export(server, secret) == before
    assert server.post("/v1/recall", {"question": "Ana?"}, token=writer, scope=scope).status_code == 200
    assert export(server, secret) != before  # with the right to write, a recall is logged


@pytest.mark.medium
def test_jobs_of_a_scope_need_the_right_to_it(server: Server, secret: dict[str, Any]) -> None:
    path = f"/v1/jobs/{secret['job']}"
    reader, writer = (server.token(secret["scope"], rights=(right,)) for right in ("read", "write"))
    assert server.get(path, token=reader).status_code == 200
    assert server.get(path, token=writer).status_code == 403
    assert server.post(path + "/cancel", token=reader).status_code == 403
    assert server.post(path + "/cancel", token=secret["token"]).json()["state"] == "done"


def test_revoked_token_is_refused_at_once(server: Server, scope: str) -> None:
    token = server.token(scope)
    assert server.post("/v1/count", token=token, scope=scope).status_code == 200
    server.tokens.revoke(f"token {server.counter}")
    assert server.post("/v1/count", token=token, scope=scope).status_code == 401


@pytest.mark.slow
def test_token_file_that_cannot_be_read_lets_nobody_in(make_server: Any) -> None:
    with make_server() as server:
        token = server.token()
        assert server.post("/v1/count", token=token).status_code == 200
        server.tokens.path.write_text("nonsense", encoding="utf-8")
        answer = server.post("/v1/count", token=token)
        assert answer.status_code == 503
        assert str(server.db.parent) not in answer.text
        assert server.client.get("/health").status_code == 200


def test_token_is_never_repeated(server: Server, token: str) -> None:
    for path, headers in (
        (f"/v1/{token}", {"Authorization": f"Bearer {token}"}),
        (f"/v1/jobs/{token}", {"Authorization": f"Bearer {token}"}),
        (f"/v1/count?scope={token}", {"Authorization": f"Bearer {token}"}),
        (f"/v1/count?token={token}", {}),
        (f"/v1/count?token={token}", {"Authorization": f"Bearer {token}"}),
        (f"/v1/count?{token}=1", {"Authorization": f"Bearer {token}"}),
        ("/v1/count", {"Authorization": token}),
        ("/v1/count", {"Authorization": f"bearer   {token}x"}),
        ("/v1/count", {"Authorization": f"Bearer {token}", "X-Request-Id": token}),
    ):
        answer = server.client.post(path, headers=headers)
        assert token not in answer.text + str(answer.headers)
    assert token not in "".join(server.lines)
    assert token not in server.get("/metrics", token=server.token()).text


@pytest.mark.parametrize("scope_name", ["", "x" * 513, " ", "\x00", "a/../b", "../../etc/passwd", "*", "🙂" * 100])
def test_name_of_a_scope_is_a_name_and_nothing_else(server: Server, scope_name: str) -> None:
    token = server.token("ana")
    assert server.post("/v1/count", token=token, scope=scope_name).status_code in {400, 403}
    everywhere = server.token()
    answer = server.post("/v1/count", token=everywhere, scope=scope_name)
    assert answer.status_code == (400 if not scope_name.strip() or len(scope_name) > 512 else 200)


def dict_of_lists(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    return {name: [value for one, value in pairs if one == name] for name, _ in pairs}


@pytest.mark.medium
def test_scope_that_is_named_twice_or_misspelled_is_refused(server: Server, secret: dict[str, Any]) -> None:
    token = server.token("ana")
    pairs: list[list[tuple[str, str]]] = [
        [("scope", "ana"), ("scope", secret["scope"])],
        [("scope", secret["scope"]), ("scope", "ana")],
        [("scope", "ana"), ("scope", "ana")],
        [("scop", "ana")],
    ]
    for params in pairs:
        headers = {"Authorization": f"Bearer {token}"}
        answer = server.client.post("/v1/count", params=dict_of_lists(params), headers=headers, json={})
        assert answer.status_code == 400


# ---- pages and names


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "localhost.evil.example"]
)
def test_request_by_another_name_is_refused(server: Server, token: str, host: str) -> None:
    answer = server.client.get("/health", headers={"Host": host, "Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (403, "Forbidden")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8765", "[::1]:8765", "[::1]", "localhost."])
def test_request_by_a_name_of_this_machine_is_answered(server: Server, host: str) -> None:
    assert server.client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:8765", ""])
def test_request_of_a_page_is_refused_unless_it_is_allowed(server: Server, token: str, origin: str) -> None:
    headers = {"Origin": origin, "Authorization": f"Bearer {token}"}
    answer = server.client.post("/v1/count", headers=headers)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers
    preflight = server.client.options("/v1/count", headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
    assert preflight.status_code == 403


@pytest.mark.slow
def test_page_that_is_allowed_may_send_requests(make_server: Any) -> None:
    page = "https://app.example"
    from ecphora.remote.server.tokens import Tokens  # noqa: PLC0415

    with make_server() as first:
        db = first.db
    tokens = Tokens(db)
    with make_server(db=db, policy=AccessPolicy(tokens, frozenset({page}), None)) as server:
        token = server.token()
        headers = {"Origin": page, "Authorization": f"Bearer {token}", "Host": "memory.example"}
        answer = server.client.post("/v1/count", headers=headers)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == page
        assert "access-control-allow-credentials" not in answer.headers
        refused = server.client.post("/v1/count", headers={"Origin": page})
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == page  # so that the page sees why
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        assert server.client.options("/v1/count", headers={"Origin": page, **asked}).status_code == 200
        private = server.client.options(
            "/v1/count", headers={"Origin": page, **asked, "Access-Control-Request-Private-Network": "true"}
        )
        assert (private.status_code, private.headers["access-control-allow-private-network"]) == (200, "true")
        other = server.client.options("/v1/count", headers={"Origin": "https://evil.example", **asked})
        assert other.status_code in {400, 403}
        assert "access-control-allow-origin" not in other.headers


@pytest.mark.medium
def test_server_without_tokens_lets_every_local_program_in_but_no_page(make_server: Any) -> None:
    with make_server(policy=AccessPolicy(None)) as server:
        assert server.client.post("/v1/remember", json={"content": "Ana moved."}).status_code == 200
        assert server.client.get("/metrics").status_code == 200
        for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            assert server.client.post("/v1/forget", json={"everything": True}, headers=headers).status_code == 403
        assert server.client.post("/v1/count").json() == 1


def test_every_answer_has_the_security_headers(server: Server, token: str) -> None:
    for answer in (
        server.client.get("/health"),
        server.client.get("/nothing"),
        server.post("/v1/count", token=token),
        server.post("/v1/recall", {}, token=token),
        server.client.get("/health", headers={"Host": "evil.example"}),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert re.fullmatch("[0-9a-f]{16}", answer.headers["x-request-id"])


@pytest.mark.medium
def test_access_log_has_no_texts(server: Server, scope: str, token: str, remembered: list[str]) -> None:
    start = len(server.lines)
    server.post("/v1/recall", {"question": f"Where is {SECRET}?"}, token=token, scope=scope)
    server.post("/v1/get", {"id": remembered[0]}, token=token, scope=scope)
    server.post("/v1/recall", {"question": ""}, token=token, scope=scope)
    server.client.get(f"/{SECRET}?{SECRET}", headers={"User-Agent": SECRET, "Authorization": f"Bearer {token}"})
    server.client.request(SECRET.upper(), "/v1/recall", headers={"Authorization": f"Bearer {token}"})
    lines = log_lines(server)[start:]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("POST", "/v1/recall", 200),
        ("POST", "/v1/get", 200),
        ("POST", "/v1/recall", 400),
        ("GET", "unknown", 404),
        ("OTHER", "/v1/recall", 405),
    ]
    assert {line["scope"] for line in lines[:3]} == {scope}
    assert all(line["ms"] > 0 for line in lines)
    text = "\n".join(server.lines[start:])
    assert SECRET.lower() not in text.lower()
    assert remembered[0] not in text
    assert "Ana" not in text


def test_host_names_are_read_without_ports() -> None:
    assert [host_name(host) for host in ("[::1]:80", "A.example:1", "", "[::1", "x")] == [
        "::1",
        "a.example",
        "",
        "",
        "x",
    ]
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example", "")] == [False] * 5  # noqa: S104


@pytest.mark.parametrize(
    "origin",
    ["*", "null", "https://app.example", "http://localhost:3000", "http://[::1]:3000", "http://127.0.0.1",
     "https://app.example:8443", "chrome-extension://abcdefgh"],
)  # fmt: skip
def test_origin_is_what_browsers_send(origin: str) -> None:
    assert is_origin(origin)


@pytest.mark.parametrize(
    "origin",
    ["", "app.example", "https://", "https://app.example/", "https://app.example/x", "https://App.example", "HTTPS://x",
     "https://user@app.example", "https://app.example:443", "http://localhost:80", "http://x:port", "https://x?y",
     "https://bücher.example", "*.example", "https://*.example", "https://x\n", "http://[::1", "Null"],
)  # fmt: skip
def test_address_that_no_browser_sends_as_an_origin_is_none(origin: str) -> None:
    assert not is_origin(origin)
