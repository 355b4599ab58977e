"""What Serve's proxy does with a request: the scope in a header, and the answer for a replica that ended."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import Receive, Scope, Send

from ecphora.errors import InvalidInput
from ecphora.remote.ray.routing import ScopeRouting
from ecphora.remote.ray.session import check_ray

OWN = {"X-Content-Type-Options": "nosniff", "X-Request-Id": "ours"}


def call(app: Any, path: str = "/v1/recall", method: str = "POST", **options: Any) -> Any:
    async def send() -> Any:
        transport = httpx2.ASGITransport(app=ScopeRouting(app), raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request(method, path, **options)

    return asyncio.run(send())


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the headers that name a model."""
    names = [(name.decode(), value.decode()) for name, value in scope["headers"] if b"multiplexed" in name]
    await JSONResponse(names, headers=OWN)(scope, receive, send)


@pytest.mark.parametrize(
    ("path", "method", "expected"),
    [
        ("/v1/recall?scope=ana", "POST", ["ana"]),
        ("/v1/recall?scope=%C3%A5sa", "POST", ["åsa"]),
        ("/v1/recall", "POST", ["default"]),
        ("/v1/recall?scope=a&scope=b", "POST", []),
        (f"/v1/recall?scope={'x' * 10_000}", "POST", []),
        ("/health", "GET", []),
    ],
)
def test_scope_is_the_model_whatever_the_client_says(path: str, method: str, expected: list[str]) -> None:
    for name in ("serve_multiplexed_model_id", "Serve-Multiplexed-Model-Id"):
        answer = call(echo, path, method, headers={name: "other"})
        assert [value for _, value in answer.json()] == expected


def test_answers_of_the_application_stay_as_they_are() -> None:
    async def fail(scope: Scope, receive: Receive, send: Send) -> None:
        raw = [(b"x-request-id", b"of serve")]
        answer = JSONResponse({"error": 1}, 500, OWN)
        answer.raw_headers.extend(raw)
        await answer(scope, receive, send)

    answer = call(fail)
    assert (answer.status_code, answer.json(), answer.headers.get_list("x-request-id")) == (500, {"error": 1}, ["ours"])


async def answer_as_serve(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("Internal Server Error", 500)(scope, receive, send)


async def raise_as_serve(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("the actor died")


async def return_as_serve(scope: Scope, receive: Receive, send: Send) -> None:
    """Return without an answer, as Serve does when a replica ends under a request."""


@pytest.mark.parametrize("app", [answer_as_serve, raise_as_serve, return_as_serve])
def test_a_replica_that_ended_is_answered_for(app: Any) -> None:
    answer = call(app)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert answer.json()["error"]["type"] == "ServerUnavailable"


@pytest.mark.parametrize("is_folder", [True, False])
def test_ray_that_is_missing(is_folder: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ray").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)] if is_folder else [])
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    with pytest.raises(InvalidInput, match=r"pip install 'ecphora\[ray\]'"):
        check_ray()
