"""Properties of a memory for any texts in any order."""

import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import RecallOptions
from ecphora.language.terms import estimate_tokens
from ecphora.memory import Memory
from ecphora.model.text_format import strip_invisible
from ecphora.model.types import Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies import BUILT_IN
from ecphora.testing import FakeClock, graph_differences

TURNS = tuple(
    Episode(text, id=f"t{place}", speaker="Ana" if place % 2 else "Ben", session="s" if place < 5 else None,
            happened_at=f"2026-05-03T12:{5 * place:02}")
    for place, text in enumerate(
        ["Did Mia find a boat?", "Yes, in Porto.", "How was the river?", "Lovely, we saw Zebulon.", "Who is he?",
         "Remind me to call the school.", "Which school?", "The one in Porto."]
    )
)  # fmt: skip
ORDER_DEPENDENT = {"rrf", "eisa", "synaptic", "synapse"}
"""Strategies that depend on the order of remembering by design."""
QUESTIONS = ("Who is Zebulon?", "Which school is in Porto?", "river boat")


def recall_all(memory: Memory) -> dict[tuple[str, str], dict[str, float]]:
    return {
        (question, name): {
            hit.id: round(hit.score, 4)
            for hit in memory.recall(question, strategy=name, options=RecallOptions(log_access=False))
        }
        for question in QUESTIONS
        for name in BUILT_IN
        if name not in ORDER_DEPENDENT
    }


@pytest.mark.medium
@given(st.permutations(TURNS), st.lists(st.integers(1, 7), max_size=3))
def test_recall_does_not_depend_on_the_order_of_remembering(turns: list[Episode], cuts: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        in_order = Memory(Path(folder) / "a.db", embedder=HashingEmbedder(64), clock=FakeClock())
        backfilled = Memory(Path(folder) / "b.db", embedder=HashingEmbedder(64), clock=FakeClock())
        in_order.remember(TURNS)
        bounds = [0, *sorted(set(cuts)), len(turns)]
        for start, end in pairwise(bounds):
            backfilled.remember(turns[start:end])
        assert recall_all(in_order) == recall_all(backfilled)
        in_order.close()
        backfilled.close()


@pytest.mark.medium
@given(st.text(min_size=1), st.text(min_size=1), st.none() | st.text(min_size=1, max_size=20))
def test_any_text_is_stored_and_forgotten_exactly(text: str, question: str, speaker: str | None) -> None:
    if not all(strip_invisible(one).strip() for one in (text, question, "x" if speaker is None else speaker)):
        return
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "m.db", embedder=HashingEmbedder(8)) as memory:
        id_ = memory.remember(text, speaker=speaker, session=speaker, title=speaker, metadata={text: question}).id
        node = memory.get(id_)
        assert node is not None
        assert (node.text, node.speaker, node.title, node.metadata) == (text, speaker, speaker, {text: question})
        found = memory.recall(question, budget=5)
        assert sum(estimate_tokens(hit.text) for hit in found) <= 5
        assert memory.remember(text, speaker=speaker, session=speaker, title=speaker).existing == (id_,)
        with Memory(Path(folder) / "m.db", embedder=HashingEmbedder(8)) as other:
            assert graph_differences(memory.graph(), other.graph()) == []
        assert memory.forget(id_).episode_ids == (id_,)
        assert len(memory.graph()) == 0
