"""A text that is erased while something reads it does not come back as what was read off it."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import Memory, reembed
from ecphora.consolidation import plan
from ecphora.consolidation.insights.synthesis import derived_from_edges, insight_node
from ecphora.model.graph.graph import Graph
from ecphora.model.ports import Activation, NodeSource, Prompt, Reply
from ecphora.model.types import Episode, Query, Vectors, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock

PARIS = Episode("Ana lives in Paris.", "home", "Ana", "s", "2026-01-05")
ROME = Episode("Ana moved to Rome.", "move", "Ana", "s", "2026-03-05")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def open_memory(path: Path, **options: Any) -> Memory:
    return Memory(path, **{"embedder": HashingEmbedder(64), "update_scorer": None, "clock": FakeClock(), **options})


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with open_memory(path) as opened:
        yield opened


@pytest.fixture
def other(path: Path) -> Iterator[Memory]:
    """Another handle of the same file, as of another process."""
    with open_memory(path) as opened:
        yield opened


def export_text(memory: Memory) -> str:
    out = StringIO()
    memory.export(out)
    return out.getvalue()


@pytest.fixture
def plan_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], list[int]]:
    """Makes a function run once the first step of consolidation is planned; returns the revisions of all plans."""

    def install(act: Callable[[], object]) -> list[int]:
        next_step, revisions = plan.next_step, list[int]()

        def slow_next_step(graph: Graph, *arguments: Any) -> plan.Step | None:
            step = next_step(graph, *arguments)
            if not revisions:
                act()
            if step is not None:
                revisions.append(graph.revision)
            return step

        monkeypatch.setattr(plan, "next_step", slow_next_step)
        return revisions

    return install


def test_replaced_text_is_no_claim(memory: Memory, other: Memory, plan_with: Any) -> None:
    memory.remember([PARIS, ROME])
    revisions = plan_with(lambda: other.update("home", "Ana lives somewhere.", mode="replace"))
    result = memory.consolidate()
    assert "Paris" not in export_text(memory)
    assert (len(revisions), result.pending_count) == (2, 0)


@dataclass
class SlowLLM:
    """Runs a function before its first reply; finds the code of an alarm."""

    act: Callable[[], object]
    calls: int = 0
    name: str = "slow"

    def complete(self, prompt: Prompt, /) -> Reply:
        self.calls += 1
        if self.calls == 1:
            self.act()
        claim = {"statement": 1, "subject": "alarm", "attribute": "code", "polarity": True, "from": None, "until": None,
                 "value": "K4711" if "K4711" in prompt.user else "secret", "single": True}  # fmt: skip
        return Reply(json.dumps({"claims": [claim]}), 1, 1, 0.1)


def test_replaced_text_is_no_claim_of_a_language_model(memory: Memory, other: Memory) -> None:
    memory.remember("The alarm code is K4711.", id="code")
    llm = SlowLLM(lambda: other.update("code", "The alarm code is secret.", mode="replace"))
    memory.consolidate(llm=llm)
    assert "K4711" not in export_text(memory)
    assert '"value":"secret"' in export_text(memory).replace(": ", ":")


def test_restored_memory_is_read_again(memory: Memory, other: Memory, plan_with: Any) -> None:
    """A memory that was forgotten and remembered again under its id is another one."""
    memory.remember([PARIS, ROME])

    def forget_and_restore() -> None:
        other.forget("home")
        other.remember(replace(PARIS, text="Ana lives in Bonn."), restore=True)

    plan_with(forget_and_restore)
    memory.consolidate()
    assert "Paris" not in export_text(memory)


def test_no_alias_comes_from_a_memory_that_is_gone(memory: Memory, other: Memory, plan_with: Any) -> None:
    memory.remember([Episode("Robert Smith goes by Bob Jones.", "alias"), Episode("I met Bob Jones.", "bob")])
    memory.remember("I met Robert Smith.")
    memory.consolidate()
    assert '"link":"alias"' in export_text(memory)
    memory.maintenance.undo()
    plan_with(lambda: other.forget("alias"))
    memory.consolidate()
    assert '"link":"alias"' not in export_text(memory)


def test_other_writes_do_not_repeat_a_step(memory: Memory, other: Memory, plan_with: Any) -> None:
    """Not accesses, new memories, marks or the replacement of a text that the step does not refer to."""
    memory.remember([PARIS, ROME, Episode("The bonsai needs water.", "bonsai")])

    def write() -> None:
        other.recall("Where does Ana live?")
        other.maintenance.pin("home")
        other.update("bonsai", "The bonsai is dry.", mode="replace")
        other.remember("It rains.")

    revisions = plan_with(write)
    assert memory.consolidate().counts["supersedes"] == 1
    assert len(revisions) == 2  # the second step has what was written meanwhile
    assert memory.consolidate().undo_batch is None


@dataclass(frozen=True, slots=True)
class QuotingStrategy:
    """Writes an insight that quotes every memory, and runs a function before it first does."""

    act: Callable[[], object]
    calls: list[int] = field(default_factory=list)
    name: str = "quoting"

    def activate(self, _query: Query, graph: Graph, /) -> Activation:
        return Activation(graph.zeros())

    def has_pending(self, graph: Graph, /) -> bool:
        return graph.cursors.get("quoting", 0) < int(graph.nodes["seq"].max())

    def process(self, graph: Graph, read: NodeSource, now: datetime, /, **_tools: object) -> WriteBatch:
        sources = read(np.flatnonzero(graph.episodes))
        insight = insight_node("\n".join(node.text for node in sources), sources, now)
        self.calls.append(graph.revision)
        if len(self.calls) == 1:
            self.act()
        edges = tuple(derived_from_edges(insight.id, (node.id for node in sources)))
        last = int(graph.nodes["seq"].max()) + 1
        return WriteBatch(nodes=(insight,), edges=edges, cursors={"quoting": last})


def test_replaced_text_is_not_quoted_by_an_insight(path: Path, other: Memory) -> None:
    strategy = QuotingStrategy(lambda: other.update("a", "The code is secret.", mode="replace"))
    with open_memory(path, strategy=strategy) as memory:
        memory.remember("The code is K4711.", id="a")
        assert "K4711" not in export_text(memory)
        assert len(strategy.calls) == 2
        assert [insight.node.text for insight in memory.insights()] == ["The code is secret."]


def test_reembed_writes_no_vector_of_an_old_text(path: Path, memory: Memory, other: Memory) -> None:
    class SlowEmbedder(HashingEmbedder):
        """Replaces the text that it embeds first."""

        has_acted = False

        def embed(self, texts: Sequence[str], /, **options: Any) -> Vectors:
            if not self.has_acted:
                self.has_acted = True
                other.update("home", "The bonsai needs water.", mode="replace")
            return super().embed(texts, **options)

    memory.remember(PARIS.text, id="home")
    reembed(path, embedder=SlowEmbedder(32))
    with open_memory(path, embedder=HashingEmbedder(32)) as after:
        hit = after.recall("bonsai water", strategy="dense")[0]
        graph = after.graph()
        vector = graph.vectors.view[graph.vector_positions[graph.rows(["home"])]][0]
        expected = HashingEmbedder(32).embed(["The bonsai needs water."])[0]
        assert hit.id == "home"
        assert float(vector @ expected) == pytest.approx(1, abs=1e-2)
