"""Reads the memories of mem0: its SQLite file of the history, or the JSON of ``get_all``."""

import sqlite3
from collections.abc import Iterator, Mapping
from datetime import UTC
from itertools import groupby
from pathlib import Path
from typing import Any

from ....errors import InvalidInput
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Omission
from ..files.folders import existing_path, first_bytes, show_path
from ..files.json_stream import BROKEN_REST, ITEMS, BrokenJson, read_values
from ..files.progress import ProgressMeter
from ..imported_episodes import Entry, build_episode
from ..supersession import Successor, predecessors_first
from .sqlite_files import DAMAGED_REST, columns, count_rows, has_columns, is_sqlite, open_read_only, rows_until_damage

NAME = "mem0"
DELETED = "a memory that was deleted in mem0"
CONTEXT_MESSAGE = "a message that mem0 keeps as the context of a session, not as a memory"
GRAPH_RELATION = "a relation of the graph, which follows from the memories"
NOT_A_MEMORY = "an item without a memory"
_HISTORY = ("memory_id", "old_memory", "new_memory", "event")
_HISTORY_EXTRAS = ("created_at", "updated_at", "is_deleted", "actor_id", "role")
_MEMORY_KEYS = ("memory", "data", "text")


class Mem0Importer:
    """Facts as memories. In the history, each version of a fact supersedes the version before it."""

    name = NAME
    title = "mem0, its history.db or the JSON of get_all"
    fields = {  # noqa: RUF012  # the port asks for a mapping
        "speaker": "actor_id, or role", "happened_at": "updated_at, or created_at", "session": "run_id",
    }  # fmt: skip

    def matches(self, path: str, /) -> bool:
        """Whether it is a history, or JSON that begins with memories."""
        if is_sqlite(path):
            return has_columns(path, "history", *_HISTORY)
        start = first_bytes(path, 4_096)
        return start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"{", b"["} and b'"memory"' in start and b'"id"' in start

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the memories, a version after the version that it supersedes."""
        root = existing_path(path)
        if root.is_dir():
            raise InvalidInput(f"{show(path)} is a folder; give mem0's history.db, or the JSON of get_all")
        return _read_history(root, progress) if is_sqlite(root) else _read_json(root, progress)


# ---- the history


def _read_history(root: Path, progress: Progress | None) -> Iterator[Episode | Omission]:
    with open_read_only(root) as connection:
        known = columns(connection, "history")
        if not set(_HISTORY) <= set(known):
            raise InvalidInput(f"{show(str(root))} has no history of mem0")
        meter = ProgressMeter(progress, count_rows(connection, "history"))
        names = [name if name in known else f"NULL AS {name}" for name in (*_HISTORY, *_HISTORY_EXTRAS)]
        order = "memory_id, rowid"
        rows = rows_until_damage(connection.execute(f"SELECT {', '.join(names)} FROM history ORDER BY {order}"))  # noqa: S608
        place = show_path(root.name)
        for memory_id, events in groupby(rows, lambda row: None if row is None else row[0]):
            found = [dict(zip((*_HISTORY, *_HISTORY_EXTRAS), row, strict=True)) for row in events if row is not None]
            if not found:
                yield Omission(DAMAGED_REST, place)
                continue
            yield from predecessors_first(_versions(found, f"{place}, memory {memory_id}"))
            meter.advance(len(found))
        yield from _context_messages(connection, place)
        meter.finish()


def _versions(events: list[dict[str, Any]], origin: str) -> Iterator[Successor | Omission]:
    """The versions of one memory, the oldest first."""
    if events[-1]["event"] == "DELETE" or events[-1]["is_deleted"]:
        yield Omission(DELETED, origin)
        return
    texts = list[tuple[object, object]]()
    if events[0]["old_memory"]:  # the history began later
        texts.append((events[0]["old_memory"], events[0]["created_at"]))
    texts += [(event["new_memory"], event["updated_at"] or event["created_at"]) for event in events]
    speaker = next((event["actor_id"] or event["role"] for event in events if event["actor_id"] or event["role"]), None)
    previous: object = None
    key: int | None = None
    for number, (text, time) in enumerate(texts, 1):
        if text in {None, "", previous}:
            continue
        entry = Entry(
            f"{origin}, version {number}",
            f"{events[0]['memory_id']}",
            text,
            speaker=speaker,
            happened_at=time,
            metadata={"memory_id": events[0]["memory_id"], "version": number},
            zone=UTC,
        )
        for item in build_episode(NAME, entry):
            if isinstance(item, Omission):
                yield item
            else:
                yield Successor(number, item, key, entry.origin)
                previous, key = text, number


def _context_messages(connection: sqlite3.Connection, place: str) -> Iterator[Omission]:
    if {"session_scope", "content"} <= set(columns(connection, "messages")):
        for row in rows_until_damage(connection.execute("SELECT session_scope FROM messages ORDER BY rowid")):
            yield Omission(CONTEXT_MESSAGE, f"{place}, session {row[0]}") if row else Omission(DAMAGED_REST, place)


# ---- the JSON of get_all


def _read_json(root: Path, progress: Progress | None) -> Iterator[Episode | Omission]:
    meter = ProgressMeter(progress, root.stat().st_size)
    name, count, found = show_path(root.name), 0, 0
    with root.open("rb") as file:
        try:
            for place, item in read_values(meter.wrap(file), name, ITEMS):
                if place[0] in {"relations", "graph"}:
                    yield Omission(GRAPH_RELATION, f"{name}, relation")
                elif len(place) == 1 or place[0] in {"results", "memories"}:
                    count += 1
                    origin = f"{name}, memory {count}"
                    if isinstance(item, Mapping) and isinstance(_memory_of(item), str):
                        found += 1
                        yield from build_episode(NAME, _json_entry(item, origin))
                    elif found:
                        yield Omission(NOT_A_MEMORY, origin)
                    else:
                        raise InvalidInput(f"{show(str(root))} does not begin with a memory of mem0")
        except BrokenJson:
            if not found:
                raise
            yield Omission(BROKEN_REST, name)
    if not found:
        raise InvalidInput(f"{show(str(root))} has no memory of mem0")
    meter.finish()


def _memory_of(item: Mapping[str, Any]) -> object:
    return next((item[key] for key in _MEMORY_KEYS if item.get(key) is not None), None) if "id" in item else None


def _json_entry(item: Mapping[str, Any], origin: str) -> Entry:
    own = item.get("metadata") if isinstance(item.get("metadata"), Mapping) else {}
    left = {"id", "hash", "score", "metadata", "created_at", "updated_at", *_MEMORY_KEYS}
    return Entry(
        origin,
        str(item["id"]),
        _memory_of(item),
        speaker=item.get("actor_id") or item.get("role"),
        session=item.get("run_id"),
        happened_at=item.get("updated_at") or item.get("created_at"),
        metadata={
            **(own or {}),
            **{key: value for key, value in item.items() if key not in left and value is not None},
            "memory_id": item["id"],
        },
        zone=UTC,
    )
