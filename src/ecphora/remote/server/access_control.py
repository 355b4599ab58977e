"""Who may send a request: the hosts and origins that are let in, and the token that a request must have."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from ...errors import InvalidInput
from ...model.times import check_zone
from ...model.validation import check_name
from .addresses import LOOPBACK_NAMES, host_name
from .failures import RequestError
from .tokens import ALL_SCOPES, Grant, Right, Tokens

HEALTH_PATH = "/health"
ZONE_HEADER = "Ecphora-Zone"
"""The header that says where the user of a request is: a name of the tz database."""
SINGLE_HEADERS = ("authorization", "host", "origin", "content-length", "content-type", ZONE_HEADER.lower())
"""The headers of which a request has one. Of two, a proxy may have checked the other."""
OPEN_PATHS = frozenset({HEALTH_PATH})
"""The paths that need no token."""
CHALLENGE = {"WWW-Authenticate": "Bearer"}
EVERYTHING = Grant("no-auth", "", ALL_SCOPES, tuple(Right), datetime(1970, 1, 1, tzinfo=UTC))
"""What every request may do on a server without tokens."""


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """Which requests are let in.

    ``tokens`` is None if none are needed. A browser names the page that sends a request as its origin, which must be
    one of ``origins``. ``hosts`` are the names that a request may address; None for any.
    """

    tokens: Tokens | None
    origins: Collection[str] = ()
    hosts: Collection[str] | None = LOOPBACK_NAMES

    def check_place(self, headers: Headers) -> None:
        """Refuse requests from web pages that are not allowed, and requests that address another name.

        The second check keeps out pages whose own name was pointed at this machine (DNS rebinding).
        """
        origin = headers.get("origin")
        if origin is not None and origin not in self.origins and "*" not in self.origins:
            raise RequestError(403, "pages of this origin are not allowed; start the server with --allow-origin")
        if self.hosts is not None and host_name(headers.get("host", "")) not in self.hosts:
            raise RequestError(403, "the Host header names another host; start the server with --allow-host")

    def find_grant(self, headers: Headers) -> Grant:
        """What the token of a request allows; raises ``RequestError`` without a valid token."""
        if self.tokens is None:
            return EVERYTHING
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise RequestError(401, "give a token: Authorization: Bearer ecp_...", CHALLENGE)
        try:
            grant = self.tokens.find(token.strip())
        except InvalidInput as error:
            raise RequestError(503, "the server cannot read its tokens") from error
        if grant is None:
            raise RequestError(401, "the token is unknown, revoked or expired", CHALLENGE)
        return grant


def check_headers(headers: Headers) -> None:
    """Refuse headers that can be read in two ways, as a proxy before the server may have done."""
    for name in SINGLE_HEADERS:
        if len(headers.getlist(name)) > 1:
            raise RequestError(400, f"the request has the header {name} twice; send it once", {"Connection": "close"})
    if "content-length" in headers and "transfer-encoding" in headers:
        raise RequestError(
            400, "the request has both Content-Length and Transfer-Encoding; send one", {"Connection": "close"}
        )


def find_zone(headers: Headers, grant: Grant) -> tzinfo | None:
    """Where the user of a request is, by its header or else by its token; None for the zone of the server."""
    name = headers.get(ZONE_HEADER, grant.zone)
    try:
        return None if name is None else check_zone(name)
    except InvalidInput as error:
        raise RequestError(400, str(error)) from error


def check_rights(grant: Grant, scope: str, rights: Collection[Right]) -> None:
    """Refuse what a token does not allow in a scope, which need not exist."""
    check_name("scope", scope)
    if not grant.has_scope(scope):
        raise RequestError(403, "the token is not for this scope")
    check_rights_anywhere(grant, rights)


def check_rights_anywhere(grant: Grant, rights: Collection[Right], *, needs_all_scopes: bool = False) -> None:
    """Refuse what a token does not allow in its own scopes, or needs every scope for."""
    if missing := [right.value for right in rights if not grant.has_right(right)]:
        raise RequestError(403, f"the token lacks the right to {' and to '.join(missing)}")
    if needs_all_scopes and not grant.has_all_scopes:
        raise RequestError(403, "this is for tokens of every scope")


def cross_origin(
    policy: AccessPolicy, *, methods: Sequence[str], headers: Sequence[str], answer_headers: Sequence[str]
) -> list[Middleware]:
    """The middleware that lets the pages of the policy send requests; none if it allows no page.

    ``headers`` are the headers that a page may send, ``answer_headers`` the headers that it may read. Cookies are never
    used.
    """
    if not policy.origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(policy.origins),
            allow_methods=list(methods),
            allow_headers=list(headers),
            allow_private_network=True,  # which some browsers ask before a page reaches this machine
            expose_headers=list(answer_headers),
        )
    ]
