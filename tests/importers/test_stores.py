"""The files of mem0, LangGraph and Chroma, and the JSON of mem0 and Graphiti, made as these programs make them."""

import json
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.files.json_stream import BROKEN_REST
from ecphora.maintenance.interchange.imported_episodes import EMPTY_TEXT, UNREADABLE_TIME
from ecphora.maintenance.interchange.stores import graphiti, langgraph_store, mem0_store, sqlite_files
from ecphora.maintenance.interchange.stores.chroma_store import NO_DOCUMENT, ChromaImporter
from ecphora.maintenance.interchange.stores.graphiti import GraphitiImporter
from ecphora.maintenance.interchange.stores.langgraph_store import LangGraphImporter
from ecphora.maintenance.interchange.stores.mem0_store import Mem0Importer
from ecphora.memory import Memory
from ecphora.model.ports import FormatImporter, Importer
from ecphora.model.types import Episode, Omission
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock, ImporterContract

HISTORY = """CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,
created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"""
OLD_HISTORY = """CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT,
event TEXT, created_at DATETIME, updated_at DATETIME, is_deleted INTEGER)"""
MESSAGES = """CREATE TABLE messages (id TEXT PRIMARY KEY, session_scope TEXT, role TEXT, content TEXT, name TEXT,
created_at DATETIME)"""
STORE = """CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value text NOT NULL,
created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
expires_at TIMESTAMP, ttl_minutes REAL, PRIMARY KEY (prefix, key))"""
CHROMA = """CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER);
CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT NOT NULL, scope TEXT NOT NULL, collection TEXT NOT NULL);
CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL,
seq_id BLOB NOT NULL, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE (segment_id, embedding_id));
CREATE TABLE embedding_metadata (id INTEGER REFERENCES embeddings(id), key TEXT NOT NULL, string_value TEXT,
int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));
INSERT INTO collections VALUES ('c', 'notes', 3);
INSERT INTO segments VALUES ('v', 'urn:chroma:segment/vector/hnsw', 'VECTOR', 'c'),
('m', 'urn:chroma:segment/metadata/sqlite', 'METADATA', 'c');
INSERT INTO embeddings VALUES (1, 'm', 'a', 1, '2026-05-03 10:00:00'), (2, 'm', 'b', 2, '2026-05-04 10:00:00'),
(3, 'm', 'd', 3, '2026-05-05 10:00:00');
INSERT INTO embedding_metadata VALUES (1, 'chroma:document', 'Ana lives in Porto.', NULL, NULL, NULL),
(1, 'speaker', 'Ana', NULL, NULL, NULL), (1, 'timestamp', '2026-01-10T10:00:00+01:00', NULL, NULL, NULL),
(1, 'n', NULL, 1, NULL, NULL), (1, 'f', NULL, NULL, 1.5, NULL), (1, 'b', NULL, NULL, NULL, 1),
(2, 'chroma:document', 'Ben likes tea.', NULL, NULL, NULL), (2, 'session_id', 's1', NULL, NULL, NULL),
(3, 'only', 'a vector', NULL, NULL, NULL)"""
T1, T2 = "2026-01-10T10:00:00+00:00", "2026-05-03T10:00:00+00:00"


def make_database(path: Path, script: str, table: str = "", rows: Iterable[tuple[object, ...]] = ()) -> str:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    for row in rows:
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
    connection.commit()
    connection.close()
    return str(path)


def make_history(path: Path) -> str:
    rows = [
        ("h1", "m1", None, "Ana lives in Lisbon.", "ADD", T1, T1, 0, "ana", "user"),
        ("h2", "m2", None, "A secret.", "ADD", T1, None, 0, None, None),
        ("h3", "m1", "Ana lives in Lisbon.", "Ana lives in Porto.", "UPDATE", T1, T2, 0, None, None),
        ("h4", "m2", "A secret.", None, "DELETE", T1, T2, 1, None, None),
        ("h5", "m3", "Ben drinks coffee.", "Ben drinks tea.", "UPDATE", T1, "soon", 0, None, "assistant"),
    ]
    make_database(path, HISTORY, "history", rows)
    return make_database(path, MESSAGES, "messages", [("x", "user_id=ana", "user", "hi", None, T1)])


def make_store(path: Path) -> str:
    rows = [
        ("memories.ana", "k1", b'{"kind": "Memory", "content": {"content": "Ana lives in Porto.", "sure": 3}}', "a"),
        ("memories.ana", "k2", '{"text": "Ana likes tea.", "role": "user", "thread_id": "t", "n": 1}', "b"),
        ("profile", "p", '{"food": "pizza", "age": 3, "likes": ["tea"]}', "c"),
        ("profile", "q", "[1]", "d"),
        ("profile", "r", '{"text": ""}', "e"),
    ]
    filled = [(*row[:3], "2026-01-10 10:00:00", "2026-05-03 10:00:00", None, None) for row in rows]
    return make_database(path, STORE, "store", filled)


def write_json(path: Path, value: object) -> str:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


def memories_json() -> dict[str, Any]:
    return {
        "results": [
            {
                "id": "m1", "memory": "Ana lives in Porto.", "hash": "x",
                "metadata": {"topic": "home", "deep": {"a": 1}}, "created_at": T1, "updated_at": T2,
                "user_id": "ana", "run_id": "r1", "role": "user", "score": None,
            },
            {"id": "m2", "memory": "", "created_at": T1},
            "stray",
        ],
        "relations": [{"source": "ana", "relationship": "lives", "target": "porto"}],
    }  # fmt: skip


def fact(uuid: str, text: str, start: str | None, end: str | None = None, subject: str = "ana") -> dict[str, Any]:
    return {
        "uuid": uuid, "name": "LIVES_IN", "fact": text, "fact_embedding": [0.1], "group_id": "g",
        "source_node_uuid": subject, "target_node_uuid": "x", "episodes": ["e1"], "created_at": T1, "expired_at": None,
        "valid_at": start, "invalid_at": end, "attributes": {},
    }  # fmt: skip


def graph_json() -> dict[str, Any]:
    return {
        "episodes": [
            {
                "uuid": "e1", "name": "chat 1", "group_id": "g", "source": "message", "source_description": "chat",
                "content": "Ana: I moved to Porto.", "valid_at": T2, "created_at": T2, "entity_edges": ["f2"],
            },
        ],
        "nodes": [{"uuid": "ana", "name": "Ana", "labels": ["Entity"], "summary": "a person"}],
        "edges": [
            fact("f2", "Ana lives in Porto.", T2),
            fact("f1", "Ana lives in Lisbon.", T1, T2),
            fact("f3", "Ben works at Acme.", T1, T2, "ben"),
            {"uuid": "?"},
        ],
    }  # fmt: skip


def read(importer: Importer, path: str) -> tuple[dict[str, Episode], list[Omission]]:
    """The episodes by their texts, and the omissions."""
    found = list(importer.read(path))
    episodes = [one for one in found if isinstance(one, Episode)]
    return {one.text: one for one in episodes}, [one for one in found if isinstance(one, Omission)]


SAMPLES: dict[str, tuple[FormatImporter, Callable[[Path], str]]] = {
    "history": (Mem0Importer(), lambda folder: make_history(folder / "history.db")),
    "mem0 json": (Mem0Importer(), lambda folder: write_json(folder / "mem0.json", memories_json())),
    "langgraph": (LangGraphImporter(), lambda folder: make_store(folder / "store.db")),
    "chroma": (ChromaImporter(), lambda folder: make_database(folder / "chroma.sqlite3", CHROMA)),
    "graphiti": (GraphitiImporter(), lambda folder: write_json(folder / "graph.json", graph_json())),
}


class TestContracts(ImporterContract):
    @pytest.fixture(params=SAMPLES)
    def name(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def importer(self, name: str) -> Importer:
        return SAMPLES[name][0]

    @pytest.fixture
    def sample(self, name: str, tmp_path: Path) -> str:
        return SAMPLES[name][1](tmp_path)


@pytest.mark.parametrize("name", SAMPLES)
def test_each_recognizes_its_own_format_alone(name: str, tmp_path: Path) -> None:
    path = SAMPLES[name][1](tmp_path)
    own = type(SAMPLES[name][0])
    for importer, _ in SAMPLES.values():
        assert isinstance(importer, FormatImporter)
        assert importer.matches(path) == (type(importer) is own)
        assert not importer.matches(str(tmp_path / "missing"))
        assert not importer.matches("\0")


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_is_written_where_the_file_lies(name: str, tmp_path: Path) -> None:
    importer, make = SAMPLES[name]
    path = make(tmp_path)
    before = Path(path).read_bytes()
    list(importer.read(path))
    assert [one.name for one in tmp_path.iterdir()] == [Path(path).name]
    assert Path(path).read_bytes() == before


# ---- mem0


def test_versions_in_the_history_of_mem0_supersede_one_another(tmp_path: Path) -> None:
    episodes, omissions = read(Mem0Importer(), make_history(tmp_path / "history.db"))
    lisbon, porto = episodes["Ana lives in Lisbon."], episodes["Ana lives in Porto."]
    assert (porto.supersedes, porto.speaker, str(porto.happened_at)) == (lisbon.id, "ana", "2026-05-03 10:00:00+00:00")
    assert str(lisbon.happened_at) == "2026-01-10 10:00:00+00:00"
    assert porto.metadata == {"memory_id": "m1", "version": 2, "origin": "history.db, memory m1, version 2"}
    assert episodes["Ben drinks tea."].supersedes == episodes["Ben drinks coffee."].id
    assert len(episodes) == 4
    assert omissions == [
        Omission(mem0_store.DELETED, "history.db, memory m2"),
        Omission(UNREADABLE_TIME, "history.db, memory m3, version 2"),
        Omission(mem0_store.CONTEXT_MESSAGE, "history.db, session user_id=ana"),
    ]


def test_older_history_without_actors(tmp_path: Path) -> None:
    rows = [("h1", "m1", None, "Ana lives in Lisbon.", "ADD", T1, None, 0)]
    episodes, _ = read(Mem0Importer(), make_database(tmp_path / "history.db", OLD_HISTORY, "history", rows))
    assert episodes["Ana lives in Lisbon."].speaker is None


def test_json_of_mem0(tmp_path: Path) -> None:
    episodes, omissions = read(Mem0Importer(), write_json(tmp_path / "m.json", memories_json()))
    (porto,) = episodes.values()
    assert (porto.speaker, porto.session, str(porto.happened_at)) == ("user", "r1", "2026-05-03 10:00:00+00:00")
    assert porto.metadata == {
        "topic": "home", "deep": '{"a": 1}', "user_id": "ana", "run_id": "r1", "role": "user", "memory_id": "m1",
        "origin": "m.json, memory 1",
    }  # fmt: skip
    assert omissions == [
        Omission(EMPTY_TEXT, "m.json, memory 2"), Omission(mem0_store.NOT_A_MEMORY, "m.json, memory 3"),
        Omission(mem0_store.GRAPH_RELATION, "m.json, relation"),
    ]  # fmt: skip
    as_array = write_json(tmp_path / "array.json", memories_json()["results"][:1])
    assert list(read(Mem0Importer(), as_array)[0]) == ["Ana lives in Porto."]


def test_json_lines_and_any_key_are_read(tmp_path: Path) -> None:
    memories, facts = memories_json()["results"][:1] * 2, graph_json()["edges"][:2]
    for importer, items in ((Mem0Importer(), memories), (GraphitiImporter(), facts)):
        lines = write_json(tmp_path / "lines.json", "\ufeff" + "\n".join(map(json.dumps, items)))
        assert "Ana lives in Porto." in read(importer, lines)[0]
    assert "Ana lives in Porto." in read(GraphitiImporter(), write_json(tmp_path / "k.json", {"data": facts}))[0]


def test_json_that_breaks_off_keeps_what_came_before(tmp_path: Path) -> None:
    text = json.dumps(memories_json()["results"] * 1000)
    episodes, omissions = read(Mem0Importer(), write_json(tmp_path / "m.json", text[:-1000]))
    assert episodes
    assert omissions[-1] == Omission(BROKEN_REST, "m.json")


@pytest.mark.parametrize("text", ["", "[", "[]", "{}", '{"results": []}', "[1]", '[{"a": 1}]', "nul", "[" * 10_000])
@pytest.mark.parametrize("importer", [Mem0Importer(), GraphitiImporter()])
def test_other_json_is_invalid(importer: Importer, text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        list(importer.read(write_json(tmp_path / "x.json", text)))


def test_folder_is_no_json_file(tmp_path: Path) -> None:
    for importer in (Mem0Importer(), GraphitiImporter()):
        with pytest.raises(InvalidInput, match="is a folder"):
            list(importer.read(str(tmp_path)))


# ---- LangGraph


def test_items_of_langgraph(tmp_path: Path) -> None:
    episodes, omissions = read(LangGraphImporter(), make_store(tmp_path / "store.db"))
    porto, tea = episodes["Ana lives in Porto."], episodes["Ana likes tea."]
    assert porto.metadata == {
        "kind": "Memory", "sure": 3, "namespace": ["memories", "ana"], "key": "k1",
        "origin": "store.db, memories.ana, k1",
    }  # fmt: skip
    assert str(porto.happened_at) == "2026-05-03 10:00:00+00:00"
    assert (tea.speaker, tea.session, tea.metadata["n"]) == ("user", "t", 1)
    assert 'food: pizza\nage: 3\nlikes: ["tea"]' in episodes
    assert omissions == [
        Omission(langgraph_store.BROKEN_VALUE, "store.db, profile, q"), Omission(EMPTY_TEXT, "store.db, profile, r"),
    ]  # fmt: skip


def test_first_version_of_the_store_has_no_expiry(tmp_path: Path) -> None:
    script = "CREATE TABLE store (prefix text, key text, value text, created_at TIMESTAMP, updated_at TIMESTAMP)"
    path = make_database(tmp_path / "s.db", script, "store", [("a", "k", '{"text": "Old."}', None, None)])
    assert list(read(LangGraphImporter(), path)[0]) == ["Old."]


# ---- Chroma


def test_documents_of_chroma(tmp_path: Path) -> None:
    make_database(tmp_path / "chroma.sqlite3", CHROMA)
    episodes, omissions = read(ChromaImporter(), str(tmp_path))
    porto, tea = episodes["Ana lives in Porto."], episodes["Ben likes tea."]
    assert (porto.speaker, str(porto.happened_at)) == ("Ana", "2026-01-10 10:00:00+01:00")
    assert porto.metadata == {
        "timestamp": "2026-01-10T10:00:00+01:00", "n": 1, "f": 1.5, "b": True, "origin": "collection notes, a",
    }  # fmt: skip
    assert (tea.session, str(tea.happened_at)) == ("s1", "2026-05-04 10:00:00+00:00")
    assert omissions == [Omission(NO_DOCUMENT, "collection notes, d")]
    assert ChromaImporter().matches(str(tmp_path))


# ---- SQLite files


@pytest.mark.parametrize("importer", [Mem0Importer(), LangGraphImporter(), ChromaImporter()])
def test_other_databases_are_invalid(importer: Importer, tmp_path: Path) -> None:
    other = make_database(tmp_path / "other.db", "CREATE TABLE t (a); CREATE VIEW store AS SELECT 1 AS prefix")
    with pytest.raises(InvalidInput):
        list(importer.read(other))
    (tmp_path / "torn.db").write_bytes(Path(make_store(tmp_path / "s.db")).read_bytes()[:3000])
    with pytest.raises(InvalidInput):
        list(importer.read(str(tmp_path / "torn.db")))


def test_damage_in_the_middle_keeps_what_came_before(tmp_path: Path) -> None:
    rows = [("p", f"{n:05}", json.dumps({"text": f"Text {n}. " + "x" * 500}), T1, T1, None, None) for n in range(500)]
    path = Path(make_database(tmp_path / "s.db", STORE, "store", rows))
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 40_960] = b"\xff" * 40_960
    path.write_bytes(data)
    episodes, omissions = read(LangGraphImporter(), str(path))
    assert 0 < len(episodes) < 500
    assert omissions[-1] == Omission(sqlite_files.DAMAGED_REST, "s.db")


# ---- Graphiti


def test_facts_of_graphiti_end_when_they_became_invalid(tmp_path: Path) -> None:
    path = write_json(tmp_path / "g.json", graph_json())
    episodes, omissions = read(GraphitiImporter(), path)
    lisbon, porto = episodes["Ana lives in Lisbon."], episodes["Ana lives in Porto."]
    assert porto.supersedes == lisbon.id
    assert list(episodes).index(lisbon.text) < list(episodes).index(porto.text)
    assert episodes["No longer true: Ben works at Acme."].supersedes == episodes["Ben works at Acme."].id
    chat = episodes["Ana: I moved to Porto."]
    assert (chat.session, chat.title, str(chat.happened_at)) == ("g", "chat 1", "2026-05-03 10:00:00+00:00")
    assert len(episodes) == 5
    assert [one.reason for one in omissions] == [graphiti.ENTITY_NODE, graphiti.UNKNOWN_ITEM]
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(16), clock=FakeClock(), zone="UTC") as memory:
        memory.remember(episodes.values())
        ended = {
            hit.text: hit.validity.valid_to
            for hit in memory.recall("Where do Ana and Ben live and work?", limit=20)
            if hit.validity is not None and hit.validity.valid_to is not None
        }
    assert {text: str(end) for text, end in ended.items()} == {
        lisbon.text: "2026-05-03 10:00:00+00:00",
        "Ben works at Acme.": "2026-05-03 10:00:00+00:00",
    }


def test_graph_that_breaks_off_keeps_what_came_before(tmp_path: Path) -> None:
    facts = json.dumps([fact("f1", "A.", T1, T2), fact("f2", "B.", T2), fact("f3", "C.", T2)])
    episodes, omissions = read(GraphitiImporter(), write_json(tmp_path / "g.json", facts[:-300]))
    assert episodes["B."].supersedes == episodes["A."].id
    assert omissions == [Omission(BROKEN_REST, "g.json")]


def test_two_possible_successors_are_no_successor(tmp_path: Path) -> None:
    facts = [fact("f1", "A.", T1, T2), fact("f2", "B.", T2), fact("f3", "C.", T2)]
    episodes, _ = read(GraphitiImporter(), write_json(tmp_path / "g.json", facts))
    assert {text: one.supersedes is not None for text, one in episodes.items()} == {
        "A.": False, "B.": False, "C.": False, "No longer true: A.": True,
    }  # fmt: skip


def test_fact_of_unknown_time(tmp_path: Path) -> None:
    one = {**fact("f1", "A.", None), "expired_at": T2}
    episodes, _ = read(GraphitiImporter(), write_json(tmp_path / "g.json", [one]))
    assert str(episodes["A."].happened_at) == "2026-01-10 10:00:00+00:00"
    assert episodes["No longer true: A."].supersedes == episodes["A."].id
