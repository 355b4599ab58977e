"""Memory.find, count, chunks and len: memories without a question."""

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import InvalidInput
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Episode, Filter, Node, Rows, Tombstone, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.lookup import Cursor, Order, find_page, memory_rows
from ecphora.testing import NOON, FakeClock, sample_batch, sample_entity, sample_node, sample_query

LONG = "".join(f"Ana met Mia in Porto on day {day} of her stay. " for day in range(100))
EPISODES = (
    Episode("The ferry leaves.", id="ferry", speaker="Jo", happened_at="2026-05-04", metadata={"tags": ["a", "b"]}),
    Episode(LONG, id="stay", speaker="Ana", happened_at="2026-05-03", metadata={"tags": ["a"]}),
    Episode("The boat sank.", id="boat", speaker="Jo", happened_at="2026-05-04"),
    Episode("It rains.", id="rain", happened_at="2026-05-01"),
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        opened.remember(EPISODES)
        yield opened


def find_all(memory: Memory, **options: object) -> list[str]:
    ids, after = [], None
    for _ in range(100):
        page = memory.find(after=after, **options)  # type: ignore[arg-type]
        ids += [node.id for node in page]
        if (after := page.cursor) is None:
            return ids
    raise AssertionError("the pages do not end")


def test_document_counts_as_one_memory(memory: Memory) -> None:
    assert len(memory) == memory.count() == len(memory.find()) == 4
    assert memory.scopes()[0].episodes == 4
    found = {node.id: node for node in memory.find()}
    assert found["stay"].text == LONG
    assert found["stay"].document is None
    memory.forget("stay")
    assert len(memory) == memory.count() == memory.scopes()[0].episodes == 3


def test_chunks_of_a_document_are_reachable(memory: Memory) -> None:
    chunks = memory.chunks("stay")
    assert "".join(chunk.text for chunk in chunks) == LONG
    assert {chunk.document for chunk in chunks} == {"stay"}
    assert [chunk.position for chunk in chunks] == list(range(1, len(chunks) + 1))
    assert [chunk.text for chunk in memory.chunks("rain")] == ["It rains."]
    assert memory.chunks("nothing") == []


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("-happened_at", ["boat", "ferry", "stay", "rain"]),
        ("happened_at", ["rain", "stay", "boat", "ferry"]),
        ("recorded_at", ["boat", "ferry", "rain", "stay"]),
        (Order.LAST_RECORDED, ["boat", "ferry", "rain", "stay"]),
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 9])
def test_pages_follow_the_order(order: str, expected: list[str], limit: int, memory: Memory) -> None:
    assert find_all(memory, order=order, limit=limit) == expected


def test_find_and_count_apply_the_filter(memory: Memory) -> None:
    for where, expected in (
        (Filter(speakers="Jo"), ["boat", "ferry"]),
        (Filter(metadata={"tags": "a"}), ["ferry", "stay"]),
        (Filter(metadata={"tags": {"$exists": False}}), ["boat", "rain"]),
        (Filter(before="2026-05-02"), ["rain"]),
        (Filter(speakers="nobody"), []),
    ):
        assert find_all(memory, where=where, limit=1) == expected
        assert memory.count(where=where) == len(expected)


def test_last_page_has_no_cursor(memory: Memory) -> None:
    assert memory.find(limit=4).cursor is None
    page = memory.find(limit=3)
    assert page.cursor is not None
    assert page.to_dict()["cursor"] == page.cursor
    assert [one["id"] for one in page.to_dict()["memories"]] == ["boat", "ferry", "stay"]


def test_cursor_survives_writes_in_between(memory: Memory) -> None:
    page = memory.find(limit=2, order="-happened_at")
    assert [node.id for node in page] == ["boat", "ferry"]
    memory.remember("Later.", id="later", happened_at="2026-06-01")
    memory.remember("Earlier.", id="earlier", happened_at="2026-05-02")
    memory.forget("ferry")  # the place of the cursor
    rest = memory.find(limit=9, order="-happened_at", after=page.cursor)
    assert [node.id for node in rest] == ["stay", "earlier", "rain"]


@pytest.mark.parametrize(
    "after", ["x", "", "é", 5, base64.urlsafe_b64encode(b"[" * 5000).decode(), base64.b64encode(b"[1,2,3]").decode()]
)
def test_find_rejects_what_is_no_cursor(after: object, memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="which is no cursor; give page"):
        memory.find(after=after)  # type: ignore[arg-type]


def test_find_rejects_a_cursor_of_another_order(memory: Memory) -> None:
    cursor = memory.find(limit=1, order="recorded_at").cursor
    with pytest.raises(InvalidInput, match="a cursor in the order 'recorded_at', not '-happened_at'; give the same"):
        memory.find(after=cursor)
    with pytest.raises(InvalidInput, match="order is 'newest'; give one of 'happened_at', '-happened_at'"):
        memory.find(order="newest")
    nan = base64.urlsafe_b64encode(json.dumps(["happened_at", float("nan"), "a"]).encode()).decode()
    with pytest.raises(InvalidInput, match="no cursor"):
        memory.find(order="happened_at", after=nan)


# ---- pages against a sorted list, with writes between them


def graph_of(nodes: list[Node]) -> Graph:
    batch = sample_batch(*nodes, sample_entity("Ana"))
    return apply_batch(Graph(), WriteBatch(nodes=batch.nodes, analyses=batch.analyses, revision=1))


@pytest.mark.medium
@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=12),
    st.sampled_from(list(Order)),
    st.integers(1, 5),
    st.sets(st.integers(0, 11)),
)
def test_pages_are_parts_of_the_sorted_memories(
    rows: list[tuple[int, bool]], order: Order, limit: int, forgotten: set[int]
) -> None:
    nodes: list[Node] = []
    for place, (minute, is_long) in enumerate(rows):
        name, recorded_at = f"n{place * 7 % 12:02}", NOON + timedelta(minutes=minute)
        parts = ((f"{name}#2", 2), (f"{name}#1", 1)) if is_long else ((name, 0),)
        nodes += [
            sample_node(
                id_, minutes=minute, recorded_at=recorded_at, document=name if is_long else None, position=position
            )
            for id_, position in parts
        ]
    graph = graph_of(nodes)
    by_id = {node.id: node for node in nodes}
    sign = -1 if order.value.startswith("-") else 1
    expected = sorted({(sign * node.happened_at.timestamp(), node.document or node.id) for node in nodes})

    def read(found: Rows) -> list[Node]:
        return [by_id[graph.id(row)] for row in found.tolist()]

    assert int(memory_rows(graph).sum()) == len(expected)
    seen: list[str] = []
    after, query = None, sample_query("x")
    while True:
        page = find_page(graph, query, read, order=order, limit=limit, after=after)
        assert len(page) <= limit
        assert all(node.document is None for node in page)
        seen += [node.id for node in page]
        if page.cursor is None:
            break
        after = Cursor.from_text(page.cursor, order)
        gone = [node for node in nodes if node.id in by_id and int((node.document or node.id)[1:]) in forgotten]
        graph = apply_batch(
            graph,
            WriteBatch(tombstones=tuple(Tombstone(node.id, b"") for node in gone), revision=graph.revision + 1),
        )
        expected = [key for key in expected if key[1] in seen or int(key[1][1:]) not in forgotten]
    assert seen == [id_ for _, id_ in expected]
