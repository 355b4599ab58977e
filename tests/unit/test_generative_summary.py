"""Generative summaries: a text is taken if its L is smaller than that of the quotes."""

import numpy as np

from ecphora.consolidation.insights.summaries import is_better, objective

SOURCES = np.eye(2, dtype=np.float32)
WEIGHTS = np.array([0.5, 0.5])


def test_text_is_better_only_if_its_objective_is_smaller() -> None:
    middle = np.array([[0.5**0.5, 0.5**0.5]], np.float32)
    extractive = objective(SOURCES[:1], SOURCES, WEIGHTS, 0.1)
    assert is_better("Both.", middle, SOURCES, WEIGHTS, token_cost=0.01, extractive_objective=extractive)
    assert not is_better("Both.", SOURCES[:1], SOURCES, WEIGHTS, token_cost=1.0, extractive_objective=extractive)
    own = objective(SOURCES[:1], SOURCES, WEIGHTS, 0.0)
    assert not is_better("Both.", SOURCES[:1], SOURCES, WEIGHTS, token_cost=0.0, extractive_objective=own)


def test_longer_text_costs_more() -> None:
    text, limit = "Both moved to Porto.", objective(SOURCES, SOURCES, WEIGHTS, 0.5)
    assert is_better(text, SOURCES, SOURCES, WEIGHTS, token_cost=0.01, extractive_objective=limit)
    assert not is_better(text * 20, SOURCES, SOURCES, WEIGHTS, token_cost=0.01, extractive_objective=limit)


def test_sentence_against_its_source_is_worth_nothing_and_costs_no_more() -> None:
    """A negative cosine counts as 0."""
    assert objective(-SOURCES[:1], SOURCES, WEIGHTS, 0.1) == 0.1
