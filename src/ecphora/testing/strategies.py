"""The contract of strategies."""
# ruff: noqa: S101  # these are tests

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import numpy as np

from ..model.graph.graph import Graph
from ..model.graph.updates import apply_batch
from ..model.ports import Strategy
from ..model.types import Interval, Query, Scores
from ..retrieval import filters
from .samples import (
    NOON,
    TURNS,
    graph_differences,
    sample_batch,
    sample_entity,
    sample_graph,
    sample_query,
    sample_question_batch,
    sample_vector,
)


class StrategyContract:
    """The contract of every strategy. The fixture ``strategy`` returns the one to test."""

    def test_scores_are_sums_of_contributions(self, strategy: Strategy) -> None:
        """One finite float32 for every row, positive for episodes only; the contributions add up to it."""
        for graph, query in _graphs_and_queries():
            activation = strategy.activate(query, graph)
            _assert_scores(graph, activation.scores)
            assert activation.scores[~graph.episodes].max(initial=0) <= 0
            for contribution in activation.contributions.values():
                _assert_scores(graph, contribution)
            active = activation.scores != 0
            total = np.sum([*activation.contributions.values(), graph.zeros()], axis=0)
            assert np.allclose(total[active], activation.scores[active], atol=1e-4)
            assert 0 <= activation.confidence <= 1
            assert activation.stimulus.shape in {(0,), (len(graph),)}

    def test_paths_point_to_rows(self, strategy: Strategy) -> None:
        """Every step of a path is a row of the graph, or -1 for none."""
        for graph, query in _graphs_and_queries():
            for path in strategy.activate(query, graph).paths.values():
                for steps in (path.parent, path.via_entity):
                    assert steps.shape == (len(graph),)
                    assert ((steps >= -1) & (steps < len(graph))).all()

    def test_eligible_rows_are_those_of_the_filter(self, strategy: Strategy) -> None:
        """A strategy that hands on the eligible rows hands on the rows that recall would compute."""
        for graph, query in _graphs_and_queries():
            eligible = strategy.activate(query, graph).eligible
            assert eligible is None or (eligible == filters.eligible(graph, query)).all()

    def test_activation_is_deterministic(self, strategy: Strategy) -> None:
        """Scores do not depend on chance or on the previous query."""
        for graph, query in _graphs_and_queries():
            first = strategy.activate(query, graph)
            strategy.activate(sample_query("something else"), sample_graph(2))
            assert first.scores.tobytes() == strategy.activate(query, graph).scores.tobytes()

    def test_activation_does_not_change_the_graph(self, strategy: Strategy) -> None:
        """Activation does not write to the graph."""
        for graph, query in _graphs_and_queries():
            strategy.activate(query, graph)
            assert graph_differences(graph, sample_graph(graph.episode_count)) == []

    def test_question_nodes_are_never_returned(self, strategy: Strategy) -> None:
        """A question node has a vector but is not a memory, even for the same query."""
        for graph, query in _graphs_and_queries():
            with_question = apply_batch(graph, replace(sample_question_batch(query.text, "t0"), revision=2))
            activation = strategy.activate(query, with_question)
            _assert_scores(with_question, activation.scores)
            assert activation.scores[-1] <= 0
            assert strategy.activate(replace(query, vector=sample_vector(query.text)), with_question).scores[-1] <= 0

    def test_an_empty_graph_gives_nothing(self, strategy: Strategy) -> None:
        """No scores, and no confidence."""
        activation = strategy.activate(sample_query("Where is Ana?"), Graph())
        assert activation.scores.shape == (0,)
        assert activation.confidence == 0

    def test_entities_alone_give_nothing(self, strategy: Strategy) -> None:
        """A graph without episodes has nothing to recall."""
        graph = apply_batch(Graph(), replace(sample_batch(sample_entity("Ana")), revision=1))
        assert strategy.activate(sample_query("Where is Ana?"), graph).scores.max() <= 0

    def test_has_name(self, strategy: Strategy) -> None:
        """Users choose it by its name."""
        assert strategy.name


def _graphs_and_queries() -> Iterator[tuple[Graph, Query]]:
    """Yield graphs of several sizes, each with queries of several kinds."""
    june = Interval(NOON, NOON + timedelta(days=30))
    for size in (1, 2, 5, len(TURNS), 40):
        graph = sample_graph(size)
        yield graph, sample_query("Where does Ana live in Porto?")
        yield graph, sample_query("Did Mia find a school?", vector=None)
        yield graph, sample_query("lunch", embedder_coverage=0.0, time_ranges=(june,), as_of=NOON, known_at=NOON)
        yield graph, sample_query("?!", vector=None)
        yield graph, sample_query("Nobody knows Zorro", vector=-sample_vector("river"))


def _assert_scores(graph: Graph, scores: Scores) -> None:
    assert scores.dtype == np.float32
    assert scores.shape == (len(graph),)
    assert np.isfinite(scores).all()
