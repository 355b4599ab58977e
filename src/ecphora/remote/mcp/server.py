"""The MCP server: the features of one memory, served over stdio or to a client in the same process.

Each call runs in a thread, so that a long one does not hold up others. Nothing else is written to stdout: the transport
of the SDK lends the process another stdout meanwhile.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from ... import __version__
from ...errors import EcphoraError, InvalidInput, StoreReplaced
from ...memory import Memory
from ..server.thread_shares import ThreadShares
from .memory_features import INSTRUCTIONS, MemoryFeatures

_log = logging.getLogger("ecphora")

SERVER_NAME = "ecphora"
MAX_THREADS = 4
"""The calls that run at the same time; others wait."""
PROGRESS_SECONDS = 2.0
"""Seconds between two reports of the progress of a call."""
CRASH = "Error: the call failed unexpectedly; the log of the server says why"
"""The reply to a call that an unexpected error ended."""

T = TypeVar("T")


RequestContext = ServerRequestContext[Any, Any]
LeaseFeatures = Callable[[RequestContext], AbstractContextManager[MemoryFeatures]]
"""Gives the features that a request may use, for as long as they are used. Runs in a thread."""


def serve_memory(memory: Memory) -> Server[Any]:
    """A server of one memory for one client, over stdio or in the same process."""
    features = MemoryFeatures(memory)
    return build_server(lambda _context: nullcontext(features))


def serve_stdio(memory: Memory) -> None:
    """Serve a memory over stdin and stdout until stdin ends."""
    server = serve_memory(memory)

    async def serve() -> None:
        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())

    anyio.run(serve)


def build_server(
    lease_features: LeaseFeatures, *, find_token_name: Callable[[RequestContext], str] | None = None
) -> Server[Any]:
    """A server that answers each request from the features that ``lease_features`` gives for it.

    ``find_token_name`` gives the name of the token of a request, which has half of the threads at most; None for a
    server with one client.
    """
    requests = _Requests(lease_features, find_token_name)
    return Server(
        SERVER_NAME,
        version=__version__,
        title="Ecphora",
        instructions=INSTRUCTIONS,
        on_list_tools=requests.list_tools,
        on_call_tool=requests.call_tool,
        on_list_resources=requests.list_resources,
        on_list_resource_templates=requests.list_resource_templates,
        on_read_resource=requests.read_resource,
    )


class _Requests:
    """The handlers of a server's requests."""

    def __init__(
        self, lease_features: LeaseFeatures, find_token_name: Callable[[RequestContext], str] | None = None
    ) -> None:
        self._lease_features = lease_features
        self._find_token_name = find_token_name
        self._threads = ThreadShares(MAX_THREADS)

    async def _run(self, context: RequestContext, call: Callable[[MemoryFeatures], T]) -> T:
        """Run a call with the features of a request in a thread."""

        def run() -> T:
            with self._lease_features(context) as features:
                return call(features)

        token_name = None if self._find_token_name is None else self._find_token_name(context)
        try:
            return await self._threads.run(run, token_name)
        except EcphoraError as error:
            code = types.INVALID_PARAMS if isinstance(error, InvalidInput) else types.INTERNAL_ERROR
            raise MCPError(code, str(error)) from error

    async def _run_reporting(self, context: RequestContext, call: Callable[[MemoryFeatures], T]) -> T:
        """Run a call like :meth:`_run`; meanwhile, tell the client that it goes on, if it asked for progress."""
        failure: Exception | None = None
        async with anyio.create_task_group() as reporting:
            reporting.start_soon(_report_progress, context)
            try:
                result = await self._run(context, call)
            except Exception as error:  # noqa: BLE001  # raised below, since a task group would wrap it
                failure = error
            reporting.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return result

    async def list_tools(
        self, context: RequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=await self._run(context, lambda features: features.tools()))

    async def call_tool(self, context: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        def call(features: MemoryFeatures) -> types.CallToolResult:
            if params.name not in [tool.name for tool in features.tools()]:
                raise InvalidInput(f"there is no tool {params.name!r}")
            try:
                return features.call_tool(params.name, params.arguments or {})
            except StoreReplaced:  # the memory must be opened again
                raise
            except EcphoraError as error:  # such as a full disk: the model and its user should know
                return _failure(f"Error: {error}")
            except Exception:  # noqa: BLE001  # a crash of one call must not end the server
                _log.exception("the tool %s failed", params.name)
                return _failure(CRASH)

        return await self._run_reporting(context, call)

    async def list_resources(
        self, context: RequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=await self._run(context, lambda features: features.resources()))

    async def list_resource_templates(
        self, context: RequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        templates = await self._run(context, lambda features: features.resource_templates())
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(
        self, context: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        found = await self._run(context, lambda features: features.read_resource(uri))
        if found is None:
            raise MCPError(types.INVALID_PARAMS, "there is no such resource", {"uri": uri})
        text, mime_type = found
        contents = types.TextResourceContents(uri=uri, text=text, mime_type=mime_type)
        return types.ReadResourceResult(contents=[contents])


async def _report_progress(context: RequestContext) -> None:
    """Report the seconds that a call has taken, again and again; nothing is sent to a client that gave no token."""
    started = anyio.current_time()
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the client is gone
        while True:
            await anyio.sleep(PROGRESS_SECONDS)
            seconds = anyio.current_time() - started
            await context.session.report_progress(seconds, message=f"working for {seconds:.0f} s")


def _failure(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
