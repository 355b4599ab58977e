"""Asks probes through a process of `ecphora mcp`, as the host of a model does: JSON-RPC over stdin and stdout."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from ecphora.errors import StoreError
from ecphora.maintenance.learn.temporary_memory import Tick
from ecphora.model.types import Evidence
from ecphora.tools.memory_tools import MAX_MEMORIES

from .probe import Form, Kind, Probe, worlds
from .probe_run import ProbeResult

STRATEGY = "ecphora mcp"
"""What stands as the strategy of the results: the process decides."""
TIMELESS = frozenset({Kind.IDENTIFIERS, Kind.OWN_STATEMENTS, Kind.WHO})
"""The kinds that do not need the times at which memories were stored: a process has the clock of the machine."""
PROTOCOL = "2025-06-18"


def can_host(probe: Probe) -> bool:
    """Whether a probe can be asked through a process."""
    return probe.form is Form.MCP and probe.kind in TIMELESS


def run_hosted(probes: Sequence[Probe], embedder: str | None, tick: Tick) -> Iterator[ProbeResult]:
    """Ask probes for which :func:`can_host` holds, each world through a process of its own.

    The memories are ranked as they appear in the reply. Raises ``StoreError`` if a process ends or refuses a call.
    """
    for some in worlds(probes).values():
        texts = {memory.text: memory.id for memory in some[0].memories}
        with _open_host(embedder) as host:
            told = list(texts)
            for start in range(0, len(told), MAX_MEMORIES):
                host.call("remember", texts=told[start : start + MAX_MEMORIES])
            tick(len(told))
            for probe in some:
                reply = host.call("recall", question=probe.question)
                tick(1)
                places = sorted((place, id_) for text, id_ in texts.items() if (place := reply.find(text)) >= 0)
                yield ProbeResult(probe, STRATEGY, tuple(id_ for _, id_ in places), _evidence(reply))


def _evidence(reply: str) -> Evidence:
    """The band that the first line of a reply names."""
    head = reply.partition("\n")[0].casefold()
    return next((band for band in Evidence if f"evidence: {band.value}" in head), Evidence.NONE)


class _Host:
    """A host with one server, whose requests are answered one after the other."""

    def __init__(self, writer: IO[str], reader: IO[str]) -> None:
        self._writer, self._reader, self._number = writer, reader, 0
        self.request("initialize", protocolVersion=PROTOCOL, capabilities={}, clientInfo={"name": "b", "version": "0"})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, object]) -> None:
        self._writer.write(json.dumps(message) + "\n")
        self._writer.flush()

    def request(self, method: str, **params: object) -> Any:
        """The result of a request."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        for line in self._reader:
            reply = json.loads(line)
            if reply.get("id") == self._number:
                if "result" not in reply:
                    raise StoreError(f"ecphora mcp refused {method}: {reply.get('error')}")
                return reply["result"]
        raise StoreError(f"ecphora mcp ended before it answered {method}")

    def call(self, tool: str, **arguments: object) -> str:
        """The text that a tool replies."""
        result = self.request("tools/call", name=tool, arguments=arguments)
        text = "".join(part.get("text", "") for part in result["content"])
        if result.get("isError"):
            raise StoreError(f"the tool {tool} refused its arguments: {text}")
        return text


@contextmanager
def _open_host(embedder: str | None) -> Iterator[_Host]:
    with TemporaryDirectory(prefix="ecphora-host-") as folder:
        command = [sys.executable, "-m", "ecphora.cli.main", "mcp", "--db", str(Path(folder, "world.db"))]
        command += ["--embedder", embedder] if embedder else []
        with subprocess.Popen(  # noqa: S603  # this package itself
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            if process.stdin is None or process.stdout is None:
                raise StoreError("ecphora mcp has no standard input or output")
            yield _Host(process.stdin, process.stdout)
            process.stdin.close()
