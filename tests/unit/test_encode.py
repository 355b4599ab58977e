"""The write path without a store: the batch that is written for episodes, and its texts."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from ecphora.language.names.mentions import entity_id
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch, forget
from ecphora.model.types import AccessKind, Edge, Episode, Extraction, Link, Mention, WriteBatch
from ecphora.remember import documents, encode
from ecphora.testing import NOON, sample_vector

LONG = "Ana moved to Porto. " * 100


def encode_episodes(
    *drafts: documents.CheckedEpisode, graph: Graph | None = None, names: tuple[str, ...] = ()
) -> WriteBatch:
    nodes = [node for draft in drafts for node in draft.chunks]
    return encode.encode(
        drafts,
        graph or Graph(),
        vectors={node.id: sample_vector(node.text) for node in nodes},
        extractions={
            node.id: Extraction(tuple(Mention(name) for name in names if name in node.text)) for node in nodes
        },
        embedder="hashing/16",
        now=NOON,
    )


def graph_after(batch: WriteBatch) -> Graph:
    nodes = tuple(replace(node, seq=seq) for seq, node in enumerate(batch.nodes, 1))
    return apply_batch(Graph(), replace(batch, nodes=nodes, revision=1))


def draft(text: Any = "Ana moved.", **fields: Any) -> documents.CheckedEpisode:
    return documents.check_episode(Episode(text, **fields), NOON)


# ---- one batch


def test_batch_has_all_parts_of_its_episodes() -> None:
    batch = encode_episodes(draft("Ana met Mia in Porto?", id="a", speaker="Ana"), names=("Ana", "Mia"))
    assert [node.id for node in batch.nodes] == ["a", "entity:ana", "entity:mia"]
    assert batch.edges == (Edge("a", "entity:ana", Link.MENTIONS), Edge("a", "entity:mia", Link.MENTIONS))
    assert batch.analyses.keys() == batch.vectors.keys() == {"a"}
    assert batch.analyses["a"].is_question
    assert batch.embedder == "hashing/16"
    assert graph_after(batch).accesses_of(0)[0].kind is AccessKind.ENCODED


def test_known_entities_are_not_written_again() -> None:
    graph = graph_after(encode_episodes(draft("Ana moved.", id="a"), names=("Ana",)))
    batch = encode_episodes(draft("Ana came back.", id="b"), graph=graph, names=("Ana",))
    assert [node.id for node in batch.nodes] == ["b"]
    assert batch.edges == (Edge("b", "entity:ana", Link.MENTIONS),)


def test_title_is_linked_as_about() -> None:
    batch = encode_episodes(draft("It lies on the Douro.", id="a", title="Porto"), names=("Porto",))
    assert batch.edges == (Edge("a", entity_id("Porto"), Link.ABOUT),)
    assert len(encode_episodes(draft(id="a", title="?!")).nodes) == 1  # it contains no name


def test_chunks_mention_their_names() -> None:
    batch = encode_episodes(draft(LONG, id="d"), names=("Ana",))
    assert [edge.src for edge in batch.edges] == ["d#1", "d#2", "d#3"]
    assert [node.id for node in batch.nodes][-1] == "entity:ana"


def test_superseding_ends_the_older_memory() -> None:
    graph = graph_after(encode_episodes(draft("Ana lives in Porto.", id="old")))
    later = draft("Ana lives in Faro.", id="new", supersedes="old", happened_at=date(2026, 6, 1))
    batch = encode_episodes(later, graph=graph)
    assert batch.edges == (Edge("new", "old", Link.SUPERSEDES),)
    assert [(end.node, end.valid_to, end.recorded_at) for end in batch.validity_ends] == [
        ("old", datetime(2026, 6, 1, tzinfo=UTC), NOON)
    ]
    assert [end.node for end in encode_episodes(draft(LONG, id="old"), later).validity_ends] == [
        "old#1",
        "old#2",
        "old#3",
    ]


# ---- forgetting


def test_entities_are_deleted_with_their_last_mention() -> None:
    graph = graph_after(
        encode_episodes(draft("Ana met Mia.", id="a"), draft("Ana left.", id="b"), names=("Ana", "Mia"))
    )  # fmt: skip
    nodes = {node.id: node for node in encode_episodes(draft("Ana met Mia.", id="a"), draft("Ana left.", id="b")).nodes}
    remaining = apply_batch(graph, forget([nodes["a"]]))
    assert [remaining.row(id_) is not None for id_ in ("a", "b", "entity:ana", "entity:mia")] == [
        False,
        True,
        True,
        False,
    ]
    remaining = apply_batch(graph, forget([nodes["a"], nodes["b"]]))
    assert len(remaining) == 0


# ---- text


def test_indexed_text_has_speaker_and_title() -> None:
    (node,) = draft("Lovely.", speaker="Ana", title="Porto").chunks
    assert encode.indexed_text(node) == "Ana: Porto\nLovely."
    assert encode.analyze(node).length == 3


@pytest.mark.parametrize("happened_at", [date.min, date.max, "9999-12-31T23:59:59", "0001-01-01T14:00+14:00"])
@pytest.mark.parametrize("text", ["Yesterday, last year, 3 weeks ago", "Tomorrow, next year, in 3 weeks", "5 May"])
def test_extreme_dates_are_encoded(happened_at: object, text: str) -> None:
    batch = encode_episodes(draft(text, id="a", happened_at=happened_at))
    assert len(graph_after(batch)) == 1
