"""Feedback: boosts for memories that were used for a similar question, and for memories used together.

A question with feedback is stored with edges to the memories that answered it. A similar question boosts these
memories; a dissimilar one boosts nothing, so feedback on one topic cannot harm another. It takes effect at once,
without training. Besides, memories that were used for the same question are associated, and a recalled memory boosts
the others.
"""

from dataclasses import dataclass

import numpy as np

from ...model.graph.columns import best_of_group, join_by_key
from ...model.graph.graph import Graph
from ...model.types import Kind, Link, Rows, Scores

MIN_SIMILARITY = 0.8
"""The cosine above which two questions are similar; at 1 they are the same."""
CO_USE_SEEDS = 5
"""How many of the best memories boost memories used together with them."""


@dataclass(frozen=True, slots=True)
class SimilarQuestionBoost:
    """Rows that were used before, each once, with the similarity of the earlier question in 0..1, and its row."""

    rows: Rows
    strengths: Scores
    parent: Rows


def similar_question_boost(graph: Graph, cosine: Scores) -> SimilarQuestionBoost:
    """The rows that answered similar questions; ``cosine`` is the cosine of the query with each row."""
    questions = graph.rows_of_kind(Kind.QUESTION)
    questions = questions[cosine[questions] > MIN_SIMILARITY]
    edges, question_index = graph.edges_from(questions, Link.ANSWERED_BY)
    is_used = graph.edges["weights"][edges] > 0
    rows, parent = graph.edges["dst"][edges[is_used]].astype(np.intp), questions[question_index[is_used]]
    strengths = np.minimum(1, (cosine[parent] - MIN_SIMILARITY) / (1 - MIN_SIMILARITY)).astype(np.float32)
    best = best_of_group(rows, strengths)  # the most similar question of each memory
    return SimilarQuestionBoost(rows[best], strengths[best], parent[best])


@dataclass(frozen=True, slots=True)
class CoUseBoost:
    """Rows that were used together with a seed, each once and ascending, with the strength and the seed's row."""

    rows: Rows
    strengths: Scores
    parent: Rows


def co_use_boost(graph: Graph, seeds: Rows, strengths: Scores) -> CoUseBoost:
    """The rows that were used together with any of some distinct seeds for at least one question, after Hebb.

    A partner has ``1 - exp(-n / 2)`` for ``n`` such questions, times their fraction among all questions for which both
    were recalled and at least one was used: a recall without use weakens the association. That is divided by the number
    of the seed's partners, and multiplied by the seed's strength; the best seed counts. Nothing of it is stored: it is
    derived from the stored questions, and disappears with them.
    """
    edges = graph.edges
    incoming, seed_index = graph.edges_to(seeds, Link.ANSWERED_BY)
    if not len(incoming):
        no_rows = np.empty(0, np.intp)
        return CoUseBoost(no_rows, np.empty(0, np.float32), no_rows)
    first_edge, last_edge = _paths_via_questions(graph, incoming)
    seed, other = seed_index[first_edge], edges["dst"][last_edge].astype(np.intp)
    seed_used, other_used = edges["weights"][incoming][first_edge] > 0, edges["weights"][last_edge] > 0
    counts = (seed_used | other_used) & (other != seeds[seed])
    pairs, pair = np.unique((seed * len(graph) + other)[counts], return_inverse=True)
    used_together = np.bincount(pair, (seed_used & other_used)[counts], minlength=len(pairs))
    questions = np.bincount(pair, minlength=len(pairs))
    has_bond = used_together > 0
    seed, other = np.divmod(pairs[has_bond], len(graph))
    partners = np.bincount(seed, minlength=len(seeds))[seed]
    bond = (1 - np.exp(-used_together[has_bond] / 2)) * used_together[has_bond] / questions[has_bond] / partners
    boost = (bond * strengths[seed]).astype(np.float32)
    best = best_of_group(other, boost)  # the strongest seed of each memory
    return CoUseBoost(other[best], boost[best], seeds[seed[best]])


def _paths_via_questions(graph: Graph, incoming: Rows) -> tuple[Rows, Rows]:
    """Every path memory -> question -> memory: the index in ``incoming`` of its first edge, and its last edge."""
    questions, question_index = np.unique(graph.edges["src"][incoming], return_inverse=True)
    out_edges, of_question = graph.edges_from(questions, Link.ANSWERED_BY)
    first, last = join_by_key(question_index, of_question, len(questions))
    return first, out_edges[last]
