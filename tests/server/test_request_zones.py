"""Where the user of a request is: by the header, else by the token, else by the server."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from ecphora.remote.server.access_control import AccessPolicy

from .conftest import Server

KIRITIMATI = "Pacific/Kiritimati"
LISBON = "Europe/Lisbon"


def remember(server: Server, token: str, scope: str, zone: str | None = None) -> str:
    """The time that comes back of a memory that happened at half past midnight."""
    headers = {} if zone is None else {"Ecphora-Zone": zone}
    body = {"content": "I came home.", "happened_at": "2026-03-02T00:30"}
    made = server.post("/v1/remember", body, token=token, scope=scope, headers=headers)
    assert made.status_code == 200, made.text
    found = server.post("/v1/get", {"id": made.json()["ids"][0]}, token=token, scope=scope)
    happened_at: str = found.json()["happened_at"]
    return happened_at


@pytest.mark.parametrize(
    ("token_zone", "header", "expected"),
    [
        (None, None, "2026-03-02T00:30:00+00:00"),
        (None, KIRITIMATI, "2026-03-02T00:30:00+14:00"),
        (KIRITIMATI, None, "2026-03-02T00:30:00+14:00"),
        (KIRITIMATI, "America/St_Johns", "2026-03-02T00:30:00-03:30"),
        (KIRITIMATI, "UTC", "2026-03-02T00:30:00+00:00"),
    ],
)
@pytest.mark.medium
def test_time_without_offset_is_local_to_the_user(
    server: Server, scope: str, token_zone: str | None, header: str | None, expected: str
) -> None:
    server.counter += 1
    token = server.tokens.create(f"zone {server.counter}", scopes=[scope], zone=token_zone)
    assert remember(server, token, scope, header) == expected


@pytest.mark.medium
def test_day_of_a_filter_is_that_of_the_user(server: Server, scope: str, token: str) -> None:
    remember(server, token, scope, KIRITIMATI)
    day = {"where": {"after": "2026-03-02", "before": "2026-03-03"}}
    for path, body in (("count", day), ("recall", {"question": "home?", **day}), ("find", day)):
        found = [
            json.dumps(server.post(f"/v1/{path}", body, token=token, scope=scope, headers=headers).json())
            for headers in ({}, {"Ecphora-Zone": KIRITIMATI})
        ]
        assert [answer == "1" or "I came home." in answer for answer in found] == [False, True], path


@pytest.mark.medium
def test_zone_counts_for_recalls_and_exports(server: Server, scope: str, token: str) -> None:
    remember(server, token, scope)
    headers = {"Ecphora-Zone": "Asia/Kathmandu"}
    answer = server.post("/v1/recall", {"question": "home?"}, token=token, scope=scope, headers=headers)
    assert answer.json()["query"]["now"].endswith("+05:45")
    exported = server.post("/v1/export", {}, token=token, scope=scope, headers=headers).text
    assert json.loads(exported.splitlines()[0])["exported_at"].endswith("+05:45")


@pytest.mark.medium
def test_zones_of_requests_do_not_mix(server: Server, scope: str, token: str) -> None:
    for zone, offset in ((KIRITIMATI, "+14:00"), (None, "+00:00"), (LISBON, "+00:00"), (KIRITIMATI, "+14:00")):
        headers = {} if zone is None else {"Ecphora-Zone": zone}
        found = server.post("/v1/recall", {"question": "home?"}, token=token, scope=scope, headers=headers).json()
        assert found["query"]["now"].endswith(offset), zone


@pytest.mark.parametrize("zone", ["", "Nowhere", "+02:00", "../../etc/passwd", "/etc/passwd", "x" * 4000, "Europe"])
@pytest.mark.medium
def test_unknown_zone_is_refused(server: Server, scope: str, token: str, zone: str) -> None:
    answer = server.post("/v1/count", {}, token=token, scope=scope, headers={"Ecphora-Zone": zone})
    assert answer.status_code == 400
    assert "no time zone is called" in answer.json()["error"]["message"]


@pytest.mark.medium
def test_second_zone_is_refused(server: Server, scope: str, token: str) -> None:
    headers = [("Authorization", f"Bearer {token}"), ("Ecphora-Zone", LISBON), ("Ecphora-Zone", KIRITIMATI)]
    answer = server.client.post("/v1/count", json={}, params={"scope": scope}, headers=headers)
    assert answer.status_code == 400
    assert "ecphora-zone twice" in answer.json()["error"]["message"]


@pytest.mark.medium
def test_zone_of_a_request_is_in_the_document(server: Server) -> None:
    paths = server.app.openapi()["paths"]
    names = {
        path: [one["name"] for one in call["post"].get("parameters", ())]
        for path, call in paths.items()
        if "post" in call
    }
    assert {path for path, given in names.items() if "Ecphora-Zone" in given} == {
        path for path, given in names.items() if "scope" in given
    }
    assert "Ecphora-Zone" in names["/v1/remember"]


@pytest.mark.medium
def test_page_may_send_a_zone(make_server: Callable[..., Any]) -> None:
    with make_server(policy=AccessPolicy(None, origins=["http://page"])) as pages:
        asked = {"Origin": "http://page", "Access-Control-Request-Method": "POST"}
        answer = pages.client.options(
            "/v1/count", headers={**asked, "Access-Control-Request-Headers": "content-type,ecphora-zone"}
        )
        assert answer.status_code == 200
