"""What the routes share: calls of memories in worker threads, so that the event loop never waits for one.

Streams join clients and worker threads: bodies as they arrive, and answers as they are written.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.from_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ...errors import InvalidRecord, StoreReplaced
from ...memory import Memory, view_in_zone
from ...model.json_form import to_json
from ...model.ports import LLM, Clock
from ...model.times import utc_now
from ...model.types import ScopeInfo
from ...stores.sqlite import SQLiteStore
from .failures import answer_error
from .jobs import Jobs
from .open_scopes import OpenScopes
from .openapi import NDJSON
from .thread_shares import ThreadShares

T = TypeVar("T")


@dataclass(slots=True)
class Service:
    """The memories of one file, or of the database ``scopes.store`` if ``db`` is None, and what runs on them.

    ``threads`` calls run at once, and besides them as many streams, whose clients may be slow. One token has half of
    either at most, so that it cannot stop the others.
    """

    db: Path | None
    scopes: OpenScopes
    llm: LLM | None = None
    threads: int = 8
    clock: Clock = utc_now
    make_jobs: Callable[[Clock], Jobs] = Jobs
    jobs: Jobs = field(init=False)
    _call_threads: ThreadShares = field(init=False)
    _stream_threads: ThreadShares = field(init=False)

    def __post_init__(self) -> None:
        self._call_threads, self._stream_threads = ThreadShares(self.threads), ThreadShares(self.threads)
        self.jobs = self.make_jobs(self.clock)

    async def run(self, function: Callable[[], T], token_name: str, *, is_stream: bool = False) -> T:
        """Run a function for a token in a worker thread; see :meth:`ThreadShares.run`."""
        return await (self._stream_threads if is_stream else self._call_threads).run(function, token_name)

    async def call(self, scope: str, zone: tzinfo | None, function: Callable[[Memory], Any], token_name: str) -> bytes:
        """Call a function of a scope's memory for a token, as :meth:`with_memory`; return the result as JSON."""
        return await self.run(partial(self._call, scope, zone, function), token_name)

    def _call(self, scope: str, zone: tzinfo | None, function: Callable[[Memory], Any]) -> bytes:
        return encode_json(to_json(self.with_memory(scope, zone, function)))

    def with_memory(
        self, scope: str, zone: tzinfo | None, function: Callable[[Memory], T], *, is_repeatable: bool = True
    ) -> T:
        """Call a function of a scope's memory, in this thread. ``zone`` is where the user is; None for the server's.

        If the file or scope was replaced since the memory was opened, nothing was done; then the memory is opened anew,
        and a function that is repeatable is called once more.
        """
        memory: Memory | None = None
        try:
            with self.scopes.lease(scope) as memory:
                return function(view_in_zone(memory, zone))
        except StoreReplaced:
            if memory is not None:
                self.scopes.discard(scope, memory)
            if not is_repeatable:
                raise
        with self.scopes.lease(scope) as memory:
            return function(view_in_zone(memory, zone))

    def list_scopes(self) -> list[ScopeInfo]:
        """Every scope of the file."""
        if self.db is None:
            return [] if self.scopes.store is None else self.scopes.store.scopes()
        with closing(SQLiteStore(self.db)) as store:
            return store.scopes()

    def close(self) -> None:
        """End the jobs, write the access logs and close the file; may wait for the step that a job is at."""
        self.jobs.close()
        self.scopes.close()


def encode_json(value: Any) -> bytes:
    """JSON values as bytes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")


STALL_SECONDS = 60.0
"""Seconds that a stream waits for a client that does not read."""
BUFFERED_PARTS = 4
"""Parts of an answer that may wait for a slow client before the thread that writes them waits too."""
PART_CHARS = 1 << 16
"""Characters of a text that are sent together."""
MAX_LINE_BYTES = 32 << 20
"""Bytes of the longest line of an import."""

WritePart = Callable[[bytes], None]


def read_lines(parts: AsyncIterator[bytes]) -> Iterator[str]:
    """The lines of a body as they arrive; for a worker thread.

    Raises ``InvalidRecord`` for a line that is too long or not UTF-8, and what ``parts`` raises.
    """

    async def next_part() -> bytes | None:
        return await anext(parts, None)

    number, pending, size = 1, list[bytes](), 0
    while (part := anyio.from_thread.run(next_part)) is not None:
        *whole, rest = part.split(b"\n")
        for line in whole:
            yield _decode_line(b"".join([*pending, line]), number)
            number, pending, size = number + 1, [], 0
        pending.append(rest)
        size += len(rest)
        if size > MAX_LINE_BYTES:
            raise InvalidRecord(
                f"line {number} is longer than {MAX_LINE_BYTES:,} bytes; an export has one record a line"
            )
    if size:
        yield _decode_line(b"".join(pending), number)


def _decode_line(line: bytes, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InvalidRecord(f"line {number} is not UTF-8; send the export as it was written") from error


class StreamResponse(Response):
    """An answer whose parts a function writes in a worker thread, a few parts ahead of the client.

    An error before the first part is answered as any other. A later one breaks the answer off, so that a client does
    not take it for whole. If the client goes away, the next part that is written fails.
    """

    def __init__(
        self,
        service: Service,
        write: Callable[[WritePart], None],
        *,
        token_name: str,
        media_type: str = NDJSON,
    ) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._service = service
        self._write = write
        self._token_name = token_name
        self._is_started = False
        self._failure: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; if the client has gone, or neither reads nor leaves, it stays incomplete."""
        to_client, from_thread = anyio.create_memory_object_stream[bytes](BUFFERED_PARTS)
        is_read = False
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._write_in_thread, to_client)
            tasks.start_soon(_cancel_on_disconnect, receive, tasks.cancel_scope)
            with from_thread, suppress(TimeoutError):
                await self._send_parts(from_thread, send)
                is_read = True
            tasks.cancel_scope.cancel()
        if is_read:
            await self._send_end(scope, receive, send)

    async def _write_in_thread(self, to_client: MemoryObjectSendStream[bytes]) -> None:
        """Run the function; a failure is kept, and answered once what came before it is sent."""

        def write_part(part: bytes) -> None:
            anyio.from_thread.run(to_client.send, part)

        with to_client:
            try:
                await self._service.run(partial(self._write, write_part), self._token_name, is_stream=True)
            except anyio.BrokenResourceError:
                pass  # nobody reads any more
            except Exception as error:  # noqa: BLE001  # whatever it is, it is answered
                self._failure = error

    async def _send_parts(self, from_thread: MemoryObjectReceiveStream[bytes], send: Send) -> None:
        async for part in from_thread:
            with anyio.fail_after(STALL_SECONDS):
                if not self._is_started:
                    await self._start(send)
                await send({"type": "http.response.body", "body": part, "more_body": True})

    async def _start(self, send: Send) -> None:
        self._is_started = True
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})

    async def _send_end(self, scope: Scope, receive: Receive, send: Send) -> None:
        """End the answer, or answer the failure."""
        if self._failure is not None:
            if self._is_started:
                raise self._failure
            await answer_error(self._failure)(scope, receive, send)
            return
        if not self._is_started:
            await self._start(send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _cancel_on_disconnect(receive: Receive, cancel_scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    cancel_scope.cancel()


class PartWriter:
    """A text file that sends what is written to it, many lines at once."""

    def __init__(self, write_part: WritePart) -> None:
        self._write_part = write_part
        self._texts: list[str] = []
        self._size = 0

    def write(self, text: str, /) -> int:
        """Add a text."""
        self._texts.append(text)
        self._size += len(text)
        if self._size >= PART_CHARS:
            self.flush()
        return len(text)

    def writelines(self, lines: Iterable[str], /) -> None:
        """Add texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Send what was added."""
        texts, self._texts, self._size = self._texts, [], 0
        if texts:
            self._write_part("".join(texts).encode("utf-8", "replace"))
