"""The contract of strategies."""
# ruff: noqa: S101  # these are tests

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import numpy as np

from ..graph import Graph
from ..model import Cue, Interval, Scores
from ..ports import Strategy
from .samples import (
    NOON,
    TURNS,
    differences,
    sample_change,
    sample_cue,
    sample_graph,
    sample_name,
    sample_question,
    sample_vector,
)


class StrategyContract:
    """What every strategy must keep. The fixture ``strategy`` gives the one to prove."""

    def test_scores_are_aligned_and_explained(self, strategy: Strategy) -> None:
        """One finite float32 for every row, positive for episodes only; the shares add up to it."""
        for graph, cue in _asked():
            activation = strategy.activate(cue, graph)
            _assert_scores(graph, activation.scores)
            assert activation.scores[~graph.episodes].max(initial=0) <= 0
            for share in activation.shares.values():
                _assert_scores(graph, share)
            active = activation.scores != 0
            whole = np.sum([*activation.shares.values(), graph.zeros()], axis=0)
            assert np.allclose(whole[active], activation.scores[active], atol=1e-4)
            assert 0 <= activation.confidence <= 1
            assert activation.stimulus.shape in {(0,), (len(graph),)}

    def test_trails_lead_somewhere(self, strategy: Strategy) -> None:
        """Every step of a trail is a row of the graph, or -1 for none."""
        for graph, cue in _asked():
            for trail in strategy.activate(cue, graph).trails.values():
                for steps in (trail.by, trail.via):
                    assert steps.shape == (len(graph),)
                    assert ((steps >= -1) & (steps < len(graph))).all()

    def test_the_same_is_found_again(self, strategy: Strategy) -> None:
        """Nothing is left to chance, and nothing is kept from the question before."""
        for graph, cue in _asked():
            first = strategy.activate(cue, graph)
            strategy.activate(sample_cue("something else"), sample_graph(2))
            assert first.scores.tobytes() == strategy.activate(cue, graph).scores.tobytes()

    def test_the_graph_stays_as_it_is(self, strategy: Strategy) -> None:
        """Recall writes nothing into the graph."""
        for graph, cue in _asked():
            strategy.activate(cue, graph)
            assert differences(graph, sample_graph(int(graph.episodes.sum()))) == []

    def test_a_question_never_comes_back(self, strategy: Strategy) -> None:
        """What was asked before has a vector and is no memory, even where the same is asked again."""
        for graph, cue in _asked():
            asked = graph.plus(replace(sample_question(cue.text, "t0"), revision=2))
            activation = strategy.activate(cue, asked)
            _assert_scores(asked, activation.scores)
            assert activation.scores[-1] <= 0
            assert strategy.activate(replace(cue, vector=sample_vector(cue.text)), asked).scores[-1] <= 0

    def test_an_empty_graph_gives_nothing(self, strategy: Strategy) -> None:
        """No scores, and no confidence."""
        activation = strategy.activate(sample_cue("Where is Ana?"), Graph())
        assert activation.scores.shape == (0,)
        assert activation.confidence == 0

    def test_names_alone_give_nothing(self, strategy: Strategy) -> None:
        """A graph without an episode has nothing to bring back."""
        graph = Graph().plus(replace(sample_change(sample_name("Ana")), revision=1))
        assert strategy.activate(sample_cue("Where is Ana?"), graph).scores.max() <= 0

    def test_it_has_a_name(self, strategy: Strategy) -> None:
        """By which users choose it."""
        assert strategy.name


def _asked() -> Iterator[tuple[Graph, Cue]]:
    """Graphs of several sizes, each with questions of several kinds."""
    june = Interval(NOON, NOON + timedelta(days=30))
    for size in (1, 2, 5, len(TURNS), 40):
        graph = sample_graph(size)
        yield graph, sample_cue("Where does Ana live in Porto?")
        yield graph, sample_cue("Did Mia find a school?", vector=None)
        yield graph, sample_cue("lunch", meaning=0.0, when=(june,), as_of=NOON, known_at=NOON)
        yield graph, sample_cue("?!", vector=None)
        yield graph, sample_cue("Nobody knows Zorro", vector=-sample_vector("river"))


def _assert_scores(graph: Graph, scores: Scores) -> None:
    assert scores.dtype == np.float32
    assert scores.shape == (len(graph),)
    assert np.isfinite(scores).all()
