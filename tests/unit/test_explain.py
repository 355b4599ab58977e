"""Why a memory came back, and why another did not."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecphora.cli.demo
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import InvalidInput
from ecphora.explain import MissReason, WhyNot, contribution_differences
from ecphora.graph import Graph
from ecphora.memory import Memory
from ecphora.model import PRIOR, AccessKind, Contribution, Episode, Filter, Query, Why
from ecphora.ports import Activation
from ecphora.testing import FakeClock

TALK = (
    Episode("The river is lovely.", id="river", speaker="Ana", session="s1", happened_at="2026-05-01"),
    Episode("The boat sank in the river.", id="boat", speaker="Ben", session="s1", happened_at="2026-05-02"),
    Episode("School starts in June, long after the boat sank in the cold river near the mill.", id="school",
            speaker="Ana", session="s2", happened_at="2026-05-03", metadata={"k": 1}),
)  # fmt: skip
LONG = "".join(f"Ana met Mia in Porto on day {day} of her stay. " for day in range(100))
SHOWN = ("fused", "dense", "bm25", "rrf", "recency", "synapse", "eisa", "ecphory", "weave", "synaptic-faithful")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), clock=FakeClock()) as opened:
        opened.remember(TALK)
        yield opened


@dataclass(frozen=True)
class Given:
    """Gives each row what it was told to."""

    speaking: tuple[float, ...]
    against: tuple[float, ...]
    name: str = "given"

    def activate(self, _cue: Query, graph: Graph, /) -> Activation:
        """Score every episode by what it was given."""
        shares = {stage: graph.zeros() for stage in ("for", "against")}
        rows = np.flatnonzero(graph.episodes)
        shares["for"][rows], shares["against"][rows] = self.speaking, self.against
        return Activation(np.maximum(0, shares["for"] + shares["against"]), shares)


# ---- each way to stay behind


def test_what_is_not_there_is_absent(memory: Memory) -> None:
    memory.forget("boat")
    for id_ in ("nobody", "boat", "entity:ana", ""):
        assert memory.why_not("river", id_) == WhyNot(id_, MissReason.NOT_FOUND)


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ({"where": Filter(speakers="Ben")}, ("speakers",)),
        ({"where": Filter(sessions="s2", metadata={"k": 1})}, ("sessions", "metadata")),
        ({"where": Filter(sources="book", before="2026-05-01", after="2026-05-01")}, ("sources", "before")),
        ({"as_of": "2026-04-30"}, ("as_of",)),
        ({"known_at": "2026-05-02", "where": Filter(speakers="Ana", after="2026-05-02")}, ("after", "known_at")),
    ],
)
def test_what_may_not_come_back_is_filtered_and_by_what_is_told(
    asked: dict[str, object], held: tuple[str, ...], memory: Memory
) -> None:
    found = memory.why_not("the river", "river", **asked)  # type: ignore[arg-type]
    assert (found.miss_reason, found.failed_filters, found.rank) == (MissReason.FILTER, held, None)


def test_what_nothing_leads_to_is_untouched(memory: Memory) -> None:
    found = memory.why_not("lovely", "boat", strategy="bm25")
    assert (found.miss_reason, found.rank, found.candidates, found.score, found.cutoff_rank) == (
        MissReason.NO_ACTIVATION,
        None,
        1,
        0.0,
        1,
    )
    assert [share.feature for share in found.shortfall] == ["bm25"]
    assert found.shortfall[0].value == found.cutoff_score
    assert memory.why_not("nothing of it", "boat", strategy="bm25") == WhyNot("boat", MissReason.NO_ACTIVATION)


def test_fused_does_not_look_at_everything(memory: Memory) -> None:
    memory.remember(f"Number {n * n} of a list." for n in range(400))
    memory.remember("Zebras eat hay.", id="far")
    assert memory.why_not("Which number of the list is it?", "far").miss_reason == MissReason.NO_ACTIVATION


def test_what_more_speaks_against_is_unlikely(memory: Memory) -> None:
    found = memory.why_not("river", "boat", strategy=Given((3, 1, 2), (0, -4, 0)))
    assert (found.miss_reason, found.rank, found.score, found.cutoff_score) == (MissReason.NEGATIVE_SCORE, None, -3, 2)
    assert found.shortfall == (Contribution("against", 4), Contribution("for", 1))


def test_what_is_beyond_the_limit_is_outranked(memory: Memory) -> None:
    found = memory.why_not("river", "boat", limit=2, strategy=Given((3, 1, 2), (0, -0.5, -1)))
    assert (found.miss_reason, found.rank, found.candidates, found.score) == (MissReason.BELOW_CUTOFF, 3, 3, 0.5)
    assert (found.cutoff_score, found.cutoff_rank, found.shortfall) == (1, 2, (Contribution("for", 1),))
    assert str(found) == "It came 3rd of 3. What the 2nd has beyond it: says “river”. Ask with a limit of 3."


def test_what_does_not_fit_fell_to_the_budget(memory: Memory) -> None:
    strategy = Given((2, 1, 3), (0, 0, 0))
    found = memory.why_not("river", "school", budget=14, strategy=strategy)
    assert (found.miss_reason, found.rank, found.cutoff_rank, found.shortfall) == (MissReason.BUDGET, 1, 3, ())
    asked = {"strategy": strategy, "log_access": False}
    assert found.required_budget is not None
    assert [hit.id for hit in memory.recall("river", budget=found.required_budget, **asked)] == ["school"]  # type: ignore[arg-type]
    assert memory.recall("river", budget=found.required_budget - 1, **asked)[0].id == "river"  # type: ignore[arg-type]
    assert memory.why_not("river", "school", budget=1, strategy=strategy).cutoff_score is None
    assert memory.why_not("river", "boat", budget=1, limit=2, strategy=strategy).shortfall == ()


def test_what_came_back_is_told_so(memory: Memory) -> None:
    found = memory.why_not("When does school start?", "school")
    assert (found.miss_reason, found.rank, found.shortfall, found.failed_filters, found.required_budget) == (
        MissReason.NONE,
        1,
        (),
        (),
        None,
    )


# ---- what it is about


def test_of_a_long_text_the_best_piece_counts(memory: Memory) -> None:
    memory.remember(LONG, id="long")
    found = memory.why_not("What did Ana do on day 77?", "long", strategy="bm25", limit=1)
    best = memory.recall("What did Ana do on day 77?", strategy="bm25", limit=1, log_access=False)[0].id
    assert best.startswith("long#")
    assert (found.id, found.miss_reason, found.rank) == ("long", MissReason.NONE, 1)
    other = "long#1" if best != "long#1" else "long#2"
    assert (
        memory.why_not("What did Ana do on day 77?", other, strategy="bm25", limit=1).miss_reason
        == MissReason.BELOW_CUTOFF
    )
    assert memory.why_not("Mia", "long", as_of="2020-01-01").miss_reason == MissReason.FILTER


def test_it_leaves_no_trace(memory: Memory) -> None:
    before = memory.scopes()[0].revision
    for strategy in ("fused", "eisa", "synaptic"):
        memory.why_not("river", "boat", strategy=strategy)
    assert memory.scopes()[0].revision == before
    history = memory.history("boat")
    assert history is not None
    assert [access.kind for access in history.accesses] == [AccessKind.ENCODED]


def test_a_question_that_cannot_be_asked_is_refused_as_by_recall(memory: Memory) -> None:
    for question, limit, budget in (("", 1, None), ("river", 0, None), ("river", 1, 0)):
        with pytest.raises(InvalidInput):
            memory.why_not(question, "boat", limit=limit, budget=budget)


# ---- it says what recall does


@pytest.fixture(scope="module")
def friends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """The conversation of the demo."""
    lines = Path(ecphora.cli.demo.__file__).with_name("conversation.jsonl").read_text("utf-8").splitlines()
    told = [Episode(**json.loads(line)) for line in lines]
    with Memory(
        tmp_path_factory.mktemp("friends") / "memory.db", embedder=HashingEmbedder(64), clock=FakeClock()
    ) as opened:
        opened.remember(told)
        yield opened


@given(
    question=st.sampled_from(("Who plays bass?", "What did Ines say of the holiday?", "What was on 8 February 2025?")),
    row=st.integers(0, 10_000),
    limit=st.integers(1, 40),
    budget=st.none() | st.integers(20, 400),
    strategy=st.sampled_from(SHOWN),
)
def test_what_it_says_is_what_recall_does(
    friends: Memory, *, question: str, row: int, limit: int, budget: int | None, strategy: str
) -> None:
    graph = friends.graph()
    id_ = graph.id(np.flatnonzero(graph.episodes)[row % len(friends)])

    def recalled(limit: int, budget: int | None = None) -> dict[str, Why]:
        hits = friends.recall(question, limit=limit, budget=budget, strategy=strategy, log_access=False)
        return {hit.id: hit.why for hit in hits}

    found = friends.why_not(question, id_, limit=limit, budget=budget, strategy=strategy)
    back, every = recalled(limit, budget), recalled(len(friends))
    assert (found.miss_reason == MissReason.NONE) == (id_ in back)
    assert found.candidates == len(every)
    assert found.rank == (list(every).index(id_) + 1 if id_ in every else None)
    assert (found.required_budget is not None) == (found.miss_reason == MissReason.BUDGET)
    if found.miss_reason == MissReason.BELOW_CUTOFF:
        assert found.rank is not None
        assert id_ in recalled(found.rank)
        assert id_ not in recalled(found.rank - 1)
    if found.required_budget is not None:
        assert id_ in recalled(limit, found.required_budget)
    if back and found.miss_reason in {MissReason.BELOW_CUTOFF, MissReason.NO_ACTIVATION}:
        assert found.cutoff_score is not None
        beyond = contribution_differences(list(back.values())[-1], every.get(id_, Why(())))
        assert sum(share.value for share in beyond) == pytest.approx(found.cutoff_score - found.score, abs=1e-3)
        assert found.shortfall == tuple(share for share in beyond if share.value > 0)
        assert list(found.shortfall) == sorted(found.shortfall, key=lambda share: -share.value)
    assert str(found).endswith(".")


# ---- in words


@pytest.mark.parametrize(
    ("found", "said"),
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
def test_every_way_is_told_with_its_mend(found: WhyNot, said: str) -> None:
    assert str(found) == said


def test_what_a_score_starts_with_is_named_last() -> None:
    why = Why((Contribution(PRIOR, 5.3), Contribution("is question", -0.1), Contribution("bm25", 1.2)))
    assert str(why) == "bm25 +1.20, is question -0.10, prior +5.30"


def test_differences_add_up() -> None:
    ours, theirs = (
        Why((Contribution("a", 1.0), Contribution("b", 2.0))),
        Why((Contribution("b", 2.0), Contribution("c", 3.0), Contribution("a", -1.0))),
    )
    assert contribution_differences(theirs, ours) == (Contribution("c", 3.0), Contribution("a", -2.0))
