"""The write path, pure: what is checked, how ids follow from content, and what one change holds."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from ecphora import documents, encode
from ecphora.forget import forget
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.language.name_normalization import entity_id
from ecphora.model import AccessKind, Edge, Episode, Link, Mention, WriteBatch
from ecphora.testing import NOON, sample_vector

LONG = "Ana moved to Porto. " * 100


def remembered(
    *drafts: documents.CheckedEpisode, graph: Graph | None = None, names: tuple[str, ...] = ()
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


def draft(text: Any = "Ana moved.", **fields: Any) -> documents.CheckedEpisode:
    return documents.check_episode(Episode(text, **fields), NOON)


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


# ---- text


def test_a_text_is_read_with_its_speaker_and_title() -> None:
    (node,) = draft("Lovely.", speaker="Ana", title="Porto").chunks
    assert encode.indexed_text(node) == "Ana: Porto\nLovely."
    assert encode.analyze(node).length == 3


@pytest.mark.parametrize("happened_at", [date.min, date.max, "9999-12-31T23:59:59", "0001-01-01T00:00+14:00"])
@pytest.mark.parametrize("text", ["Yesterday, last year, 3 weeks ago", "Tomorrow, next year, in 3 weeks", "5 May"])
def test_the_ends_of_time_are_no_accident(happened_at: object, text: str) -> None:
    change = remembered(draft(text, id="a", happened_at=happened_at))
    assert len(grown(change)) == 1
