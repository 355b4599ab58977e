"""Who may end what somebody said: by speaker, trust and matter, as consolidation finds it and as the caller says."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import Episode, Memory
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import InvalidInput
from ecphora.model import FactRelation, Validity
from ecphora.ports import Prompt
from ecphora.stages.retrieval.trust import Attribution, may_supersede
from ecphora.testing import ConstantScorer, FakeClock, ScriptedLLM

NOW = datetime(2027, 1, 1, tzinfo=UTC)
TRUSTS = {"lower": (0.7, 0.2), "equal": (0.7, 0.7), "higher": (0.7, 0.9)}
"""Of the earlier memory, and of the later one as that compares."""
SPEAKERS = [("Ana", "Ana"), ("Ana", "Bo"), ("Ana", "ana"), ("Ana", None), (None, None), (None, "Bo")]
"""Who told the earlier memory, and who the later."""
OWN, THING = "of the speaker's own", "of a thing"
MATTERS = {
    OWN: ("My phone number is 555-0142 now.", "555-0142", "555-0199"),
    THING: ("The phone number of the library is 555-0142 now.", "555-0142", "555-0199"),
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(
        tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=ConstantScorer(), clock=FakeClock(NOW)
    ) as opened:
        yield opened


def pair(matter: str, speakers: Sequence[str | None], trusts: Sequence[float]) -> list[Episode]:
    """A phone number, and later another one for the same."""
    text, number, other = MATTERS[matter]
    later = text.replace(number, other)
    if matter == OWN and speakers[0] != speakers[1]:
        later = later.replace("My", f"{speakers[0]}'s" if speakers[0] else "The")
    return [
        Episode(said, id_, speaker, id_, told, trust=trust)
        for said, id_, speaker, told, trust in zip(
            (text, later), ("old", "new"), speakers, ("2026-02-01", "2026-05-01"), trusts, strict=True
        )
    ]


def model(matter: str, speakers: Sequence[str | None]) -> ScriptedLLM:
    """A language model that takes the facts out of what it is shown of a pair."""
    subject = "library" if matter == THING else speakers[0] or "the speaker"

    def reply(prompt: Prompt) -> str:
        shown = [value for value in MATTERS[matter][1:] if value in prompt.user]
        claims = [
            {"statement": number, "subject": subject, "attribute": "phone number", "value": value, "polarity": True,
             "from": None, "until": None, "single": True}
            for number, value in enumerate(shown, 1)
        ]  # fmt: skip
        return json.dumps({"claims": claims}) if "statements" in prompt.user else "{}"

    return ScriptedLLM(reply)


@pytest.mark.parametrize("way", ["reading", "model, in two nights"])
@pytest.mark.parametrize("matter", MATTERS)
@pytest.mark.parametrize("trust", TRUSTS)
@pytest.mark.parametrize("speakers", SPEAKERS, ids=str)
def test_who_ends_what_as_consolidation_finds_it(
    tmp_path: Path, way: str, matter: str, trust: str, speakers: tuple[str | None, str | None]
) -> None:
    old, new = pair(matter, speakers, TRUSTS[trust])
    llm: Any = None if way == "reading" else model(matter, speakers)
    comparer = ConstantScorer() if way == "reading" else None
    with Memory(
        tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=comparer, clock=FakeClock(NOW)
    ) as memory:
        memory.remember([old] if "two" in way else [old, new])
        memory.consolidate(llm=llm)
        memory.remember(new)
        memory.consolidate(llm=llm)
        found = memory.facts.updates()  # what the model finds, the rules may find too
        earlier, later = speakers
        ends = trust != "lower" and (earlier == later or (later is not None and matter == THING))
        relation = FactRelation.SUPERSEDES if ends else FactRelation.CONTRADICTS
        assert {(one.old.id, one.new.id, one.relation) for one in found} == {("old", "new", relation)}
        hits = {hit.id: hit.validity for hit in memory.recall("phone number")}
        if ends:
            assert hits["old"] == Validity(is_valid=False, valid_to=found[0].valid_from, superseded_by=("new",))
        else:
            assert hits["old"] == Validity(is_valid=True, contradicted_by=("new",))
            assert hits["new"] == Validity(is_valid=True, contradicted_by=("old",))


@pytest.mark.parametrize("trust", TRUSTS)
@pytest.mark.parametrize("speakers", SPEAKERS, ids=str)
def test_who_ends_what_as_the_caller_declares_it(
    memory: Memory, trust: str, speakers: tuple[str | None, str | None]
) -> None:
    old, new = pair(OWN, speakers, TRUSTS[trust])
    new = replace(new, supersedes="old")
    memory.remember(old)
    if trust == "lower":
        with pytest.raises(InvalidInput, match=r"trust 0\.2 .* has 0\.7; .* without supersedes"):
            memory.remember(["It rains.", new])
        assert len(memory) == 1  # nothing was written, neither this nor what came with it
        return
    memory.remember(["It rains.", new])
    ended = memory.get("old")
    assert ended is not None
    assert ended.valid_to == datetime(2026, 5, 1, tzinfo=UTC)


def test_the_trust_that_is_stored_counts_and_a_memory_that_is_known_is_no_news(memory: Memory) -> None:
    old, new = pair(THING, ("Ana", "Ana"), (0.1, 0.1))
    memory.remember([old, replace(new, supersedes="old")])
    done = memory.remember([replace(old, trust=1.0), replace(new, supersedes="old")])
    assert done.existing == ("old", "new")
    memory.remember(replace(new, id="third", supersedes="old"))
    with pytest.raises(InvalidInput, match="trust"):
        memory.remember(Episode("It rains.", trust=0.05, supersedes="old"))
    with pytest.raises(InvalidInput, match="trust"):
        memory.remember([Episode("It snows.", "snow"), Episode("It rains.", trust=0.5, supersedes="snow")])


def test_what_a_stranger_says_leaves_an_own_number_in_the_first_place(tmp_path: Path) -> None:
    """The case that was seen: by rules alone, with nothing else to tell the two apart."""
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock(NOW)) as memory:
        memory.remember("My phone number is 555-0142.", speaker="Ana", happened_at="2026-02-01", id="ana")
        memory.remember(
            "My phone number is 555-0199 now.", speaker="ana", happened_at="2026-05-01", id="stranger", trust=0.0
        )
        memory.consolidate()
        (found,) = memory.facts.updates()
        assert found.relation is FactRelation.CONTRADICTS
        assert {hit.id: hit.validity.is_valid for hit in memory.recall("Ana's phone number") if hit.validity} == {
            "ana": True,
            "stranger": True,
        }


def test_voices_are_compared_to_the_letter_and_trusts_as_a_graph_holds_them() -> None:
    ana = Attribution("Ana", 0.7, is_about_self=True)
    assert may_supersede(Attribution("Ana", 0.7), ana)
    assert may_supersede(Attribution("Ana", float(np.float32(0.7))), ana)
    assert may_supersede(ana, Attribution("Ana", float(np.float32(0.7))))
    assert not may_supersede(Attribution("Ana", 0.69), ana)
    assert not may_supersede(Attribution("ana", 1.0), ana)
    assert not may_supersede(Attribution("Ana ", 1.0), ana)
