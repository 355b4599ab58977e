"""The reason of a hit: what sets it apart from the others, chosen by the shares of the score."""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora.embedders.hashing import HashingEmbedder
from ecphora.graph import Graph
from ecphora.memory import Memory
from ecphora.model import PRIOR, Episode, Filter, Query
from ecphora.ports import Activation, ActivationPath
from ecphora.testing import FakeClock


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
