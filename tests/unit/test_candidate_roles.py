"""Whether the names of a question have the same parts in the candidates that were read."""

from pathlib import Path

import numpy as np
import pytest

from ecphora import Episode, Memory
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.candidate_reranking import CandidateReranking
from ecphora.retrieval.fusion import LinearModel
from ecphora.strategies.fused.feature_matrix import ROLE_AGREEMENT, Genre, statement_features
from ecphora.strategies.fused.ranker import Ranker
from ecphora.strategies.fused.reranking import RerankPolicy
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import ConstantReranker, FakeClock

QUESTION = "Who lent Mira the drill?"
TURNS = [
    Episode("Jonas lent Mira the drill.", id="same"),
    Episode("Mira lent Jonas the drill.", id="reversed"),
    Episode("I lent Mira the drill.", id="spoken", speaker="Jonas"),
    Episode("I lent Jonas the drill.", id="spoken, reversed", speaker="Mira"),
    Episode("The drill of Mira is new.", id="other"),
]
AGREEMENTS = {"same": 1, "reversed": -1, "spoken": 1, "spoken, reversed": -1, "other": 0}


def open_memory(folder: Path) -> Memory:
    """A memory of ``TURNS`` that ranks by the agreement alone."""
    strategy = Fused(
        ranker=Ranker(*[LinearModel(-10.0, {ROLE_AGREEMENT: 2.0})] * len(Genre)), reranking=RerankPolicy({})
    )
    memory = Memory(
        folder / "m.db",
        embedder=HashingEmbedder(64),
        reranker=ConstantReranker(0.5),
        strategy=strategy,
        clock=FakeClock(),
    )
    memory.remember(TURNS)
    return memory


def test_agreement_is_that_of_the_question_with_text_and_speaker(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        graph, query = memory.graph(), memory.build_query(QUESTION)
        rows = np.flatnonzero(graph.episodes)[::-1]
        reading = CandidateReranking(ConstantReranker(0.5), graph, query, memory._scope_writer.node_source(graph))
        reading(rows, graph.episodes)
        passages = reading.passages(rows)
        told = {str(one.id): (one.text, one.speaker) for one in TURNS}
        assert [(one.text, one.speaker) for one in passages] == [told[str(graph.id(row))] for row in rows.tolist()]
        found = statement_features(query, passages, np.full(len(passages), Genre.UTTERANCE), 0.0)[ROLE_AGREEMENT]
        assert np.sign(found).tolist() == [AGREEMENTS[str(graph.id(row))] for row in rows.tolist()]
        assert np.abs(found).max() <= 1
        assert reading.passages(rows[:2]) == passages[:2]
        assert reading.passages(rows[:0]) == []


@pytest.mark.medium
def test_memory_with_the_same_roles_goes_before_one_that_reverses_them(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        found = memory.recall(QUESTION, rerank="always")
    gains = {hit.id: sum(one.value for one in hit.why.contributions if one.feature == ROLE_AGREEMENT) for hit in found}
    assert {id_: np.sign(value) for id_, value in gains.items()} == AGREEMENTS
    assert {hit.id for hit in found[:2]} == {"same", "spoken"}
    assert {hit.id for hit in found[-2:]} == {"reversed", "spoken, reversed"}
