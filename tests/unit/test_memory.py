"""Memory: its public methods."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from textwrap import fill

import numpy as np
import pytest

from ecphora import encode
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import EmbedderMismatch, IdCollision, InvalidInput, StoreClosed, UnknownName
from ecphora.memory import Memory
from ecphora.model import (
    AccessKind,
    Episode,
    Evidence,
    Filter,
    ForgetResult,
    Hit,
    Kind,
    Link,
    Node,
    Vectors,
    WriteBatch,
)
from ecphora.reembedding import reembed
from ecphora.stages.fused import decay
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
        iter((PORTO, Episode(FARO, id="faro", speaker="Ben"), PORTO)),
        speaker="Ana",
        progress=lambda done, all_: progress.append((done, all_)),
    )
    assert (len(result.ids), len(result.created)) == (3, 2)
    assert result.ids[0] == result.ids[2]
    assert progress == [(2, 2)]
    assert [memory.get(id_).speaker for id_ in result.created] == ["Ana", "Ben"]  # type: ignore[union-attr]
    assert memory.remember([]).ids == ()


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
    with pytest.raises(IdCollision, match="choose another id"):
        memory.remember(texts[second], id=second)


def test_remember_rejects_one_id_for_several_texts(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"give Episode\(text, id=...\)"):
        memory.remember([PORTO, FARO], id="a")


def test_memory_rejects_another_embedder(memory: Memory, open_memory: Callable[..., Memory]) -> None:
    memory.remember(PORTO)
    with pytest.raises(EmbedderMismatch, match="reembed"):
        open_memory(dim=32)
    assert len(open_memory("another scope", dim=32)) == 0


# ---- long texts


def test_get_reassembles_a_long_text(memory: Memory) -> None:
    result = memory.remember(LONG, id="stay", speaker="Ana")
    assert result.created == ("stay",)
    node = memory.get("stay")
    assert node is not None
    assert (node.id, node.text, node.document) == ("stay", LONG, None)
    places = [hit.node.position for hit in memory.recall("day 50 of her stay", limit=50)]
    assert sorted(places) == list(range(1, len(places) + 1))
    graph = memory.graph()
    rows = graph.document_rows("stay")
    assert graph.previous_rows[rows].tolist() == [-1, *rows[:-1].tolist()]
    assert all(memory.get(hit.id) is not None for hit in memory.recall("Porto"))


def test_unknown_id_is_none(memory: Memory) -> None:
    assert memory.get("nothing") is None
    assert memory.history("nothing") is None
    assert not memory.forget("nothing")


# ---- superseding


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


# ---- forget


def test_forget_erases_by_id(memory: Memory) -> None:
    memory.remember([Episode("Ana met Zebulon.", id="a"), Episode("Ana left.", id="b"), Episode("Rain.", id="c")])
    assert memory.forget("a").episode_ids == ("a",)
    assert (memory.get("a"), len(memory)) == (None, 2)
    assert memory.forget("a").episode_ids == ()
    result = memory.forget(["b", "c", "b", "nothing"])
    assert (set(result.episode_ids), bool(result)) == ({"b", "c"}, True)
    assert len(memory.graph()) == 0
    assert memory.recall("Ana").hits == ()


def test_forget_erases_names_with_their_last_mention(memory: Memory) -> None:
    memory.remember([Episode("I met Zebulon in Porto.", id="a"), Episode("I like Porto.", id="b")])
    assert memory.forget("a").entity_ids == ("entity:zebulon",)
    assert memory.graph().row("entity:porto") is not None
    assert memory.forget("b").entity_ids == ("entity:porto",)


def test_forget_erases_by_filter(memory: Memory) -> None:
    memory.remember([Episode(PORTO, id="a", speaker="Ana"), Episode(FARO, id="b", speaker="Ben")])
    assert memory.forget(where=Filter(speakers=("Zorro",))).episode_ids == ()
    assert memory.forget(where=Filter(speakers=("Ana",))).episode_ids == ("a",)
    assert memory.forget().episode_ids == ()
    assert len(memory) == 1
    with pytest.raises(InvalidInput, match="say what is to be forgotten"):
        memory.forget(where=Filter())
    assert memory.forget(where=Filter(before=NOON + timedelta(days=1))).episode_ids == ("b",)


def test_forget_erases_all_chunks_of_a_text(memory: Memory) -> None:
    memory.remember(LONG, id="stay")
    assert memory.forget("stay").episode_ids == ("stay",)
    assert len(memory.graph()) == 0
    assert memory.remember(LONG, id="stay").blocked == ("stay",)


def test_forgotten_memory_is_blocked_unless_restored(memory: Memory, open_memory: Callable[..., Memory]) -> None:
    episode = Episode(PORTO, id="a", happened_at="2026-05-01")
    memory.remember(episode)
    memory.forget("a")
    other = open_memory()
    for again in (
        episode,
        Episode(PORTO, happened_at="2026-05-01"),
        Episode(PORTO, id="b", happened_at=date(2026, 5, 1)),
    ):
        result = other.remember([again, FARO])
        assert len(result.blocked) == 1
    assert len(other) == 1
    assert other.remember(episode, restore=True).created == ("a",)
    assert other.remember(episode).existing == ("a",)
    assert memory.get("a") is not None


def test_forget_keeps_a_name_mentioned_concurrently(open_memory: Callable[..., Memory], tmp_path: Path) -> None:
    other = open_memory()
    other.remember("I met Zebulon.", id="a")

    class RacingStore(SQLiteStore):
        def commit(self, scope: str, batch: WriteBatch, /) -> WriteBatch:
            if batch.tombstones and other.get("b") is None:
                other.remember("Zebulon called.", id="b")
            return super().commit(scope, batch)

    store = RacingStore(tmp_path / "memory.db")
    memory = Memory(store, embedder=HashingEmbedder(64), clock=FakeClock())
    assert memory.forget("a").entity_ids == ()
    assert memory.graph().row("entity:zebulon") is not None
    assert len(memory.graph().edges) == 1
    store.close()


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
    assert memory.recall("river", explain=False)[0].why.contributions == ()


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


def test_recall_of_an_empty_memory_has_no_evidence(memory: Memory) -> None:
    found = memory.recall("Where does Ana live?")
    assert (found.hits, found.evidence, found.confidence) == ((), Evidence.NONE, 0.0)
    assert memory.scopes() == []


def test_recall_logs_accesses(memory: Memory, clock: FakeClock) -> None:
    memory.remember(TALK)
    memory.recall("river", log_access=False)
    assert memory.scopes()[0].revision == 1
    clock.advance(hours=1)
    hit = memory.recall("river", limit=1)[0]
    history = memory.history(hit.id)
    assert history is not None
    assert [(access.kind, access.at) for access in history.accesses] == [
        (AccessKind.ENCODED, NOON), (AccessKind.RECALLED, NOON + timedelta(hours=1)),
    ]  # fmt: skip
    assert history.accesses[-1].strength == pytest.approx(hit.score)


# ---- feedback


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
    assert graph.vectors.view[graph.vector_positions[graph.row(id_)]] == pytest.approx(found.query.vector, abs=1e-3)
    assert (len(memory), memory.scopes()[0].episodes, len(graph.accesses_of(graph.row(id_) or 0))) == (3, 3, 0)
    revision = graph.revision
    assert memory.feedback(found, "boat") == id_  # the same feedback twice is stored once
    assert memory.graph().revision == revision
    assert memory.feedback(found, ["river", "boat"]) == memory.feedback(found, ["boat", "river"]) != id_


def test_feedback_without_used_ids_is_stored(memory: Memory) -> None:
    memory.remember(TALK)
    found = memory.recall("river")
    id_ = memory.feedback(found, [])
    assert answer_weights(memory, id_) == {hit.id: 0 for hit in found}
    assert used_ids(memory) == []
    with pytest.raises(InvalidInput, match="'zorro' is not among what came back"):
        memory.feedback(found, ["zorro"])
    assert ids(memory.recall("river")) == ids(found)


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
        assert graph.vectors.view[graph.vector_positions[graph.row(id_)]] == pytest.approx(expected, abs=1e-3)
        assert memory.recall("the river")[0].id == "river"


# ---- documents

FIRST = "The heron that nested below the old bridge returned in April when nobody at the lock expected to see it again"
KEEPER = "The keeper counts barges and writes each of them down in a large green book that his mother gave him. "
MANUAL = (
    "# Lock manual\n\n"
    + fill(KEEPER * 7 + "Barges pay by their weight, and boats that carry nobody pay half. ", 72)
    + "\n\n"
    + fill(f"{FIRST}, so the keeper was told to leave the nest alone. " + KEEPER * 3, 72)
    + "\n\n## Ropes\n\n"
    + "\n\n".join([fill("Bring one that is as long as the lock is deep, and dry it each night. " * 9, 72)] * 2)
    + "\n\n## Lamps\n\n"
    + "\n\n".join([fill("Fill them before it is dark, and trim the wick with the small knife. " * 9, 72)] * 2)
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_recall_finds_a_wrapped_sentence_in_one_chunk(memory: Memory, end: str) -> None:
    memory.remember(MANUAL.replace("\n", end), source="manual.md")
    best = memory.recall("When did the heron return to its nest below the old bridge?")[0]
    assert FIRST in " ".join(best.text.split())
    assert best.node.heading == "Lock manual"


def test_recall_finds_chunks_by_their_heading(memory: Memory) -> None:
    memory.remember(MANUAL, title="Manual.MD")
    for name in ("Ropes", "Lamps"):
        assert memory.recall(f"{name}?")[0].node.heading == f"Lock manual > {name}"
        found = memory.recall(f"{name}?", strategy="bm25")
        assert len(found) == 2
        assert {hit.node.heading for hit in found} == {f"Lock manual > {name}"}
        assert any(name not in hit.text for hit in found)
        as_json = found[1].to_dict()
        assert MANUAL[as_json["start"] : as_json["start"] + len(as_json["text"])] == as_json["text"]
        assert as_json["heading"] == f"Lock manual > {name}"


def test_short_markdown_text_is_one_memory(memory: Memory) -> None:
    result = memory.remember("# Lock\n\n## Ropes\n\nBring one.", source="lock.md")
    (hit,) = memory.recall("ropes")
    assert (hit.id, hit.node.document, hit.node.heading, hit.node.start) == (result.id, None, None, 0)
    assert encode.indexed_text(hit.node) == "# Lock\n\n## Ropes\n\nBring one."


# ---- strategies, scopes, handles


def test_custom_strategy_is_used(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), strategy=Bm25(name="mine")) as memory:
        memory.remember(TALK)
        assert memory.recall("river").strategy == "mine"
        assert memory.recall("river", strategy="dense").strategy == "dense"
        with pytest.raises(UnknownName, match="choose one of fused, synaptic"):
            memory.recall("river", strategy="oracle")


# ---- scopes, handles, threads


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


@pytest.mark.parametrize("strategy", ["fused", "dense", "bm25", "rrf", "recency"])
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
            return [
                bool(mask[graph.rows([id_])].all()) for mask in (decay.pinned_mask(graph), decay.archived_mask(graph))
            ]

        memory.maintenance.pin(id_)
        memory.maintenance.archive(id_)
        assert marks() == [True, True]
        memory.maintenance.unpin(id_)
        memory.maintenance.unarchive(id_)
        assert marks() == [False, False]
