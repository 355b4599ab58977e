"""The speakers that a question names."""

from dataclasses import replace

import numpy as np

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.retrieval import speakers
from ecphora.testing import sample_batch, sample_graph, sample_node, sample_query


def test_named_speaker_scores_rows_of_the_only_name() -> None:
    graph = sample_graph()
    matches = [
        graph.id(row)
        for row in np.flatnonzero(speakers.named_speaker_scores(graph, sample_query("What did Ben say?"))).tolist()
    ]
    assert matches == ["t1", "t3"]
    assert not speakers.named_speaker_scores(
        graph, sample_query("Did Ben call Ana?")
    ).any()  # of two names, neither counts
    assert not speakers.named_speaker_scores(graph, sample_query("Who?")).any()


def test_first_person_question_names_the_user() -> None:
    nodes = (sample_node("a", "Lunch.", speaker="user"), sample_node("b", "Yes.", speaker="assistant"))
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    assert speakers.named_speaker_scores(graph, sample_query("What did I say?")).tolist() == [1, 0]
    assert speakers.named_speaker_scores(graph, sample_query("What did the user say?")).tolist() == [0, 0]


def test_speaker_index_grows_by_all_parts_of_names() -> None:
    graph = Graph()
    for index, name in enumerate(("Ana Lima", "User", "Rui Lima", "Ana Lima")):
        node = sample_node(f"n{index}", "Yes.", speaker=name, seq=index + 1)
        graph = apply_batch(graph, replace(sample_batch(node), revision=index + 1))
        speakers.speaker_index(graph)
    assert speakers.named_speakers(graph, sample_query("Where is Lima?")).tolist() == [0, 2]
    assert speakers.named_speakers(graph, sample_query("Where is Rui?")).tolist() == [2]
    assert speakers.named_speakers(graph, sample_query("Where am I, user?")).tolist() == [1]
