"""How much work a recall and a write have the models do: runs, and tokens in them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ecphora import Episode, Memory
from ecphora.models.embedders import e5, minilm
from ecphora.models.embedders.e5 import ADAPTER_SWITCH, GRAPH_INPUT
from ecphora.models.rerankers.late_interaction import MAX_READ_TOKENS, LateInteractionReranker

pytestmark = pytest.mark.medium

PLACES = ("kitchen", "garden", "cellar", "attic", "garage", "hall", "study", "stairs", "porch", "pantry")
TURNS = [
    Episode(
        f"I painted the {place} {colour} on the {day} day, and it took me all morning.",
        speaker="Ana",
        session="s",
        happened_at=f"2026-03-{day:02}",
    )
    for day, (place, colour) in enumerate(((p, c) for p in PLACES for c in ("blue", "white", "green")), 1)
    if day <= 28
]


class Work:
    """Counts the runs and tokens of the models."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, reranker: LateInteractionReranker) -> None:
        self.runs: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        for name, model in (
            ("e5", e5.share_network()()),
            ("MiniLM", minilm.share_network()()),
            ("head", reranker._head()),
        ):
            monkeypatch.setattr(model, "_session", CountedSession(name, model._session, self))

    def add(self, name: str, tokens: int) -> None:
        """Count a run."""
        self.runs[name] += 1
        self.tokens[name] += tokens

    def take(self) -> tuple[dict[str, int], dict[str, int]]:
        """The runs and tokens by model since the last call."""
        found = dict(self.runs), dict(self.tokens)
        self.runs.clear()
        self.tokens.clear()
        return found


class CountedSession:
    """A session that counts."""

    def __init__(self, name: str, session: Any, work: Work) -> None:
        self._name, self._session, self._work = name, session, work

    def run(self, names: Any, inputs: dict[str, Any]) -> Any:
        """Run, and count."""
        if self._name == "e5":
            is_pair = ADAPTER_SWITCH in inputs
            self._work.add("pairs" if is_pair else "e5", inputs[GRAPH_INPUT].shape[1])
        else:
            self._work.add(self._name, len(inputs["passage"]) if "passage" in inputs else inputs["input_ids"].shape[1])
        return self._session.run(names, inputs)


@pytest.fixture
def reranker() -> LateInteractionReranker:
    return LateInteractionReranker()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch, reranker: LateInteractionReranker) -> Work:
    return Work(monkeypatch, reranker)


@pytest.fixture
def memory(tmp_path: Path, reranker: LateInteractionReranker, work: Work) -> Iterator[Memory]:
    del work  # the models are counted before they are used
    with Memory(tmp_path / "m.db", reranker=reranker) as memory:
        memory.remember(TURNS)
        yield memory


def test_turn_takes_one_run_of_each_embedder(memory: Memory, work: Work) -> None:
    work.take()
    memory.remember("I painted the shed red.", speaker="Ana", session="s", happened_at="2026-03-30")
    runs, _ = work.take()
    assert runs == {"e5": 1, "MiniLM": 1}


def test_recall_embeds_the_question_once_and_reads_a_bounded_number_of_tokens(memory: Memory, work: Work) -> None:
    for question in ("Which room is blue?", "When was the attic painted?", "How long did the green pantry take?"):
        work.take()
        found = memory.recall(question, rerank="always")
        runs, tokens = work.take()
        assert (runs["e5"], runs["MiniLM"]) == (1, 1)
        assert 4 <= runs["head"] == found.cost.passages_reranked <= 24
        assert tokens["head"] <= MAX_READ_TOKENS
        assert runs["pairs"] == 1


def test_reasons_run_no_model(memory: Memory, work: Work) -> None:
    found = memory.recall("Which room is blue?", rerank="never")
    runs, _ = work.take()
    assert all(hit.reason for hit in found)
    assert work.take() == ({}, {})
    assert "head" not in runs
