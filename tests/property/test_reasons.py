"""Every clause of every reason is true, for every strategy."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import RecallOptions
from ecphora.cli.demo import show
from ecphora.language.classes import find_instances
from ecphora.language.names.mentions import entity_id
from ecphora.language.terms import extract_terms
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.text_format import long_day
from ecphora.model.types import Episode, Hit, Kind, Query
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.lookup import abbreviate
from ecphora.recall.reasons import format_interval
from ecphora.recall.recollection import Recollection
from ecphora.retrieval.fusion import LinearModel
from ecphora.retrieval.temporal import time_order
from ecphora.strategies import BUILT_IN, FAITHFUL
from ecphora.strategies.fused.feature_matrix import ROLE_AGREEMENT, SUBJECT_AGREEMENT, Genre
from ecphora.strategies.fused.newer_answers import NEWER_ANSWER, OLDER_ANSWER, SERIES_END
from ecphora.strategies.fused.ranker import Ranker
from ecphora.strategies.fused.reranking import RERANKING, SECOND_RERANKING, RerankPolicy
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import FakeClock, OverlapReranker


def turn(text: str, speaker: str | None = None, **fields: Any) -> Episode:
    return Episode(text, speaker=speaker, **{"happened_at": "2026-05-03", **fields})


@pytest.fixture(scope="module")
def friends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """The conversation of the demo."""
    path = tmp_path_factory.mktemp("friends") / "memory.db"
    with Memory(path, embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        opened.remember(show.load_conversation())
        yield opened


@pytest.mark.medium
@pytest.mark.parametrize("strategy", [*BUILT_IN, *FAITHFUL])
def test_reasons_of_every_strategy_are_true(strategy: str, friends: Memory) -> None:
    reasons: list[str] = []
    for question in show.load_questions():
        found = friends.recall(
            question.question, limit=4, as_of=question.as_of, strategy=strategy, options=RecallOptions(log_access=False)
        )
        reasons += [hit.reason for hit in found]
        check(found, friends)
    assert sum(map(bool, reasons)) >= 0.7 * len(reasons)
    if strategy == "fused":
        assert all(reasons)
        assert len(set(reasons)) >= 0.85 * len(reasons)


ID = "([^ ;,]+)"


QUOTE = re.compile("“([^”]*)”(?: \\(for “([^”]*)”\\))?")


DAYS = "(.+?)"
END_WORDS = {"latest": ("latest", "now"), "first": ("first",)}


@dataclass(frozen=True)
class Checker:
    """Checks the clauses of one hit against the graph and the texts."""

    hit: Hit
    query: Query
    memory: Memory
    graph: Graph

    def checks(self, clause: str) -> bool:
        """Whether exactly one kind of clause matches, and it is true."""
        kinds: dict[str, Callable[..., object]] = {
            "says (“.+[”)])": self.says,
            f"says “([^”]+)” \\(for “([^”]+)”\\) as told in {ID}": self.says_name,
            "says that “([^”]+)” is “([^”]+)”": lambda phrase, name: self.says_name(name, phrase, self.hit.id),
            "has (“.+) in its title": lambda quoted_text: self.quoted(quoted_text, self.hit.node.title or ""),
            "is near to the question's “(.+)” in meaning": lambda word: word in self.query.text,
            "is near to “(.+)” \\(for “(.+)”\\) in meaning": lambda name, phrase: (
                (phrase, name) in {(one.phrase, one.name) for one in self.query.relation_names}
            ),
            "is nearer in meaning to the question": lambda: self.hit.id is not None,
            "(.+), (?:who is asked about|one of those asked about), speaks": self.speaks,
            "the (.+), who asks, speaks": lambda role: role == self.hit.node.speaker,
            f"is of {DAYS}, the time asked about": lambda one: one == long_day(self.hit.node.happened_at),
            f"is of {DAYS}, near the time asked about": lambda one: one == long_day(self.hit.node.happened_at),
            "is likelier to answer, says the reranker": lambda: self.hit.id is not None,
            "says who did it and to whom as the question does": lambda: self.hit.node.text == LENT,
            "is about the person asked about": lambda: "Ana" in f"{self.hit.node.speaker} {self.hit.node.text}",
            "is newer than another answer": lambda: self.gain(NEWER_ANSWER) > 0 and self.has_beyond(-1),
            "is older than another answer, and a former state is asked for": lambda: (
                self.gain(OLDER_ANSWER) > 0 and self.has_beyond(1) and "first" in self.query.text
            ),
            "is the (latest|first) of several answers": lambda end: (
                any(word in self.query.text for word in END_WORDS[end])
                and not self.gain(SERIES_END)
                and self.has_beyond(1 if end == "first" else -1)
            ),
            f"is later, of {DAYS}": lambda one: one == long_day(self.hit.node.happened_at),
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
        found = [(check, match) for kind, check in kinds.items() if (match := re.fullmatch(kind, clause))]
        return len(found) == 1 and bool(found[0][0](*found[0][1].groups()))

    @property
    def text(self) -> str:
        return self.hit.text.casefold()

    def node(self, short: str) -> Any:
        """The memory that a short id names; it must be eligible."""
        ids = [id_ for id_ in self.graph.nodes["ids"].tolist() if id_.startswith(short)]
        full_id = short if short in ids else ids[0]
        assert abbreviate([full_id], self.graph)[full_id] == short
        node = self.memory.get(full_id)
        assert node is not None
        assert node.kind == Kind.EPISODE
        assert self.query.as_of is None or node.happened_at <= self.query.as_of
        return node

    def gain(self, feature: str) -> float:
        return sum(one.value for one in self.hit.why.contributions if one.feature == feature)

    def has_beyond(self, side: int) -> bool:
        """Whether any memory lies on a side of this one in time: -1 before it, 1 after."""
        row = self.graph.row(self.hit.id)
        assert row is not None
        order = time_order(self.graph, np.flatnonzero(self.graph.episodes))
        return bool((side * (order - order[np.flatnonzero(self.graph.episodes) == row]) > 0).any())

    def quoted(self, quoted_text: str, text: str) -> bool:
        """Whether all quotes are in the text, and each quote or its question form in the question."""
        found = QUOTE.findall(quoted_text)
        shared_terms_of_quotes = [
            set(extract_terms(quote)) & set(extract_terms(other or quote)) for quote, other in found
        ]
        return (
            0 < len(found) <= 2
            and all(shared_terms_of_quotes)
            and all(quote in text for quote, _ in found)
            and all((other or quote).casefold() in self.query.search_text.casefold() for quote, other in found)
        )

    def says(self, quoted_text: str) -> bool:
        instances = find_instances(self.hit.text, self.query.text)
        is_instance = quoted_text in {f"“{one.text}” (for “{one.noun}”)" for one in instances}
        return is_instance or self.quoted(quoted_text, self.hit.text)

    def says_name(self, name: str, phrase: str, short: str) -> bool:
        """Whether the question has the phrase, and this memory and the other one, which has its noun, the name."""
        teller = self.node(short) if short != self.hit.id else self.hit.node
        noun = phrase.rsplit(maxsplit=1)[-1]
        return phrase in self.query.text and name in self.hit.text and name in teller.text and noun in teller.text

    def speaks(self, speaker: str) -> bool:
        return speaker == self.hit.node.speaker and bool(
            set(extract_terms(speaker)) & set(extract_terms(self.query.text))
        )

    def spans(self) -> list[str]:
        mentions = self.graph.time_mentions
        is_own = mentions["rows"] == self.graph.row(self.hit.id)
        return [format_interval(*one) for one in zip(mentions["starts"][is_own], mentions["ends"][is_own], strict=True)]

    def beside(self, side: str, short: str, quoted_text: str | None) -> bool:
        other = self.node(short)
        first, last = (other, self.hit.node) if side == "after" else (self.hit.node, other)
        row, steps = self.graph.row(last.id), 0
        while row is not None and row >= 0 and self.graph.id(row) != first.id:
            row, steps = int(self.graph.previous_rows[row]), steps + 1
        return 0 < steps <= 3 and (quoted_text is None or self.quoted(quoted_text, other.text))

    def follows(self, short: str, name: str | None) -> bool:
        other = self.node(short)
        if not any(other.id in contribution.path for contribution in self.hit.why.contributions):
            return False
        entities = self.graph.mentioned_entities(self.graph.rows([other.id]))
        return name is None or entity_id(name) in {self.graph.id(row) for row in entities}

    def linked(self, name: str) -> bool:
        return any(entity_id(name) in contribution.path for contribution in self.hit.why.contributions)


def check(found: Recollection, memory: Memory) -> None:
    """Check every clause of every reason."""
    for hit in found:
        clauses = hit.reason.split("; ") if hit.reason else []
        assert len(clauses) == len(set(clauses)) <= 2
        checker = Checker(hit, found.query, memory, memory.graph())
        assert all(map(checker.checks, clauses)), hit.reason
        assert sum(contribution.value for contribution in hit.why.contributions) == pytest.approx(
            hit.score, rel=1e-3, abs=1e-3
        )


LENT = "Ana lent Bo the cello."
RERANKING_RANKER = Ranker(
    *[
        LinearModel(
            0.0,
            {
                "similarity": 0.5,
                RERANKING: 0.5,
                SECOND_RERANKING: 0.5,
                ROLE_AGREEMENT: 4.0,
                SUBJECT_AGREEMENT: 4.0,
                NEWER_ANSWER: 9.0,
                OLDER_ANSWER: -9.0,
                SERIES_END: -9.0,
                "day match": 1.0,
                "near day match": 0.5,
            },
        )
    ]
    * len(Genre)
)
READ_TEXTS = (LENT, "Bo lent Ana the cello.", "Ana lives in Porto.", "Ana lives in Oslo now.", "The cat of Bo is old.")
READ_QUESTIONS = (
    "Who lent Bo the cello?",
    "Where does Ana live now?",
    "Where did Ana live first?",
    "Where did Ana live?",
    "What was Ana's latest cello?",
    "What did Ana say on 4 May 2026?",
)


@pytest.mark.medium
@given(
    turns=st.lists(
        st.builds(
            turn,
            st.sampled_from(READ_TEXTS),
            st.sampled_from((None, "Ana")),
            happened_at=st.sampled_from(("2026-05-03", "2026-05-04", "2026-05-06", "2025-01-01")),
        ),
        min_size=1,
        max_size=8,
    ),
    question=st.sampled_from(READ_QUESTIONS),
)
def test_reasons_of_reading_are_true(turns: list[Episode], question: str) -> None:
    strategy = Fused(ranker=RERANKING_RANKER, reranking=RerankPolicy({}))
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as place,
        Memory(
            f"{place}/m.db",
            embedder=HashingEmbedder(64),
            reranker=OverlapReranker(),
            strategy=strategy,
            clock=FakeClock(),
        ) as memory,
    ):
        memory.remember(turns)
        check(memory.recall(question, limit=8, rerank="always", options=RecallOptions(log_access=False)), memory)


WORDS = st.sampled_from([
    "cat", "cats", "bakery", "Lotte", "Porto", "works", "working", "Bäckerei", "Oslo", "two", "yesterday", "3 May 2026",
    "in 2025", "猫", "北京大学", "東京", "when", "who", "it's", "Ana's", "Bo", "Ana", "How many", "I",
])  # fmt: skip


TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


TURNS = st.builds(
    turn,
    TEXTS,
    st.sampled_from((None, "Ana", "Bo", "user")),
    session=st.sampled_from((None, "s", "t")),
    title=st.sampled_from((None, None, "Lotte")),
    happened_at=st.sampled_from(("2026-05-03", "2026-05-04", "2025-01-01")),
)


@pytest.mark.medium
@given(
    turns=st.lists(TURNS, min_size=1, max_size=8),
    question=TEXTS,
    strategy=st.sampled_from((*BUILT_IN, *FAITHFUL)),
    limit=st.integers(1, 8),
    as_of=st.sampled_from((None, "2026-05-03")),
)
def test_reasons_are_true_for_any_turns(
    turns: list[Episode], question: str, strategy: str, limit: int, as_of: str | None
) -> None:
    folder = TemporaryDirectory(ignore_cleanup_errors=True)
    with (
        folder as place,
        Memory(f"{place}/m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as memory,
    ):
        memory.remember(turns)
        found = memory.recall(
            question, limit=limit, strategy=strategy, as_of=as_of, options=RecallOptions(log_access=False)
        )
        check(found, memory)
