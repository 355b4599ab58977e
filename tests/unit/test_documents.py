"""Documents: checked fields, ids derived from content, chunks, and documents that are already stored."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import IdCollision, InvalidInput, InvalidText
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch, content_digest
from ecphora.model.types import Episode, Kind, Node, Tombstone, WriteBatch
from ecphora.remember import documents
from ecphora.remember.documents import CheckedEpisode, check_episode
from ecphora.testing import NOON

LONG = "Ana moved to Porto. " * 100


def draft(text: Any = "Ana moved.", **fields: Any) -> CheckedEpisode:
    return check_episode(Episode(text, **fields), NOON)


def graph_of(*drafts: CheckedEpisode) -> Graph:
    nodes: Iterable[Node] = (node for draft in drafts for node in draft.chunks)
    numbered = tuple(replace(node, seq=seq) for seq, node in enumerate(nodes, 1))
    return apply_batch(Graph(), WriteBatch(nodes=numbered, revision=1))


# ---- checked episodes


def test_checked_episode_keeps_its_fields() -> None:
    checked = draft(
        id="a", speaker="Ana", session="s", happened_at="2026-05-01", title="Porto", source="mail", metadata={"k": 1},
        trust=0.5, supersedes="old",
    )  # fmt: skip
    (node,) = checked.chunks
    assert (checked.id, checked.supersedes, checked.has_date) == ("a", "old", True)
    assert (node.id, node.kind, node.text, node.speaker, node.session) == ("a", Kind.EPISODE, "Ana moved.", "Ana", "s")
    assert (node.happened_at, node.recorded_at) == (datetime(2026, 5, 1, tzinfo=UTC), NOON)
    assert (node.title, node.source, node.trust, node.metadata) == ("Porto", "mail", 0.5, {"k": 1})


def test_default_event_time_is_now() -> None:
    checked = draft()
    assert (checked.chunks[0].happened_at, checked.has_date) == (NOON, False)


def test_ids_are_derived_from_content() -> None:
    base = draft(speaker="Ana")
    later = check_episode(Episode("Ana moved.", speaker="Ana"), NOON + timedelta(days=1))
    assert base.id == draft(speaker="Ana").id == later.id
    others = [
        draft(), draft(speaker="Ben"), draft(session="Ana"), draft(title="Ana"), draft(source="Ana"),
        draft("Ana moved. ", speaker="Ana"), draft(speaker="Ana", happened_at="2026-05-01"),
    ]  # fmt: skip
    assert len({base.id, *(other.id for other in others)}) == 1 + len(others)
    assert draft(speaker="Ana", metadata={"k": 1}, trust=0.5).id == base.id
    assert len(base.id) == 32


def test_one_instant_in_two_time_zones_is_one_memory() -> None:
    lisbon = datetime(2026, 5, 3, 15, tzinfo=timezone(timedelta(hours=1)))
    in_lisbon, in_utc = draft(happened_at=lisbon), draft(happened_at="2026-05-03T14:00Z")
    assert in_lisbon.id == in_utc.id
    assert documents.same_content(in_lisbon, in_utc.chunks)
    assert content_digest(in_lisbon.chunks[0]) == content_digest(in_utc.chunks[0])


@pytest.mark.parametrize("field", ["id", "speaker", "session", "title", "source", "supersedes"])
@pytest.mark.parametrize("value", ["", "  \n", "x" * 513, 5, b"x", 1.5, ["x"]], ids=lambda value: repr(value)[:9])
def test_invalid_field_is_rejected(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"^{field} is .*; give a text of 1 to 512 characters, or None"):
        check_episode(replace(Episode("Ana moved."), **{field: value}), NOON)


@pytest.mark.parametrize("text", [None, 5, b"text", ["text"], "", " \n\t", "x" * 1_000_001, "\ud800"])
def test_invalid_text_is_rejected(text: Any) -> None:
    with pytest.raises(InvalidText):
        draft(text)


@pytest.mark.parametrize("trust", [-0.1, 1.1, float("nan"), float("inf"), "1", None])
def test_invalid_trust_is_rejected(trust: object) -> None:
    with pytest.raises(InvalidInput, match="give a number from 0 to 1"):
        draft(trust=trust)


def test_error_for_a_wrong_type_names_the_type() -> None:
    with pytest.raises(InvalidInput, match="an object of type int cannot be remembered; give a text"):
        check_episode(5, NOON)  # type: ignore[arg-type]


def test_entity_ids_are_reserved() -> None:
    with pytest.raises(InvalidInput, match="choose another"):
        draft(id="entity:ana")
    assert draft(id="Entity:ana").id == "Entity:ana"


# ---- chunks


@given(st.lists(st.sampled_from(["Ana moved. ", "\n\n", "x" * 700, "你好。" * 50, " "]), max_size=40).map("".join))
def test_reassembled_chunks_equal_the_text(text: str) -> None:
    if not text.strip():
        return
    checked = draft(text, id="d", speaker="Ana", metadata={"k": 1})
    document = documents.reassemble(checked.chunks)
    assert (document.id, document.text, document.document, document.position) == ("d", text, None, 0)
    if len(checked.chunks) > 1:
        assert [chunk.id for chunk in checked.chunks] == [
            f"d#{position}" for position in range(1, len(checked.chunks) + 1)
        ]
        assert {(p.document, p.speaker, p.happened_at, str(p.metadata)) for p in checked.chunks} == {
            ("d", "Ana", NOON, "{'k': 1}")
        }


def test_node_ids_of_an_id_are_its_chunks() -> None:
    graph = graph_of(draft(LONG, id="d"), draft(id="a"))
    assert documents.node_ids_of(graph, "a") == ["a"]
    assert documents.node_ids_of(graph, "d") == ["d#1", "d#2", "d#3"]
    assert documents.node_ids_of(graph, "d#2") == ["d#2"]
    assert documents.node_ids_of(graph, "nothing") == []


# ---- stored documents


def test_equal_episodes_are_deduplicated() -> None:
    assert list(documents.deduplicate([draft(id="a"), draft(id="a"), draft(id="b")], Graph())) == ["a", "b"]


def test_collision_within_one_call_names_the_occupied_id() -> None:
    with pytest.raises(IdCollision, match="the id 'a#1', which a chunk of 'a' needs, already belongs"):
        documents.deduplicate([draft("Short.", id="a#1"), draft(LONG, id="a")], Graph())
    with pytest.raises(IdCollision, match="the id 'a#1' already belongs"):
        documents.deduplicate([draft(LONG, id="a"), draft("Short.", id="a#1")], Graph())


@pytest.mark.parametrize(
    "drafts",
    [
        [draft(id="a"), draft("Another.", id="a")],
        [draft(id="a", speaker="Ana"), draft(id="a", speaker="Ben")],
        [draft(LONG, id="a"), draft(id="a#1")],  # the id of the first chunk is another id
        [draft(id="a#2"), draft(LONG, id="a")],
    ],
)
def test_one_id_for_two_texts_is_rejected(drafts: list[CheckedEpisode]) -> None:
    with pytest.raises(IdCollision, match="choose another id"):
        documents.deduplicate(drafts, Graph())


def test_superseded_id_must_be_known() -> None:
    superseding = draft("Ana moved on.", supersedes="a")
    with pytest.raises(InvalidInput, match="remember that one first"):
        documents.deduplicate([superseding], Graph())
    with pytest.raises(InvalidInput, match="remember that one first"):
        documents.deduplicate([superseding, draft(id="a")], Graph())
    assert len(documents.deduplicate([draft(id="a"), superseding], Graph())) == 2
    assert len(documents.deduplicate([superseding], graph_of(draft(id="a")))) == 1
    after_forgetting = apply_batch(graph_of(draft(id="a")), WriteBatch(tombstones=(Tombstone("a", b"x"),), revision=2))
    assert len(documents.deduplicate([superseding], after_forgetting)) == 1  # it was stored once and is forgotten


def test_unchanged_document_is_stored_already_and_another_text_of_its_id_is_refused() -> None:
    document, graph = draft(LONG, id="d"), graph_of(draft(LONG, id="d"))
    assert documents.is_stored(document, graph, document.chunks)
    assert not documents.is_stored(draft("Ben stayed."), graph, ())
    with pytest.raises(IdCollision, match="choose another id"):
        documents.is_stored(draft("Ben stayed.", id="d"), graph, document.chunks)
    with pytest.raises(IdCollision, match="choose another id"):
        documents.is_stored(draft(LONG, id="e"), graph_of(draft(id="e#2")), ())


def test_hash_of_content_is_the_id_of_an_episode_without_one() -> None:
    assert draft().id == documents.document_id(Episode("Ana moved."), None)
    assert draft(happened_at="2026-05-01").id == documents.document_id(
        Episode("Ana moved."), datetime(2026, 5, 1, tzinfo=UTC)
    )
    assert draft(id="a").id == "a"
