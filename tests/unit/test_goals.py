"""Goals beside a question: what they change in the ranking, and what they leave as it is."""

import asyncio
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecphora import AsyncMemory, Filter, InvalidInput, Memory, RecallOptions, Recollection
from ecphora.model.text_format import strip_invisible
from ecphora.model.types import Goal, Vectors
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.ranking import Comparison, Ranking
from ecphora.retrieval import dense
from ecphora.retrieval.fusion import LinearModel
from ecphora.strategies import BUILT_IN
from ecphora.strategies.fused.answerability import ANSWERABILITY_FEATURES, AnswerabilityModel
from ecphora.strategies.fused.boosts import SMALLEST_SPREAD, goal_doubt, goal_fit
from ecphora.strategies.fused.candidate_pool import build_pool
from ecphora.strategies.fused.feature_matrix import Genre
from ecphora.strategies.fused.ranker import Ranker
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import ConstantReranker, FakeClock, ScriptedLLM

QUESTION = "What should I keep in mind?"
TEXTS = (
    "Ivo gets a rash from peanuts at a party.",
    "The oven runs too hot for a cake.",
    "The washing machine leaks when the laundry is heavy.",
    "Winter tires are in the garage.",
    "The landlord reads email only.",
)
PARTY, CAKE, LAUNDRY = "a party for Ivo", "a cake from the oven", "laundry in the washing machine"


class CountingEmbedder(HashingEmbedder):
    """Counts how often each text is embedded as a query; reads only some of them."""

    def __init__(self, unread: str = "") -> None:
        super().__init__(256)
        self.unread, self.queries = unread, list[str]()

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        if is_query:
            self.queries.extend(texts)
        return super().embed(texts, is_query=is_query)

    def coverage(self, text: str, /) -> float:
        return 0.0 if text == self.unread else 1.0


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
def memory(tmp_path: Path, embedder: CountingEmbedder) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=embedder, clock=FakeClock()) as opened:
        opened.remember(TEXTS)
        yield opened


def summary(found: Recollection) -> list[tuple[Any, ...]]:
    return [(hit.id, hit.score, hit.why, hit.reason) for hit in found]


def goal_gains(found: Recollection) -> dict[str, float]:
    gains = {hit.text: [one.value for one in hit.why.contributions if one.feature == "goal"] for hit in found}
    return {text: values[0] for text, values in gains.items() if values}


# ---- ranking


@pytest.mark.parametrize(("goal", "text"), [(PARTY, TEXTS[0]), (CAKE, TEXTS[1]), (LAUNDRY, TEXTS[2])])
def test_goal_decides_between_several_answers(memory: Memory, goal: str, text: str) -> None:
    found = memory.recall(QUESTION, goal=goal, options=RecallOptions(log_access=False))
    assert found[0].text == text
    assert found.query.goal is not None
    assert found.query.goal.text == goal
    for hit in found:
        assert hit.score == pytest.approx(sum(one.value for one in hit.why.contributions), abs=1e-3)


@pytest.mark.medium
@pytest.mark.parametrize("reading", ["never", "always"])
def test_goal_changes_neither_evidence_nor_confidence_nor_what_comes_back(tmp_path: Path, reading: str) -> None:
    with Memory(
        tmp_path / "m.db", embedder=HashingEmbedder(256), reranker=ConstantReranker(), clock=FakeClock()
    ) as memory:
        memory.remember(TEXTS)
        for question in (QUESTION, "Where are the winter tires?", "Who is Zoe?"):
            options: dict[str, Any] = {"rerank": reading, "options": RecallOptions(log_access=False)}
            plain = memory.recall(question, **options)
            found = memory.recall(question, goal=LAUNDRY, **options)
            assert (found.evidence, found.confidence) == (plain.evidence, plain.confidence)
            assert {hit.id for hit in found} == {hit.id for hit in plain}
            scores = {hit.id: hit.score for hit in plain}
            assert all(hit.score >= scores[hit.id] for hit in found)


def test_goal_raises_no_memory_above_a_clear_answer(memory: Memory) -> None:
    zeros = (0.0,) * len(ANSWERABILITY_FEATURES)
    by_words = Ranker(*[LinearModel(-10.0, {"bm25": 5.0})] * len(Genre))

    def best(bias: float) -> str:
        strategy = Fused(by_words, AnswerabilityModel(zeros, bias, zeros, bias))
        question = "Where are the winter tires?"
        return memory.recall(
            question, goal=PARTY, strategy=strategy, rerank="never", options=RecallOptions(log_access=False)
        )[0].text

    assert best(5.0) == TEXTS[3]
    assert best(-5.0) == TEXTS[0]  # what fits the goal, if the question is sure of nothing


@pytest.mark.medium
def test_recall_without_goal_is_the_same_after_one_with(memory: Memory) -> None:
    before = summary(memory.recall(QUESTION, options=RecallOptions(log_access=False)))
    memory.recall(QUESTION, goal=CAKE, options=RecallOptions(log_access=False))
    again = memory.recall(QUESTION, goal=None, options=RecallOptions(log_access=False))
    assert summary(again) == before
    assert again.query.goal is None
    assert not any(one.feature == "goal" for hit in again for one in hit.why.contributions)


def test_goal_counts_the_more_the_less_the_question_is_sure(memory: Memory) -> None:
    sure, unsure = "Where are the winter tires in the garage?", "What?"
    found = {one: memory.recall(one, goal=CAKE, options=RecallOptions(log_access=False)) for one in (sure, unsure)}
    assert found[sure].confidence > found[unsure].confidence
    assert goal_gains(found[sure])[TEXTS[1]] < goal_gains(found[unsure])[TEXTS[1]]
    for one in found.values():
        bound = Fused().goal_weight * goal_doubt(one.confidence)
        assert all(0 < gain <= bound + 1e-4 for gain in goal_gains(one).values())


def test_goal_of_weight_zero_changes_nothing(memory: Memory) -> None:
    strategy = replace(Fused(), goal_weight=0.0)
    plain = memory.recall(QUESTION, strategy=strategy, options=RecallOptions(log_access=False))
    assert summary(
        memory.recall(QUESTION, goal=CAKE, strategy=strategy, options=RecallOptions(log_access=False))
    ) == summary(plain)


def test_goal_returns_nothing_that_the_filter_excludes(memory: Memory) -> None:
    memory.remember("The party is on Friday.", speaker="Ben")
    found = memory.recall(QUESTION, goal=PARTY, where=Filter(speakers="Ben"))
    assert [hit.node.speaker for hit in found] == ["Ben"]
    assert not memory.recall(QUESTION, goal=PARTY, where=Filter(speakers="Zoe"))


def test_goal_activates_nothing_that_the_question_does_not(memory: Memory) -> None:
    unlikely = Fused(ranker=Ranker(*[LinearModel(-16.0, {})] * len(Genre)))
    assert not memory.recall(QUESTION, goal=CAKE, strategy=unlikely)


def test_goal_raises_no_superseded_memory_above_its_successor(memory: Memory) -> None:
    old = memory.remember("The cake for the party has nuts.", happened_at="2026-01-01").id
    new = memory.remember("Kim now wants something else: fruit.", supersedes=old, happened_at="2026-02-01").id
    ids = [hit.id for hit in memory.recall("What is there to eat?", goal="cake for the party", limit=50)]
    assert ids.index(new) < ids.index(old)


def test_fit_is_relative_to_the_mean_and_bounded(memory: Memory) -> None:
    query = memory.build_query(QUESTION, goal=CAKE)
    assert query.goal is not None
    pool = build_pool(memory.graph(), query)
    fit = goal_fit(pool)
    assert fit.dtype == np.float32
    assert fit.min() == 0
    cosines = dense.cosine_with(pool.graph, query.goal.vector)[pool.rows]
    deviations = (cosines - cosines.mean()) / (cosines.std() + SMALLEST_SPREAD)
    assert fit == pytest.approx(np.clip(deviations / math.sqrt(2 * math.log(len(TEXTS))), 0, 1), abs=1e-6)
    assert 0.5 < fit.max() <= 1
    halved = goal_fit(replace(pool, query=replace(query, goal=replace(query.goal, embedder_coverage=0.5))))
    assert halved == pytest.approx(fit / 2)
    assert not goal_fit(replace(pool, query=replace(query, goal=None))).any()
    assert not goal_fit(replace(pool, query=replace(query, goal=Goal(CAKE)))).any()


def test_equal_memories_gain_nothing(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64)) as memory:
        memory.remember(["The same words.", "words The same.", "same The words."])
        assert not goal_gains(memory.recall("Which words?", goal="the same words"))


def test_unread_goal_changes_nothing(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=CountingEmbedder(unread=CAKE), clock=FakeClock()) as memory:
        memory.remember(TEXTS)
        plain = memory.recall(QUESTION, options=RecallOptions(log_access=False))
        assert summary(memory.recall(QUESTION, goal=CAKE, options=RecallOptions(log_access=False))) == summary(plain)


# ---- embedding


def test_goal_is_embedded_once_for_several_questions(memory: Memory, embedder: CountingEmbedder) -> None:
    for question in (QUESTION, "What is there?", "Who reads email?"):
        memory.recall(question, goal=CAKE)
    assert embedder.queries.count(CAKE) == 1


def test_goal_of_an_empty_memory_is_not_embedded(tmp_path: Path, embedder: CountingEmbedder) -> None:
    with Memory(tmp_path / "empty.db", embedder=embedder) as memory:
        assert not memory.recall(QUESTION, goal=CAKE)
    assert embedder.queries == []


# ---- reasons


def test_reason_names_the_goal_that_raised_a_memory(memory: Memory) -> None:
    plain = [hit.id for hit in memory.recall(QUESTION, options=RecallOptions(log_access=False))]
    found = memory.recall(QUESTION, goal=LAUNDRY, options=RecallOptions(log_access=False))
    raised = [hit for rank, hit in enumerate(found) if rank < plain.index(hit.id)]
    assert raised
    assert all(f"fits the goal “{LAUNDRY}”" in hit.reason for hit in raised)
    assert "goal" not in found[-1].reason


def test_raised_by_the_goal_is_what_would_rank_behind_a_later_one(memory: Memory) -> None:
    graph, query = memory.graph(), memory.build_query(QUESTION, goal=CAKE)
    values = {"bm25": np.array([1.0, 2.0, 3.0]), "goal": np.array([5.0, 0.5, 0.0])}
    found = memory.recall(QUESTION, limit=3)
    order = graph.rows(hit.id for hit in found)

    def is_raised(index: int, contributions: dict[str, NDArray[np.float64]]) -> bool:
        ranking = Ranking(graph, query, graph.episodes, order, contributions, {})
        return Comparison(ranking, index, found[index].node, ()).is_raised_by_goal

    assert [is_raised(index, values) for index in range(3)] == [True, True, False]
    falling = values | {"bm25": np.array([3.0, 2.0, 1.0])}
    assert not any(is_raised(index, falling) for index in range(3))
    assert not is_raised(0, {"bm25": values["bm25"]})


def test_reason_shortens_a_long_goal(memory: Memory) -> None:
    reasons = [hit.reason for hit in memory.recall(QUESTION, goal=f"{LAUNDRY}\n\tand {'more ' * 50}")]
    assert f"fits the goal “{LAUNDRY} and more" in reasons[0]
    assert max(map(len, reasons)) < 160


# ---- every way to ask


@pytest.mark.medium
def test_every_way_of_recalling_takes_a_goal(memory: Memory, tmp_path: Path) -> None:
    expected = summary(memory.recall(QUESTION, goal=LAUNDRY, options=RecallOptions(log_access=False)))
    conversation = [{"role": "user", "content": QUESTION}]
    assert summary(memory.recall(conversation, goal=LAUNDRY, options=RecallOptions(log_access=False))) == expected
    assert (
        TEXTS[2]
        in memory.answer(
            "Which machine leaks, and which oven?", goal=LAUNDRY, options=RecallOptions(log_access=False)
        ).text
    )
    id_ = expected[0][0]
    assert memory.why_not(QUESTION, id_, goal=LAUNDRY, limit=1).miss_reason == "none"
    assert memory.why_not(QUESTION, id_, goal=PARTY, limit=1).rank != 1

    async def ask() -> list[tuple[Any, ...]]:
        async with AsyncMemory.wrap(memory) as wrapped:
            return summary(await wrapped.recall(QUESTION, goal=LAUNDRY, options=RecallOptions(log_access=False)))

    assert asyncio.run(ask()) == expected


def test_prompt_of_an_answer_shows_what_fits_the_goal(memory: Memory) -> None:
    llm = ScriptedLLM(lambda _prompt: '{"answered": true, "answer": "Mind the leak.", "ids": []}')
    memory.answer("Where are the winter tires?", llm, goal=LAUNDRY, limit=2)
    assert llm.prompts
    assert "washing machine" in llm.prompts[0].user


def test_tool_takes_a_goal(memory: Memory) -> None:
    reply = memory.tools().call("recall", {"question": QUESTION, "goal": LAUNDRY, "limit": 1})
    assert TEXTS[2] in reply
    assert (
        memory.tools()
        .call("recall", {"question": QUESTION, "goal": "x" * 20_001})
        .startswith("Error: goal: a question of 20,001")
    )


# ---- errors


@pytest.mark.parametrize("goal", ["", "  \n", 3, b"cake", ["cake"], "x" * 20_001, "\ud800"])
def test_goal_that_is_no_text_is_refused(memory: Memory, goal: Any) -> None:
    with pytest.raises(InvalidInput, match="goal"):
        memory.recall(QUESTION, goal=goal)


@pytest.mark.parametrize("strategy", sorted(set(BUILT_IN) - {"fused"}))
def test_strategy_without_goals_says_so(memory: Memory, strategy: str) -> None:
    with pytest.raises(InvalidInput, match=rf"'{strategy}' takes no goal; recall with strategy='fused'"):
        memory.recall(QUESTION, goal=CAKE, strategy=strategy)
    assert memory.recall("What leaks?", strategy=strategy)


@pytest.mark.medium
@given(goal=st.text(min_size=1, max_size=40).filter(lambda text: bool(strip_invisible(text).strip())))
def test_no_goal_breaks_a_recall(shared_memory: Memory, goal: str) -> None:
    found = shared_memory.recall(QUESTION, goal=goal, options=RecallOptions(log_access=False))
    assert len(found) == len(TEXTS)
    assert all(np.isfinite(hit.score) for hit in found)


@pytest.fixture(scope="module")
def shared_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("goals") / "m.db", embedder=HashingEmbedder(256)) as opened:
        opened.remember(TEXTS)
        yield opened
