"""Ids by their beginning: which stand for what, which do not, and how short they are shown."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import Memory
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import InvalidInput
from ecphora.graph import Graph
from ecphora.model import Episode
from ecphora.short_ids import MAX_LISTED_IDS, abbreviate, resolve_among, resolve_id

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
    ("said", "meant"),
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
def test_worked_examples(graph: Graph, said: str, meant: str) -> None:
    assert resolve_id(said, graph) == meant


@pytest.mark.parametrize(
    ("said", "candidates"), [("abcd", [ONE, TWO]), ("abcd1234", [ONE, TWO]), ("alph", ["alpha-one", "alpha-two"])]
)
def test_what_several_begin_with_is_an_error_that_lists_them(graph: Graph, said: str, candidates: list[str]) -> None:
    with pytest.raises(InvalidInput, match=f"2 ids begin with '{said}': {', '.join(candidates)}$"):
        resolve_id(said, graph)


def test_not_more_than_a_few_candidates_are_listed() -> None:
    with pytest.raises(InvalidInput, match=r"30 ids begin with 'name': .* and 20 more$") as caught:
        resolve_among("name", [f"name-{chr(97 + n)}" for n in range(26)] + [f"name_{n}" for n in "abcd"])
    assert str(caught.value).count("name") == MAX_LISTED_IDS + 1


@pytest.mark.parametrize("said", ["alpha-o", "msg-", "note-"])
def test_a_name_that_somebody_gave_can_be_asked_for_whole(graph: Graph, said: str) -> None:
    assert resolve_id(said, graph, allow_names=False) == said
    assert resolve_id("abcd1234e", graph, allow_names=False) == ONE


def test_pieces_of_a_long_text_count_as_one(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", embedder=HashingEmbedder()) as memory:
        (id_,) = memory.remember("A long walk by the river. " * 200).ids
        graph = memory.graph()
        assert graph.row(f"{id_}#2") is not None
        assert resolve_id(id_[:6], graph) == id_
        assert resolve_id(f"{id_[:6]}#2", graph) == f"{id_}#2"
        assert abbreviate([id_, f"{id_}#2"], graph) == {id_: id_[:8], f"{id_}#2": f"{id_[:8]}#2"}
        memory.forget(id_)
        assert resolve_id(id_, memory.graph()) == id_


def test_digests_are_shown_as_short_as_they_are_clear(graph: Graph) -> None:
    assert abbreviate([ONE, TWO, THREE, UUID, "alpha-one"], graph) == {
        ONE: "abcd1234e",
        TWO: "abcd1234f",
        THREE: "12340000",
        UUID: "9f1c0de2",
        "alpha-one": "alpha-one",
    }
    assert abbreviate([], graph) == {}


@given(st.lists(st.text("01ab", min_size=32, max_size=32), min_size=1, max_size=8, unique=True), st.integers(9, 32))
def test_what_is_shown_can_be_typed(tmp_path_factory: pytest.TempPathFactory, ids: list[str], same: int) -> None:
    alike = list(dict.fromkeys([*ids, *(ids[0][:same] + id_[same:] for id_ in ids)]))
    graph = graph_of(tmp_path_factory.mktemp("m") / "a.db", alike)
    shown = abbreviate(alike, graph)
    assert len(set(shown.values())) == len(alike)
    assert all(resolve_id(short, graph) == id_ and len(short) >= 8 for id_, short in shown.items())


def test_ids_of_other_kinds_have_their_own_beginnings() -> None:
    ids = [f"question:{ONE}", f"question:{TWO}", f"consolidate:{ONE[:16]}", f"night:{TWO[:16]}"]
    assert resolve_among("cons", ids) == ids[2]
    assert resolve_among("nigh", ids) == ids[3]  # as files from before 0.1.0 have them
    assert resolve_among("question:abcd1234e", ids) == ids[0]
