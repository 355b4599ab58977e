"""All but the best few memories of one text and speaker lose a little, unless the question asks when or how often."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ecphora import Episode, Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Scores
from ecphora.strategies.fused.boosts import KEPT, LOSS, same_text_loss
from ecphora.strategies.fused.candidate_pool import build_pool
from ecphora.testing import sample_batch, sample_node, sample_query

TABLET, WALK = "Took my tablet.", "Walked to the lake."
SAID = [(TABLET, "Ana")] * 6 + [(WALK, "Ana")] * 2 + [(TABLET, "Bo")] * 2


def loss_of(
    scores: Sequence[float], question: str = "What do I take?", said: Sequence[tuple[str, str]] = SAID
) -> Scores:
    """What the memories lose that have some scores."""
    nodes = [
        sample_node(f"m{place}", text, speaker=speaker, minutes=place, seq=place + 1)
        for place, (text, speaker) in enumerate(said)
    ]
    vectors = {node.id: np.eye(2, dtype=np.float32)[int(node.text == WALK)] for node in nodes}
    graph = apply_batch(Graph(), sample_batch(*nodes, vectors=vectors, revision=1))
    query = sample_query(question, vector=np.array([0.6, 0.8], np.float32))
    return same_text_loss(build_pool(graph, query), np.array(scores, np.float32))


def test_all_but_the_best_of_one_text_and_speaker_lose() -> None:
    scores = [5, 9, 7, 8, 6, 0.25, 4, 4, 3, 3]
    assert loss_of(scores).tolist() == [-LOSS, 0, 0, 0, -LOSS, -0.25, 0, 0, 0, 0]
    assert KEPT == 3


def test_texts_that_differ_lose_nothing_though_they_score_alike() -> None:
    said = [(TABLET, "Ana"), (WALK, "Ana")] * KEPT
    assert not loss_of([5.0] * len(said), said=said).any()


@pytest.mark.parametrize("question", ["When did I take it?", "How often do I take it?", "An welchen Tagen war das?"])
def test_question_for_times_or_a_number_wants_all(question: str) -> None:
    assert not loss_of([5.0] * len(SAID), question).any()


@pytest.mark.medium
def test_routine_does_not_hide_what_differs(tmp_path: Path) -> None:
    routine = [
        Episode("Took my vitamin D tablet.", speaker="user", happened_at=f"2026-03-{day:02}") for day in range(1, 29)
    ]
    other = Episode("The doctor told me to take magnesium, too.", speaker="user", happened_at="2026-03-15", id="other")
    with Memory(tmp_path / "memory.db") as memory:
        memory.remember([*routine, other])
        assert "other" in [hit.id for hit in memory.recall("Which supplements do I take?", limit=5)]
