"""Properties of what is told again, for any statements in any sessions."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.memory import Memory
from ecphora.model.types import Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock

EPISODES = st.builds(
    Episode,
    st.sampled_from(["Yes", "I live in Ghent.", "I live in Porto."]),
    speaker=st.sampled_from([None, "Ana"]),
    session=st.sampled_from([None, "chat"]),
    source=st.sampled_from([None, None, "notes.md"]),
    happened_at=st.sampled_from([None, None, "2026-05-01"]),
)
STATEMENTS = st.lists(st.sampled_from(["Yes", "No", "I live in Ghent."]), max_size=8)


def open_memory(folder: str) -> Memory:
    return Memory(Path(folder, "m.db"), embedder=HashingEmbedder(8), clock=FakeClock())


@pytest.mark.medium
@given(st.lists(st.lists(EPISODES, max_size=6), max_size=4))
def test_batches_told_again_add_nothing(batches: list[list[Episode]]) -> None:
    with tempfile.TemporaryDirectory() as folder, open_memory(folder) as memory:
        first = [memory.remember(batch) for batch in batches]
        again = [memory.remember(batch) for batch in batches]
        assert [one.ids for one in again] == [one.ids for one in first]
        assert not any(one.created or one.blocked for one in again)


@pytest.mark.medium
@given(STATEMENTS)
def test_statements_told_one_by_one_are_kept_where_they_follow_another(texts: list[str]) -> None:
    changes = [text for place, text in enumerate(texts) if place == 0 or texts[place - 1] != text]
    with tempfile.TemporaryDirectory() as folder, open_memory(folder) as memory:
        ids = [memory.remember(text).id for text in texts]
        stored = [memory.get(id_) for id_ in dict.fromkeys(ids)]
        assert [node.text for node in stored if node is not None] == changes
        assert len(memory) == len(changes)
        assert memory.remember(texts).ids == tuple(ids), "told as a batch, they are the same memories"
