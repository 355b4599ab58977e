"""What a reranker keeps of texts: its codes, when they are made, who sees them, and when they go."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecphora import Episode, Memory, RecallOptions
from ecphora.errors import InvalidInput, RerankerUnavailable
from ecphora.model.ports import Passage, PassageCodes
from ecphora.model.types import Filter
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.models.embedders.token_codes import CODE_SIZE, PACKED, TokenCodec, decode

CODEC = TokenCodec(np.zeros(CODE_SIZE, np.float32), np.eye(CODE_SIZE, dtype=np.float32))
TURNS = [
    Episode("Where does your sister live?", speaker="Bo", session="chat", happened_at="2026-03-01T10:00"),
    Episode("In Porto, near the river.", speaker="Ana", session="chat", happened_at="2026-03-01T10:01"),
    Episode("My sister plays the cello.", speaker="Ana", session="chat", happened_at="2026-03-02T10:00"),
]
QUESTION = "Where does the sister of Ana live?"


class KeepingReranker:
    """A reranker whose codes are the texts themselves; ``encoded`` and ``read_pairs`` have what it was given."""

    name = "keeping"
    batch_size = 8

    def __init__(self, code_model: str = "texts/1") -> None:
        self.code_model = code_model
        self.is_available = True
        self.encoded: list[str] = []
        self.read_pairs: list[tuple[str, str]] = []

    def encode(self, texts: Sequence[str], /) -> list[bytes]:
        """Return the texts as bytes."""
        if not self.is_available:
            raise RerankerUnavailable("no model")
        self.encoded += texts
        return [text.encode() for text in texts]

    def score_codes(self, question: str, passages: Sequence[PassageCodes], /) -> NDArray[np.float64]:
        """Return 0 for each."""
        del question
        self.read_pairs += [(one.own.decode(), one.previous_turn.decode()) for one in passages]
        return np.zeros(len(passages))

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Return 0 for each."""
        del question, asked_on
        return np.zeros(len(passages))


@pytest.fixture
def reranker() -> KeepingReranker:
    return KeepingReranker()


@pytest.fixture
def memory(tmp_path: Path, reranker: KeepingReranker) -> Iterator[Memory]:
    with open_memory(tmp_path, reranker) as memory:
        memory.remember(TURNS)
        yield memory


def open_memory(folder: Path, reranker: KeepingReranker) -> Memory:
    return Memory(folder / "m.db", embedder=HashingEmbedder(64), reranker=reranker)


def recall(memory: Memory, where: Filter | None = None) -> None:
    memory.recall(QUESTION, rerank="always", where=where or Filter())


def stored_codes(folder: Path) -> list[tuple[str, str]]:
    """The model and the codes of each memory in the file."""
    with closing(apsw.Connection(str(folder / "m.db"))) as db:
        found = db.execute("SELECT model, value FROM token_codes ORDER BY node").fetchall()
    return [(str(model), value.decode()) for model, value in found if isinstance(value, bytes)]


@given(st.integers(0, 2**32 - 1), st.integers(0, 20))
def test_codes_stand_for_nearly_the_same_components(seed: int, count: int) -> None:
    """Their angle to the components is that of the best four levels: a distortion of .1188 (Max, 1960)."""
    rows = np.random.default_rng(seed).standard_normal((count, CODE_SIZE)).astype(np.float32)  # noqa: TID251  # seeded
    codes = CODEC.encode(rows)
    assert len(codes) == count * PACKED.itemsize == count * 34
    found = decode(codes)
    assert found.shape == rows.shape
    assert (np.abs(found - rows).max(axis=1, initial=0) < 4).all()
    cosines = np.vecdot(found, rows) / np.linalg.norm(found, axis=1) / np.linalg.norm(rows, axis=1)
    assert (cosines > 0.9).all()
    assert np.array_equal(decode(CODEC.encode(rows[:3])), found[:3])


def test_bytes_that_are_no_codes_are_an_error() -> None:
    with pytest.raises(InvalidInput, match="35 bytes, no multiple of 34"):
        decode(bytes(35))


def test_zeros_have_codes() -> None:
    assert np.abs(decode(CODEC.encode(np.zeros((2, CODE_SIZE), np.float32)))).max() < 1e-6


def test_texts_are_encoded_once_when_they_are_stored(tmp_path: Path, memory: Memory, reranker: KeepingReranker) -> None:
    texts = [f"{turn.speaker}: {turn.text}" for turn in TURNS]
    assert reranker.encoded == texts
    assert stored_codes(tmp_path) == [("texts/1", text) for text in texts]
    for _ in range(2):
        recall(memory)
    assert reranker.encoded == texts
    assert set(reranker.read_pairs) == {(texts[0], ""), (texts[1], texts[0]), (texts[2], texts[1])}


def test_reader_sees_no_turn_that_the_filter_excludes(memory: Memory, reranker: KeepingReranker) -> None:
    recall(memory, Filter(speakers=("Ana",)))
    assert {previous for _, previous in reranker.read_pairs} == {"", "Ana: In Porto, near the river."}


def test_forgotten_text_leaves_no_codes(tmp_path: Path, memory: Memory) -> None:
    memory.forget(memory.find(where=Filter(speakers=("Bo",))).memories[0].id)
    assert [codes for _, codes in stored_codes(tmp_path)] == [f"Ana: {turn.text}" for turn in TURNS[1:]]


@pytest.mark.parametrize("log_access", [True, False])
def test_file_without_codes_gets_them_when_they_are_read(tmp_path: Path, memory: Memory, *, log_access: bool) -> None:
    memory.close()
    with closing(apsw.Connection(str(tmp_path / "m.db"))) as db:
        db.execute("DELETE FROM token_codes").fetchall()
    reranker = KeepingReranker()
    with open_memory(tmp_path, reranker) as again:
        for _ in range(2):
            again.recall(QUESTION, rerank="always", options=RecallOptions(log_access=log_access))
            again._access_log.flush(5)
    assert len(reranker.encoded) == (3 if log_access else 6)
    assert len(stored_codes(tmp_path)) == (3 if log_access else 0)


def test_codes_of_another_model_are_made_again(tmp_path: Path, memory: Memory) -> None:
    memory.close()
    with open_memory(tmp_path, KeepingReranker("texts/2")) as again:
        recall(again)
    assert {model for model, _ in stored_codes(tmp_path)} == {"texts/2"}


def test_text_is_stored_if_the_reader_fails(tmp_path: Path, reranker: KeepingReranker) -> None:
    reranker.is_available = False
    with open_memory(tmp_path, reranker) as memory:
        memory.remember(TURNS)
        assert memory.recall(QUESTION, rerank="always").cost.reranker_error == "no model"
        assert (len(memory), stored_codes(tmp_path)) == (3, [])
        reranker.is_available = True
        assert memory.recall(QUESTION, rerank="always").cost.reranker_error is None
    assert len(stored_codes(tmp_path)) == 3
