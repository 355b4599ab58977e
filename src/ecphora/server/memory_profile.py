"""What the MCP server offers by default: the tools of :mod:`ecphora.function_tools`, and memories as resources."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from mcp_types import CallToolResult, Resource, ResourceTemplate, TextContent, Tool, ToolAnnotations

from ..function_tools import ToolSet
from ..memory import Memory
from ..model import Kind, Node
from ..prompts import quoting
from ..text_format import collapse_whitespace, iso_minute, truncate

URI_PREFIX = "ecphora://memory/"
"""How the URI of a memory begins; its percent-encoded id follows."""
LISTED_RESOURCES = 20
"""The memories that the list of resources has."""
NAME_CHARS = 60
"""Characters of a memory's text in the list of resources."""
MIME_TYPE = "text/plain"
INSTRUCTIONS = (
    "Long-term memory across conversations. Recall before you answer what may depend on earlier conversations or on "
    "the user. Remember what the user states that will matter later. If recall says that nothing was found, say that "
    "you do not know."
)
"""What a host tells the model about the server."""


class MemoryProfile:
    """The five tools, and memories as resources. ``is_read_only`` leaves out the tools that change something."""

    instructions = INSTRUCTIONS

    def __init__(self, memory: Memory, *, is_read_only: bool = False) -> None:
        self._memory = memory
        self._tool_set = ToolSet(memory)
        if is_read_only:
            self._tool_set = ToolSet(memory, names=[tool.name for tool in self._tool_set.tools if tool.is_read_only])

    def tools(self) -> list[Tool]:
        """The definitions of the tools."""
        return [
            Tool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema=tool.schema(),
                annotations=ToolAnnotations(
                    title=tool.title,
                    read_only_hint=tool.is_read_only,
                    destructive_hint=tool.is_destructive,
                    idempotent_hint=not tool.is_destructive,
                    open_world_hint=False,
                ),
            )
            for tool in self._tool_set.tools
        ]

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool of the list."""
        reply = self._tool_set.reply(name, arguments)
        return CallToolResult(content=[TextContent(type="text", text=reply.text)], is_error=reply.is_error)

    def resources(self) -> list[Resource]:
        """The memories that were stored last."""
        page = self._memory.find(order="-recorded_at", limit=LISTED_RESOURCES)
        return [_resource(node) for node in page]

    def resource_templates(self) -> list[ResourceTemplate]:
        """The URI of any memory."""
        return [
            ResourceTemplate(
                uri_template=f"{URI_PREFIX}{{id}}",
                name="memory",
                title="Memory",
                description="One memory, by its id",
                mime_type=MIME_TYPE,
            )
        ]

    def read_resource(self, uri: str) -> tuple[str, str] | None:
        """The text of a resource and its MIME type; None if there is none."""
        if not uri.startswith(URI_PREFIX):
            return None
        node = self._memory.get(unquote(uri.removeprefix(URI_PREFIX)))
        return None if node is None or node.kind is not Kind.EPISODE else (quoting.render_memory(node), MIME_TYPE)

    def updated_resources(self, name: str) -> tuple[str, ...]:
        """The URIs that clients may subscribe to and that a tool changes."""
        del name
        return ()


def _resource(node: Node) -> Resource:
    who = "" if node.speaker is None else f", {node.speaker}"
    return Resource(
        uri=f"{URI_PREFIX}{quote(node.id, safe='')}",
        name=truncate(collapse_whitespace(quoting.escape(node.text)), NAME_CHARS) or node.id,
        description=quoting.escape(f"{iso_minute(node.happened_at)}{who}"),
        mime_type=MIME_TYPE,
    )
