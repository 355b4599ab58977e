"""What the MCP server offers of a memory: the tools of :mod:`ecphora.tools`, and memories as resources."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from mcp_types import CallToolResult, Resource, ResourceTemplate, TextContent, Tool, ToolAnnotations

from ...memory import Memory
from ...model.text_format import collapse_whitespace, iso_minute, truncate
from ...model.types import Kind, Node
from ...models.prompts import quoting
from ...tools.function_tools import ToolSet
from ..server.tokens import ALL_RIGHTS, Right

URI_PREFIX = "ecphora://memory/"
"""How the URI of a memory begins; its percent-encoded id follows."""
LISTED_RESOURCES = 20
"""The memories that the list of resources has."""
NAME_CHARS = 60
"""Characters of a memory's text in the list of resources."""
MIME_TYPE = "text/plain"
MAX_RESOURCE_BYTES = 40_000
"""Bytes of a memory that are read at once; the text names the URI of the next part."""
START = "?from="
"""Stands in a URI before the character of the text at which a part begins."""
INSTRUCTIONS = (
    "Long-term memory across conversations. Recall before you answer what may depend on earlier conversations or on "
    "the user. Remember what the user states that will matter later. If recall says that nothing was found, say that "
    "you do not know."
)
"""What a host tells the model about the server."""


READING_TOOLS, WRITING_TOOLS = ("recall", "find"), ("remember",)
"""The tools that need only the right to read, and only the right to write; the others need both."""


class MemoryFeatures:
    """The five tools, and memories as resources, as far as ``rights`` allow. The methods may take long.

    Without the right to write, recalls leave no trace in the access log.
    """

    def __init__(self, memory: Memory, *, rights: Collection[Right] = ALL_RIGHTS) -> None:
        self._memory = memory
        self._can_read, can_write = Right.READ in rights, Right.WRITE in rights
        names = None
        if not (self._can_read and can_write):
            names = READING_TOOLS if self._can_read else WRITING_TOOLS if can_write and not memory.is_read_only else ()
        self._tool_set = ToolSet(memory, names=names, log_access=can_write)

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
        if not self._can_read:
            return []
        return [_resource(node) for node in self._memory.find(order="-recorded_at", limit=LISTED_RESOURCES)]

    def resource_templates(self) -> list[ResourceTemplate]:
        """The URI of any memory."""
        return [
            ResourceTemplate(
                uri_template=f"{URI_PREFIX}{{id}}",
                name="memory",
                title="Memory",
                description="One memory, by its id; of a long text the first part, which names the next one",
                mime_type=MIME_TYPE,
            )
        ]

    def read_resource(self, uri: str) -> tuple[str, str] | None:
        """The text of a resource, a part of it if it is long, and its MIME type; None if there is none."""
        if not uri.startswith(URI_PREFIX) or not self._can_read:
            return None
        whole, _, start = uri.partition(START)
        node = self._memory.get(unquote(whole.removeprefix(URI_PREFIX)))
        if node is None or node.kind is not Kind.EPISODE or not (start or "0").isdecimal():
            return None
        first = int(start or 0)
        return (_render_part(node, whole, first), MIME_TYPE) if first < len(node.text) else None


def _render_part(node: Node, uri: str, first: int) -> str:
    """A memory from a character of its text on, as much of it as may be read at once, and where the rest is."""
    end = min(len(node.text), first + MAX_RESOURCE_BYTES)
    while len((shown := quoting.render_memory(replace(node, text=node.text[first:end]))).encode()) > MAX_RESOURCE_BYTES:
        end = first + (end - first) * 3 // 4
    rest = "" if end == len(node.text) else f" More: read {uri}{START}{end}"
    is_whole = first == 0 and not rest
    return shown if is_whole else f"{shown}\nCharacters {first:,} to {end:,} of {len(node.text):,}.{rest}"


def _resource(node: Node) -> Resource:
    who = "" if node.speaker is None else f", {node.speaker}"
    return Resource(
        uri=f"{URI_PREFIX}{quote(node.id, safe='')}",
        name=truncate(collapse_whitespace(quoting.escape(node.text)), NAME_CHARS) or node.id,
        description=quoting.escape(f"{iso_minute(node.happened_at)}{who}"),
        mime_type=MIME_TYPE,
    )
