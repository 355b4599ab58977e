"""Invalid input: each raises one clear error that names the remedy, and the file does not change."""

from collections.abc import Callable, Iterator, Sequence
from datetime import time, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora.errors import (
    EcphoraError,
    EmbedderMismatch,
    IdCollision,
    InvalidInput,
    InvalidText,
    InvalidTime,
    UnknownName,
    WrongVector,
)
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Episode, Filter, Vectors
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import NOON, FakeClock, graph_differences

SURROGATE = "half a smile \ud83d"
GOOD = "This must not be written."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with Memory(path, embedder=HashingEmbedder(16), clock=FakeClock()) as opened:
        opened.remember(Episode("Ana lives in Porto.", id="porto"))
        yield opened


def assert_rejected(memory: Memory, kind: type[EcphoraError], message: str, call: Callable[[], object]) -> None:
    """Assert that a call raises one clear error and does not change the memory."""
    before = memory.graph()
    with pytest.raises(kind, match=message) as raised:
        call()
    assert isinstance(raised.value, EcphoraError)
    assert len(str(raised.value)) < 400
    str(raised.value).encode()  # can be encoded
    assert graph_differences(before, memory.graph()) == []
    assert_intact(memory)


def assert_intact(memory: Memory) -> None:
    assert isinstance(memory._store, SQLiteStore)
    assert list(memory._store.check_integrity()) == []
    with Memory(memory._store.path, embedder=HashingEmbedder(16), clock=FakeClock()) as other:
        assert graph_differences(memory.graph(), other.graph()) == []


# ---- texts


@pytest.mark.medium
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "give at least one visible character"),
        (" \n\t\u3000", "give at least one visible character"),
        ("x" * 10_000_000, "split it into parts of 1,000,000 at most"),
        (SURROGATE, "decode its source with the right encoding"),
        ("\udc80\ud800", "decode its source with the right encoding"),
    ],
    ids=["empty", "blank", "10 MB", "surrogate", "two surrogates"],
)
def test_remember_and_recall_reject_bad_texts(text: str, message: str, memory: Memory) -> None:
    assert_rejected(memory, InvalidText, message, lambda: memory.remember(text))
    assert_rejected(memory, InvalidText, message, lambda: memory.remember([GOOD, text]))
    assert_rejected(memory, InvalidText, message, lambda: memory.remember([GOOD, Episode(text)]))
    assert_rejected(memory, InvalidText, message, lambda: memory.recall(text))


@pytest.mark.parametrize("field", ["id", "speaker", "session", "title", "source", "supersedes"])
def test_remember_rejects_lone_surrogates_in_names(field: str, memory: Memory) -> None:
    fields: dict[str, Any] = {field: SURROGATE}
    message = f"the {field} holds a lone surrogate at character 13; decode its source"
    assert_rejected(memory, InvalidText, message, lambda: memory.remember(GOOD, **fields))
    assert_rejected(memory, InvalidText, message, lambda: memory.remember([GOOD, Episode(GOOD, **fields)]))


@pytest.mark.medium
def test_lone_surrogates_are_rejected_in_other_arguments(memory: Memory, path: Path) -> None:
    for metadata in ({"k": SURROGATE}, {SURROGATE: 1}):
        assert_rejected(
            memory,
            InvalidText,
            "the metadata holds a lone surrogate",
            partial(memory.remember, GOOD, metadata=metadata),
        )
    assert_rejected(
        memory, InvalidText, "decode its source", lambda: Memory(path, scope=SURROGATE, embedder=HashingEmbedder(16))
    )
    assert_rejected(memory, InvalidTime, "write 2026-05-03", lambda: memory.remember(GOOD, happened_at=SURROGATE))
    assert_rejected(memory, UnknownName, "choose one of", lambda: memory.recall("Porto", strategy=SURROGATE))
    assert memory.get(SURROGATE) is None
    assert memory.history(SURROGATE) is None
    assert not memory.forget(SURROGATE)


def test_nul_characters_are_stored_exactly(memory: Memory) -> None:
    text = "\0Ana\0 moved\0"
    id_ = memory.remember(text, id="n\0", speaker="A\0", session="\0s", title="t\0", metadata={"\0": "\0"}).id
    with Memory(memory._store, embedder=HashingEmbedder(16)) as other:
        node = other.get(id_)
    assert node is not None
    assert (node.id, node.text, node.speaker, node.session, node.title) == ("n\0", text, "A\0", "\0s", "t\0")
    assert node.metadata == {"\0": "\0"}
    assert memory.get("n") is None
    assert memory.recall("\0Ana\0").hits
    assert memory.forget("n\0").episode_ids == ("n\0",)
    assert_intact(memory)


@pytest.mark.parametrize(
    "content", [None, 5, b"text", {"text": GOOD}, [GOOD, None], [[GOOD]], [b"x"], 1.5], ids=repr
)  # fmt: skip
def test_remember_rejects_content_of_a_wrong_type(content: Any, memory: Memory) -> None:
    assert_rejected(memory, InvalidInput, "give a text(,| or) an Episode", lambda: memory.remember(content))


@pytest.mark.parametrize("question", [None, 5, b"text", ["Porto"]], ids=repr)
def test_recall_rejects_a_question_of_a_wrong_type(question: Any, memory: Memory) -> None:
    assert_rejected(memory, InvalidInput, "give a (text|chat message)", lambda: memory.recall(question))


@pytest.mark.parametrize("scope", ["", " ", None, 5, "x" * 513], ids=lambda scope: repr(scope)[:9])
def test_memory_rejects_bad_scopes(scope: Any, memory: Memory, path: Path) -> None:
    assert_rejected(
        memory, InvalidInput, "scope is .*give a text", lambda: Memory(path, scope=scope, embedder=HashingEmbedder(16))
    )


# ---- times

TIMES = (
    "", "yesterday", "2026", "2026-02-30", "2026-13-01", "0000-01-01", "10000-01-01", "03.05.2026", "2026-05-03T25:00",
    "2026-05-03T14:30+25:00", "\0", "١٢", 0, 1_777_777_777, 1.5, float("nan"), True, b"2026-05-03", time(12),
    timedelta(1), [NOON], "0001-01-01T00:00+14:00", "9999-12-31T23:59-12:00",
)  # fmt: skip


@pytest.mark.medium
@pytest.mark.parametrize("value", TIMES, ids=lambda value: ascii(value)[:30])
def test_bad_times_are_rejected(value: Any, memory: Memory) -> None:
    assert_rejected(memory, InvalidTime, "(write|give) ", lambda: memory.remember(GOOD, happened_at=value))
    assert_rejected(memory, InvalidTime, "(write|give) ", lambda: memory.recall("Porto", as_of=value))
    assert_rejected(memory, InvalidTime, "(write|give) ", lambda: memory.recall("Porto", known_at=value))
    assert_rejected(memory, InvalidTime, "after: .*(write|give) ", lambda: Filter(after=value))
    assert_rejected(memory, InvalidTime, "before: .*(write|give) ", lambda: Filter(before=value))


@pytest.mark.parametrize("value", ["0001-01-01", "9999-12-31", "0001-01-01T14:00+14:00", "9999-12-31T11:59-12:00"])
def test_first_and_last_year_are_valid_times(value: str, memory: Memory) -> None:
    memory.remember("Yesterday, tomorrow, last year and in 3 weeks.", id="end", happened_at=value)
    found = memory.recall("What happened yesterday, or will next year?", as_of=value, known_at="9999-12-31")
    assert "end" in {hit.id for hit in found}
    assert memory.history("end") is not None
    assert_intact(memory)


# ---- names and numbers


@pytest.mark.medium
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": "entity:ana"}, "begins like an id of a name, insight, question, claim or exchange; choose another"),
        ({"id": "insight:1"}, "begins like an id of a name, insight, question, claim or exchange; choose another"),
        ({"id": "question:1"}, "begins like an id of a name, insight, question, claim or exchange; choose another"),
        ({"id": ""}, "give a text of 1 to 512 characters, or None"),
        ({"id": 5}, "give a text of 1 to 512 characters, or None"),
        ({"speaker": " "}, "give a text of 1 to 512 characters, or None"),
        ({"title": "x" * 513}, "give a text of 1 to 512 characters, or None"),
        ({"source": ["mail"]}, "give a text of 1 to 512 characters, or None"),
        ({"supersedes": "nothing"}, "remember that one first"),
        ({"trust": float("nan")}, "give a number from 0 to 1"),
        ({"trust": float("inf")}, "give a number from 0 to 1"),
        ({"trust": -1}, "give a number from 0 to 1"),
        ({"trust": "high"}, "give a number from 0 to 1"),
        ({"metadata": [("k", 1)]}, "give a mapping of names to plain values"),
        ({"metadata": "k"}, "give a mapping of names to plain values"),
        ({"metadata": {1: "x"}}, "keys are texts, values texts, numbers, bools, None or lists of these"),
        ({"metadata": {"k": [[1]]}}, "keys are texts, values texts, numbers, bools, None or lists of these"),
        ({"metadata": {"k": {"deep": 1}}}, "keys are texts, values texts, numbers, bools, None or lists of these"),
        ({"metadata": {"k": b"x"}}, "keys are texts, values texts, numbers, bools, None or lists of these"),
        ({"metadata": {"k": NOON}}, "keys are texts, values texts, numbers, bools, None or lists of these"),
        ({"metadata": {"k": float("nan")}}, "give a finite number or None"),
        ({"metadata": {"k": float("-inf")}}, "give a finite number or None"),
        ({"metadata": {"k": 10**5000}}, "give it as a text"),
    ],
)  # fmt: skip
def test_remember_rejects_bad_fields(fields: dict[str, Any], message: str, memory: Memory) -> None:
    assert_rejected(memory, InvalidInput, message, lambda: memory.remember(GOOD, **fields))
    assert_rejected(memory, InvalidInput, message, lambda: memory.remember([GOOD, Episode(GOOD, **fields)]))


def test_remember_rejects_colliding_ids(memory: Memory) -> None:
    message = "choose another id .* or forget the old one"
    assert_rejected(
        memory, IdCollision, message, lambda: memory.remember([Episode(GOOD, id="x"), Episode("Other.", id="x")])
    )
    assert_rejected(memory, IdCollision, message, lambda: memory.remember([GOOD, Episode(GOOD, id="porto")]))
    assert_rejected(memory, InvalidInput, "give Episode", lambda: memory.remember([GOOD, "Other."], id="x"))


def test_forgotten_id_can_be_remembered_with_restore(memory: Memory) -> None:
    memory.forget("porto")
    assert memory.remember("Ana lives in Faro.", id="porto", restore=True).created == ("porto",)


@pytest.mark.parametrize("bounds", [{"limit": 0}, {"limit": -1}, {"budget": 0}, {"limit": 5, "budget": -3}], ids=repr)
def test_recall_rejects_bad_limits(bounds: dict[str, int], memory: Memory) -> None:
    assert_rejected(memory, InvalidInput, "give a whole number of at least 1", lambda: memory.recall("Porto", **bounds))  # type: ignore[arg-type]


@pytest.mark.medium
def test_unknown_strategy_is_rejected(memory: Memory, path: Path) -> None:
    message = "choose one of fused, synaptic, synapse, eisa, ecphory, weave, dense, bm25, rrf, simple, recency"
    assert_rejected(memory, UnknownName, message, lambda: memory.recall("Porto", strategy="oracle"))
    assert_rejected(memory, UnknownName, message, lambda: Memory(path, strategy="", embedder=HashingEmbedder(16)))


# ---- embedders that fail


class FailingEmbedder(HashingEmbedder):
    """Applies ``broken`` to the right vectors, after ``calls`` good calls."""

    def __init__(self, broken: Callable[[Vectors], Vectors], calls: int = 0) -> None:
        super().__init__(16)
        self.broken = broken
        self.calls = calls

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        vectors = super().embed(texts, is_query=is_query)
        self.calls -= 1
        return vectors if self.calls >= 0 else self.broken(vectors)


@pytest.mark.parametrize(
    "broken",
    [
        lambda vectors: vectors[:, :8],
        lambda vectors: vectors[:-1],
        lambda vectors: vectors[0],
        lambda vectors: np.concatenate([vectors, vectors]),
        lambda vectors: vectors * np.float32(np.nan),
        lambda vectors: np.full_like(vectors, np.inf),
    ],
    ids=["narrow", "short", "flat", "long", "NaN", "infinite"],
)
def test_vectors_of_wrong_shape_or_value_are_rejected(
    broken: Callable[[Vectors], Vectors], memory: Memory, path: Path
) -> None:
    with Memory(path, embedder=FailingEmbedder(broken)) as other:
        assert_rejected(memory, WrongVector, "check the embedder", lambda: other.remember([GOOD, "Other."]))
        assert_rejected(memory, WrongVector, "check the embedder", lambda: other.recall("Where does Ana live?"))


def test_embedder_of_another_size_with_the_same_name_is_rejected(memory: Memory, path: Path) -> None:
    longer = HashingEmbedder(32)
    longer.name = "hashing/16"
    memory.remember(GOOD)
    with Memory(path, embedder=longer) as other:
        assert_rejected(
            memory, EmbedderMismatch, "give the new one another name", lambda: other.recall("Where is Ana?")
        )
        assert_rejected(memory, WrongVector, "have", lambda: other.remember("Other."))


@pytest.mark.medium
def test_embedder_failure_keeps_the_committed_episodes(path: Path) -> None:
    class Down(Exception):
        pass

    def broken(vectors: Vectors) -> Vectors:
        raise Down

    days = [Episode(f"On day {day} Ana saw Mia.", id=f"d{day}") for day in range(600)]
    with Memory(path, embedder=FailingEmbedder(broken, calls=1), clock=FakeClock()) as memory:
        with pytest.raises(Down):
            memory.remember(days)
        assert len(memory) == 512
        assert {f"d{day}" for day in range(512)} == set(memory.graph().nodes["ids"][memory.graph().episodes])
        assert_intact(memory)
    with Memory(path, embedder=HashingEmbedder(16), clock=FakeClock()) as memory:
        result = memory.remember(days)
        assert (len(result.existing), len(result.created), len(memory)) == (512, 88, 600)
        assert_intact(memory)
        assert not graph_differences(memory.graph(), apply_batch(Graph(), memory._store.changes_since("default", 0)))


@pytest.mark.parametrize("place", [5, None, SQLiteStore])
def test_memory_rejects_what_is_not_a_path(place: Any) -> None:
    with pytest.raises(
        InvalidInput, match="give a file, ':memory:' for a temporary memory, postgresql://…, or a store"
    ):
        Memory(place, embedder=HashingEmbedder())
