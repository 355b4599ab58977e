"""Short ids: which prefixes resolve to which ids, and how ids are abbreviated."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import Memory
from ecphora.errors import InvalidInput
from ecphora.model.graph.graph import Graph
from ecphora.model.types import Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.lookup import MAX_LISTED_IDS, abbreviate, resolve_among, resolve_id

ONE, TWO, THREE = (f"{start:0<32}" for start in ("abcd1234e", "abcd1234f", "12340"))
UUID = "9f1c0de2-5a3b-4c6d-8e7f-0123456789ab"


def graph_of(path: Path, ids: Sequence[str], forgotten: str = "") -> Graph:
    with Memory(path, embedder=HashingEmbedder()) as memory:
        memory.remember([Episode(f"Text number {number}.", id=id_) for number, id_ in enumerate(ids)])
        memory.forget(forgotten)
        return memory.graph()


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return graph_of(
        tmp_path / "a.db", [ONE, TWO, THREE, UUID, "msg-10", "alpha-one", "alpha-two", "note", "note-1"], "note"
    )


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        (ONE, ONE),
        ("abcd1234e", ONE),
        ("1234", THREE),  # a digest may be cut inside a number
        ("123", "123"),  # too short
        ("9f1c", UUID),
        ("9f1c0de2-5", UUID),
        ("abcd9", "abcd9"),  # there is none
        ("ABCD1234E", "ABCD1234E"),
        ("msg-10", "msg-10"),
        ("msg-", "msg-10"),
        ("msg-1", "msg-1"),  # a number is not cut
        ("alpha-o", "alpha-one"),
        ("note", "note"),  # it was forgotten: it does not mean another now
        ("", ""),
    ],
)
def test_prefixes_resolve_to_ids(graph: Graph, prefix: str, expected: str) -> None:
    assert resolve_id(prefix, graph) == expected


@pytest.mark.parametrize(
    ("prefix", "candidates"), [("abcd", [ONE, TWO]), ("abcd1234", [ONE, TWO]), ("alph", ["alpha-one", "alpha-two"])]
)
def test_ambiguous_prefix_error_lists_the_candidates(graph: Graph, prefix: str, candidates: list[str]) -> None:
    with pytest.raises(InvalidInput, match=f"2 ids begin with '{prefix}': {', '.join(candidates)}$"):
        resolve_id(prefix, graph)


def test_ambiguous_prefix_error_lists_few_candidates() -> None:
    with pytest.raises(InvalidInput, match=r"30 ids begin with 'name': .* and 20 more$") as caught:
        resolve_among("name", [f"name-{chr(97 + n)}" for n in range(26)] + [f"name_{n}" for n in "abcd"])
    assert str(caught.value).count("name") == MAX_LISTED_IDS + 1


@pytest.mark.parametrize("prefix", ["alpha-o", "msg-", "note-"])
def test_given_ids_resolve_only_in_full_without_allow_names(graph: Graph, prefix: str) -> None:
    assert resolve_id(prefix, graph, allow_names=False) == prefix
    assert resolve_id("abcd1234e", graph, allow_names=False) == ONE


def test_chunks_of_a_text_count_as_one_id(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", embedder=HashingEmbedder()) as memory:
        (id_,) = memory.remember("A long walk by the river. " * 200).ids
        graph = memory.graph()
        assert graph.row(f"{id_}#2") is not None
        assert resolve_id(id_[:6], graph) == id_
        assert resolve_id(f"{id_[:6]}#2", graph) == f"{id_}#2"
        assert abbreviate([id_, f"{id_}#2"], graph) == {id_: id_[:8], f"{id_}#2": f"{id_[:8]}#2"}
        memory.forget(id_)
        assert resolve_id(id_, memory.graph()) == id_


def test_digests_are_abbreviated_to_a_unique_prefix(graph: Graph) -> None:
    assert abbreviate([ONE, TWO, THREE, UUID, "alpha-one"], graph) == {
        ONE: "abcd1234e",
        TWO: "abcd1234f",
        THREE: "12340000",
        UUID: "9f1c0de2",
        "alpha-one": "alpha-one",
    }
    assert abbreviate([], graph) == {}


@pytest.mark.medium
@given(st.lists(st.text("01ab", min_size=32, max_size=32), min_size=1, max_size=8, unique=True), st.integers(9, 32))
def test_abbreviated_ids_resolve_to_the_id(tmp_path_factory: pytest.TempPathFactory, ids: list[str], same: int) -> None:
    similar_ids = list(dict.fromkeys([*ids, *(ids[0][:same] + id_[same:] for id_ in ids)]))
    graph = graph_of(tmp_path_factory.mktemp("m") / "a.db", similar_ids)
    short_ids = abbreviate(similar_ids, graph)
    assert len(set(short_ids.values())) == len(similar_ids)
    assert all(resolve_id(short, graph) == id_ and len(short) >= 8 for id_, short in short_ids.items())


def test_prefixes_of_other_ids_resolve_among_them() -> None:
    ids = [f"question:{ONE}", f"question:{TWO}", f"consolidate:{ONE[:16]}"]
    assert resolve_among("cons", ids) == ids[2]
    assert resolve_among("question:abcd1234e", ids) == ids[0]
