"""The write path, pure: what is checked, how ids follow from content, and what one change holds."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import checked_episode, documents, encode
from ecphora.errors import IdCollision, InvalidInput, InvalidText
from ecphora.forget import content_digest, forget, is_tombstoned
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.language.name_normalization import entity_id
from ecphora.model import AccessKind, Edge, Episode, Kind, Link, Mention, Tombstone, WriteBatch
from ecphora.query import MAX_QUESTION_TERMS, build_query, query_parts
from ecphora.testing import NOON, sample_graph, sample_vector

LONG = "Ana moved to Porto. " * 100


def remembered(
    *drafts: checked_episode.CheckedEpisode, graph: Graph | None = None, names: tuple[str, ...] = ()
) -> WriteBatch:
    nodes = [node for draft in drafts for node in draft.chunks]
    return encode.encode(
        drafts,
        graph or Graph(),
        vectors={node.id: sample_vector(node.text) for node in nodes},
        mentions={node.id: [Mention(name) for name in names if name in node.text] for node in nodes},
        embedder="hashing/16",
        now=NOON,
    )


def grown(change: WriteBatch) -> Graph:
    nodes = tuple(replace(node, seq=seq) for seq, node in enumerate(change.nodes, 1))
    return apply_batch(Graph(), replace(change, nodes=nodes, revision=1))


def draft(text: Any = "Ana moved.", **fields: Any) -> checked_episode.CheckedEpisode:
    return checked_episode.check_episode(Episode(text, **fields), NOON)


# ---- drafts


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
    later = checked_episode.check_episode(Episode("Ana moved.", speaker="Ana"), NOON + timedelta(days=1))
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
    assert checked_episode.same_content(here, there.chunks)
    assert content_digest(here.chunks[0]) == content_digest(there.chunks[0])


@pytest.mark.parametrize("field", ["id", "speaker", "session", "title", "source", "supersedes"])
@pytest.mark.parametrize("value", ["", "  \n", "x" * 513, 5, b"x", 1.5, ["x"]], ids=lambda value: repr(value)[:9])
def test_names_are_checked(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"^{field} is .*; give a text of 1 to 512 characters, or None"):
        checked_episode.check_episode(replace(Episode("Ana moved."), **{field: value}), NOON)


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


# ---- pieces


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
    graph = grown(remembered(draft(LONG, id="d"), draft(id="a")))
    assert documents.node_ids_of(graph, "a") == ["a"]
    assert documents.node_ids_of(graph, "d") == ["d#1", "d#2", "d#3"]
    assert documents.node_ids_of(graph, "d#2") == ["d#2"]
    assert documents.node_ids_of(graph, "nothing") == []


# ---- distinct


def test_the_same_twice_is_one() -> None:
    assert list(checked_episode.deduplicate([draft(id="a"), draft(id="a"), draft(id="b")], Graph())) == ["a", "b"]


@pytest.mark.parametrize(
    "drafts",
    [
        [draft(id="a"), draft("Another.", id="a")],
        [draft(id="a", speaker="Ana"), draft(id="a", speaker="Ben")],
        [draft(LONG, id="a"), draft(id="a#1")],  # the first piece of the one is the other
        [draft(id="a#2"), draft(LONG, id="a")],
    ],
)
def test_one_id_for_two_texts_is_refused(drafts: list[checked_episode.CheckedEpisode]) -> None:
    with pytest.raises(IdCollision, match="choose another id"):
        checked_episode.deduplicate(drafts, Graph())


def test_what_is_replaced_must_be_there() -> None:
    newer = draft("Ana moved on.", supersedes="a")
    with pytest.raises(InvalidInput, match="remember that one first"):
        checked_episode.deduplicate([newer], Graph())
    with pytest.raises(InvalidInput, match="remember that one first"):
        checked_episode.deduplicate([newer, draft(id="a")], Graph())
    assert len(checked_episode.deduplicate([draft(id="a"), newer], Graph())) == 2
    assert len(checked_episode.deduplicate([newer], grown(remembered(draft(id="a"))))) == 1
    gone = apply_batch(grown(remembered(draft(id="a"))), WriteBatch(tombstones=(Tombstone("a", b"x"),), revision=2))
    assert len(checked_episode.deduplicate([newer], gone)) == 1  # it was there once, and is forgotten for good


# ---- one change


def test_a_change_holds_everything_of_its_episodes() -> None:
    change = remembered(draft("Ana met Mia in Porto?", id="a", speaker="Ana"), names=("Ana", "Mia"))
    assert [node.id for node in change.nodes] == ["a", "entity:ana", "entity:mia"]
    assert change.edges == (Edge("a", "entity:ana", Link.MENTIONS), Edge("a", "entity:mia", Link.MENTIONS))
    assert change.analyses.keys() == change.vectors.keys() == {"a"}
    assert change.analyses["a"].is_question
    assert change.embedder == "hashing/16"
    assert grown(change).accesses_of(0)[0].kind is AccessKind.ENCODED


def test_names_that_are_known_are_not_made_again() -> None:
    graph = grown(remembered(draft("Ana moved.", id="a"), names=("Ana",)))
    change = remembered(draft("Ana came back.", id="b"), graph=graph, names=("Ana",))
    assert [node.id for node in change.nodes] == ["b"]
    assert change.edges == (Edge("b", "entity:ana", Link.MENTIONS),)


def test_a_title_is_what_a_text_is_about() -> None:
    change = remembered(draft("It lies on the Douro.", id="a", title="Porto"), names=("Porto",))
    assert change.edges == (Edge("a", entity_id("Porto"), Link.ABOUT),)
    assert len(remembered(draft(id="a", title="?!")).nodes) == 1  # nothing of it is a name


def test_every_piece_mentions_its_names() -> None:
    change = remembered(draft(LONG, id="d"), names=("Ana",))
    assert [edge.src for edge in change.edges] == ["d#1", "d#2", "d#3"]
    assert [node.id for node in change.nodes][-1] == "entity:ana"


def test_replacing_ends_the_older() -> None:
    graph = grown(remembered(draft("Ana lives in Porto.", id="old")))
    later = draft("Ana lives in Faro.", id="new", supersedes="old", happened_at=date(2026, 6, 1))
    change = remembered(later, graph=graph)
    assert change.edges == (Edge("new", "old", Link.SUPERSEDES),)
    assert [(end.node, end.valid_to, end.recorded_at) for end in change.validity_ends] == [
        ("old", datetime(2026, 6, 1, tzinfo=UTC), NOON)
    ]
    assert [end.node for end in remembered(draft(LONG, id="old"), later).validity_ends] == ["old#1", "old#2", "old#3"]


# ---- forgetting


def test_names_go_with_their_last_mention() -> None:
    graph = grown(
        remembered(draft("Ana met Mia.", id="a"), draft("Ana left.", id="b"), names=("Ana", "Mia"))
    )  # fmt: skip
    nodes = {node.id: node for node in remembered(draft("Ana met Mia.", id="a"), draft("Ana left.", id="b")).nodes}
    left = apply_batch(graph, forget([nodes["a"]]))
    assert [left.row(id_) is not None for id_ in ("a", "b", "entity:ana", "entity:mia")] == [False, True, True, False]
    left = apply_batch(graph, forget([nodes["a"], nodes["b"]]))
    assert len(left) == 0


def test_what_was_forgotten_is_known_again() -> None:
    told = draft(id="a", speaker="Ana", happened_at="2026-05-01")
    gone = WriteBatch(tombstones=(Tombstone("a", content_digest(told.chunks[0])),), revision=1)
    graph = apply_batch(Graph(), gone)
    assert is_tombstoned(told, graph)
    assert is_tombstoned(draft(id="a"), graph)  # by its id
    assert is_tombstoned(draft(id="b", speaker="Ana", happened_at="2026-05-01"), graph)  # by its content
    assert not is_tombstoned(draft(id="b", speaker="Ben", happened_at="2026-05-01"), graph)
    assert not is_tombstoned(draft(id="b", speaker="Ana", happened_at="2026-05-02"), graph)


def test_the_digest_tells_times_texts_and_speakers_apart() -> None:
    digests = {
        content_digest(one.chunks[0])
        for one in (draft(), draft("Ben moved."), draft(speaker="Ana"), draft(happened_at="2026-05-01"))
    }
    assert len(digests) == 4
    assert {len(digest) for digest in digests} == {16}


# ---- cues and readings


def test_a_cue_holds_what_its_words_say() -> None:
    cue = build_query("Where did Ana go, Ana?", NOON, vector=None, embedder_coverage=0.5)
    assert (cue.text, cue.now, cue.vector, cue.embedder_coverage) == ("Where did Ana go, Ana?", NOON, None, 0.5)
    assert cue.entity_ids == ("entity:ana",)
    assert len(cue.term_hashes) == 2
    assert build_query("What happened yesterday?", NOON, vector=None, embedder_coverage=1).time_ranges[0].start < NOON


def test_a_question_is_taken_apart() -> None:
    parts = query_parts("What did Ana paint, and what did Ana's friends paint?", sample_graph())
    assert parts.topic == "paint, and what did friends paint"
    assert parts.term_texts == {1: "paint", 2: "friends"}
    assert parts.texts == [parts.question, parts.topic, "paint", "friends"]
    vectors = np.eye(4, dtype=np.float32)
    cue = build_query(parts.question, NOON, vector=None, embedded_parts=(parts, vectors), embedder_coverage=1)
    assert cue.vector is not None
    assert cue.vector.tolist() == [1, 0, 0, 0]
    assert cue.topic_vector is not None
    assert cue.topic_vector.tolist() == [0, 1, 0, 0]
    assert cue.term_vectors is not None
    assert cue.term_vectors.tolist() == [[0] * 4, [0, 0, 1, 0], [0, 0, 0, 1]]


def test_a_long_text_is_no_bundle_of_words() -> None:
    text = " ".join(f"word{number}" for number in range(MAX_QUESTION_TERMS + 1))
    parts = query_parts(f"What is {text}?", sample_graph())
    assert (parts.topic, parts.term_texts) == (parts.question, {})
    cue = build_query(
        parts.question, NOON, vector=None, embedded_parts=(parts, np.ones((1, 2), np.float32)), embedder_coverage=1
    )
    assert cue.term_vectors is not None
    assert cue.term_vectors.shape == (MAX_QUESTION_TERMS + 1, 2)
    assert not cue.term_vectors.any()


def test_in_a_script_without_spaces_no_word_stands_alone() -> None:
    parts = query_parts("小明昨天去了 Porto 吗？", sample_graph())
    assert list(parts.term_texts.values()) == ["porto"]


def test_a_text_is_read_with_its_speaker_and_title() -> None:
    (node,) = draft("Lovely.", speaker="Ana", title="Porto").chunks
    assert encode.indexed_text(node) == "Ana: Porto\nLovely."
    assert encode.analyze(node).length == 3


@pytest.mark.parametrize("happened_at", [date.min, date.max, "9999-12-31T23:59:59", "0001-01-01T00:00+14:00"])
@pytest.mark.parametrize("text", ["Yesterday, last year, 3 weeks ago", "Tomorrow, next year, in 3 weeks", "5 May"])
def test_the_ends_of_time_are_no_accident(happened_at: object, text: str) -> None:
    change = remembered(draft(text, id="a", happened_at=happened_at))
    assert len(grown(change)) == 1
