"""Feedback on a recollection: kept, taken back, and what it leaves."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.reembedding import reembed
from ecphora.memory import Memory
from ecphora.model.types import AccessKind, Episode, ForgetResult, Hit, Kind, Link, Node, Vectors, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock, graph_differences


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def open_memory(tmp_path: Path, clock: FakeClock) -> Iterator[Callable[..., Memory]]:
    """A function that opens handles on one file; all are closed at the end."""
    handles: list[Memory] = []

    def open_(scope: str = "default", dim: int = 64) -> Memory:
        handles.append(Memory(tmp_path / "memory.db", scope=scope, embedder=HashingEmbedder(dim), clock=clock))
        return handles[-1]

    yield open_
    for handle in handles:
        handle.close()


@pytest.fixture
def memory(open_memory: Callable[..., Memory]) -> Memory:
    return open_memory()


def ids(found: Iterable[Hit | Node]) -> list[str]:
    return [hit.id for hit in found]


TALK = (
    Episode("The river is lovely.", id="river", speaker="Ana", session="s1", happened_at="2026-05-01"),
    Episode("The boat sank in the river.", id="boat", speaker="Ben", session="s1", happened_at="2026-05-02"),
    Episode("School starts in June.", id="school", speaker="Ana", session="s2", happened_at="2026-05-03",
            metadata={"k": 1}),
)  # fmt: skip


def answer_weights(memory: Memory, question: str) -> dict[str, float]:
    """The answers stored with a question, and the weight of each."""
    graph = memory.graph()
    places, _ = graph.edges_from(graph.rows([question]))
    assert graph.has_link(Link.ANSWERED_BY, edges=places).all()
    answer_weights = zip(graph.edges["dst"][places], graph.edges["weights"][places], strict=True)
    return {graph.id(row): float(weight) for row, weight in answer_weights}


def used_ids(memory: Memory) -> list[str]:
    graph = memory.graph()
    return [graph.id(row) for row in graph.accesses["rows"][graph.accesses_of_kind(AccessKind.USED)]]


def test_feedback_stores_the_question(memory: Memory, clock: FakeClock) -> None:
    memory.remember(TALK)
    found = memory.recall("What sank in the river?", limit=2)
    asked_at, given_at = clock.now, clock.advance(minutes=5)
    id_ = memory.feedback(found, ["boat", "boat"])
    question = memory.get(id_)
    assert question is not None
    assert question == Node(id_, Kind.QUESTION, "What sank in the river?", asked_at, given_at, seq=question.seq)
    assert id_.startswith("question:")
    assert (answer_weights(memory, id_), used_ids(memory)) == ({"boat": 1, "river": 0}, ["boat"])
    graph = memory.graph()
    assert found.query.vector is not None
    assert graph.vectors.view[graph.vector_positions[graph.row(id_)]] == pytest.approx(found.query.vector, abs=2e-3)
    assert (len(memory), memory.scopes()[0].episodes, len(graph.accesses_of(graph.row(id_) or 0))) == (3, 3, 0)
    revision = graph.revision
    assert memory.feedback(found, "boat") == id_  # the same feedback twice is stored once
    assert memory.graph().revision == revision
    assert memory.feedback(found, ["river", "boat"]) == memory.feedback(found, ["boat", "river"]) != id_


@pytest.mark.medium
def test_feedback_without_used_ids_is_stored(memory: Memory) -> None:
    memory.remember(TALK)
    found = memory.recall("river")
    id_ = memory.feedback(found, [])
    assert answer_weights(memory, id_) == {hit.id: 0 for hit in found}
    assert used_ids(memory) == []
    with pytest.raises(InvalidInput, match="'zorro' is not among what came back"):
        memory.feedback(found, ["zorro"])
    assert ids(memory.recall("river")) == ids(found)


@pytest.mark.medium
@pytest.mark.parametrize("used", [["river"], ["boat", "river"], []])
def test_forgetting_feedback_restores_the_graph(
    memory: Memory, open_memory: Callable[..., Memory], used: list[str]
) -> None:
    memory.remember([*TALK, "Zebulon is a boat."])
    found, other_feedback = memory.recall("What sank in the river?"), memory.feedback(memory.recall("boat"), ["boat"])
    before = memory.graph()
    id_ = memory.feedback(found, used)
    assert len(memory.graph().edges) == len(before.edges) + len(found)
    assert memory.forget(id_) == ForgetResult((id_,), ())
    differences = [
        one for one in graph_differences(before, memory.graph()) if not one.startswith(("revision", "tombstones"))
    ]
    assert [one for one in differences if not one.startswith("accesses.")] == []  # accesses stay in the log
    assert (used_ids(memory), answer_weights(memory, other_feedback)["boat"]) == (["boat", *used], 1)
    assert (memory.get(id_), memory.forget(id_)) == (None, ForgetResult((), ()))
    assert graph_differences(memory.graph(), open_memory().graph()) == []
    assert memory.feedback(found, used) == id_  # it can be given again
    assert memory.get(id_) is not None


@pytest.mark.medium
def test_forgetting_a_hit_erases_its_feedback(memory: Memory, open_memory: Callable[..., Memory]) -> None:
    memory.remember(TALK)
    other = open_memory()
    both_hits, schools = other.recall("the river", limit=2), other.recall("school", limit=1)
    feedback_ids = [
        other.feedback(both_hits, "river"),
        other.feedback(both_hits, "boat"),
        other.feedback(schools, "school"),
    ]
    assert memory.forget("river") == ForgetResult(("river",), ())
    assert [memory.get(id_) is None for id_ in feedback_ids] == [True, True, False]
    assert (
        graph_differences(memory.graph(), other.graph())
        == graph_differences(memory.graph(), open_memory().graph())
        == []
    )
    assert answer_weights(memory, memory.feedback(both_hits, [])) == {"boat": 0}  # only of the hit that still exists
    other.forget(["boat", "school"])
    nowhere = memory.feedback(both_hits, ["boat"])
    assert (memory.get(nowhere), len(memory.graph())) == (None, 0)


def test_forgotten_feedback_blocks_no_memory_of_the_same_text(memory: Memory) -> None:
    memory.remember(TALK)
    memory.forget(memory.feedback(memory.recall("the river"), []))
    assert memory.remember("the river").blocked == ()
    with pytest.raises(InvalidInput, match="begins like an id of a name"):
        memory.remember("the river", id="question:1")


@pytest.mark.medium
def test_feedback_on_a_concurrently_forgotten_hit(open_memory: Callable[..., Memory], tmp_path: Path) -> None:
    other = open_memory()
    other.remember(TALK)

    class RacingStore(SQLiteStore):
        def commit(self, scope: str, batch: WriteBatch, /) -> WriteBatch:
            if batch.nodes:
                other.forget("boat")
            return super().commit(scope, batch)

    store = RacingStore(tmp_path / "memory.db")
    memory = Memory(store, embedder=HashingEmbedder(64), clock=FakeClock())
    found = memory.recall("the river", limit=2)
    assert answer_weights(memory, memory.feedback(found, ["boat"])) == {"river": 0}
    store.close()


@pytest.mark.medium
def test_feedback_embeds_the_question_as_a_query(tmp_path: Path) -> None:
    class QueryAwareEmbedder(HashingEmbedder):
        """Embeds questions and texts differently."""

        name = "query-aware"

        def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
            return super().embed([f"asked: {text}" if is_query else text for text in texts])

    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64)) as memory:
        memory.remember(TALK)
        id_ = memory.feedback(memory.recall("the river"), [])
    assert reembed(tmp_path / "m.db", embedder=QueryAwareEmbedder(32)) == len(TALK) + 1
    with Memory(tmp_path / "m.db", embedder=QueryAwareEmbedder(32)) as memory:
        graph, (expected,) = memory.graph(), HashingEmbedder(32).embed(["asked: the river"])
        assert graph.vectors.view[graph.vector_positions[graph.row(id_)]] == pytest.approx(expected, abs=2e-3)
        assert memory.recall("the river")[0].id == "river"
