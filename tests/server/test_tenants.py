"""One token against the others, on a real server: what it sends must not stop them."""

import contextlib
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from ecphora.remote.server.tokens import Tokens

from .test_serving import post, serve

pytestmark = pytest.mark.slow

PATIENCE = 20.0
"""Seconds in which a request of another token must be answered."""


@contextlib.contextmanager
def serve_two(folder: Path, *options: str) -> Iterator[tuple[httpx2.Client, str, str]]:
    """A server process, and the tokens of an attacker and of somebody else."""
    db = folder / "agent.db"
    tokens = Tokens(db)
    attacker, other = tokens.create("attacker", scopes=["a"]), tokens.create("other", scopes=["b"])
    with serve(db, "--rate-limit", "0", *options) as (_process, client, _lines):
        client.timeout = httpx2.Timeout(PATIENCE)
        post(client, other, "/v1/remember", {"content": "The key is under the mat."}, "b").raise_for_status()
        yield client, attacker, other


def send_head(client: httpx2.Client, token: str, path: str, length: int) -> socket.socket:
    """A connection on which the head of a request was sent, and the first byte of its body."""
    url = httpx2.URL(client.base_url)
    connection = socket.create_connection((url.host, url.port or 80), timeout=PATIENCE)
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
    )
    connection.sendall(("\r\n".join(lines) + "\r\n\r\n\n").encode())
    return connection


def recall(client: httpx2.Client, token: str) -> str:
    """What somebody else is told meanwhile."""
    answer = post(client, token, "/v1/recall", {"question": "Where is the key?", "rerank": "never"}, "b")
    answer.raise_for_status()
    text: str = answer.json()["hits"][0]["text"]
    return text


def test_requests_of_many_items_are_refused_and_leave_others_alone(tmp_path: Path) -> None:
    body = json.dumps({"content": ["x"] * 300_000, "dry_run": True}).encode()
    with serve_two(tmp_path) as (client, attacker, other), ThreadPoolExecutor(8) as pool:
        headers = {"Authorization": f"Bearer {attacker}", "Content-Type": "application/json"}
        sent = [
            pool.submit(client.post, "/v1/remember?scope=a", content=body, headers=headers, timeout=300)
            for _ in range(8)
        ]
        assert recall(client, other) == "The key is under the mat."
        answers = [one.result() for one in sent]
    assert [answer.status_code for answer in answers] == [413] * 8
    assert "more than 10,000 items together" in answers[0].json()["error"]["message"]


def test_imports_that_drip_leave_threads_to_others(tmp_path: Path) -> None:
    with (
        serve_two(tmp_path, "--threads", "2") as (client, attacker, other),
        contextlib.ExitStack() as connections,
    ):
        for _ in range(2):
            connections.enter_context(send_head(client, attacker, "/v1/import?scope=a", 1000))
        export = post(client, other, "/v1/export", scope="b")
        assert "The key is under the mat." in export.text


def test_slow_bodies_leave_requests_to_others(tmp_path: Path) -> None:
    with serve_two(tmp_path) as (client, attacker, other), contextlib.ExitStack() as connections:
        opened = [
            connections.enter_context(send_head(client, attacker, "/v1/remember?scope=a", 1000)) for _ in range(270)
        ]
        refused = opened[-1].recv(100)  # so the places of the attacker are taken
        assert recall(client, other) == "The key is under the mat."
        assert refused.startswith(b"HTTP/1.1 429 ")
