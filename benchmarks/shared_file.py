"""Let two MCP servers and this process write into one memory file at the same time, and count what is lost.

    python benchmarks/shared_file.py [--seconds 120]

Each writer also recalls what it has written. The exit code is 1 if a call failed or a memory is missing.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from ecphora import HashingEmbedder, Memory

DIM = 64
RECALL_EVERY = 5
"""After so many memories a writer recalls one."""


@dataclass
class Writer:
    """What a writer stored, and what went wrong."""

    name: str
    texts: list[str] = field(default_factory=list)
    recalls: int = 0
    errors: list[str] = field(default_factory=list)

    def next_text(self) -> str:
        """The next text to store; no two writers have the same."""
        return f"The {self.name} writer stores fact number {len(self.texts)}."

    def check(self, reply: str, *, is_error: bool) -> None:
        """Note a reply that is an error, or that lacks what it is about."""
        if is_error or not reply:
            self.errors.append(reply)


def start_server(db: Path) -> Client:
    """A client with a server process of its own."""
    return Client(
        StdioServerParameters(
            command=sys.executable,
            args=["-m", "ecphora.cli.main", "mcp", "--db", str(db), "--embedder", f"hashing:{DIM}"],
            env=dict(os.environ),
        )
    )


async def write_by_mcp(client: Client, writer: Writer, deadline: float) -> None:
    """Store and recall through a server."""

    async def call(name: str, arguments: dict[str, object]) -> None:
        result = await client.call_tool(name, arguments)
        text = "".join(part.text for part in result.content if isinstance(part, TextContent))
        writer.check(text, is_error=bool(result.is_error))

    while time.monotonic() < deadline:
        text = writer.next_text()
        await call("remember", {"texts": [text], "speaker": writer.name})
        writer.texts.append(text)
        if len(writer.texts) % RECALL_EVERY == 0:
            await call("recall", {"question": f"Which fact did the {writer.name} writer store?"})
            writer.recalls += 1


def write_by_python(db: Path, writer: Writer, deadline: float) -> None:
    """Store and recall in this process."""
    try:
        with Memory(db, embedder=HashingEmbedder(DIM), zone="UTC") as memory:
            while time.monotonic() < deadline:
                text = writer.next_text()
                writer.check(memory.remember(text, speaker=writer.name).id, is_error=False)
                writer.texts.append(text)
                if len(writer.texts) % RECALL_EVERY == 0:
                    memory.recall(f"Which fact did the {writer.name} writer store?")
                    writer.recalls += 1
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what this measures
        writer.errors.append(f"{type(error).__name__}: {error}")


async def share_file(db: Path, seconds: float) -> list[Writer]:
    """Let three writers write for some seconds, counted from when both servers run; return what they did."""
    first, second, python = writers = [Writer(name) for name in ("first", "second", "python")]
    async with start_server(db) as one, start_server(db) as other:
        deadline = time.monotonic() + seconds
        await asyncio.gather(
            write_by_mcp(one, first, deadline),
            write_by_mcp(other, second, deadline),
            asyncio.to_thread(write_by_python, db, python, deadline),
        )
    return writers


def find_missing(db: Path, writers: list[Writer]) -> list[str]:
    """The texts that were acknowledged and are not in the file."""
    with Memory(db, embedder=HashingEmbedder(DIM), zone="UTC") as memory:
        stored = {node.text for node in memory.find(limit=2**31)}
    return [text for writer in writers for text in writer.texts if text not in stored]


def main() -> int:
    """Run, and print what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120.0, help="how long to write (default: 120)")
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "shared.db"
        writers = asyncio.run(share_file(db, seconds))
        missing = find_missing(db, writers)
    for writer in writers:
        print(
            f"{writer.name:8} {len(writer.texts):6,} stored  {writer.recalls:6,} recalled  {len(writer.errors)} errors"
        )
    print(f"missing: {len(missing)}")
    for line in [*missing[:10], *(error for writer in writers for error in writer.errors[:10])]:
        print(f"  {line}")
    return 1 if missing or any(writer.errors for writer in writers) else 0


if __name__ == "__main__":
    raise SystemExit(main())
