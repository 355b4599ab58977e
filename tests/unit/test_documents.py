"""Documents: what is checked, how ids follow from content, chunks and their whole, and what is stored already."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import documents
from ecphora.documents import CheckedEpisode, check_episode
from ecphora.errors import IdCollision, InvalidInput, InvalidText
from ecphora.forget import content_digest
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.model import Episode, Kind, Node, Tombstone, WriteBatch
from ecphora.testing import NOON

LONG = "Ana moved to Porto. " * 100


def draft(text: Any = "Ana moved.", **fields: Any) -> CheckedEpisode:
    return check_episode(Episode(text, **fields), NOON)


def graph_of(*drafts: CheckedEpisode) -> Graph:
    nodes: Iterable[Node] = (node for draft in drafts for node in draft.chunks)
    numbered = tuple(replace(node, seq=seq) for seq, node in enumerate(nodes, 1))
    return apply_batch(Graph(), WriteBatch(nodes=numbered, revision=1))


# ---- checked episodes


def test_a_draft_keeps_what_was_said() -> None:
    made = draft(
        id="a", speaker="Ana", session="s", happened_at="2026-05-01", title="Porto", source="mail", metadata={"k": 1},
        trust=0.5, supersedes="old",
    )  # fmt: skip
    (node,) = made.chunks
    assert (made.id, made.supersedes, made.has_date) == ("a", "old", True)
    assert (node.id, node.kind, node.text, node.speaker, node.session) == ("a", Kind.EPISODE, "Ana moved.", "Ana", "s")
    assert (node.happened_at, node.recorded_at) == (datetime(2026, 5, 1, tzinfo=UTC), NOON)
    assert (node.title, node.source, node.trust, node.metadata) == ("Porto", "mail", 0.5, {"k": 1})


def test_without_a_time_it_happened_now() -> None:
    made = draft()
    assert (made.chunks[0].happened_at, made.has_date) == (NOON, False)


def test_ids_follow_from_content() -> None:
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


def test_one_instant_in_two_zones_is_one_memory() -> None:
    lisbon = datetime(2026, 5, 3, 15, tzinfo=timezone(timedelta(hours=1)))
    here, there = draft(happened_at=lisbon), draft(happened_at="2026-05-03T14:00Z")
    assert here.id == there.id
    assert documents.same_content(here, there.chunks)
    assert content_digest(here.chunks[0]) == content_digest(there.chunks[0])


@pytest.mark.parametrize("field", ["id", "speaker", "session", "title", "source", "supersedes"])
@pytest.mark.parametrize("value", ["", "  \n", "x" * 513, 5, b"x", 1.5, ["x"]], ids=lambda value: repr(value)[:9])
def test_names_are_checked(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"^{field} is .*; give a text of 1 to 512 characters, or None"):
        check_episode(replace(Episode("Ana moved."), **{field: value}), NOON)


@pytest.mark.parametrize("text", [None, 5, b"text", ["text"], "", " \n\t", "x" * 1_000_001, "\ud800"])
def test_texts_are_checked(text: Any) -> None:
    with pytest.raises(InvalidText):
        draft(text)


@pytest.mark.parametrize("trust", [-0.1, 1.1, float("nan"), float("inf"), "1", None])
def test_trust_is_checked(trust: object) -> None:
    with pytest.raises(InvalidInput, match="give a number from 0 to 1"):
        draft(trust=trust)


def test_the_ids_of_names_are_reserved() -> None:
    with pytest.raises(InvalidInput, match="choose another"):
        draft(id="entity:ana")
    assert draft(id="Entity:ana").id == "Entity:ana"


# ---- chunks


@given(st.lists(st.sampled_from(["Ana moved. ", "\n\n", "x" * 700, "你好。" * 50, " "]), max_size=40).map("".join))
def test_pieces_joined_are_the_whole(text: str) -> None:
    if not text.strip():
        return
    made = draft(text, id="d", speaker="Ana", metadata={"k": 1})
    whole = documents.reassemble(made.chunks)
    assert (whole.id, whole.text, whole.document, whole.position) == ("d", text, None, 0)
    if len(made.chunks) > 1:
        assert [piece.id for piece in made.chunks] == [f"d#{place}" for place in range(1, len(made.chunks) + 1)]
        assert {(p.document, p.speaker, p.happened_at, str(p.metadata)) for p in made.chunks} == {
            ("d", "Ana", NOON, "{'k': 1}")
        }


def test_the_rows_of_an_id() -> None:
    graph = graph_of(draft(LONG, id="d"), draft(id="a"))
    assert documents.node_ids_of(graph, "a") == ["a"]
    assert documents.node_ids_of(graph, "d") == ["d#1", "d#2", "d#3"]
    assert documents.node_ids_of(graph, "d#2") == ["d#2"]
    assert documents.node_ids_of(graph, "nothing") == []


# ---- what is stored already


def test_the_same_twice_is_one() -> None:
    assert list(documents.deduplicate([draft(id="a"), draft(id="a"), draft(id="b")], Graph())) == ["a", "b"]


@pytest.mark.parametrize(
    "drafts",
    [
        [draft(id="a"), draft("Another.", id="a")],
        [draft(id="a", speaker="Ana"), draft(id="a", speaker="Ben")],
        [draft(LONG, id="a"), draft(id="a#1")],  # the first piece of the one is the other
        [draft(id="a#2"), draft(LONG, id="a")],
    ],
)
def test_one_id_for_two_texts_is_refused(drafts: list[CheckedEpisode]) -> None:
    with pytest.raises(IdCollision, match="choose another id"):
        documents.deduplicate(drafts, Graph())


def test_what_is_replaced_must_be_there() -> None:
    newer = draft("Ana moved on.", supersedes="a")
    with pytest.raises(InvalidInput, match="remember that one first"):
        documents.deduplicate([newer], Graph())
    with pytest.raises(InvalidInput, match="remember that one first"):
        documents.deduplicate([newer, draft(id="a")], Graph())
    assert len(documents.deduplicate([draft(id="a"), newer], Graph())) == 2
    assert len(documents.deduplicate([newer], graph_of(draft(id="a")))) == 1
    gone = apply_batch(graph_of(draft(id="a")), WriteBatch(tombstones=(Tombstone("a", b"x"),), revision=2))
    assert len(documents.deduplicate([newer], gone)) == 1  # it was there once, and is forgotten for good


def test_unchanged_document_is_stored_already_and_another_text_of_its_id_is_refused() -> None:
    whole, graph = draft(LONG, id="d"), graph_of(draft(LONG, id="d"))
    assert documents.is_stored(whole, graph, whole.chunks)
    assert not documents.is_stored(draft("Ben stayed."), graph, ())
    with pytest.raises(IdCollision, match="choose another id"):
        documents.is_stored(draft("Ben stayed.", id="d"), graph, whole.chunks)
    with pytest.raises(IdCollision, match="choose another id"):
        documents.is_stored(draft(LONG, id="e"), graph_of(draft(id="e#2")), ())


def test_hash_of_content_is_the_id_of_an_episode_without_one() -> None:
    assert draft().id == documents.document_id(Episode("Ana moved."), None)
    assert draft(happened_at="2026-05-01").id == documents.document_id(
        Episode("Ana moved."), datetime(2026, 5, 1, tzinfo=UTC)
    )
    assert draft(id="a").id == "a"
