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
from numpy.typing import NDArray

from ecphora import RecallOptions
from ecphora.cli.demo import show
from ecphora.language.names.mentions import entity_id
from ecphora.language.terms import extract_terms, shared_terms
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph, epoch_seconds
from ecphora.model.ports import Activation, ActivationPath
from ecphora.model.types import PRIOR, Episode, Query
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.lookup import abbreviate
from ecphora.recall.ranking import Comparison, Ranking
from ecphora.recall.reasons import CLAUSE_BUILDERS, format_interval
from ecphora.strategies import BUILT_IN, FAITHFUL, resolve_strategy
from ecphora.strategies.fused import features
from ecphora.strategies.fused.reranking import RERANKING_FEATURES
from ecphora.testing import NOON, FakeClock, sample_node

DIGEST = re.compile("[0-9a-f]{8}")


def ranking_of(values: NDArray[np.float64]) -> Ranking:
    """A ranking of rows with these contributions: an array of features by rows."""
    graph, order = Graph(), np.arange(values.shape[1])
    contributions = {f"feature {place}": row for place, row in enumerate(values)}
    return Ranking(graph, Query("", NOON), np.ones(len(order), np.bool_), order, contributions, {})


@pytest.mark.medium
@given(st.integers(0, 6), st.integers(1, 4), st.data())
def test_leads_equal_the_mean_over_a_list_of_others(index: int, count: int, data: st.DataObject) -> None:
    """A slice gives the same bits as the list of the others' indices, which needs a copy."""
    numbers = st.floats(-20, 20, width=32)
    values = np.array(data.draw(st.lists(st.lists(numbers, min_size=11, max_size=11), min_size=1, max_size=5)))
    others = range(index + 1, index + 1 + count)
    comparison = Comparison(ranking_of(values), index, sample_node("n", "text"), others)
    leads = values[:, index] - values[:, list(others)].mean(axis=1)
    assert list(comparison.contribution_leads.values()) == leads.tolist()
    for columns in (values.T, values.T > 1):
        assert np.array_equal(comparison.mean_of_others(columns), columns[list(others)].mean(axis=0))


UNEXPLAINED = frozenset(
    {
        "first-stage rank",
        "redundancy",
        "repeated instance",
        "turn length",
        "is question",
        "mentions time",
        "entity count",
        "missing names",
        "not a fact",
        "former state",
        "importance",
        "persona",
        "pagerank",
        "other bank",
        "expired",
        "decay",
        "archived",
        PRIOR,
    }
)
"""Features without a clause: ranks, features that do not depend on what the query asks, and penalties."""


@dataclass(frozen=True)
class FixedStrategy:
    """Gives the episodes, in order of rows, fixed contributions, optionally with paths (parent row, entity row)."""

    contributions: Mapping[str, Sequence[float]]
    paths: Mapping[str, Mapping[int, tuple[int, int]]] | None = None
    name: str = "fixed"

    def activate(self, _cue: Query, graph: Graph, /) -> Activation:
        """The contributions and their sum."""
        rows = np.flatnonzero(graph.episodes)
        columns = {stage: graph.zeros() for stage in self.contributions}
        for stage, values in self.contributions.items():
            columns[stage][rows] = values
        paths_by_stage = {}
        for stage, path in (self.paths or {}).items():
            paths_by_stage[stage] = ActivationPath(np.full(len(graph), -1, np.intp), np.full(len(graph), -1, np.intp))
            for row, (parent, via) in path.items():
                paths_by_stage[stage].parent[row], paths_by_stage[stage].via_entity[row] = parent, via
        return Activation(np.sum(list(columns.values()), axis=0), columns, paths_by_stage)


def turn(text: str, speaker: str | None = None, **fields: Any) -> Episode:
    return Episode(text, speaker=speaker, **{"happened_at": "2026-05-03", **fields})


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        yield opened


def reasons_by_text(memory: Memory, question: str, **options: Any) -> dict[str, str]:
    """The reason of each memory that comes back, by its text."""
    found = memory.recall(question, **{"options": RecallOptions(log_access=False), **options})
    return {hit.text: hit.reason for hit in found}


@pytest.mark.parametrize(
    ("text", "question", "expected"),
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
        ("L'école ferme.", "Où est mon école ?", ["école"]),
        ("¼ litre", "1 litre", ["litre"]),
        ("", "x", []),
        ("S", "’S", []),
        ("’S", "S", []),
    ],
)
def test_shared_terms_are_quoted_as_written(text: str, question: str, expected: list[str]) -> None:
    found = shared_terms(text, question)
    assert [
        f"{term.surface} ({term.question_surface})" if term.is_inflected else term.surface for term in found
    ] == expected


@pytest.mark.medium
@given(st.text(max_size=80), st.text(max_size=40))
def test_shared_terms_are_in_both_texts(text: str, question: str) -> None:
    for term in shared_terms(text, question):
        assert term.surface in text
        assert (
            term.question_surface in question or term.surface == term.question_surface
        )  # other text is normalized before comparison
        assert set(term.terms) <= set(extract_terms(text)) & set(extract_terms(question))


@pytest.mark.parametrize(
    ("texts", "question", "reason"),
    [
        (("Meine Schwester hat eine Bäckerei.", "Es regnet."), "Wer hat eine Bäckerei?", "says “Bäckerei”"),
        (("我养了一只猫。", "今天下雨了。"), "谁养猫?", "says “养” and “猫”"),
        (("東京タワーに行った。", "雨が降った。"), "東京タワーはどこ?", "says “東京タワー”"),
    ],
)
def test_reason_quotes_other_languages(texts: Sequence[str], question: str, reason: str, memory: Memory) -> None:
    memory.remember(map(turn, texts))
    strategy = FixedStrategy({"bm25": (2, 1)})
    assert reasons_by_text(memory, question, strategy=strategy)[texts[0]] == reason


def test_named_speaker_reason(memory: Memory) -> None:
    memory.remember([turn("It rained.", "Ana"), turn("It snowed.", "user"), turn("Hail.", "Bo"), turn("Sun.")])
    by_speaker = FixedStrategy({"named speaker": (4, 3, 2, 1)})
    assert (
        reasons_by_text(memory, "What did Ana see?", strategy=by_speaker)["It rained."]
        == "Ana, who is asked about, speaks"
    )
    assert (
        reasons_by_text(memory, "What did Ana and Bo see?", strategy=by_speaker)["Hail."]
        == "Bo, one of those asked about, speaks"
    )
    assert reasons_by_text(memory, "What did I see?", strategy=by_speaker)["It snowed."] == "the user, who asks, speaks"
    assert reasons_by_text(memory, "Who saw it?", strategy=by_speaker) == dict.fromkeys(
        ["It rained.", "It snowed.", "Hail.", "Sun."], ""
    )


def test_date_and_recency_reasons(memory: Memory) -> None:
    memory.remember([
        turn("It rained.", happened_at="2026-05-03T10:00:00"),
        turn("It had snowed on 4 April 2026.", happened_at="2026-06-01"),
        turn("Hail.", happened_at="2026-01-01"),
    ])  # fmt: skip
    by_date = FixedStrategy({"date match": (3, 2, 1)})
    assert reasons_by_text(memory, "What was on 3 May 2026?", strategy=by_date)["It rained."] == (
        "is of 3 May 2026, the time asked about"
    )
    assert reasons_by_text(memory, "What was in April 2026?", strategy=by_date)["It had snowed on 4 April 2026."] == (
        "speaks of 4 April 2026, the time asked about; says “April” and “2026”"
    )
    by_recency = FixedStrategy({"recency": (2, 3, 1)})
    assert list(reasons_by_text(memory, "Weather?", strategy=by_recency).values()) == [
        "is later, of 1 June 2026",
        "is later, of 3 May 2026",
        "",
    ]
    by_time = FixedStrategy({"time for when-question": (1, 3, 2)})
    assert (
        reasons_by_text(memory, "When?", strategy=by_time)["It had snowed on 4 April 2026."]
        == "speaks of a time, 4 April 2026"
    )


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ((2026, 5, 3), (2026, 5, 4), "3 May 2026"),
        ((2026, 2, 1), (2026, 3, 1), "February 2026"),
        ((2026, 1, 1), (2027, 1, 1), "2026"),
        ((2026, 4, 27), (2026, 5, 4), "27 April 2026 to 3 May 2026"),
    ],
)
def test_interval_format_equals_worked_examples(
    start: tuple[int, int, int], end: tuple[int, int, int], expected: str
) -> None:
    assert format_interval(*(epoch_seconds(datetime(*day, tzinfo=NOON.tzinfo)) for day in (start, end))) == expected


def test_number_reason_needs_a_number(memory: Memory) -> None:
    memory.remember([turn("Three came."), turn("Some came.")])
    by_number = FixedStrategy({"number for how-many-question": (1, 2)})
    assert reasons_by_text(memory, "How many came?", strategy=by_number) == {
        "Some came.": "says “came”",
        "Three came.": "gives a number; says “came”",
    }


def test_adjacent_turn_question_and_session_reasons(memory: Memory) -> None:
    memory.remember([
        turn("We went to the bakery.", id="one", session="s"),
        turn("And?", id="two", session="s"),
        turn("Closed.", id="three", session="s"),
        turn("Ah.", id="four", session="s"),
        turn("Nothing.", id="five", session="t"),
    ])  # fmt: skip
    by_adjacency = FixedStrategy({"adjacent turn": (5, 4, 3, 2, 1)})
    found = memory.recall("Was the bakery open?", strategy=by_adjacency, options=RecallOptions(log_access=False))
    assert [hit.reason for hit in found][:4] == [
        "says “bakery”",
        "comes right after one, which says “bakery”",
        "comes soon after one, which says “bakery”",
        "comes soon after one, which says “bakery”",
    ]
    by_question = FixedStrategy({"follows question": (1, 1, 5, 2, 1)})
    assert reasons_by_text(memory, "Was it open?", strategy=by_question)["Closed."] == "follows the question two"
    memory.remember(turn("Yes.", id="six", session="t"))
    assert reasons_by_text(memory, "Well?", strategy=FixedStrategy({"session score": (5, 1, 1, 1, 4, 3)}))["Yes."] == ""
    memory.remember(turn(f"Later {n}.", session="s") for n in range(5))
    by_session = FixedStrategy({"session score": (9, 1, 1, 1, 2, 2, 1, 1, 1, 1, 8)})
    assert reasons_by_text(memory, "Well?", strategy=by_session)["Later 4."] == "is of the same session as one"


def test_link_reasons_have_short_ids(memory: Memory) -> None:
    first, second = memory.remember([turn("Lotte Maes has a bakery."), turn("I met Lotte Maes.")]).ids
    other = memory.remember(turn("It rained.")).id
    graph = memory.graph()
    parent, row, name = (graph.rows([id_]).item() for id_ in (first, second, entity_id("Lotte Maes")))
    short_id = abbreviate([first], graph)[first]
    assert DIGEST.fullmatch(short_id)
    title_path = {"title link": {row: (parent, name)}}
    found = memory.recall(
        "Whose bakery?",
        strategy=FixedStrategy({"title link": (1, 9, 1)}, title_path),
        options=RecallOptions(log_access=False),
    )
    assert found[0].reason == f"follows from {short_id}, which names “Lotte Maes”"
    assert first in next(
        contribution.path for contribution in found[0].why.contributions if contribution.feature == "title link"
    )
    best_path = {"title link": {graph.rows([other]).item(): (parent, name)}, "best entity link": {}}
    by_best_path = memory.recall(
        "Whose?", strategy=FixedStrategy({"title link": (1, 1, 9)}, best_path), options=RecallOptions(log_access=False)
    )
    assert by_best_path[0].reason == f"follows from {short_id}, which names “Lotte Maes”"
    direct = {"engrams": {row: (name, -1), name: (-1, -1)}}
    by_engram = memory.recall(
        "Whose?", strategy=FixedStrategy({"engrams": (1, 9, 1)}, direct), options=RecallOptions(log_access=False)
    )
    assert by_engram[0].reason == "is linked to “Lotte Maes”"
    indirect = {"engrams": {row: (name, -1), name: (parent, -1)}}
    by_successor = memory.recall(
        "Whose?", strategy=FixedStrategy({"engrams": (1, 9, 1)}, indirect), options=RecallOptions(log_access=False)
    )
    assert by_successor[0].reason == f"follows from {short_id}, which names “Lotte Maes”"


def test_successor_reason_names_the_superseded_memory(memory: Memory) -> None:
    memory.remember([turn("I live in Porto.", "Ana", id="old"), turn("It rained.")])
    memory.remember(turn("I live in Ghent.", "Ana", id="new", supersedes="old", happened_at="2026-06-01"))
    by_successor = FixedStrategy({"successor": (1, 1, 9)}, {"successor": {memory.graph().row("new") or 0: (0, -1)}})
    assert reasons_by_text(memory, "Where?", strategy=by_successor)["I live in Ghent."] == "replaces old"


def test_class_reason_quotes_the_instance(memory: Memory) -> None:
    memory.remember([turn("We took in a kitten.", id="cat"), turn("The roof leaks.", id="roof")])
    by_class = FixedStrategy({"instance of asked class": (9, 1)})
    reasons = reasons_by_text(memory, "Which pets do they have?", strategy=by_class)
    assert reasons["We took in a kitten."] == "says “kitten” (for “pet”)"
    assert not reasons_by_text(memory, "Which cities did they see?", strategy=by_class)["We took in a kitten."]


def test_feedback_and_co_use_reasons(memory: Memory) -> None:
    memory.remember([turn("A cat sat.", id="cat"), turn("A dog ran.", id="dog"), turn("It rained.", id="rain")])
    by_feedback = FixedStrategy({"similar question feedback": (9, 1, 1)})
    assert (
        reasons_by_text(memory, "What?", strategy=by_feedback)["A cat sat."]
        == "was of use for a question like this one"
    )
    by_co_use = FixedStrategy({"co-use": (1, 9, 1)}, {"co-use": {1: (0, -1)}})
    assert reasons_by_text(memory, "What?", strategy=by_co_use)["A dog ran."] == "was of use together with cat"


def test_reasons_of_identifiers_and_amounts(memory: Memory) -> None:
    texts = ["The proxy is on port 8080.", "The other one is on port 9080.", "He bought 5 kg.", "It rained."]
    memory.remember([turn(text) for text in texts])
    for feature in ("identifier match", "other identifier"):
        by_identifier = FixedStrategy({feature: (4, 3, 2, 1)})
        reasons = reasons_by_text(memory, "What listens on port 8080?", strategy=by_identifier)
        assert "has “8080”, which is asked for" in reasons[texts[0]]
        assert "asked for" not in reasons[texts[1]]
    by_amount = FixedStrategy({"quantity match": (1, 2, 4, 3)})
    reasons = reasons_by_text(memory, "Who bought 5 kilograms?", strategy=by_amount)
    assert "has “5 kg”, an amount in the question" in reasons[texts[2]]
    assert not any("an amount" in reasons[text] for text in (*texts[:2], texts[3]))


@pytest.mark.parametrize("feature", ["day match", "year match", "near day match"])
def test_reasons_of_days(feature: str, memory: Memory) -> None:
    memory.remember([turn("A cat sat.", happened_at="2026-05-04"), turn("It rained.", happened_at="2026-02-01")])
    reasons = reasons_by_text(memory, "What was on 4 May 2026?", strategy=FixedStrategy({feature: (2, 1)}))
    expected = "near the time asked about" if feature == "near day match" else "the time asked about"
    assert reasons["A cat sat."] == f"is of 4 May 2026, {expected}"


@pytest.mark.medium
def test_features_have_a_clause_or_are_listed_as_unexplained(demo_memory: Memory) -> None:
    stages = {column for columns in features.feature_names_by_group().values() for column in columns}
    stages |= {*RERANKING_FEATURES}
    for name in (*BUILT_IN, *FAITHFUL):
        for question in ("What is the name of Martina's cat?", "What was on 8 February 2025?"):
            activation = resolve_strategy(name).activate(demo_memory.build_query(question), demo_memory.graph())
            stages |= activation.contributions.keys()
    assert stages - CLAUSE_BUILDERS.keys() - UNEXPLAINED == set()
    assert not CLAUSE_BUILDERS.keys() & UNEXPLAINED


@pytest.fixture(scope="module")
def demo_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """The conversation of the demo."""
    path = tmp_path_factory.mktemp("friends") / "memory.db"
    with Memory(path, embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        opened.remember(show.load_conversation())
        yield opened
