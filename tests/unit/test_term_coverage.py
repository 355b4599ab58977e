"""Term coverage: the window of a turn, and the rarest term of a row. test_stages.py compares it with plain loops."""

import math

import numpy as np
import pytest

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.retrieval.bm25 import Postings, term_coverage
from ecphora.testing import sample_batch, sample_node, sample_query


def test_rarest_term_of_a_row_is_a_fraction_of_the_rarest_of_the_query() -> None:
    """Of four memories, three have a river and one a boat; a canoe, which none has, is the rarest."""
    texts = ("river boat", "river", "river", "lunch")
    nodes = [sample_node(f"n{number}", text) for number, text in enumerate(texts)]
    graph = apply_batch(Graph(), sample_batch(*nodes, revision=1))
    found = term_coverage(Postings.for_query(graph, sample_query("river boat canoe")), np.arange(4))
    river, boat, canoe = (math.log(1 + (4 - count + 0.5) / (count + 0.5)) for count in (3, 1, 0))
    assert found.rarest_term() == pytest.approx([boat / canoe, river / canoe, river / canoe, 0])


def test_window_of_a_turn_reaches_three_turns_before_and_after_it() -> None:
    nodes = [sample_node(f"n{n}", "boat" if n == 4 else "lunch", session="s", minutes=n, seq=n + 1) for n in range(9)]
    graph = apply_batch(Graph(), sample_batch(*nodes, revision=1))
    found = term_coverage(Postings.for_query(graph, sample_query("boat")), np.arange(9))
    assert found.in_row[:, 0].tolist() == [n == 4 for n in range(9)]
    assert found.in_window[:, 0].tolist() == [1 <= n <= 7 for n in range(9)]
