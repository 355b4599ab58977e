"""Consolidation: with rules and with a language model, its limits, undo, and the check of recall."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import Episode, LLMClient, Memory, RecallOptions
from ecphora.consolidation.run import LIMITED_STEP_SIZE
from ecphora.errors import InvalidInput, LLMUnavailable
from ecphora.model.graph.graph import Graph
from ecphora.model.ports import Activation, Prompt
from ecphora.model.types import Edge, Kind, Link, Query, UndoBatch, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval.validity import supersessions
from ecphora.stores.sqlite import SQLiteStore
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import ConstantScorer, FakeClock, ScriptedLLM

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MOVES = [
    Episode("I live in Lisbon.", "old", "Ana", "a", "2026-01-05"),
    Episode("The bonsai lost its leaves.", "other", "Ben", "a", "2026-01-06"),
    Episode("I moved to Porto.", "new", "Ana", "b", "2026-05-03"),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock(NOW)) as opened:
        yield opened


def pairs(memory: Memory) -> set[tuple[str, str]]:
    graph = memory.graph()
    known = supersessions(graph)
    return {(graph.id(old), graph.id(new)) for old, new in zip(known.old.tolist(), known.new.tolist(), strict=True)}


def test_superseding_fact_ranks_first_and_the_old_one_has_an_end(memory: Memory) -> None:
    memory.remember(MOVES)
    assert memory.recall("Where does Ana live?")[0].id == "old"
    found = memory.consolidate()
    assert found.counts["supersedes"] == 1
    hits = memory.recall("Where does Ana live?")
    assert [hit.id for hit in hits][:2] == ["new", "old"]
    assert hits[0].validity is None
    assert hits[1].validity is not None
    assert hits[1].validity.valid_to == datetime(2026, 5, 3, tzinfo=UTC)
    assert hits[0].score == pytest.approx(
        sum(contribution.value for contribution in hits[0].why.contributions), abs=1e-5
    )
    assert "current fact" in {contribution.feature for contribution in hits[0].why.contributions}
    history = memory.history("old")
    assert history is not None
    assert [node.id for node in history.successors] == ["new"]


@pytest.mark.medium
def test_late_statement_counts_from_its_event_time(memory: Memory) -> None:
    memory.remember([MOVES[0], Episode("I moved to Porto on 3 May.", "new", "Ana", "b", "2026-05-20")])
    memory.consolidate()
    retroactive_hits = memory.recall(
        "Where does Ana live?", as_of="2026-05-10", options=RecallOptions(retroactive=True)
    )
    assert retroactive_hits[0].id == "new"
    for day, retroactive in (("2026-05-10", False), ("2026-05-01", True)):
        found = memory.recall("Where does Ana live?", as_of=day, options=RecallOptions(retroactive=retroactive))
        assert [hit.id for hit in found] == ["old"]


@pytest.mark.medium
def test_temporary_fact_supersedes_for_its_interval_only(memory: Memory) -> None:
    memory.remember([MOVES[0], Episode("I live in Rome until 10 May.", "away", "Ana", "b", "2026-04-10")])
    memory.consolidate()
    during, after = (
        {hit.id: hit.validity for hit in memory.recall("Where does Ana live?", as_of=day)}
        for day in ("2026-04-20", "2026-05-20")
    )
    assert during["old"] is not None
    assert during["old"].superseded_by == ("away",)
    assert after["old"] is None
    assert after["away"] is not None
    assert not after["away"].is_valid


def test_backfilled_old_fact_is_superseded(memory: Memory) -> None:
    memory.remember(MOVES[2])
    memory.consolidate()
    memory.remember(MOVES[0])
    memory.consolidate()
    assert pairs(memory) == {("old", "new")}


def test_forgetting_the_new_fact_restores_the_old_one(memory: Memory) -> None:
    memory.remember(MOVES)
    memory.consolidate()
    memory.forget("new")
    hit = memory.recall("Where does Ana live?")[0]
    assert (hit.id, hit.validity) == ("old", None)


def test_both_sides_of_a_contradiction_are_marked(memory: Memory) -> None:
    memory.remember(
        [
            Episode("I met Bryan at the film festival in January.", "met", "Ana", "a", "2026-01-05"),
            Episode("I've never met Bryan at any film festival.", "never", "Ana", "b", "2026-02-05"),
        ]
    )
    memory.consolidate()
    hits = {hit.id: hit for hit in memory.recall("Has Ana met Bryan at a film festival?")}
    assert [hits[id_].validity.contradicted_by for id_ in ("met", "never")] == [("never",), ("met",)]  # type: ignore[union-attr]


# ---- order of texts


PHONES = ("My phone number is 555-0142 now.", "My phone number is 555-0199 now.")
SAME_PHONE = json.dumps(
    {
        "claims": [
            {"statement": n, "subject": "Ana", "attribute": "phone", "value": value, "polarity": True, "from": None,
             "until": None, "single": True}
            for n, value in ((1, "555-0142"), (2, "555-0199"))
        ]
    }
)  # fmt: skip


@pytest.mark.parametrize("method", ["rules", "cross-encoder", "model"])
@pytest.mark.parametrize("session", [None, "a"])
@pytest.mark.parametrize(("minutes", "found"), [(0, set()), (1, {("old", "new")}), (-1, {("new", "old")})])
def test_texts_of_one_time_do_not_supersede(
    tmp_path: Path, method: str, session: str | None, minutes: int, found: set[tuple[str, str]]
) -> None:
    update_scorer = ConstantScorer() if method == "cross-encoder" else None
    llm = ScriptedLLM(lambda prompt: SAME_PHONE if "statements" in prompt.user else "{}") if method == "model" else None
    with Memory(
        tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=update_scorer, clock=FakeClock(NOW)
    ) as memory:
        start = datetime(2026, 3, 1, 10, tzinfo=UTC)
        times = (start, start + timedelta(minutes=minutes))
        memory.remember(
            [
                Episode(text, id_, "Ana", session, at)
                for text, id_, at in zip(PHONES, ("old", "new"), times, strict=True)
            ]
        )
        memory.consolidate(llm=llm)
        pending = {(update.old.id, update.new.id) for update in memory.facts.updates(pending=True)}
        assert pairs(memory) | pending == found


def test_chunks_of_one_document_do_not_supersede(tmp_path: Path) -> None:
    filler = "\n\n" + "a garden and trees and a path from the gate to the door and " * 30 + ".\n\n"  # no statement
    with Memory(
        tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=ConstantScorer(), clock=FakeClock(NOW)
    ) as memory:
        memory.remember(f"{PHONES[0]}{filler}{PHONES[1]}", speaker="Ana", happened_at="2026-03-01")
        assert memory.graph().episodes.sum() > 1
        memory.consolidate()
        assert pairs(memory) == set()


def test_undated_texts_of_one_batch_do_not_supersede(memory: Memory) -> None:
    memory.remember(list(PHONES), speaker="Ana", session="notes")
    memory.consolidate()
    assert pairs(memory) == set()


# ---- limits, undo and check


@pytest.mark.medium
def test_consolidation_stops_at_its_time_limit_and_resumes(memory: Memory) -> None:
    memory.remember([Episode(f"Note {n} of the log.", f"n{n}") for n in range(LIMITED_STEP_SIZE + 5)])
    pending_counts = [memory.consolidate(seconds=1e-9).pending_count for _ in range(2)]
    assert pending_counts == [LIMITED_STEP_SIZE + 4, LIMITED_STEP_SIZE + 3]
    assert memory.consolidate(seconds=100).pending_count == 0
    assert len(memory.maintenance.batches()) == 3


def test_limits_must_be_positive(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="above 0"):
        memory.consolidate(seconds=0)


def test_undo_reverts_the_latest_batch_only(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="no consolidation, import"):
        memory.maintenance.undo()
    memory.remember(MOVES[:1])
    first = memory.consolidate().undo_batch
    memory.remember(MOVES[1:])
    second = memory.consolidate().undo_batch
    assert first is not None
    assert second is not None
    with pytest.raises(InvalidInput, match=second.id):
        memory.maintenance.undo(first.id)
    assert [memory.maintenance.undo().id, memory.maintenance.undo().id] == [second.id, first.id]
    assert memory.maintenance.batches() == []


@dataclass(frozen=True)
class FailsWithClaims:
    """Recalls as fused until there is a claim, and nothing afterwards."""

    name: str = "failing"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        found = Fused().activate(query, graph)
        return Activation(graph.zeros()) if graph.of_kind(Kind.CLAIM).any() else found


@pytest.mark.medium
def test_consolidation_that_lowers_recall_is_rejected(tmp_path: Path) -> None:
    with Memory(
        tmp_path / "m.db",
        embedder=HashingEmbedder(64),
        update_scorer=None,
        strategy=FailsWithClaims(),
        clock=FakeClock(NOW),
    ) as memory:
        memory.remember(MOVES)
        memory.feedback(memory.recall("Where does Ana live?"), ["new"])
        found = memory.consolidate()
        assert found.counts == {}
        assert (found.is_regression, found.undo_batch, found.probe_count, found.recall_before, found.recall_after) == (
            True,
            None,
            1,
            1.0,
            0.0,
        )
        assert not memory.graph().of_kind(Kind.CLAIM).any()
        assert memory.maintenance.batches() == []


@pytest.mark.medium
def test_rejected_consolidation_stays_under_the_batch_of_another_process(tmp_path: Path) -> None:
    notes = [Episode(f"Note {n} of the log.", f"n{n}", happened_at="2025-01-05") for n in range(LIMITED_STEP_SIZE)]
    store = SQLiteStore(tmp_path / "m.db")
    with (
        closing(SQLiteStore(tmp_path / "m.db")) as other,
        Memory(store, embedder=HashingEmbedder(64), update_scorer=None, strategy=FailsWithClaims()) as memory,
    ):
        memory.remember([*notes, *MOVES])
        memory.feedback(memory.recall("Where does Ana live?"), ["new"])
        batch = WriteBatch(edges=(Edge("n0", "n1", Link.ASSOCIATION),), undo_batch=UndoBatch("import", NOW))

        def write_batch(_done: int, _total: int) -> None:
            other.commit("default", batch)

        found = memory.consolidate(seconds=100, progress=write_batch)
        assert (found.is_regression, found.counts["memories"]) == (True, LIMITED_STEP_SIZE)
        assert found.undo_batch is not None
        assert [known.id for known in memory.maintenance.batches()] == [found.undo_batch.id, "import"]
        assert memory.maintenance.undo().id == "import"
        assert memory.maintenance.undo(found.undo_batch.id).id == found.undo_batch.id


# ---- with a language model


def reply(*facts: dict[str, Any]) -> str:
    defaults = {"polarity": True, "from": None, "until": None, "single": True}
    return json.dumps({"claims": [{**defaults, **fact} for fact in facts]})


HOMES = reply(
    {"statement": 1, "subject": "Ana", "attribute": "home town", "value": "Lisbon"},
    {"statement": 3, "subject": "Ana", "attribute": "home town", "value": "Porto"},
    {"statement": 2, "subject": "bonsai", "attribute": "leaves", "value": "lost"},
)


def test_model_finds_updates_that_rules_miss(memory: Memory) -> None:
    memory.remember(
        [
            Episode("You will find me under the Lisbon sky.", "old", "Ana", "a", "2026-01-05"),
            MOVES[1],
            Episode("The Douro is my river these weeks.", "new", "Ana", "b", "2026-05-03"),
        ]
    )
    found = memory.consolidate(llm=ScriptedLLM(lambda prompt: HOMES if "statements" in prompt.user else "{}"))
    assert pairs(memory) == {("old", "new")}
    assert found.usage.calls > 0
    memory.maintenance.undo()
    assert pairs(memory) == set()


def test_later_consolidation_compares_with_earlier_claims(memory: Memory) -> None:
    def answer(prompt: Prompt) -> str:
        town = "Lisbon" if "Lisbon" in prompt.user else "Porto"
        return reply({"statement": 1, "subject": "Ana", "attribute": "home town", "value": town})

    for town, id_, day in (("Lisbon", "old", "2026-01-05"), ("Porto", "new", "2026-05-03")):
        memory.remember(Episode(f"{town} it is.", id_, "Ana", happened_at=day))
        memory.consolidate(llm=ScriptedLLM(answer))
    assert pairs(memory) == {("old", "new")}


def test_plural_attributes_do_not_supersede(memory: Memory) -> None:
    hobbies = reply(
        {"statement": 1, "subject": "Ana", "attribute": "hobby", "value": "chess", "single": False},
        {"statement": 2, "subject": "Ana", "attribute": "hobby", "value": "rowing", "single": False},
    )
    memory.remember(
        [
            Episode("Chess it is.", "a", "Ana", happened_at="2026-01-05"),
            Episode("Rowing it is.", "b", "Ana", happened_at="2026-05-03"),
        ]
    )
    memory.consolidate(llm=ScriptedLLM(lambda _prompt: hobbies))
    assert pairs(memory) == set()


def test_consolidation_falls_back_to_rules_if_the_model_fails(memory: Memory) -> None:
    memory.remember(MOVES)

    def fail(_prompt: Prompt) -> str:
        raise LLMUnavailable("no server")

    found = memory.consolidate(llm=LLMClient(ScriptedLLM(fail), retries=0))
    assert pairs(memory) == {("old", "new")}
    assert found.usage.failures > 0


@pytest.mark.medium
def test_consolidation_stops_at_its_token_limit(memory: Memory) -> None:
    memory.remember([Episode(f"Note {n} of the log.", f"n{n}") for n in range(LIMITED_STEP_SIZE + 5)])
    found = memory.consolidate(llm=ScriptedLLM(lambda _prompt: reply()), tokens=1)
    assert found.pending_count == 5


@pytest.mark.medium
def test_dry_run_counts_all_memories(memory: Memory) -> None:
    memory.remember([Episode(f"Note {n} of the log.", f"n{n}") for n in range(LIMITED_STEP_SIZE + 5)])
    assert memory.consolidate(seconds=100, dry_run=True).counts["memories"] == LIMITED_STEP_SIZE + 5
    assert np.all(memory.graph().of_kind(Kind.EPISODE))


@pytest.mark.medium
def test_dry_run_asks_no_model_and_estimates_what_it_would_consume(memory: Memory) -> None:
    memory.remember([Episode(f"Ana likes tea number {n}.", f"n{n}") for n in range(20)])
    llm = ScriptedLLM(lambda _prompt: reply())
    planned = memory.consolidate(llm=llm, dry_run=True)
    assert (llm.prompts, planned.usage.calls) == ([], 0)
    assert planned.estimate is not None
    usage = memory.consolidate(llm=llm).usage
    assert (planned.estimate.calls, planned.estimate.tokens_in) == (usage.calls, usage.tokens_in)
    assert planned.estimate.calls >= 3
    assert usage.tokens_out <= planned.estimate.max_tokens_out
    assert memory.consolidate(dry_run=True).estimate is None
