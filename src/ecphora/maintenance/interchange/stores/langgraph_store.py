"""Reads the items of a LangGraph ``SqliteStore``."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC
from pathlib import Path

from ....errors import InvalidInput
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Omission
from ..files.folders import existing_path, show_path
from ..files.progress import ProgressMeter
from ..imported_episodes import FIELD_NAMES, Entry, build_episode, find_fields
from .sqlite_files import DAMAGED_REST, columns, count_rows, has_columns, open_read_only, rows_until_damage

NAME = "langgraph"
BROKEN_VALUE = "an item whose value is not a JSON object"
_COLUMNS = ("prefix", "key", "value", "created_at", "updated_at")
_TEXT_KEYS = FIELD_NAMES["text"]


class LangGraphImporter:
    """Items as memories: the text of the value, or the value as lines of "key: value"; the namespace is metadata."""

    name = NAME
    title = "LangGraph, the file of a SqliteStore"
    fields = {  # noqa: RUF012  # the port asks for a mapping
        "happened_at": "updated_at", "speaker": "speaker or role of the value", "session": "session or thread_id",
    }  # fmt: skip

    def matches(self, path: str, /) -> bool:
        """Whether it is an SQLite file with the table of a store."""
        return has_columns(path, "store", *_COLUMNS)

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the items in the order in which they were put."""
        root = existing_path(path)
        return _read_store(root, progress)


def _read_store(root: Path, progress: Progress | None) -> Iterator[Episode | Omission]:
    with open_read_only(root) as connection:
        known = columns(connection, "store")
        if not set(_COLUMNS) <= set(known):
            raise InvalidInput(f"{show(str(root))} has no table of a LangGraph store")
        meter = ProgressMeter(progress, count_rows(connection, "store"))
        expiry = "expires_at" if "expires_at" in known else "NULL"
        query = f"SELECT {', '.join(_COLUMNS)}, {expiry} FROM store ORDER BY rowid"  # noqa: S608
        for row in rows_until_damage(connection.execute(query)):
            if row is None:
                yield Omission(DAMAGED_REST, show_path(root.name))
                break
            prefix, key, value, created, updated, expires = row
            origin = f"{show_path(root.name)}, {prefix}, {key}"
            found = _parse(value)
            if found is None:
                yield Omission(BROKEN_VALUE, origin)
            else:
                keys = {"namespace": str(prefix).split("."), "key": key, "expires_at": expires}
                own = {name: one for name, one in keys.items() if one is not None}
                yield from build_episode(NAME, _entry(found, origin, own, updated or created))
            meter.advance(1)
        meter.finish()


def _parse(value: object) -> Mapping[str, object] | None:
    try:
        found = json.loads(value) if isinstance(value, str | bytes) else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _entry(value: Mapping[str, object], origin: str, own: Mapping[str, object], time: object) -> Entry:
    inner = value.get("content")
    content = inner if isinstance(inner, Mapping) else value  # LangMem wraps its memories
    fields = find_fields(list(content))
    text, used = _text_of(content)
    named = {field: content[fields[field]] for field in ("speaker", "session", "title") if field in fields}
    rest = {**content, **({} if content is value else {name: value[name] for name in value if name != "content"})}
    left = {used, *fields.values()} if used else set(content)
    return Entry(
        origin,
        json.dumps([own["namespace"], own.get("key")], default=str),
        text,
        speaker=named.get("speaker"),
        session=named.get("session"),
        happened_at=time,
        title=named.get("title"),
        metadata={**{name: one for name, one in rest.items() if name not in left}, **own},
        zone=UTC,
    )


def _text_of(content: Mapping[str, object]) -> tuple[str, str]:
    """The text of a value, and the key that holds it; without such a key, all of the value in lines."""
    for key in _TEXT_KEYS:
        if isinstance(content.get(key), str) and str(content[key]).strip():
            return str(content[key]), key
    lines = []
    for key, one in content.items():
        if one in (None, "", [], {}):
            continue
        shown = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
        lines.append(f"{key}: {shown}")
    return "\n".join(lines), ""
