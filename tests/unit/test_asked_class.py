"""The feature of the class that a question asks for."""

from dataclasses import replace

import pytest

from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.language.name_normalization import entity_id
from ecphora.language.names import names
from ecphora.model import Edge, Link
from ecphora.stages.fused import features
from ecphora.stages.fused.candidate_pool import build_pool
from ecphora.testing.samples import sample_batch, sample_entity, sample_node, sample_query


def class_values(question: str, **texts: str) -> dict[str, float]:
    """The values of the asked class by the id of each memory, all spoken by Victoria."""
    nodes = [sample_node(id_, text, speaker="Victoria", minutes=n) for n, (id_, text) in enumerate(texts.items())]
    entities = {name: sample_entity(name) for text in texts.values() for name in names(text)}
    edges = [Edge(node.id, entity_id(name), Link.MENTIONS) for node in nodes for name in names(node.text)]
    batch = replace(sample_batch(*nodes, *entities.values(), edges=tuple(edges)), revision=1)
    graph = apply_batch(Graph(), batch)
    pool = build_pool(graph, sample_query(question))
    values = features.compute_features(pool)["instance of asked class"].tolist()
    return {graph.id(row): value for row, value in zip(pool.rows.tolist(), values, strict=True)}


def test_asked_class_marks_rows_with_an_instance() -> None:
    texts = {
        "kitten": "We took in a kitten.",
        "rome": "We saw Rome and Porto.",
        "guinea": "Her guinea pig sleeps.",
        "pig": "He sold a pig.",
        "guest": "I asked Victoria.",
        "none": "The roof leaks.",
    }

    def ids(question: str) -> set[str]:
        return {id_ for id_, value in class_values(question, **texts).items() if value}

    assert ids("Which pets do they have?") == {"kitten", "guinea"}
    assert ids("Which cities did they see?") == {"rome"}  # not Victoria, who is a speaker
    assert ids("Which cities did they see besides Rome?") == {"rome"}  # for Porto
    assert not ids("When did they leave?")


def test_asked_class_leaves_out_the_words_of_the_question() -> None:
    texts = {"rome": "We saw Rome.", "dog": "The dog barked.", "guinea": "A guinea pig!"}
    assert not any(class_values("Which cities are like Rome?", **texts).values())
    assert not any(class_values("Which pets are like a dog or guinea pig?", **texts).values())


def test_asked_class_counts_the_rarest_instance_most() -> None:
    texts = {f"dog{n}": "The dog saw a pig." for n in range(9)}
    texts |= {"both": "The dog and the hamster.", "cat": "A cat.", "guinea": "A guinea pig."}
    found = class_values("Which pets do they have?", **texts)
    assert found["both"] == found["cat"] == found["guinea"] == 1
    assert 0 < found["dog1"] < 0.5


def test_asked_class_counts_names_of_several_words_as_titles_where_titles_are_asked_for() -> None:
    texts = {"book": 'I read "Winter Barrels" twice.', "roof": "The roof leaks.", "ana": "It was for Ana."}
    found = class_values("Which books did she read?", **texts)
    assert found == {"book": pytest.approx(0.5), "roof": 0, "ana": 0}
    assert not any(class_values("Which pets did she have?", **texts).values())
