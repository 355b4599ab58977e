"""The clauses of a reason: what each observation says, and when it says nothing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.cli.demo import show
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.graph import Graph, epoch_seconds
from ecphora.language.name_normalization import entity_id
from ecphora.language.terms import extract_terms, shared_terms
from ecphora.memory import Memory
from ecphora.model import PRIOR, Episode, Query
from ecphora.ports import Activation, ActivationPath
from ecphora.reason_clauses import CLAUSE_BUILDERS, format_interval
from ecphora.short_ids import abbreviate
from ecphora.stages.fused import features
from ecphora.strategies import BUILT_IN, FAITHFUL, resolve_strategy
from ecphora.testing import NOON, FakeClock

DIGEST = re.compile("[0-9a-f]{8}")


UNTOLD = frozenset(
    {
        "first-stage rank",
        "redundancy",
        "turn length",
        "is question",
        "mentions time",
        "entity count",
        "importance",
        "pagerank",
        "other bank",
        "expired",
        "decay",
        "archived",
        PRIOR,
    }
)
"""Stages that explain nothing: a place in a list, what every question gives a memory, what takes from a score."""


@dataclass(frozen=True)
class Given:
    """Gives each episode, in the order of rows, what it was told to, by ways if it was told any: row, name."""

    shares: Mapping[str, Sequence[float]]
    ways: Mapping[str, Mapping[int, tuple[int, int]]] | None = None
    name: str = "given"

    def activate(self, _cue: Query, graph: Graph, /) -> Activation:
        """The shares and their sum."""
        rows = np.flatnonzero(graph.episodes)
        shares = {stage: graph.zeros() for stage in self.shares}
        for stage, values in self.shares.items():
            shares[stage][rows] = values
        trails = {}
        for stage, ways in (self.ways or {}).items():
            trails[stage] = ActivationPath(np.full(len(graph), -1, np.intp), np.full(len(graph), -1, np.intp))
            for row, (by, via) in ways.items():
                trails[stage].parent[row], trails[stage].via_entity[row] = by, via
        return Activation(np.sum(list(shares.values()), axis=0), shares, trails)


def turn(text: str, speaker: str | None = None, **fields: Any) -> Episode:
    return Episode(text, speaker=speaker, **{"happened_at": "2026-05-03", **fields})


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        yield opened


def recalled(memory: Memory, question: str, **asked: Any) -> dict[str, str]:
    """The reason of each memory that comes back, by its text."""
    found = memory.recall(question, **{"log_access": False, **asked})
    return {hit.text: hit.reason for hit in found}


@pytest.mark.parametrize(
    ("text", "question", "said"),
    [
        ("Ana's cats sleep.", "Where does Ana's cat sleep?", ["Ana", "cats (cat)", "sleep"]),
        ("THE BAKERY!", "Which bakery?", ["BAKERY"]),
        ("Die Bäckerei hat Brötchen.", "Welche Bäckerei?", ["Bäckerei"]),
        ("Das Cafe\u0301 dort", "welches café?", ["Cafe\u0301 (café)"]),
        ("我养了一只猫,叫小白。", "猫叫什么名字?", ["猫", "叫"]),
        ("我在北京大学学习。", "北京大学在哪里?", ["北京大学"]),
        ("うちの猫はタマです。", "猫の名前は?", ["猫"]),
        ("東京タワーに行った。", "東京タワーはどこ?", ["東京タワー"]),
        ("It rained.", "Where is it?", []),
        ("", "x", []),
    ],
)
def test_words_are_quoted_as_they_are_written(text: str, question: str, said: list[str]) -> None:
    found = shared_terms(text, question)
    assert [f"{one.surface} ({one.question_surface})" if one.is_inflected else one.surface for one in found] == said


@given(st.text(max_size=80), st.text(max_size=40))
def test_a_quote_stands_in_both_texts(text: str, question: str) -> None:
    for one in shared_terms(text, question):
        assert one.surface in text
        assert (
            one.question_surface in question or one.surface == one.question_surface
        )  # a stretch is folded before it is compared
        assert set(one.terms) <= set(extract_terms(text)) & set(extract_terms(question))


@pytest.mark.parametrize(
    ("texts", "question", "reason"),
    [
        (("Meine Schwester hat eine Bäckerei.", "Es regnet."), "Wer hat eine Bäckerei?", "says “eine” and “Bäckerei”"),
        (("我养了一只猫。", "今天下雨了。"), "谁养猫?", "says “养” and “猫”"),
        (("東京タワーに行った。", "雨が降った。"), "東京タワーはどこ?", "says “東京タワー”"),
    ],
)
def test_other_languages_are_quoted_too(texts: Sequence[str], question: str, reason: str, memory: Memory) -> None:
    memory.remember(map(turn, texts))
    given_ = Given({"bm25": (2, 1)})
    assert recalled(memory, question, strategy=given_)[texts[0]] == reason


def test_who_speaks(memory: Memory) -> None:
    memory.remember([turn("It rained.", "Ana"), turn("It snowed.", "user"), turn("Hail.", "Bo"), turn("Sun.")])
    ahead = Given({"named speaker": (4, 3, 2, 1)})
    assert recalled(memory, "What did Ana see?", strategy=ahead)["It rained."] == "Ana, who is asked about, speaks"
    assert (
        recalled(memory, "What did Ana and Bo see?", strategy=ahead)["Hail."] == "Bo, one of those asked about, speaks"
    )
    assert recalled(memory, "What did I see?", strategy=ahead)["It snowed."] == "the user, who asks, speaks"
    assert recalled(memory, "Who saw it?", strategy=ahead) == dict.fromkeys(
        ["It rained.", "It snowed.", "Hail.", "Sun."], ""
    )


def test_when_it_was(memory: Memory) -> None:
    memory.remember([
        turn("It rained.", happened_at="2026-05-03T10:00:00"),
        turn("It had snowed on 4 April 2026.", happened_at="2026-06-01"),
        turn("Hail.", happened_at="2026-01-01"),
    ])  # fmt: skip
    dated = Given({"date match": (3, 2, 1)})
    assert recalled(memory, "What was on 3 May 2026?", strategy=dated)["It rained."] == (
        "is of 3 May 2026, the time asked about"
    )
    assert recalled(memory, "What was in April 2026?", strategy=dated)["It had snowed on 4 April 2026."] == (
        "speaks of 4 April 2026, the time asked about; says “April” and “2026”"
    )
    late = Given({"recency": (2, 3, 1)})
    assert list(recalled(memory, "Weather?", strategy=late).values()) == [
        "is later, of 1 June 2026",
        "is later, of 3 May 2026",
        "",
    ]
    asked = Given({"time for when-question": (1, 3, 2)})
    assert (
        recalled(memory, "When?", strategy=asked)["It had snowed on 4 April 2026."] == "speaks of a time, 4 April 2026"
    )


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        ((2026, 5, 3), (2026, 5, 4), "3 May 2026"),
        ((2026, 2, 1), (2026, 3, 1), "February 2026"),
        ((2026, 1, 1), (2027, 1, 1), "2026"),
        ((2026, 4, 27), (2026, 5, 4), "27 April 2026 to 3 May 2026"),
    ],
)
def test_a_stretch_of_time_in_words(start: tuple[int, int, int], end: tuple[int, int, int], said: str) -> None:
    assert format_interval(*(epoch_seconds(datetime(*one, tzinfo=NOON.tzinfo)) for one in (start, end))) == said


def test_a_number_is_told_only_of_what_gives_one(memory: Memory) -> None:
    memory.remember([turn("Three came."), turn("Some came.")])
    counted = Given({"number for how-many-question": (1, 2)})
    assert recalled(memory, "How many came?", strategy=counted) == {
        "Some came.": "says “came”",
        "Three came.": "gives a number; says “came”",
    }


def test_what_is_told_beside_it(memory: Memory) -> None:
    memory.remember([
        turn("We went to the bakery.", id="one", session="s"),
        turn("And?", id="two", session="s"),
        turn("Closed.", id="three", session="s"),
        turn("Ah.", id="four", session="s"),
        turn("Nothing.", id="five", session="t"),
    ])  # fmt: skip
    beside = Given({"adjacent turn": (5, 4, 3, 2, 1)})
    found = memory.recall("Was the bakery open?", strategy=beside, log_access=False)
    assert [hit.reason for hit in found][:4] == [
        "says “bakery”",
        "comes right after one, which says “bakery”",
        "comes soon after one, which says “bakery”",
        "comes soon after one, which says “bakery”",
    ]
    answers = Given({"follows question": (1, 1, 5, 2, 1)})
    assert recalled(memory, "Was it open?", strategy=answers)["Closed."] == "follows the question two"
    session = Given({"session score": (5, 1, 1, 1, 4)})
    memory.remember(turn("Yes.", id="six", session="t"))
    assert recalled(memory, "Well?", strategy=Given({"session score": (5, 1, 1, 1, 4, 3)}))["Yes."] == ""
    memory.remember(turn(f"Later {n}.", session="s") for n in range(5))
    session = Given({"session score": (9, 1, 1, 1, 2, 2, 1, 1, 1, 1, 8)})
    assert recalled(memory, "Well?", strategy=session)["Later 4."] == "is of the same session as one"


def test_the_memory_that_led_to_it_with_its_short_id(memory: Memory) -> None:
    first, second = memory.remember([turn("Lotte Maes has a bakery."), turn("I met Lotte Maes.")]).ids
    other = memory.remember(turn("It rained.")).id
    graph = memory.graph()
    by, row, name = (graph.rows([id_]).item() for id_ in (first, second, entity_id("Lotte Maes")))
    short = abbreviate([first], graph)[first]
    assert DIGEST.fullmatch(short)
    ways = {"title link": {row: (by, name)}}
    found = memory.recall("Whose bakery?", strategy=Given({"title link": (1, 9, 1)}, ways), log_access=False)
    assert found[0].reason == f"follows from {short}, which names “Lotte Maes”"
    assert first in next(share.path for share in found[0].why.contributions if share.feature == "title link")
    without = {"title link": {graph.rows([other]).item(): (by, name)}, "best entity link": {}}
    elsewhere = memory.recall("Whose?", strategy=Given({"title link": (1, 1, 9)}, without), log_access=False)
    assert elsewhere[0].reason == f"follows from {short}, which names “Lotte Maes”"
    engram = {"engrams": {row: (name, -1), name: (-1, -1)}}
    touched = memory.recall("Whose?", strategy=Given({"engrams": (1, 9, 1)}, engram), log_access=False)
    assert touched[0].reason == "is linked to “Lotte Maes”"
    through = {"engrams": {row: (name, -1), name: (by, -1)}}
    led = memory.recall("Whose?", strategy=Given({"engrams": (1, 9, 1)}, through), log_access=False)
    assert led[0].reason == f"follows from {short}, which names “Lotte Maes”"


def test_what_it_replaces(memory: Memory) -> None:
    memory.remember([turn("I live in Porto.", "Ana", id="old"), turn("It rained.")])
    memory.remember(turn("I live in Ghent.", "Ana", id="new", supersedes="old", happened_at="2026-06-01"))
    led = Given({"successor": (1, 1, 9)}, {"successor": {memory.graph().row("new") or 0: (0, -1)}})
    assert recalled(memory, "Where?", strategy=led)["I live in Ghent."] == "replaces old"


def test_what_was_of_use(memory: Memory) -> None:
    memory.remember([turn("A cat sat.", id="cat"), turn("A dog ran.", id="dog"), turn("It rained.", id="rain")])
    useful = Given({"similar question feedback": (9, 1, 1)})
    assert recalled(memory, "What?", strategy=useful)["A cat sat."] == "was of use for a question like this one"
    together = Given({"co-use": (1, 9, 1)}, {"co-use": {1: (0, -1)}})
    assert recalled(memory, "What?", strategy=together)["A dog ran."] == "was of use together with cat"


def test_every_stage_is_told_or_known_to_say_nothing(friends: Memory) -> None:
    stages = {column for columns in features.feature_names_by_group().values() for column in columns}
    for name in (*BUILT_IN, *FAITHFUL):
        for question in ("What is the name of Martina's cat?", "What was on 8 February 2025?"):
            activation = resolve_strategy(name).activate(friends.build_query(question), friends.graph())
            stages |= activation.contributions.keys()
    assert stages - CLAUSE_BUILDERS.keys() - UNTOLD == set()
    assert not CLAUSE_BUILDERS.keys() & UNTOLD


@pytest.fixture(scope="module")
def friends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """The conversation of the demo."""
    path = tmp_path_factory.mktemp("friends") / "memory.db"
    with Memory(path, embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        opened.remember(show.load_conversation())
        yield opened
