"""Media of memories: references with captions, and vectors of other models in spaces of their own."""

import io
import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import (
    Episode,
    InvalidInput,
    Media,
    MediaKind,
    MediaQuery,
    Memory,
    RecallOptions,
    Recollection,
    clone_scope,
)
from ecphora.errors import IdCollision, InvalidRecord
from ecphora.language.chunking import Chunk
from ecphora.maintenance.doctor import examine
from ecphora.maintenance.rechunking import rechunk
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import MediaVector, Node, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember import documents
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock, graph_differences

MODEL = HashingEmbedder(64)
CLIP = "clip"
SEA = Episode(
    "We were at the sea.",
    id="sea",
    media=(
        Media("photos/wave.jpg", caption="Noah jumps over a wave.", vector=(1.0, 0.0, 0.0), model=CLIP),
        Media("waves.wav", "sound"),
    ),
)
CAT = Episode("At home.", id="cat", media=(Media("cat.jpg", vector=(0.0, 2.0, 0.5), model=CLIP),))
RAIN = Episode("It rained.", id="rain")
QUESTION = "Which one is this?"
LONG = "\n\n".join(
    f"On day {day} we walked along the coast and looked at the boats in the harbor. " * 9 for day in range(9)
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=MODEL, clock=FakeClock()) as opened:
        opened.remember([SEA, CAT, RAIN])
        yield opened


def reload_graph(path: Path) -> Graph:
    with Memory(path, embedder=MODEL) as memory:
        return memory.graph()


def stored_node(memory: Memory, id_: str) -> Node:
    node = memory.get(id_)
    assert node is not None
    return node


def places(memory: Memory, model: str = CLIP) -> list[tuple[str, int]]:
    """The chunk and the position of each vector of a model."""
    graph = memory.graph()
    table = graph.media_spaces[model].places
    return [(graph.id(row), position) for row, position in zip(table["rows"], table["positions"], strict=True)]


def gains(found: Recollection) -> dict[str, float]:
    return {hit.id: one.value for hit in found for one in hit.why.contributions if one.feature == "media"}


def summary(found: Recollection) -> list[tuple[Any, ...]]:
    return [(hit.id, hit.score, hit.why, hit.reason) for hit in found]


# ---- remember


def test_media_come_back_without_their_vectors(memory: Memory, tmp_path: Path) -> None:
    media = stored_node(memory, "sea").media
    assert media == (
        Media("photos/wave.jpg", MediaKind.PICTURE, "Noah jumps over a wave."),
        Media("waves.wav", MediaKind.SOUND),
    )
    assert all(type(one.kind) is MediaKind for one in media)
    assert stored_node(memory, "rain").media == ()
    assert stored_node(memory, "rain").to_dict()["media"] == []
    assert stored_node(memory, "cat").to_dict()["media"] == [{"reference": "cat.jpg", "kind": "picture", "caption": ""}]
    assert graph_differences(memory.graph(), reload_graph(tmp_path / "m.db")) == []


def test_vectors_are_stored_with_length_1(memory: Memory) -> None:
    vectors = memory.graph().media_spaces[CLIP].vectors.view
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-3)
    assert vectors[1] == pytest.approx(np.array([0, 2, 0.5]) / math.sqrt(4.25), abs=1e-3)


def test_vector_may_be_an_array(memory: Memory) -> None:
    vector: Any = np.array([0.0, 0.5, 0.5], np.float32)
    memory.remember(Episode("A dog.", id="dog", media=(Media("dog.jpg", vector=vector, model=CLIP),)))
    assert memory.recall(QUESTION, options=RecallOptions(media_query=MediaQuery(vector, CLIP)))[0].id == "dog"


def test_caption_is_found_as_text(memory: Memory) -> None:
    assert memory.recall("Who jumps over a wave?", strategy="bm25")[0].id == "sea"


def test_same_media_again_change_nothing(memory: Memory) -> None:
    before = places(memory)
    assert memory.remember([SEA, CAT]).existing == ("sea", "cat")
    assert places(memory) == before
    with pytest.raises(IdCollision):
        memory.remember(replace(CAT, media=(Media("dog.jpg"),)))


def test_ids_differ_by_media(memory: Memory) -> None:
    pictures = [Episode("A picture.", media=(Media(name),)) for name in ("a.jpg", "b.jpg")]
    ids = memory.remember([Episode("A picture."), *pictures]).created
    assert len(set(ids)) == 3


@pytest.mark.medium
def test_vector_of_another_model_is_added_later(memory: Memory, tmp_path: Path) -> None:
    two = replace(CAT.media[0], vector=(1.0, 0.0), model="clip-2")
    both = [replace(CAT, media=(two,)), replace(CAT, media=(replace(CAT.media[0], vector=(1.0, 0.0, 0.0)),))]
    both.append(replace(CAT, media=(replace(two, model="clap"),)))
    assert memory.remember(both).existing == ("cat",)
    assert places(memory, "clap") == [("cat", 0)]
    assert places(memory, "clip-2") == [("cat", 0)]
    assert places(memory) == [("sea", 0), ("cat", 0)]
    assert (
        memory.recall(QUESTION, options=RecallOptions(media_query=MediaQuery((0, 1, 0.25), CLIP)))[0].id == "cat"
    )  # the first one stays
    assert memory.recall(QUESTION, options=RecallOptions(media_query=MediaQuery((1, 0), "clip-2")))[0].id == "cat"
    assert graph_differences(memory.graph(), reload_graph(tmp_path / "m.db")) == []


@pytest.mark.medium
def test_media_of_a_long_text_belong_to_its_first_chunk(memory: Memory) -> None:
    memory.remember(Episode(LONG, id="long", media=(Media("boats.jpg", vector=(0.0, 0.0, 1.0), model=CLIP),)))
    assert [bool(chunk.media) for chunk in memory.chunks("long")] == [True] + [False] * (len(memory.chunks("long")) - 1)
    assert stored_node(memory, "long").media == (Media("boats.jpg"),)
    assert places(memory)[-1] == ("long#1", 0)
    assert memory.recall(QUESTION, options=RecallOptions(media_query=MediaQuery((0, 0, 1), CLIP)))[0].id == "long#1"
    memory.update("long", "Short now.", mode="replace")
    assert (places(memory)[-1], stored_node(memory, "long").media) == (("long", 0), (Media("boats.jpg"),))
    memory.update("long", LONG + " The end.", mode="replace")
    assert places(memory)[-1] == ("long#1", 0)


# ---- forget, replace, copy


def test_forget_deletes_references_and_vectors(memory: Memory, tmp_path: Path) -> None:
    memory.forget("sea")
    assert places(memory) == [("cat", 0)]
    memory.forget("cat")
    assert memory.graph().media_spaces == {}
    assert graph_differences(memory.graph(), reload_graph(tmp_path / "m.db")) == []
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert b"wave.jpg" not in stored
    assert b"jumps over" not in stored
    assert np.array([1, 0, 0], "<f2").tobytes() not in stored


@pytest.mark.medium
def test_replaced_text_keeps_its_media(memory: Memory, tmp_path: Path) -> None:
    memory.update("cat", "At home with the tomcat.", mode="replace")
    assert stored_node(memory, "cat").media == (Media("cat.jpg"),)
    assert memory.recall("What?", options=RecallOptions(media_query=MediaQuery((0, 4, 1), CLIP)))[0].id == "cat"
    assert graph_differences(memory.graph(), reload_graph(tmp_path / "m.db")) == []


def test_superseding_memory_has_no_media_of_the_old_one(memory: Memory) -> None:
    new = memory.update("cat", "The cat has moved out.", mode="supersede").id
    assert stored_node(memory, new).media == ()
    assert stored_node(memory, "cat").media == (Media("cat.jpg"),)


def test_backup_and_copy_of_a_scope_keep_media(memory: Memory, tmp_path: Path) -> None:
    memory.backup(tmp_path / "copy.db")
    clone_scope(tmp_path / "m.db", "default", "other")
    with Memory(tmp_path / "m.db", embedder=MODEL, scope="other") as copy:
        assert graph_differences(memory.graph(), copy.graph()) == []
        assert stored_node(copy, "sea").media == stored_node(memory, "sea").media
    assert graph_differences(memory.graph(), reload_graph(tmp_path / "copy.db")) == []


@pytest.mark.medium
def test_rechunked_text_keeps_its_media(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.db"
    episode = Episode(LONG, id="long", media=(Media("boats.jpg", vector=(0.0, 1.0), model=CLIP),))
    for widths in (500, 2000):
        with monkeypatch.context() as patch, Memory(path, embedder=MODEL, scope=str(widths)) as memory:
            width = widths

            def cut(text: str, *, markdown: bool | None = None, width: int = width) -> tuple[Chunk, ...]:
                return tuple(Chunk(start, text[start : start + width]) for start in range(0, len(text), width))

            patch.setattr(documents, "split_into_chunks", cut)
            memory.remember(episode)
        assert rechunk(path, embedder=MODEL, scope=str(widths)) == 1
        with Memory(path, embedder=MODEL, scope=str(widths)) as memory:
            assert [bool(chunk.media) for chunk in memory.chunks("long")].count(True) == 1
            assert stored_node(memory, "long").media == (Media("boats.jpg"),)
            assert places(memory) == [("long#1", 0)]


def test_export_and_import_carry_media(memory: Memory, tmp_path: Path) -> None:
    out = io.StringIO()
    memory.export(out)
    with Memory(tmp_path / "copy.db", embedder=MODEL) as copy:
        copy.import_(out.getvalue().splitlines())
        copy.import_(out.getvalue().splitlines())
        for id_ in ("sea", "cat", "rain"):
            assert stored_node(copy, id_).media == stored_node(memory, id_).media
        ours, theirs = memory.graph().media_spaces[CLIP], copy.graph().media_spaces[CLIP]
        assert ours.vectors.view.tolist() == theirs.vectors.view.tolist()
        assert places(copy) == places(memory)
        again = io.StringIO()
        copy.export(again)
    assert [line for line in again.getvalue().splitlines() if "media" in line] == [
        line for line in out.getvalue().splitlines() if "media" in line
    ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"position": 5}, "has no medium 5"),
        ({"position": -1}, "position is -1"),
        ({"model": ""}, "model"),
        ({"value": "AAAA"}, "line"),
        ({"value": "AAAAAAAA"}, "length 1"),
        ({"value": "!"}, "line"),
        ({"node": "rain"}, "has no medium 0"),
        ({"node": "nobody"}, "no node 'nobody'"),
        ({"value": "ADw="}, "numbers, the other vectors of 'clip' have"),
        ({"extra": 1}, "no such field"),
    ],
)
def test_import_of_a_wrong_media_vector_writes_nothing(
    memory: Memory, tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    out = io.StringIO()
    memory.export(out)
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    wrong = next(record["media_vector"] for record in records if "media_vector" in record)
    wrong.update(change)
    with Memory(tmp_path / "copy.db", embedder=MODEL) as copy:
        with pytest.raises(InvalidRecord, match=problem):
            copy.import_([json.dumps(record) for record in records], change_existing=True)
        assert (len(copy), copy.graph().media_spaces) == (0, {})


def test_import_into_a_space_of_another_length_writes_nothing(memory: Memory, tmp_path: Path) -> None:
    out = io.StringIO()
    memory.export(out)
    with Memory(tmp_path / "copy.db", embedder=MODEL) as copy:
        copy.remember(Episode("A dog.", media=(Media("dog.jpg", vector=(1.0, 0.0), model=CLIP),)))
        with pytest.raises(InvalidRecord, match="have 2"):
            copy.import_(out.getvalue().splitlines())
        assert len(copy) == 1


@pytest.mark.medium
def test_damaged_vector_is_left_out_reported_and_deleted(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    memory.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE media_vector SET value = x'00' WHERE node = (SELECT seq FROM node WHERE id = 'cat')")
        db.commit()
    with Memory(path, embedder=MODEL) as opened:
        assert places(opened) == [("sea", 0)]
    for is_fixed in (False, True):
        (finding,) = examine(path, fix=is_fixed, make_embedder=lambda _name: MODEL).findings
        assert "media of 1 memories have damaged vectors: 'cat'" in finding.problem
        assert finding.is_fixed is is_fixed
    assert not examine(path, fix=False, make_embedder=lambda _name: MODEL).findings
    with Memory(path, embedder=MODEL) as opened:
        opened.remember(CAT)
        assert places(opened) == [("sea", 0), ("cat", 0)]


# ---- what cannot be used


@pytest.mark.parametrize(
    ("media", "problem"),
    [
        ("a.jpg", "give a tuple of Media"), ({"reference": "a"}, "give a tuple of Media"), (["a.jpg"], "give Media"),
        (3, "tuple of Media"), ([Media("")], "reference of a medium is empty"), ([Media(" ")], "is empty"),
        ([Media("a", "smell")], "give one of 'picture', 'sound', 'video', 'other'"),
        ([Media("a", caption=3)], "caption of a medium is 3"),  # type: ignore[arg-type]
        ([Media("a", vector=(1.0,))], "vector without a model"), ([Media("a", model=CLIP)], "model without a vector"),
        ([Media("a", vector=(0.0, 0.0, 0.0), model=CLIP)], "length 0"),
        ([Media("a", vector=(1.0, float("nan"), 0.0), model=CLIP)], "not finite"),
        ([Media("a", vector=(1.0, float("inf"), 0.0), model=CLIP)], "not finite"),
        ([Media("a", vector=(1.7e308, 1.7e308, 1.7e308), model=CLIP)], "too large"),
        ([Media("a", vector=(10**400, 0, 0), model=CLIP)], "too large"),
        ([Media("a", vector=(True, False, False), model=CLIP)], "is no number"),
        ([Media("a", vector=np.eye(3), model=CLIP)], "is no number"),  # type: ignore[arg-type]
        ([Media("a", vector="x", model=CLIP)], "sequence of numbers"),  # type: ignore[arg-type]
        ([Media("a", vector=3, model=CLIP)], "sequence of numbers"),  # type: ignore[arg-type]
        ([Media("a", vector=(1.0,) * 16_385, model=CLIP)], "too long"),
        ([Media("a", vector=(1.0, 0.0, 0.0), model="")], "model"), ([Media("x" * 5000)], "too long"),
        ([Media("a", caption="x" * 5000)], "too long"), ([Media("\ud800")], "reference"), ([Media("a")] * 101, "101"),
        ([Media("a", vector=(1.0, 0.0), model=CLIP)], "numbers, the other vectors of 'clip' have 3; make it with"),
        ([Media("a", vector=(1.0,), model="b"), Media("c", vector=(1.0, 0.0), model="b")], "others? vectors of 'b'"),
    ],
)  # fmt: skip
def test_medium_that_cannot_be_used_is_refused(memory: Memory, media: Any, problem: str) -> None:
    before = memory.graph()
    with pytest.raises(InvalidInput, match=problem):
        memory.remember([Episode("A good text."), Episode("A text.", media=media)])
    assert graph_differences(memory.graph(), before) == []


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ((1.0, 0.0, 0.0), "give MediaQuery"), ("a.jpg", "give MediaQuery"), (MediaQuery((), CLIP), "is empty"),
        (MediaQuery((0, 0, 0), CLIP), "length 0"), (MediaQuery((1, 0), CLIP), "has a vector of 2 numbers"),
        (MediaQuery((1, 0, 0), "other"), "it has vectors of 'clip'"), (MediaQuery((1, 0, 0), ""), "model"),
        (MediaQuery((1, 0, 0), 3), "model"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_media_query_that_cannot_be_used_is_refused(memory: Memory, query: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        memory.recall(QUESTION, options=RecallOptions(media_query=query))


def test_two_lengths_at_once_write_nothing(memory: Memory, tmp_path: Path) -> None:
    """Another process may have written vectors of another length since this one has looked."""
    vectors = tuple(MediaVector("rain", 0, model, np.ones(2, np.float32)) for model in ("new", CLIP))
    with closing(SQLiteStore(tmp_path / "m.db")) as store:
        before = apply_batch(Graph(), store.changes_since("default", 0))
        with pytest.raises(InvalidInput, match="have 3"):
            store.commit("default", WriteBatch(media_vectors=vectors))
        assert graph_differences(apply_batch(Graph(), store.changes_since("default", 0)), before) == []
