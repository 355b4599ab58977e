"""Whatever a file holds, an importer yields what can be remembered and what is left out, or raises InvalidInput."""

import json
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.documents.csv_files import CsvImporter
from ecphora.maintenance.interchange.documents.mbox import MboxImporter
from ecphora.maintenance.interchange.documents.memory_files import MemoryFilesImporter
from ecphora.maintenance.interchange.documents.obsidian import ObsidianImporter
from ecphora.maintenance.interchange.documents.okf import OkfImporter
from ecphora.maintenance.interchange.stores.chroma_store import ChromaImporter
from ecphora.maintenance.interchange.stores.graphiti import GraphitiImporter
from ecphora.maintenance.interchange.stores.langgraph_store import LangGraphImporter
from ecphora.maintenance.interchange.stores.mem0_store import Mem0Importer
from ecphora.model.ports import FormatImporter
from ecphora.model.types import Episode, Omission
from ecphora.remember.documents import check_episode

NOW = datetime(2026, 12, 1, tzinfo=UTC)
IMPORTERS: dict[str, FormatImporter] = {
    "mail.mbox": MboxImporter(), "mail.eml": MboxImporter(), "MEMORY.md": MemoryFilesImporter(),
    "table.csv": CsvImporter(), "table.tsv": CsvImporter(), "mem0.json": Mem0Importer(), "history.db": Mem0Importer(),
    "store.db": LangGraphImporter(), "chroma.sqlite3": ChromaImporter(), "graph.json": GraphitiImporter(),
    "vault/a.md": ObsidianImporter(), "bundle/a.md": OkfImporter(),
}  # fmt: skip
BEGINNINGS = {
    "mail.mbox": b"From x\nFrom: a@x\nSubject: ", "mail.eml": b"From: a@x\nContent-Type: ", "MEMORY.md": b"# A\n\n- ",
    "table.csv": b"text,time,id\na,", "table.tsv": b"text\ttime\na\t", "mem0.json": b'[{"id": 1, "memory": ',
    "history.db": b"SQLite format 3\0", "store.db": b"SQLite format 3\0", "chroma.sqlite3": b"SQLite format 3\0",
    "graph.json": b'[{"fact": ', "vault/a.md": b"---\ncreated: ", "bundle/a.md": b"---\ntype: ",
}  # fmt: skip
ENDINGS = {"vault/a.md": b"\n---\nText.", "bundle/a.md": b"\n---\nText.", "mail.eml": b"\n\nText."}


def check_file(name: str, data: bytes) -> None:
    """Read a file of these bytes: it is invalid, or everything that comes out of it can be remembered."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        check_path(IMPORTERS[name], path.parent if "/" in name else path)


def check_path(importer: FormatImporter, path: Path) -> None:
    assert importer.matches(str(path)) in {True, False}
    try:
        found = list(importer.read(str(path)))
    except InvalidInput:
        return
    for one in found:
        assert isinstance(one, Episode | Omission)
        if isinstance(one, Episode):
            check_episode(one, NOW)
        else:
            assert one.reason
            assert one.place.encode()


@pytest.mark.parametrize("name", IMPORTERS)
@given(data=st.binary(max_size=500))
def test_arbitrary_bytes(name: str, data: bytes) -> None:
    check_file(name, data)


@pytest.mark.parametrize("name", IMPORTERS)
@given(data=st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_arbitrary_bytes_behind_a_beginning(name: str, data: bytes) -> None:
    check_file(name, BEGINNINGS[name] + data + ENDINGS.get(name, b""))


plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(["2026-05-03T10:00:00Z", "0001-01-01", "9999-12-31T23:59:59-14:00", "1" * 5000, "", " "])
)
KEYS = [
    "id", "memory", "text", "metadata", "created_at", "updated_at", "actor_id", "run_id", "results", "relations",
    "fact", "content", "uuid", "valid_at", "invalid_at", "expired_at", "source_node_uuid", "name", "episodes",
    "edges", "nodes", "source", "group_id", "type", "generated", "verified", "supersedes", "sources", "happened_at",
    "trust", "media", "tags", "date", "title", "speaker", "session", "status", "by", "at",
]  # fmt: skip


def objects(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=5)


values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | objects(inner), max_leaves=8)


@pytest.mark.parametrize("name", ["mem0.json", "graph.json"])
@given(value=st.lists(objects(values), max_size=4) | objects(st.lists(objects(values), max_size=4)))
def test_arbitrary_json(name: str, value: object) -> None:
    check_file(name, json.dumps(value).encode())
    check_file(name, json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("name", ["vault/a.md", "bundle/a.md", "MEMORY.md"])
@given(value=objects(values))
def test_arbitrary_frontmatter(name: str, value: object) -> None:
    header = json.dumps({"type": "Memory", **dict(value)})  # type: ignore[call-overload]  # JSON is YAML
    check_file(name, f"---\n{header}\n---\n\nText.\n".encode())


cells = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.binary(max_size=20) | st.text(max_size=20)
cells = cells | values.map(lambda value: json.dumps(value).encode()) | st.sampled_from(["DELETE", "UPDATE"])


def database(script: str, table: str, columns: int) -> Callable[[Path, list[tuple[object, ...]]], None]:
    def fill(path: Path, rows: list[tuple[object, ...]]) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
            for row in rows:
                encoded = [one.encode("utf-8", "replace").decode() if isinstance(one, str) else one for one in row]
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})", encoded[:columns])  # noqa: S608
            connection.commit()

    return fill


DATABASES = {
    "history.db": database(
        "CREATE TABLE history (memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted, role)",
        "history", 8,
    ),
    "store.db": database("CREATE TABLE store (prefix, key, value, created_at, updated_at)", "store", 5),
    "chroma.sqlite3": database(
        "CREATE TABLE collections (id, name); CREATE TABLE segments (id, collection); CREATE TABLE embeddings (id,"
        " segment_id, embedding_id, created_at); CREATE TABLE embedding_metadata (id, key, string_value, int_value,"
        " float_value, bool_value); INSERT INTO collections VALUES (1, x'ff'); INSERT INTO segments VALUES (1, 1);"
        " INSERT INTO embeddings VALUES (1, 1, NULL, 'x'); INSERT INTO embedding_metadata VALUES (1, 'chroma:document',"
        " 'A.', NULL, NULL, NULL)",
        "embedding_metadata", 6,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DATABASES)
@given(rows=st.lists(st.tuples(*[cells] * 8), max_size=4), ids=st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_arbitrary_cells(name: str, rows: list[tuple[object, ...]], ids: list[int]) -> None:
    numbered = [(number, *row[1:]) for number, row in zip(ids, rows, strict=False)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        DATABASES[name](path, numbered)
        check_path(IMPORTERS[name], path)
        data = bytearray(path.read_bytes())
        data[len(data) // 2 :: 7] = b"\xfe" * len(data[len(data) // 2 :: 7])
        path.write_bytes(data)
        check_path(IMPORTERS[name], path)
