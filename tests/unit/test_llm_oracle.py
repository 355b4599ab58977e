"""The oracle with a language model: its guard, budget, cache, pauses and counts."""

from pathlib import Path

import numpy as np
import pytest

from ecphora import LLMClient, LLMOracle, Memory, OracleReport
from ecphora.consolidation.insights.summaries import ExtractiveSummarizer
from ecphora.errors import InvalidInput
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Summarizer
from ecphora.model.types import Node, Tombstone, Vectors, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies.weave.llm_oracle import PAUSE_SECONDS
from ecphora.strategies.weave.strategy import Weave
from ecphora.testing import NOON, FakeClock, ScriptedLLM, sample_node

EMBEDDER = HashingEmbedder(256)
TEXTS = [
    "Ana waters the tomatoes in the garden.",
    "Ana waters the beans in the garden.",
    "Ana waters the garden daily.",
]
SOURCES = [sample_node(f"n{at}", text, seq=at) for at, text in enumerate(TEXTS, 1)]
WEIGHTS = np.full(3, 1 / 3)
GOOD, INVENTED = "Ana waters the garden.", "The mayor of Lisbon resigned yesterday."
TOKEN_COST = 0.02
PLANTS = ("beans", "roses", "figs", "peas", "mint", "kale")


def vectors() -> Vectors:
    return EMBEDDER.embed(TEXTS)


def summarize(oracle: Summarizer, sources: list[Node] | None = None) -> str | None:
    return oracle.summarize(sources or SOURCES, vectors(), WEIGHTS, TOKEN_COST)


QUOTES = ExtractiveSummarizer().summarize(SOURCES, EMBEDDER.embed(TEXTS), WEIGHTS, TOKEN_COST)


def test_text_that_is_better_than_quotes_is_taken() -> None:
    llm = ScriptedLLM([{"text": GOOD}])
    oracle = LLMOracle(llm, EMBEDDER)
    assert summarize(oracle) == GOOD != QUOTES
    assert all(text in llm.prompts[0].user for text in TEXTS)
    report = oracle.report
    assert (report.by_model, report.rejected, report.quoted, report.usage.calls) == (1, 0, 0, 1)
    assert report.to_dict()["usage"]["calls"] == 1


@pytest.mark.parametrize(
    "text", [INVENTED, f"{GOOD} {INVENTED}", "...", f"{GOOD} " * 30], ids=["all", "one", "dots", "long"]
)
def test_text_that_is_invented_or_no_better_is_rejected(text: str) -> None:
    oracle = LLMOracle(ScriptedLLM([{"text": text}]), EMBEDDER)
    assert summarize(oracle) == QUOTES
    assert (oracle.report.by_model, oracle.report.rejected, oracle.report.quoted) == (1, 1, 0)


def test_model_is_asked_once_for_the_same_memories() -> None:
    llm, cache = ScriptedLLM([{"text": GOOD}]), dict[str, str]()
    oracle = LLMOracle(llm, EMBEDDER, cache=cache)
    assert [summarize(oracle), summarize(oracle), summarize(LLMOracle(llm, EMBEDDER, cache=cache))] == [GOOD] * 3
    assert (oracle.report.by_model, oracle.report.cached) == (1, 1)
    assert GOOD in cache.values()


def test_budget_ends_in_quotes() -> None:
    oracle = LLMOracle(LLMClient(ScriptedLLM(lambda _: {"text": GOOD}), retries=0), EMBEDDER, max_calls=1)
    assert summarize(oracle) == GOOD
    assert summarize(oracle, SOURCES[::-1]) == GOOD  # the same memories
    other = [sample_node(f"m{at}", text) for at, text in enumerate(TEXTS)]
    assert summarize(oracle, other) == QUOTES
    assert oracle.report.errors == ("the budget of 1 calls is used up",)


def test_failing_model_gets_a_pause_and_then_another_try() -> None:
    now = [0.0]
    llm = ScriptedLLM(lambda _: {"text": GOOD}, failing_calls=range(3))
    oracle = LLMOracle(LLMClient(llm, retries=0), EMBEDDER, clock=lambda: now[0])
    assert [summarize(oracle) for _ in range(5)] == [QUOTES] * 5
    assert len(llm.prompts) == 3
    now[0] = PAUSE_SECONDS - 1
    assert summarize(oracle) == QUOTES
    now[0] = PAUSE_SECONDS
    assert summarize(oracle) == GOOD
    assert (oracle.report.quoted, oracle.report.by_model) == (6, 1)


def test_arguments_are_checked() -> None:
    for arguments in ((3, EMBEDDER), (ScriptedLLM([]), 3)):
        with pytest.raises(InvalidInput):
            LLMOracle(*arguments)
    with pytest.raises(InvalidInput, match="max_tokens"):
        LLMOracle(ScriptedLLM([]), EMBEDDER, max_tokens=0)


def test_weave_writes_the_oracle_s_insights(tmp_path: Path) -> None:
    llm = ScriptedLLM(lambda _: {"text": GOOD})
    oracle = LLMOracle(llm, EMBEDDER)
    strategy = Weave(omega=6, tau_cluster=0.3, min_cosine=0.2, summarizer=oracle)
    with Memory(
        tmp_path / "m.db", embedder=EMBEDDER, strategy=strategy, update_scorer=None, clock=FakeClock(), reranker=None
    ) as memory:
        memory.remember([f"Ana waters the garden, {plant}." for plant in PLANTS])
        texts = {insight.node.text for insight in memory.insights()}
        assert texts
        assert oracle.report.by_model + oracle.report.cached >= len(texts)
        assert oracle.report != OracleReport()


@pytest.mark.medium
def test_weave_does_not_ask_about_an_insight_that_was_forgotten(tmp_path: Path) -> None:
    llm = ScriptedLLM(lambda _: {"text": GOOD})
    strategy = Weave(omega=6, tau_cluster=0.3, min_cosine=0.2, summarizer=LLMOracle(llm, EMBEDDER))
    with Memory(
        tmp_path / "m.db", embedder=EMBEDDER, update_scorer=None, clock=FakeClock(NOON), reranker=None
    ) as memory:
        memory.remember([f"Ana waters the garden, {plant}." for plant in PLANTS])
        graph = memory.graph()
        reader = memory._scope_writer.node_source(graph)
        drawn = strategy.process(graph, reader, NOON).nodes
        asked = len(llm.prompts)
        assert drawn
        assert asked
        tombstones = tuple(Tombstone(node.id, b"") for node in drawn)
        forgotten = apply_batch(graph, WriteBatch(tombstones=tombstones, revision=graph.revision + 1))
        assert strategy.process(forgotten, reader, NOON).nodes == ()
        assert len(llm.prompts) == asked
