"""A connection to an Ecphora server: requests, retries, and errors as the server's memory raised them.

Needs the extra ``[client]``.
"""

import importlib
import json
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import tzinfo
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from ... import errors
from ...errors import AccessDenied, EcphoraError, InvalidInput, ServerError, ServerUnavailable
from ...model.reprs import show
from ...model.times import check_zone, zone_name
from ...model.validation import check_count, check_number, check_string
from ...models.http_client import HTTPRoute, check_size, find_route, read_answer
from ..wire import from_json

if TYPE_CHECKING:  # an extra
    import httpx2

MAX_RETRY_WAIT = 30.0
"""The longest pause before a retry, in seconds, even if the server asks for a longer one."""
MAX_CONNECTIONS = 100
"""The connections of one client at the same time."""
KEEPALIVE_SECONDS = 15.0
"""Seconds for which an unused connection is kept: less than servers keep one, so that none closes under a request."""
DENIED_STATUSES = frozenset({401, 403})
REFUSED_STATUS, BUSY_STATUS = 429, 503
"""The statuses after which a request is sent again, the second only if doing it twice is harmless."""


class ServerConnection:
    """Sends the requests of one client. Safe to share between threads.

    ``timeout`` is in seconds: the longest wait to connect, and for each part of an answer. ``http_client`` replaces the
    ``httpx2.Client``, which is then not closed; ``route`` is the way that it takes. ``sleep`` takes seconds.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        timeout: float,
        retries: int,
        zone: str | tzinfo | None = None,
        http_client: "httpx2.Client | None" = None,
        route: HTTPRoute | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = check_url(url)
        self._headers = {**_authorization(token), **_zone_header(zone)}
        self._timeout = check_number("timeout", timeout, above=0)
        self._retries = check_count("retries", retries, minimum=0)
        self._sleep = sleep
        self._httpx2 = import_httpx2()
        check_client(http_client, self._httpx2.Client)
        self._owns_client = http_client is None
        self._route = route or (find_route(self.url) if http_client is None else HTTPRoute())
        self._client = http_client
        self._is_closed = False
        self._lock = Lock()

    def call(self, path: str, arguments: Mapping[str, Any], *, scope: str | None, is_repeatable: bool) -> Any:
        """Call a method of the server's memory with JSON arguments; return the JSON of its result."""
        with self.open(
            "POST", path, scope=scope, content=json.dumps(arguments).encode(), is_repeatable=is_repeatable
        ) as response:
            return self.parse(self.read(response))

    def get(self, path: str) -> Any:
        """Fetch the JSON at a path."""
        with self.open("GET", path, is_repeatable=True) as response:
            return self.parse(self.read(response))

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        *,
        scope: str | None = None,
        parameters: Mapping[str, str] | None = None,
        content: bytes | Iterable[bytes] = b"",
        content_type: str = "application/json",
        is_repeatable: bool = False,
        is_long: bool = False,
    ) -> Iterator["httpx2.Response"]:
        """Send a request; yield its answer, of which only the head has been read. Raises the server's error.

        There is no limit to the wait for the answer of a long one.
        """
        request = self._client_for_call().build_request(
            method,
            f"{self.url}/v1/{path}",
            params={**({} if scope is None else {"scope": scope}), **(parameters or {})},
            headers={**self._headers, **({"Content-Type": content_type} if content else {})},
            content=content or None,
            timeout=self._httpx2.Timeout(self._timeout, read=None if is_long else self._timeout),
        )
        is_stream = not isinstance(content, bytes)  # which is used up once it was sent
        response = self._send(request, retries=0 if is_stream else self._retries, is_repeatable=is_repeatable)
        try:
            yield response
        except self._httpx2.TransportError as error:
            raise self._unavailable(error, "the answer broke off") from error
        finally:
            response.close()

    def _send(self, request: "httpx2.Request", *, retries: int, is_repeatable: bool) -> "httpx2.Response":
        """Send a request, again where that is safe; return an answer of success."""
        httpx2 = self._httpx2
        for attempt in range(retries + 1):
            is_last, wait = attempt == retries, min(2.0**attempt / 4, MAX_RETRY_WAIT)
            try:
                response = self._client_for_call().send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError) as error:
                # nothing was sent
                if is_last:
                    raise self._unavailable(error, "cannot be reached") from error
            except httpx2.TimeoutException as error:
                raise self._unavailable(error, f"did not answer within {self._timeout:g} s") from error
            except httpx2.TransportError as error:
                if is_last or not is_repeatable:
                    raise self._unavailable(error, "closed the connection") from error
            else:
                if response.is_success:
                    return response
                failure = self._read_failure(response)
                retry_after = response.headers.get("retry-after", "")
                status = response.status_code
                may_repeat = status == REFUSED_STATUS or (status == BUSY_STATUS and is_repeatable)
                if is_last or not may_repeat or not retry_after.isdecimal():
                    raise failure
                wait = min(float(retry_after), MAX_RETRY_WAIT)
            self._sleep(wait)
        raise AssertionError  # the last attempt returns or raises

    def read(self, response: "httpx2.Response") -> bytes:
        """The whole of an answer; raises ``ServerError`` for an answer that is too large."""
        return read_answer(response, f"the server at {self.url}", ServerError)

    def lines(self, response: "httpx2.Response") -> Iterator[bytes]:
        """The lines of an answer as they arrive, without their ends. Only a line feed ends a line.

        Raises ``ServerError`` for a line that is too large.
        """
        pending: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            first, *rest = part.split(b"\n")
            pending.append(first)
            size += len(first)
            check_size(size, f"the server at {self.url}", ServerError)
            if rest:
                yield b"".join(pending)
                yield from rest[:-1]
                pending, size = [rest[-1]], len(rest[-1])
        if last := b"".join(pending):
            yield last

    def parse(self, text: bytes) -> Any:
        """The JSON of an answer, or of a line of it."""
        try:
            return json.loads(text)
        except ValueError as error:
            raise ServerError(
                f"the server at {self.url} answered{self._route.words} with something else than JSON; is it an "
                "Ecphora server?"
            ) from error

    def decode(self, hint: Any, data: object) -> Any:
        """The value of a type that the JSON of an answer stands for."""
        try:
            return from_json(hint, data)
        except InvalidInput as error:
            raise ServerError(
                f"the answer of the server at {self.url} cannot be read: {error}; use the same version of ecphora on "
                "both sides"
            ) from error

    def close(self) -> None:
        """Close the connections; closing twice is harmless."""
        with self._lock:
            self._is_closed = True
            if self._client is not None and self._owns_client:
                self._client.close()
            self._client = None

    def _client_for_call(self) -> "httpx2.Client":
        with self._lock:
            if self._is_closed:
                raise ServerUnavailable("this memory was used after close(); connect again")
            if self._client is None:
                limits = connection_limits(self._httpx2)
                client: httpx2.Client = self._route.open_client(self._httpx2.Client, ServerUnavailable, limits=limits)
                self._client = client
                weakref.finalize(self, client.close)
            return self._client

    def _read_failure(self, response: "httpx2.Response") -> EcphoraError:
        """The error that an answer stands for."""
        try:
            entry = json.loads(self.read(response))["error"]
            kind, message = str(entry["type"]), str(entry["message"])
        except (ValueError, TypeError, KeyError):
            text = f"the server at {self.url} answered {response.status_code}{self._route.words} without an error of"
            return ServerError(f"{text} Ecphora; is it an Ecphora server?")
        except self._httpx2.TransportError as error:
            return self._unavailable(error, "the answer broke off")
        except ServerError as error:
            return error
        finally:
            response.close()
        if response.status_code in DENIED_STATUSES:
            return AccessDenied(f"{message}; check the token, its scopes and its rights: ecphora token list")
        return error_of(kind, message)

    def _unavailable(self, error: Exception, problem: str) -> ServerUnavailable:
        cause = str(error) or type(error).__name__
        hint = self._route.hint("check the address, and that it runs: ecphora serve")
        return ServerUnavailable(f"the server at {self.url} {problem}{self._route.words} ({cause}); {hint}")


def connection_limits(module: ModuleType) -> "httpx2.Limits":
    """How many connections a client of httpx2 has, and how long it keeps unused ones."""
    return cast("httpx2.Limits", module.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=KEEPALIVE_SECONDS))


def error_of(kind: str, message: str) -> EcphoraError:
    """The error of a type's name: that class, or ``ServerError`` if it is none of this package."""
    cls = getattr(errors, kind, None)
    if isinstance(cls, type) and issubclass(cls, EcphoraError):
        return cls(message)
    return ServerError(f"{kind}: {message}")


def check_url(value: object) -> str:
    """Check the address of a server; return it without a slash at the end."""
    url = check_string("url", value).strip().rstrip("/")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise InvalidInput(
            f"url is {show(value)}, which is no address ({error}); give http://127.0.0.1:8765"
        ) from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidInput(f"url is {show(value)}; give the address of a server, such as http://127.0.0.1:8765")
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidInput("url has a user name, a query or a fragment; give the address alone, and the token as token")
    return url


def check_client(client: object, expected: type) -> None:
    """Check an HTTP client of the user's: an instance of the class, or None."""
    if not isinstance(client, expected | None):
        given = f"{type(client).__module__}.{type(client).__qualname__}"
        raise InvalidInput(f"http_client is a {given}; give an httpx2.{expected.__name__}, or None")


def _authorization(token: object) -> dict[str, str]:
    """The header that carries a token, which no error shows."""
    if token is None:
        return {}
    if not isinstance(token, str):
        raise InvalidInput(f"the token is a {type(token).__name__}; give a str, or None for a server without tokens")
    if not token.strip() or not token.isascii() or not token.isprintable():
        raise InvalidInput("the token is empty or holds characters that cannot be sent; was a line end copied with it?")
    return {"Authorization": f"Bearer {token.strip()}"}


def _zone_header(zone: str | tzinfo | None) -> dict[str, str]:
    """The header that says where the user is; none for the zone of the token or server."""
    if zone is None:
        return {}
    name = zone_name(check_zone(zone))
    if name is None:
        raise InvalidInput(f"zone is {show(zone)}, which has no name; give one of the tz database: 'Europe/Berlin'")
    return {"Ecphora-Zone": name}


def import_httpx2() -> ModuleType:
    """The package httpx2; raises ``ServerUnavailable`` if it is missing."""
    try:
        return importlib.import_module("httpx2")
    except ImportError as error:
        raise ServerUnavailable(f"{error}; install it with: pip install 'ecphora[client]'") from error
