"""Columns of a grown graph are those of a new one, in whatever order turns are remembered."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.retrieval import dense
from ecphora.strategies.fused.feature_matrix import genres
from ecphora.strategies.fused.features import session_counts
from ecphora.testing.samples import sample_batch, sample_node

TURNS = st.tuples(
    st.sampled_from(("Ana", "Ben", None)), st.sampled_from(("s", "t", None)), st.integers(0, 200), st.integers(0, 1)
)


def columns(graph: Graph) -> list[list[float]]:
    rows = np.arange(len(graph))
    ones = graph.zeros() + np.float32(1)
    return [
        list(map(float, values))
        for values in (
            graph.previous_rows,
            graph.next_rows,
            graph.lengths_with_previous[0],
            genres(graph, rows),
            dense.with_previous_turn(graph, ones),
            dense.with_previous_turn(graph, ones, use_english=True),
            *astuple(session_counts(graph)),
        )
    ]


@pytest.mark.medium
@given(st.lists(st.lists(TURNS, min_size=1, max_size=4), min_size=1, max_size=6))
def test_columns_of_a_grown_graph_are_those_of_a_new_one(
    batches: list[list[tuple[str | None, str | None, int, int]]],
) -> None:
    grown = fresh = Graph()
    number = 0
    for revision, turns in enumerate(batches, 1):
        nodes = []
        for speaker, session, minutes, position in turns:
            number += 1
            text = f"Turn {number % 3} of the river."
            nodes.append(
                sample_node(
                    f"n{number}", text, speaker=speaker, session=session, minutes=minutes, position=position, seq=number
                )
            )
        batch = sample_batch(*nodes, revision=revision)
        grown, fresh = apply_batch(grown, batch), apply_batch(fresh, batch)
        columns(grown)
    assert columns(grown) == columns(fresh)
