"""The feature of the class that a question asks for."""

from dataclasses import replace

import numpy as np
import pytest

from ecphora.language.classes import asked_instances
from ecphora.language.names.mentions import entity_id, names
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Link
from ecphora.strategies.fused import features
from ecphora.strategies.fused.candidate_pool import CandidatePool, build_pool
from ecphora.testing.samples import sample_batch, sample_entity, sample_node, sample_query


def class_pool(question: str, **texts: str) -> CandidatePool:
    """The pool of a question among memories, by their ids, all spoken by Victoria."""
    nodes = [sample_node(id_, text, speaker="Victoria", minutes=n) for n, (id_, text) in enumerate(texts.items())]
    entities = {name: sample_entity(name) for text in texts.values() for name in names(text)}
    edges = [Edge(node.id, entity_id(name), Link.MENTIONS) for node in nodes for name in names(node.text)]
    batch = replace(sample_batch(*nodes, *entities.values(), edges=tuple(edges)), revision=1)
    return build_pool(apply_batch(Graph(), batch), sample_query(question))


def class_values(question: str, feature: str = "instance of asked class", **texts: str) -> dict[str, float]:
    """The values of a feature by the id of each memory."""
    pool = class_pool(question, **texts)
    values = features.compute_features(pool)[feature].tolist()
    return {pool.graph.id(row): value for row, value in zip(pool.rows.tolist(), values, strict=True)}


@pytest.mark.medium
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


def test_repeated_instance_marks_rows_whose_instances_a_better_row_mentions() -> None:
    texts = {
        "best": "The cities they saw with Kevin: Rome and Porto.",
        "again": "They saw Rome once more.",
        "new": "They saw cities: Porto and Chicago.",
        "none": "They saw Kevin.",
        "dog": "A dog barked in Chicago.",
    }
    found = class_values("Which cities did they see?", "repeated instance", **texts)
    assert found == {"best": 0, "again": 1, "new": 0, "none": 0, "dog": 1}
    assert not any(class_values("When did they see cities?", "repeated instance", **texts).values())


def test_repeated_instance_tells_words_pairs_and_names_apart() -> None:
    question = "Which pets and which cities do they know?"
    pool = class_pool(question, cat="A cat.", guinea="A guinea pig.", rome="In Rome.")
    instances = asked_instances(question)
    assert instances is not None
    mentions = features._instance_mentions(pool, instances)
    word, pair, name = mentions.instances[np.argsort(mentions.row_index)].tolist()
    assert word < len(instances.terms) <= pair < len(instances.terms) + len(instances.pairs) <= name
