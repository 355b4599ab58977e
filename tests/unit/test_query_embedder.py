"""The vectors of questions and goals, and which of them are embedded."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ecphora.memory import Memory
from ecphora.model.types import Vectors
from ecphora.models.embedders.e5 import E5Embedder
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval import query
from ecphora.retrieval.query import QueryEmbedder

HASHING = HashingEmbedder(32)


class RecordingEmbedder(HashingEmbedder):
    """Records the texts of each call that embeds queries."""

    def __init__(self) -> None:
        super().__init__(32)
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        if is_query:
            self.calls.append(list(texts))
        return super().embed(texts, is_query=is_query)


@pytest.fixture
def recording() -> RecordingEmbedder:
    return RecordingEmbedder()


@pytest.fixture
def embed_query(recording: RecordingEmbedder) -> QueryEmbedder:
    return QueryEmbedder(lambda texts: recording.embed(texts, is_query=True))


def test_question_is_embedded_once_and_alone(tmp_path: Path, recording: RecordingEmbedder) -> None:
    with Memory(tmp_path / "a.db", embedder=recording) as memory:
        memory.remember("The ferry lands in Faro.")
        memory.recall("Where does the ferry land?")
    assert recording.calls == [["Where does the ferry land?"]]


def test_goals_used_last_are_kept(
    embed_query: QueryEmbedder, recording: RecordingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "MAX_GOALS", 2)
    for goal in ("red", "blue", "red", "green"):  # green drops blue, since red was used again
        assert np.array_equal(embed_query.goal_vector(goal), HASHING.embed([goal])[0])
    recording.calls.clear()
    for goal in ("red", "blue"):
        embed_query.goal_vector(goal)
    assert recording.calls == [["blue"]]


@pytest.mark.medium
def test_vectors_of_words_are_those_of_their_tokens_in_the_question() -> None:
    embedder, question = E5Embedder(), "Which vehicle needs repair?"
    embedder.embed([question], is_query=True)
    words = embedder.embed_words(question, ["vehicle", "repair", "submarine"])
    assert np.linalg.norm(words, axis=1) == pytest.approx([1, 1, 0])
    assert np.array_equal(words, E5Embedder().embed_words(question, ["vehicle", "repair", "submarine"]))
    car, dog = embedder.embed(["The car needs new brakes.", "My dog sleeps."])
    assert car @ words[0] > dog @ words[0] + 0.05
