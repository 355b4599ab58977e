"""Exports, imports and backups over a connection to a server."""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from ...errors import InvalidRecord, ServerError, StoreError
from ...model.ports import Progress
from ...model.types import Backup, TransferResult
from ...model.validation import check_flag, check_lines, check_long_call, check_path, check_text_file
from ...stores.backup import check_target, move_into_place, temporary_file
from ...stores.connection import OpenFiles
from .server_connection import ServerConnection

NDJSON = "application/x-ndjson"
PART_BYTES = 1 << 16
"""Bytes of an import that are sent together."""
_FIRST_KEY = re.compile(rb'\s*\{\s*"(\w+)"')
EPISODES_HEADER, SHA256_HEADER, DAMAGE_HEADER = "Ecphora-Episodes", "Ecphora-Sha256", "Ecphora-Damage"


def export(connection: ServerConnection, scope: str, out: TextIO, arguments: Mapping[str, Any]) -> TransferResult:
    """Write a scope to a text file as it arrives."""
    check_text_file("out", out)
    counts: Counter[bytes] = Counter()
    content = json.dumps(arguments).encode()
    with connection.open("POST", "export", scope=scope, content=content, is_long=True) as response:
        for line in connection.lines(response):
            if first_key := _FIRST_KEY.match(line):
                counts[first_key[1]] += 1
            out.write(f"{line.decode()}\n")
    return TransferResult(
        nodes=counts[b"node"],
        edges=counts[b"edge"],
        validity_ends=counts[b"validity_end"],
        accesses=counts[b"access"],
        tombstones=counts[b"tombstone"],
        vectors=counts[b"vector"],
    )


def import_(
    connection: ServerConnection, scope: str, lines: Iterable[str], arguments: Mapping[str, Any]
) -> TransferResult:
    """Send an export line by line; the server imports it once it has all of it."""
    flags = {name: check_flag(name, arguments.get(name, False)) for name in ("restore", "change_existing")}
    with connection.open(
        "POST",
        "import",
        scope=scope,
        parameters={name: str(flag).lower() for name, flag in flags.items()},
        content=_parts(check_lines(lines)),
        content_type=NDJSON,
        is_long=True,
    ) as response:
        result: TransferResult = connection.decode(TransferResult, connection.parse(connection.read(response)))
    return result


def _parts(lines: Iterable[str]) -> Iterator[bytes]:
    """Lines as bytes, many together."""
    part = bytearray()
    for line in lines:
        try:
            part += line.encode()
        except UnicodeEncodeError as error:
            raise InvalidRecord("a line holds a lone surrogate; open the export with encoding='utf-8'") from error
        if not line.endswith("\n"):
            part += b"\n"
        if len(part) >= PART_BYTES:
            yield bytes(part)
            part.clear()
    yield bytes(part)


def backup(
    connection: ServerConnection, path: str | Path, *, overwrite: bool = False, progress: Progress | None = None
) -> Backup:
    """Fetch a copy of the server's file; it appears at ``path`` whole or not at all."""
    target, progress = check_path("path", path), check_long_call(progress, overwrite=overwrite)
    check_target(target, OpenFiles({}), overwrite=overwrite)
    try:
        with temporary_file(target) as temporary:
            copy = _fetch_copy(connection, temporary, target, progress)
            move_into_place(temporary, target, overwrite=overwrite)
    except OSError as error:
        raise StoreError(f"cannot write {target} ({error.strerror or error}); choose another folder") from error
    return copy


def _fetch_copy(connection: ServerConnection, temporary: Path, target: Path, progress: Progress | None) -> Backup:
    """Write the server's copy to a file, and compare it with the digest that the server gives."""
    digest, size = hashlib.sha256(), 0
    with (
        connection.open("POST", "backup", is_long=True) as response,
        temporary.open("wb") as file,
    ):
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else 0
        for part in response.iter_bytes():
            file.write(part)
            digest.update(part)
            size += len(part)
            if progress is not None:
                progress(size, total)
        file.flush()
        os.fsync(file.fileno())
        damage = tuple(json.loads(response.headers.get(DAMAGE_HEADER, "[]")))
        expected, episodes = response.headers.get(SHA256_HEADER), response.headers.get(EPISODES_HEADER, "")
    if digest.hexdigest() != expected or not episodes.isdecimal():
        raise ServerError(f"the copy from {connection.url} does not arrive as it was sent; nothing was kept: try again")
    return Backup(str(target), int(episodes), size, digest.hexdigest(), damage)
