"""An HTTP client for a model behind a server: requests, retries and error messages.

The adapters build the request bodies and read the responses. Needs the extra ``[openai]``.
"""

import importlib
import ipaddress
import json
import os
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from ..errors import EcphoraError, InvalidInput
from ..model.reprs import show
from ..model.validation import check_count, check_name, check_number

if TYPE_CHECKING:
    import httpx2


MAX_ANSWER_BYTES = 256 << 20
"""The bytes of an answer, or of a line of a longer one, that are read into memory."""


def read_answer(response: "httpx2.Response", sender: str, error_type: type[EcphoraError]) -> bytes:
    """Read an answer of which only the head has been read; raises ``error_type`` for an answer that is too large."""
    content = bytearray()
    for part in response.iter_bytes():
        content += part
        check_size(len(content), sender, error_type)
    return bytes(content)


def check_size(size: int, sender: str, error_type: type[EcphoraError]) -> None:
    """Raise ``error_type`` if an answer, or a line of it, has more bytes than are read."""
    if size > MAX_ANSWER_BYTES:
        raise error_type(f"{sender} answers with more than {MAX_ANSWER_BYTES >> 20} MiB, which are not read")


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HTTPRoute:
    """The way to one host. ``proxy`` is the address of a proxy, None if there is none between."""

    host: str = ""
    proxy: str | None = field(default=None, repr=False)  # may hold a password
    source: str = ""
    """What names the proxy: a variable, or the settings of the system."""

    def open_client(self, client_type: Callable[..., T], error_type: type[EcphoraError], **options: Any) -> T:
        """An ``httpx2.Client`` or ``httpx2.AsyncClient`` that takes this way.

        Raises ``error_type`` if it cannot use the proxy.
        """
        import httpx2  # noqa: PLC0415  # an extra

        try:
            return client_type(proxy=self.proxy, trust_env=False, verify=_certificates(), **options)
        except ImportError as error:
            problem = "is a SOCKS proxy, which needs a further package; install it with: pip install 'httpx2[socks]'"
            raise error_type(f"{self._proxy_words} {problem}, or {self._bypass}") from error
        except (ValueError, httpx2.InvalidURL) as error:
            problem = "cannot be used; give http://HOST:PORT, or https, socks5 or socks5h in place of http"
            raise error_type(f"{self._proxy_words} {problem}, or {self._bypass}") from error

    @property
    def words(self) -> str:
        """What an error says of the way after its problem: empty if there is no proxy."""
        return f" through {self._proxy_words}" if self.proxy else ""

    def hint(self, direct: str) -> str:
        """What to do if a host cannot be reached; ``direct`` is that without a proxy."""
        return f"check the proxy, or {self._bypass}" if self.proxy else direct

    @property
    def _proxy_words(self) -> str:
        scheme, _, rest = (self.proxy or "").partition("://")
        place = rest.rpartition("@")[2].partition("/")[0]  # without a password
        return f"the proxy {scheme}://{place} that {self.source} names"

    @property
    def _bypass(self) -> str:
        return f"add {self.host} to NO_PROXY"


def find_route(url: str) -> HTTPRoute:
    """The way to the host of a URL, as the environment is now: directly, or through the proxy that it names.

    The variables are the same as for curl: ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``, in small
    letters or capitals; on Windows and macOS the settings of the system count where there are no variables. Hosts on
    the loopback are never asked through a proxy, which could not reach them.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return HTTPRoute()
    proxies = getproxies()
    scheme = next((name for name in (parts.scheme, "all") if proxies.get(name)), None)
    if scheme is None or is_loopback(host) or _is_bypassed(parts, host, proxies.get("no", "")):
        return HTTPRoute(host)
    proxy, names = proxies[scheme], (f"{scheme}_proxy", f"{scheme}_proxy".upper())
    source = next((name for name in names if os.environ.get(name)), "the system")
    return HTTPRoute(host, proxy if "://" in proxy else f"http://{proxy}", source)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and only this machine reaches it: ``localhost``, ``127.0.0.0/8`` or ``::1``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_bypassed(parts: SplitResult, host: str, no_proxy: str) -> bool:
    """Whether ``NO_PROXY`` has a host: as Python reads it, also ``*``, ``*.example`` and networks among the entries."""
    if proxy_bypass(parts.netloc.rpartition("@")[2]):
        return True
    for entry in (part.strip().lower() for part in no_proxy.split(",")):
        if entry == "*" or (entry.startswith("*.") and host.endswith(entry[1:])) or entry.strip("[]") == host:
            return True
        with suppress(ValueError):
            if "/" in entry and ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False):
                return True
    return False


@cache
def _certificates() -> Any:
    """The certificates that servers are verified with; all clients share them, since reading takes 40 ms."""
    import httpx2  # noqa: PLC0415  # an extra

    return httpx2.create_ssl_context()


OPENAI_BASE_URL = "https://api.openai.com/v1"
"""The address of OpenAI's own server."""
MAX_RETRY_WAIT = 60.0
"""The longest pause before a retry, in seconds, even if the server asks for a longer one."""
BAD_REQUEST_STATUSES = frozenset({400, 422})
"""The statuses of a response that rejects the request body."""
HINTS = {
    401: "check the API key",
    403: "check the API key and what it may use",
    404: "check the model's name and the base URL",
    429: "wait, or ask for a higher quota",
}
"""What to do about some statuses."""


@dataclass(frozen=True, slots=True)
class BadRequest:
    """The response to a rejected request: its status, and the server's message without the key."""

    status: int
    message: str


class HTTPModelClient:
    """One model at one address; nothing is sent before the first ``post``.

    ``base_url`` ends before ``path``. ``api_key`` is sent as a bearer token if given, and never shown. A request may
    take ``timeout`` seconds. After a response of 408, 429 or 5xx, or none, it is sent again up to ``retries`` times,
    after the pause that the server asks for. A failure raises ``error_type``, whose message contains ``failure_text``.
    ``sleep`` takes seconds. Safe to share between threads.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        path: str,
        api_key: str | None,
        timeout: float,
        retries: int,
        error_type: type[EcphoraError],
        failure_text: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if api_key is not None and not isinstance(api_key, str):  # it is never shown
            raise InvalidInput(f"the API key is a {type(api_key).__name__}; give a str, or None for no key")
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise InvalidInput("the API key holds characters that cannot be sent; was a line end copied with it?")
        if not callable(sleep):
            raise InvalidInput(f"sleep is {show(sleep)}; give a function that takes seconds")
        self._model = model
        self._url = f"{check_name('base_url', base_url).rstrip('/')}/{path}"
        self._api_key = api_key
        self._timeout = check_number("timeout", timeout, above=0)
        self._retries = check_count("retries", retries, minimum=0)
        self._error_type = error_type
        self._failure_text = failure_text
        self._sleep = sleep
        self._lock = Lock()
        self._client: Any = None
        self._route = HTTPRoute()

    @property
    def endpoint(self) -> str:
        """The model and its server's name, without any secrets in the URL."""
        address = self._url.partition("://")[2] or self._url
        return f"{self._model} at {address.partition('/')[0].rpartition('@')[2]}"

    def post(self, body: Mapping[str, Any]) -> Any:
        """Send one request, with retries; return the response's JSON. Raises ``error_type`` on failure."""
        answer = self.try_post(body)
        if isinstance(answer, BadRequest):
            raise self.bad_request_error(answer)
        return answer

    def try_post(self, body: Mapping[str, Any]) -> Any:
        """The same, but return a 400 or 422 as a :class:`BadRequest`: the caller may try another request."""
        httpx2 = self._import_httpx2()
        for attempt in range(self._retries + 1):
            wait = min(2.0**attempt / 2, MAX_RETRY_WAIT)
            try:
                with self._get_client(httpx2).stream("POST", self._url, json=body) as response:
                    content = read_answer(response, self.endpoint, self._error_type)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                problem, hint, cause = str(error) or type(error).__name__, "", error
                may_retry = isinstance(error, httpx2.TransportError) and not isinstance(
                    error, httpx2.UnsupportedProtocol
                )
                if may_retry:
                    hint = f"; {self._route.hint('check the base URL, and that the server runs')}"
            else:
                status = response.status_code
                if status == 200:
                    try:
                        return json.loads(content)
                    except ValueError as error:
                        raise self._error(": it answered with text that is not JSON") from error
                bad_request = BadRequest(status, self._redact(_error_message(content)))
                if status in BAD_REQUEST_STATUSES:
                    return bad_request
                problem, hint, cause = f"{status} {bad_request.message}", _hint(status), None
                may_retry = status in {408, 429} or status >= 500
                retry_after = response.headers.get("retry-after", "")
                wait = min(float(retry_after), MAX_RETRY_WAIT) if retry_after.isdecimal() else wait
            if not may_retry or attempt == self._retries:
                raise self._error(f": {self._redact(problem)}{hint}") from cause
            self._sleep(wait)
        raise AssertionError  # the last attempt returns or raises

    def bad_request_error(self, bad_request: BadRequest) -> EcphoraError:
        """The error for a rejected request."""
        status = bad_request.status
        return self._error(f": {status} {bad_request.message}{_hint(status)}")

    def _error(self, problem: str) -> EcphoraError:
        return self._error_type(f"{self.endpoint} {self._failure_text}{self._route.words}{problem}")

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _get_client(self, httpx2: ModuleType) -> Any:
        with self._lock:
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
                self._route = find_route(self._url)
                self._client = self._route.open_client(
                    httpx2.Client, self._error_type, timeout=self._timeout, headers=headers
                )
                weakref.finalize(self, self._client.close)
            return self._client

    def _redact(self, message: str) -> str:
        return (message.replace(self._api_key, "***") if self._api_key else message)[:500]

    def _import_httpx2(self) -> ModuleType:
        try:
            return importlib.import_module("httpx2")
        except ImportError as error:
            raise self._error_type(f"{error}; install it with: pip install 'ecphora[openai]'") from error


def _hint(status: int) -> str:
    return f"; {HINTS[status]}" if status in HINTS else ""


def _error_message(content: bytes) -> str:
    """The error message of a response: OpenAI's ``error.message``, others' ``message`` or ``detail``, or the text."""
    try:
        body = json.loads(content)
        error = body.get("error", body)
        found = error if isinstance(error, str) else error.get("message") or error.get("detail")
    except (ValueError, AttributeError):
        found = None
    return str(found or content.decode("utf-8", "replace"))
