"""Recall by a relation: "my sister" in a question leads to what memories say about Marta."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora.language.names.relation_mentions import asked_relations
from ecphora.memory import Memory
from ecphora.model.ports import Passage, Strategy
from ecphora.model.types import Episode, Evidence, Filter, Node, Query, RelationName, Rows
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval.filters import eligible
from ecphora.retrieval.fusion import LinearModel
from ecphora.retrieval.query import analyze
from ecphora.retrieval.relation_names import (
    MAX_MEMORIES,
    MAX_NAMES,
    find_relation_names,
    has_unknown_relation,
    replace_relations,
)
from ecphora.strategies.fused.feature_matrix import Genre
from ecphora.strategies.fused.ranker import Ranker
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import NOON, FakeClock

Open = Callable[..., Memory]


@pytest.fixture
def remember(tmp_path: Path) -> Iterator[Open]:
    opened: list[Memory] = []

    def open_memory(*episodes: Episode | str) -> Memory:
        path = tmp_path / f"{len(opened)}.db"
        memory = Memory(path, embedder=HashingEmbedder(), clock=FakeClock(), auto_consolidate=None)
        opened.append(memory)
        memory.remember([Episode(one) if isinstance(one, str) else one for one in episodes])
        return memory

    yield open_memory
    for memory in opened:
        memory.close()


def names(memory: Memory, question: str, **options: object) -> list[str]:
    return [one.name for one in memory.build_query(question, **options).relation_names]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("introduction", "answer", "other", "question"),
    [
        (
            "My sister Marta came by with cake.",
            "Marta starts at the bakery on Monday.",
            "The sister of Paul has a garden.",
            "Where does my sister work?",
        ),
        (
            "Our accountant is Ms Okoro.",
            "Okoro wants the receipts by Friday.",
            "Paul needs an accountant.",
            "What does the accountant need?",
        ),
        ("Our dog Rex ate a sock.", "Rex got an injection.", "The vet is closed.", "When was our pet treated?"),
        (
            "Meine Schwester Marta war da.",
            "Marta fängt in der Bäckerei an.",
            "Pauls Schwester hat einen Garten.",
            "Wo arbeitet meine Schwester?",
        ),
        ("Mi jefe es Óscar.", "Óscar se va a Lima.", "El jefe de Paul tiene perro.", "¿Adónde viaja mi jefe?"),
        ("妹の美咲が来た。", "美咲はパン屋で働き始める。", "田中さんの妹は庭が好き。", "妹の職場は？"),
        ("我们的房东王先生来过。", "王先生五月去上海。", "他们的房东要搬家。", "我们的房东要去哪儿？"),
    ],
)
def test_relation_leads_to_memories_with_the_name(
    remember: Open, introduction: str, answer: str, other: str, question: str
) -> None:
    memory = remember(introduction, answer, other, "It rained all day.")
    found = [hit.text for hit in memory.recall(question, rerank="never")]
    assert found.index(answer) < found.index(other)


def test_query_has_the_name_its_memory_and_the_text_with_it(remember: Open) -> None:
    memory = remember(Episode("My sister Marta is here.", id="told"))
    query = memory.build_query("Where does my sister work?")
    assert query.relation_names == (RelationName("my sister", "Marta", "told"),)
    assert (query.text, query.search_text) == ("Where does my sister work?", "Where does Marta work?")
    assert query.entity_ids == ("entity:marta",)
    assert len(query.term_hashes) == 2
    plain = memory.build_query("Where is the cake?")
    assert (plain.relation_names, plain.search_text, plain.named_text) == ((), "Where is the cake?", "")


def test_title_is_not_searched_for(remember: Open) -> None:
    memory = remember("Our landlord is Mr Kolb.", "Kolb called.")
    query = memory.build_query("What did our landlord want?")
    assert query.search_text == "What did Kolb want?"
    assert set(query.entity_ids) == {"entity:mr kolb", "entity:kolb"}


def test_name_without_entity_adds_none(remember: Open) -> None:
    query = remember("妹の美咲が来た。").build_query("妹はどこ？")
    assert (query.search_text, query.entity_ids) == ("美咲はどこ？", ())


def test_name_in_the_question_is_not_repeated(remember: Open) -> None:
    memory = remember("My sister Marta is here.")
    assert names(memory, "Did my sister say that Marta works?") == []


def test_forgotten_memory_gives_no_name(remember: Open) -> None:
    memory = remember(Episode("My sister Marta is here.", id="told"))
    memory.forget("told")
    assert names(memory, "Where does my sister work?") == []


def test_filter_and_time_apply_to_the_memory_that_gives_the_name(remember: Open) -> None:
    memory = remember(
        Episode("My boss is Ada Lind.", source="a", happened_at="2025-01-01"),
        Episode("My boss is Ben Holt.", source="b", happened_at="2026-01-01"),
    )
    question = "What did my boss want?"
    assert names(memory, question) == ["Ben Holt"]
    assert names(memory, question, as_of="2025-06-01") == ["Ada Lind"]
    assert names(memory, question, where=Filter(sources=("a",))) == ["Ada Lind"]
    assert names(memory, question, where=Filter(sources=("c",))) == []


def test_superseded_memory_gives_its_name_last(remember: Open) -> None:
    memory = remember(Episode("My boss is Ben Holt.", id="old", happened_at="2026-01-01"))
    memory.remember([Episode("My boss is Ada Lind.", happened_at="2025-12-31", supersedes="old")])
    assert names(memory, "What did my boss want?") == ["Ada Lind"]


def test_relation_that_may_be_several_gives_the_names_told_most(remember: Open) -> None:
    memory = remember(
        *(f"My friend {name} is here, {count}." for name in ("Ada", "Ben", "Cy", "Dan") for count in range(1, 3)),
        "My friend Dan called.",
        "My friend Eve called.",
    )
    found = names(memory, "What did my friend want?")
    assert len(found) == MAX_NAMES
    assert found[0] == "Dan"
    assert "Eve" not in found


@pytest.mark.parametrize(
    ("speakers", "text", "question", "found"),
    [
        (("Ana",), "My sister Marta is here.", "Where does my sister work?", ["Marta"]),
        (("Ana", "Ben"), "My sister Marta is here.", "Where does my sister work?", ["Marta"]),
        (("user", "Ben"), "My sister Marta is here.", "Where does my sister work?", ["Marta"]),
        (("Ben", "user"), "My sister Marta is here.", "Where does my sister work?", []),
        (("assistant", "user"), "Your sister Marta is here.", "Where does my sister work?", ["Marta"]),
        (("Ana", "Ben"), "Your sister Marta is here.", "Where does my sister work?", []),
        (("assistant", "user"), "My sister Marta is here.", "Where does my sister work?", []),
        (("Ana", "Ben"), "My sister Marta is here.", "Where does Ana's sister work?", ["Marta"]),
        (("Ana", "Ben"), "My sister Marta is here.", "Where does Ben's sister work?", []),
        (("Ana", "Ben"), "Ben's sister Marta is here.", "Where does Ben's sister work?", ["Marta"]),
        (("Ana",), "Ben's sister Marta is here.", "Where does my sister work?", []),
        (("Ana",), "My dog Rex is here.", "Where is the dog?", ["Rex"]),
        (("Ana", "Ben"), "My dog Rex is here.", "Where is the dog?", []),
        (("Ana", "Ben"), "The dog, Rex, is here.", "Where is the dog?", ["Rex"]),
        (("Ana", "Ben"), "My old boss Jo is here.", "What did my boss want?", []),
        (("Ana",), "My old boss Jo is here.", "What did my old boss want?", ["Jo"]),
        (("Ana",), "My little sister Jo is here.", "What did my older sister want?", []),
        (("Ana",), "My little sister Jo is here.", "What did my sister want?", ["Jo"]),
        (("Ana",), "My sister Ana is here.", "What did my sister want?", []),
    ],
)
def test_name_is_of_the_relation_of_who_asks(
    remember: Open, speakers: Sequence[str], text: str, question: str, found: list[str]
) -> None:
    others = [Episode("It rained.", speaker=speaker) for speaker in speakers[1:]]
    assert names(remember(Episode(text, speaker=speakers[0]), *others), question) == found


def test_different_names_by_different_speakers_give_none(remember: Open) -> None:
    one = Episode("My sister Marta is here.", speaker="Ana")
    other = Episode("My sister Ada is here.", speaker="Ben")
    assert names(remember(one, other), "Where does my sister work?") == []
    same = Episode("My sister Marta called.", speaker="Ben")
    assert names(remember(one, same), "Where does my sister work?") == ["Marta"]


def test_memories_with_names_are_read_first(remember: Open) -> None:
    memory = remember(
        Episode("My sister Marta is here.", happened_at="2020-01-01"),
        *(Episode(f"my sister called, {count}", happened_at="2025-01-01") for count in range(MAX_MEMORIES + 5)),
    )
    assert names(memory, "Where does my sister work?") == ["Marta"]


@pytest.mark.medium
def test_newest_memory_counts_also_if_its_name_is_no_entity(remember: Open) -> None:
    memory = remember(
        Episode("妻の恵子さんが来た。", happened_at="2020-01-01"), Episode("妻の美咲が来た。", happened_at="2025-01-01")
    )
    assert names(memory, "妻はどこ？") == ["美咲"]


def test_memory_with_a_part_of_the_noun_is_not_read(remember: Open) -> None:
    memory = remember("My brother in arms and Ana are in the law office.")
    reads: list[Rows] = []

    def read(rows: Rows) -> list[Node]:
        reads.append(rows)
        return []

    asked = asked_relations("Where does my sister-in-law work?")
    assert find_relation_names(memory.graph(), Query("", NOON), asked, read) == ()
    assert reads == []


def test_number_of_memories_read_is_bounded(remember: Open) -> None:
    memory = remember(*(f"My sister Marta called, {count}." for count in range(MAX_MEMORIES + 5)))
    sizes = []

    def read(rows: Rows) -> list[Node]:
        sizes.append(len(rows))
        return []

    asked = asked_relations("Where does my sister work?")
    assert find_relation_names(memory.graph(), Query("", NOON), asked, read) == ()
    assert sizes == [MAX_MEMORIES]


def test_question_without_relation_reads_no_memory(remember: Open) -> None:
    memory = remember("My sister Marta is here.")
    reads = []

    def read(rows: Rows) -> list[Node]:
        reads.append(rows)
        return []

    for question in ("Where is the cake?", "Who is my sister?", "Where does my landlord live?"):
        analyze(
            question,
            memory.graph(),
            NOON,
            HashingEmbedder(),
            lambda _question: np.ones(HashingEmbedder().dim, np.float32),
            read_nodes=read,
            where=Filter(),
        )
    assert reads == []


def test_all_relations_of_a_question_are_replaced() -> None:
    question = "Did my sister meet our landlord?"
    found = (RelationName("my sister", "Marta", "a"), RelationName("our landlord", "Mr Kolb", "b"))
    assert replace_relations(question, asked_relations(question), found) == "Did Marta meet Kolb?"
    assert replace_relations(question, asked_relations(question), found[1:]) == "Did my sister meet Kolb?"
    several = (*found, RelationName("my sister", "Ada", "c"))
    assert replace_relations(question, asked_relations(question), several) == "Did Marta, Ada meet Kolb?"


def test_reader_reads_the_question_with_the_name(tmp_path: Path) -> None:
    questions = set()

    class Listener:
        name = "listener"
        batch_size = 8

        def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
            questions.add((question, asked_on))
            return np.zeros(len(passages))

    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(), clock=FakeClock(), reranker=Listener()) as memory:
        memory.remember(["My sister Marta came by.", "It rained."])
        memory.recall("Where does my sister work?", rerank="always")
    assert {question for question, _ in questions} == {"Where does Marta work?"}


def reasons(memory: Memory, question: str, strategy: str | Strategy = "fused") -> dict[str, str]:
    return {hit.id: hit.reason for hit in memory.recall(question, strategy=strategy, rerank="never")}


def test_reason_says_which_memory_gives_the_name(remember: Open) -> None:
    memory = remember(
        Episode("My sister Marta came by with cake.", id="told"),
        Episode("Marta starts at the bakery on Monday.", id="job"),
        Episode("The bakery is closed.", id="closed"),
        "It rained all day.",
        "The train was late.",
    )
    found = reasons(memory, "When does my sister start at the bakery?", "bm25")
    assert found["job"] == "says “Marta” (for “my sister”) as told in told; says “starts” (for “start”) and “bakery”"
    assert found["told"] == "says that “my sister” is “Marta”"
    assert "sister" not in found["closed"]


def test_reason_quotes_the_name_from_the_turn_before(remember: Open) -> None:
    memory = remember(
        Episode("My sister Lotte came by.", id="told"),
        Episode("Lotte called me.", id="call", speaker="Ana", session="s"),
        Episode("Paid in raisin buns.", id="buns", speaker="Ana", session="s"),
        Episode("The train was late.", speaker="Ben", session="t"),
        Episode("It rained all day.", speaker="Ben", session="t"),
    )
    by_neighbors = Fused(ranker=Ranker(*[LinearModel(0.0, {"bm25": 1.0, "adjacent turn": 5.0})] * len(Genre)))
    found = reasons(memory, "How is my sister paid?", by_neighbors)["buns"]
    assert "comes right after call, which says “Lotte”" in found


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("My sister Ines marries in June.", "When is my brother's birthday?", True),
        ("My sister Ines marries in June.", "When does my sister marry?", False),
        ("My sister Ines marries in June.", "How many siblings do I have?", False),
        ("My partner sings.", "What does my wife sing?", False),
        ("My wife sings.", "What does my husband sing?", True),
        ("Meine Schwester singt.", "What does my sister do?", False),
        ("The plumber is Mr Reid.", "Who is my landlord?", True),
        ("The plumber is Mr Reid.", "What is the name of my dentist?", True),
        ("The plumber is Mr Reid.", "Who is my plumber?", False),
        ("I feed Pia.", "What does my dog eat?", False),  # animals go by their kind: "our spaniel"
        ("I had tea.", "What did the doctor say?", False),  # the doctor may be Dr Okoro
    ],
)
def test_relation_that_no_memory_mentions_is_unknown(remember: Open, told: str, question: str, expected: bool) -> None:
    memory = remember(told)
    graph, query = memory.graph(), memory.build_query(question)
    assert has_unknown_relation(graph, query, eligible(graph, query)) is expected
    assert memory.recall(question).evidence is not Evidence.STRONG or not expected
