"""The notebook of Pydantic AI's harness in a memory, and a toolset with which an agent remembers, recalls and forgets.

The store keeps Markdown files under paths, with compare-and-set and receipts. Each file is a memory with exactly the
content of the file, so a recall finds it, and the search of the store is a recall.

Written for pydantic-ai 2.62 and pydantic-ai-harness 0.62: the protocols ``MemoryStore``, ``MetadataMemoryStore`` and
``SearchableMemoryStore`` of ``pydantic_ai_harness.memory``, and ``FunctionToolset``.
"""

import asyncio
import json
import re
import secrets
import string
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

try:
    from pydantic_ai import FunctionToolset, ModelRetry, Tool
    from pydantic_ai_harness.memory import (
        MemoryConflictError,
        MemoryFile,
        MemoryMutation,
        MemoryOperation,
        MemoryOperationConflictError,
        MemorySearchMatch,
        MemorySearchResult,
    )
except ImportError as error:
    raise ImportError("Pydantic AI's harness is not installed; run: pip install 'ecphora[pydantic-ai]'") from error

from ..language.terms import STOP_WORDS
from ..memory import Memory
from ..model.conditions import Eq, Gte, In, Lt
from ..model.types import Episode, Evidence, Metadata
from ..tools.function_tools import DEFAULT_REPLY_TOKENS, ToolSet
from ..tools.tool_definitions import FunctionTool
from .records import KEY, Record, Records, record_of_hit

FILES, RECEIPTS = "pydantic_ai", "pydantic_ai_receipts"
"""The kinds of the records."""
VERSION, EXISTED, OPERATION, FINGERPRINT = "file_version", "file_existed", "operation_id", "operation_fingerprint"
"""The metadata of a file: its version, whether there was one before, and the operation that wrote it."""
WRITE_METADATA, LOG = "write_metadata", "receipt_log"
"""The metadata that the host gave, and the receipts of operations that no file has any more, both as JSON."""
MAX_RECEIPTS = 1_024
"""The receipts that are kept besides the receipts of the files, the latest ones; as many as the host's stores keep."""
MAX_METADATA_CHARS = 4_096
"""The characters of the longest metadata of a write, as JSON; the limit of the host's stores."""
TOOL_NAMES = ("remember", "recall", "forget")
"""The tools of the toolset by default."""
_SEGMENT = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_LAST = "\U0010ffff"
_locks: "WeakKeyDictionary[Memory, threading.Lock]" = WeakKeyDictionary()
_locks_guard = threading.Lock()


class _Receipt(NamedTuple):
    """The result of an operation; a deletion names the version that it deletes."""

    id: str
    fingerprint: str
    version: str | None
    existed: bool
    path: str
    deleted: str | None = None


class EcphoraMemoryStore:
    """The files of an agent's notebook in a memory: a store for the ``Memory`` capability of the harness.

        with ecphora.Memory("agent.db") as memory:
            notebook = Memory(EcphoraMemoryStore(memory), namespace="ana")
            agent = Agent(MODEL, capabilities=[notebook], toolsets=[memory_toolset(memory)])
            await agent.run("Note that I moved to Porto.")

    Compare-and-set holds for all stores on one file, in all threads and processes. Receipts are in the file, so a run
    that goes on after a crash is not written twice. Raises ``ValueError`` for paths and bounds that cannot be used,
    ``TypeError`` for metadata that is not text, and the errors of the host for conflicts.

    The host keeps namespaces apart; a recall of the whole memory does not, and finds the files of all. Where namespaces
    are users, give each an ``ecphora.Memory`` with a scope of its own, and the agent the store by ``store_resolver``.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._files = Records(memory, FILES)
        self._receipts = Records(memory, RECEIPTS)
        with _locks_guard:
            self._lock = _locks.setdefault(memory, threading.Lock())

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        """The file under a path, cut after ``max_chars`` characters; None if there is none."""
        _check_path(path)
        _check_positive("max_chars", max_chars)
        record = await asyncio.to_thread(self._files.get, path)
        return None if record is None else _file_of(record, max_chars)

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        """The result of an operation that was done before, None if it was not."""
        return await asyncio.to_thread(self._get_operation, operation)

    async def write(
        self, path: str, content: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Create or replace a file if its version is the expected one; None expects that there is none."""
        return await self.write_with_metadata(
            path, content, expected_version=expected_version, metadata=None, operation=operation
        )

    async def write_with_metadata(
        self,
        path: str,
        content: str,
        *,
        expected_version: str | None,
        metadata: Mapping[str, str] | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        """As :meth:`write`; ``metadata`` says something of this write, and goes with the next one."""
        _check_path(path)
        text = _metadata_text(metadata)
        return await asyncio.to_thread(self._write, path, content, expected_version, text, operation)

    async def delete(
        self, path: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Erase a file if its version is the expected one."""
        _check_path(path)
        return await asyncio.to_thread(self._delete, path, expected_version, operation)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """The first paths that begin with a prefix, sorted."""
        _check_prefix(prefix)
        _check_positive("limit", limit)
        files = await asyncio.to_thread(self._files_in, prefix)
        return [file.key for file in files[:limit]]

    async def search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> MemorySearchResult:
        """The files directly below a prefix that answer a query, or that have one of its words, best first.

        What a recall finds comes first, if its evidence is not NONE; then files with a word of the query, by how often
        they have it. Words such as "the" do not count. The score is 1 for the first file, 1/2 for the second, and so
        on. ``max_files`` bounds the files that are looked at, in the order of their paths, ``max_file_chars`` what is
        looked at of each, and ``max_chars`` the names and snippets of all.
        """
        _check_prefix(prefix)
        if not query.split() or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return MemorySearchResult(matches=[], scanned=0, truncated=False)
        bounds = {"limit": limit, "max_files": max_files, "max_chars": max_chars, "max_file_chars": max_file_chars}
        return await asyncio.to_thread(self._search, prefix, query, **bounds)

    # ---- in a thread

    def _get_operation(self, operation: MemoryOperation | None) -> MemoryMutation | None:
        if operation is None:
            return None
        written = next(self._files.find(Eq(OPERATION, operation.id)), None)
        receipt = self._log().get(operation.id) if written is None else _receipt_of(written)
        if receipt is None or self._never_landed(receipt):
            return None
        if receipt.fingerprint != operation.fingerprint:
            raise MemoryOperationConflictError(f"operation id {operation.id!r} was reused with different arguments")
        return MemoryMutation(version=receipt.version, replayed=True, existed=receipt.existed)

    def _write(
        self,
        path: str,
        content: str,
        expected_version: str | None,
        write_metadata: str | None,
        operation: MemoryOperation | None,
    ) -> MemoryMutation:
        with self._lock:
            if (done := self._get_operation(operation)) is not None:
                return done
            current = self._check_version(path, expected_version, "written")
            if current is not None:
                self._keep_receipts(current)
            version = secrets.token_hex(12)
            fields: Metadata = {VERSION: version, EXISTED: current is not None, WRITE_METADATA: write_metadata}
            if operation is not None:
                fields = {**fields, OPERATION: operation.id, FINGERPRINT: operation.fingerprint}
            if not self._files.put_if(current, path, Episode(content, metadata=fields)):
                raise _conflict(path, "written")
            return MemoryMutation(version=version, replayed=False, existed=current is not None)

    def _delete(self, path: str, expected_version: str | None, operation: MemoryOperation | None) -> MemoryMutation:
        with self._lock:
            if (done := self._get_operation(operation)) is not None:
                return done
            current = self._check_version(path, expected_version, "deleted")
            existed = current is not None
            own = (
                []
                if operation is None
                else [_Receipt(operation.id, operation.fingerprint, None, existed, path, expected_version)]
            )
            self._keep_receipts(current, own)  # before the deletion: `_never_landed` tells if that came to nothing
            if current is not None and not self._files.erase({KEY: path, VERSION: expected_version}):
                if operation is not None and self._files.get(path) is not None:
                    self._change_log(lambda log: {id_: one for id_, one in log.items() if id_ != operation.id})
                raise _conflict(path, "deleted")
            return MemoryMutation(version=None, replayed=False, existed=existed)

    def _check_version(self, path: str, expected: str | None, done: str) -> Record | None:
        """The file under a path, if its version is the expected one."""
        record = self._files.get(path)
        if (None if record is None else record.metadata[VERSION]) != expected:
            raise _conflict(path, done)
        return record

    def _files_in(self, prefix: str) -> list[Record]:
        files = self._files.find(Gte(KEY, prefix) & Lt(KEY, prefix + _LAST))
        return sorted(files, key=lambda file: file.key)

    # ---- receipts

    def _log(self) -> dict[str, _Receipt]:
        """The receipts that no file has, the latest last."""
        return _receipts_of(self._receipts.get(LOG))

    def _keep_receipts(self, replaced: Record | None, own: Iterable[_Receipt] = ()) -> None:
        """Log the receipt of a file that goes, and others; deletions of it that never landed are dropped."""
        last = None if replaced is None else _receipt_of(replaced)
        added = {one.id: one for one in (last, *own) if one is not None}

        def change(log: dict[str, _Receipt]) -> dict[str, _Receipt]:
            landed = {id_: one for id_, one in log.items() if replaced is None or not self._never_landed(one, replaced)}
            return landed | added

        self._change_log(change)

    def _change_log(self, change: Callable[[dict[str, _Receipt]], dict[str, _Receipt]]) -> None:
        """Change the log, whoever else writes to it."""
        while (kept := change(log := _receipts_of(record := self._receipts.get(LOG)))) != log:
            receipts = json.dumps([*kept.values()][-MAX_RECEIPTS:])
            if self._receipts.put_if(record, LOG, Episode("", metadata={LOG: receipts})):
                if record is None:
                    self.memory.maintenance.archive(self._receipts.id_of(LOG))  # it is no memory of anything
                return

    def _never_landed(self, receipt: _Receipt, current: Record | None = None) -> bool:
        """Whether a receipt belongs to a deletion that was broken off: the file is still there."""
        if receipt.deleted is None:
            return False
        record = self._files.get(receipt.path) if current is None else current
        return record is not None and (record.key, record.metadata[VERSION]) == (receipt.path, receipt.deleted)

    # ---- search

    def _search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> MemorySearchResult:
        files = [file for file in self._files_in(prefix) if "/" not in file.key.removeprefix(prefix)]
        words, scanned = _words(query), files[:max_files]
        seen = {file.key: _seen(file, prefix, max_file_chars, words) for file in scanned}
        ranked = self._recalled(query, seen, limit=limit)
        with_word = [path for path, one in seen.items() if one.in_text or one.in_name]
        for path in sorted(with_word, key=lambda path: (-seen[path].in_text - 2 * seen[path].in_name, path)):
            ranked.setdefault(path, 0)
        matches: list[MemorySearchMatch] = []
        for rank, (path, start) in enumerate([*ranked.items()][:limit], 1):
            name, text = seen[path].name, seen[path].text
            max_chars -= len(name)
            if max_chars <= 0:
                break
            places = [place for word in words if (place := text.lower().find(word)) >= 0]
            snippet = _snippet(text, min(places, default=start), max_chars)
            max_chars -= len(snippet)
            matches.append(MemorySearchMatch(path=path, snippet=snippet, score=1 / rank))
        is_cut = len(files) > max_files or any(len(file.content) > max_file_chars for file in scanned)
        return MemorySearchResult(matches, scanned=len(scanned), truncated=is_cut or len(matches) < len(ranked))

    def _recalled(self, query: str, seen: Mapping[str, "_Seen"], *, limit: int) -> dict[str, int]:
        """The paths of the files that a recall finds, best first, and where in the file the found text begins.

        If some have a word of the query in their text, files without one that rank below them all are left out.
        """
        if not seen:
            return {}
        found = self._files.search(query, In(KEY, tuple(seen)), limit=limit)
        starts: dict[str, int] = {}
        for hit in found:
            path, start = record_of_hit(hit).key, hit.node.start
            answers = found.evidence is not Evidence.NONE and start + len(hit.node.text) <= len(seen[path].text)
            if answers or seen[path].in_text:
                starts.setdefault(path, start)
        last = max((place for place, path in enumerate(starts) if seen[path].in_text), default=len(starts))
        return dict([*starts.items()][: last + 1])


class _Seen(NamedTuple):
    """What a search looks at of a file, and how often the words of the query are in it."""

    name: str
    text: str
    in_name: int
    in_text: int


def _seen(file: Record, prefix: str, max_chars: int, words: Iterable[str]) -> _Seen:
    name, text = file.key.removeprefix(prefix), file.content[:max_chars]
    in_name, in_text = (sum(part.lower().count(word) for word in words) for part in (name, text))
    return _Seen(name, text, in_name, in_text)


def memory_toolset(
    memory: Memory,
    *,
    names: Iterable[str] = TOOL_NAMES,
    session: str | None = None,
    budget: int = DEFAULT_REPLY_TOKENS,
    id: str = "ecphora",  # noqa: A002
) -> FunctionToolset[Any]:
    """The tools of a memory for an agent: ``Agent(MODEL, toolsets=[memory_toolset(memory)])``.

    ``names`` selects of remember, recall, update, forget and find. What the agent remembers belongs to ``session``;
    ``budget`` bounds the tokens of a reply (estimated). A call that cannot be done as the model made it is a
    ``ModelRetry``; other errors, such as ``StoreBusy``, end the run. A toolset with another ``id`` may be used besides.
    """
    tools = memory.tools(names=tuple(names), session=session, budget=budget)
    return FunctionToolset([_agent_tool(tools, one) for one in tools.tools], id=id)


def _agent_tool(tools: ToolSet, definition: FunctionTool) -> Tool[Any]:
    def call(**arguments: Any) -> str:
        reply = tools.reply(definition.name, arguments)
        if reply.is_error:
            raise ModelRetry(reply.text)
        return reply.text

    is_alone = not definition.is_read_only
    return Tool.from_schema(call, definition.name, definition.description, definition.schema(), sequential=is_alone)


# ---- files


def _file_of(record: Record, max_chars: int) -> MemoryFile:
    operation, metadata = record.metadata.get(OPERATION), record.metadata[WRITE_METADATA]
    return MemoryFile(
        content=record.content[:max_chars],
        version=str(record.metadata[VERSION]),
        operation_id=None if operation is None else str(operation),
        truncated=len(record.content) > max_chars,
        metadata=None if metadata is None else json.loads(str(metadata)),
    )


def _conflict(path: str, done: str) -> MemoryConflictError:
    return MemoryConflictError(f"memory path {path!r} changed before it could be {done}")


def _receipts_of(log: Record | None) -> dict[str, _Receipt]:
    rows = [] if log is None else json.loads(str(log.metadata[LOG]))
    return {receipt.id: receipt for receipt in (_Receipt(*row) for row in rows)}


def _receipt_of(record: Record) -> _Receipt | None:
    """The receipt of the operation that wrote a file, None if it was none."""
    fields = record.metadata
    if fields.get(OPERATION) is None:
        return None
    return _Receipt(
        str(fields[OPERATION]), str(fields[FINGERPRINT]), str(fields[VERSION]), bool(fields[EXISTED]), record.key
    )


def _metadata_text(metadata: Mapping[str, str] | None) -> str | None:
    """The metadata of a write as JSON, None if there is none."""
    if not metadata:
        return None
    texts = [text for pair in metadata.items() for text in pair]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("memory metadata keys and values must be strings")
    if any("\x00" in text for text in texts):
        raise ValueError("memory metadata keys and values must not contain NUL characters")
    encoded = json.dumps(dict(metadata), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    if len(encoded) > MAX_METADATA_CHARS:
        raise ValueError(f"memory metadata is {len(encoded)} characters as JSON; the limit is {MAX_METADATA_CHARS}")
    return encoded


def _words(query: str) -> list[str]:
    """The words of a query by which a file is found, in lower case: all if every one is a stop word."""
    given = query.lower().split()
    words = [word.strip(string.punctuation) for word in given]
    return [word for word in words if word and word not in STOP_WORDS] or given


def _snippet(text: str, place: int, size: int) -> str:
    """A window of a text around a place, with dots where the text goes on."""
    start = max(0, min(place - size // 3, len(text) - size))
    part = text[start : start + size]
    if start > 0:
        part = "..."[: len(part)] + part[3:]
    if start + size < len(text):
        part = part[:-3] + "..."[: len(part)]
    return part


def _check_path(path: str) -> None:
    """Raise ``ValueError`` for a path that the host's stores refuse."""
    names = path.split("/")
    if not all(_SEGMENT.fullmatch(name) and ".." not in name and name != "." for name in names):
        raise ValueError(f"invalid memory path: {path!r}")


def _check_prefix(prefix: str) -> None:
    if prefix:
        _check_path(prefix.removesuffix("/"))


def _check_positive(name: str, value: int) -> None:
    if value <= 0:
        raise ValueError(f"{name} must be positive")
