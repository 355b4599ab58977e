"""The two clocks: what comes back, and how it stands, by when it happened, was recorded, and since when it holds.

docs/time.md has the same as a table.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ecphora import Episode, Memory
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import InvalidInput
from ecphora.explain import MissReason
from ecphora.model import Validity
from ecphora.testing import ConstantScorer, FakeClock, ScriptedLLM

LATER = datetime(2027, 1, 1, tzinfo=UTC)
"""When it is asked."""
AS_OF, KNOWN_AT = "2026-05-15", "2026-08-01"
TOLD = {"before as_of": "2026-05-05", "after as_of": "2026-05-25"}
RECORDED = {"before known_at": "2026-07-01", "after known_at": "2026-09-01"}
SINCE = {"before as_of": "2026-05-01", "after as_of": "2026-06-10"}
LISBON = Episode("You will find me under the Lisbon sky.", "old", "Ana", "a", "2026-01-05")
QUESTION = "Where will you find Ana?"


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def porto(told: str) -> Episode:
    return Episode("You will find me under the Porto sky.", "new", "Ana", "b", told)


def home(number: int, value: str, since: str | None) -> dict[str, Any]:
    return {"statement": number, "subject": "Ana", "attribute": "home", "value": value, "polarity": True,
            "from": since, "until": None, "single": True}  # fmt: skip


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(day("2026-01-05"))


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=clock) as opened:
        yield opened


def moved(memory: Memory, clock: FakeClock, *, told: str, recorded: str, since: str) -> None:
    """Lisbon, and later Porto, told and recorded then, which holds since then."""
    memory.remember(LISBON)
    clock.now = day(recorded)
    memory.remember(porto(told))
    clock.now = LATER
    homes = json.dumps({"claims": [home(1, "Lisbon", None), home(2, "Porto", since)]})
    memory.consolidate(llm=ScriptedLLM(lambda prompt: homes if "statements" in prompt.user else "{}"))


@pytest.mark.parametrize("retroactive", [False, True])
@pytest.mark.parametrize("since", SINCE)
@pytest.mark.parametrize("recorded", RECORDED)
@pytest.mark.parametrize("told", TOLD)
def test_what_comes_back_by_both_clocks(
    memory: Memory, clock: FakeClock, told: str, recorded: str, since: str, *, retroactive: bool
) -> None:
    moved(memory, clock, told=TOLD[told], recorded=RECORDED[recorded], since=SINCE[since])
    asked: dict[str, Any] = {"as_of": AS_OF, "known_at": KNOWN_AT, "retroactive": retroactive}
    found = memory.recall(QUESTION, **asked)
    hits = {hit.id: hit for hit in found}

    known = recorded == "before known_at"
    seen = known and (told == "before as_of" or retroactive)
    comes = known and (told == "before as_of" or (retroactive and since == "before as_of"))
    assert set(hits) == ({"old", "new"} if comes else {"old"})
    assert (memory.why_not(QUESTION, "new", **asked).miss_reason == MissReason.FILTER) is not comes

    replaced = seen and since == "before as_of"
    until = Validity(is_valid=not replaced, valid_to=day(SINCE[since]), superseded_by=("new",) if replaced else ())
    assert hits["old"].validity == (until if seen else None)
    assert hits["old"].why.contributions
    assert seen or "standing" not in {share.feature for share in hits["old"].why.contributions}
    assert not replaced or found[0].id == "new"


@pytest.mark.parametrize("retroactive", [False, True])
@pytest.mark.parametrize("recorded", RECORDED)
@pytest.mark.parametrize("told", TOLD)
def test_a_declared_end_is_seen_by_both_clocks(
    memory: Memory, clock: FakeClock, told: str, recorded: str, *, retroactive: bool
) -> None:
    memory.remember(LISBON)
    clock.now = day(RECORDED[recorded])
    memory.remember(porto(TOLD[told]).text, id="new", happened_at=TOLD[told], supersedes="old")
    clock.now = LATER
    hits = {hit.id: hit for hit in memory.recall(QUESTION, as_of=AS_OF, known_at=KNOWN_AT, retroactive=retroactive)}
    known = recorded == "before known_at"
    assert set(hits) == ({"old", "new"} if known and told == "before as_of" else {"old"})
    end = day(TOLD[told]) if known and (told == "before as_of" or retroactive) else None
    assert hits["old"].node.valid_to == end
    assert (None if hits["old"].validity is None else hits["old"].validity.valid_to) == end
    answer = memory.answer(QUESTION, as_of=AS_OF, known_at=KNOWN_AT, retroactive=retroactive)
    assert ("held until" in answer.text) is (answer.cited_ids == ("old",) and end is not None)


FIRST_TOLD = [
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


@pytest.mark.parametrize("texts", FIRST_TOLD, ids=["wedding", "phone", "rehearsal"])
def test_a_correction_that_speaks_of_an_earlier_telling_is_not_dated_before_it(
    tmp_path: Path, texts: tuple[str, str]
) -> None:
    comparer = ConstantScorer()
    with Memory(
        tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=comparer, clock=FakeClock(LATER)
    ) as memory:
        days = ("2026-03-01", "2026-06-01")
        memory.remember(
            [Episode(text, id_, "Ana", id_, told) for text, id_, told in zip(texts, ("old", "new"), days, strict=True)]
        )
        memory.consolidate()
        (change,) = memory.facts.updates()
        assert (change.old.id, change.new.id) == ("old", "new")
        assert day("2026-03-01") <= change.valid_from <= day("2026-06-01")
        for retroactive in (False, True):
            assert len(memory.recall(texts[0], as_of="2026-02-01", retroactive=retroactive)) == 0
        (then,) = memory.recall(texts[0], as_of="2026-04-01")
        assert (then.id, then.validity) == ("old", None)
        now = {hit.id: hit.validity for hit in memory.recall(texts[0])}
        assert now["old"] == Validity(is_valid=False, valid_to=change.valid_from, superseded_by=("new",))


def test_what_a_chain_replaces_is_never_later_than_what_replaces_it(memory: Memory) -> None:
    """Each claims to hold since long before the one that it replaces; the last one replaces both."""
    towns = ("Lisbon", None, "2026-02-01"), ("Porto", "2026-01-10", "2026-03-01"), ("Ghent", "2026-01-05", "2026-04-01")
    memory.remember([Episode(f"{town} it is.", town, "Ana", happened_at=told) for town, _, told in towns])
    facts = [home(number, town, since) for number, (town, since, _) in enumerate(towns, 1)]
    reply = json.dumps({"claims": facts})
    memory.consolidate(llm=ScriptedLLM(lambda prompt: reply if "statements" in prompt.user else "{}"))
    assert {(one.old.id, one.new.id): one.valid_from for one in memory.facts.updates()} == dict.fromkeys(
        [("Lisbon", "Porto"), ("Lisbon", "Ghent"), ("Porto", "Ghent")], day("2026-02-01")
    )


def test_what_was_to_begin_later_is_replaced_when_that_is_told(memory: Memory) -> None:
    towns = ("Lisbon", "2026-09-01", "2026-02-01"), ("Porto", None, "2026-03-01")
    memory.remember([Episode(f"{town} it is.", town, "Ana", happened_at=told) for town, _, told in towns])
    reply = json.dumps({"claims": [home(number, town, since) for number, (town, since, _) in enumerate(towns, 1)]})
    memory.consolidate(llm=ScriptedLLM(lambda prompt: reply if "statements" in prompt.user else "{}"))
    (change,) = memory.facts.updates()
    assert change.valid_from == day("2026-03-01")


def test_a_time_that_the_question_names_is_no_as_of(memory: Memory, clock: FakeClock) -> None:
    moved(memory, clock, told="2026-05-25", recorded="2026-06-01", since="2026-05-01")
    found = memory.recall("Where would you find Ana on 15 May 2026?")
    hits = {hit.id: hit.validity for hit in found}
    assert hits.keys() == {"old", "new"}
    assert hits["old"] == Validity(is_valid=False, valid_to=day("2026-05-01"), superseded_by=("new",))


def test_retroactive_goes_with_as_of(memory: Memory) -> None:
    memory.remember(LISBON)
    calls = (
        memory.recall,
        memory.build_query,
        memory.answer,
        lambda question, **asked: memory.why_not(question, "old", **asked),
    )
    for call in calls:
        with pytest.raises(InvalidInput, match="needs as_of"):
            call(QUESTION, retroactive=True)
    assert memory.answer(QUESTION, as_of="2026-02-01", retroactive=True).is_answered
