"""Streams between clients and worker threads: bodies as they arrive, and answers as they are written."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial

import anyio
import anyio.from_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..errors import InvalidRecord
from .failures import answer_error
from .route_docs import NDJSON
from .service import Service

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

    An error before the first part is answered as any other. A later one is the last part, made by ``last_words``, or
    breaks the answer off, so that a client does not take it for whole. If the client goes away, the next part that is
    written fails.
    """

    def __init__(
        self,
        service: Service,
        write: Callable[[WritePart], None],
        *,
        token_name: str,
        media_type: str = NDJSON,
        last_words: Callable[[Exception], bytes] | None = None,
    ) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._service = service
        self._write = write
        self._token_name = token_name
        self._last_words = last_words
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
        last = b""
        if self._failure is not None:
            if not self._is_started:
                await answer_error(self._failure)(scope, receive, send)
                return
            if self._last_words is None:
                raise self._failure
            last = self._last_words(self._failure)
        if not self._is_started:
            await self._start(send)
        await send({"type": "http.response.body", "body": last, "more_body": False})


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
