"""Memory: its public methods."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import RecallOptions
from ecphora.errors import EmbedderMismatch, IdCollision, InvalidInput, StoreClosed, UnknownName
from ecphora.memory import Memory
from ecphora.model.graph.graph import archived_mask, pinned_mask
from ecphora.model.types import AccessKind, Episode, Evidence, Filter, Hit, Node, Vectors
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval.confidence import EvidenceBands
from ecphora.stores.sqlite import SQLiteStore
from ecphora.strategies.baselines import Bm25
from ecphora.testing import NOON, FakeClock, graph_differences

LONG = "".join(f"Ana met Mia in Porto on day {day} of her stay. " for day in range(100))
PORTO = "Ana lives in Porto."
FARO = "Ana lives in Faro."


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def open_memory(tmp_path: Path, clock: FakeClock) -> Iterator[Callable[..., Memory]]:
    """A function that opens handles on one file; all are closed at the end."""
    handles: list[Memory] = []

    def open_(scope: str = "default", dim: int = 64, **options: Any) -> Memory:
        path, embedder = tmp_path / "memory.db", HashingEmbedder(dim)
        handles.append(Memory(path, scope=scope, embedder=embedder, clock=clock, **options))
        return handles[-1]

    yield open_
    for handle in handles:
        handle.close()


@pytest.fixture
def memory(open_memory: Callable[..., Memory]) -> Memory:
    return open_memory()


def ids(found: Iterable[Hit | Node]) -> list[str]:
    return [hit.id for hit in found]


# ---- remember


def test_remember_stores_a_text_with_its_fields(memory: Memory) -> None:
    result = memory.remember(PORTO, speaker="Ana", happened_at="2026-05-01", title="Home", metadata={"k": 1})
    assert result.created == result.ids == (result.id,)
    node = memory.get(result.id)
    assert node is not None
    assert (node.text, node.speaker, node.title, node.metadata) == (PORTO, "Ana", "Home", {"k": 1})
    assert (node.happened_at, node.recorded_at) == (datetime(2026, 5, 1, tzinfo=UTC), NOON)
    assert len(memory) == 1


def test_remember_takes_texts_and_episodes(memory: Memory) -> None:
    progress: list[tuple[int, int]] = []
    result = memory.remember(
        iter((PORTO, PORTO, Episode(FARO, id="faro", speaker="Ben"))),
        speaker="Ana",
        progress=lambda done, all_: progress.append((done, all_)),
    )
    assert (len(result.ids), len(result.created)) == (3, 2)
    assert result.ids[0] == result.ids[1]
    assert progress == [(2, 2)]
    assert [memory.get(id_).speaker for id_ in result.created] == ["Ana", "Ben"]  # type: ignore[union-attr]
    assert memory.remember([]).ids == ()


@pytest.mark.medium
def test_remember_commits_in_batches(memory: Memory) -> None:
    progress: list[tuple[int, int]] = []
    memory.remember((f"Day {day}." for day in range(1030)), progress=lambda done, all_: progress.append((done, all_)))
    assert progress == [(512, 1030), (1024, 1030), (1030, 1030)]
    assert (len(memory), memory.scopes()[0].revision) == (1030, 3)


def test_remember_stores_equal_texts_once(memory: Memory, clock: FakeClock) -> None:
    first = memory.remember(PORTO)
    clock.advance(days=1)
    second = memory.remember([PORTO, FARO])
    assert second.existing == (first.id,)
    assert len(second.created) == 1
    history = memory.history(first.id)
    assert history is not None
    assert [(access.kind, access.at) for access in history.accesses] == [
        (AccessKind.ENCODED, NOON), (AccessKind.ENCODED, NOON + timedelta(days=1)),
    ]  # fmt: skip


@pytest.mark.medium
@pytest.mark.parametrize("again", [LONG, PORTO])
def test_remember_rejects_an_id_of_another_memory(again: str, memory: Memory) -> None:
    memory.remember("Something else.", id="a")
    with pytest.raises(IdCollision, match="'a' already belongs to another memory"):
        memory.remember(["Not written either.", Episode(again, id="a")])
    assert len(memory) == 1
    memory.remember(LONG, id="long")
    assert memory.remember(LONG, id="long").existing == ("long",)
    with pytest.raises(IdCollision):
        memory.remember(LONG + "And more.", id="long")


@pytest.mark.parametrize(("first", "second"), [("a", "a#2"), ("a#1", "a")])
def test_remember_rejects_ids_of_chunks(first: str, second: str, memory: Memory) -> None:
    texts = {"a": LONG, "a#1": PORTO, "a#2": PORTO}
    memory.remember(texts[first], id=first)
    with pytest.raises(IdCollision, match=r"the id 'a#[12]'.* already belongs to another memory; choose another"):
        memory.remember(texts[second], id=second)


def test_remember_rejects_one_id_for_several_texts(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"give Episode\(text, id=...\)"):
        memory.remember([PORTO, FARO], id="a")


def test_memory_rejects_another_embedder(memory: Memory, open_memory: Callable[..., Memory]) -> None:
    memory.remember(PORTO)
    with pytest.raises(EmbedderMismatch, match="reembed"):
        open_memory(dim=32)
    assert len(open_memory("another scope", dim=32)) == 0


# ---- superseding


@pytest.mark.medium
def test_supersedes_ends_the_validity_of_a_fact(memory: Memory, clock: FakeClock) -> None:
    memory.remember(PORTO, id="porto", happened_at="2026-01-01")
    clock.advance(days=10)
    memory.remember(FARO, id="faro", happened_at="2026-05-05", supersedes="porto")
    memory.remember("Ana lives in Braga.", id="braga", happened_at="2026-05-10", supersedes="faro")
    history = memory.history("faro")
    assert history is not None
    assert (ids(history.predecessors), ids(history.successors)) == (["porto"], ["braga"])
    assert history.node.valid_to == datetime(2026, 5, 10, tzinfo=UTC)
    last_history = memory.history("braga")
    assert last_history is not None
    assert (ids(last_history.predecessors), ids(last_history.successors)) == (["porto", "faro"], [])
    assert memory.recall("Where does Ana live?")[0].id == "braga"
    assert memory.recall("Where does Ana live?", as_of="2026-05-06")[0].id == "faro"
    assert ids(memory.recall("Where does Ana live?", as_of="2026-02-01")) == ["porto"]
    assert ids(memory.recall("Where does Ana live?", known_at=NOON)) == ["porto"]


def test_supersedes_works_within_one_call(memory: Memory) -> None:
    memory.remember([Episode(PORTO, id="porto"), Episode(FARO, id="faro", supersedes="porto")])
    node = memory.get("porto")
    assert node is not None
    assert node.valid_to == NOON


# ---- recall


TALK = (
    Episode("The river is lovely.", id="river", speaker="Ana", session="s1", happened_at="2026-05-01"),
    Episode("The boat sank in the river.", id="boat", speaker="Ben", session="s1", happened_at="2026-05-02"),
    Episode("School starts in June.", id="school", speaker="Ana", session="s2", happened_at="2026-05-03",
            metadata={"k": 1}),
)  # fmt: skip


def test_recall_ranks_the_answer_first(memory: Memory) -> None:
    memory.remember(TALK)
    found = memory.recall("When does school start?")
    assert found[0].id == "school"
    assert (found.strategy, len(found), next(iter(found)).text) == ("fused", len(found.hits), "School starts in June.")
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert found.evidence in {Evidence.STRONG, Evidence.WEAK}
    assert found.cost.tokens > 0
    assert found.cost.milliseconds >= sum(found.cost.step_milliseconds.values()) * 0.99


def test_contributions_add_up_to_the_score(memory: Memory) -> None:
    memory.remember(TALK)
    for strategy in ("fused", "rrf", "dense", "bm25", "recency"):
        found = memory.recall("Did the boat sink in the river?", strategy=strategy)
        assert found.hits
        for hit in found:
            assert sum(part.value for part in hit.why.contributions) == pytest.approx(hit.score, abs=1e-4)
            assert str(hit.why)
    assert memory.recall("river", options=RecallOptions(explain=False))[0].why.contributions == ()


@pytest.mark.medium
def test_recall_applies_filters(memory: Memory) -> None:
    memory.remember(TALK)
    assert {hit.node.speaker for hit in memory.recall("river", where=Filter(speakers=("Ana",)))} == {"Ana"}
    assert {hit.node.speaker for hit in memory.recall("river", where=Filter(speakers="Ana"))} == {"Ana"}
    assert ids(memory.recall("river", where=Filter(metadata={"k": 1}), strategy="recency")) == ["school"]
    assert not memory.recall("river", where=Filter(after="2199-01-01"))
    with pytest.raises(InvalidInput, match="is not a date"):
        memory.recall("river", where=Filter(before="soon"))
    assert len(memory.recall("the river", limit=1)) == 1
    assert ids(memory.recall("river", strategy="recency", as_of="2026-05-02")) == ["boat", "river"]
    assert ids(memory.recall("river", strategy="recency", as_of=date(2026, 5, 1))) == ["river"]
    assert ids(memory.recall("river", strategy="recency", as_of="9999-12-31", limit=1)) == ["school"]
    within = memory.recall("river", strategy="recency", budget=6)
    assert within.cost.tokens <= 6
    assert ids(within) == ["school"]
    assert memory.recall("river", budget=1).hits == ()


def test_evidence_follows_the_bands_of_the_memory(open_memory: Callable[..., Memory]) -> None:
    question = "When does school start?"
    memory = open_memory()
    memory.remember(TALK)
    confidence = memory.recall(question, options=RecallOptions(log_access=False)).confidence
    assert 0.1 < confidence < 0.99
    for bands, expected in (
        (EvidenceBands(strong=confidence, weak=0.1), Evidence.STRONG),
        (EvidenceBands(strong=0.99, weak=confidence), Evidence.WEAK),
        (EvidenceBands(strong=1, weak=0.99), Evidence.NONE),
    ):
        other = open_memory(evidence_bands=bands)
        assert other.evidence_bands == bands
        assert other.recall(question, options=RecallOptions(log_access=False)).evidence is expected
        assert other.answer(question, options=RecallOptions(log_access=False)).evidence is expected


def test_recall_without_hits_has_no_evidence_whatever_the_bands(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(evidence_bands=EvidenceBands(strong=0, weak=0))
    assert memory.recall("Where does Ana live?").evidence is Evidence.NONE


def test_recall_of_an_empty_memory_has_no_evidence(memory: Memory) -> None:
    found = memory.recall("Where does Ana live?")
    assert (found.hits, found.evidence, found.confidence) == ((), Evidence.NONE, 0.0)
    assert memory.scopes() == []


def test_recall_groups_hits_by_the_instances_of_the_class_asked_for(memory: Memory) -> None:
    texts = {"rome": "We saw Rome.", "both": "From Porto back to Rome.", "dog": "The dog barked."}
    memory.remember([Episode(text, id=id_) for id_, text in texts.items()])
    groups = memory.recall("Which cities did we see?").groups
    assert {group.instance: set(ids(group.hits)) for group in groups} == {"Rome": {"rome", "both"}, "Porto": {"both"}}
    assert [group.to_dict()["instance"] for group in groups] == [group.instance for group in groups]
    assert not memory.recall("When did we see Rome?").groups


def test_recall_logs_accesses(memory: Memory, clock: FakeClock) -> None:
    memory.remember(TALK)
    memory.recall("river", options=RecallOptions(log_access=False))
    assert memory.scopes()[0].revision == 1
    clock.advance(hours=1)
    hit = memory.recall("river", limit=1)[0]
    history = memory.history(hit.id)
    assert history is not None
    assert [(access.kind, access.at) for access in history.accesses] == [
        (AccessKind.ENCODED, NOON), (AccessKind.RECALLED, NOON + timedelta(hours=1)),
    ]  # fmt: skip
    assert history.accesses[-1].strength == pytest.approx(hit.score)


# ---- strategies, scopes, handles


def test_custom_strategy_is_used(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), strategy=Bm25(name="mine")) as memory:
        memory.remember(TALK)
        assert memory.recall("river").strategy == "mine"
        assert memory.recall("river", strategy="dense").strategy == "dense"
        with pytest.raises(UnknownName, match="choose one of fused, synaptic"):
            memory.recall("river", strategy="oracle")


def test_scopes_are_isolated(memory: Memory, open_memory: Callable[..., Memory]) -> None:
    other = open_memory("other")
    memory.remember(PORTO, id="a")
    assert (len(other), other.get("a"), other.recall("Porto").hits) == (0, None, ())
    other.remember(FARO, id="a")
    other.forget("a")
    assert memory.get("a") is not None
    assert memory.remember(PORTO, id="a").existing == ("a",)
    assert [info.name for info in memory.scopes()] == ["default", "other"]


def test_two_handles_see_each_others_commits(memory: Memory, open_memory: Callable[..., Memory]) -> None:
    other = open_memory()
    memory.remember(PORTO, id="a")
    assert other.get("a") is not None
    other.remember(FARO, id="b", supersedes="a")
    other.forget("b")
    assert len(memory) == 1
    assert graph_differences(memory.graph(), other.graph()) == []


@pytest.mark.medium
def test_threads_and_handles_write_concurrently(memory: Memory, open_memory: Callable[..., Memory]) -> None:
    handles = [memory, memory, open_memory()]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(8):
                handles[number].remember([f"Ana said {number} {turn}.", f"Shared with Zebulon {turn}."])
                assert handles[number].recall(f"Shared {turn}").hits
                handles[number].forget(handles[number].remember(f"Passing {number} {turn}, Mia.").id)
        except BaseException as error:  # noqa: BLE001  # the assertion below reports it
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(memory) == 3 * 8 + 8
    assert graph_differences(memory.graph(), handles[2].graph()) == []
    assert graph_differences(memory.graph(), open_memory().graph()) == []


def test_closed_memory_rejects_calls(open_memory: Callable[..., Memory], tmp_path: Path) -> None:
    memory = open_memory()
    memory.close()
    memory.close()
    with pytest.raises(StoreClosed, match="open a new Memory"):
        memory.recall("Porto")
    store = SQLiteStore(tmp_path / "own.db")
    with Memory(store, embedder=HashingEmbedder(64)) as memory_of_store:
        memory_of_store.remember(PORTO)
    assert len(store.scopes()) == 1  # a store given by the caller stays open
    store.close()


def test_forgetting_a_chunk_keeps_the_document(memory: Memory) -> None:
    memory.remember(LONG, id="stay")
    result = memory.forget("stay#2")
    assert (memory.get("stay") is None) == ("stay" in result.episode_ids)


@pytest.mark.parametrize("strategy", ["fused", "dense", "bm25", "rrf", "simple", "recency"])
def test_ineligible_memories_change_no_score(strategy: str, tmp_path: Path) -> None:
    earlier = [
        Episode("The heron stands in the river.", id="early", speaker="Ana", session="s", happened_at="2026-01-01"),
        Episode("Porto is far.", id="other", speaker="Ben", session="s", happened_at="2026-01-01"),
    ]
    later = [
        Episode("Where does Zorro live? In Porto!", id="late", speaker="Ben", session="s", happened_at="2026-02-01"),
        Episode("Zorro lives in Porto by the river.", id="later", speaker="Ana", session="s", happened_at="2026-02-01"),
    ]
    with (
        Memory(tmp_path / "then.db", embedder=HashingEmbedder()) as then,
        Memory(tmp_path / "now.db", embedder=HashingEmbedder()) as now,
    ):
        then.remember(earlier)
        now.remember([*earlier, *later])
        question = "Where does Zorro live?"
        after = now.recall(question, strategy=strategy, as_of="2026-01-15")
        assert set(ids(after)) == set(ids(then.recall(question, strategy=strategy)))
        assert strategy == "recency" or after.confidence < now.recall(question, strategy=strategy).confidence
        none = now.recall(question, strategy=strategy, where=Filter(sessions="elsewhere"))
        assert (len(none), none.evidence.value, none.confidence) == (0, "none", 0.0)


class MinimalEmbedder:
    """An embedder with only the required members."""

    name, dim = "bare", 4

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:  # noqa: ARG002
        return np.tile(np.array([1, 0, 0, 0], np.float32), (len(texts), 1))


@pytest.mark.medium
def test_minimal_embedder_suffices(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=MinimalEmbedder()) as memory:
        memory.remember(TALK)
        query = memory.build_query("the river")
        assert (query.embedder_coverage, query.similarity_floor) == (1.0, 0.0)
        assert len(memory.recall("the river")) > 0


def test_unpin_and_unarchive_remove_marks(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(16)) as memory:
        id_ = memory.remember("The river is wide.").id

        def marks() -> list[bool]:
            graph = memory.graph()
            return [bool(mask[graph.rows([id_])].all()) for mask in (pinned_mask(graph), archived_mask(graph))]

        memory.maintenance.pin(id_)
        memory.maintenance.archive(id_)
        assert marks() == [True, True]
        memory.maintenance.unpin(id_)
        memory.maintenance.unarchive(id_)
        assert marks() == [False, False]
