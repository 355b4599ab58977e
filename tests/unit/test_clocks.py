"""Recall and validity by event time, recording time and start of validity.

docs/how-to/times.md has the same as a table.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ecphora import Episode, Memory, RecallOptions
from ecphora.errors import InvalidInput
from ecphora.model.types import Validity
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.explain import MissReason
from ecphora.testing import ConstantScorer, FakeClock, ScriptedLLM

LATER = datetime(2027, 1, 1, tzinfo=UTC)
"""The time of the question."""
AS_OF, KNOWN_AT = "2026-05-15", "2026-08-01"
HAPPENED = {"before as_of": "2026-05-05", "after as_of": "2026-05-25"}
RECORDED = {"before known_at": "2026-07-01", "after known_at": "2026-09-01"}
SINCE = {"before as_of": "2026-05-01", "after as_of": "2026-06-10"}
LISBON = Episode("You will find me under the Lisbon sky.", "old", "Ana", "a", "2026-01-05")
QUESTION = "Where will you find Ana?"


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def porto(happened: str) -> Episode:
    return Episode("You will find me under the Porto sky.", "new", "Ana", "b", happened)


def home_claim(number: int, value: str, since: str | None) -> dict[str, Any]:
    return {"statement": number, "subject": "Ana", "attribute": "home", "value": value, "polarity": True,
            "from": since, "until": None, "single": True}  # fmt: skip


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(day("2026-01-05"))


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=clock) as opened:
        yield opened


def remember_move(memory: Memory, clock: FakeClock, *, happened: str, recorded: str, since: str) -> None:
    """Remember Lisbon and later Porto, with these event, recording and validity times."""
    memory.remember(LISBON)
    clock.now = day(recorded)
    memory.remember(porto(happened))
    clock.now = LATER
    homes = json.dumps({"claims": [home_claim(1, "Lisbon", None), home_claim(2, "Porto", since)]})
    memory.consolidate(llm=ScriptedLLM(lambda prompt: homes if "statements" in prompt.user else "{}"))


@pytest.mark.medium
@pytest.mark.parametrize("retroactive", [False, True])
@pytest.mark.parametrize("since", SINCE)
@pytest.mark.parametrize("recorded", RECORDED)
@pytest.mark.parametrize("happened", HAPPENED)
def test_recall_follows_event_time_recording_time_and_validity(
    memory: Memory, clock: FakeClock, happened: str, recorded: str, since: str, *, retroactive: bool
) -> None:
    remember_move(memory, clock, happened=HAPPENED[happened], recorded=RECORDED[recorded], since=SINCE[since])
    options: dict[str, Any] = {"as_of": AS_OF, "known_at": KNOWN_AT, "options": RecallOptions(retroactive=retroactive)}
    found = memory.recall(QUESTION, **options)
    hits = {hit.id: hit for hit in found}

    is_recorded = recorded == "before known_at"
    is_known_then = is_recorded and (happened == "before as_of" or retroactive)
    is_returned = is_recorded and (happened == "before as_of" or (retroactive and since == "before as_of"))
    assert set(hits) == ({"old", "new"} if is_returned else {"old"})
    assert (memory.why_not(QUESTION, "new", **options).miss_reason == MissReason.FILTER) is not is_returned

    is_superseded = is_known_then and since == "before as_of"
    until = Validity(
        is_valid=not is_superseded, valid_to=day(SINCE[since]), superseded_by=("new",) if is_superseded else ()
    )
    assert hits["old"].validity == (until if is_known_then else None)
    assert hits["old"].why.contributions
    assert is_known_then or "current fact" not in {part.feature for part in hits["old"].why.contributions}
    assert not is_superseded or found[0].id == "new"


@pytest.mark.parametrize("retroactive", [False, True])
@pytest.mark.parametrize("recorded", RECORDED)
@pytest.mark.parametrize("happened", HAPPENED)
def test_declared_end_follows_event_time_and_recording_time(
    memory: Memory, clock: FakeClock, happened: str, recorded: str, *, retroactive: bool
) -> None:
    memory.remember(LISBON)
    clock.now = day(RECORDED[recorded])
    memory.remember(porto(HAPPENED[happened]).text, id="new", happened_at=HAPPENED[happened], supersedes="old")
    clock.now = LATER
    hits = {
        hit.id: hit
        for hit in memory.recall(
            QUESTION, as_of=AS_OF, known_at=KNOWN_AT, options=RecallOptions(retroactive=retroactive)
        )
    }
    is_recorded = recorded == "before known_at"
    assert set(hits) == ({"old", "new"} if is_recorded and happened == "before as_of" else {"old"})
    end = day(HAPPENED[happened]) if is_recorded and (happened == "before as_of" or retroactive) else None
    assert hits["old"].node.valid_to == end
    assert (None if hits["old"].validity is None else hits["old"].validity.valid_to) == end
    answer = memory.answer(QUESTION, as_of=AS_OF, known_at=KNOWN_AT, options=RecallOptions(retroactive=retroactive))
    assert ("held until" in answer.text) is (answer.cited_ids == ("old",) and end is not None)


CORRECTIONS = [
    (
        "Our wedding is on 20 September.",
        "Correction: the wedding is on 27 September, not the 20th as I first told everybody in February.",
    ),
    (
        "My phone number is 555-0142.",
        "My phone number is 555-0199, not the 555-0142 as I first told everybody in January.",
    ),
    (
        "The rehearsal is at seven.",
        "Sorry, I was wrong: the rehearsal is at eight, not at seven as I first told everybody last year.",
    ),
]


@pytest.mark.medium
@pytest.mark.parametrize("texts", CORRECTIONS, ids=["wedding", "phone", "rehearsal"])
def test_correction_is_valid_only_after_the_memory_it_corrects(tmp_path: Path, texts: tuple[str, str]) -> None:
    scorer = ConstantScorer()
    with Memory(
        tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=scorer, clock=FakeClock(LATER)
    ) as memory:
        days = ("2026-03-01", "2026-06-01")
        memory.remember(
            [
                Episode(text, id_, "Ana", id_, happened)
                for text, id_, happened in zip(texts, ("old", "new"), days, strict=True)
            ]
        )
        memory.consolidate()
        (update,) = memory.facts.updates()
        assert (update.old.id, update.new.id) == ("old", "new")
        assert day("2026-03-01") <= update.valid_from <= day("2026-06-01")
        for retroactive in (False, True):
            assert len(memory.recall(texts[0], as_of="2026-02-01", options=RecallOptions(retroactive=retroactive))) == 0
        (then,) = memory.recall(texts[0], as_of="2026-04-01")
        assert (then.id, then.validity) == ("old", None)
        now = {hit.id: hit.validity for hit in memory.recall(texts[0])}
        assert now["old"] == Validity(is_valid=False, valid_to=update.valid_from, superseded_by=("new",))


def test_superseded_chain_ends_in_order_of_time(memory: Memory) -> None:
    """Each memory claims to be valid since long before the one that it supersedes; the last supersedes both."""
    towns = ("Lisbon", None, "2026-02-01"), ("Porto", "2026-01-10", "2026-03-01"), ("Ghent", "2026-01-05", "2026-04-01")
    memory.remember([Episode(f"{town} it is.", town, "Ana", happened_at=happened) for town, _, happened in towns])
    facts = [home_claim(number, town, since) for number, (town, since, _) in enumerate(towns, 1)]
    reply = json.dumps({"claims": facts})
    memory.consolidate(llm=ScriptedLLM(lambda prompt: reply if "statements" in prompt.user else "{}"))
    assert {(one.old.id, one.new.id): one.valid_from for one in memory.facts.updates()} == dict.fromkeys(
        [("Lisbon", "Porto"), ("Lisbon", "Ghent"), ("Porto", "Ghent")], day("2026-02-01")
    )


def test_announced_fact_ends_when_its_successor_is_stated(memory: Memory) -> None:
    towns = ("Lisbon", "2026-09-01", "2026-02-01"), ("Porto", None, "2026-03-01")
    memory.remember([Episode(f"{town} it is.", town, "Ana", happened_at=happened) for town, _, happened in towns])
    reply = json.dumps(
        {"claims": [home_claim(number, town, since) for number, (town, since, _) in enumerate(towns, 1)]}
    )
    memory.consolidate(llm=ScriptedLLM(lambda prompt: reply if "statements" in prompt.user else "{}"))
    (update,) = memory.facts.updates()
    assert update.valid_from == day("2026-03-01")


def test_time_in_the_question_is_not_as_of(memory: Memory, clock: FakeClock) -> None:
    remember_move(memory, clock, happened="2026-05-25", recorded="2026-06-01", since="2026-05-01")
    found = memory.recall("Where would you find Ana on 15 May 2026?")
    hits = {hit.id: hit.validity for hit in found}
    assert hits.keys() == {"old", "new"}
    assert hits["old"] == Validity(is_valid=False, valid_to=day("2026-05-01"), superseded_by=("new",))


def test_retroactive_needs_as_of(memory: Memory) -> None:
    memory.remember(LISBON)
    calls = (
        memory.recall,
        memory.build_query,
        memory.answer,
        lambda question, **options: memory.why_not(question, "old", **options),
    )
    for call in calls:
        with pytest.raises(InvalidInput, match="needs as_of"):
            call(QUESTION, options=RecallOptions(retroactive=True))
    assert memory.answer(QUESTION, as_of="2026-02-01", options=RecallOptions(retroactive=True)).is_answered
