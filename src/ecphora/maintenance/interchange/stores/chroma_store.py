"""Reads the documents of a local Chroma database, all of its collections."""

from collections.abc import Iterator
from datetime import UTC
from itertools import groupby
from pathlib import Path

from ....errors import InvalidInput
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Omission
from ..files.folders import existing_path
from ..files.progress import ProgressMeter
from ..imported_episodes import Entry, build_episode, find_fields
from .sqlite_files import DAMAGED_REST, columns, count_rows, has_columns, open_read_only, rows_until_damage

NAME = "chroma"
FILE_NAME = "chroma.sqlite3"
NO_DOCUMENT = "a record without a document"
_DOCUMENT = "chroma:document"
_QUERY = """
SELECT e.id, e.embedding_id, e.created_at, c.name, m.key, m.string_value, m.int_value, m.float_value, {boolean}
FROM embeddings e
JOIN segments s ON s.id = e.segment_id
JOIN collections c ON c.id = s.collection
LEFT JOIN embedding_metadata m ON m.id = e.id
ORDER BY e.id, m.key
"""


class ChromaImporter:
    """Documents as memories, with their metadata; vectors are not read."""

    name = NAME
    title = "Chroma, the folder of a local database or its chroma.sqlite3"
    fields = {  # noqa: RUF012  # the port asks for a mapping
        "speaker": "speaker, author, role or user of the metadata", "session": "session, thread_id or conversation_id",
        "happened_at": "time, date, timestamp or created_at of the metadata, else when it was stored",
        "title": "title or subject",
    }  # fmt: skip

    def matches(self, path: str, /) -> bool:
        """Whether it is such a file or folder."""
        return has_columns(_file_of(Path(path)), "embedding_metadata", "id", "key", "string_value")

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the documents in the order in which they were stored."""
        return _read_database(_file_of(existing_path(path)), progress)


def _file_of(path: Path) -> Path:
    try:
        return path / FILE_NAME if path.is_dir() else path
    except (OSError, ValueError):
        return path


def _read_database(root: Path, progress: Progress | None) -> Iterator[Episode | Omission]:
    with open_read_only(root) as connection:
        known = columns(connection, "embedding_metadata")
        tables = [columns(connection, name) for name in ("embeddings", "segments", "collections")]
        if not {"id", "key", "string_value"} <= set(known) or not all(tables):
            raise InvalidInput(f"{show(str(root))} is no database of Chroma")
        meter = ProgressMeter(progress, count_rows(connection, "embeddings"))
        query = _QUERY.format(boolean="m.bool_value" if "bool_value" in known else "NULL")
        for row_id, rows in groupby(rows_until_damage(connection.execute(query)), lambda row: row and row[0]):
            found = [row for row in rows if row is not None]
            if not found:
                yield Omission(DAMAGED_REST, FILE_NAME)
                break
            _, record, created, collection = found[0][:4]
            values = {str(row[4]): _value(*row[5:]) for row in found if row[4] is not None}
            origin = f"collection {collection}, {record}"
            if not isinstance(values.get(_DOCUMENT), str):
                yield Omission(NO_DOCUMENT, origin)
            else:
                yield from build_episode(NAME, _entry(values, origin, f"{collection}\x1f{record}", created))
            meter.advance(1)
            del row_id
        meter.finish()


def _value(text: object, whole: object, number: object, truth: object) -> object:
    if truth is not None:
        return bool(truth)
    return text if text is not None else whole if whole is not None else number


def _entry(values: dict[str, object], origin: str, key: str, created: object) -> Entry:
    fields = find_fields([name for name in values if name != _DOCUMENT])
    named = {field: values[name] for field, name in fields.items()}
    used = {_DOCUMENT, *(fields[field] for field in ("speaker", "session", "title") if field in fields)}
    return Entry(
        origin,
        key,
        values[_DOCUMENT],
        speaker=named.get("speaker"),
        session=named.get("session"),
        happened_at=named.get("happened_at") or created,
        title=named.get("title"),
        metadata={name: value for name, value in values.items() if name not in used},
        zone=UTC,
    )
