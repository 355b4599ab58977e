"""Servers of models on the loopback, for tests: scripted responses, recorded requests."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self

Response = tuple[int, dict[str, str], Any]
"""A server's response: status, headers, and a text or any value to send as JSON."""
ScriptedResponse = Response | Any
"""A full response, or the content of a response of status 200."""


class FakeServer:
    """A server that answers ``POST`` requests to one path; a context manager.

    ``responses`` are given in turn, the last one forever: a full response of status, headers and content, the content
    alone, or a function of the request's body that returns either. ``requests`` records the bodies, ``authorizations``
    the authorization headers.
    """

    def __init__(self, path: str, *responses: ScriptedResponse | Callable[[dict[str, Any]], ScriptedResponse]) -> None:
        self.responses = list(responses)
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self._path = path
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, headers, content = server._respond(self.path, body, self.headers["Authorization"])
                sent = (content if isinstance(content, str) else json.dumps(content)).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(sent))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self.address = f"http://127.0.0.1:{self._http.server_port}"
        """The address without any path."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def complete_response(self, scripted: ScriptedResponse) -> Response:
        """A full response for a scripted response that may be its content alone."""
        return scripted if isinstance(scripted, tuple) else (200, {}, scripted)

    def _respond(self, path: str, body: dict[str, Any], authorization: str | None) -> Response:
        self.requests.append(body)
        self.authorizations.append(authorization)
        if path != self._path:
            return 404, {}, {"error": {"message": f"no such path: {path}"}}
        scripted = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        return self.complete_response(scripted(body) if callable(scripted) else scripted)
