"""Who may supersede a statement: by speaker, trust and topic, found by consolidation or declared by the caller."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import Episode, Memory
from ecphora.errors import InvalidInput
from ecphora.model.ports import Prompt
from ecphora.model.types import FactRelation, Validity
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval.validity import Attribution, may_supersede
from ecphora.testing import ConstantScorer, FakeClock, ScriptedLLM

NOW = datetime(2027, 1, 1, tzinfo=UTC)
TRUSTS = {"lower": (0.7, 0.2), "equal": (0.7, 0.7), "higher": (0.7, 0.9)}
"""The trust of the earlier memory and of the later one, by how the later compares."""
SPEAKERS = [("Ana", "Ana"), ("Ana", "Bo"), ("Ana", "ana"), ("Ana", None), (None, None), (None, "Bo")]
"""The speakers of the earlier and the later memory."""
SPEAKER, THING = "about the speaker", "about a thing"
TOPICS = {
    SPEAKER: ("My phone number is 555-0142 now.", "555-0142", "555-0199"),
    THING: ("The phone number of the library is 555-0142 now.", "555-0142", "555-0199"),
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(
        tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=ConstantScorer(), clock=FakeClock(NOW)
    ) as opened:
        yield opened


def pair(topic: str, speakers: Sequence[str | None], trusts: Sequence[float]) -> list[Episode]:
    """A phone number, and later another one for the same person or thing."""
    text, number, other = TOPICS[topic]
    later = text.replace(number, other)
    if topic == SPEAKER and speakers[0] != speakers[1]:
        later = later.replace("My", f"{speakers[0]}'s" if speakers[0] else "The")
    return [
        Episode(statement, id_, speaker, id_, happened_at, trust=trust)
        for statement, id_, speaker, happened_at, trust in zip(
            (text, later), ("old", "new"), speakers, ("2026-02-01", "2026-05-01"), trusts, strict=True
        )
    ]


def model(topic: str, speakers: Sequence[str | None]) -> ScriptedLLM:
    """A language model that extracts the facts of a pair from its prompt."""
    subject = "library" if topic == THING else speakers[0] or "the speaker"

    def reply(prompt: Prompt) -> str:
        shown_values = [value for value in TOPICS[topic][1:] if value in prompt.user]
        claims = [
            {"statement": number, "subject": subject, "attribute": "phone number", "value": value, "polarity": True,
             "from": None, "until": None, "single": True}
            for number, value in enumerate(shown_values, 1)
        ]  # fmt: skip
        return json.dumps({"claims": claims}) if "statements" in prompt.user else "{}"

    return ScriptedLLM(reply)


@pytest.mark.medium
@pytest.mark.parametrize("method", ["cross-encoder", "model, in two runs"])
@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("trust", TRUSTS)
@pytest.mark.parametrize("speakers", SPEAKERS, ids=str)
def test_consolidation_supersedes_by_speaker_trust_and_topic(
    tmp_path: Path, method: str, topic: str, trust: str, speakers: tuple[str | None, str | None]
) -> None:
    old, new = pair(topic, speakers, TRUSTS[trust])
    llm: Any = None if method == "cross-encoder" else model(topic, speakers)
    update_scorer = ConstantScorer() if method == "cross-encoder" else None
    with Memory(
        tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=update_scorer, clock=FakeClock(NOW)
    ) as memory:
        memory.remember([old] if "two" in method else [old, new])
        memory.consolidate(llm=llm)
        memory.remember(new)
        memory.consolidate(llm=llm)
        found = memory.facts.updates()  # the rules may find the model's updates too
        earlier, later = speakers
        ends = trust != "lower" and (earlier == later or (later is not None and topic == THING))
        relation = FactRelation.SUPERSEDES if ends else FactRelation.CONTRADICTS
        assert {(update.old.id, update.new.id, update.relation) for update in found} == {("old", "new", relation)}
        hits = {hit.id: hit.validity for hit in memory.recall("phone number")}
        if ends:
            assert hits["old"] == Validity(is_valid=False, valid_to=found[0].valid_from, superseded_by=("new",))
        else:
            assert hits["old"] == Validity(is_valid=True, contradicted_by=("new",))
            assert hits["new"] == Validity(is_valid=True, contradicted_by=("old",))


@pytest.mark.parametrize("trust", TRUSTS)
@pytest.mark.parametrize("speakers", SPEAKERS, ids=str)
def test_declared_supersession_needs_enough_trust(
    memory: Memory, trust: str, speakers: tuple[str | None, str | None]
) -> None:
    old, new = pair(SPEAKER, speakers, TRUSTS[trust])
    new = replace(new, supersedes="old")
    memory.remember(old)
    if trust == "lower":
        with pytest.raises(InvalidInput, match=r"trust 0\.2 .* has 0\.7; .* without supersedes"):
            memory.remember(["It rains.", new])
        assert len(memory) == 1  # nothing of the batch was written
        return
    memory.remember(["It rains.", new])
    ended = memory.get("old")
    assert ended is not None
    assert ended.valid_to == datetime(2026, 5, 1, tzinfo=UTC)


def test_stored_trust_counts_and_known_memories_are_not_checked(memory: Memory) -> None:
    old, new = pair(THING, ("Ana", "Ana"), (0.1, 0.1))
    memory.remember([old, replace(new, supersedes="old")])
    result = memory.remember([replace(old, trust=1.0), replace(new, supersedes="old")])
    assert result.existing == ("old", "new")
    memory.remember(replace(new, id="third", supersedes="old"))
    with pytest.raises(InvalidInput, match="trust"):
        memory.remember(Episode("It rains.", trust=0.05, supersedes="old"))
    with pytest.raises(InvalidInput, match="trust"):
        memory.remember([Episode("It snows.", "snow"), Episode("It rains.", trust=0.5, supersedes="snow")])


def test_untrusted_speaker_cannot_supersede_a_number(tmp_path: Path) -> None:
    """A case from practice: rules only, and nothing else distinguishes the two."""
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock(NOW)) as memory:
        memory.remember("My phone number is 555-0142.", speaker="Ana", happened_at="2026-02-01", id="ana")
        memory.remember(
            "My phone number is 555-0199 now.", speaker="ana", happened_at="2026-05-01", id="stranger", trust=0.0
        )
        memory.consolidate()
        (found,) = memory.facts.updates(pending=True)
        assert found.relation is FactRelation.CONTRADICTS
        memory.facts.accept("ana", "stranger")
        assert {hit.id: hit.validity.is_valid for hit in memory.recall("Ana's phone number") if hit.validity} == {
            "ana": True,
            "stranger": True,
        }


def test_may_supersede_compares_speakers_exactly_and_trusts_as_float32() -> None:
    ana = Attribution("Ana", 0.7, is_about_self=True)
    assert may_supersede(Attribution("Ana", 0.7), ana)
    assert may_supersede(Attribution("Ana", float(np.float32(0.7))), ana)
    assert may_supersede(ana, Attribution("Ana", float(np.float32(0.7))))
    assert not may_supersede(Attribution("Ana", 0.69), ana)
    assert not may_supersede(Attribution("ana", 1.0), ana)
    assert not may_supersede(Attribution("Ana ", 1.0), ana)


def test_statement_is_not_about_its_speaker_unless_told_otherwise() -> None:
    """So another speaker may supersede it."""
    assert may_supersede(Attribution("Bo"), Attribution("Ana"))
    assert not may_supersede(Attribution("Bo"), Attribution("Ana", is_about_self=True))
