"""A TCP proxy before a server, which loses a connection at its COMMIT: before the server has it, or its answer."""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Literal, Self

from psycopg.conninfo import conninfo_to_dict

When = Literal["before", "after"]


class LossyProxy:
    """Forwards to the server of a URL. ``lose`` has what the next connections that commit lose, one entry each."""

    def __init__(self, url: str) -> None:
        parts = conninfo_to_dict(url)
        self._server = str(parts["host"]), int(str(parts["port"]))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = url.replace(f":{parts['port']}", f":{self._listener.getsockname()[1]}")
        self.lose: list[When] = []
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            loses_answer = threading.Event()
            threading.Thread(target=self._forward, args=(client, server, loses_answer), daemon=True).start()
            threading.Thread(target=self._answer, args=(server, client, loses_answer), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket, loses_answer: threading.Event) -> None:
        while data := _receive(client):
            if b"COMMIT\0" in data and self.lose:
                self.lost += 1
                if self.lose.pop(0) == "before":
                    break
                loses_answer.set()
            server.sendall(data)
        _close(client, server)

    def _answer(self, server: socket.socket, client: socket.socket, loses_answer: threading.Event) -> None:
        while data := _receive(server):
            if loses_answer.is_set():  # the server has done it
                break
            try:
                client.sendall(data)
            except OSError:
                break
        _close(client, server)


def _receive(source: socket.socket) -> bytes:
    try:
        return source.recv(1 << 16)
    except OSError:
        return b""


def _close(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
