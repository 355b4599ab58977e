"""What sets a memory apart, in words: every word of it true, and chosen by the shares of the score."""

import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
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
from ecphora.model import PRIOR, Episode, Filter, Hit, Kind, Query, Recollection
from ecphora.ports import Activation, ActivationPath
from ecphora.reason_clauses import CLAUSE_BUILDERS, format_day, format_interval
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


# ---- what it tells is what sets the memory apart


def test_what_is_furthest_ahead_comes_first(memory: Memory) -> None:
    memory.remember([turn("A cat sat.", "Ana"), turn("It rained.", "Bo"), turn("It snowed.", "Bo")])
    question = "Did Ana see a cat?"
    words_first = Given({"bm25": (9, 0, 0), "named speaker": (5, 0, 0), PRIOR: (1, 1, 1)})
    speaker_first = Given({"bm25": (5, 0, 0), "named speaker": (9, 0, 0), PRIOR: (1, 1, 1)})
    assert (
        recalled(memory, question, strategy=words_first)["A cat sat."] == "says “cat”; Ana, who is asked about, speaks"
    )
    assert recalled(memory, question, strategy=speaker_first)["A cat sat."] == (
        "Ana, who is asked about, speaks; says “cat”"
    )


def test_what_all_share_is_not_told(memory: Memory) -> None:
    texts = ["The cat sat in Oslo.", "The cat ran.", "A cat slept.", "One cat woke."]
    memory.remember([turn(text, "Ana") for text in texts])
    alike = Given({"named speaker": (9, 9, 9, 9), "bm25": (2, 1, 1, 1)})
    assert recalled(memory, "Was Ana's cat in Oslo?", strategy=alike)["The cat sat in Oslo."] == "says “Oslo”"


def test_it_is_compared_with_the_next_ones_not_with_those_before_it(memory: Memory) -> None:
    memory.remember([turn("The cat is in Oslo."), turn("A cat."), turn("It rained."), turn("It snowed.")])
    given_ = Given({"bm25": (4, 3, 2, 1)})
    found = recalled(memory, "Is a cat in Oslo?", strategy=given_)
    assert list(found.values())[:2] == ["says “cat” and “Oslo”", "says “cat”"]


def test_a_lone_memory_has_nothing_to_be_set_apart_from(memory: Memory) -> None:
    memory.remember(turn("A cat sat."))
    hit = memory.recall("cat")[0]
    assert hit.reason == ""
    assert hit.why.contributions


def test_without_explain_there_is_no_reason(memory: Memory) -> None:
    memory.remember([turn("A cat sat."), turn("A dog ran.")])
    assert [hit.reason for hit in memory.recall("cat", explain=False)] == ["", ""]


# ---- quotations


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


# ---- what is observed beside words


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


# ---- what may not come back is not spoken of


def test_what_is_filtered_or_later_is_neither_named_nor_quoted(memory: Memory) -> None:
    memory.remember([
        turn("The bakery is mine.", "Bo", id="secret", session="s", happened_at="2026-05-04"),
        turn("Well.", "Ana", id="well", session="s", happened_at="2026-05-03"),
        turn("Rain.", "Ana", id="rain", session="t", happened_at="2026-05-03"),
    ])  # fmt: skip
    strategy = Given({"adjacent turn": (0, 9, 1), "title link": (0, 5, 1)}, {"title link": {1: (0, -1)}})
    question = "Whose bakery?"
    assert recalled(memory, question, strategy=strategy)["Well."] == "comes right before secret, which says “bakery”"
    assert recalled(memory, question, strategy=strategy, where=Filter(speakers="Ana"))["Well."] == ""
    assert recalled(memory, question, strategy=strategy, as_of="2026-05-03")["Well."] == ""
    for stage in ("successor", "co-use"):
        led = Given({stage: (0, 9, 1)}, {stage: {1: (0, -1)}})
        assert "secret" in recalled(memory, question, strategy=led)["Well."]
        assert recalled(memory, question, strategy=led, where=Filter(speakers="Ana"))["Well."] == ""


# ---- found when first read


def test_it_is_found_when_first_read(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), clock=FakeClock())
    memory.remember([turn(f"Turn {n}.", id=f"t{n}", session="s") for n in range(3)])
    memory.remember(turn("The bakery.", id="bakery", session="s"))
    strategy = Given({"adjacent turn": (1, 2, 9, 0)})
    early, late = (memory.recall("Which bakery?", strategy=strategy, limit=1, log_access=False)[0] for _ in range(2))
    assert early.reason == "comes right before bakery, which says “bakery”"
    memory.close()
    assert early.reason == "comes right before bakery, which says “bakery”"
    assert late.reason == "comes right before bakery"


def test_a_copy_has_the_reasons(memory: Memory) -> None:
    memory.remember([turn("A cat sat."), turn("A dog ran.")])
    found = memory.recall("Which cat?")
    for copy in (pickle.loads(pickle.dumps(found)), deepcopy(found)):  # noqa: S301
        assert [hit.reason for hit in copy] == [hit.reason for hit in found]


# ---- every strategy


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


@pytest.mark.parametrize("strategy", [*BUILT_IN, *FAITHFUL])
def test_every_strategy_says_why_and_says_the_truth(strategy: str, friends: Memory) -> None:
    said: list[str] = []
    for question in show.load_questions():
        found = friends.recall(question.question, limit=4, as_of=question.as_of, strategy=strategy, log_access=False)
        said += [hit.reason for hit in found]
        check(found, friends)
    assert sum(map(bool, said)) >= 0.75 * len(said)
    if strategy == "fused":
        assert all(said)
        assert len(set(said)) >= 0.85 * len(said)


# ---- the truth

ID = "([^ ;,]+)"
QUOTE = re.compile("“([^”]*)”(?: \\(for “([^”]*)”\\))?")
DAYS = "(.+?)"


@dataclass(frozen=True)
class Checker:
    """Checks the clauses of one hit against the graph and the texts."""

    hit: Hit
    cue: Query
    memory: Memory
    graph: Graph

    def checks(self, clause: str) -> bool:
        """Whether exactly one kind of clause reads so, and what it says is so."""
        kinds: dict[str, Callable[..., object]] = {
            "says (“.+)": self.says,
            "has (“.+) in its title": lambda said: self.quoted(said, self.hit.node.title or ""),
            "is near to the question's “(.+)” in meaning": lambda word: word in self.cue.text,
            "is nearer in meaning to the question": lambda: self.hit.id is not None,
            "(.+), (?:who is asked about|one of those asked about), speaks": self.speaks,
            "the (.+), who asks, speaks": lambda role: role == self.hit.node.speaker,
            f"is of {DAYS}, the time asked about": lambda one: one == format_day(self.hit.node.happened_at),
            f"is later, of {DAYS}": lambda one: one == format_day(self.hit.node.happened_at),
            f"speaks of {DAYS}, the time asked about": lambda one: one in self.spans(),
            f"speaks of a time, {DAYS}": lambda one: one in self.spans(),
            "gives a number": lambda: any(word.isdigit() or word in {"one", "two"} for word in self.text.split()),
            f"comes right (after|before) {ID}(?:, which says (.+))?": self.beside,
            f"comes soon (after|before) {ID}(?:, which says (.+))?": self.beside,
            f"follows the question {ID}": lambda one: self.beside("after", one, None),
            f"is of the same session as {ID}": lambda one: self.node(one).session == self.hit.node.session,
            f"follows from {ID}(?:, which names “(.+)”)?": self.follows,
            "is linked to “(.+)”": self.linked,
            f"replaces {ID}": lambda one: self.node(one).valid_to is not None,
        }
        found = [(check, read) for kind, check in kinds.items() if (read := re.fullmatch(kind, clause))]
        return len(found) == 1 and bool(found[0][0](*found[0][1].groups()))

    @property
    def text(self) -> str:
        return self.hit.text.casefold()

    def node(self, short: str) -> Any:
        """The memory that a short id names; it may itself come back."""
        ids = [id_ for id_ in self.graph.nodes["ids"].tolist() if id_.startswith(short)]
        whole = short if short in ids else ids[0]
        assert abbreviate([whole], self.graph)[whole] == short
        node = self.memory.get(whole)
        assert node is not None
        assert node.kind == Kind.EPISODE
        assert self.cue.as_of is None or node.happened_at <= self.cue.as_of
        return node

    def quoted(self, said: str, text: str) -> bool:
        """Whether all that is quoted stands in a text, and it or what it is kin to in the question."""
        found = QUOTE.findall(said)
        kin = [set(extract_terms(quote)) & set(extract_terms(other or quote)) for quote, other in found]
        return (
            0 < len(found) <= 2
            and all(kin)
            and all(quote in text for quote, _ in found)
            and all((other or quote).casefold() in self.cue.text.casefold() for quote, other in found)
        )

    def says(self, said: str) -> bool:
        return self.quoted(said, self.hit.text)

    def speaks(self, speaker: str) -> bool:
        return speaker == self.hit.node.speaker and bool(
            set(extract_terms(speaker)) & set(extract_terms(self.cue.text))
        )

    def spans(self) -> list[str]:
        told = self.graph.time_mentions
        here = told["rows"] == self.graph.row(self.hit.id)
        return [format_interval(*one) for one in zip(told["starts"][here], told["ends"][here], strict=True)]

    def beside(self, side: str, short: str, said: str | None) -> bool:
        other = self.node(short)
        first, last = (other, self.hit.node) if side == "after" else (self.hit.node, other)
        row, steps = self.graph.row(last.id), 0
        while row is not None and row >= 0 and self.graph.id(row) != first.id:
            row, steps = int(self.graph.previous_rows[row]), steps + 1
        return 0 < steps <= 3 and (said is None or self.quoted(said, other.text))

    def follows(self, short: str, name: str | None) -> bool:
        other = self.node(short)
        if not any(other.id in share.path for share in self.hit.why.contributions):
            return False
        named = self.graph.mentioned_entities(self.graph.rows([other.id]))
        return name is None or entity_id(name) in {self.graph.id(row) for row in named}

    def linked(self, name: str) -> bool:
        return any(entity_id(name) in share.path for share in self.hit.why.contributions)


def check(found: Recollection, memory: Memory) -> None:
    """Check every clause of every reason."""
    for hit in found:
        clauses = hit.reason.split("; ") if hit.reason else []
        assert len(clauses) == len(set(clauses)) <= 2
        checker = Checker(hit, found.query, memory, memory.graph())
        assert all(map(checker.checks, clauses)), hit.reason
        assert sum(share.value for share in hit.why.contributions) == pytest.approx(hit.score, rel=1e-3, abs=1e-3)


SOME = st.sampled_from([
    "cat", "cats", "bakery", "Lotte", "Porto", "works", "working", "Bäckerei", "Oslo", "two", "yesterday", "3 May 2026",
    "in 2025", "猫", "北京大学", "東京", "when", "who", "it's", "Ana's", "Bo", "Ana", "How many", "I",
])  # fmt: skip
TEXTS = st.lists(SOME, min_size=1, max_size=6).map(" ".join)
TURNS = st.builds(
    turn,
    TEXTS,
    st.sampled_from((None, "Ana", "Bo", "user")),
    session=st.sampled_from((None, "s", "t")),
    title=st.sampled_from((None, None, "Lotte")),
    happened_at=st.sampled_from(("2026-05-03", "2026-05-04", "2025-01-01")),
)


@given(
    turns=st.lists(TURNS, min_size=1, max_size=8),
    question=TEXTS,
    strategy=st.sampled_from((*BUILT_IN, *FAITHFUL)),
    limit=st.integers(1, 8),
    as_of=st.sampled_from((None, "2026-05-03")),
)
def test_all_that_it_says_is_true(
    turns: list[Episode], question: str, strategy: str, limit: int, as_of: str | None
) -> None:
    folder = TemporaryDirectory(ignore_cleanup_errors=True)
    with (
        folder as place,
        Memory(f"{place}/m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as memory,
    ):
        memory.remember(turns)
        found = memory.recall(question, limit=limit, strategy=strategy, as_of=as_of, log_access=False)
        check(found, memory)
