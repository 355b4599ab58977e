"""Export and import as JSON Lines: complete, atomic and idempotent."""

import io
import itertools
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import RecallOptions
from ecphora.errors import EmbedderMismatch, IdCollision, InvalidRecord, WrongVector
from ecphora.maintenance.interchange import jsonl
from ecphora.memory import Memory
from ecphora.model.text_format import strip_invisible
from ecphora.model.types import Edge, Episode, Kind, Link, Tombstone, ValidityEnd, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import sample_batch, sample_entity, sample_node

NOW = datetime(2026, 5, 3, 14, 30, tzinfo=UTC)
DIM = 16


def ticking_times() -> Iterator[datetime]:
    return (NOW + timedelta(seconds=n) for n in itertools.count())


def memory(store: SQLiteStore, scope: str = "default") -> Memory:
    times = ticking_times()
    return Memory(store, scope=scope, embedder=HashingEmbedder(DIM), clock=lambda: next(times))


def export_lines(store: SQLiteStore, scope: str = "default", *, vectors: bool = False) -> list[str]:
    out = io.StringIO()
    jsonl.export_scope(store, scope, out, now=NOW, vectors=vectors)
    return out.getvalue().splitlines(keepends=True)


def body(lines: list[str]) -> list[str]:
    """The lines without the header."""
    return lines[1:]


def change_record(line: str, **fields: object) -> str:
    record = json.loads(line)
    next(iter(record.values())).update(fields)
    return json.dumps(record) + "\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "a.db")
    yield store
    store.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "b.db")
    yield store
    store.close()


@pytest.fixture
def full_store(store: SQLiteStore) -> SQLiteStore:
    """A memory with names, links, ends of validity, accesses, a forgotten and a restored memory."""
    one = memory(store)
    one.remember(
        [
            Episode("Ana lives in Lisbon.", id="a", speaker="Ana", happened_at="2025-01-02T03:04:05.678901+02:00"),
            Episode(
                "Ana moved to Porto.",
                id="b",
                speaker="Ana",
                supersedes="a",
                metadata={"n": 1, "x": None, "l": ["a", 1]},
            ),
            Episode("Bo keeps a secret.", id="c", trust=0.5, title="Secrets", source="diary", session="s"),
            Episode("Bo is forgotten.", id="d"),
            Episode("A long story. " * 400, id="e"),
            Episode("line\u2028separator, \r\n and \x1b[31m", id="f"),
        ]
    )
    found = one.recall("Where does Ana live?")
    one.feedback(found, ["b"])
    one.forget(one.feedback(found, []))
    one.forget(["c", "d"])
    one.feedback(one.recall("A long story?", limit=3), [])
    one.remember(Episode("Bo is forgotten.", id="d"), restore=True)
    return store


@pytest.mark.medium
@pytest.mark.parametrize("vectors", [False, True])
def test_round_trip_into_another_scope_gives_the_same_lines(
    full_store: SQLiteStore, other: SQLiteStore, *, vectors: bool
) -> None:
    lines = export_lines(full_store, vectors=vectors)
    count = jsonl.import_scope(lines, other, "elsewhere", HashingEmbedder(DIM))
    assert body(export_lines(other, "elsewhere", vectors=vectors)) == body(lines)
    assert (count.existing, count.blocked, count.notices) == (0, 0, ())
    assert {node.id for node in other.changes_since("elsewhere", 0).nodes} == {
        n.id for n in full_store.changes_since("default", 0).nodes
    }


@pytest.mark.medium
def test_imported_memory_recalls_like_the_exported_one(full_store: SQLiteStore, other: SQLiteStore) -> None:
    jsonl.import_scope(export_lines(full_store), other, "default", HashingEmbedder(DIM))
    expected, found = (
        memory(store).recall("Where does Ana live?", options=RecallOptions(log_access=False))
        for store in (full_store, other)
    )
    assert [(hit.id, hit.score) for hit in expected] == [(hit.id, hit.score) for hit in found]
    assert memory(other).history("a") == replace(
        memory(full_store).history("a"), accesses=memory(other).graph().accesses_of(memory(other).graph().row("a") or 0)
    )  # type: ignore[type-var]


@pytest.mark.medium
def test_second_import_changes_nothing(full_store: SQLiteStore, other: SQLiteStore) -> None:
    lines = export_lines(full_store, vectors=True)
    jsonl.import_scope(lines, other, "default", HashingEmbedder(DIM))
    revision = other.changes_since("default", 0).revision
    count = jsonl.import_scope(lines, other, "default", HashingEmbedder(DIM))
    assert (count.nodes, count.edges, count.accesses, count.vectors) == (0, 0, 0, 0)
    assert count.existing == len(full_store.changes_since("default", 0).nodes)
    assert other.changes_since("default", 0).revision == revision


@pytest.mark.medium
def test_interrupted_import_is_completed_by_the_next(
    full_store: SQLiteStore, other: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "NODES_PER_PORTION", 2)
    lines = export_lines(full_store)

    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jsonl.import_scope(lines, other, "default", HashingEmbedder(DIM), progress=stop)
    assert other.changes_since("default", 0).nodes
    jsonl.import_scope(lines, other, "default", HashingEmbedder(DIM))
    assert body(export_lines(other)) == body(lines)


@pytest.mark.medium
def test_import_with_vectors_of_another_embedder_embeds_again(full_store: SQLiteStore, other: SQLiteStore) -> None:
    count = jsonl.import_scope(export_lines(full_store, vectors=True), other, "default", HashingEmbedder(8))
    assert "another model" in count.notices[0]
    assert {len(vector) for vector in other.changes_since("default", 0).vectors.values()} == {8}


@pytest.mark.medium
def test_import_blocks_memories_forgotten_here_unless_restored(full_store: SQLiteStore, other: SQLiteStore) -> None:
    lines = export_lines(full_store)
    jsonl.import_scope(lines, other, "default", HashingEmbedder(DIM))
    memory(other).forget("b")
    assert jsonl.import_scope(lines, other, "default", HashingEmbedder(DIM)).blocked == 1
    assert memory(other).get("b") is None
    jsonl.import_scope(lines, other, "default", HashingEmbedder(DIM), restore=True)
    assert memory(other).get("b") is not None


@pytest.mark.medium
def test_import_blocks_questions_with_blocked_answers(full_store: SQLiteStore, other: SQLiteStore) -> None:
    target = memory(other)
    target.remember(Episode("Ana moved to Porto.", id="b", speaker="Ana"))
    target.forget("b")
    jsonl.import_scope(export_lines(full_store), other, "default", HashingEmbedder(DIM))
    imported_questions = [node.text for node in other.changes_since("default", 0).nodes if node.kind == Kind.QUESTION]
    assert imported_questions == ["A long story?"]


def test_import_leaves_out_edges_of_blocked_provenance(store: SQLiteStore, other: SQLiteStore) -> None:
    nodes = (sample_node("a"), sample_node("b"), *map(sample_entity, "XYZ"))
    x, y, z = (node.id for node in nodes[2:])
    mentions = (Edge("a", x, Link.MENTIONS), Edge("a", y, Link.MENTIONS), Edge("a", z, Link.MENTIONS, 0.5, "b"))
    other_edges = (Edge(x, y, Link.ALIAS, 0.9, "b"), Edge("a", x, Link.ABOUT, 1.0, "a"))
    store.commit("default", sample_batch(*nodes, edges=(*mentions, *other_edges)))
    other.commit("default", WriteBatch(tombstones=(Tombstone("b", b"digest"),)))
    assert jsonl.import_scope(export_lines(store), other, "default", HashingEmbedder(DIM)).blocked == 1
    imported = other.changes_since("default", 0)
    assert [node.id for node in imported.nodes] == ["a", x, y]
    assert imported.edges == (*mentions[:2], other_edges[1])


@pytest.mark.medium
def test_small_import_is_one_commit(full_store: SQLiteStore, other: SQLiteStore) -> None:
    jsonl.import_scope(export_lines(full_store), other, "default", HashingEmbedder(DIM))
    assert other.changes_since("default", 0).revision == 1


def test_ends_of_validity_are_imported_in_the_order_of_nodes(
    store: SQLiteStore, other: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "NODES_PER_PORTION", 1)
    ends = [ValidityEnd(name, NOW + timedelta(days=day), NOW) for day, name in enumerate(("b", "a", "b"))]
    store.commit("default", sample_batch(sample_node("a"), sample_node("b"), validity_ends=tuple(ends)))
    lines = export_lines(store)
    jsonl.import_scope(lines, other, "default", HashingEmbedder(DIM))
    assert other.changes_since("default", 0).validity_ends == (ends[1], ends[0], ends[2])
    assert body(export_lines(other)) == body(lines)


@pytest.mark.medium
def test_import_blocks_feedback_removed_here(store: SQLiteStore, other: SQLiteStore) -> None:
    one = memory(store)
    one.remember("Ana lives in Lisbon.", id="a")
    id_ = one.feedback(one.recall("Where is Ana?"), "a")
    lines = export_lines(store)
    one.forget(id_)
    assert jsonl.import_scope(lines, store, "default", HashingEmbedder(DIM), change_existing=True).blocked == 1
    assert one.get(id_) is None
    assert (
        jsonl.import_scope(lines, store, "default", HashingEmbedder(DIM), restore=True, change_existing=True).blocked
        == 0
    )
    assert one.get(id_) is not None


@pytest.mark.medium
def test_imported_tombstones_block_later_memories_but_erase_none(full_store: SQLiteStore, other: SQLiteStore) -> None:
    memory(other).remember("Bo keeps a secret.", id="c")
    count = jsonl.import_scope(export_lines(full_store), other, "default", HashingEmbedder(DIM), change_existing=True)
    assert memory(other).get("c") is not None
    assert "stay" in count.notices[0]
    jsonl.import_scope(export_lines(full_store), other, "fresh", HashingEmbedder(DIM))
    again = Episode("Bo keeps a secret.", id="c", trust=0.5, title="Secrets", source="diary", session="s")
    assert memory(other, "fresh").remember(again).blocked == ("c",)


@pytest.mark.medium
def test_import_with_a_colliding_id_writes_nothing(full_store: SQLiteStore, other: SQLiteStore) -> None:
    memory(other).remember("Something else.", id="f")
    before = other.changes_since("default", 0)
    with pytest.raises(IdCollision, match=r"line \d+: the id 'f'"):
        jsonl.import_scope(export_lines(full_store), other, "default", HashingEmbedder(DIM))
    assert other.changes_since("default", 0).revision == before.revision


@pytest.mark.medium
def test_import_rejects_one_id_for_a_long_and_a_short_text(full_store: SQLiteStore, other: SQLiteStore) -> None:
    memory(other).remember("Short.", id="e")
    with pytest.raises(IdCollision, match="'e"):
        jsonl.import_scope(export_lines(full_store), other, "default", HashingEmbedder(DIM))


@pytest.mark.medium
def test_import_into_a_scope_of_another_embedder_is_rejected(full_store: SQLiteStore, other: SQLiteStore) -> None:
    Memory(other, embedder=HashingEmbedder(8)).remember("Here first.")
    with pytest.raises(EmbedderMismatch):
        jsonl.import_scope(export_lines(full_store), other, "default", HashingEmbedder(DIM))


HEADER = '{"ecphora": 2}\n'
NODE = (
    '{"node": {"id": "a", "kind": "episode", "text": "t", '
    '"happened_at": "2026-05-03", "recorded_at": "2026-05-03"}}\n'
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "empty"),
        (["{}\n"], "line 1: this is no export"),
        (['{"ecphora": 1}\n'], "line 1: .*format 1, this version reads 2"),
        (['{"ecphora": 3}\n'], "line 1: .*upgrade"),
        (["nonsense\n"], "line 1: .*not JSON"),
        (['["ecphora"]\n'], "not an object"),
        ([HEADER, "[" * 100_000 + "\n"], "line 2: .*deeply"),
        ([HEADER, '{"mode": {}}\n'], "line 2: a line is an object of one key"),
        ([HEADER, NODE, "\n", NODE], "line 4: the node 'a' stood in line 2"),
        ([HEADER, change_record(NODE, text="")], "line 2: the text is empty"),
        ([HEADER, change_record(NODE, text="\ud800")], "line 2: .*surrogate"),
        ([HEADER, change_record(NODE, text=3)], "line 2: text"),
        ([HEADER, change_record(NODE, kind="dream")], "line 2: .*dream"),
        ([HEADER, change_record(NODE, kind="entity")], "line 2: a node of kind"),
        ([HEADER, change_record(NODE, kind="question")], "line 2: a node of kind"),
        ([HEADER, change_record(NODE, id="question:1")], "line 2: a node of kind"),
        ([HEADER, change_record(NODE, happened_at="soon")], "line 2: 'soon' is not a date"),
        ([HEADER, change_record(NODE, trust=2)], "line 2: trust"),
        ([HEADER, change_record(NODE, position=-1)], "line 2: position"),
        ([HEADER, change_record(NODE, metadata={"a": [[1]]})], "line 2: metadata"),
        ([HEADER, change_record(NODE, colour="red")], "line 2: 'colour': there is no such field"),
        ([HEADER, NODE, '{"edge": {"src": "a", "dst": "b", "link": "temporal"}}\n'], "line 3: no node 'b'"),
        (
            [HEADER, NODE, '{"edge": {"src": "a", "dst": "entity:b", "link": "mentions"}}\n'],
            "line 3: no node 'entity:b",
        ),
        (
            [HEADER, NODE, '{"edge": {"src": "a", "dst": "a", "link": "mentions"}}\n'],
            "line 3: .*'a', which is no entity",
        ),
        ([HEADER, NODE, '{"edge": {"src": "a", "dst": "a", "link": "about"}}\n'], "line 3: .*'a', which is no entity"),
        ([HEADER, NODE, '{"edge": {"src": "a", "dst": "a", "link": "describes"}}\n'], "line 3: .* is no entity"),
        ([HEADER, NODE, '{"edge": {"src": "a", "dst": "a", "link": "likes"}}\n'], "line 3: .*likes"),
        (
            [HEADER, NODE, '{"edge": {"src": "a", "dst": "a", "link": "about", "weight": NaN}}\n'],
            "line 3: .*NaN is not a JSON number",
        ),
        ([HEADER, NODE, '{"edge": {"src": "a", "dst": "a", "link": "about", "weight": 1e999}}\n'], "line 3: weight"),
        ([HEADER, NODE, '{"vector": {"node": "a", "model": "m", "value": "?"}}\n'], "line 3"),
        ([HEADER, NODE, '{"vector": {"node": "a", "model": "m", "value": "AAAA"}}\n'], "line 3"),
        ([HEADER, NODE, '{"vector": {"node": "a", "model": "m", "value": "AHw="}}\n'], "line 3: .*finite"),
        ([HEADER, NODE, '{"tombstone": {"node": "a", "digest": "xyz"}}\n'], "line 3"),
        ([HEADER, NODE, '{"access": {"node": "a", "at": "2026-05-03", "kind": "pushed"}}\n'], "line 3: .*pushed"),
    ],
)
def test_import_names_a_bad_line_and_writes_nothing(other: SQLiteStore, lines: list[str], message: str) -> None:
    with pytest.raises(InvalidRecord, match=message):
        jsonl.import_scope(lines, other, "default", HashingEmbedder(DIM), change_existing=True)
    assert other.changes_since("default", 0) == WriteBatch()


def test_import_leaves_out_entities_that_nothing_mentions(other: SQLiteStore) -> None:
    entity = change_record(NODE, id="entity:zorro", kind="entity", text="Zorro")
    jsonl.import_scope([HEADER, NODE, entity], other, "default", HashingEmbedder(DIM))
    assert [node.id for node in other.changes_since("default", 0).nodes] == ["a"]


def test_import_rejects_a_vector_of_the_wrong_size(other: SQLiteStore) -> None:
    vector = '{"vector": {"node": "a", "model": "hashing/16", "value": "ADwAAA=="}}\n'
    with pytest.raises(WrongVector, match="2 numbers"):
        jsonl.import_scope([HEADER, NODE, vector], other, "default", HashingEmbedder(DIM))
    assert not other.scopes()


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(
    lambda text: strip_invisible(text).strip()
)
names = st.sampled_from([None, "Ana", "Bo", "Ángel\n"])
times = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 28), timezones=st.just(UTC))  # noqa: DTZ001
episodes = st.builds(
    Episode,
    text=st.one_of(texts, texts.map(lambda text: f"{text} Ana met Bo in Porto. " * 60)),
    speaker=names,
    session=names,
    title=names,
    source=names,
    happened_at=st.one_of(st.none(), times),
    metadata=st.dictionaries(texts, st.one_of(st.none(), st.booleans(), st.integers(), st.floats(-1, 1), texts)),
    trust=st.floats(0, 1),
    supersedes=st.sampled_from([None, "0", "1"]),
)


@pytest.mark.medium
@given(st.lists(episodes, min_size=1, max_size=4), st.sets(st.integers(0, 3)), st.booleans())
def test_any_memory_survives_export_and_import(episodes_: list[Episode], forgotten: set[int], vectors: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first, second = SQLiteStore(Path(folder) / "a.db"), SQLiteStore(Path(folder) / "b.db")
        try:
            one = memory(first)
            for number, episode in enumerate(episodes_):
                old = None if episode.supersedes is None else int(episode.supersedes)
                may_supersede = old is not None and old < number and episodes_[old].trust <= episode.trust
                one.remember(replace(episode, id=str(number), supersedes=episode.supersedes if may_supersede else None))
            found = one.recall(episodes_[0].text)
            one.feedback(found, [hit.id for hit in found][:1])
            one.forget(str(number) for number in forgotten)
            lines = export_lines(first, vectors=vectors)
            jsonl.import_scope(lines, second, "other", HashingEmbedder(DIM))
            assert body(export_lines(second, "other", vectors=vectors)) == body(lines)
        finally:
            first.close()
            second.close()
