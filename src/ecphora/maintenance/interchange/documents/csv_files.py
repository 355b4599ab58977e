"""Reads CSV and TSV files with a header: each row is a memory."""

import csv
import re
from collections.abc import Iterator, Mapping
from io import TextIOWrapper
from typing import Any

from ....errors import InvalidInput
from ....model.ports import Progress
from ....model.reprs import show
from ....model.text_format import truncate
from ....model.types import Episode, Omission
from ....model.validation import MAX_TEXT_CHARS
from ..files.folders import existing_path, first_bytes, show_path
from ..files.progress import ProgressMeter
from ..imported_episodes import FIELD_NAMES, Entry, as_text, build_episode, find_fields

NAME = "csv"
BROKEN_REST = "the rest of the file, which is not valid CSV"
LONG_ROW = "a row with more cells than the header"
TIME = "happened_at"
"""The field that a mapping may also call "time"."""
_SEPARATOR = re.compile(r"sep=(.)\s*\Z", re.IGNORECASE)
_MAX_SHOWN_CHARS = 1_000
"""Characters of the names of columns in a message."""
_DELIMITERS = ",;\t|"


class CsvImporter:
    """Rows as memories. ``mapping`` says which column is which field, as in ``{"text": "Body", "speaker": "Who"}``.

    The fields are text, speaker, time, session, title and id. For the others, columns are found by the names that
    :data:`.imported_episodes.FIELD_NAMES` lists. The rest of the columns is kept in the metadata.
    """

    name = NAME
    title = "CSV or TSV with a header"
    fields = {field: ", ".join(names) for field, names in FIELD_NAMES.items() if field not in {"text", "id"}}  # noqa: RUF012

    def __init__(self, mapping: Mapping[str, str] | None = None) -> None:
        self._mapping = {TIME if field == "time" else field: column for field, column in (mapping or {}).items()}
        if unknown := self._mapping.keys() - FIELD_NAMES.keys():
            names = ", ".join("time" if name == TIME else name for name in FIELD_NAMES)
            raise InvalidInput(f"{show(min(unknown))} is no field; give some of {names}")

    def matches(self, path: str, /) -> bool:
        """Whether the name ends as these files do, and the first line names a column of texts."""
        if not path.lower().endswith((".csv", ".tsv", ".tab")):
            return False
        start = first_bytes(path)
        try:
            header, _, _ = _read_header(start.decode(_encoding(start), "replace"))
        except (InvalidInput, csv.Error):
            return False
        return "text" in {**find_fields(header), **self._mapping}

    def fields_of(self, path: str, /) -> Mapping[str, str]:
        """Which column of a file becomes which field of a memory; raises ``InvalidInput`` as :meth:`read` does."""
        start = first_bytes(path)
        header, _, _ = _read_header(start.decode(_encoding(start), "replace"))
        columns = self._columns(header, path)
        rest = [name for at, name in enumerate(header) if name and at not in columns.values()]
        return {
            **{field: f"column {header[at]}" for field, at in columns.items()},
            **({"metadata": f"column{'s' * (len(rest) > 1)} {_list_names(rest)}"} if rest else {}),
        }

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the rows in their order."""
        root = existing_path(path)
        if root.is_dir():
            raise InvalidInput(f"{show(path)} is a folder; give a CSV file")
        start = first_bytes(root)
        if b"\0" in start and _encoding(start) != "utf-16":
            raise InvalidInput(f"{show(path)} is no CSV file")
        meter = ProgressMeter(progress, root.stat().st_size)
        place = show_path(root.name)
        with root.open("rb") as data:
            file = TextIOWrapper(data, encoding=_encoding(start), errors="replace", newline="")
            try:
                header, delimiter, head_rows = _read_header(start.decode(_encoding(start), "replace"))
                columns = self._columns(header, path)
                rows = csv.reader(file, delimiter=delimiter)
                for _ in range(head_rows):
                    next(rows, None)
            except csv.Error as error:
                raise InvalidInput(f"{show(path)} is no CSV file: {error}") from error
            for line, row in _numbered_rows(rows):
                meter.reach(data.tell())
                if row is None:
                    yield Omission(BROKEN_REST, f"{place}, line {line}")
                elif any(cell.strip() for cell in row):
                    yield from _read_row(header, columns, row, f"{place}, line {line}")
        meter.finish()

    def _columns(self, header: list[str], path: str) -> dict[str, int]:
        """The number of the column of each field."""
        for field, column in self._mapping.items():
            if column not in header:
                raise InvalidInput(
                    f"{show(path)} has no column {show(column)} for {field}; it has {_list_names(header)}"
                )
        found = {**find_fields(header), **self._mapping}
        if "text" not in found:
            names = ", ".join(FIELD_NAMES["text"])
            raise InvalidInput(
                f"{show(path)} has no column of texts: none of {names}; name one of {_list_names(header)} "
                "as --columns text=NAME"
            )
        return {field: header.index(column) for field, column in found.items()}


def _numbered_rows(rows: Any) -> Iterator[tuple[int, list[str] | None]]:
    """Rows with the numbers of their first lines; None in place of the rest if a cell is longer than any text."""
    while True:
        line = rows.line_num + 1
        limit = csv.field_size_limit(2 * MAX_TEXT_CHARS)  # it belongs to the process
        try:
            row = next(rows, None)
        except csv.Error:
            yield line, None
            return
        finally:
            csv.field_size_limit(limit)
        if row is None:
            return
        yield line, row


def _encoding(start: bytes) -> str:
    """UTF-16 with a mark, UTF-8, or else the code page that Excel writes in the West."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        start[:-4].decode("utf-8")
    except UnicodeDecodeError as error:
        return "utf-8-sig" if error.start >= len(start) - 8 else "cp1252"
    return "utf-8-sig"


def _read_header(start: str) -> tuple[list[str], str, int]:
    """The names of the columns, the delimiter, and how many rows these take.

    The delimiter is the one that the first line has most of, or that Excel names in a line before.
    """
    lines = start.removeprefix("\ufeff").splitlines(keepends=True)
    named = _SEPARATOR.match(lines[0]) if lines else None
    lines = lines[1:] if named else lines
    delimiter = named[1] if named else max(_DELIMITERS, key=next(iter(lines), "").count)
    header = next(csv.reader(lines, delimiter=delimiter), [])
    names = [name.strip() for name in header]
    if not any(names):
        raise InvalidInput("the file has no header")
    return names, delimiter, 1 + bool(named)


def _list_names(header: list[str]) -> str:
    return truncate(", ".join(filter(None, header)), _MAX_SHOWN_CHARS)


def _read_row(
    header: list[str], columns: Mapping[str, int], row: list[str], place: str
) -> Iterator[Episode | Omission]:
    if len(row) > len(header) and any(row[len(header) :]):
        yield Omission(LONG_ROW, place)
        return
    cells = [*row, *[""] * (len(header) - len(row))]
    used = set(columns.values())
    values = {field: cells[column].strip() for field, column in columns.items()}
    entry = Entry(
        place,
        values.get("id", ""),
        values["text"],
        speaker=values.get("speaker"),
        session=values.get("session"),
        happened_at=values.get("happened_at"),
        title=values.get("title"),
        metadata={
            **{name: as_text(cells[at]) for at, name in enumerate(header) if name and at not in used and cells[at]},
            **({"id": values["id"]} if values.get("id") else {}),
        },
    )
    yield from build_episode(NAME, entry)
