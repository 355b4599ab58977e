"""What Ray Serve's proxy does with each request before a replica gets it.

It names the scope as the request's model, so that a replica that has the scope open gets the request, and answers for a
replica that ended.
"""

import logging
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...errors import ServerUnavailable
from ...model.validation import MAX_NAME_CHARS
from ..server.failures import RETRY_SECONDS, answer_error

MODEL_HEADER = b"serve_multiplexed_model_id"
"""The header in which Serve's router reads which model a request needs."""
MODEL_HEADERS = frozenset({MODEL_HEADER, MODEL_HEADER.replace(b"_", b"-")})
OWN_HEADER = "x-content-type-options"
"""A header that every answer of the application has, and no answer of Serve's own."""
SERVER_ERROR = 500
_log = logging.getLogger("ecphora.remote.ray")


def proxy_middleware() -> list[Middleware]:
    """What Serve's proxy loads by ``RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH``."""
    return [Middleware(ScopeRouting)]


def scope_name(request: Scope) -> str | None:
    """The memory's scope that a request names, which only routes it: the application checks it; None for no scope."""
    if request["method"] != "POST":
        return None
    names = parse_qs(request["query_string"].decode("latin-1")).get("scope", ["default"])
    return names[0] if len(names) == 1 and len(names[0]) <= MAX_NAME_CHARS else None


class ScopeRouting:
    """A middleware of the proxy."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; what Serve itself answers with a failure is answered as the application answers one.

        The replica may have ended after it wrote, so the answer is 503 with ``Retry-After``: a client sends again what
        may be done twice.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = [(name, value) for name, value in scope["headers"] if name.lower() not in MODEL_HEADERS]
        if (name := scope_name(scope)) is not None:
            sent.append((MODEL_HEADER, name.encode("utf-8", "replace")))
        is_replaced = has_started = False

        async def send_answer(message: Message) -> None:
            nonlocal is_replaced, has_started
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=list(message.get("headers", [])))
                is_own = OWN_HEADER in headers
                is_replaced = message["status"] >= SERVER_ERROR and not is_own
                if is_own:
                    headers["X-Request-Id"] = headers["X-Request-Id"]  # without Serve's own, which no log of ours has
                    message["headers"] = headers.raw
            if not is_replaced:
                has_started = True
                await send(message)

        try:
            await self._app({**scope, "headers": sent}, receive, send_answer)
        except Exception:
            if has_started:
                raise  # the connection is closed, so that the answer does not look whole
            _log.exception("a replica did not answer")
        if not has_started:  # Serve answered with a failure, raised one, or returned without an answer
            answer = answer_error(
                ServerUnavailable("the replica ended before it answered; send the request again if that is harmless")
            )
            answer.headers["Retry-After"] = str(RETRY_SECONDS)
            await answer(scope, receive, send)
