"""A client of the Model Context Protocol that starts ``ecphora mcp`` and uses its tools and resources.

    pip install "ecphora[mcp]"
    python mcp_client.py

Hosts such as Claude Desktop do the same. ``ecphora mcp --install claude-desktop`` adds the server to one.
"""

import asyncio
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client, StdioServerParameters
from mcp_types import TextContent


async def call(client: Client, tool: str, **arguments: object) -> str:
    """The text with which a tool replies."""
    result = await client.call_tool(tool, arguments)
    text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
    assert not result.is_error, text
    print(f"\n{tool}:\n{text}")
    return text


async def use_memory(db: Path) -> None:
    """Remember, recall, read and forget through a server in a process of its own."""
    server = StdioServerParameters(command="ecphora", args=["mcp", "--db", str(db)])
    async with Client(server) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        print("tools:", *tools)
        assert tools == ["remember", "recall", "update", "forget", "find"]

        await call(client, "remember", texts=["Ana moved to Porto."], speaker="Ana", happened_at="2026-05-03")
        reply = await call(client, "recall", question="Where did Ana move?")
        assert "Ana moved to Porto." in reply

        resources = (await client.list_resources()).resources
        print("\nresources:", *(resource.uri for resource in resources))
        assert len(resources) == 1

        match = re.search(r'<memory id="([^"]+)"', reply)
        assert match, reply
        await call(client, "forget", ids=[match[1]])
        assert "Porto" not in await call(client, "recall", question="Where did Ana move?")
        assert not (await client.list_resources()).resources


def main() -> None:
    """Use a memory in a temporary folder."""
    with TemporaryDirectory() as folder:
        asyncio.run(use_memory(Path(folder) / "memory.db"))


if __name__ == "__main__":
    main()
