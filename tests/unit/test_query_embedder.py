"""The vectors of a question's texts, and which of them are embedded."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ecphora import query_embedder
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.memory import Memory
from ecphora.model import Vectors
from ecphora.query import QueryParts
from ecphora.query_embedder import QueryEmbedder

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


def parts(question: str) -> QueryParts:
    """The question, its words after the first as the topic, and these as its terms."""
    words = question.split()[1:]
    return QueryParts(question, " ".join(words), dict(enumerate(words, 1)))


def test_new_texts_are_embedded_in_one_call(embed_query: QueryEmbedder, recording: RecordingEmbedder) -> None:
    embed_query(parts("Where ferry lands"))
    embed_query(parts("When ferry sails"))
    assert recording.calls == [
        ["Where ferry lands", "ferry lands", "ferry", "lands"],
        ["When ferry sails", "ferry sails", "sails"],
    ]


def test_vectors_are_equal_to_those_embedded_together(embed_query: QueryEmbedder) -> None:
    for question in ("Where ferry lands", "When ferry sails", "Where ferry lands", "Which sails"):
        texts = parts(question)
        assert np.array_equal(embed_query(texts), HASHING.embed(texts.texts, is_query=True))


def test_whole_questions_and_topics_are_embedded_each_time(
    embed_query: QueryEmbedder, recording: RecordingEmbedder
) -> None:
    for _ in range(2):
        embed_query(parts("Where ferry lands"))
    assert recording.calls[1] == ["Where ferry lands", "ferry lands"]


def test_known_term_alone_is_not_embedded(embed_query: QueryEmbedder, recording: RecordingEmbedder) -> None:
    word = QueryParts("ferry", "ferry", {0: "ferry"})
    for _ in range(2):
        assert np.array_equal(embed_query(word), HASHING.embed(["ferry"]))
    assert recording.calls == [["ferry"]]


def test_least_recently_used_terms_are_dropped(
    embed_query: QueryEmbedder, recording: RecordingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_embedder, "MAX_TERMS", 2)
    for question in ("Is red", "Is blue", "Is red", "Is green"):  # green drops blue, since red was used again
        embed_query(parts(question))
    recording.calls.clear()
    for question in ("Is red", "Is blue"):
        embed_query(parts(question))
    assert recording.calls == [["Is red"], ["Is blue", "blue"]]


def test_callers_cannot_change_what_is_kept(embed_query: QueryEmbedder) -> None:
    texts = parts("Where ferry lands")
    for _ in range(2):
        embed_query(texts)[:] = 7
    assert np.array_equal(embed_query(texts), HASHING.embed(texts.texts))


def test_terms_are_kept_without_the_other_texts_of_their_question(embed_query: QueryEmbedder) -> None:
    embed_query(parts("Where ferry lands"))
    assert [vector.base is None for vector in embed_query._term_vectors.values()] == [True, True]


def test_failed_call_leaves_no_vectors() -> None:
    calls: list[Sequence[str]] = []

    def embed(texts: Sequence[str]) -> Vectors:
        calls.append(texts)
        if len(calls) == 1:
            raise OSError
        return HASHING.embed(texts)

    embed_query = QueryEmbedder(embed)
    with pytest.raises(OSError):  # noqa: PT011  # of the embedder, unchanged
        embed_query(parts("Where ferry lands"))
    embed_query(parts("Where ferry lands"))
    assert calls[0] == calls[1]


@pytest.mark.medium
def test_threads_get_the_vectors_of_their_own_questions(
    embed_query: QueryEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_embedder, "MAX_TERMS", 3)
    questions = [parts(f"Is {n % 7} {n % 5} {n % 3}x") for n in range(200)]
    with ThreadPoolExecutor(4) as pool:
        for texts, vectors in zip(questions, pool.map(embed_query, questions), strict=True):
            assert np.array_equal(vectors, HASHING.embed(texts.texts))


def test_memory_keeps_the_terms_of_its_questions(tmp_path: Path, recording: RecordingEmbedder) -> None:
    questions = ("Where does the ferry land?", "When does the ferry sail?")
    with (
        Memory(tmp_path / "a.db", embedder=recording) as memory,
        Memory(tmp_path / "a.db", embedder=HASHING) as other,
    ):
        memory.remember(["The ferry lands in Faro.", "It sails at nine."])
        queries = [memory.build_query(question) for question in questions]
        assert [call.count("ferry") for call in recording.calls] == [1, 0]
        fresh = other.build_query(questions[1])
        for name in ("vector", "topic_vector", "term_vectors"):
            assert np.array_equal(getattr(queries[1], name), getattr(fresh, name))
