"""Names of hosts in the headers of requests."""

import re

ANY_ORIGIN, OPAQUE_ORIGIN = "*", "null"
"""Pages of every site; and pages without one, such as files and sandboxed frames, which every site can make."""
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
"""The names by which a request may address a server that listens on this machine alone."""
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?")
_HOST = re.compile(r"(?P<name>[^\s:/@\[\]]*|\[[0-9a-f:.]*\])(:[0-9]*)?")
_DEFAULT_PORT = re.compile("http://.*:80|https://.*:443")
"""Browsers leave these ports out."""


def host_name(host: str) -> str:
    """The name in a Host header, without the port and the brackets of an IPv6 address; empty if it is malformed."""
    found = _HOST.fullmatch(host.lower())
    return found["name"].strip("[]").rstrip(".") if found else ""


def is_origin(value: str) -> bool:
    """Whether a browser can name it as the origin of a page: scheme, host and port, as in ``https://app.example``."""
    if value in {ANY_ORIGIN, OPAQUE_ORIGIN}:
        return True
    return _ORIGIN.fullmatch(value) is not None and not _DEFAULT_PORT.fullmatch(value)
