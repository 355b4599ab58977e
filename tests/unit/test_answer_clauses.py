"""The clauses of what a reranker adds to a reason, and that of similarity by either kind of vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.recall.ranking import Comparison, Ranking
from ecphora.recall.reasons import CLAUSE_BUILDERS, _select_clauses
from ecphora.strategies.fused.feature_matrix import (
    FORMER_STATE,
    MISSING_NAMES,
    NOT_A_FACT,
    ROLE_AGREEMENT,
    SUBJECT_AGREEMENT,
)
from ecphora.strategies.fused.newer_answers import NEWER_ANSWER, OLDER_ANSWER, SERIES_END
from ecphora.strategies.fused.reranking import RERANKING, SECOND_RERANKING
from ecphora.testing import sample_batch, sample_node, sample_query

TEXTS = ("A cat sat.", "It rained.", "A dog ran.")


def clauses_of(
    contributions: Mapping[str, Sequence[float]],
    question: str = "What?",
    texts: Sequence[str] = TEXTS,
    order: Sequence[int] = (0, 1, 2),
    index: int = 0,
) -> list[str]:
    """The clauses of one of some memories, told one after the other, ranked in an order."""
    nodes = [sample_node(f"t{place}", text, minutes=place, seq=place + 1) for place, text in enumerate(texts)]
    graph = apply_batch(Graph(), sample_batch(*nodes, revision=1))
    rows = np.array(order[: len(texts)])
    values = {name: np.array(given, np.float32)[rows] for name, given in contributions.items()}
    ranking = Ranking(graph, replace(sample_query(question), vector=None), graph.episodes, rows, values, {})
    others = range(index + 1, len(rows)) or range(index)
    return [clause.text for clause in _select_clauses(Comparison(ranking, index, nodes[rows[index]], others))]


@pytest.mark.parametrize(
    ("first", "second", "is_said"),
    [((3, 1), (0, 0), True), ((0, 0), (3, 1), True), ((3, 1), (-3, 0), False), ((1, 3), (4, 0), True)],
)
def test_clause_of_the_reader_counts_both_readings(
    first: Sequence[float], second: Sequence[float], *, is_said: bool
) -> None:
    found = clauses_of({RERANKING: first, SECOND_RERANKING: second}, texts=TEXTS[:2], order=(0, 1))
    assert found == ["is likelier to answer, says the reranker"] * is_said


@pytest.mark.parametrize("feature", [RERANKING, SECOND_RERANKING])
def test_clause_of_the_reranker_needs_one_reading(feature: str) -> None:
    assert clauses_of({feature: (3, 1, 1)}) == ["is likelier to answer, says the reranker"]


@pytest.mark.parametrize(
    ("reranker_scores", "index", "is_said"),
    [
        ((4, 1, 0), 0, True),
        ((3, 2.9, 0), 0, False),  # the next one is as likely
        ((4, 2, 0), 1, False),  # the one before is likelier
        ((1, 4, 0), 1, True),  # though another contribution ranks it lower
        ((1, 2, 2), 2, False),
    ],
)
def test_clause_of_the_reranker_needs_a_clear_lead_over_each_memory_near(
    reranker_scores: Sequence[float], index: int, *, is_said: bool
) -> None:
    assert (
        clauses_of({RERANKING: reranker_scores}, index=index) == ["is likelier to answer, says the reranker"] * is_said
    )


@pytest.mark.parametrize(
    ("reading", "words", "is_first"), [(3, 2, False), (3.9, 2, False), (4.1, 2, True)]
)  # counts half
def test_clause_that_names_a_word_precedes_a_general_one_of_comparable_lead(
    reading: float, words: float, *, is_first: bool
) -> None:
    found = clauses_of({RERANKING: (reading, 0, 0), "bm25": (words, 0, 0)}, "Which cat?")
    expected = ["says “cat”", "is likelier to answer, says the reranker"]
    assert found == (expected[::-1] if is_first else expected)


NEWER, OLDER = "is newer than another answer", "is older than another answer, and a former state is asked for"


@pytest.mark.parametrize(
    ("contributions", "expected"),
    [
        ({NEWER_ANSWER: (3, 0), OLDER_ANSWER: (0, -1)}, [NEWER]),
        ({NEWER_ANSWER: (3, 0), OLDER_ANSWER: (-1, -3)}, [NEWER]),
        ({NEWER_ANSWER: (3, 0)}, [NEWER]),
        ({OLDER_ANSWER: (3, 0), NEWER_ANSWER: (0, -1)}, [OLDER]),
        ({OLDER_ANSWER: (3, 0)}, [OLDER]),
        ({OLDER_ANSWER: (0, -1)}, []),  # the other loses, but not to this one
        ({NEWER_ANSWER: (0, -1)}, []),
        ({OLDER_ANSWER: (-1, -3)}, []),
        ({NEWER_ANSWER: (-1, -3)}, []),
        ({NEWER_ANSWER: (1, 2)}, []),  # the other gains more
    ],
)
def test_clause_of_a_newer_or_older_answer(contributions: Mapping[str, Sequence[float]], expected: list[str]) -> None:
    assert clauses_of(contributions, texts=TEXTS[:2], order=(0, 1)) == expected


LATEST, FIRST = "is the latest of several answers", "is the first of several answers"


@pytest.mark.parametrize(
    ("question", "losses", "order", "expected"),
    [
        ("What was the latest?", (-2, -1, 0), (2, 1, 0), [LATEST]),
        ("What was the first?", (0, -1, -2), (0, 1, 2), [FIRST]),
        ("What was the latest?", (-2, 0, 0), (1, 0, 2), [LATEST]),  # the third is no answer
        ("What was the latest?", (0, -1, -2), (0, 2, 1), []),  # no answer, before those of the series
        ("What was the latest?", (-1, 0, -2), (1, 0, 2), []),
        ("What was the latest?", (-2, -1, -0.5), (2, 1, 0), []),
        ("What was the latest?", (0, 0, 0), (2, 1, 0), []),
        ("What was it?", (-2, -1, 0), (2, 1, 0), []),
    ],
)
def test_clause_of_the_end_of_a_series(
    question: str, losses: Sequence[float], order: Sequence[int], expected: list[str]
) -> None:
    assert clauses_of({SERIES_END: losses}, question, order=order) == expected


@pytest.mark.parametrize(("place", "is_said"), [(0, True), (1, False), (2, False)])
def test_clause_of_roles(place: int, *, is_said: bool) -> None:
    texts = ["Jonas lent Mira the drill.", "Mira lent Jonas the drill.", "It rained."]
    order = [place, *(other for other in range(3) if other != place)]
    values = [2.0 if other == place else 1.0 for other in range(3)]
    found = clauses_of({ROLE_AGREEMENT: values}, "Who lent Mira the drill?", texts, order)
    assert ("says who did it and to whom as the question does" in found) is is_said


@pytest.mark.parametrize(("place", "is_said"), [(0, True), (1, False), (2, False)])
def test_clause_of_the_subject(place: int, *, is_said: bool) -> None:
    texts = ["I live in Ghent.", "My brother lives in Ulm.", "It rained."]
    order = [place, *(other for other in range(3) if other != place)]
    values = [2.0 if other == place else 1.0 for other in range(3)]
    found = clauses_of({SUBJECT_AGREEMENT: values}, "Where do I live?", texts, order)
    assert ("is about the person asked about" in found) is is_said


@pytest.mark.parametrize("feature", [MISSING_NAMES, NOT_A_FACT, FORMER_STATE])
def test_text_that_speaks_against_a_memory_is_no_clause(feature: str) -> None:
    assert clauses_of({feature: (0, -1, -1)}, "Where do I live?") == []


@pytest.mark.parametrize(
    "feature",
    [f"{language}similarity{context}" for language in ("", "English ") for context in ("", " with previous turn")],
)
@pytest.mark.parametrize("is_english", [False, True])
def test_reason_of_similarity_by_either_vectors(feature: str, *, is_english: bool) -> None:
    """Without words in common; the first memory is nearer by one kind of vectors, the second by the other."""
    near, far = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
    nodes = [sample_node("one", "A cat sat.", seq=1), sample_node("two", "It rained.", seq=2)]
    own, other = ({"one": near, "two": far}, {"one": far, "two": near})
    batch = sample_batch(
        *nodes, vectors=other if is_english else own, english_vectors=own if is_english else other, revision=1
    )
    graph = apply_batch(Graph(), batch)
    query = replace(sample_query("Purring?", vector=near), english_vector=near if is_english else None)
    ranking = Ranking(graph, query, graph.episodes, np.array([0, 1]), {feature: np.array([2.0, 1.0])}, {})
    comparison = Comparison(ranking, 0, nodes[0], (1,))
    found = [clause for build in CLAUSE_BUILDERS[feature] if (clause := build(comparison))]
    assert [clause.text for clause in found] == ["is nearer in meaning to the question"]
    rest = replace(query, embedder_coverage=0.0, english_vector=None)
    unread = Comparison(replace(ranking, query=rest), 0, nodes[0], (1,))
    assert not any(build(unread) for build in CLAUSE_BUILDERS[feature])
