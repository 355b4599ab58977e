"""What sends the requests of a client: a package, or an HTTP client of the user's."""

from typing import Any

import pytest

from ecphora import InvalidInput, connect, connect_async


def test_client_of_another_package_is_refused() -> None:
    class Client:
        __module__, __qualname__ = "httpx", "Client"

    wanted = r"http_client is a httpx\.Client; give an httpx2\.{}, or None"
    other: Any = Client()
    with pytest.raises(InvalidInput, match=wanted.format("Client")):
        connect("http://127.0.0.1:1", http_client=other)
    with pytest.raises(InvalidInput, match=wanted.format("AsyncClient")):
        connect_async("http://127.0.0.1:1", http_client=other)
