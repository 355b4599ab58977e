"""A knowledge graph kept as memories: the reference server's operations, and its file."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import InvalidInput, InvalidRecord
from ecphora.maintenance.interchange.json_lines import MAX_NAMED
from ecphora.memory import Memory
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remote.mcp.graph_lines import GraphImport, GraphLines, import_lines, read_lines, write_lines
from ecphora.remote.mcp.knowledge_graph import Entity, GraphView, KnowledgeGraph, Relation, merge_entities
from ecphora.retrieval.fusion import LinearModel
from ecphora.strategies.fused.answerability import ANSWERABILITY_FEATURES, AnswerabilityModel
from ecphora.strategies.fused.feature_matrix import Genre
from ecphora.strategies.fused.ranker import Ranker
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import FakeClock

ANA = Entity("Ana", "person", ("likes rain", "speaks Portuguese"))
PORTO = Entity("Porto", "city", ())
LIVES = Relation("Ana", "Porto", "lives_in")


COVERAGE = tuple(3.5 * (name == "top term coverage") for name in ANSWERABILITY_FEATURES)
BY_WORDS = Fused(
    Ranker(*[LinearModel(-5.0, {"bm25": 3.0})] * len(Genre)), AnswerabilityModel(COVERAGE, -2.0, COVERAGE, -2.0)
)
"""Finds by words, and finds nothing without them."""


def open_memory(path: Path) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), update_scorer=None, strategy=BY_WORDS, clock=FakeClock())


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.db") as opened:
        yield opened


@pytest.fixture
def graph(memory: Memory) -> KnowledgeGraph:
    graph = KnowledgeGraph(memory)
    graph.create_entities([ANA, PORTO])
    graph.create_relations([LIVES])
    return graph


def names(view: GraphView) -> list[str]:
    return list(view.entities)


def test_graph_returns_what_was_created_in_order(graph: KnowledgeGraph) -> None:
    assert list(graph.read().entities.values()) == [ANA, PORTO]
    assert graph.read().relations == (LIVES,)


def test_existing_parts_are_not_created_again(graph: KnowledgeGraph) -> None:
    new = Entity("Bo", "person", ("x", "x"))
    assert graph.create_entities([Entity("Ana", "other", ("y",)), new, new]) == [Entity("Bo", "person", ("x",))]
    assert graph.read().entities["Ana"] == ANA
    assert graph.create_relations([LIVES, Relation("Bo", "Nowhere", "seeks")]) == [Relation("Bo", "Nowhere", "seeks")]
    assert graph.add_observations([("Ana", ["likes rain", "sails"]), ("Ana", ["sails"])]) == [
        ("Ana", ["sails"]),
        ("Ana", []),
    ]
    assert graph.read().entities["Ana"].observations == (*ANA.observations, "sails")


def test_observation_of_an_unknown_entity_writes_nothing(graph: KnowledgeGraph, memory: Memory) -> None:
    count = len(memory)
    with pytest.raises(InvalidInput, match="Entity with name Bo not found"):
        graph.add_observations([("Ana", ["sails"]), ("Bo", ["x"])])
    assert len(memory) == count


@pytest.mark.medium
def test_deletion_takes_relations_along_and_can_be_followed_by_creation(graph: KnowledgeGraph, memory: Memory) -> None:
    graph.delete_observations([("Ana", ["likes rain", "unknown"]), ("Bo", ["x"])])
    assert graph.read().entities["Ana"].observations == ("speaks Portuguese",)
    graph.add_observations([("Ana", ["likes rain"])])
    assert graph.read().entities["Ana"].observations == ("speaks Portuguese", "likes rain")
    graph.delete_relations([LIVES, LIVES, Relation("a", "b", "c")])
    assert graph.read().relations == ()
    graph.create_relations([LIVES, Relation("Ana", "Bo", "knows")])
    graph.delete_entities(["Porto", "unknown"])
    assert (names(graph.read()), graph.read().relations) == (["Ana"], (Relation("Ana", "Bo", "knows"),))
    graph.delete_entities(["Ana"])
    assert len(memory) == 0
    assert graph.create_entities([ANA]) == [ANA]
    assert graph.read().entities == {"Ana": ANA}


def test_open_returns_entities_and_their_relations(graph: KnowledgeGraph) -> None:
    assert graph.open(["Porto", "Nowhere"]) == GraphView({"Porto": PORTO}, (LIVES,))
    assert graph.open([]) == GraphView({}, ())


@pytest.mark.parametrize("query", ["RAIN", "likes r", "ana", "Person", "portug"])
def test_search_finds_what_contains_the_query(query: str, graph: KnowledgeGraph) -> None:
    found = graph.search(query)
    assert found.entities["Ana"] == ANA
    assert found.relations == (LIVES,)


def test_search_finds_by_recall_what_does_not_contain_the_query(graph: KnowledgeGraph) -> None:
    assert "Ana" in names(graph.search("Who likes the rain?"))
    assert names(graph.search("Where does quantum chromodynamics apply?")) == []
    assert names(graph.search("")) == ["Ana", "Porto"]
    assert names(graph.search("x" * 30_000)) == []


def test_observations_are_memories(graph: KnowledgeGraph, memory: Memory) -> None:
    found = memory.recall("Who likes rain?")[0].node
    assert (found.text, found.title, found.source) == ("likes rain", "Ana", "knowledge-graph")
    graph.create_entities([Entity("Rain", "note", ("rain",))])
    memory.remember("Ana likes the sun.", id="other")
    assert names(graph.read()) == ["Ana", "Porto", "Rain"]


@pytest.mark.medium
def test_change_of_an_observation_by_another_tool_is_seen(graph: KnowledgeGraph, memory: Memory) -> None:
    id_ = memory.recall("Who likes rain?")[0].id
    memory.update(id_, "likes snow", mode="supersede", happened_at="2026-12-01")
    assert graph.read().entities["Ana"].observations == ("speaks Portuguese", "likes snow")
    replaced = memory.recall("Who speaks Portuguese?")[0].id
    memory.update(replaced, "speaks Galician", mode="replace")
    assert set(graph.read().entities["Ana"].observations) == {"likes snow", "speaks Galician"}
    graph.add_observations([("Ana", ["speaks Portuguese"])])  # whose usual id is in use
    assert set(graph.read().entities["Ana"].observations) == {"likes snow", "speaks Galician", "speaks Portuguese"}
    graph.delete_observations([("Ana", ["likes snow", "speaks Galician"])])
    assert graph.read().entities["Ana"].observations == ("speaks Portuguese",)
    assert memory.get(id_) is None  # what "likes snow" superseded is deleted with it


def test_graph_is_read_again_only_if_it_has_changed(graph: KnowledgeGraph, memory: Memory, tmp_path: Path) -> None:
    before = graph.read()
    memory.remember("Something else.")
    assert graph.read() is before
    with open_memory(tmp_path / "m.db") as other:
        KnowledgeGraph(other).add_observations([("Ana", ["sails"])])
    assert graph.read().entities["Ana"].observations[-1] == "sails"


def test_scopes_have_graphs_of_their_own(graph: KnowledgeGraph, tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", scope="other", embedder=HashingEmbedder(64)) as other:
        assert KnowledgeGraph(other).read() == GraphView({}, ())


# ---- JSON Lines


def test_lines_are_those_of_the_reference_server(graph: KnowledgeGraph) -> None:
    assert list(write_lines(graph.read())) == [
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
        ("[" * 100_000, ""),
    ],
)
def test_bad_line_is_skipped_and_named(line: str, reason: str, graph: KnowledgeGraph) -> None:
    good = '{"type": "entity", "name": "Bo", "entityType": "x", "observations": ["sails"]}'
    added = import_lines(graph, [good, "", line, "also broken"])
    assert (added.observations, [one.number for one in added.skipped]) == (1, [3, 4])
    assert added.to_dict()["skipped_lines"] == 2
    assert added.notices[0].startswith(
        f"skipped 2 lines that cannot be used: line 3: {added.skipped[0].reason}; line 4"
    )
    assert reason in added.skipped[0].reason
    assert graph.read().entities["Bo"].observations == ("sails",)


def test_file_without_a_line_of_a_graph_is_refused(graph: KnowledgeGraph, memory: Memory) -> None:
    count = len(memory)
    with pytest.raises(InvalidRecord, match="line 2 is no line of a knowledge graph: Expecting"):
        import_lines(graph, ["", "Dear diary,", '{"type": "note"}'])
    assert len(memory) == count


def test_notice_names_the_first_of_many_skipped_lines(graph: KnowledgeGraph) -> None:
    (notice,) = import_lines(graph, [*write_lines(graph.read()), *["{"] * 9]).notices
    assert notice.startswith("skipped 9 lines that cannot be used: line 4: ")
    assert notice.endswith("; and 4 more")
    assert notice.count("; line ") == MAX_NAMED - 1


def test_import_adds_what_is_missing_and_twice_is_harmless(graph: KnowledgeGraph) -> None:
    entities = [Entity("Ana", "other", ("likes rain", "sails")), Entity("Bo", "person", ("x",))]
    lines = list(write_lines(GraphView({one.name: one for one in entities}, (LIVES, Relation("Bo", "Ana", "knows")))))
    assert import_lines(graph, lines) == GraphImport(2, 1)
    assert import_lines(graph, lines) == GraphImport(0, 0)
    assert graph.read().entities["Ana"] == Entity("Ana", "person", (*ANA.observations, "sails"))


def test_entities_of_one_name_are_merged() -> None:
    merged = merge_entities([Entity("A", "x", ("1", "1")), Entity("A", "y", ("2", "1")), Entity("B", "z")])
    assert merged == [Entity("A", "x", ("1", "2")), Entity("B", "z")]


TEXT = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["", " ", "\n", "\x1b", "Ana", "x" * 600, "a_b"]
)
GRAPHS = st.builds(
    lambda entities, relations: (merge_entities(entities), list(dict.fromkeys(relations))),
    st.lists(st.builds(Entity, TEXT, TEXT, st.lists(TEXT, max_size=4).map(tuple)), max_size=4),
    st.lists(st.builds(Relation, TEXT, TEXT, TEXT), max_size=4),
)


@pytest.mark.medium
@given(GRAPHS)
def test_any_graph_survives_a_round_trip_byte_for_byte(parts: tuple[list[Entity], list[Relation]]) -> None:
    entities, relations = parts
    text = "\n".join(write_lines(GraphView({one.name: one for one in entities}, tuple(relations))))
    assert read_lines(text.split("\n")) == GraphLines(tuple(entities), tuple(relations))
    with tempfile.TemporaryDirectory() as folder, open_memory(Path(folder) / "m.db") as memory:
        graph = KnowledgeGraph(memory)
        import_lines(graph, text.split("\n"))
        assert "\n".join(write_lines(graph.read())) == text


class Reference:
    """The reference server's behavior, for graphs without duplicates: plain lists, and substrings."""

    def __init__(self) -> None:
        self.entities: dict[str, dict[str, Any]] = {}
        self.relations: list[dict[str, str]] = []

    def search(self, query: str) -> set[str]:
        text = query.lower()
        return {
            name
            for name, entity in self.entities.items()
            if any(text in one.lower() for one in (name, entity["entityType"], *entity["observations"]))
        }


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["create", "relate", "observe", "drop", "unobserve", "unrelate"]),
        st.sampled_from(["Ana", "Bo", "Porto"]),
        st.sampled_from(["Ana", "Bo", "likes rain", "Rain", "x"]),
    ),
    max_size=12,
)


@pytest.mark.medium
@given(OPERATIONS, st.sampled_from(["a", "RAIN", "bo", "x", "likes", "", "person"]))
def test_operations_do_what_the_reference_server_does(operations: list[tuple[str, str, str]], query: str) -> None:
    expected = Reference()
    with tempfile.TemporaryDirectory() as folder, open_memory(Path(folder) / "m.db") as memory:
        graph = KnowledgeGraph(memory)
        for name, subject, value in operations:
            relation = {"from": subject, "to": value, "relationType": "r"}
            known = expected.entities.get(subject)
            if name == "create":
                graph.create_entities([Entity(subject, "person", (value,))])
                expected.entities.setdefault(
                    subject, {"name": subject, "entityType": "person", "observations": [value]}
                )
            elif name == "relate":
                graph.create_relations([Relation(subject, value, "r")])
                expected.relations += [] if relation in expected.relations else [relation]
            elif name == "observe" and known is not None:
                graph.add_observations([(subject, [value])])
                known["observations"] += [] if value in known["observations"] else [value]
            elif name == "drop":
                graph.delete_entities([subject])
                expected.entities.pop(subject, None)
                expected.relations = [one for one in expected.relations if subject not in (one["from"], one["to"])]
            elif name == "unobserve":
                graph.delete_observations([(subject, [value])])
                if known is not None:
                    known["observations"] = [one for one in known["observations"] if one != value]
            elif name == "unrelate":
                graph.delete_relations([Relation(subject, value, "r")])
                expected.relations = [one for one in expected.relations if one != relation]
        assert graph.read().to_dict() == {
            "entities": list(expected.entities.values()),
            "relations": expected.relations,
        }
        assert expected.search(query) <= set(graph.search(query).entities)
        assert json.dumps(graph.read().to_dict())
