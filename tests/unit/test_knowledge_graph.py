"""A knowledge graph kept as memories: the file of MCP's reference memory server, in and out."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from ecphora.cli.main import main
from ecphora.errors import InvalidRecord
from ecphora.maintenance.interchange.graph_lines import GraphImport, GraphLines, read_lines, write_lines
from ecphora.maintenance.interchange.json_lines import MAX_NAMED
from ecphora.maintenance.interchange.knowledge_graph import (
    MEMBERS,
    Entity,
    KnowledgeGraph,
    Relation,
    build_graph,
    merge_entities,
    missing_episodes,
)
from ecphora.memory import Memory
from ecphora.model.types import RememberResult
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock

ANA = Entity("Ana", "person", ("likes rain", "speaks Portuguese"))
PORTO = Entity("Porto", "city", ())
LIVES = Relation("Ana", "Porto", "lives_in")
GRAPH = KnowledgeGraph((ANA, PORTO), (LIVES,))


def open_memory(path: Path) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), update_scorer=None, strategy="bm25", clock=FakeClock())


def stored_graph(memory: Memory) -> KnowledgeGraph:
    return build_graph(memory.find(where=MEMBERS, limit=10_000))


def add(memory: Memory, graph: KnowledgeGraph, *, restore: bool = False) -> RememberResult:
    return memory.remember(missing_episodes(graph, list(memory.find(where=MEMBERS, limit=10_000))), restore=restore)


def graph_of(name: str, *observations: str) -> KnowledgeGraph:
    return KnowledgeGraph((Entity(name, "person", observations),))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory with a graph."""
    with open_memory(tmp_path / "m.db") as opened:
        add(opened, GRAPH)
        yield opened


def id_of(memory: Memory, text: str) -> str:
    return next(node.id for node in memory.find(where=MEMBERS) if node.text == text)


# ---- as memories


def test_graph_is_stored_in_order(memory: Memory) -> None:
    assert stored_graph(memory) == GRAPH
    add(memory, KnowledgeGraph((Entity("Bo", "person", ("x",)), Entity("Ana", "other", ("sails",)))))
    grown = Entity("Ana", "person", (*ANA.observations, "sails"))
    assert stored_graph(memory).entities == (grown, PORTO, Entity("Bo", "person", ("x",)))


def test_parts_of_a_graph_are_memories(memory: Memory) -> None:
    found = memory.recall("Who likes rain?")[0].node
    assert (found.text, found.title, found.source) == ("likes rain", "Ana", "knowledge-graph")
    assert {"Ana (person)", "Ana lives in Porto"} <= {node.text for node in memory.find()}
    memory.remember("Ana likes the sun.", id="other", source="knowledge-graph")
    assert stored_graph(memory) == GRAPH


def test_what_is_there_is_not_added_again(memory: Memory) -> None:
    count = len(memory)
    assert missing_episodes(GRAPH, list(memory.find(where=MEMBERS))) == []
    assert len(add(memory, GRAPH).ids) == 0
    assert len(memory) == count


def test_observation_that_was_superseded_is_no_part_of_the_graph(memory: Memory) -> None:
    memory.update(id_of(memory, "likes rain"), "likes snow", mode="supersede", happened_at="2026-12-01")
    assert stored_graph(memory).entities[0].observations == ("speaks Portuguese", "likes snow")
    assert add(memory, GRAPH).created == ()


def test_forgotten_observation_comes_back_only_if_it_is_restored(memory: Memory) -> None:
    memory.forget(id_of(memory, "likes rain"))
    assert len(add(memory, GRAPH).blocked) == 1
    assert stored_graph(memory).entities[0].observations == ("speaks Portuguese",)
    assert len(add(memory, GRAPH, restore=True).created) == 1
    assert stored_graph(memory).entities[0].observations == ("speaks Portuguese", "likes rain")


def test_observation_whose_id_has_another_text_by_now_gets_another_id(memory: Memory) -> None:
    id_ = id_of(memory, "speaks Portuguese")
    memory.update(id_, "speaks Galician", mode="replace")
    assert len(add(memory, GRAPH).blocked) == 1
    assert len(add(memory, GRAPH, restore=True).created) == 1
    assert stored_graph(memory).entities[0].observations == ("likes rain", "speaks Galician", "speaks Portuguese")


@pytest.mark.medium
def test_long_observation_is_kept_whole(memory: Memory) -> None:
    long = "Ana likes rain. " * 2_000
    add(memory, graph_of("Ana", long))
    assert stored_graph(memory).entities[0].observations[-1] == long
    assert missing_episodes(graph_of("Ana", long), list(memory.find(where=MEMBERS))) == []


def test_scopes_have_graphs_of_their_own(memory: Memory, tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", scope="other", embedder=HashingEmbedder(64)) as other:
        assert stored_graph(other) == KnowledgeGraph()


# ---- JSON Lines


def test_lines_are_those_of_the_reference_server() -> None:
    assert list(write_lines(GRAPH)) == [
        '{"type":"entity","name":"Ana","entityType":"person","observations":["likes rain","speaks Portuguese"]}',
        '{"type":"entity","name":"Porto","entityType":"city","observations":[]}',
        '{"type":"relation","from":"Ana","to":"Porto","relationType":"lives_in"}',
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "Expecting"),
        ("[]", "list indices"),
        ('{"name": "Ana"}', "'type' is missing"),
        ('{"type": "note"}', "its type is 'note'"),
        ('{"type": "entity", "name": "Ana", "entityType": "x"}', "'observations' is missing"),
        ('{"type": "entity", "name": 3, "entityType": "x", "observations": []}', "name is 3; a text is needed"),
        ('{"type": "entity", "name": "A", "entityType": "x", "observations": "y"}', "a list of texts is needed"),
        ('{"type": "relation", "from": "A", "to": "B"}', "'relationType' is missing"),
        ('{"type": "entity", "name": "A\\ud800", "entityType": "x", "observations": []}', "is not valid Unicode"),
        ("[" * 100_000, ""),
    ],
)
def test_bad_line_is_skipped_and_named(line: str, reason: str) -> None:
    good = '{"type": "entity", "name": "Bo", "entityType": "person", "observations": ["sails"]}'
    found = read_lines([good, "", line, "also broken"])
    assert (found.graph, [one.number for one in found.skipped]) == (graph_of("Bo", "sails"), [3, 4])
    added = GraphImport(1, 1, 0, skipped=found.skipped)
    assert added.to_dict()["skipped_lines"] == 2
    assert added.notices[0].startswith(
        f"skipped 2 lines that cannot be used: line 3: {found.skipped[0].reason}; line 4"
    )
    assert reason in found.skipped[0].reason


def test_file_without_a_line_of_a_graph_is_refused() -> None:
    with pytest.raises(InvalidRecord, match="line 2 is no line of a knowledge graph: Expecting"):
        read_lines(["", "Dear diary,", '{"type": "note"}'])


def test_notice_names_the_first_of_many_skipped_lines() -> None:
    (notice,) = GraphImport(0, 0, 0, skipped=read_lines([*write_lines(GRAPH), *["{"] * 9]).skipped).notices
    assert notice.startswith("skipped 9 lines that cannot be used: line 4: ")
    assert notice.endswith("; and 4 more")
    assert notice.count("; line ") == MAX_NAMED - 1


def test_entities_of_one_name_are_merged() -> None:
    merged = merge_entities([Entity("A", "x", ("1", "1")), Entity("A", "y", ("2", "1")), Entity("B", "z")])
    assert merged == [Entity("A", "x", ("1", "2")), Entity("B", "z")]


def test_what_is_twice_in_a_file_is_kept_once() -> None:
    lines = list(write_lines(GRAPH))
    assert read_lines([*lines, *lines]) == GraphLines(GRAPH)


TEXT = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["", " ", "\n", "\x1b", "Ana", "x" * 600, "a_b"]
)
GRAPHS = st.builds(
    lambda entities, relations: KnowledgeGraph(tuple(merge_entities(entities)), tuple(dict.fromkeys(relations))),
    st.lists(st.builds(Entity, TEXT, TEXT, st.lists(TEXT, max_size=4).map(tuple)), max_size=4),
    st.lists(st.builds(Relation, TEXT, TEXT, TEXT), max_size=4),
)


@pytest.mark.medium
@given(GRAPHS)
def test_any_graph_survives_a_round_trip_byte_for_byte(graph: KnowledgeGraph) -> None:
    text = "\n".join(write_lines(graph))
    assert read_lines(text.split("\n")) == GraphLines(graph)
    with tempfile.TemporaryDirectory() as folder, open_memory(Path(folder) / "m.db") as memory:
        add(memory, graph)
        assert "\n".join(write_lines(stored_graph(memory))) == text
        assert add(memory, graph).created == ()


@pytest.mark.medium
@given(st.lists(GRAPHS, min_size=2, max_size=3))
def test_imports_of_several_graphs_give_their_union(graphs: Sequence[KnowledgeGraph]) -> None:
    with tempfile.TemporaryDirectory() as folder, open_memory(Path(folder) / "m.db") as memory:
        for graph in graphs:
            add(memory, graph)
        union = merge_entities(entity for graph in graphs for entity in graph.entities)
        relations = dict.fromkeys(relation for graph in graphs for relation in graph.relations)
        assert stored_graph(memory) == KnowledgeGraph(tuple(union), tuple(relations))


# ---- the commands


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    return tmp_path


def ecphora(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, [*args, "--format", "mcp", "--db", "a.db"], input=stdin)


def imported(file: str, *options: str, stdin: str | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(ecphora("import", file, "--json", *options, stdin=stdin).stdout)
    return answer


@pytest.mark.medium
def test_file_is_imported_and_exported_again(folder: Path) -> None:
    text = "\n".join(write_lines(GRAPH))
    (folder / "memory.jsonl").write_text(f"\ufeff{text}\n{{\n", encoding="utf-8")
    result = ecphora("import", "memory.jsonl")
    assert result.stdout == (
        "imported 2 entities, 2 observations and 1 relation that were not there yet; 0 were blocked because they were "
        "forgotten here\n"
    )
    assert "skipped 1 line that cannot be used: line 4: " in result.stderr
    again = imported("-", stdin=text)
    nothing = {"entities": 0, "observations": 0, "relations": 0, "blocked": 0, "skipped_lines": 0, "notices": []}
    assert again == nothing
    assert ecphora("export", "-").stdout == text
    assert ecphora("export", "out.jsonl").stdout == "wrote 2 entities and 1 relation to out.jsonl\n"
    assert (folder / "out.jsonl").read_bytes() == text.encode()
    assert json.loads(ecphora("export", "new.jsonl", "--json").stdout) == {"entities": 2, "relations": 1}


@pytest.mark.medium
def test_import_leaves_out_what_was_forgotten_unless_it_is_restored(folder: Path) -> None:
    text = "\n".join(write_lines(GRAPH))
    imported("-", stdin=text)
    with Memory("a.db", embedder=HashingEmbedder()) as memory:
        memory.forget(id_of(memory, "likes rain"))
    again = imported("-", stdin=text)
    assert (again["observations"], again["blocked"]) == (0, 1)
    restored = imported("-", "--restore", stdin=text)
    assert (restored["observations"], restored["blocked"]) == (1, 0)


def test_export_replaces_no_file(folder: Path) -> None:
    imported("-", stdin="\n".join(write_lines(GRAPH)))
    (folder / "out.jsonl").write_text("mine")
    result = ecphora("export", "out.jsonl")
    assert (result.exit_code, "exists already" in result.stderr) == (1, True)
    assert (folder / "out.jsonl").read_text() == "mine"


def test_file_that_cannot_be_used_makes_no_memory(folder: Path) -> None:
    (folder / "latin.jsonl").write_bytes(b"caf\xe9")
    assert "is not UTF-8" in ecphora("import", "latin.jsonl").stderr
    assert "is no line of a knowledge graph" in ecphora("import", "-", stdin="Dear diary").stderr
    assert ecphora("import", "missing.jsonl").exit_code == 1
    assert not (folder / "a.db").exists()


@pytest.mark.parametrize("arguments", [["export", "-", "--vectors"], ["import", "-", "--change-existing"]])
def test_options_of_the_own_format_are_usage_errors(arguments: list[str], folder: Path) -> None:
    assert ecphora(*arguments).exit_code == 2
