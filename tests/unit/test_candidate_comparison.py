"""Comparing the best candidates of a recall: which are compared, before which deadline, and what it changes."""

from collections.abc import Sequence
from datetime import date
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import Episode, Memory, Recollection
from ecphora.candidate_reading import MAX_COMPARED_LENGTH, CandidateReading
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import ModelDamaged
from ecphora.model import Node
from ecphora.ports import FactUpdateScorer, Passage
from ecphora.stages.fused.reading import NEWER_ANSWER
from ecphora.testing import ConstantReader, ConstantScorer, FakeClock

OLD, NEW = "My boat is red.", "My old boat was painted, it is blue."
QUESTION = "My boat is what now?"


def open_memory(folder: Path, scorer: FactUpdateScorer | None) -> Memory:
    """A memory of a boat that was painted, and of other things."""
    memory = Memory(
        folder / "m.db",
        embedder=HashingEmbedder(64),
        reader=ConstantReader(2.0),
        update_scorer=scorer,
        clock=FakeClock(),
    )
    memory.remember(["The dog sleeps.", "It rains.", Episode(OLD, speaker="Ana"), NEW])
    return memory


def recall(memory: Memory) -> Recollection:
    return memory.recall(QUESTION, reading="always")


def newer_answers(found: Recollection) -> list[float]:
    """What the hits gain or lose as newer or older answers."""
    return [one.value for hit in found for one in hit.why.contributions if one.feature == NEWER_ANSWER]


@pytest.mark.parametrize(("log_odds", "best"), [(8.0, NEW), (-8.0, OLD)])
def test_memory_that_updates_another_goes_before_it(log_odds: float, best: str, tmp_path: Path) -> None:
    scorer = ConstantScorer(log_odds)
    with open_memory(tmp_path, scorer) as memory:
        found = recall(memory)
    assert found[0].text == best
    assert (f"Ana: {OLD}", f"user: {NEW}") in scorer.received_pairs
    assert (f"user: {NEW}", f"Ana: {OLD}") not in scorer.received_pairs


@pytest.mark.medium
def test_updates_that_consolidation_has_found_are_not_compared_again(tmp_path: Path) -> None:
    scorer = ConstantScorer(8.0)
    told = ["Ana's boat race starts at the mill.", "Ana's boat race starts at the weir."]
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), reader=ConstantReader(2.0), update_scorer=scorer) as m:
        m.remember([Episode(text, speaker="Ana", happened_at=f"2026-0{n}-01") for n, text in enumerate(told, 2)])
        for is_known in (False, True):
            scorer.received_pairs.clear()
            found = m.recall("Where does the boat race start now?", reading="always")
            assert found[0].text == told[1]
            assert bool(scorer.received_pairs) != is_known
            m.consolidate()
            assert len(m.facts.updates()) == 1


@pytest.mark.medium
def test_candidates_are_not_compared_without_an_update_scorer(tmp_path: Path) -> None:
    with open_memory(tmp_path, None) as memory:
        without = newer_answers(recall(memory))
    (tmp_path / "other").mkdir()
    with open_memory(tmp_path / "other", ConstantScorer(8.0)) as memory:
        assert max(newer_answers(recall(memory))) > max(without)


@pytest.mark.medium
def test_recall_goes_on_when_the_update_scorer_fails(tmp_path: Path) -> None:
    class Damaged:
        name = "damaged"

        def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
            raise ModelDamaged(f"no weights for {len(pairs)} pairs")

    with open_memory(tmp_path, Damaged()) as memory:
        found = recall(memory)
    (tmp_path / "other").mkdir()
    with open_memory(tmp_path / "other", None) as memory:
        assert newer_answers(found) == newer_answers(recall(memory))
    assert found.cost.reader_error is not None
    assert found.cost.reader_error.startswith("no weights for")


@pytest.mark.parametrize(
    ("time_limit", "read", "scored"), [(None, 4, 3), (11.0, 4, 3), (10.0, 4, 0), (6.0, 3, 0), (2.0, 1, 0)]
)
def test_pairs_are_scored_in_the_time_that_reading_leaves(
    time_limit: float | None, read: int, scored: int, tmp_path: Path
) -> None:
    with open_memory(tmp_path, None) as memory:
        graph, query = memory.graph(), memory.build_query(QUESTION)
        rows, read_nodes = np.flatnonzero(graph.episodes), memory._scope_writer.reader(graph)
        reader = ConstantReader(2.0)
        reader.batch_size = 1
        seconds = count()  # every look at the clock is a second later, so a batch takes one
        reading = CandidateReading(
            reader,
            graph,
            query,
            read_nodes,
            time_limit,
            update_scorer=ConstantScorer(3.0),
            clock=lambda: float(next(seconds)),
        )
        log_odds = reading(rows, graph.episodes)
        updates = reading.score_updates(rows[[0, 0, 1]], rows[[1, 2, 2]])
    assert np.isfinite(log_odds).sum() == read
    assert np.isfinite(updates).sum() == scored
    assert set(updates[np.isfinite(updates)].tolist()) <= {3.0}


class TimedReader(ConstantReader):
    """A reader with two models: all rows are read in 2 seconds, and each is read again in 5."""

    reread_batch_size = 1

    def __init__(self) -> None:
        super().__init__(2.0)
        self.batch_size = 4
        self.now = 0.0

    def read(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        self.now += 2.0
        return super().read(question, passages, asked_on=asked_on)

    def reread(
        self, _question: str, _passages: Sequence[Passage], log_odds: NDArray[np.float64], /, *, asked_on: date
    ) -> NDArray[np.float64]:
        del asked_on
        self.now += 5.0
        return log_odds


@pytest.mark.parametrize(
    ("read_again", "time_limit", "scored"),
    [
        (0, 3.9, 0),
        (0, 4.0, 2),  # all rows were read in 2 seconds, so the pairs will take 2
        (1, 11.9, 0),
        (1, 12.0, 2),  # one was read again in 5 seconds, so the pairs will take 5
    ],
)
def test_comparison_is_expected_to_last_as_long_as_the_longest_batch(
    read_again: int, time_limit: float, scored: int, tmp_path: Path
) -> None:
    with open_memory(tmp_path, None) as memory:
        graph, query, reader = memory.graph(), memory.build_query(QUESTION), TimedReader()
        rows = np.flatnonzero(graph.episodes)

        def read_nodes(wanted: NDArray[np.intp]) -> list[Node]:
            return [node for row in wanted.tolist() if (node := memory.get(graph.id(row))) is not None]

        scorer, clock = ConstantScorer(3.0), lambda: reader.now
        reading = CandidateReading(reader, graph, query, read_nodes, time_limit, update_scorer=scorer, clock=clock)
        assert np.isfinite(reading(rows, graph.episodes)).all()
        reading.reread(rows[:read_again], np.full(read_again, 2.0, np.float32))
        assert np.isfinite(reading.score_updates(rows[[0, 0]], rows[[1, 2]])).sum() == scored
    assert reading.seconds == 2 + 5 * read_again


@pytest.mark.parametrize(("length", "is_scored"), [(MAX_COMPARED_LENGTH, True), (MAX_COMPARED_LENGTH + 1, False)])
def test_long_texts_are_not_compared(length: int, is_scored: bool, tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64)) as memory:
        memory.remember(["My boat is red.", "a" * length])
        graph = memory.graph()
        rows = np.flatnonzero(graph.episodes)
        nodes = [node for row in rows.tolist() if (node := memory.get(graph.id(row))) is not None]
        reading = CandidateReading(
            ConstantReader(2.0),
            graph,
            memory.build_query(QUESTION),
            lambda _rows: nodes,
            60.0,
            update_scorer=ConstantScorer(3.0),
        )
        pairs = (rows[[0, 1]], rows[[1, 0]])
        assert np.isfinite(reading.score_updates(*pairs)).tolist() == [is_scored] * 2


def test_forgotten_memory_is_compared_with_none(tmp_path: Path) -> None:
    with open_memory(tmp_path, None) as memory:
        graph, query = memory.graph(), memory.build_query(QUESTION)
        rows = np.flatnonzero(graph.episodes)
        nodes = [memory.get(graph.id(row)) for row in rows[:2]]
        reading = CandidateReading(
            ConstantReader(2.0),
            graph,
            query,
            lambda _rows: [node for node in nodes if node is not None],
            60.0,
            update_scorer=ConstantScorer(3.0),
        )
        found = reading.score_updates(rows[[0, 1]], rows[[1, 2]])
    assert found[0] == 3.0
    assert np.isnan(found[1])
