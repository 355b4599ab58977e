"""Why a memory was recalled, and why another was not."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecphora.cli.demo
from ecphora import RecallOptions
from ecphora.errors import InvalidInput
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.ports import Activation
from ecphora.model.types import PRIOR, AccessKind, Contribution, Episode, Filter, Query, Why
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.explain import MissReason, WhyNot, contribution_differences
from ecphora.testing import FakeClock

TALK = (
    Episode("The river is lovely.", id="river", speaker="Ana", session="s1", happened_at="2026-05-01"),
    Episode("The boat sank in the river.", id="boat", speaker="Ben", session="s1", happened_at="2026-05-02"),
    Episode("School starts in June, long after the boat sank in the cold river near the mill.", id="school",
            speaker="Ana", session="s2", happened_at="2026-05-03", metadata={"k": 1}),
)  # fmt: skip
LONG = "".join(f"Ana met Mia in Porto on day {day} of her stay. " for day in range(100))
STRATEGIES = (
    "fused",
    "dense",
    "bm25",
    "rrf",
    "simple",
    "recency",
    "synapse",
    "eisa",
    "ecphory",
    "weave",
    "synaptic-faithful",
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), clock=FakeClock()) as opened:
        opened.remember(TALK)
        yield opened


@dataclass(frozen=True)
class FixedStrategy:
    """Gives each row fixed contributions for and against."""

    positive: tuple[float, ...]
    negative: tuple[float, ...]
    name: str = "fixed"

    def activate(self, _cue: Query, graph: Graph, /) -> Activation:
        """The sum of both contributions, at least 0."""
        columns = {stage: graph.zeros() for stage in ("for", "against")}
        rows = np.flatnonzero(graph.episodes)
        columns["for"][rows], columns["against"][rows] = self.positive, self.negative
        return Activation(np.maximum(0, columns["for"] + columns["against"]), columns)


# ---- miss reasons


@pytest.mark.medium
def test_unknown_id_is_not_found(memory: Memory) -> None:
    memory.forget("boat")
    for id_ in ("nobody", "boat", "entity:ana", ""):
        assert memory.why_not("river", id_) == WhyNot(id_, MissReason.NOT_FOUND)


@pytest.mark.parametrize(
    ("options", "failed_filters"),
    [
        ({"where": Filter(speakers="Ben")}, ("speakers",)),
        ({"where": Filter(not_speakers="Ana")}, ("not_speakers",)),
        ({"where": Filter(sessions="s2", metadata={"k": 1})}, ("sessions", "metadata")),
        ({"where": Filter(sources="book", before="2026-05-01", after="2026-05-01")}, ("sources", "before")),
        ({"as_of": "2026-04-30"}, ("as_of",)),
        ({"known_at": "2026-05-02", "where": Filter(speakers="Ana", after="2026-05-02")}, ("after", "known_at")),
    ],
)
def test_miss_names_the_failed_filters(
    options: dict[str, object], failed_filters: tuple[str, ...], memory: Memory
) -> None:
    found = memory.why_not("the river", "river", **options)  # type: ignore[arg-type]
    assert (found.miss_reason, found.failed_filters, found.rank) == (MissReason.FILTER, failed_filters, None)


def test_memory_without_score_has_no_activation(memory: Memory) -> None:
    found = memory.why_not("lovely", "boat", strategy="bm25")
    assert (found.miss_reason, found.rank, found.candidates, found.score, found.cutoff_rank) == (
        MissReason.NO_ACTIVATION,
        None,
        1,
        0.0,
        1,
    )
    assert [contribution.feature for contribution in found.shortfall] == ["bm25"]
    assert found.shortfall[0].value == found.cutoff_score
    assert memory.why_not("nothing of it", "boat", strategy="bm25") == WhyNot("boat", MissReason.NO_ACTIVATION)


@pytest.mark.medium
def test_memory_outside_the_pool_has_no_activation(memory: Memory) -> None:
    memory.remember(f"Number {n * n} of a list." for n in range(400))
    memory.remember("Zebras eat hay.", id="far")
    assert memory.why_not("Which number of the list is it?", "far").miss_reason == MissReason.NO_ACTIVATION


def test_negative_sum_has_a_negative_score(memory: Memory) -> None:
    found = memory.why_not("river", "boat", strategy=FixedStrategy((3, 1, 2), (0, -4, 0)))
    assert (found.miss_reason, found.rank, found.score, found.cutoff_score) == (MissReason.NEGATIVE_SCORE, None, -3, 2)
    assert found.shortfall == (Contribution("against", 4), Contribution("for", 1))


def test_memory_beyond_the_limit_is_below_the_cutoff(memory: Memory) -> None:
    found = memory.why_not("river", "boat", limit=2, strategy=FixedStrategy((3, 1, 2), (0, -0.5, -1)))
    assert (found.miss_reason, found.rank, found.candidates, found.score) == (MissReason.BELOW_CUTOFF, 3, 3, 0.5)
    assert (found.cutoff_score, found.cutoff_rank, found.shortfall) == (1, 2, (Contribution("for", 1),))
    assert str(found) == "It came 3rd of 3. What the 2nd has beyond it: says “river”. Ask with a limit of 3."


def test_memory_over_the_budget_is_missed_for_budget(memory: Memory) -> None:
    strategy = FixedStrategy((2, 1, 3), (0, 0, 0))
    found = memory.why_not("river", "school", budget=14, strategy=strategy)
    assert (found.miss_reason, found.rank, found.cutoff_rank, found.shortfall) == (MissReason.BUDGET, 1, 3, ())
    options = {"strategy": strategy, "options": RecallOptions(log_access=False)}
    assert found.required_budget is not None
    assert [hit.id for hit in memory.recall("river", budget=found.required_budget, **options)] == ["school"]  # type: ignore[arg-type]
    assert memory.recall("river", budget=found.required_budget - 1, **options)[0].id == "river"  # type: ignore[arg-type]
    assert memory.why_not("river", "school", budget=1, strategy=strategy).cutoff_score is None
    assert memory.why_not("river", "boat", budget=1, limit=2, strategy=strategy).shortfall == ()


def test_recalled_memory_has_no_miss_reason(memory: Memory) -> None:
    found = memory.why_not("When does school start?", "school", strategy="bm25")
    assert (found.miss_reason, found.rank, found.shortfall, found.failed_filters, found.required_budget) == (
        MissReason.NONE,
        1,
        (),
        (),
        None,
    )


# ---- documents, logging and arguments


@pytest.mark.medium
def test_document_is_represented_by_its_best_chunk(memory: Memory) -> None:
    memory.remember(LONG, id="long")
    found = memory.why_not("What did Ana do on day 77?", "long", strategy="bm25", limit=1)
    best = memory.recall(
        "What did Ana do on day 77?", strategy="bm25", limit=1, options=RecallOptions(log_access=False)
    )[0].id
    assert best.startswith("long#")
    assert (found.id, found.miss_reason, found.rank) == ("long", MissReason.NONE, 1)
    other = "long#1" if best != "long#1" else "long#2"
    assert (
        memory.why_not("What did Ana do on day 77?", other, strategy="bm25", limit=1).miss_reason
        == MissReason.BELOW_CUTOFF
    )
    assert memory.why_not("Mia", "long", as_of="2020-01-01").miss_reason == MissReason.FILTER


@pytest.mark.medium
def test_why_not_logs_nothing(memory: Memory) -> None:
    before = memory.scopes()[0].revision
    for strategy in ("fused", "eisa", "synaptic"):
        memory.why_not("river", "boat", strategy=strategy)
    assert memory.scopes()[0].revision == before
    history = memory.history("boat")
    assert history is not None
    assert [access.kind for access in history.accesses] == [AccessKind.ENCODED]


def test_why_not_rejects_invalid_arguments(memory: Memory) -> None:
    for question, limit, budget in (("", 1, None), ("river", 0, None), ("river", 1, 0)):
        with pytest.raises(InvalidInput):
            memory.why_not(question, "boat", limit=limit, budget=budget)


# ---- agreement with recall


@pytest.fixture(scope="module")
def demo_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """The conversation of the demo."""
    lines = Path(ecphora.cli.demo.__file__).with_name("conversation.jsonl").read_text("utf-8").splitlines()
    episodes = [Episode(**json.loads(line)) for line in lines]
    with Memory(
        tmp_path_factory.mktemp("friends") / "memory.db", embedder=HashingEmbedder(64), clock=FakeClock()
    ) as opened:
        opened.remember(episodes)
        yield opened


@pytest.mark.medium
@given(
    question=st.sampled_from(("Who plays bass?", "What did Ines say of the holiday?", "What was on 8 February 2025?")),
    row=st.integers(0, 10_000),
    limit=st.integers(1, 40),
    budget=st.none() | st.integers(20, 400),
    strategy=st.sampled_from(STRATEGIES),
)
def test_why_not_agrees_with_recall(
    demo_memory: Memory, *, question: str, row: int, limit: int, budget: int | None, strategy: str
) -> None:
    graph = demo_memory.graph()
    id_ = graph.id(np.flatnonzero(graph.episodes)[row % len(demo_memory)])

    def whys_by_id(limit: int, budget: int | None = None) -> dict[str, Why]:
        hits = demo_memory.recall(
            question, limit=limit, budget=budget, strategy=strategy, options=RecallOptions(log_access=False)
        )
        return {hit.id: hit.why for hit in hits}

    found = demo_memory.why_not(question, id_, limit=limit, budget=budget, strategy=strategy)
    recalled, all_hits = whys_by_id(limit, budget), whys_by_id(len(demo_memory))
    assert (found.miss_reason == MissReason.NONE) == (id_ in recalled)
    assert found.candidates == len(all_hits)
    assert found.rank == (list(all_hits).index(id_) + 1 if id_ in all_hits else None)
    assert (found.required_budget is not None) == (found.miss_reason == MissReason.BUDGET)
    if found.miss_reason == MissReason.BELOW_CUTOFF:
        assert found.rank is not None
        assert id_ in whys_by_id(found.rank)
        assert id_ not in whys_by_id(found.rank - 1)
    if found.required_budget is not None:
        assert id_ in whys_by_id(limit, found.required_budget)
    if recalled and found.miss_reason in {MissReason.BELOW_CUTOFF, MissReason.NO_ACTIVATION}:
        assert found.cutoff_score is not None
        differences = contribution_differences(list(recalled.values())[-1], all_hits.get(id_, Why(())))
        assert sum(contribution.value for contribution in differences) == pytest.approx(
            found.cutoff_score - found.score, abs=1e-3
        )
        assert found.shortfall == tuple(contribution for contribution in differences if contribution.value > 0)
        assert list(found.shortfall) == sorted(found.shortfall, key=lambda contribution: -contribution.value)
    assert str(found).endswith(".")


# ---- text form


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            WhyNot("a", MissReason.NOT_FOUND),
            "There is no memory 'a': it was never remembered, or it was forgotten.",
        ),
        (
            WhyNot("a", MissReason.FILTER, candidates=3, failed_filters=("speakers", "as_of")),
            "It is there, but does not meet what was asked for: speakers, as of. Ask without.",
        ),
        (
            WhyNot("a", MissReason.NO_ACTIVATION, candidates=30, cutoff_score=4.5, cutoff_rank=10),
            "Neither the question nor a name led to it. Ask with words or names that it has.",
        ),
        (
            WhyNot("a", MissReason.NEGATIVE_SCORE, candidates=30, score=-1.0),
            "More speaks against it than for it. Ask in words nearer to its own.",
        ),
        (
            WhyNot("a", MissReason.BELOW_CUTOFF, 14, 2100, 3.0, 4.32, 10, (Contribution("bm25", 0.61),), "says “boat”"),
            "It came 14th of 2,100. What the 10th has beyond it: says “boat”. Ask with a limit of 14.",
        ),
        (
            WhyNot("a", MissReason.BUDGET, 3, 210, required_budget=412),
            "It came 3rd of 210, but its text did not fit. Ask with a budget of 412 tokens.",
        ),
        (WhyNot("a", MissReason.NONE, 21, 210), "It came back, 21st of 210."),
        (WhyNot("a", MissReason.NONE, 112, 210), "It came back, 112th of 210."),
    ],
)  # fmt: skip
def test_miss_texts_have_advice(found: WhyNot, expected: str) -> None:
    assert str(found) == expected


def test_prior_is_last_in_the_text() -> None:
    why = Why((Contribution(PRIOR, 5.3), Contribution("is question", -0.1), Contribution("bm25", 1.2)))
    assert str(why) == "bm25 +1.20, is question -0.10, prior +5.30"


def test_contribution_differences_are_sorted_and_complete() -> None:
    first, second = (
        Why((Contribution("a", 1.0), Contribution("b", 2.0))),
        Why((Contribution("b", 2.0), Contribution("c", 3.0), Contribution("a", -1.0))),
    )
    assert contribution_differences(second, first) == (Contribution("c", 3.0), Contribution("a", -2.0))
