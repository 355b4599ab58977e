"""English vectors: made of English texts alone, beside the vectors of the scope's embedder, and erased with them."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from ecphora import E5Embedder, Memory, MiniLMEmbedder, clone_scope, rechunk, reembed
from ecphora.language.chunking import Chunk
from ecphora.maintenance.doctor import examine
from ecphora.model.ports import Embedder, english_embedder
from ecphora.model.types import Episode, NodeId, Vectors
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval import dense
from ecphora.stores.rows.row_mapping import vector_to_blob
from ecphora.testing import FakeClock, graph_differences

ENGLISH = Episode("My sister has moved to the town by the river.", id="en", speaker="Ana", session="s")
NEXT = Episode("She likes the house and the garden there.", id="next", speaker="Ana", session="s")
GERMAN = Episode("Meine Schwester ist in die Stadt am Fluss gezogen.", id="de")
QUESTION, FRAGE = "Where does my sister live now?", "Wo wohnt meine Schwester jetzt?"


class Counting(HashingEmbedder):
    """Records the texts that it embeds."""

    def __init__(self, dim: int, name: str) -> None:
        super().__init__(dim)
        self.name = name
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        self.texts += texts
        return super().embed(texts, is_query=is_query)


ALONE = Counting(64, "many languages")
"""The same embedder without one for English."""


class Pair(Counting):
    """An embedder with a second one for English."""

    def __init__(self, name: str = "many languages", english: Embedder | None = None) -> None:
        super().__init__(64, name)
        self.english_embedder = english or Counting(32, "english")

    @property
    def english_texts(self) -> list[str]:
        assert isinstance(self.english_embedder, Counting)
        return self.english_embedder.texts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def open_memory(path: Path, embedder: Embedder | None = None, **options: Any) -> Memory:
    options = {"update_scorer": None, "reranker": None, "clock": FakeClock(), **options}
    return Memory(path, embedder=embedder or Pair(), **options)


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with open_memory(path) as opened:
        opened.remember([ENGLISH, GERMAN])
        yield opened


def english_ids(memory: Memory) -> list[NodeId]:
    graph = memory.graph()
    assert len(graph.english_vectors) == len(graph.english_vector_rows)
    return [graph.id(row) for row in graph.english_vector_rows["rows"].tolist()]


def assert_right(memory: Memory, *ids: NodeId) -> None:
    """Exactly these memories have an English vector, which is that of their text, as stored and as reloaded."""
    assert sorted(english_ids(memory)) == sorted(ids)
    graph = memory.graph()
    for id_ in ids:
        (node,) = memory.chunks(id_)
        text = node.text if node.speaker is None else f"{node.speaker}: {node.text}"
        position = graph.english_vector_positions[graph.row(id_)]
        expected = HashingEmbedder(32).embed([text])[0]
        assert np.allclose(graph.english_vectors.view[position], expected, atol=1e-3)


def without_english_vectors(path: Path) -> None:
    """Writes a file as the versions before English vectors did."""
    with closing(apsw.Connection(str(path))) as db:
        db.execute("DELETE FROM english_vector; UPDATE scope SET english_embedder = NULL, english_dim = NULL")


def test_only_an_embedder_with_another_one_for_english_has_one() -> None:
    second = english_embedder(E5Embedder())
    assert isinstance(second, MiniLMEmbedder)
    assert english_embedder(Pair()) is not None
    for alone in (MiniLMEmbedder(), HashingEmbedder(16), Pair("english"), Counting(16, "x")):
        assert english_embedder(alone) is None


# ---- writing


def test_english_text_gets_a_second_vector_with_its_speaker(memory: Memory, path: Path) -> None:
    assert_right(memory, "en")
    with open_memory(path) as reloaded:
        assert_right(reloaded, "en")
        assert graph_differences(memory.graph(), reloaded.graph()) == []


def test_other_process_gets_english_vectors_and_adds_some(memory: Memory, path: Path) -> None:
    with open_memory(path) as other:
        other.remember([NEXT])
        assert_right(memory, "en", "next")
        assert graph_differences(memory.graph(), other.graph()) == []


def test_each_text_is_embedded_once_however_often_its_batch_is_built(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory(path, pair := Pair()) as memory:
        writer, refused = type(memory._scope_writer), [True, True]
        commit = writer.try_commit
        monkeypatch.setattr(writer, "try_commit", lambda *args: not (refused and refused.pop()) and commit(*args))
        memory.remember([ENGLISH, GERMAN])
        assert len(pair.texts) == 2
        assert pair.english_texts == [f"Ana: {ENGLISH.text}"]
        assert_right(memory, "en")


def test_replaced_text_gets_the_vectors_of_the_new_one(memory: Memory) -> None:
    memory.update("en", "My sister has left the town again.", mode="replace")
    assert_right(memory, "en")
    memory.update("en", GERMAN.text + " Sie ist nicht mehr hier.", mode="replace")
    assert_right(memory)
    memory.update("de", "My sister has moved to the town by the river.", mode="replace")
    assert_right(memory, "de")


@pytest.mark.medium
def test_only_episodes_have_english_vectors(memory: Memory) -> None:
    memory.remember([NEXT])
    found = memory.recall(QUESTION)
    memory.feedback(found, [found[0].id])
    memory.record_response(found, "She lives in the town by the river.")
    memory.consolidate()
    assert len(memory.graph()) > 3
    assert_right(memory, "en", "next")


@pytest.mark.medium
def test_rechunked_text_gets_english_vectors_of_its_new_chunks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# The house\n\n" + "It is by the river. " * 90 + "\n\n## The garden\n\n" + "It is behind the house. " * 80
    with monkeypatch.context() as patch, open_memory(path) as memory:
        patch.setattr("ecphora.remember.documents.split_into_chunks", lambda text, **_: split(text))
        memory.remember([Episode(text, id="long")])
    shutil.copy(path, other := path.with_name("other.db"))
    assert rechunk(other, embedder=ALONE) == 1  # nothing of the old chunks may stay
    with open_memory(other, ALONE) as memory:
        assert english_ids(memory) == []
    without_english_vectors(path)
    assert rechunk(path, embedder=Pair()) == 1
    with open_memory(path) as memory, open_memory(path.with_name("new.db")) as new:
        new.remember([Episode(text, id="long")])
        assert english_ids(memory) == [node.id for node in memory.chunks("long")]
        assert np.array_equal(memory.graph().english_vectors.view, new.graph().english_vectors.view)


def split(text: str) -> tuple[Chunk, Chunk]:
    return Chunk(0, text[:700]), Chunk(700, text[700:])


# ---- erasing


def test_forgetting_overwrites_both_vectors_in_the_file(memory: Memory, path: Path) -> None:
    row = (graph := memory.graph()).row("en")
    blobs = [
        vector_to_blob(stored.values.rows(stored.positions[row]), stored.values.dim, "en")
        for stored in (graph.text_vectors(), graph.text_vectors(use_english=True))
    ]
    files = [path, path.with_name(f"{path.name}-wal")]

    def contents() -> bytes:
        return b"".join(file.read_bytes() for file in files if file.exists())

    assert all(blob in contents() for blob in blobs)
    memory.forget("en")
    assert not any(blob in contents() for blob in blobs)
    assert english_ids(memory) == []


# ---- copies


@pytest.mark.medium
def test_import_makes_english_vectors_again(memory: Memory, path: Path) -> None:
    for vectors in (False, True):
        out = StringIO()
        memory.export(out, vectors=vectors)
        with open_memory(path.with_name(f"{vectors}.db"), pair := Pair()) as copy:
            copy.import_(out.getvalue().splitlines(keepends=True))
            assert_right(copy, "en")
            assert (len(pair.texts), len(pair.english_texts)) == (0 if vectors else 2, 1)


@pytest.mark.medium
def test_backup_and_clone_keep_english_vectors(memory: Memory, path: Path) -> None:
    memory.backup(path.with_name("copy.db"))
    clone_scope(path, "default", "clone")
    with open_memory(path.with_name("copy.db")) as backup, open_memory(path, scope="clone") as clone:
        assert_right(backup, "en")
        assert_right(clone, "en")
        clone.remember([NEXT])
        assert_right(clone, "en", "next")
        assert_right(memory, "en")


# ---- reembed


@pytest.mark.medium
def test_reembed_makes_missing_english_vectors(memory: Memory, path: Path) -> None:
    memory.remember([NEXT])
    memory.close()
    without_english_vectors(path)
    with open_memory(path) as older:
        assert english_ids(older) == []
        assert "en" in {hit.id for hit in older.recall(QUESTION)}
        older.remember([Episode("The train to the coast was late again.", id="new")])
        assert_right(older, "new")
        seen: list[tuple[int, int]] = []
        assert reembed(path, embedder=Pair(), progress=lambda *counts: seen.append(counts)) == 2
        assert seen == [(2, 4)]
        assert_right(older, "en", "next", "new")  # also in a process that has the scope open
    assert reembed(path, embedder=Pair()) == 0


@pytest.mark.medium
@pytest.mark.parametrize("size", [1, 2])
def test_reembed_makes_english_vectors_in_batches(
    memory: Memory, path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember([NEXT, Episode("Es ist schon sehr spät und ich bin müde.", id="late")])
    without_english_vectors(path)
    monkeypatch.setattr("ecphora.maintenance.reembedding.BATCH_SIZE", size)
    assert reembed(path, embedder=Pair()) == 2
    with open_memory(path) as reopened:
        assert_right(reopened, "en", "next")


def test_reembed_to_a_pair_makes_both_vectors_of_each_text(path: Path) -> None:
    with open_memory(path, HashingEmbedder(16)) as memory:
        memory.remember([ENGLISH, GERMAN])
    assert reembed(path, embedder=Pair()) == 2
    with open_memory(path) as memory:
        assert_right(memory, "en")
        assert memory.graph().vectors.view.shape == (2, 64)


@pytest.mark.medium
def test_reembed_keeps_english_vectors_only_of_the_new_embedders_english_one(memory: Memory, path: Path) -> None:
    memory.close()
    pair = Pair("other languages")
    assert reembed(path, embedder=pair) == 2
    assert pair.english_texts == []
    with open_memory(path, pair) as reopened:
        assert_right(reopened, "en")
    longer = Pair("other languages", Counting(48, "better english"))
    with open_memory(path, longer) as reopened:  # its English vectors cannot be compared with those of the file
        reopened.remember([NEXT])
        assert english_ids(reopened) == ["en"]
        assert reopened.build_query(QUESTION).english_vector is None
        assert longer.english_texts == []
    assert reembed(path, embedder=longer) == 2
    with open_memory(path, longer) as reopened:
        assert english_ids(reopened) == ["en", "next"]
        assert reopened.graph().english_vectors.view.shape == (2, 48)
    reembed(path, embedder=HashingEmbedder(8))
    with open_memory(path, HashingEmbedder(8)) as reopened:
        assert english_ids(reopened) == []


def test_scope_of_the_english_model_has_one_vector_and_keeps_none_when_it_changes(path: Path) -> None:
    with open_memory(path, Counting(32, "english")) as memory:
        memory.remember([ENGLISH, GERMAN])
        assert english_ids(memory) == []
    reembed(path, embedder=Pair())
    with open_memory(path) as memory:
        assert_right(memory, "en")  # and not the German text, which the English model had embedded too


def test_reembed_goes_on_if_another_process_writes_meanwhile(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_english_vectors(path)
    pair, acts = Pair(), [lambda: memory.update("en", "My sister has left the town again.", mode="replace")]
    embed = pair.english_embedder.embed

    def act_and_embed(texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        if acts:
            acts.pop()()
        return embed(texts, is_query=is_query)

    monkeypatch.setattr(pair.english_embedder, "embed", act_and_embed)
    reembed(path, embedder=pair)
    with open_memory(path) as reopened:
        assert_right(reopened, "en")


# ---- doctor


@pytest.mark.medium
def test_doctor_makes_damaged_english_vectors_again(memory: Memory, path: Path) -> None:
    memory.close()
    with closing(apsw.Connection(str(path))) as db:
        db.execute("UPDATE english_vector SET value = x'00fc'")
    with open_memory(path) as damaged:
        assert english_ids(damaged) == []
        assert "en" in {hit.id for hit in damaged.recall(QUESTION)}
    (finding,) = examine(path, fix=False, make_embedder=lambda _name: Pair()).findings
    assert "the English vectors of 1 texts do not have the length 1, or have a wrong size: 'en'" in finding.problem
    shutil.copy(path, other := path.with_name("other.db"))
    examine(other, fix=True, make_embedder=lambda _name: ALONE)
    assert not examine(other, fix=False, make_embedder=lambda _name: ALONE).findings
    assert [one.is_fixed for one in examine(path, fix=True, make_embedder=lambda _name: Pair()).findings] == [True]
    assert not examine(path, fix=False, make_embedder=lambda _name: Pair()).findings
    with open_memory(path) as mended:
        assert_right(mended, "en")


# ---- questions


@pytest.mark.medium
def test_only_an_english_question_has_an_english_vector(memory: Memory, path: Path) -> None:
    with open_memory(path, pair := Pair()) as reopened:
        vector = reopened.build_query(QUESTION).english_vector
        assert vector is not None
        assert np.array_equal(vector, HashingEmbedder(32).embed([QUESTION])[0])
        assert pair.english_texts == [QUESTION]  # the whole question in one run, and not its terms
        assert reopened.build_query(FRAGE).english_vector is None
        assert reopened.recall(FRAGE)
        assert pair.english_texts == [QUESTION]


def test_question_to_a_scope_without_english_vectors_has_none(path: Path) -> None:
    with open_memory(path, pair := Pair()) as memory:
        assert memory.build_query(QUESTION).english_vector is None
        memory.remember([GERMAN])
        assert memory.build_query(QUESTION).english_vector is None
        assert memory.recall(QUESTION)
        assert pair.english_texts == []


@pytest.mark.slow
def test_german_memory_does_not_load_the_english_model(path: Path) -> None:
    embedder = E5Embedder()
    with open_memory(path, embedder) as memory:
        memory.remember([GERMAN])
        assert memory.recall(QUESTION)
        assert embedder.english_embedder._network._cached is None
        memory.remember([ENGLISH])
        assert embedder.english_embedder._network._cached is not None
        query = memory.build_query(QUESTION)
    assert query.english_vector is not None
    adapted = MiniLMEmbedder(adapts_questions=True)
    assert np.array_equal(query.english_vector, adapted.embed([QUESTION], is_query=True)[0])


# ---- cosines of both kinds of vectors


@pytest.mark.medium
def test_cosines_with_english_vectors_equal_those_of_a_scope_of_the_english_model(tmp_path: Path) -> None:
    episodes = [ENGLISH, GERMAN, NEXT]
    with open_memory(tmp_path / "pair.db") as both, open_memory(tmp_path / "one.db", Counting(32, "english")) as one:
        both.remember(episodes)
        one.remember([episode for episode in episodes if episode is not GERMAN])
        query, ours, theirs = both.build_query(QUESTION), both.graph(), one.graph()
    assert query.english_vector is not None
    assert dense.with_previous_turn(ours, dense.cosine(ours, query)).any()  # with the other vectors of the same rows
    rows, others = ours.rows(["en", "next"]), theirs.rows(["en", "next"])
    scores = dense.cosine_with(ours, query.english_vector, use_english=True)
    expected = dense.cosine_with(theirs, query.english_vector)
    assert np.array_equal(scores[rows], expected[others])
    assert scores[ours.row("de")] == 0
    with_previous = dense.with_previous_turn(ours, scores, use_english=True)
    assert np.array_equal(with_previous[rows], dense.with_previous_turn(theirs, expected)[others])
    assert with_previous[ours.row("next")] != scores[ours.row("next")]
    assert np.array_equal(
        dense.pairwise_cosines(ours, rows, rows, use_english=True), dense.pairwise_cosines(theirs, others, others)
    )
    assert not dense.pairwise_cosines(ours, ours.rows(["de"]), rows, use_english=True).any()
