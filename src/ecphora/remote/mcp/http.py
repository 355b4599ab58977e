"""The MCP server over streamable HTTP: the scopes of one memory file, for clients that have a token.

Requests are independent of each other, without sessions: each brings its token, and is answered from the one scope that
it names and the token is for.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Route

from ...errors import InvalidInput, StoreReplaced
from ...memory import view_in_zone
from ...model.validation import check_name
from ...settings import Settings
from ..server.access_control import HEALTH_PATH, ZONE_HEADER, cross_origin
from ..server.admission import AdmissionMiddleware, Metrics
from ..server.app import ServerOptions, health, open_scopes
from ..server.open_scopes import OpenScopes, closing_idle
from ..server.tokens import Grant, Right
from .memory_features import MemoryFeatures
from .server import RequestContext, build_server

PATH = "/mcp"
"""The path that clients connect to."""
PAGE_HEADERS = (
    "Authorization", "Content-Type", "Last-Event-ID", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", ZONE_HEADER
)  # fmt: skip
"""The headers that a client of the protocol may send from a web page."""
NO_RIGHTS = "the token is not for this scope"


@dataclass(frozen=True, slots=True)
class _ScopeFeatures:
    """The features of the scopes that requests name, as far as their tokens allow."""

    scopes: OpenScopes
    default_scope: str

    @contextmanager
    def lease(self, context: RequestContext) -> Iterator[MemoryFeatures]:
        """The features that a request may use; raises ``MCPError`` if its token is not for the scope."""
        request = _request_of(context)
        grant: Grant = request.state.grant
        scope = self._scope_of(request, grant)
        rights = frozenset(right for right in (Right.READ, Right.WRITE) if grant.allows(right, scope))
        if not rights:
            raise MCPError(INVALID_REQUEST, NO_RIGHTS)
        request.state.memory_scope = scope
        with self.scopes.lease(scope) as memory:
            try:
                yield MemoryFeatures(view_in_zone(memory, request.state.zone), rights=rights)
            except StoreReplaced:
                self.scopes.discard(scope, memory)
                raise

    def _scope_of(self, request: Request, grant: Grant) -> str:
        """The scope in the address, else the token's only scope, else the server's scope."""
        named = request.query_params.getlist("scope")
        if len(named) > 1:
            raise InvalidInput("the address names several scopes; give one")
        if named:
            return check_name("scope", named[0])
        return grant.scopes[0] if not grant.has_all_scopes and len(grant.scopes) == 1 else self.default_scope


def _request_of(context: RequestContext) -> Request:
    """The HTTP request of a call."""
    request = context.request
    if not isinstance(request, Request):
        raise MCPError(INVALID_REQUEST, "this server answers requests over HTTP")
    return request


def make_mcp_app(settings: Settings, options: ServerOptions) -> Starlette:
    """The app that serves the memory file of the settings, which it creates if there is none, at ``/mcp``.

    ``/health`` is the same as in :func:`make_app`. The app closes the file when its lifespan ends. Raises what
    :func:`open_scopes` raises.
    """
    scopes = open_scopes(settings, options)
    lease = _ScopeFeatures(scopes, settings.scope).lease
    server = build_server(lease, find_token_name=lambda context: _request_of(context).state.grant.name)
    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=options.limits.body_bytes,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the admission does it
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with inner.router.lifespan_context(inner):
            try:
                async with closing_idle(scopes):
                    yield
            finally:
                await asyncio.to_thread(scopes.close)

    admission = Middleware(
        AdmissionMiddleware,
        policy=options.policy,
        limits=options.limits,
        metrics=Metrics(lambda: len(scopes), dict),
        clock=options.clock,
        write_log=options.write_log,
    )
    pages = cross_origin(
        options.policy,
        methods=("GET", "POST", "DELETE"),
        headers=PAGE_HEADERS,
        answer_headers=("Retry-After", "X-Request-Id", "WWW-Authenticate"),
    )
    routes = [*inner.routes, Route(HEALTH_PATH, health)]
    return Starlette(routes=routes, middleware=[*pages, admission], lifespan=lifespan)
