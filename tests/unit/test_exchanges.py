"""Exchanges: a prompt with its response, kept apart from the memories and deleted with those behind it."""

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ecphora import RecallOptions
from ecphora.errors import InvalidInput, InvalidRecord
from ecphora.maintenance.reembedding import reembed
from ecphora.memory import Memory
from ecphora.model.types import Episode, Filter, ForgetResult, Include, Kind, Link
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval import filters
from ecphora.strategies import BUILT_IN
from ecphora.strategies.eisa.banks import all_episodes
from ecphora.strategies.eisa.chronology import chronology_weight
from ecphora.strategies.eisa.strategy import FAITHFUL
from ecphora.testing import FakeClock
from ecphora.testing.llms import ScriptedLLM

TALK = (
    Episode("The river is lovely.", id="river", speaker="Ana", session="s1", happened_at="2026-05-01"),
    Episode("The boat sank in the river.", id="boat", speaker="Ben", session="s1", happened_at="2026-05-02"),
    Episode("School starts in June.", id="school", speaker="Ana", session="s2", happened_at="2026-05-03"),
)
QUESTION = "What sank in the river?"
RESPONSE = "The boat, as Ben said."
FREE = replace(FAITHFUL, necessity_classifier=None, theta_sim=0.3)
"""The faithful preset of EISA with one bank for everything, and a threshold that suits any embedder of words."""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def open_memory(tmp_path: Path, clock: FakeClock) -> Iterator[Callable[..., Memory]]:
    """A function that opens handles on one file with three memories; all are closed at the end."""
    handles: list[Memory] = []

    def open_(**options: object) -> Memory:
        settings = {"embedder": HashingEmbedder(64), "clock": clock, **options}
        handles.append(Memory(tmp_path / "memory.db", **settings))  # type: ignore[arg-type]
        handles[-1].remember(TALK)
        return handles[-1]

    yield open_
    for handle in handles:
        handle.close()


@pytest.fixture
def memory(open_memory: Callable[..., Memory]) -> Memory:
    return open_memory()


def record(memory: Memory, *, used: tuple[str, ...] = ("boat",), limit: int = 2, text: str = RESPONSE) -> str:
    """Record a response to the question; returns the id of the exchange."""
    id_ = memory.record_response(memory.recall(QUESTION, limit=limit), text, used_ids=used, source="small")
    assert id_ is not None
    return id_


# ---- what is stored


def test_record_response_stores_prompt_and_response_as_one_node(memory: Memory, clock: FakeClock) -> None:
    found = memory.recall(QUESTION, limit=2)
    asked_at, given_at = clock.now, clock.advance(minutes=5)
    id_ = memory.record_response(found, RESPONSE, used_ids=["boat"], source="small", session="s9")
    assert id_ is not None
    assert id_.startswith("exchange:")
    node = memory.get(id_)
    assert node is not None
    assert (node.kind, node.title, node.text) == (Kind.EXCHANGE, QUESTION, RESPONSE)
    assert (node.source, node.session, node.happened_at, node.recorded_at) == ("small", "s9", asked_at, given_at)
    graph = memory.graph()
    row = graph.row(id_)
    assert row is not None
    edges, _ = graph.edges_from(np.array([row]), Link.BASED_ON)
    weights = {graph.id(int(graph.edges["dst"][edge])): float(graph.edges["weights"][edge]) for edge in edges}
    assert weights == {"boat": 1, "river": 0}
    assert found.query.vector is not None
    assert graph.vectors.view[graph.vector_positions[row]] == pytest.approx(found.query.vector, abs=2e-3)


def test_record_response_twice_stores_it_once(memory: Memory) -> None:
    found = memory.recall(QUESTION)
    first = memory.record_response(found, RESPONSE)
    assert memory.record_response(found, RESPONSE) == first
    assert memory.record_response(found, "Another one.") != first
    assert int(memory.graph().of_kind(Kind.EXCHANGE).sum()) == 2


def test_record_response_refuses_what_it_cannot_use(memory: Memory) -> None:
    found = memory.recall(QUESTION)
    for arguments, options in (
        ((found, "  "), {}),
        (("found", RESPONSE), {}),
        ((found, RESPONSE), {"used_ids": ["nobody"]}),
        ((found, RESPONSE), {"source": ""}),
        ((found, RESPONSE), {"session": 3}),
    ):
        with pytest.raises(InvalidInput):
            memory.record_response(*arguments, **options)
    assert not memory.graph().of_kind(Kind.EXCHANGE).any()


@pytest.mark.medium
def test_exchange_has_the_vector_of_its_prompt_after_reembedding(memory: Memory, tmp_path: Path) -> None:
    id_ = record(memory)
    model = HashingEmbedder(32)
    reembed(tmp_path / "memory.db", embedder=model)
    with Memory(tmp_path / "memory.db", embedder=model) as reopened:
        graph = reopened.graph()
        vector = graph.vectors.view[graph.vector_positions[graph.row(id_)]]
    assert vector == pytest.approx(model.embed([QUESTION], is_query=True)[0], abs=2e-3)


@pytest.mark.medium
def test_exchange_is_exported_and_imported(memory: Memory, tmp_path: Path, clock: FakeClock) -> None:
    question = "What sank? " + "Tell me all of it. " * 40  # longer than a title may be
    id_ = memory.record_response(memory.recall(question), RESPONSE, used_ids=["boat"])
    assert id_ is not None
    out = io.StringIO()
    memory.export(out)
    with Memory(tmp_path / "copy.db", embedder=HashingEmbedder(64), clock=clock) as copy:
        copy.import_(out.getvalue().splitlines())
        assert copy.get(id_) == replace(memory.get(id_), seq=copy.get(id_).seq)  # type: ignore[type-var, union-attr]
        assert copy.recall(question, include="exchanges").exchanges[0].used_ids == ("boat",)
        broken = out.getvalue().replace("exchange:", "exchanged:")
        with pytest.raises(InvalidRecord):
            copy.import_(broken.splitlines())


# ---- no evidence for itself


@pytest.mark.medium
@pytest.mark.parametrize("strategy", sorted(set(BUILT_IN) - {"eisa"}))
def test_exchange_changes_no_recall(open_memory: Callable[..., Memory], strategy: str) -> None:
    """Neither the hits, nor their scores, nor the confidence, of any strategy that is not EISA."""
    memory = open_memory(strategy=strategy)
    questions = (QUESTION, "What did Ben say?", RESPONSE)
    before = [memory.recall(question, options=RecallOptions(log_access=False)) for question in questions]
    found = memory.recall(QUESTION, options=RecallOptions(log_access=False))
    for text in (RESPONSE, "The submarine sank in the river.", "Nobody knows what sank in the river."):
        memory.record_response(found, text)
    for question, old in zip(questions, before, strict=True):
        new = memory.recall(question, options=RecallOptions(log_access=False))
        assert [(hit.id, hit.score) for hit in new] == [(hit.id, hit.score) for hit in old]
        assert (new.evidence, new.confidence) == (old.evidence, old.confidence)
    assert (len(memory), memory.count(), len(memory.find())) == (3, 3, 3)


@pytest.mark.medium
@pytest.mark.parametrize("strategy", sorted(BUILT_IN))
def test_accesses_of_an_exchange_disturb_no_strategy(open_memory: Callable[..., Memory], strategy: str) -> None:
    memory = open_memory(strategy=strategy)
    record(memory)
    for _ in range(2):
        assert memory.recall(QUESTION, strategy="eisa")[0].is_exchange
    memory.remember("The raft sank as well.", id="raft")
    memory.consolidate()
    found = memory.recall(QUESTION, limit=20)
    assert strategy == "eisa" or {hit.id for hit in found} <= {"river", "boat", "school", "raft"}


def test_exchange_gives_eisa_no_confidence(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(strategy="eisa")
    question = "Which color has the submarine?"
    before = memory.recall(question, options=RecallOptions(log_access=False))
    memory.record_response(before, "Yellow.")
    after = memory.recall(question, options=RecallOptions(log_access=False))
    assert (after[0].node.kind, after[0].node.title) == (Kind.EXCHANGE, question)
    assert after.confidence == before.confidence


def test_exchange_is_never_quoted_or_cited_as_a_memory(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(strategy="eisa")
    memory.record_response(memory.recall(QUESTION), "A whale sank.", source="small")
    found = memory.recall(QUESTION)
    assert found[0].is_exchange
    quoted = memory.answer(QUESTION)
    assert "whale" not in quoted.text
    llm = ScriptedLLM([{"answer": "A whale.", "ids": [found[0].id], "held": True}])
    answer = memory.answer(QUESTION, llm)
    assert answer.prompt is not None
    memories, _, beside = answer.prompt.user.partition("</memories>")
    assert "whale" not in memories
    assert f"<asked>\n{QUESTION}\n</asked>\n<answered>\nA whale sank.\n</answered>" in beside
    assert answer.cited_ids == ()


# ---- EISA's episode


def test_chronology_puts_the_exchange_first_and_the_retrieved_behind_it(open_memory: Callable[..., Memory]) -> None:
    """The README's example: the new episode gets n, the retrieved ones n - 1, n - 2 in their previous order."""
    memory = open_memory(strategy=FREE)
    id_ = record(memory, used=())
    graph = memory.graph()
    weight = chronology_weight(graph, all_episodes(graph))
    rows = np.flatnonzero(weight)
    assert [graph.id(int(row)) for row in rows[np.argsort(weight[rows])]] == ["school", "river", "boat", id_]
    assert weight.max() == 1


def test_exchange_takes_the_place_of_the_stored_question(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(strategy=FREE)
    id_ = record(memory)
    again = memory.recall(QUESTION)
    assert again[0].id == id_
    assert not any(hit.node.source == filters.RECALL_SOURCE for hit in again)


# ---- deleted with what it is based on


def test_forgetting_a_memory_deletes_the_exchanges_based_on_it(memory: Memory) -> None:
    id_ = record(memory, used=())
    assert memory.forget("school").exchange_ids == ()
    assert memory.get(id_) is not None
    assert memory.forget("river", dry_run=True).exchange_ids == (id_,)
    assert memory.forget("river").exchange_ids == (id_,)
    assert memory.get(id_) is None


def test_replacing_a_text_deletes_the_exchanges_based_on_it(memory: Memory) -> None:
    id_ = record(memory)
    memory.update("boat", "The raft sank in the river.", mode="replace")
    assert memory.get(id_) is None


def test_forget_erases_one_exchange_for_good(memory: Memory) -> None:
    found = memory.recall(QUESTION)
    id_ = memory.record_response(found, RESPONSE)
    assert id_ is not None
    assert memory.forget(id_) == ForgetResult((id_,), ())
    assert memory.record_response(found, RESPONSE) is None
    assert len(memory) == 3


def test_forget_everything_erases_exchanges_without_memories(memory: Memory) -> None:
    empty = memory.recall(QUESTION, where=Filter(speakers="Nobody"))
    assert not empty.hits
    id_ = memory.record_response(empty, "I do not know.", session="s9")
    assert id_ is not None
    assert memory.forget(where=Filter(sessions="s1"), dry_run=True).episode_ids == ("river", "boat")
    assert memory.forget(where=Filter(sessions="s9"), dry_run=True).episode_ids == (id_,)
    memory.forget(everything=True)
    assert memory.get(id_) is None


def test_record_response_stores_nothing_if_a_hit_was_forgotten(memory: Memory) -> None:
    found = memory.recall(QUESTION)
    memory.forget("school")
    assert memory.record_response(found, RESPONSE) is None
    assert not memory.graph().of_kind(Kind.EXCHANGE).any()


# ---- beside the memories


@pytest.mark.medium
def test_include_returns_similar_exchanges(memory: Memory) -> None:
    id_ = record(memory)
    assert memory.recall(QUESTION).exchanges == ()
    (exchange,) = memory.recall("What sank?", include=("exchanges",)).exchanges
    assert (exchange.id, exchange.prompt, exchange.response, exchange.source) == (id_, QUESTION, RESPONSE, "small")
    assert (sorted(exchange.source_ids), exchange.used_ids) == (["boat", "river"], ("boat",))
    assert 0 < exchange.score <= 1
    assert memory.recall(QUESTION, include=Include.EXCHANGES).exchanges[0].score == pytest.approx(1, abs=5e-3)


@pytest.mark.parametrize(
    ("options", "is_shown"),
    [
        ({"where": Filter(sessions="s1")}, True),
        ({"where": Filter(speakers="Ana")}, False),  # Ben's memory was recalled for it
        ({"where": Filter(not_sources="small")}, True),
        ({"as_of": "2026-05-10"}, False),  # it had not happened
        ({"known_at": "2026-01-01"}, False),
    ],
)
@pytest.mark.parametrize("strategy", ["fused", "eisa"])
def test_exchange_is_shown_only_if_all_its_memories_may_be(
    open_memory: Callable[..., Memory], clock: FakeClock, options: dict[str, object], *, is_shown: bool, strategy: str
) -> None:
    memory = open_memory(strategy=strategy)
    clock.advance(minutes=60 * 24 * 60)
    id_ = record(memory)
    found = memory.recall(QUESTION, include="exchanges", **options)  # type: ignore[arg-type]
    shown = {*(exchange.id for exchange in found.exchanges), *(hit.id for hit in found if hit.is_exchange)}
    assert shown == ({id_} if is_shown else set())


@pytest.mark.medium
def test_exchange_without_memories_must_pass_the_filter_itself(memory: Memory) -> None:
    memory.record_response(memory.recall(QUESTION, where=Filter(speakers="Nobody")), "I do not know.", session="s9")
    for where, is_shown in ((Filter(), True), (Filter(sessions="s9"), True), (Filter(sessions="s1"), False)):
        assert bool(memory.recall(QUESTION, where=where, include="exchanges").exchanges) is is_shown


def test_exchange_of_an_exchange_is_hidden_with_it(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(strategy="eisa")
    first = record(memory)
    second = record(memory, used=(), text="As I said: the boat.", limit=1)
    edges, _ = memory.graph().edges_from(memory.graph().rows([second]), Link.BASED_ON)
    assert [memory.graph().id(int(row)) for row in memory.graph().edges["dst"][edges]] == [first]
    assert not memory.recall(QUESTION, where=Filter(speakers="Ana"), include="exchanges").exchanges
    memory.forget("boat")
    assert memory.get(second) is None


# ---- answers


@pytest.mark.medium
def test_answer_records_the_answer_of_a_model(memory: Memory) -> None:
    llm = ScriptedLLM([{"answer": "The boat.", "ids": ["boat"], "held": True}] * 2)
    assert memory.answer(QUESTION, llm).exchange_id is None
    answer = memory.answer(QUESTION, llm, record=True)
    assert answer.exchange_id is not None
    node = memory.get(answer.exchange_id)
    assert node is not None
    assert (node.title, node.text, node.source) == (QUESTION, "The boat.", llm.name)
    assert memory.recall(QUESTION, include="exchanges").exchanges[0].used_ids == ("boat",)


def test_answer_records_no_quotation_and_no_refusal(memory: Memory) -> None:
    assert memory.answer(QUESTION, record=True).exchange_id is None
    refusal = ScriptedLLM([{"answer": "", "ids": [], "held": False}])
    assert memory.answer(QUESTION, refusal, record=True).exchange_id is None
    assert not memory.graph().of_kind(Kind.EXCHANGE).any()
    with pytest.raises(InvalidInput):
        memory.answer(QUESTION, record="yes")  # type: ignore[arg-type]
