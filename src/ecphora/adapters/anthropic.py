"""The memory tool of Claude in a memory: the files that it keeps under ``/memories``, which a recall finds too.

The model sees a folder of text files, with the results and errors of the file tool in the SDK, word for word. Each file
is a memory with exactly the content of the file, so nothing is written to a disk outside the memory's own file.

Written for anthropic 2.15: ``BetaAbstractMemoryTool`` and ``BetaAsyncAbstractMemoryTool``, tool ``memory_20250818``.
"""

import asyncio
import threading
import unicodedata
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from urllib.parse import unquote

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
except ImportError as error:
    raise ImportError("Anthropic's SDK is not installed; run: pip install 'ecphora[anthropic]'") from error

from ..errors import IdCollision, InvalidInput
from ..memory import Memory
from ..model.conditions import Gte, Lt
from ..model.text_format import replace_surrogates
from ..model.validation import MAX_NAME_CHARS
from ..recall.recollection import Recollection
from .records import KEY, Record, Records

ROOT = "/memories"
"""The folder that the model sees."""
RECORDS = "anthropic_memory"
"""The kind of the records."""
MAX_LINES = 999_999
"""The lines of the longest file that is shown, as in the SDK."""
NUMBER_WIDTH = len(str(MAX_LINES))
CONTROLS = ("Cc", "Cs", "Zl", "Zp")
"""The categories of characters that a path may not have."""
SHOWN_LEVELS = 2
"""The levels of folders that are listed."""
SNIPPET_LINES = 2
"""The lines shown before and after a replacement."""

_Tool = TypeVar("_Tool", bound="EcphoraMemoryTool")
_P = ParamSpec("_P")


def _command(
    handler: Callable[Concatenate[_Tool, _P], str],
) -> Callable[Concatenate[_Tool, _P], str]:
    """One command at a time; what the memory refuses is an error of the tool."""

    @wraps(handler)
    def handle(self: _Tool, /, *arguments: _P.args, **options: _P.kwargs) -> str:
        with self._lock:
            try:
                return handler(self, *arguments, **options)
            except (InvalidInput, IdCollision) as error:
                raise _error(str(error)) from error

    return handle


class EcphoraMemoryTool(BetaAbstractMemoryTool):
    """The ``memory`` tool of Claude with its files in a memory, for ``client.beta.messages.tool_runner``.

        with Memory("agent.db") as memory:
            tool = EcphoraMemoryTool(memory)
            messages = [{"role": "user", "content": "Remember that I moved to Porto."}]
            runner = client.beta.messages.tool_runner(model=MODEL, max_tokens=1024, messages=messages, tools=[tool])
            print(runner.until_done(), tool.recall("Where does the user live?"))

    Raises ``ToolError`` for what a command asks in vain, as the SDK does, with its words; other errors of the memory,
    such as ``StoreBusy``, are raised as they are. A folder is there as long as it has a file. Paths are names, never
    links: nothing outside ``/memories`` can be reached, and a path that would leave it on some disk is refused.

    Safe to share between threads. One tool a memory: two of them may write a file over each other's change.
    """

    def __init__(self, memory: Memory, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self.memory = memory
        self._records = Records(memory, RECORDS)
        self._lock = threading.Lock()

    def recall(self, question: str, *, limit: int = 10) -> Recollection:
        """The files that belong to a question, best first; ``hit.node.source`` is the path.

        A hit of a long file is the part of it that belongs to the question.
        """
        return self._records.search(question, limit=limit)

    @_command
    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or the files and folders of a folder, two levels deep."""
        key = _key_of(command.path)
        record = self._records.get(key)
        if record is not None:
            return _numbered(command.path, record.content, command.view_range)
        files = self._files_in(key)
        if not files and key != ROOT:
            raise _error(f"The path {command.path} does not exist. Please provide a valid path.")
        return _listing(key, files)

    @_command
    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file; one that exists stays as it is."""
        key = _key_of(command.path)
        if self._exists(key):
            raise _error(f"File {command.path} already exists")
        self._check_parents(key)
        self._records.put(key, command.file_text, source=key)
        return f"File created successfully at: {command.path}"

    @_command
    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs exactly once in a file."""
        content = self._file_at(command.path).content
        places = _occurrences(content, command.old_str)
        # As in the SDK, occurrences that overlap count once, but all of them are named.
        count = content.count(command.old_str)
        if count == 0:
            raise _error(
                f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in {command.path}."
            )
        if count > 1:
            lines = ", ".join(str(content[:place].count("\n") + 1) for place in places)
            raise _error(
                f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        changed = content.replace(command.old_str, command.new_str)
        self._records.put(_key_of(command.path), changed)
        lines_now, line = changed.split("\n"), content[: places[0]].count("\n")
        start = max(0, line - SNIPPET_LINES)
        snippet = _with_numbers(lines_now[start : line + SNIPPET_LINES + 1], start)
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
        )

    @_command
    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text behind a line of a file; line 0 is its beginning."""
        lines = self._file_at(command.path).content.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise _error(
                f"Invalid `insert_line` parameter: {command.insert_line}. It should be within the range "
                f"[0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        content = "\n".join(lines)
        self._records.put(_key_of(command.path), content if content.endswith("\n") else f"{content}\n")
        return f"The file {command.path} has been edited."

    @_command
    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Erase a file, or a folder with all that is in it."""
        key = _key_of(command.path)
        if key == ROOT:
            raise _error(f"Cannot delete the {ROOT} directory itself")
        if not self._records.delete([key, *(file.key for file in self._files_in(key))]):
            raise _error(f"The path {command.path} does not exist")
        return f"Successfully deleted {command.path}"

    @_command
    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder; its files keep their times."""
        old, new = _key_of(command.old_path), _key_of(command.new_path)
        if old == ROOT:
            raise _error(f"Cannot rename the {ROOT} directory itself")
        if self._exists(new):
            raise _error(f"The destination {command.new_path} already exists")
        file = self._records.get(old)
        moved = self._files_in(old) if file is None else [file]
        if not moved:
            raise _error(f"The path {command.old_path} does not exist")
        if new.startswith(f"{old}/"):
            raise _error(f"Cannot rename {command.old_path} to {command.new_path}, which is inside it")
        self._check_parents(new)
        targets = [_check_length(new + one.key.removeprefix(old)) for one in moved]
        for one, key in zip(moved, targets, strict=True):
            self._records.put(key, one.content, one.metadata, happened_at=one.node.happened_at, source=key)
        self._records.delete(one.key for one in moved)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Erase all files."""
        with self._lock:
            self._records.erase()
        return "All memory cleared"

    # ---- files and folders

    def _files_in(self, folder: str) -> list[Record]:
        """The files in a folder and the folders in it, in the order of a listing."""
        after_slash = chr(ord("/") + 1)
        files = self._records.find(Gte(KEY, f"{folder}/") & Lt(KEY, f"{folder}{after_slash}"))
        return sorted(files, key=lambda file: file.key.split("/"))

    def _exists(self, key: str) -> bool:
        return key == ROOT or self._records.get(key) is not None or bool(self._files_in(key))

    def _file_at(self, path: str) -> Record:
        key = _key_of(path)
        record = self._records.get(key)
        if record is None:
            is_folder = self._exists(key)
            raise _error(
                f"The path {path} is not a file."
                if is_folder
                else f"The path {path} does not exist. Please provide a valid path."
            )
        return record

    def _check_parents(self, key: str) -> None:
        """Refuse a path that has a file for a folder."""
        names = key.split("/")
        for count in range(3, len(names)):
            parent = "/".join(names[:count])
            if self._records.get(parent) is not None:
                raise _error(f"The path {parent} is not a directory.")


class AsyncEcphoraMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same tool for ``AsyncAnthropic``: each command runs in a thread."""

    def __init__(self, memory: Memory, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self.memory = memory
        self._tool = EcphoraMemoryTool(memory)

    async def recall(self, question: str, *, limit: int = 10) -> Recollection:
        """As :meth:`EcphoraMemoryTool.recall`."""
        return await asyncio.to_thread(self._tool.recall, question, limit=limit)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """As :meth:`EcphoraMemoryTool.view`."""
        return await asyncio.to_thread(self._tool.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """As :meth:`EcphoraMemoryTool.create`."""
        return await asyncio.to_thread(self._tool.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """As :meth:`EcphoraMemoryTool.str_replace`."""
        return await asyncio.to_thread(self._tool.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """As :meth:`EcphoraMemoryTool.insert`."""
        return await asyncio.to_thread(self._tool.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """As :meth:`EcphoraMemoryTool.delete`."""
        return await asyncio.to_thread(self._tool.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """As :meth:`EcphoraMemoryTool.rename`."""
        return await asyncio.to_thread(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        """As :meth:`EcphoraMemoryTool.clear_all_memory`."""
        return await asyncio.to_thread(self._tool.clear_all_memory)


def _error(message: str) -> ToolError:
    """The error that the model is told; texts that cannot be sent are made so that they can."""
    return ToolError(replace_surrogates(message))


# ---- paths


def _key_of(path: str) -> str:
    """A path in its only form; raises ``ToolError`` for a path that leads, or on some disk would lead, out of the root.

    A path is a name here, so ``%2e%2e`` and backslashes would do no harm. They are refused for whoever writes the files
    to a disk one day.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise _error(f"Path must start with {ROOT}, got: {path}")
    decoded = path
    while (once_more := unquote(decoded)) != decoded:
        decoded = once_more
    escapes = _error(f"Path {path} would escape {ROOT} directory")
    if decoded != path and ".." in decoded.split("/"):
        raise escapes
    if "\\" in decoded or any(unicodedata.category(character) in CONTROLS for character in decoded):
        raise _error(f"Path {path!r} has a backslash or a control character")
    names: list[str] = []
    for name in path.removeprefix(ROOT).split("/"):
        if name == "..":
            if not names:
                raise escapes
            names.pop()
        elif name not in {"", "."}:
            names.append(name)
    return _check_length("/".join([ROOT, *names]))


def _check_length(key: str) -> str:
    if len(key) > MAX_NAME_CHARS:
        raise _error(f"Path {key[:40]}... is longer than {MAX_NAME_CHARS} characters")
    return key


# ---- what the model is shown, in the words of the SDK


def _occurrences(text: str, part: str) -> list[int]:
    """Where a part begins in a text, with the occurrences that overlap."""
    places, place = [], text.find(part)
    while place != -1:
        places.append(place)
        place = text.find(part, place + 1)
    return places


def _with_numbers(lines: Iterable[str], start: int) -> str:
    return "\n".join(f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, start + 1))


def _numbered(path: str, content: str, view_range: list[int] | None) -> str:
    """The lines of a file with their numbers, or the lines of a range; its end may be -1."""
    lines, start = content.split("\n"), 0
    if len(lines) > MAX_LINES:
        raise _error(f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines.")
    if view_range is not None and len(view_range) == 2:
        start = max(1, view_range[0]) - 1
        lines = lines[start : len(lines) if view_range[1] == -1 else view_range[1]]
    return f"Here's the content of {path} with line numbers:\n{_with_numbers(lines, start)}"


def _listing(folder: str, files: Iterable[Record]) -> str:
    """The files and folders in a folder, with their sizes; the size of a folder is the size of what is in it."""
    sizes = {folder: 0}
    for file in files:
        size = len(file.content.encode())
        names = file.key.removeprefix(f"{folder}/").split("/")
        sizes[folder] += size
        for count in range(1, min(len(names), SHOWN_LEVELS) + 1):
            if any(name.startswith(".") for name in names[:count]):
                break
            path = "/".join([folder, *names[:count]]) + ("/" if count < len(names) else "")
            sizes[path] = sizes.get(path, 0) + size
    lines = "\n".join(f"{_size_text(size)}\t{path}" for path, size in sizes.items())
    return f"Here're the files and directories up to 2 levels deep in {folder}, excluding hidden items:\n{lines}"


def _size_text(size: int) -> str:
    """A number of bytes: 0B, 12B, 1.5K."""
    power = min(max(size.bit_length() - 1, 0) // 10, 3)
    number = size / 1024**power
    return f"{number:.0f}{'BKMG'[power]}" if number == int(number) else f"{number:.1f}{'BKMG'[power]}"
