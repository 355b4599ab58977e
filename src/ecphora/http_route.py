"""How requests to a host are sent: directly, or through the proxy that the environment names.

The variables are those of curl: ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``, in small letters or
capitals; on Windows and macOS the settings of the system count where there are no variables. Hosts on the loopback are
never asked through a proxy, which could not reach them.
"""

import ipaddress
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from .errors import EcphoraError

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
    """The way to the host of a URL, as the environment is now."""
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
